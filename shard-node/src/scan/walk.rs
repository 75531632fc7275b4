//! One query over all segments, exact or pruned, on one thread or several.
//!
//! Owns the stages: prefix, its neighbour words, the rest, the heap. It must not know scores.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use sextant_kernels::{Kernels, Near, RestRows, SLACK, Split};

use super::bound::{Depth, part_limit};
use super::{Candidate, Control, Filter, Nearest, ScanError, ScanQuery, ScanStats};
use crate::arena::{SEGMENT_ROWS, Segment, Shape, Snapshot};

/// Rows that are compared with one limit: their prefixes fit the second cache level. The first chunks are shorter,
/// because until the heap is full every row passes.
const CHUNK_ROWS: usize = 4_096;
const FIRST_CHUNK_ROWS: usize = 512;

/// Words behind the prefix that decide whether the whole row is read: 640 bits, two neighbouring cache lines.
const SECOND_WORDS: usize = 10;

/// What all threads of a scan share.
pub(super) struct Shared<'a> {
    pub(super) segments: &'a [std::sync::Arc<Segment>],
    next: AtomicUsize,
    stopped: std::sync::atomic::AtomicBool,
    control: Control<'a>,
}

impl<'a> Shared<'a> {
    pub(super) fn new(arena: &'a Snapshot, control: Control<'a>) -> Self {
        let stopped = std::sync::atomic::AtomicBool::new(false);
        Self { segments: arena.segments(), next: AtomicUsize::new(0), stopped, control }
    }

    /// The next segment that nobody took, with the row that it begins with.
    pub(super) fn take(&self) -> Option<(u32, &'a Segment)> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let segment = self.segments.get(index)?;
        if self.stopped.load(Ordering::Relaxed) || (self.control.stop)() {
            self.stopped.store(true, Ordering::Relaxed);
            return None;
        }
        Some(((index * SEGMENT_ROWS) as u32, segment))
    }

    /// Runs `work` on as many threads as there may be, this one among them, and gives what each made.
    pub(super) fn run<T: Send>(
        &self,
        work: impl Fn() -> Result<T, ScanError> + Sync,
    ) -> Result<Vec<T>, ScanError> {
        let threads = self.control.threads.clamp(1, self.segments.len().max(1));
        let made = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(&work)).collect();
            let own = work();
            let joined = others.into_iter().map(|other| match other.join() {
                Ok(made) => made,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(own).chain(joined).collect::<Result<Vec<T>, ScanError>>()
        })?;
        if self.stopped.load(Ordering::Relaxed) { Err(ScanError::Stopped) } else { Ok(made) }
    }
}

/// The nearest `wanted` that pass.
pub(super) fn walk(
    kernels: Kernels,
    arena: &Snapshot,
    (query, wanted): (&ScanQuery<'_>, usize),
    filter: Filter<'_>,
    control: Control<'_>,
) -> Result<(Vec<Candidate>, ScanStats), ScanError> {
    let shared = Shared::new(arena, control);
    // No thread's worst candidate is nearer than the worst of all, so the least of them bounds every thread.
    let limit = AtomicU32::new(u32::MAX);
    let made = shared.run(|| {
        let mut walker = Walker::new(kernels, arena.shape(), (query, wanted), filter, &limit);
        while let Some((first_row, segment)) = shared.take() {
            walker.segment(first_row, segment)?;
        }
        Ok((walker.nearest, walker.stats))
    })?;
    let mut nearest = Nearest::new(wanted);
    let mut stats = ScanStats::default();
    for (part, cost) in made {
        stats.add(cost);
        nearest.merge(part);
    }
    Ok((nearest.into_candidates(), stats))
}

/// One thread's part of a scan.
pub(super) struct Walker<'a> {
    kernels: Kernels,
    shape: Shape,
    code: &'a [u64],
    /// `None`: exact.
    z: Option<f32>,
    filter: Filter<'a>,
    limit: &'a AtomicU32,
    near: Vec<Near>,
    chunk_rows: usize,
    pub(super) nearest: Nearest,
    pub(super) stats: ScanStats,
}

