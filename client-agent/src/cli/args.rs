//! The command line: its commands, flags and what may be given to them.
//!
//! Must not know configuration files, the agent or printing: it turns words into checked values.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::{LogLevel, RawConfig};

/// A query over this is refused, bytes. Models read a few hundred words of it at most.
const QUERY_CAP_BYTES: usize = 64 << 10;

const EXAMPLES: &str = "\
Examples:
  sextant search \"where are session tokens refreshed\"          search the current folder
  sextant search -k 3 --lang rust,kotlin \"retry with backoff\" ~/src/x
  sextant search --jsonl \"parse a date\" | jq -r .path          one hit a line, for programs
  sextant index ~/src/x                                        index ahead of the first search

Configuration: flags, then the environment (SEXTANT_CONFIG, SEXTANT_DATA_DIR, SEXTANT_ASSETS, SEXTANT_LOG, NO_COLOR),
then $XDG_CONFIG_HOME/sextant/config.toml.
Exit codes: 0 something was found or done, 1 nothing was found, 2 an error.";

const SEARCH_EXAMPLES: &str = "\
Examples:
  sextant search \"how is a timed-out task cancelled\"
  sextant search -k 20 --lang go \"token bucket\" ~/src/x
  sextant search --json \"token bucket\" > answer.json

The first search of a folder indexes it; later ones look for changed files first (--no-refresh skips that).
A path is printed as seen from the current folder; --json and --jsonl give it from the searched folder. A hit is
marked `moved` where its text now stands elsewhere in the file, `edited` where it changed since it was indexed, and
`missing` where the file is gone.
Exit codes: 0 hits, 1 no hits, 2 an error, which includes no hits while a part of the index did not answer.
A reader that closes the pipe early, such as head, ends the output quietly with the code the search had.";

const DAEMON_HELP: &str = "\
Every command starts the daemon where it does not run; one serves all commands of a data folder. It closes its stores
and its model after `rest_after_s` seconds without work and ends after `exit_after_s`. A command of a newer build, or of
other settings, lets it finish and takes over. An index stops when nobody waits for it any more; what it has done stays.
Exit codes: 0 done, 1 `status` found none, 2 an error.";

const DOCTOR_HELP: &str = "\
Needs no daemon and changes nothing. Exit codes: 0 nothing is wrong, 2 something is.";

/// Find code by meaning.
#[derive(Debug, Parser)]
#[command(name = "sextant", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Flags of every command.
    #[command(flatten)]
    pub global: GlobalArgs,
}

/// Flags of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Read this configuration file
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Keep indexes in this folder
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,
    /// Log this much to standard error
    #[arg(long, value_name = "LEVEL", value_enum, global = true)]
    pub log: Option<LogLevel>,
    /// Show no progress and no notes
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Index a folder, or what changed in it
    Index(IndexArgs),
    /// Search a folder with a question in plain words
    Search(SearchArgs),
    /// Show what is indexed
    Status(StatusArgs),
    /// Start, stop or show the background process
    Daemon(DaemonArgs),
    /// Look for what is wrong with this installation
    Doctor(DoctorArgs),
    /// Serve searches to an assistant, by the Model Context Protocol on standard input and output
    Mcp,
}

/// Arguments of `daemon`.
#[derive(Debug, Args)]
#[command(after_help = DAEMON_HELP, arg_required_else_help = true)]
pub struct DaemonArgs {
    /// What to do with it
    #[command(subcommand)]
    pub what: DaemonCommand,
}

