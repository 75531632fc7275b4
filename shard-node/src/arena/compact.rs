//! An arena rewritten without its dead rows, beside the one in use.
//!
//! Owns the order of events: begin (a snapshot, and a journal of what changes from then on), run (long, without any
//! lock), finish (the journal replayed, then one exchange). Scans go on over the rows that they began with.

use std::collections::HashSet;

use super::{Arena, ArenaError, SEGMENT_ROWS, Snapshot};

/// Dead rows, as a share of all (one in this many), from which an arena is worth rewriting.
const DEAD_SHARE: usize = 4;

/// What changed since compaction `number` began.
#[derive(Debug)]
pub(super) struct Journal {
    number: u64,
    changed: HashSet<u32>,
}

impl Journal {
    pub(super) fn note(&mut self, vector_id: u32) {
        self.changed.insert(vector_id);
    }
}

/// A compaction under way. Where it is dropped, nothing has happened.
#[derive(Debug)]
pub struct Compaction {
    number: u64,
    from: Snapshot,
    rewritten: Arena,
}

impl Arena {
    /// Whether enough rows are dead that [`Self::begin_compaction`] would pay.
    pub fn wants_compaction(&self) -> bool {
        self.free.len() >= SEGMENT_ROWS && self.free.len() * DEAD_SHARE >= self.used
    }

    /// Takes the rows as they are, and notes every change from now on. One that was under way is void from then on.
    pub fn begin_compaction(&mut self) -> Compaction {
        self.compactions += 1;
        let number = self.compactions;
        self.journal = Some(Journal { number, changed: HashSet::new() });
        Compaction { number, from: self.snapshot(), rewritten: Self::of_shape(self.shape) }
    }

    /// Exchanges the rows for the rewritten ones, brought up to date; `false` where the compaction is void. Cost: one
    /// step for each vector that came or went since it began. Where it fails the rows are as they were.
    pub fn finish_compaction(&mut self, compaction: Compaction) -> Result<bool, ArenaError> {
        let Some(journal) = self.journal.take_if(|journal| journal.number == compaction.number) else {
            return Ok(false);
        };
        let mut rewritten = compaction.rewritten;
        for &vector_id in &journal.changed {
            rewritten.remove(vector_id)?;
        }
        // Those that came take the rows of those that went.
        for vector_id in journal.changed {
            if let Some(code) = self.code(vector_id) {
                rewritten.push(vector_id, &code)?;
            }
        }
        rewritten.compactions = self.compactions;
        *self = rewritten;
        Ok(true)
    }
}

impl Compaction {
    /// Copies the live rows. Long, and needs no lock: the arena may change and be scanned meanwhile.
    pub fn run(&mut self) -> Result<(), ArenaError> {
        let mut code = vec![0; self.from.shape().words()];
        for (index, segment) in self.from.segments().iter().enumerate() {
            for offset in 0..segment.used() {
                let row = (index * SEGMENT_ROWS + offset) as u32;
                if let Some(vector_id) = segment.live_id(offset)
                    && self.from.copy_code(row, &mut code)
                {
                    self.rewritten.push(vector_id, &code)?;
                }
            }
        }
        Ok(())
    }
}
