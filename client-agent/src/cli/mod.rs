//! The command line of `sextant`: from words to calls of the agent, and from its values to text and an exit code.
//!
//! Everything that decides is a function of values (`args`, `render`, `machine`, `paint`, `place`, `escape`); `print`
//! and `progress` alone write. Must not know how anything is walked, embedded, published or found.

mod args;
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
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::agent::{Agent, AgentError, SearchOptions};

use crate::cli::paint::{Colors, Screen};
use crate::cli::place::Place;
use crate::cli::print::Printer;
use crate::cli::progress::Bars;
use crate::cli::render::RenderOptions;
use crate::config::Config;
use crate::report::Answer;

pub use args::{Cli, ColorChoice, Command, GlobalArgs, IndexArgs, SearchArgs, StatusArgs};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The agent failed; its message says at what, and what to do.
    #[error(transparent)]
    Agent(#[from] AgentError),
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
    let agent = Agent::open(config, &progress).await?;
    let mut out = Printer::new(io::stdout());
    let result = match &cli.command {
        Command::Index(args) => index(&agent, args, progress, &mut out).await,
        Command::Search(args) => search(&agent, args, progress, &mut out).await,
        Command::Status(args) => status(&agent, args, &mut out).await,
    };
    agent.close().await;
    result
}

async fn index<W: Write>(
    agent: &Agent,
    args: &IndexArgs,
    progress: Bars,
    out: &mut Printer<W>,
) -> Result<Exit, CliError> {
    let report = agent.index(&args.path, &progress).await?;
    drop(progress);
    for line in &report.warnings {
        print::warning(line);
    }
    let text = if args.json { machine::object(&report)? } else { render::index(&report, args.verbose) };
    out.text(&text)?;
    Ok(Exit::Done)
}

async fn search<W: Write>(
    agent: &Agent,
    args: &SearchArgs,
    progress: Bars,
    out: &mut Printer<W>,
) -> Result<Exit, CliError> {
    let options = SearchOptions {
        limit: args.limit,
        languages: args.languages.clone(),
        snippets: !args.no_snippet,
        refresh: !args.no_refresh,
    };
    let answer = agent.search(&args.query, &args.path, &options, &progress).await?;
    drop(progress);
    for line in &answer.warnings {
        print::warning(line);
    }
    show(&answer, args, out)?;
    Ok(exit_of(&answer))
}

async fn status<W: Write>(agent: &Agent, args: &StatusArgs, out: &mut Printer<W>) -> Result<Exit, CliError> {
    let report = agent.status(args.path.as_deref()).await?;
    out.text(&if args.json { machine::object(&report)? } else { render::status(&report) })?;
    Ok(Exit::Done)
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
    match (answer.hits.is_empty(), answer.coverage.is_complete()) {
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
        none.coverage.asked = 2;
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
