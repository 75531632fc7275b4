//! The daemon's own process: lock → bind → announce → serve → rest → drain.
//!
//! Must not know what requests mean.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};

use crate::api::{Desk, router};
use crate::config::Config;
use crate::daemon::activity::Activity;
use crate::daemon::address::{self, AddressError, Record};
use crate::daemon::keeper::Keeper;
use crate::daemon::listener::OwnersOnly;
use crate::daemon::{Program, log, program};
use crate::data_dir::{self, DataDirError, DataLock};

/// How long a daemon that starts waits for one that is ending. An index under way is let finish, so: long.
const LOCK_WAIT: Duration = Duration::from_mins(10);
/// The same where another daemon answers and so does not end.
const LOCK_LOOK: Duration = Duration::from_millis(500);

/// Why the daemon does not serve, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The data folder.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The place for its socket.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The socket.
    #[error("{}: the socket cannot be opened: {source}; see `sextant doctor`", socket.display())]
    Socket {
        /// The socket.
        socket: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The page of metrics.
    #[error("{0}; choose another address with the key `metrics_addr`, or none")]
    Metrics(sextant_daemon::DaemonError),
    /// Signals.
    #[error("signals cannot be heard: {0}")]
    Signals(std::io::Error),
    /// A node of its own died.
    #[error(
        "a node of the embedded cluster died: {0}; run the command again, and look at the disk and the log"
    )]
    Died(String),
}

/// What a daemon says on standard output when it is up, or is not: one line of JSON for the process that started it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Announcement {
    /// It listens.
    Ready,
    /// Another one does.
    Taken,
    /// It does not, and why.
    Failed(String),
}

/// Serves until it is told to stop, or has been idle for long enough. `announce` says so on standard output, which is
/// then closed.
pub async fn serve(config: Config, announce: bool) -> Result<(), ServeError> {
    let started = Instant::now();
    let begun = begin(&config).await;
    if announce {
        say(&match &begun {
            Ok(_) => Announcement::Ready,
            Err(ServeError::DataDir(DataDirError::Busy { .. })) => Announcement::Taken,
            Err(error) => Announcement::Failed(error.to_string()),
        });
    }
    let (listener, record, lock) = begun?;
    let stop = Arc::new(Notify::new());
    let (died, mut deaths) = mpsc::unbounded_channel();
    let desk = Arc::new(Desk {
        keeper: Arc::new(Keeper::new(config.clone(), lock, died)),
        activity: Activity::default(),
        program: Program::this(),
        settings: program::settings(&config),
        record: record.clone(),
        data_dir: config.data_dir.clone(),
        started,
        stop: Arc::clone(&stop),
    });
    tracing::info!(pid = record.pid, socket = %record.socket.display(), version = desk.program.version, "serving");
    let ended = Arc::new(Notify::new());
    let graceful = {
        let ended = Arc::clone(&ended);
        async move { ended.notified().await }
    };
    let serving = tokio::spawn(
        axum::serve(listener, router(Arc::clone(&desk))).with_graceful_shutdown(graceful).into_future(),
    );
    let outcome = attend(&config, &desk, &stop, &mut deaths).await;
    // First nobody can find it any more, then it takes no more, then it lets the rest finish.
    record.remove(&config.data_dir);
    ended.notify_one();
    if outcome.is_ok() {
        let mut signals = Signals::listen()?;
        tokio::select! {
            _ = serving => {}
            name = signals.next() => tracing::warn!(signal = name, "stopped with requests under way"),
        }
        desk.keeper.close().await;
    }
    tracing::info!("ended");
    outcome
}

async fn begin(config: &Config) -> Result<(OwnersOnly, Record, DataLock), ServeError> {
    data_dir::make(&config.data_dir)?;
    log::start(&config.data_dir, config.log);
    let begun = bind(config).await;
    if let Err(error) = &begun {
        tracing::error!(%error, "not started");
    }
    begun
}

async fn bind(config: &Config) -> Result<(OwnersOnly, Record, DataLock), ServeError> {
    let deadline = Instant::now() + LOCK_WAIT;
    let lock = loop {
        match DataLock::take(&config.data_dir, LOCK_LOOK, || {}).await {
            // One that ends takes its record back first.
            Err(error @ DataDirError::Busy { .. })
                if Record::read(&config.data_dir).is_some() || Instant::now() > deadline =>
            {
                return Err(error.into());
            }
            Err(DataDirError::Busy { .. }) => {}
            taken => break taken?,
        }
    };
    if config.metrics_addr.is_some() {
        sextant_daemon::serve_metrics(config.metrics_addr).map_err(ServeError::Metrics)?;
    }
    let socket = address::socket(&config.data_dir)?;
    let listener =
        OwnersOnly::bind(&socket).map_err(|source| ServeError::Socket { socket: socket.clone(), source })?;
    let record = Record { socket, pid: std::process::id() };
    record.write(&config.data_dir)?;
    Ok((listener, record, lock))
}

/// Waits for the end, and lets the agent rest meanwhile.
async fn attend(
    config: &Config,
    desk: &Desk,
    stop: &Notify,
    deaths: &mut mpsc::UnboundedReceiver<String>,
) -> Result<(), ServeError> {
    let mut signals = Signals::listen()?;
    let mut states = desk.activity.watch();
    let mut rested = false;
    loop {
        let state = *states.borrow_and_update();
        rested &= state.requests == 0;
        let after = |time: Duration| if time.is_zero() { None } else { state.idle_at(time) };
        let rest_at = after(config.rest_after).filter(|_| !rested);
        let exit_at = after(config.exit_after);
        tokio::select! {
            name = signals.next() => {
                tracing::info!(signal = name, "stopping");
                return Ok(());
            }
            () = stop.notified() => return Ok(()),
            Some(reason) = deaths.recv() => {
                tracing::error!(reason, "a node died");
                return Err(ServeError::Died(reason));
            }
            _ = states.changed() => rested = false,
            () = until(rest_at) => {
                desk.keeper.close().await;
                rested = true;
            }
            () = until(exit_at) => {
                tracing::info!(idle_s = config.exit_after.as_secs(), "nobody has asked for long");
                return Ok(());
            }
        }
    }
}

async fn until(time: Option<tokio::time::Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// SIGTERM and SIGINT end it; SIGHUP, which a closing terminal sends, does not.
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> Result<Self, ServeError> {
        let listen = |kind| signal(kind).map_err(ServeError::Signals);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hangup.recv() => {}
            }
        }
    }
}

/// Says it to the process that started this one, and lets go of the pipe: who reads it would wait for its end.
fn say(announcement: &Announcement) {
    let mut out = std::io::stdout().lock();
    // Whoever started this one may have gone; it serves the next one all the same.
    let _ = serde_json::to_writer(&mut out, announcement);
    let _ = writeln!(out);
    let _ = out.flush();
    if let Ok(nowhere) = std::fs::File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nowhere);
    }
}

/// What a process does before it becomes the daemon. `detached`: it leaves the terminal and the folder of whoever started
/// it.
pub fn prepare(detached: bool) {
    crate::failpoint::arm();
    if detached {
        // It leads no group where a command has started it, so this does not fail there.
        let _ = rustix::process::setsid();
        let _ = std::env::set_current_dir("/");
    }
}
