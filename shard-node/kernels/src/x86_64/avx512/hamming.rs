//! Hamming distances with VPOPCNTQ.
//!
//! Rows are taken eight at a time: each has its own vector of eight partial counts, and the eight vectors are
//! added and transposed together, which costs 21 instructions instead of eight horizontal sums.

use core::arch::x86_64::{
    __m256i, __m512i, _mm256_storeu_si256, _mm512_add_epi64, _mm512_cvtepi64_epi32, _mm512_popcnt_epi64,
    _mm512_setzero_si512, _mm512_shuffle_i64x2, _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
    _mm512_xor_si512,
};

use super::{load, load_tail};

/// Rows that are reduced together.
const TILE: usize = 8;

#[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
pub(super) fn rows(query: &[u64], rows: &[u64], out: &mut [u32]) {
    let words = query.len();
    let mut tiles = rows.chunks_exact(words * TILE);
    let (places, last_places) = out.as_chunks_mut::<TILE>();
    for (tile, place) in tiles.by_ref().zip(places) {
        *place = distances(query, tile);
    }
    let last = distances(query, tiles.remainder());
    for (place, distance) in last_places.iter_mut().zip(last) {
        *place = distance;
    }
}

/// Distances of at most [`TILE`] rows; places without a row are zero.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
fn distances(query: &[u64], tile: &[u64]) -> [u32; TILE] {
    let mut counts = [_mm512_setzero_si512(); TILE];
    for (count, row) in counts.iter_mut().zip(tile.chunks_exact(query.len())) {
        *count = row_counts(query, row);
    }
    let sums = _mm512_cvtepi64_epi32(sum_and_transpose(counts));
    let mut distances = [0_u32; TILE];
    // SAFETY: the array is 32 writable bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(distances.as_mut_ptr().cast::<__m256i>(), sums) };
    distances
}

/// Eight partial counts of the bits that differ between the query and one row.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
fn row_counts(query: &[u64], row: &[u64]) -> __m512i {
    let (query_vectors, query_tail) = query.as_chunks::<8>();
    let (row_vectors, row_tail) = row.as_chunks::<8>();
    let mut counts = _mm512_setzero_si512();
    for (a, b) in query_vectors.iter().zip(row_vectors) {
        let differing = _mm512_xor_si512(load(a), load(b));
        counts = _mm512_add_epi64(counts, _mm512_popcnt_epi64(differing));
    }
    if !query_tail.is_empty() {
        let differing = _mm512_xor_si512(load_tail(query_tail), load_tail(row_tail));
        counts = _mm512_add_epi64(counts, _mm512_popcnt_epi64(differing));
    }
    counts
}

/// Lane `i` of the result is the sum of all lanes of `counts[i]`.
#[inline]
#[target_feature(enable = "avx512f")]
fn sum_and_transpose(counts: [__m512i; TILE]) -> __m512i {
    let [a, b, c, d, e, f, g, h] = counts;
    // Each step halves the partial counts of a row: neighbours, then pairs of 128-bit lanes, twice.
    let (ab, cd, ef, gh) =
        (add_neighbours(a, b), add_neighbours(c, d), add_neighbours(e, f), add_neighbours(g, h));
    add_pairs(add_pairs(ab, cd), add_pairs(ef, gh))
}

/// In each 128-bit lane: the sum of its two words of `a`, then that of `b`.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_neighbours(a: __m512i, b: __m512i) -> __m512i {
    _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b))
}

/// 128-bit lanes 0 + 1 and 2 + 3 of `a`, then of `b`.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_pairs(a: __m512i, b: __m512i) -> __m512i {
    const EVEN_LANES: i32 = 0b10_00_10_00;
    const ODD_LANES: i32 = 0b11_01_11_01;
    _mm512_add_epi64(_mm512_shuffle_i64x2::<EVEN_LANES>(a, b), _mm512_shuffle_i64x2::<ODD_LANES>(a, b))
}
