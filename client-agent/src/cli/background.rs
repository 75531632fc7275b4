//! The commands `daemon` and `doctor`.
//!
//! Must not know how a daemon is found, nor what the doctor looks at.

use std::fmt::Write as _;
use std::io::Write;

use crate::cli::print::{self, Printer};
use crate::cli::{CliError, DaemonArgs, DaemonCommand, DoctorArgs, Exit, escape, machine};
use crate::config::Config;
use crate::daemon::{self, find, reach};
use crate::doctor::{self, Health};
use crate::report::Progress;

/// Runs a command of `daemon`.
pub(super) async fn daemon<W: Write>(
    config: &Config,
    args: &DaemonArgs,
    progress: &dyn Progress,
    out: &mut Printer<W>,
) -> Result<Exit, CliError> {
    match &args.what {
        DaemonCommand::Run { announce } => {
            daemon::serve(config.clone(), *announce).await?;
            Ok(Exit::Done)
        }
        DaemonCommand::Start => {
            let running = reach(config, progress).await?.version().await?;
            out.text(&format!("the daemon runs, process {}\n", running.pid))?;
            Ok(Exit::Done)
        }
        DaemonCommand::Stop => {
            let text = match daemon::stop(config).await? {
                Some(pid) => format!("the daemon has ended, process {pid}\n"),
                None => "no daemon runs\n".to_owned(),
            };
            out.text(&text)?;
            Ok(Exit::Done)
        }
        DaemonCommand::Status { json } => status(config, *json, out).await,
    }
}

async fn status<W: Write>(config: &Config, json: bool, out: &mut Printer<W>) -> Result<Exit, CliError> {
    let Some((client, _)) = find(config).await? else {
        out.text(if json { "null\n" } else { "no daemon runs; the next command starts one\n" })?;
        return Ok(Exit::Nothing);
    };
    let state = client.daemon().await?;
    if json {
        out.text(&machine::object(&state)?)?;
        return Ok(Exit::Done);
    }
    let memory = state
        .memory_bytes
        .map_or_else(String::new, |bytes| format!(", {} of memory", indicatif::BinaryBytes(bytes)));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "process {}, sextant {}, up {} s{memory}\n{}; {} requests under way\ndata    {}\nsocket  {}\nlog     {}\n",
        state.pid,
        state.program.version,
        state.up_s as u64,
        if state.open { "stores and model are open" } else { "at rest: stores and model are closed" },
        state.requests,
        escape::line(&state.data_dir),
        escape::line(&state.socket),
        escape::line(&state.log),
    );
    out.text(&text)?;
    Ok(Exit::Done)
}

/// Runs `doctor`.
pub(super) async fn doctor<W: Write>(
    config: &Config,
    args: &DoctorArgs,
    out: &mut Printer<W>,
) -> Result<Exit, CliError> {
    let report = doctor::examine(config).await;
    if args.json {
        out.text(&machine::object(&report)?)?;
    } else {
        let mut text = String::new();
        for check in &report.checks {
            let mark = match check.health {
                Health::Good => "ok     ",
                Health::Doubtful => "doubt  ",
                Health::Bad => "WRONG  ",
            };
            let _ = writeln!(text, "{mark} {:<12} {}", check.name, escape::line(&check.found));
            if let Some(repair) = &check.repair {
                let _ = writeln!(text, "        {:<12} → {}", "", escape::line(repair));
            }
        }
        let _ = writeln!(text, "log     {}", escape::line(&report.log));
        out.text(&text)?;
    }
    if report.healthy {
        return Ok(Exit::Done);
    }
    print::error("something is wrong; the lines with an arrow say what to do");
    Ok(Exit::Error)
}
