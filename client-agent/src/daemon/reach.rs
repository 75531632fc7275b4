//! The client's side: finds the data folder's daemon, starts one where there is none, and lets a newer build take over
//! from an older one.
//!
//! Must not know what is asked then.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::api::wire::VersionReply;
use crate::api::{ApiClient, ApiError};
use crate::config::Config;
use crate::daemon::address::Record;
use crate::daemon::program::{Program, settings};
use crate::daemon::serve::Announcement;
use crate::data_dir;
use crate::report::Progress;

/// How long a command waits for a daemon: one that ends lets an index under way finish.
const PATIENCE: Duration = Duration::from_mins(10);
/// How often it looks again while another process starts or ends one.
const POLL: Duration = Duration::from_millis(20);
/// A wait that is not worth a word.
const MOMENT: Duration = Duration::from_secs(1);
/// Longest wait for a word from a daemon that listens.
const ANSWER: Duration = Duration::from_secs(10);

/// How glibc's allocator is to work in a daemon, unless the user says otherwise: what the model and the stores have freed
/// goes back to the system. Without it a daemon at rest keeps 45 to 100 MB of its own, with it 19.
const ALLOCATOR: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_TRIM_THRESHOLD_", "131072"), ("MALLOC_MMAP_THRESHOLD_", "131072")];

/// Why no daemon can be reached.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// It does not start, and says why.
    #[error("{0}")]
    Start(String),
    /// It does not start, and does not say why.
    #[error(
        "the daemon ended before it was up; the end of {log} may say why, and `sextant doctor` looks for the cause"
    )]
    Silent {
        /// Its log.
        log: String,
    },
    /// The program cannot be run.
    #[error("the daemon cannot be started: {0}; check that the program's file is still there")]
    Spawn(std::io::Error),
    /// It speaks another version of the API.
    #[error(
        "the running daemon is sextant {0}, which this older one cannot talk to; use that one, or run its `sextant daemon stop`"
    )]
    Newer(String),
    /// It does not end.
    #[error("the daemon (process {pid}) does not end; end it with `kill {pid}`, then run the command again")]
    Stuck {
        /// Its process.
        pid: u32,
    },
    /// It does not answer.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The data folder cannot be looked at.
    #[error("{0}")]
    Look(String),
}

/// The running daemon, whatever it is; `None` where there is none.
pub async fn find(config: &Config) -> Result<Option<(ApiClient, VersionReply)>, ReachError> {
    let Some(record) = Record::read(&config.data_dir) else { return Ok(None) };
    let client = ApiClient::new(&record.socket);
    match tokio::time::timeout(ANSWER, client.version()).await {
        Ok(Ok(version)) => Ok(Some((client, version))),
        // Left behind by one that was killed, or by one that ends right now.
        Ok(Err(ApiError::Connect { .. } | ApiError::Ended(_))) => Ok(None),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(ReachError::Stuck { pid: record.pid }),
    }
}

/// A daemon of this build or a newer one, with these settings; started where there is none.
pub async fn reach(config: &Config, progress: &dyn Progress) -> Result<ApiClient, ReachError> {
    let deadline = Instant::now() + PATIENCE;
    let (this, wanted) = (Program::this(), settings(config));
    loop {
        if let Some((client, running)) = find(config).await? {
            if this.supersedes(&running.program) || running.settings != wanted {
                let whose = if running.settings == wanted { "an older build" } else { "other settings" };
                let note = format!("a daemon of {whose} runs; waiting for it to finish and hand over");
                hand_over(config, &client, running.pid, || progress.note(&note)).await?;
                continue;
            }
            if running.api.iter().any(|version| version == "v1") {
                return Ok(client);
            }
            return Err(ReachError::Newer(running.program.version));
        }
        match start(config).await? {
            Announcement::Ready => {}
            Announcement::Failed(message) => return Err(ReachError::Start(message)),
            Announcement::Taken if Instant::now() > deadline => {
                let pid = data_dir::holder(&config.data_dir).ok().flatten().flatten().unwrap_or_default();
                return Err(ReachError::Stuck { pid });
            }
            // Somebody else was quicker, or one that ends takes its time.
            Announcement::Taken => tokio::time::sleep(POLL).await,
        }
    }
}

/// Ends the running daemon once it has finished what it does. `None`: there was none.
pub async fn stop(config: &Config) -> Result<Option<u32>, ReachError> {
    let Some((client, running)) = find(config).await? else { return Ok(None) };
    hand_over(config, &client, running.pid, || {}).await?;
    Ok(Some(running.pid))
}

/// Asks a daemon to end, and waits until it has. `waiting` hears once that it takes longer than a moment.
async fn hand_over(
    config: &Config,
    client: &ApiClient,
    pid: u32,
    waiting: impl Fn(),
) -> Result<(), ReachError> {
    match client.stop().await {
        // Gone meanwhile, as was wanted.
        Ok(_) | Err(ApiError::Connect { .. } | ApiError::Ended(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let (asked, mut told) = (Instant::now(), false);
    loop {
        let held = data_dir::holder(&config.data_dir)
            .map_err(|error| ReachError::Look(format!("{}: {error}", config.data_dir.display())))?;
        match held {
            Some(holder) if holder.is_none_or(|holder| holder == pid) => {}
            // The lock goes before the last files of the stores are closed.
            _ if !has_ended(pid) => {}
            _ => return Ok(()),
        }
        if asked.elapsed() > PATIENCE {
            return Err(ReachError::Stuck { pid });
        }
        if asked.elapsed() > MOMENT && !told {
            waiting();
            told = true;
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Whether a process is gone; one that waits for its parent to notice its end is.
fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.trim_start().starts_with('Z'))
}

/// Starts a daemon in the background, and hears what becomes of it.
async fn start(config: &Config) -> Result<Announcement, ReachError> {
    let mut command = Command::new(std::env::current_exe().map_err(ReachError::Spawn)?);
    command.args(["daemon", "run", "--announce", "--data-dir"]).arg(&config.data_dir);
    if let Some(file) = &config.file {
        command.arg("--config").arg(file);
    }
    for (name, value) in ALLOCATOR.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()) {
        command.env(name, value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let log = super::log::file(&config.data_dir).display().to_string();
    let hear = move || {
        let mut child = command.spawn().map_err(ReachError::Spawn)?;
        let Some(out) = child.stdout.take() else { return Err(ReachError::Silent { log }) };
        let mut line = String::new();
        // An end without a word is an empty line.
        let _ = BufReader::new(out).read_line(&mut line);
        match serde_json::from_str(&line) {
            Ok(Announcement::Ready) => {
                // A caller that outlives it, such as an MCP server, would keep it as a zombie.
                std::thread::spawn(move || child.wait());
                Ok(Announcement::Ready)
            }
            Ok(announcement) => {
                // It has nothing more to do; waited for, so that it does not stay as a zombie of a long-lived caller.
                let _ = child.wait();
                Ok(announcement)
            }
            Err(_) => {
                let _ = child.wait();
                Err(ReachError::Silent { log })
            }
        }
    };
    tokio::task::spawn_blocking(hear).await.map_err(|error| ReachError::Look(error.to_string()))?
}
