//! The life of a process: bind, serve until a signal, drain.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::DaemonError;

/// SIGTERM and SIGINT as events. From its making on, neither ends the process by itself.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Starts listening. Must be called inside of a tokio runtime.
    pub fn listen() -> Result<Self, DaemonError> {
        let listen = |kind| signal(kind).map_err(DaemonError::Signals);
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Waits for the next signal and gives its name. Cancel-safe.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signals")
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A signal came before the service was up.
    BeforeServing,
    /// All work was finished.
    Drained,
    /// A second signal came, or the drain took longer than allowed.
    CutShort,
}

/// Binds, serves until SIGTERM or SIGINT, and drains.
///
/// `bind` starts the service and gives its handle; `stop` ends it within the time it is told. A second signal, or twice
/// that time, ends the wait for `stop`.
pub async fn run<S, E, B, F>(bind: B, drain: Duration, stop: impl FnOnce(S, Duration) -> F) -> Result<End, E>
where
    B: Future<Output = Result<S, E>>,
    F: Future<Output = ()>,
    E: From<DaemonError>,
{
    let mut signals = Signals::listen()?;
    let service = tokio::select! {
        bound = bind => bound?,
        name = signals.next() => {
            tracing::info!(signal = name, "stopping before the service is up");
            return Ok(End::BeforeServing);
        }
    };
    tracing::info!("serving");
    let name = signals.next().await;
    tracing::info!(signal = name, drain_ms = drain.as_millis() as u64, "draining");
    let end = tokio::select! {
        () = stop(service, drain) => End::Drained,
        _ = signals.next() => End::CutShort,
        () = tokio::time::sleep(drain * 2) => End::CutShort,
    };
    if end == End::CutShort {
        tracing::warn!("stopped with work left");
    } else {
        tracing::info!("stopped");
    }
    Ok(end)
}
