//! A model at work: its queue, its tokenizer and its session threads. The effects of the crate live here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use sextant_proto::embed::{EmbedReply, EmbedRequest, Lane, ModelCard};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::ModelFingerprint;
use tokio::sync::Semaphore;

use crate::backend::{Backend, Batch};
use crate::batch::BatchPolicy;
use crate::config::ModelConfig;
use crate::encode::{Coded, Projections};
use crate::error::EmbedError;
use crate::pending::{CancelOnDrop, Cancelled, Item, start};
use crate::pool::pool;
use crate::queue::{LaneBounds, LaneFull, Queue};
use crate::tokenizer::{Encoded, TextTokenizer};

/// What retry-after stays within, milliseconds.
const RETRY_AFTER_MS: std::ops::RangeInclusive<u64> = 50..=30_000;
/// What a text is thought to take before the first was measured, microseconds.
const FIRST_GUESS_US: u64 = 20_000;

/// What an engine is made of.
pub struct EngineParts {
    /// The model's settings.
    pub config: ModelConfig,
    /// Hash over what changes its output.
    pub fingerprint: ModelFingerprint,
    /// Texts to ids.
    pub tokenizer: TextTokenizer,
    /// One a session thread; at least one.
    pub backends: Vec<Box<dyn Backend>>,
    /// How texts are put together.
    pub policy: BatchPolicy,
    /// How much may wait.
    pub bounds: LaneBounds,
}

/// A model at work. Dropping it ends its threads, after the batches that they run.
pub struct Engine {
    shared: Arc<Shared>,
    fingerprint: ModelFingerprint,
    projections: Projections,
    /// Requests that are tokenised at a time, one semaphore a lane, so that no queue of blocking tasks grows unseen.
    tokenising: [Semaphore; 2],
    sessions: Vec<JoinHandle<()>>,
}

struct Shared {
    config: ModelConfig,
    tokenizer: TextTokenizer,
    queue: Queue<Item>,
    policy: BatchPolicy,
    /// Moving mean of a session's time for a text.
    text_us: AtomicU64,
}

impl Engine {
    /// Starts a thread for each backend.
    pub fn start(parts: EngineParts) -> Result<Self, EmbedError> {
        let shared = Arc::new(Shared {
            config: parts.config,
            tokenizer: parts.tokenizer,
            queue: Queue::new(parts.bounds),
            policy: parts.policy,
            text_us: AtomicU64::new(FIRST_GUESS_US),
        });
        let count = parts.backends.len().max(1);
        // Made before the threads: where one cannot be started, dropping it ends those that were.
        let mut engine = Self {
            shared,
            fingerprint: parts.fingerprint,
            projections: Projections::default(),
            tokenising: [Semaphore::new(count), Semaphore::new(count * 2)],
            sessions: Vec::with_capacity(count),
        };
        for (number, backend) in parts.backends.into_iter().enumerate() {
            let shared = Arc::clone(&engine.shared);
            let thread = std::thread::Builder::new()
                .name(format!("embed-{number}"))
                .spawn(move || run_session(&shared, backend))
                .map_err(EmbedError::Thread)?;
            engine.sessions.push(thread);
        }
        Ok(engine)
    }

    /// The model's fingerprint.
    pub fn fingerprint(&self) -> ModelFingerprint {
        self.fingerprint
    }

    /// The model as clients see it.
    pub fn card(&self) -> ModelCard {
        ModelCard {
            fingerprint: self.fingerprint,
            name: self.shared.config.name.clone(),
            dims: self.shared.config.dims as u32,
            max_tokens: self.shared.config.max_tokens as u32,
            batch: self.shared.policy.max_texts as u32,
            sessions: self.sessions.len() as u32,
        }
    }

    /// Texts that wait in a lane.
    pub fn waiting(&self, lane: Lane) -> usize {
        self.shared.queue.depth(lane)
    }

    /// Embeds the texts of a request that was validated. Dropping the future takes its texts out of the queue.
    pub async fn embed(&self, request: EmbedRequest) -> Result<EmbedReply, WireError> {
        let EmbedRequest { lane, code, texts, .. } = request;
        let projection = self.projections.get(&self.shared.config, code)?;
        let slots =
            self.shared.queue.reserve(lane, texts.len()).map_err(|full| self.overloaded(lane, full))?;
        let cancelled = Cancelled::default();
        let _cancel = CancelOnDrop(cancelled.clone());
        let encoded = self.tokenise(lane, texts, cancelled.clone()).await?;
        let (items, answer) = start(lane, projection, slots, cancelled, encoded);
        self.shared.queue.push(lane, items);
        answer.await.unwrap_or_else(|_| Err(shutting_down()))
    }

