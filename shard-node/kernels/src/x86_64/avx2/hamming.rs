//! Hamming distances with AVX2: a shuffle looks up the population of each nibble (W. Muła, N. Kurz, D. Lemire,
//! "Faster Population Counts Using AVX2 Instructions", 2018, section 3.1), and VPSADBW adds the bytes.
//!
//! Bytes hold 31 vectors of at most 8 each (248 of 255) before they are added up.

use core::arch::x86_64::{
    __m256i, _mm_add_epi64, _mm_cvtsi128_si64, _mm_unpackhi_epi64, _mm256_add_epi8, _mm256_add_epi64,
    _mm256_and_si256, _mm256_castsi256_pd, _mm256_castsi256_si128, _mm256_cmpgt_epi64,
    _mm256_extracti128_si256, _mm256_movemask_pd, _mm256_sad_epu8, _mm256_set1_epi8, _mm256_set1_epi64x,
    _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256,
    _mm256_xor_si256,
};

use super::{load, load_tail};
use crate::planes::{LANES, Near, Planes, RestRows, Split};

/// Vectors whose byte counts fit a byte together.
const BYTE_ROUNDS: usize = 31;
/// Lanes of a vector; two vectors hold a block.
const HALF: usize = LANES / 2;

/// Distances of a block: rows 0 to 3, then 4 to 7.
type Counts = [__m256i; 2];

/// Where candidates go.
struct Sink<'a> {
    out: &'a mut [Near],
    found: usize,
    limit: u32,
}

impl Sink<'_> {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn take(&mut self, counts: Counts, first_row: usize) {
        let mut near_enough = near_enough(counts, self.limit);
        if near_enough == 0 {
            return;
        }
        let mut lanes = [[0_u64; HALF]; 2];
        for (lanes, counts) in lanes.iter_mut().zip(counts) {
            // SAFETY: the array is 32 writable bytes, and the store needs no alignment.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), counts) };
        }
        while near_enough != 0 {
            let lane = near_enough.trailing_zeros() as usize;
            near_enough &= near_enough - 1;
            let distance = lanes[lane / HALF][lane % HALF] as u32;
            self.out[self.found] = Near { row: (first_row + lane) as u32, distance };
            self.found += 1;
        }
    }
}

/// A bit for each lane that is.
#[inline]
#[target_feature(enable = "avx2")]
fn near_enough(counts: Counts, limit: u32) -> u32 {
    let limit = _mm256_set1_epi64x(i64::from(limit));
    let far = counts.map(|counts| _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(counts, limit))));
    !(far[0] | (far[1] << HALF)) as u32 & 0xff
}

#[target_feature(enable = "avx2")]
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

/// A length that is not known before the call.
const ANY: usize = usize::MAX;

#[inline]
#[target_feature(enable = "avx2")]
fn sized<const PREFIX: usize, const REST: usize>(
    query: Split<'_>,
    planes: Planes<'_>,
    limit: u32,
    out: &mut [Near],
) -> usize {
    let prefix_words = if PREFIX == ANY { query.prefix.len() } else { PREFIX };
    let rest_words = if REST == ANY { query.rest.len() } else { REST };
    let (prefix_query, rest_query) = (&query.prefix[..prefix_words], &query.rest[..rest_words]);
    let mut sink = Sink { out, found: 0, limit };
    let mut rest = planes.rest;
    for (block, prefix) in planes.prefix.chunks_exact(LANES * prefix_words).enumerate() {
        let mut counts = interleaved(prefix_query, prefix.as_chunks().0);
        if rest_words > 0 {
            let (tile, behind) = rest.split_at(LANES * rest_words);
            rest = behind;
            let mut sums = [[0_u64; HALF]; 2];
            for (sum, row) in sums.as_flattened_mut().iter_mut().zip(tile.chunks_exact(rest_words)) {
                // The same row of the next block.
                super::prefetch_words(row.as_ptr().wrapping_add(LANES * rest_words), rest_words);
                *sum = u64::from(sum_lanes(row_counts(rest_query, row)));
            }
            counts =
                [_mm256_add_epi64(counts[0], load(&sums[0])), _mm256_add_epi64(counts[1], load(&sums[1]))];
        }
        sink.take(counts, block * LANES);
    }
    sink.found
}

