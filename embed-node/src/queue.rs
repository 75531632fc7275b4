//! Two bounded lanes between requests and session threads. Knows lanes, bounds and order; the items are opaque.
//!
//! A session thread takes one batch at a time, from the query lane while that holds anything, so a query waits for at
//! most the one batch that each session is running. Slots are reserved before a request is tokenised, so what waits is
//! bounded in memory too.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use sextant_proto::embed::Lane;

use crate::batch::{BatchPolicy, next_batch};

/// What the queue needs to know of an item.
pub trait Queued: Send {
    /// Tokens that the text has.
    fn tokens(&self) -> usize;
    /// Whether nobody waits for it any more.
    fn cancelled(&self) -> bool;
}

/// Most texts of each lane, waiting and running together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneBounds {
    /// Of the index lane.
    pub index: usize,
    /// Of the query lane.
    pub query: usize,
}

/// A lane without room for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneFull {
    /// Texts that have slots already.
    pub ahead: usize,
}

/// Slots of one request; given back when the last item that holds them is gone.
#[derive(Debug)]
pub struct Slots {
    reserved: Arc<[AtomicUsize; 2]>,
    lane: Lane,
    count: usize,
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.reserved[position(self.lane)].fetch_sub(self.count, Ordering::AcqRel);
    }
}

/// The queue of one model.
#[derive(Debug)]
pub struct Queue<T> {
    lanes: Mutex<Lanes<T>>,
    ready: Condvar,
    reserved: Arc<[AtomicUsize; 2]>,
    bounds: LaneBounds,
}

#[derive(Debug)]
struct Lanes<T> {
    waiting: [VecDeque<T>; 2],
    closed: bool,
}

const fn position(lane: Lane) -> usize {
    match lane {
        Lane::Index => 0,
        Lane::Query => 1,
    }
}

/// Label of a lane in metrics.
pub const fn label(lane: Lane) -> &'static str {
    match lane {
        Lane::Index => "index",
        Lane::Query => "query",
    }
}

impl<T: Queued> Queue<T> {
    /// An empty queue.
    pub fn new(bounds: LaneBounds) -> Self {
        Self {
            lanes: Mutex::new(Lanes { waiting: [VecDeque::new(), VecDeque::new()], closed: false }),
            ready: Condvar::new(),
            reserved: Arc::default(),
            bounds,
        }
    }

