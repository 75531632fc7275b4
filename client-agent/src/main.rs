//! `sextant`: words → configuration → runtime → command → exit code.

use std::error::Error;
use std::io::IsTerminal;
use std::process::ExitCode;

use sextant_client::cli::{self, Cli, Exit};
use sextant_client::config::{Config, LogLevel, Surroundings};

fn main() -> ExitCode {
    let exit = match cli::parse(std::env::args_os()) {
        Ok(cli) => run(&cli).unwrap_or_else(|error| cli::fail(error.as_ref())),
        Err(exit) => exit,
    };
    exit.into()
}

fn run(cli: &Cli) -> Result<Exit, Box<dyn Error>> {
    let config =
        Config::load(cli.global.layer(), cli.global.config.as_deref(), &Surroundings::of_process()?)?;
    match cli.serves() {
        None => log_to_stderr(config.log),
        Some(detached) => sextant_client::daemon::serve::prepare(detached),
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(cli::run(cli, &config));
    // Nothing that still runs is worth a wait: a daemon has drained by now, a command has its answer.
    runtime.shutdown_background();
    Ok(exit?)
}

/// Sends events of `level` and above to standard error, one a line.
fn log_to_stderr(level: LogLevel) {
    let colors = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(level.as_str()))
        .with_ansi(colors)
        .with_writer(std::io::stderr)
        .init();
}
