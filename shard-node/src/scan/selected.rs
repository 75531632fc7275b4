//! A scan of chosen vectors alone, for filters that leave so few that reading everything would be a waste.
//!
//! Owns the loop over chosen rows. It must not know how they were chosen.

use sextant_kernels::{Kernels, Near, RestRows};

use super::walk::offer;
use super::{Control, Nearest, Scan, ScanError, ScanQuery, ScanStats, check, score};
use crate::arena::{SEGMENT_ROWS, Snapshot};

/// The best `k` among the vectors in `rows` (ascending, of this snapshot's arena; dead rows are passed over). Always
/// exact. Cost: a row's bytes and a cache miss or two for each.
pub fn top_k_selected(
    kernels: Kernels,
    arena: &Snapshot,
    query: &ScanQuery<'_>,
    rows: &[u32],
    control: Control<'_>,
) -> Result<Scan, ScanError> {
    let wanted = check(kernels, arena, query)?.min(rows.len());
    let mut scan = Scan::default();
    if wanted == 0 {
        return Ok(scan);
    }
    let shape = arena.shape();
    let (prefix, rest) = query.code.split_at(shape.prefix);
    let mut nearest = Nearest::new(wanted);
    let mut near: Vec<Near> = Vec::new();
    let mut stats = ScanStats::default();
    for group in rows.chunk_by(|a, b| *a as usize / SEGMENT_ROWS == *b as usize / SEGMENT_ROWS) {
        if (control.stop)() {
            return Err(ScanError::Stopped);
        }
        let index = group[0] as usize / SEGMENT_ROWS;
        let Some(segment) = arena.segments().get(index) else { continue };
        near.clear();
        near.extend(
            group
                .iter()
                .map(|row| row % SEGMENT_ROWS as u32)
                .filter(|row| (*row as usize) < segment.used())
                .map(|row| {
                    let differing = |(word, query): (usize, &u64)| {
                        (segment.word(row as usize, word) ^ query).count_ones()
                    };
                    Near { row, distance: prefix.iter().enumerate().map(differing).sum() }
                }),
        );
        let used = segment.used().next_multiple_of(sextant_kernels::LANES);
        let rest_rows = RestRows { words: segment.planes(0, used).rest, stride: shape.rest, from: 0 };
        let found = kernels.narrow(rest, rest_rows, nearest.limit(), &mut near)?;
        stats.rows += group.len() as u64;
        stats.bytes += (group.len() * query.code.len() * 8) as u64;
        for near in &near[..found] {
            let row = (index * SEGMENT_ROWS) as u32 + near.row;
            offer(&mut nearest, &|_| true, (segment, near.row as usize), row, near.distance);
        }
    }
    let candidates = nearest.into_candidates();
    stats.candidates = candidates.len() as u64;
    scan.stats = stats;
    scan.hits = score(kernels, arena, query, candidates)?;
    Ok(scan)
}