impl<'a> Walker<'a> {
    pub(super) fn new(
        kernels: Kernels,
        shape: Shape,
        (query, wanted): (&ScanQuery<'a>, usize),
        filter: Filter<'a>,
        limit: &'a AtomicU32,
    ) -> Self {
        let z = match query.depth {
            Depth::Pruned { z } if shape.rest > 0 && z.is_finite() => Some(z),
            Depth::Pruned { .. } | Depth::Exact => None,
        };
        Self {
            kernels,
            shape,
            code: query.code,
            z,
            filter,
            limit,
            near: vec![Near::default(); CHUNK_ROWS + SLACK],
            chunk_rows: FIRST_CHUNK_ROWS,
            nearest: Nearest::new(wanted),
            stats: ScanStats::default(),
        }
    }

    /// Puts into the heap what belongs there of one segment.
    pub(super) fn segment(&mut self, first_row: u32, segment: &Segment) -> Result<(), ScanError> {
        let mut from = 0;
        while from < segment.used() {
            let rows = (segment.used() - from).min(self.chunk_rows);
            self.chunk((first_row, segment), from, rows)?;
            from += rows;
            self.chunk_rows = (self.chunk_rows * 2).min(CHUNK_ROWS);
        }
        Ok(())
    }

    /// The rows `from..from + rows` of a segment; `from` is a multiple of eight.
    pub(super) fn chunk(
        &mut self,
        (first_row, segment): (u32, &Segment),
        from: usize,
        rows: usize,
    ) -> Result<(), ScanError> {
        let limit = self.nearest.limit().min(self.limit.load(Ordering::Relaxed));
        let found = match self.z {
            None => self.exact(segment, (from, rows), limit)?,
            Some(z) => self.pruned(segment, (from, rows), limit, z)?,
        };
        self.stats.rows += rows as u64;
        for at in 0..found {
            let Near { row, distance } = self.near[at];
            let offset = from + row as usize;
            self.stats.tested += u64::from(offer(
                &mut self.nearest,
                self.filter,
                (segment, offset),
                first_row + offset as u32,
                distance,
            ));
        }
        let own = self.nearest.limit();
        if own < limit {
            self.limit.fetch_min(own, Ordering::Relaxed);
        }
        Ok(())
    }

    fn exact(
        &mut self,
        segment: &Segment,
        (from, rows): (usize, usize),
        limit: u32,
    ) -> Result<usize, ScanError> {
        let (prefix, rest) = self.code.split_at(self.shape.prefix);
        let planes = segment.planes(from, from + rows.next_multiple_of(sextant_kernels::LANES));
        self.stats.bytes += (rows * self.code.len() * 8) as u64;
        Ok(self.kernels.within(Split { prefix, rest }, planes, limit, &mut self.near)?)
    }

    fn pruned(
        &mut self,
        segment: &Segment,
        (from, rows): (usize, usize),
        limit: u32,
        z: f32,
    ) -> Result<usize, ScanError> {
        let (prefix, rest) = self.code.split_at(self.shape.prefix);
        let (second, third) = rest.split_at(SECOND_WORDS.min(rest.len()));
        let bits = self.code.len() * 64;
        let mut planes = segment.planes(from, from + rows.next_multiple_of(sextant_kernels::LANES));
        let rest_rows = RestRows { words: planes.rest, stride: self.shape.rest, from: 0 };
        planes.rest = &[];
        let near = &mut self.near;

        let worth = part_limit(limit, prefix.len() * 64, bits, z);
        let passed = self.kernels.within(Split { prefix, rest: &[] }, planes, worth, near)?;
        let worth = part_limit(limit, (prefix.len() + second.len()) * 64, bits, z);
        let kept = self.kernels.narrow(second, rest_rows, worth, &mut near[..passed])?;
        let behind = RestRows { from: second.len(), ..rest_rows };
        let found = self.kernels.narrow(third, behind, limit, &mut near[..kept])?;
        self.stats.bytes += ((rows * prefix.len() + passed * second.len() + kept * third.len()) * 8) as u64;
        Ok(found)
    }
}

/// Offers a row to the heap; says whether the filter was asked.
#[inline]
pub(super) fn offer(
    nearest: &mut Nearest,
    filter: Filter<'_>,
    (segment, offset): (&Segment, usize),
    row: u32,
    distance: u32,
) -> bool {
    if distance > nearest.limit() {
        return false;
    }
    let Some(vector_id) = segment.live_id(offset) else { return false };
    let candidate = Candidate { distance, vector_id, row };
    if !nearest.admits(candidate) {
        return false;
    }
    if filter(vector_id) {
        nearest.insert(candidate);
    }
    true
}
