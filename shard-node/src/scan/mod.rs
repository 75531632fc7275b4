//! Scans of an arena: the nearest codes by Hamming distance, ordered by the asymmetric score.
//!
//! Owns the ranking of one arena's rows for its queries. It must not know views, rights or paths (the caller's filter
//! speaks for them), nor other arenas and their merge. Functions of values: no locks, no clock.
//!
//! Hamming distances pick `k × oversample` candidates, at the speed of memory; then the query's weights, which keep what
//! the signs lost, order the candidates alone. Both orders break ties by vector id, so that an exact answer depends
//! neither on the place of a row, nor on the number of threads, nor on the processor. A pruned one may lack a vector
//! that an exact one has (`bound`), and which it lacks may depend on the order of rows and threads; what it holds has
//! its true distance and score.

mod batch;
mod bound;
mod control;
mod nearest;
mod selected;
#[cfg(test)]
mod tests;
mod walk;

use std::cmp::Reverse;

use sextant_kernels::{Kernels, ShapeError};

use self::nearest::{Candidate, Nearest};
use crate::arena::Snapshot;

pub use self::batch::{BatchEntry, top_k_batch};
pub use self::bound::{Depth, part_limit};
pub use self::control::Control;
pub use self::selected::top_k_selected;

/// Whether a vector may be in the answer. Asked at most once a vector and query, and only about vectors that beat the
/// candidates so far, so it may be costly; in no particular order.
pub type Filter<'a> = &'a (dyn Fn(u32) -> bool + Sync);

/// What to look for. Both forms of the query have the arena's width.
#[derive(Clone, Copy, Debug)]
pub struct ScanQuery<'a> {
    /// The query's own code, `words` of the arena.
    pub code: &'a [u64],
    /// The query's rotated vector, one weight a bit, scaled to `i16`; `weights.len().div_ceil(64)` is `words`.
    pub weights: &'a [i16],
    /// Most hits wanted.
    pub k: usize,
    /// Candidates scored for each hit wanted; 0 counts as 1.
    pub oversample: usize,
    /// How much of each code is read.
    pub depth: Depth,
}

/// A vector that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scored {
    /// Which vector.
    pub vector_id: u32,
    /// Sum of the query's weights with the signs of the code; greater is nearer.
    pub score: i64,
    /// Bits that differ between the query's code and this one.
    pub distance: u32,
}

/// What a scan cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanStats {
    /// Rows read, at least their prefix; retired ones included.
    pub rows: u64,
    /// Bytes of codes read.
    pub bytes: u64,
    /// Vectors that the filter was asked about.
    pub tested: u64,
    /// Vectors that were scored.
    pub candidates: u64,
}

impl ScanStats {
    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.tested += other.tested;
        self.candidates += other.candidates;
    }
}

/// The answer of one arena.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// At most `k` hits: score descending, then vector id ascending.
    pub hits: Vec<Scored>,
    /// What it cost.
    pub stats: ScanStats,
}

/// Why a scan has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The query's code has another width.
    #[error(
        "a query of {query_words} words was sent to an arena of {arena_words}: \
         embed the question with the model and code width of this generation"
    )]
    Width {
        /// Words of the query's code.
        query_words: usize,
        /// Words of the arena's codes.
        arena_words: usize,
    },
    /// The query's weights have another width than its code.
    #[error("the query's weights and code disagree, send both from one embedding: {0}")]
    Shape(#[from] ShapeError),
    /// Nobody waits for the answer any more.
    #[error("the scan was given up: its asker went away or its deadline passed; ask again")]
    Stopped,
}

/// The best `k` of the live vectors that `filter` lets pass.
///
/// Exact by the two-stage definition: of all vectors that pass, the `k × oversample` nearest by (distance, id)
/// are scored, and the first `k` by (score descending, id) returned. [`Depth::Pruned`] may miss some of the former.
///
/// Cost: one read of the arena (pruned: of the prefixes and some percent of the rest), plus one score and two heap steps
/// for each candidate. With several threads, segments are taken by whoever is free.
pub fn top_k(
    kernels: Kernels,
    arena: &Snapshot,
    query: &ScanQuery<'_>,
    filter: Filter<'_>,
    control: Control<'_>,
) -> Result<Scan, ScanError> {
    let wanted = check(kernels, arena, query)?;
    if wanted == 0 {
        return Ok(Scan::default());
    }
    let (nearest, mut stats) = walk::walk(kernels, arena, (query, wanted), filter, control)?;
    stats.candidates = nearest.len() as u64;
    Ok(Scan { hits: score(kernels, arena, query, nearest)?, stats })
}

/// Candidates that the arena can give, where the query fits it.
fn check(kernels: Kernels, arena: &Snapshot, query: &ScanQuery<'_>) -> Result<usize, ScanError> {
    let words = arena.shape().words();
    if query.code.len() != words {
        return Err(ScanError::Width { query_words: query.code.len(), arena_words: words });
    }
    // Refuse wrong weights even where there is nothing to score.
    kernels.asymmetric(query.weights, query.code)?;
    // No more than the arena can give, so that a large k does not allocate.
    Ok(query.k.saturating_mul(query.oversample.max(1)).min(arena.len()))
}

/// The candidates in the order of their scores, at most `k`.
fn score(
    kernels: Kernels,
    arena: &Snapshot,
    query: &ScanQuery<'_>,
    candidates: Vec<Candidate>,
) -> Result<Vec<Scored>, ScanError> {
    let mut code = vec![0; query.code.len()];
    let mut hits = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        if arena.copy_code(candidate.row, &mut code) {
            let score = kernels.asymmetric(query.weights, &code)?;
            hits.push(Scored { vector_id: candidate.vector_id, score, distance: candidate.distance });
        }
    }
    hits.sort_unstable_by_key(|hit| (Reverse(hit.score), hit.vector_id));
    hits.truncate(query.k);
    Ok(hits)
}