/// What to do with the daemon.
#[derive(Debug, Subcommand)]
pub enum DaemonCommand {
    /// Start it, where it does not run
    Start,
    /// Stop it, once it has finished what it does
    Stop,
    /// Show whether it runs
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Be the daemon, in the foreground: for a supervisor
    Run {
        /// Tell the process that started this one when it is up, and leave its terminal
        #[arg(long, hide = true)]
        announce: bool,
    },
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_HELP)]
pub struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `index`.
#[derive(Debug, Args)]
pub struct IndexArgs {
    /// The folder
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// List every file that was left out, and what the run cost
    #[arg(short, long)]
    pub verbose: bool,
    /// Index a home folder, or one above it, too
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `search`.
#[derive(Debug, Args)]
#[command(after_help = SEARCH_EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that a user gives")]
pub struct SearchArgs {
    /// The question
    pub query: String,
    /// The folder
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// Hits to show, 1 to 10000
    #[arg(short = 'k', long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Only these languages
    #[arg(long = "lang", value_name = "LANG", value_delimiter = ',', value_parser = language)]
    pub languages: Vec<String>,
    /// Print one JSON object
    #[arg(long, conflicts_with = "jsonl")]
    pub json: bool,
    /// Print one JSON object a hit, a line each
    #[arg(long)]
    pub jsonl: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
    /// Leave the text of the hits out
    #[arg(long)]
    pub no_snippet: bool,
    /// Search what is indexed, without looking for changes
    #[arg(long)]
    pub no_refresh: bool,
    /// Index a home folder, or one above it, too
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Only this folder
    pub path: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl GlobalArgs {
    /// The layer of configuration that the flags are.
    pub fn layer(&self) -> RawConfig {
        RawConfig {
            data_dir: self.data_dir.clone(),
            log: self.log.map(|level| level.as_str().to_owned()),
            ..RawConfig::default()
        }
    }
}

impl Cli {
    /// Whether this process is to be the daemon, which has a log of its own; and then, whether it is to leave the terminal.
    pub fn serves(&self) -> Option<bool> {
        match self.command {
            Command::Daemon(DaemonArgs { what: DaemonCommand::Run { announce } }) => Some(announce),
            _ => None,
        }
    }

    /// Checks what the parser does not: it would repeat a query of any length in its message.
    pub(super) fn check(self) -> Result<Self, String> {
        if let Command::Search(SearchArgs { query, .. }) = &self.command {
            if query.trim().is_empty() {
                return Err("the query is empty; say in plain words what the code does".to_owned());
            }
            if query.len() > QUERY_CAP_BYTES {
                let length = query.len();
                return Err(format!(
                    "the query has {length} bytes, more than {QUERY_CAP_BYTES}; say in fewer words what the code does"
                ));
            }
        }
        Ok(self)
    }
}

fn language(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a language is empty; name one such as rust or kotlin".to_owned()),
        name => Ok(name.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn search(words: &[&str]) -> Result<SearchArgs, String> {
        let all = ["sextant", "search"].iter().chain(words);
        let cli = Cli::try_parse_from(all).map_err(|error| error.to_string())?;
        match cli.check()?.command {
            Command::Search(args) => Ok(args),
            other => panic!("not a search: {other:?}"),
        }
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_search_has_its_defaults() {
        let args = search(&["where is x"]).expect("parses");
        assert_eq!((args.path.to_str(), args.limit), (Some("."), 10));
        assert!(
            args.languages.is_empty() && !args.json && !args.jsonl && !args.no_snippet && !args.no_refresh
        );
    }

    #[test]
    fn languages_come_by_comma_or_one_by_one() {
        let args = search(&["q", "--lang", "Rust,go", "--lang", "java", "p"]).expect("parses");
        assert_eq!(args.languages, ["rust", "go", "java"]);
        assert_eq!(args.path.to_str(), Some("p"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let long = "x".repeat(QUERY_CAP_BYTES + 1);
        for (words, part) in [
            (vec![""], "the query is empty"),
            (vec![" \n"], "the query is empty"),
            (vec![long.as_str()], "has 65537 bytes"),
            (vec!["q", "-k", "0"], "0 is not in 1..=10000"),
            (vec!["q", "-k", "10001"], "10001 is not in 1..=10000"),
            (vec!["q", "--lang", "rust,,go"], "a language is empty"),
            (vec!["q", "--json", "--jsonl"], "cannot be used with"),
            (vec!["q", "--color", "blue"], "possible values: auto, always, never"),
            (vec![], "required"),
        ] {
            let message = search(&words).expect_err(part);
            assert!(message.contains(part), "{part}: {message:.400}");
        }
        assert!(search(&[&long[1..], "-k", "10000"]).is_ok());
    }

    #[test]
    fn global_flags_stand_anywhere_and_become_a_layer() {
        for words in [
            ["sextant", "-q", "--data-dir", "d", "--log", "debug", "status"],
            ["sextant", "status", "--log", "debug", "-q", "--data-dir", "d"],
        ] {
            let global = Cli::try_parse_from(words).expect("parses").global;
            assert!(global.quiet);
            let layer = global.layer();
            assert_eq!(layer.data_dir, Some("d".into()));
            assert_eq!(layer.log.as_deref(), Some("debug"));
        }
    }
}