    /// Reserves slots for `count` texts, or says how many are ahead.
    pub fn reserve(&self, lane: Lane, count: usize) -> Result<Slots, LaneFull> {
        let bound = match lane {
            Lane::Index => self.bounds.index,
            Lane::Query => self.bounds.query,
        };
        let slots = &self.reserved[position(lane)];
        slots
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |held| {
                held.checked_add(count).filter(|sum| *sum <= bound)
            })
            .map_err(|ahead| LaneFull { ahead })?;
        Ok(Slots { reserved: Arc::clone(&self.reserved), lane, count })
    }

    /// Adds items in their order. Slots must be reserved. After [`Queue::close`] the items are dropped.
    pub fn push(&self, lane: Lane, items: impl IntoIterator<Item = T>) {
        let mut lanes = self.lock();
        if lanes.closed {
            return;
        }
        let waiting = &mut lanes.waiting[position(lane)];
        waiting.extend(items);
        note_depth(lane, waiting.len());
        drop(lanes);
        self.ready.notify_all();
    }

    /// Waits for the next batch; `None` once the queue is closed. Cancelled items are dropped on the way.
    pub fn take(&self, policy: BatchPolicy) -> Option<Vec<T>> {
        let mut lanes = self.lock();
        loop {
            if lanes.closed {
                return None;
            }
            for lane in [Lane::Query, Lane::Index] {
                let waiting = &mut lanes.waiting[position(lane)];
                let batch = take_batch(waiting, policy);
                if !batch.is_empty() {
                    note_depth(lane, waiting.len());
                    return Some(batch);
                }
            }
            lanes = self.ready.wait(lanes).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Texts waiting in a lane.
    pub fn depth(&self, lane: Lane) -> usize {
        self.lock().waiting[position(lane)].len()
    }

    /// Drops what waits and ends every [`Queue::take`].
    pub fn close(&self) {
        let mut lanes = self.lock();
        lanes.closed = true;
        let dropped = std::mem::take(&mut lanes.waiting);
        drop(lanes);
        drop(dropped);
        self.ready.notify_all();
    }

    /// The lanes are valid after every statement, so a panic elsewhere does not spoil them.
    fn lock(&self) -> MutexGuard<'_, Lanes<T>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn note_depth(lane: Lane, texts: usize) {
    metrics::gauge!("embed_queue_depth", "lane" => label(lane)).set(texts as f64);
}

/// The next batch of live items; empty when none waits.
fn take_batch<T: Queued>(waiting: &mut VecDeque<T>, policy: BatchPolicy) -> Vec<T> {
    loop {
        while waiting.front().is_some_and(Queued::cancelled) {
            waiting.pop_front();
        }
        let lengths: Vec<usize> = waiting.iter().take(policy.window()).map(Queued::tokens).collect();
        let chosen = next_batch(&lengths, policy);
        if chosen.is_empty() {
            return Vec::new();
        }
        let mut falling: Vec<(usize, usize)> =
            chosen.into_iter().enumerate().map(|(to, at)| (at, to)).collect();
        falling.sort_unstable_by(|a, b| b.cmp(a));
        let mut batch: Vec<(usize, T)> =
            falling.into_iter().filter_map(|(at, to)| waiting.remove(at).map(|item| (to, item))).collect();
        batch.sort_unstable_by_key(|(to, _)| *to);
        let live: Vec<T> = batch.into_iter().map(|(_, item)| item).filter(|item| !item.cancelled()).collect();
        if !live.is_empty() {
            return live;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Text {
        id: usize,
        tokens: usize,
        cancelled: bool,
    }

    impl Queued for Text {
        fn tokens(&self) -> usize {
            self.tokens
        }
        fn cancelled(&self) -> bool {
            self.cancelled
        }
    }

    fn text(id: usize) -> Text {
        Text { id, tokens: 1 + id % 7, cancelled: false }
    }

    fn queue() -> Queue<Text> {
        Queue::new(LaneBounds { index: 10, query: 2 })
    }

    fn ids(batch: Option<Vec<Text>>) -> Vec<usize> {
        batch.unwrap_or_default().into_iter().map(|text| text.id).collect()
    }

    #[test]
    fn queries_go_first_however_long_the_index_lane_is() {
        let queue = queue();
        queue.push(Lane::Index, (0..10).map(text));
        assert_eq!(ids(queue.take(BatchPolicy::SINGLE)), [0]);
        queue.push(Lane::Query, [text(100)]);
        assert_eq!(ids(queue.take(BatchPolicy::SINGLE)), [100]);
        assert_eq!(ids(queue.take(BatchPolicy::SINGLE)), [1]);
    }

    #[test]
    fn lanes_do_not_mix_in_a_batch() {
        let queue = queue();
        queue.push(Lane::Index, (0..3).map(text));
        queue.push(Lane::Query, (10..12).map(text));
        let mut first = ids(queue.take(BatchPolicy::ACCELERATOR));
        first.sort_unstable();
        assert_eq!(first, [10, 11]);
    }

    #[test]
    fn a_full_lane_says_what_is_ahead_and_frees_with_its_slots() {
        let queue = queue();
        let held = queue.reserve(Lane::Query, 2).unwrap();
        assert_eq!(queue.reserve(Lane::Query, 1).unwrap_err(), LaneFull { ahead: 2 });
        assert!(queue.reserve(Lane::Index, 10).is_ok());
        assert!(queue.reserve(Lane::Index, usize::MAX).is_err());
        drop(held);
        assert!(queue.reserve(Lane::Query, 2).is_ok());
    }

    #[test]
    fn closing_ends_a_waiting_thread() {
        let queue = Arc::new(queue());
        let waiter = std::thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.take(BatchPolicy::SINGLE)
        });
        queue.close();
        assert_eq!(waiter.join().unwrap(), None);
        queue.push(Lane::Index, [text(0)]);
        assert_eq!(queue.depth(Lane::Index), 0);
    }

    proptest! {
        #[test]
        fn each_live_item_comes_out_once(
            texts in proptest::collection::vec((1usize..300, any::<bool>()), 0..200),
            max_texts in 1usize..33,
        ) {
            let queue = queue();
            let make = |(id, (tokens, cancelled)): (usize, (usize, bool))| Text { id, tokens, cancelled };
            queue.push(Lane::Index, texts.iter().copied().enumerate().map(make));
            let policy = BatchPolicy { max_texts, max_tokens: 1024 };
            let live: Vec<usize> =
                texts.iter().enumerate().filter(|(_, (_, cancelled))| !cancelled).map(|(id, _)| id).collect();
            let mut seen = Vec::new();
            while seen.len() < live.len() {
                let batch = ids(queue.take(policy));
                prop_assert!(batch.len() <= max_texts);
                seen.extend(batch);
            }
            seen.sort_unstable();
            prop_assert_eq!(seen, live);
        }
    }
}
