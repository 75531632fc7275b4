//! A request under way: where the vectors of its texts meet again. Knows nothing of queues' order or of models.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sextant_proto::embed::{EmbedReply, Lane};
use sextant_proto::error::WireError;
use tokio::sync::oneshot;

use crate::encode::{Coded, Projection};
use crate::queue::{Queued, Slots};
use crate::tokenizer::Encoded;

/// Set once nobody waits for a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Cancels its request when it is dropped, as the caller's future is.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(pub(crate) Cancelled);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// The answer that a request waits for.
pub(crate) type Answer = oneshot::Receiver<Result<EmbedReply, WireError>>;

/// What the texts of a request share.
#[derive(Debug)]
pub(crate) struct Pending {
    lane: Lane,
    projection: Arc<Projection>,
    cancelled: Cancelled,
    collected: Mutex<Collected>,
}

#[derive(Debug)]
struct Collected {
    reply: EmbedReply,
    left: usize,
    /// Held until the reply goes out, or until the last text of a cancelled request is gone.
    slots: Option<Slots>,
    sender: Option<oneshot::Sender<Result<EmbedReply, WireError>>>,
}

/// One text of a request.
#[derive(Debug)]
pub(crate) struct Item {
    pending: Arc<Pending>,
    at: usize,
    pub(crate) ids: Vec<u32>,
}

/// Starts a request: its items, and the answer to wait for.
pub(crate) fn start(
    lane: Lane,
    projection: Arc<Projection>,
    slots: Slots,
    cancelled: Cancelled,
    texts: Vec<Encoded>,
) -> (Vec<Item>, Answer) {
    let (sender, answer) = oneshot::channel();
    let width = projection.width();
    let float_bytes = match lane {
        Lane::Index => 0,
        Lane::Query => texts.len() * width.bits() * 4,
    };
    let reply = EmbedReply {
        codes: vec![0; texts.len() * width.bytes()],
        floats: vec![0; float_bytes],
        truncated: texts.iter().map(|text| u8::from(text.truncated)).collect(),
        tokens: texts.iter().map(|text| text.ids.len() as u64).sum(),
    };
    let collected =
        Mutex::new(Collected { reply, left: texts.len(), slots: Some(slots), sender: Some(sender) });
    let pending = Arc::new(Pending { lane, projection, cancelled, collected });
    let items = texts
        .into_iter()
        .enumerate()
        .map(|(at, text)| Item { pending: Arc::clone(&pending), at, ids: text.ids })
        .collect();
    (items, answer)
}

impl Item {
    /// How the vector becomes a code.
    pub(crate) fn projection(&self) -> &Projection {
        &self.pending.projection
    }

    /// Puts the text's code into the reply, and sends that with the last one.
    pub(crate) fn finish(self, coded: &Coded) {
        let mut collected = self.pending.lock();
        let (at, bytes) = (self.at, coded.code.len());
        if let Some(slot) = collected.reply.codes.get_mut(at * bytes..(at + 1) * bytes) {
            slot.copy_from_slice(&coded.code);
        }
        if self.pending.lane == Lane::Query {
            let bytes = coded.rotated.len() * 4;
            if let Some(slot) = collected.reply.floats.get_mut(at * bytes..(at + 1) * bytes) {
                for (slot, value) in slot.chunks_exact_mut(4).zip(&coded.rotated) {
                    slot.copy_from_slice(&value.to_le_bytes());
                }
            }
        }
        collected.left -= 1;
        if collected.left == 0
            && let Some(sender) = collected.sender.take()
        {
            let empty = EmbedReply { codes: vec![], floats: vec![], truncated: vec![], tokens: 0 };
            let reply = std::mem::replace(&mut collected.reply, empty);
            // Before the reply, so that a caller who has it finds the lane free.
            collected.slots = None;
            // The other side may be gone; then nobody misses the reply.
            let _ = sender.send(Ok(reply));
        }
    }

    /// Ends the whole request with an error; its other texts are skipped.
    pub(crate) fn fail(self, error: WireError) {
        self.pending.cancelled.set();
        if let Some(sender) = self.pending.lock().sender.take() {
            let _ = sender.send(Err(error));
        }
    }
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queued for Item {
    fn tokens(&self) -> usize {
        self.ids.len()
    }

    fn cancelled(&self) -> bool {
        self.pending.cancelled.is_set()
    }
}
