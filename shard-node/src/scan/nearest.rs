//! The nearest candidates so far: a bounded heap over (distance, vector id).
//!
//! Owns the order of the first stage and its limit. It must not know codes, scores or filters.

use std::collections::BinaryHeap;

/// A vector that may be scored. The derived order is the rank: distance, then id (the row never decides, because
/// an id has one row).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub(super) distance: u32,
    pub(super) vector_id: u32,
    /// Where its code lies in the arena.
    pub(super) row: u32,
}

/// At most `wanted` candidates, the worst on top.
#[derive(Debug)]
pub(super) struct Nearest {
    wanted: usize,
    heap: BinaryHeap<Candidate>,
    limit: u32,
}

impl Nearest {
    /// `wanted` is at least 1 and bounds the memory.
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, heap: BinaryHeap::with_capacity(wanted), limit: u32::MAX }
    }

    /// Nothing farther than this can enter; at exactly this distance the id decides.
    #[inline]
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Whether [`Self::insert`] would keep it.
    pub(super) fn admits(&self, candidate: Candidate) -> bool {
        self.heap.len() < self.wanted || self.heap.peek().is_some_and(|worst| candidate < *worst)
    }

    /// Keeps an admitted candidate, in the place of the worst when full.
    pub(super) fn insert(&mut self, candidate: Candidate) {
        if self.heap.len() < self.wanted {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
        if self.heap.len() == self.wanted
            && let Some(worst) = self.heap.peek()
        {
            self.limit = worst.distance;
        }
    }

    /// Keeps what belongs here of another heap.
    pub(super) fn merge(&mut self, other: Self) {
        for candidate in other.heap {
            if self.admits(candidate) {
                self.insert(candidate);
            }
        }
    }

    /// The candidates, in no order.
    pub(super) fn into_candidates(self) -> Vec<Candidate> {
        self.heap.into_vec()
    }
}
