//! The command line of `sextant`: from words to calls of the agent, and from its values to text and an exit code.
//!
//! Everything that decides is a function of values (`args`, `render`, `machine`, `paint`, `place`, `escape`); `print`
//! and `progress` alone write. Must not know how anything is walked, embedded, published or found.

mod args;
mod background;
mod escape;
mod highlight;
mod machine;
mod paint;
mod place;
mod print;
mod progress;
mod render;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::api::wire::{IndexRequest, SearchRequest, StatusRequest};
use crate::api::{ApiClient, ApiError};
use crate::cli::paint::{Colors, Screen};
use crate::cli::place::Place;
use crate::cli::print::Printer;
use crate::cli::progress::Bars;
use crate::cli::render::RenderOptions;
use crate::config::Config;
use crate::daemon::{ReachError, ServeError, reach};
use crate::report::Answer;

pub use args::{
    Cli, ColorChoice, Command, DaemonArgs, DaemonCommand, DoctorArgs, GlobalArgs, IndexArgs, SearchArgs,
    StatusArgs,
};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The daemon said no, or nothing; its message says at what, and what to do.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// There is no daemon to ask.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// This process was to be the daemon.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The Model Context Protocol.
    #[error(transparent)]
    Mcp(#[from] crate::mcp::McpError),
    /// The output could not be written.
    #[error("cannot write the output: {0}; check the disk or the program that reads it")]
    Output(#[from] io::Error),
    /// The output could not be put into words.
    #[error("cannot make JSON of the result: {0}")]
    Json(#[from] serde_json::Error),
}

/// How a command ended, as grep's exit codes tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Something was found or done: 0.
    Done,
    /// Nothing was found: 1.
    Nothing,
    /// An error, or nothing was found and not everything was searched: 2.
    Error,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Nothing => 1,
            Exit::Error => 2,
        })
    }
}

/// The command line in `words`, the program's name first. Where there is nothing to run (help, version, a mistake),
/// what is to be said was said, and the exit is the error.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, Exit> {
    let cli = Cli::try_parse_from(words).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Where the reader is gone nobody can be told.
            let _ = error.print();
            Exit::Done
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Exit::Error
        }
        _ => {
            let text = error.render().to_string();
            print::error(text.strip_prefix("error: ").unwrap_or(&text));
            Exit::Error
        }
    })?;
    cli.check().map_err(|problem| {
        print::error(&problem);
        Exit::Error
    })
}

/// Says why the program failed.
pub fn fail(error: &dyn std::error::Error) -> Exit {
    print::error(&error.to_string());
    Exit::Error
}

/// Runs a command to its end, prints to standard output and tells how it ended.
pub async fn run(cli: &Cli, config: &Config) -> Result<Exit, CliError> {
    let progress = Bars::new(cli.global.quiet);
    let mut out = Printer::new(io::stdout());
    match &cli.command {
        Command::Index(args) => index(&reach(config, &progress).await?, args, progress, &mut out).await,
        Command::Search(args) => search(&reach(config, &progress).await?, args, progress, &mut out).await,
        Command::Status(args) => status(&reach(config, &progress).await?, args, &mut out).await,
        Command::Daemon(args) => background::daemon(config, args, &progress, &mut out).await,
        Command::Doctor(args) => background::doctor(config, args, &mut out).await,
        Command::Mcp => {
            crate::mcp::serve(config).await?;
            Ok(Exit::Done)
        }
    }
}

async fn index<W: Write>(
    daemon: &ApiClient,
    args: &IndexArgs,
    progress: Bars,
    out: &mut Printer<W>,
) -> Result<Exit, CliError> {
    let request = IndexRequest { path: absolute(&args.path), force: args.force };
    let report = daemon.index(&request, &progress).await?;
    drop(progress);
    for line in &report.warnings {
        print::warning(line);
    }
    let text = if args.json { machine::object(&report)? } else { render::index(&report, args.verbose) };
    out.text(&text)?;
    Ok(Exit::Done)
}

