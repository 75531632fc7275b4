//! Several queries over one arena in one pass.
//!
//! Owns the order of loops: a block of rows is brought near once, and every query meets it there.

use std::sync::atomic::AtomicU32;

use sextant_kernels::{Kernels, LANES, Near, Planes, SLACK, Split};

use super::walk::{Shared, Walker, offer};
use super::{
    Candidate, Control, Depth, Filter, Nearest, Scan, ScanError, ScanQuery, ScanStats, check, score,
};
use crate::arena::{Segment, Shape, Snapshot};

/// Rows that are interleaved and then met by every query: 32 KiB at 4,096 bits, the first cache level.
const BLOCK_ROWS: usize = 64;
/// Rows whose prefixes every query meets in turn when scans are pruned.
const CHUNK_ROWS: usize = 2_048;
/// Queries from which interleaving a block pays.
const INTERLEAVE_FROM: usize = 3;

/// A query of a batch with its filter.
#[derive(Clone, Copy)]
pub struct BatchEntry<'a> {
    /// What to look for.
    pub query: ScanQuery<'a>,
    /// What may be found.
    pub filter: Filter<'a>,
}

/// [`super::top_k`] for several queries at once, each answer as it would be alone (pruned ones but for their luck).
pub fn top_k_batch(
    kernels: Kernels,
    arena: &Snapshot,
    entries: &[BatchEntry<'_>],
    control: Control<'_>,
) -> Result<Vec<Scan>, ScanError> {
    let wanted: Vec<usize> =
        entries.iter().map(|entry| check(kernels, arena, &entry.query)).collect::<Result<_, _>>()?;
    let limits: Vec<AtomicU32> = entries.iter().map(|_| AtomicU32::new(u32::MAX)).collect();
    let together = entries.len() >= INTERLEAVE_FROM
        && arena.shape().rest > 0
        && entries.iter().all(|entry| entry.query.depth == Depth::Exact);

    let shared = Shared::new(arena, control);
    let made = shared.run(|| {
        if together {
            let mut part = Together::new(kernels, arena.shape(), entries, &wanted);
            while let Some((first_row, segment)) = shared.take() {
                part.segment(first_row, segment)?;
            }
            return Ok(part.states);
        }
        let mut walkers: Vec<Walker<'_>> = entries
            .iter()
            .zip(&wanted)
            .zip(&limits)
            .map(|((entry, &wanted), limit)| {
                Walker::new(kernels, arena.shape(), (&entry.query, wanted.max(1)), entry.filter, limit)
            })
            .collect();
        while let Some((first_row, segment)) = shared.take() {
            for from in (0..segment.used()).step_by(CHUNK_ROWS) {
                let rows = CHUNK_ROWS.min(segment.used() - from);
                for walker in &mut walkers {
                    walker.chunk((first_row, segment), from, rows)?;
                }
            }
        }
        Ok(walkers.into_iter().map(|walker| (walker.nearest, walker.stats)).collect())
    })?;

    let mut merged: Vec<(Nearest, ScanStats)> =
        wanted.iter().map(|&wanted| (Nearest::new(wanted.max(1)), ScanStats::default())).collect();
    for part in made {
        for ((nearest, stats), (found, cost)) in merged.iter_mut().zip(part) {
            nearest.merge(found);
            stats.add(cost);
        }
    }
    entries
        .iter()
        .zip(merged)
        .zip(wanted)
        .map(|((entry, (nearest, mut stats)), wanted)| {
            let candidates: Vec<Candidate> = if wanted == 0 { Vec::new() } else { nearest.into_candidates() };
            stats.candidates = candidates.len() as u64;
            Ok(Scan { hits: score(kernels, arena, &entry.query, candidates)?, stats })
        })
        .collect()
}

/// One thread's part of an exact batch.
struct Together<'a> {
    kernels: Kernels,
    shape: Shape,
    entries: &'a [BatchEntry<'a>],
    states: Vec<(Nearest, ScanStats)>,
    turned: Vec<u64>,
    near: Vec<Near>,
}

impl<'a> Together<'a> {
    fn new(kernels: Kernels, shape: Shape, entries: &'a [BatchEntry<'a>], wanted: &[usize]) -> Self {
        let states =
            wanted.iter().map(|&wanted| (Nearest::new(wanted.max(1)), ScanStats::default())).collect();
        let turned = vec![0; BLOCK_ROWS * shape.rest];
        Self { kernels, shape, entries, states, turned, near: vec![Near::default(); BLOCK_ROWS + SLACK] }
    }

    fn segment(&mut self, first_row: u32, segment: &Segment) -> Result<(), ScanError> {
        for from in (0..segment.used()).step_by(BLOCK_ROWS) {
            let rows = BLOCK_ROWS.min(segment.used() - from);
            let planes = segment.planes(from, from + rows.next_multiple_of(LANES));
            let turned = &mut self.turned[..planes.rest.len()];
            self.kernels.interleave(planes.rest, self.shape.rest, turned)?;
            let planes = Planes { prefix: planes.prefix, rest: turned };
            for (entry, (nearest, stats)) in self.entries.iter().zip(&mut self.states) {
                let (prefix, rest) = entry.query.code.split_at(self.shape.prefix);
                let split = Split { prefix, rest };
                let found =
                    self.kernels.interleaved_within(split, planes, nearest.limit(), &mut self.near)?;
                stats.rows += rows as u64;
                stats.bytes += (rows * entry.query.code.len() * 8) as u64;
                for near in &self.near[..found] {
                    let offset = from + near.row as usize;
                    let row = first_row + offset as u32;
                    let asked = offer(nearest, entry.filter, (segment, offset), row, near.distance);
                    stats.tested += u64::from(asked);
                }
            }
        }
        Ok(())
    }
}
