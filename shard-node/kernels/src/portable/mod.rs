//! Kernels in portable Rust over arrays of eight lanes, which compilers turn into whatever vectors a processor has:
//! the fastest outside of x86-64.
//!
//! Owns the shape of the loops; every number is that of [`crate::scalar`].

use crate::planes::{LANES, Near, Planes, RestRows, Split};

type Lanes = [u64; LANES];

/// Adds the bits that differ between one query word and a word of eight vectors.
#[inline]
fn add(counts: &mut Lanes, words: &Lanes, query: u64) {
    for (count, word) in counts.iter_mut().zip(words) {
        *count += u64::from((word ^ query).count_ones());
    }
}

#[inline]
fn row_count(part: &[u64], row: &[u64]) -> u32 {
    let mut counts = [0; LANES];
    let (queries, query_tail) = part.as_chunks::<LANES>();
    let (words, word_tail) = row.as_chunks::<LANES>();
    for (query, word) in queries.iter().zip(words) {
        for lane in 0..LANES {
            counts[lane] += u64::from((query[lane] ^ word[lane]).count_ones());
        }
    }
    let tail: u32 = query_tail.iter().zip(word_tail).map(|(a, b)| (a ^ b).count_ones()).sum();
    counts.into_iter().sum::<u64>() as u32 + tail
}

/// Keeps the lanes of one block that are near enough; says how many are kept now.
#[inline]
fn emit(counts: &Lanes, first_row: usize, limit: u32, out: &mut [Near], found: usize) -> usize {
    let mut found = found;
    if counts.iter().fold(false, |any, &count| any | (count <= u64::from(limit))) {
        for (lane, &count) in counts.iter().enumerate() {
            if count <= u64::from(limit) {
                out[found] = Near { row: (first_row + lane) as u32, distance: count as u32 };
                found += 1;
            }
        }
    }
    found
}

/// See [`crate::Kernels::within`].
pub(crate) fn within(query: Split<'_>, planes: Planes<'_>, limit: u32, out: &mut [Near]) -> usize {
    let rest_words = query.rest.len();
    let mut found = 0;
    for (block, prefix) in planes.prefix.chunks_exact(LANES * query.prefix.len()).enumerate() {
        let mut counts = [0; LANES];
        for (words, query) in prefix.as_chunks::<LANES>().0.iter().zip(query.prefix) {
            add(&mut counts, words, *query);
        }
        if rest_words > 0 {
            let rows = planes.rest[block * LANES * rest_words..].chunks_exact(rest_words);
            for (count, row) in counts.iter_mut().zip(rows) {
                *count += u64::from(row_count(query.rest, row));
            }
        }
        found = emit(&counts, block * LANES, limit, out, found);
    }
    found
}

/// See [`crate::Kernels::interleaved_within`].
pub(crate) fn interleaved_within(
    query: Split<'_>,
    planes: Planes<'_>,
    limit: u32,
    out: &mut [Near],
) -> usize {
    let rest_words = query.rest.len();
    let mut found = 0;
    for (block, prefix) in planes.prefix.chunks_exact(LANES * query.prefix.len()).enumerate() {
        let mut counts = [0; LANES];
        for (words, query) in prefix.as_chunks::<LANES>().0.iter().zip(query.prefix) {
            add(&mut counts, words, *query);
        }
        let rest = &planes.rest[block * LANES * rest_words..(block + 1) * LANES * rest_words];
        for (words, query) in rest.as_chunks::<LANES>().0.iter().zip(query.rest) {
            add(&mut counts, words, *query);
        }
        found = emit(&counts, block * LANES, limit, out, found);
    }
    found
}

/// See [`crate::Kernels::narrow`].
pub(crate) fn narrow(part: &[u64], rest: RestRows<'_>, limit: u32, near: &mut [Near]) -> usize {
    let mut kept = 0;
    for at in 0..near.len() {
        let Near { row, distance } = near[at];
        let first = row as usize * rest.stride + rest.from;
        let distance = distance + row_count(part, &rest.words[first..first + part.len()]);
        near[kept] = Near { row, distance };
        kept += usize::from(distance <= limit);
    }
    kept
}
