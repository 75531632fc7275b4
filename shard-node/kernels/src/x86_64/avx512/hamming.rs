//! Hamming distances with VPOPCNTQ over both planes, and the rows that are near enough.
//!
//! A block of eight vectors has one lane a vector all the way. Those near enough are compressed to the front of a
//! vector that is stored whole: no branch that a processor could guess wrong.

use core::arch::x86_64::{
    __m512i, __mmask8, _MM_HINT_T0, _mm_prefetch, _mm512_add_epi64, _mm512_cmple_epu64_mask,
    _mm512_maskz_compress_epi64, _mm512_or_si512, _mm512_popcnt_epi64, _mm512_set1_epi64, _mm512_setr_epi64,
    _mm512_setzero_si512, _mm512_slli_epi64, _mm512_storeu_si512, _mm512_xor_si512,
};

use super::transpose::sum_across;
use super::{load, load_tail};
use crate::planes::{LANES, Near, Planes, Split};

/// Words of an interleaved rest between two looks at whether any lane can still be near enough.
const LOOK_WORDS: usize = 8;

/// Words between those of the prefix plane that are compared and those that are asked for: 2 KiB.
const PREFIX_AHEAD_WORDS: usize = 256;

/// Where candidates go.
pub(super) struct Sink<'a> {
    out: &'a mut [Near],
    found: usize,
    limit: __m512i,
}

impl<'a> Sink<'a> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(out: &'a mut [Near], limit: u32) -> Self {
        Self { out, found: 0, limit: _mm512_set1_epi64(i64::from(limit)) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn near_enough(&self, counts: __m512i) -> __mmask8 {
        _mm512_cmple_epu64_mask(counts, self.limit)
    }

    /// Keeps the lanes that are near enough; `rows` has their numbers.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn take(&mut self, counts: __m512i, rows: __m512i) {
        self.take_masked(counts, rows, u8::MAX);
    }

    /// [`Self::take`] among the lanes of `lanes`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn take_masked(&mut self, counts: __m512i, rows: __m512i, lanes: __mmask8) {
        let mask = self.near_enough(counts) & lanes;
        let pairs = _mm512_or_si512(_mm512_slli_epi64::<32>(counts), rows);
        let kept = _mm512_maskz_compress_epi64(mask, pairs);
        // Shapes were checked: there is room for one candidate a row and eight more.
        if let Some(places) = self.out.get_mut(self.found..).and_then(|rest| rest.first_chunk_mut::<LANES>())
        {
            // SAFETY: the array is eight `Near`, 64 writable bytes of two `u32` each, row first; the store needs no
            // alignment.
            unsafe { _mm512_storeu_si512(places.as_mut_ptr().cast(), kept) };
            self.found += mask.count_ones() as usize;
        }
    }

    pub(super) fn found(self) -> usize {
        self.found
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn differing(a: __m512i, b: __m512i) -> __m512i {
    _mm512_popcnt_epi64(_mm512_xor_si512(a, b))
}

/// Distances of eight interleaved vectors. Two sums, so that additions do not wait for one another.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn interleaved(query: &[u64], lines: &[[u64; LANES]]) -> __m512i {
    let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    for (at, (line, &word)) in lines.iter().zip(query).enumerate() {
        let counts = differing(_mm512_set1_epi64(word as i64), load(line));
        if at % 2 == 0 {
            even = _mm512_add_epi64(even, counts);
        } else {
            odd = _mm512_add_epi64(odd, counts);
        }
    }
    _mm512_add_epi64(even, odd)
}

/// Eight partial counts of the bits that differ between the query and one row.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
pub(super) fn row_counts(query: &[u64], row: &[u64]) -> __m512i {
    let (query_vectors, query_tail) = query.as_chunks::<LANES>();
    let (row_vectors, row_tail) = row.as_chunks::<LANES>();
    let mut counts = _mm512_setzero_si512();
    for (a, b) in query_vectors.iter().zip(row_vectors) {
        counts = _mm512_add_epi64(counts, differing(load(a), load(b)));
    }
    if !query_tail.is_empty() {
        counts = _mm512_add_epi64(counts, differing(load_tail(query_tail), load_tail(row_tail)));
    }
    counts
}

