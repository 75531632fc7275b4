//! Keeps the agent at hand: opened with the first request that needs it, closed when nobody has needed it for a while.
//!
//! A closed agent costs neither memory (the model, the stores, the resident codes) nor time (no Raft group beats), and
//! one that could not be opened is tried anew with the next request, so a repair needs no restart. Must not know what the agent is
//! used for.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::agent::{Agent, AgentError};
use crate::config::Config;
use crate::data_dir::DataLock;

/// How long stores may still be held after they were closed.
const SETTLE: Duration = Duration::from_secs(2);
/// Pause between two tries to open them.
const PAUSE: Duration = Duration::from_millis(50);

/// The keeper of one data folder's agent.
#[derive(Debug)]
pub struct Keeper {
    config: Config,
    lock: Arc<DataLock>,
    slot: Mutex<Option<Kept>>,
    /// When the agent was last closed.
    closed: std::sync::Mutex<Option<Instant>>,
    /// Hears why a node of the agent's has died.
    died: tokio::sync::mpsc::UnboundedSender<String>,
}

#[derive(Debug)]
struct Kept {
    agent: Arc<Agent>,
    watch: JoinHandle<()>,
}

impl Keeper {
    /// Keeps nothing yet. `died` hears why a node has died: the process should end then, for what is in memory no longer
    /// follows what is on disk.
    pub fn new(config: Config, lock: DataLock, died: tokio::sync::mpsc::UnboundedSender<String>) -> Self {
        Self {
            config,
            lock: Arc::new(lock),
            slot: Mutex::default(),
            closed: std::sync::Mutex::default(),
            died,
        }
    }

    /// The agent; opened where it is not. It goes on opening where the caller gives up, for half-started nodes are no
    /// use to anybody.
    pub async fn agent(self: &Arc<Self>) -> Result<Arc<Agent>, AgentError> {
        if let Some(kept) = self.slot.lock().await.as_ref() {
            return Ok(Arc::clone(&kept.agent));
        }
        let keeper = Arc::clone(self);
        let opening = tokio::spawn(async move { keeper.open().await });
        opening.await.map_err(|error| AgentError::Task(error.to_string()))?
    }

    async fn open(&self) -> Result<Arc<Agent>, AgentError> {
        let mut slot = self.slot.lock().await;
        // Somebody else may have opened it while this one waited.
        if let Some(kept) = slot.as_ref() {
            return Ok(Arc::clone(&kept.agent));
        }
        let started = Instant::now();
        let agent = loop {
            match Agent::open_locked(&self.config, Arc::clone(&self.lock)).await {
                // The last tasks of nodes that were closed a moment ago may still hold their stores.
                Err(AgentError::Embedded(_)) if self.closed_within(SETTLE) && started.elapsed() < SETTLE => {
                    tokio::time::sleep(PAUSE).await;
                }
                opened => break Arc::new(opened?),
            }
        };
        tracing::info!(ms = started.elapsed().as_millis() as u64, "opened the stores and the model");
        let (watched, died) = (Arc::clone(&agent), self.died.clone());
        let watch = tokio::spawn(async move {
            // Nobody listens any more where this fails: the process is ending.
            let _ = died.send(watched.fatal().await);
        });
        *slot = Some(Kept { agent: Arc::clone(&agent), watch });
        Ok(agent)
    }

    fn closed_within(&self, time: Duration) -> bool {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.is_some_and(|closed| closed.elapsed() < time * 2)
    }

    /// Whether the agent is open.
    pub async fn is_open(&self) -> bool {
        self.slot.lock().await.is_some()
    }

    /// Closes the agent, unless somebody uses it.
    pub async fn close(&self) {
        let mut slot = self.slot.lock().await;
        let Some(Kept { agent, watch }) = slot.take() else { return };
        watch.abort();
        // Only a cancelled or finished task is there to wait for; either is what is wanted.
        let _ = watch.await;
        match Arc::try_unwrap(agent) {
            Ok(agent) => {
                agent.close().await;
                *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                tracing::info!("closed the stores and the model");
            }
            Err(agent) => {
                let (watched, died) = (Arc::clone(&agent), self.died.clone());
                let watch = tokio::spawn(async move {
                    let _ = died.send(watched.fatal().await);
                });
                *slot = Some(Kept { agent, watch });
            }
        }
    }
}