    async fn tokenise(
        &self,
        lane: Lane,
        texts: Vec<String>,
        cancelled: Cancelled,
    ) -> Result<Vec<Encoded>, WireError> {
        let gate = match lane {
            Lane::Index => &self.tokenising[0],
            Lane::Query => &self.tokenising[1],
        };
        let _permit = gate.acquire().await.map_err(|_| shutting_down())?;
        let shared = Arc::clone(&self.shared);
        let work = move || {
            let prefix = shared.config.prefix(lane);
            let mut encoded = Vec::with_capacity(texts.len());
            for (at, text) in texts.iter().enumerate() {
                if cancelled.is_set() {
                    return Err(shutting_down());
                }
                encoded.push(shared.tokenizer.encode(prefix, text, at)?);
            }
            Ok(encoded)
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|failed| {
            let why = if failed.is_panic() { "panicked" } else { "was stopped" };
            Err(WireError::new(ErrorCode::Internal, format!("the tokenizer {why} on a text of the request")))
        })
    }

    fn overloaded(&self, lane: Lane, full: LaneFull) -> WireError {
        let sessions = self.sessions.len().max(1) as u64;
        let wait_ms = full.ahead as u64 * self.shared.text_us.load(Ordering::Relaxed) / 1000 / sessions;
        let wait_ms = wait_ms.clamp(*RETRY_AFTER_MS.start(), *RETRY_AFTER_MS.end());
        let lane = crate::queue::label(lane);
        let message = format!("{} texts wait in the {lane} lane; send again in {wait_ms} ms", full.ahead);
        WireError::overloaded(message, wait_ms as u32)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.queue.close();
        for thread in self.sessions.drain(..) {
            // A panic was caught and logged in the thread already.
            let _ = thread.join();
        }
    }
}

fn shutting_down() -> WireError {
    WireError::new(ErrorCode::ShuttingDown, "the embed-node is shutting down; ask another one")
}

/// The life of a session thread.
fn run_session(shared: &Shared, mut backend: Box<dyn Backend>) {
    while let Some(items) = shared.queue.take(shared.policy) {
        let started = Instant::now();
        let count = items.len() as u64;
        metrics::histogram!("embed_batch_size").record(items.len() as f64);
        // A panic in the runtime must not take the session with it: its requests would wait for ever.
        let result = catch_unwind(AssertUnwindSafe(|| run_batch(shared, backend.as_mut(), &items)));
        match result {
            Ok(Ok(coded)) => {
                for (item, coded) in items.into_iter().zip(coded) {
                    match coded {
                        Ok(coded) => item.finish(&coded),
                        Err(error) => item.fail(error.into()),
                    }
                }
            }
            Ok(Err(error)) => {
                tracing::error!(model = %shared.config.name, %error, "a batch failed");
                fail_all(items, &error.into());
            }
            Err(_) => {
                tracing::error!(model = %shared.config.name, "a batch panicked");
                fail_all(
                    items,
                    &WireError::new(ErrorCode::Internal, "the model's runtime panicked on a batch"),
                );
            }
        }
        let text_us = started.elapsed().as_micros() as u64 / count.max(1);
        let mean_us = shared.text_us.load(Ordering::Relaxed);
        shared.text_us.store((mean_us * 7 + text_us) / 8, Ordering::Relaxed);
    }
}

fn fail_all(items: Vec<Item>, error: &WireError) {
    for item in items {
        item.fail(error.clone());
    }
}

/// One code a text, or an error a text; the outer error is that of the whole batch.
fn run_batch(
    shared: &Shared,
    backend: &mut dyn Backend,
    items: &[Item],
) -> Result<Vec<Result<Coded, EmbedError>>, EmbedError> {
    let rows: Vec<&[u32]> = items.iter().map(|item| item.ids.as_slice()).collect();
    let lengths: Vec<usize> = rows.iter().map(|row| row.len()).collect();
    let output = backend.run(Batch { rows: &rows, pad_id: shared.tokenizer.pad_id() })?;
    let vectors = pool(&output, &lengths, &shared.config)?;
    metrics::counter!("embed_tokens_total").increment(lengths.iter().sum::<usize>() as u64);
    Ok(items.iter().zip(vectors).map(|(item, vector)| item.projection().encode(&vector)).collect())
}