/// Asks for the memory `ahead` words behind the beginning of `words`, as much as they are: more requests are in flight
/// than the processor makes by itself.
#[inline]
#[target_feature(enable = "avx512f")]
fn prefetch(words: &[u64], ahead: usize) {
    for line in (0..words.len()).step_by(LANES) {
        // A prefetch never faults, whatever the address.
        _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(ahead + line).cast());
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn first_rows() -> __m512i {
    _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)
}

/// A length that is not known before the call.
const ANY: usize = usize::MAX;

#[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
pub(super) fn within(query: Split<'_>, planes: Planes<'_>, limit: u32, out: &mut [Near]) -> usize {
    // Widths in use get loops of a known length.
    match (query.prefix.len(), query.rest.len()) {
        (6, 0) => sized::<6, 0>(query, planes, limit, out),
        (8, 0) => sized::<8, 0>(query, planes, limit, out),
        (6, 6) => sized::<6, 6>(query, planes, limit, out),
        (6, 10) => sized::<6, 10>(query, planes, limit, out),
        (6, 26) => sized::<6, 26>(query, planes, limit, out),
        (6, 58) => sized::<6, 58>(query, planes, limit, out),
        _ => sized::<ANY, ANY>(query, planes, limit, out),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
fn sized<const PREFIX: usize, const REST: usize>(
    query: Split<'_>,
    planes: Planes<'_>,
    limit: u32,
    out: &mut [Near],
) -> usize {
    let prefix_words = if PREFIX == ANY { query.prefix.len() } else { PREFIX };
    let rest_words = if REST == ANY { query.rest.len() } else { REST };
    let (prefix_query, rest_query) = (&query.prefix[..prefix_words], &query.rest[..rest_words]);
    let mut sink = Sink::new(out, limit);
    let mut rows = first_rows();
    let mut rest = planes.rest;
    for block in planes.prefix.chunks_exact(LANES * prefix_words) {
        prefetch(block, PREFIX_AHEAD_WORDS);
        let mut counts = interleaved(prefix_query, block.as_chunks().0);
        if rest_words > 0 {
            let (tile, behind) = rest.split_at(LANES * rest_words);
            rest = behind;
            let mut partial = [_mm512_setzero_si512(); LANES];
            for (partial, row) in partial.iter_mut().zip(tile.chunks_exact(rest_words)) {
                // The same row of the next block.
                prefetch(row, LANES * rest_words);
                *partial = row_counts(rest_query, row);
            }
            counts = _mm512_add_epi64(counts, sum_across(partial));
        }
        sink.take(counts, rows);
        rows = _mm512_add_epi64(rows, _mm512_set1_epi64(LANES as i64));
    }
    sink.found()
}

#[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
pub(super) fn interleaved_within(
    query: Split<'_>,
    planes: Planes<'_>,
    limit: u32,
    out: &mut [Near],
) -> usize {
    let block_words = LANES * query.rest.len();
    let mut sink = Sink::new(out, limit);
    let mut rows = first_rows();
    for (block, prefix) in planes.prefix.chunks_exact(LANES * query.prefix.len()).enumerate() {
        let mut counts = interleaved(query.prefix, prefix.as_chunks().0);
        let lines = planes.rest[block * block_words..(block + 1) * block_words].as_chunks::<LANES>().0;
        let mut possible = true;
        for (part, lines) in query.rest.chunks(LOOK_WORDS).zip(lines.chunks(LOOK_WORDS)) {
            if sink.near_enough(counts) == 0 {
                possible = false;
                break;
            }
            counts = _mm512_add_epi64(counts, interleaved(part, lines));
        }
        if possible {
            sink.take(counts, rows);
        }
        rows = _mm512_add_epi64(rows, _mm512_set1_epi64(LANES as i64));
    }
    sink.found()
}