#[target_feature(enable = "avx2")]
pub(super) fn interleaved_within(
    query: Split<'_>,
    planes: Planes<'_>,
    limit: u32,
    out: &mut [Near],
) -> usize {
    let block_words = LANES * query.rest.len();
    let mut sink = Sink { out, found: 0, limit };
    for (block, prefix) in planes.prefix.chunks_exact(LANES * query.prefix.len()).enumerate() {
        let mut counts = interleaved(query.prefix, prefix.as_chunks().0);
        let lines = planes.rest[block * block_words..(block + 1) * block_words].as_chunks::<LANES>().0;
        let mut possible = true;
        for (part, lines) in query.rest.chunks(BYTE_ROUNDS).zip(lines.chunks(BYTE_ROUNDS)) {
            if near_enough(counts, limit) == 0 {
                possible = false;
                break;
            }
            let more = interleaved(part, lines);
            counts = [_mm256_add_epi64(counts[0], more[0]), _mm256_add_epi64(counts[1], more[1])];
        }
        if possible {
            sink.take(counts, block * LANES);
        }
    }
    sink.found
}

#[target_feature(enable = "avx2")]
pub(super) fn narrow(part: &[u64], rest: RestRows<'_>, limit: u32, near: &mut [Near]) -> usize {
    let mut kept = 0;
    for at in 0..near.len() {
        if let Some(ahead) = near.get(at + super::AHEAD) {
            super::prefetch(part.len(), rest, *ahead);
        }
        let Near { row, distance } = near[at];
        let from = row as usize * rest.stride + rest.from;
        let distance = distance + sum_lanes(row_counts(part, &rest.words[from..from + part.len()]));
        near[kept] = Near { row, distance };
        kept += usize::from(distance <= limit);
    }
    kept
}

/// Distances of eight interleaved vectors.
#[inline]
#[target_feature(enable = "avx2")]
fn interleaved(query: &[u64], lines: &[[u64; LANES]]) -> Counts {
    let zero = _mm256_setzero_si256();
    let mut counts = [zero; 2];
    for (query, lines) in query.chunks(BYTE_ROUNDS).zip(lines.chunks(BYTE_ROUNDS)) {
        let mut bytes = [zero; 2];
        for (&word, line) in query.iter().zip(lines) {
            let word = _mm256_set1_epi64x(word as i64);
            for (bytes, half) in bytes.iter_mut().zip(line.as_chunks::<HALF>().0) {
                *bytes = _mm256_add_epi8(*bytes, byte_counts(_mm256_xor_si256(word, load(half))));
            }
        }
        for (counts, bytes) in counts.iter_mut().zip(bytes) {
            *counts = _mm256_add_epi64(*counts, _mm256_sad_epu8(bytes, zero));
        }
    }
    counts
}

/// Four partial counts of the bits that differ between the query and one row.
#[inline]
#[target_feature(enable = "avx2")]
fn row_counts(query: &[u64], row: &[u64]) -> __m256i {
    let (query_vectors, query_tail) = query.as_chunks::<4>();
    let (row_vectors, row_tail) = row.as_chunks::<4>();
    let zero = _mm256_setzero_si256();
    let mut counts = zero;
    for (query_round, row_round) in query_vectors.chunks(BYTE_ROUNDS).zip(row_vectors.chunks(BYTE_ROUNDS)) {
        let mut bytes = zero;
        for (a, b) in query_round.iter().zip(row_round) {
            bytes = _mm256_add_epi8(bytes, byte_counts(_mm256_xor_si256(load(a), load(b))));
        }
        counts = _mm256_add_epi64(counts, _mm256_sad_epu8(bytes, zero));
    }
    if !query_tail.is_empty() {
        let bytes = byte_counts(_mm256_xor_si256(load_tail(query_tail), load_tail(row_tail)));
        counts = _mm256_add_epi64(counts, _mm256_sad_epu8(bytes, zero));
    }
    counts
}

/// Bits set in each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn byte_counts(bits: __m256i) -> __m256i {
    #[rustfmt::skip]
    let populations = _mm256_setr_epi8(
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
    );
    let nibble = _mm256_set1_epi8(0x0f);
    let low = _mm256_and_si256(bits, nibble);
    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bits), nibble);
    _mm256_add_epi8(_mm256_shuffle_epi8(populations, low), _mm256_shuffle_epi8(populations, high))
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum_lanes(counts: __m256i) -> u32 {
    let pairs = _mm_add_epi64(_mm256_castsi256_si128(counts), _mm256_extracti128_si256::<1>(counts));
    _mm_cvtsi128_si64(_mm_add_epi64(pairs, _mm_unpackhi_epi64(pairs, pairs))) as u32
}