async fn search<W: Write>(
    daemon: &ApiClient,
    args: &SearchArgs,
    progress: Bars,
    out: &mut Printer<W>,
) -> Result<Exit, CliError> {
    let request = SearchRequest {
        query: args.query.clone(),
        path: absolute(&args.path),
        limit: args.limit,
        languages: args.languages.clone(),
        snippets: !args.no_snippet,
        refresh: !args.no_refresh,
        force: args.force,
    };
    let answer = daemon.search(&request, &progress).await?;
    drop(progress);
    for line in &answer.warnings {
        print::warning(line);
    }
    show(&answer, args, out)?;
    Ok(exit_of(&answer))
}

async fn status<W: Write>(
    daemon: &ApiClient,
    args: &StatusArgs,
    out: &mut Printer<W>,
) -> Result<Exit, CliError> {
    let path = args.path.as_deref().map(|path| absolute(path).as_path().into());
    let report = daemon.status(&StatusRequest { path }).await?;
    out.text(&if args.json { machine::object(&report)? } else { render::status(&report) })?;
    Ok(Exit::Done)
}

/// The path from the current folder: the daemon stands elsewhere. Symlinks stay, so that a message shows what was given.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Prints an answer in the form that `args` ask for.
fn show<W: Write>(answer: &Answer, args: &SearchArgs, out: &mut Printer<W>) -> Result<(), CliError> {
    let current = std::env::current_dir().unwrap_or_else(|_| Path::new(".").to_path_buf());
    let place = Place::of(&answer.root, &current);
    if args.jsonl {
        for hit in &answer.hits {
            out.text(&machine::hit(hit)?)?;
            if out.is_closed() {
                break;
            }
        }
    } else if args.json {
        out.text(&machine::answer(answer, &args.query, &place.root.to_string_lossy())?)?;
    } else {
        let colors = Colors::choose(args.color, &screen());
        out.text(&render::answer(answer, &RenderOptions { place, colors }))?;
    }
    Ok(())
}

/// "Nothing" can be said only where everything was searched.
fn exit_of(answer: &Answer) -> Exit {
    match (answer.hits.is_empty(), answer.coverage.complete) {
        (false, _) => Exit::Done,
        (true, true) => Exit::Nothing,
        (true, false) => Exit::Error,
    }
}

/// The screen of this process.
fn screen() -> Screen {
    let text = |name: &str| std::env::var(name).unwrap_or_default();
    Screen {
        terminal: io::stdout().is_terminal(),
        no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
        term: text("TERM"),
        colorterm: text("COLORTERM"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::tests::{answer_of, hit};

    fn search_args(words: &[&str]) -> SearchArgs {
        let all = ["sextant", "search", "q"].iter().chain(words).map(OsString::from);
        match parse(all).expect("parses").command {
            Command::Search(args) => args,
            other => panic!("not a search: {other:?}"),
        }
    }

    fn shown(answer: &Answer, words: &[&str]) -> String {
        let mut bytes = Vec::new();
        show(answer, &search_args(words), &mut Printer::new(&mut bytes)).expect("shown");
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[test]
    fn the_exit_is_greps() {
        assert_eq!(exit_of(&answer_of(vec![hit("x", (1, 1), None)])), Exit::Done);
        let mut none = answer_of(Vec::new());
        assert_eq!(exit_of(&none), Exit::Nothing);
        none.coverage.complete = false;
        assert_eq!(exit_of(&none), Exit::Error);
    }

    #[test]
    fn each_form_is_its_own() {
        let mut two = answer_of(vec![hit("x", (1, 1), Some("a")), hit("y", (2, 2), None)]);
        two.root = std::env::current_dir().expect("current folder");
        let lines = shown(&two, &["--jsonl"]);
        assert_eq!(lines.lines().filter(|line| line.starts_with("{\"path\":")).count(), 2);
        assert!(shown(&two, &["--json"]).starts_with("{\"query\":\"q\","));
        assert!(shown(&two, &["--color", "never"]).starts_with("x:1-1  0.731  function\n"));
        assert!(shown(&two, &["--color", "always"]).starts_with("\x1b["));
        assert_eq!(shown(&answer_of(Vec::new()), &[]), "");
    }
}
