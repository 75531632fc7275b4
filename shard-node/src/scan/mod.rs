//! Exact scan of an arena: the nearest codes by Hamming distance, ordered by the asymmetric score.
//!
//! Owns the ranking of one arena's rows for one query. It must not know views, rights or paths (the caller's
//! filter speaks for them), nor other arenas and their merge. It is a function of values: no locks, no clock.
//!
//! Two stages. Hamming distances of all rows pick `k × oversample` candidates, at the speed of memory; then the
//! query's weights, which keep what the signs lost, order the candidates alone. Both orders break ties by vector
//! id, so that the answer depends neither on the place of a row nor on the processor.

mod nearest;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use sextant_kernels::{Kernels, MAX_WORDS, ShapeError};

use self::nearest::{Candidate, Nearest};
use crate::arena::{Arena, SegmentView};

/// Words of rows whose distances are computed before any is looked at: 32 KiB, so that the block and its
/// distances stay in the first cache levels. A block has at least one row: the widest code has just this size.
const BLOCK_WORDS: usize = 4_096;
const _: () = assert!(BLOCK_WORDS >= MAX_WORDS);

/// Most rows in a block, whatever their width.
const BLOCK_ROWS: usize = 256;

/// Distances that are compared with the limit together.
const LANES: usize = 16;

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
    /// Rows read, retired ones included.
    pub rows: u64,
    /// Bytes of codes read.
    pub bytes: u64,
    /// Vectors that the filter was asked about.
    pub tested: u64,
    /// Vectors that were scored.
    pub candidates: u64,
}

/// The answer of one arena.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// At most `k` hits: score descending, then vector id ascending.
    pub hits: Vec<Scored>,
    /// What it cost.
    pub stats: ScanStats,
}

/// A query that does not belong to the arena.
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
}

/// The best `k` of the live vectors that `filter` lets pass.
///
/// Exact by the two-stage definition: of all vectors that pass, the `k × oversample` nearest by (distance, id)
/// are scored, and the first `k` by (score descending, id) returned. `filter` is called at most once a vector, and
/// only for those that beat the candidates so far, so it may be costly; it need not be called in id order.
///
/// Cost: one read of the arena, plus one score and two heap steps for each candidate.
pub fn top_k(
    kernels: Kernels,
    arena: &Arena,
    query: &ScanQuery<'_>,
    filter: &mut dyn FnMut(u32) -> bool,
) -> Result<Scan, ScanError> {
    let words = arena.words();
    if query.code.len() != words {
        return Err(ScanError::Width { query_words: query.code.len(), arena_words: words });
    }
    // Refuse wrong weights even where there is nothing to score.
    kernels.asymmetric(query.weights, query.code)?;

    // No more than the arena can give, so that a large k does not allocate.
    let wanted = query.k.saturating_mul(query.oversample.max(1)).min(arena.len());
    let mut scan = Scan::default();
    if wanted == 0 {
        return Ok(scan);
    }

    let mut nearest = Nearest::new(wanted);
    for segment in arena.segments() {
        scan.stats.rows += (segment.codes.len() / words) as u64;
        scan.stats.bytes += size_of_val(segment.codes) as u64;
        scan.stats.tested += gather(kernels, query.code, segment, &mut nearest, filter)?;
    }

    let candidates = nearest.into_candidates();
    scan.stats.candidates = candidates.len() as u64;
    scan.hits.reserve_exact(candidates.len());
    for candidate in candidates {
        let Some(code) = arena.code_at(candidate.row) else { continue };
        let score = kernels.asymmetric(query.weights, code)?;
        scan.hits.push(Scored { vector_id: candidate.vector_id, score, distance: candidate.distance });
    }
    scan.hits.sort_unstable_by_key(|hit| (Reverse(hit.score), hit.vector_id));
    scan.hits.truncate(query.k);
    Ok(scan)
}

/// Puts into `nearest` what belongs there of one segment; says how many vectors the filter was asked about.
fn gather(
    kernels: Kernels,
    code: &[u64],
    segment: SegmentView<'_>,
    nearest: &mut Nearest,
    filter: &mut dyn FnMut(u32) -> bool,
) -> Result<u64, ScanError> {
    let block_rows = (BLOCK_WORDS / code.len()).min(BLOCK_ROWS);
    let mut distances = [0_u32; BLOCK_ROWS];
    let mut tested = 0;
    for (index, block) in segment.codes.chunks(block_rows * code.len()).enumerate() {
        let distances = &mut distances[..block.len() / code.len()];
        kernels.hamming_rows(code, block, distances)?;
        let mut offset = index * block_rows;
        for lanes in distances.chunks(LANES) {
            // Almost always false once the heap is full, and without a branch a lane.
            if lanes.iter().fold(false, |any, &distance| any | (distance <= nearest.limit())) {
                for (lane, &distance) in lanes.iter().enumerate() {
                    if distance > nearest.limit() {
                        continue;
                    }
                    let Some(vector_id) = segment.live_id(offset + lane) else { continue };
                    let row = segment.first_row + (offset + lane) as u32;
                    let candidate = Candidate { distance, vector_id, row };
                    if nearest.admits(candidate) {
                        tested += 1;
                        if filter(vector_id) {
                            nearest.insert(candidate);
                        }
                    }
                }
            }
            offset += lanes.len();
        }
    }
    Ok(tested)
}
