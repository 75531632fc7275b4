//! Eight vectors of eight words, turned or added up across.
//!
//! Owns the shuffles. It must not know what the words mean.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_setzero_si512, _mm512_shuffle_i64x2, _mm512_storeu_si512,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
};

use super::{load, load_tail};
use crate::planes::LANES;

/// Lane `i` of the result is the sum of all lanes of `counts[i]`: 21 instructions instead of eight horizontal sums.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn sum_across(counts: [__m512i; LANES]) -> __m512i {
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

/// 128-bit lanes 0 and 2 of `a`, then of `b`.
const EVEN: i32 = 0b10_00_10_00;
/// 128-bit lanes 1 and 3 of `a`, then of `b`.
const ODD: i32 = 0b11_01_11_01;

/// 128-bit lanes 0 + 1 and 2 + 3 of `a`, then of `b`.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_pairs(a: __m512i, b: __m512i) -> __m512i {
    _mm512_add_epi64(_mm512_shuffle_i64x2::<EVEN>(a, b), _mm512_shuffle_i64x2::<ODD>(a, b))
}

/// See [`crate::Kernels::interleave`].
#[target_feature(enable = "avx512f")]
pub(super) fn interleave(rows: &[u64], words: usize, out: &mut [u64]) {
    let block = LANES * words;
    if block == 0 {
        return;
    }
    for (rows, out) in rows.chunks_exact(block).zip(out.chunks_exact_mut(block)) {
        for (tile, out) in out.chunks_mut(LANES * LANES).enumerate() {
            let from = tile * LANES;
            let columns = out.len() / LANES;
            let mut lines = [_mm512_setzero_si512(); LANES];
            for (line, row) in lines.iter_mut().zip(rows.chunks_exact(words)) {
                let row = &row[from..from + columns];
                *line = row.first_chunk().map_or_else(|| load_tail(row), |whole| load(whole));
            }
            for (line, place) in turn(lines).into_iter().zip(out.as_chunks_mut::<LANES>().0) {
                // SAFETY: the array is 64 writable bytes, and the store needs no alignment.
                unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), line) };
            }
        }
    }
}

/// Lane `i` of result `j` is lane `j` of `lines[i]`.
#[inline]
#[target_feature(enable = "avx512f")]
fn turn(lines: [__m512i; LANES]) -> [__m512i; LANES] {
    let [a, b, c, d, e, f, g, h] = lines;
    // Pairs of words, then 128-bit lanes in two steps.
    let low = four(
        _mm512_unpacklo_epi64(a, b),
        _mm512_unpacklo_epi64(c, d),
        _mm512_unpacklo_epi64(e, f),
        _mm512_unpacklo_epi64(g, h),
    );
    let high = four(
        _mm512_unpackhi_epi64(a, b),
        _mm512_unpackhi_epi64(c, d),
        _mm512_unpackhi_epi64(e, f),
        _mm512_unpackhi_epi64(g, h),
    );
    [low[0], high[0], low[1], high[1], low[2], high[2], low[3], high[3]]
}

/// Result `j` has the 128-bit lanes `j` of the four.
#[inline]
#[target_feature(enable = "avx512f")]
fn four(ab: __m512i, cd: __m512i, ef: __m512i, gh: __m512i) -> [__m512i; 4] {
    let (even_left, odd_left) = (_mm512_shuffle_i64x2::<EVEN>(ab, cd), _mm512_shuffle_i64x2::<ODD>(ab, cd));
    let (even_right, odd_right) = (_mm512_shuffle_i64x2::<EVEN>(ef, gh), _mm512_shuffle_i64x2::<ODD>(ef, gh));
    [
        _mm512_shuffle_i64x2::<EVEN>(even_left, even_right),
        _mm512_shuffle_i64x2::<EVEN>(odd_left, odd_right),
        _mm512_shuffle_i64x2::<ODD>(even_left, even_right),
        _mm512_shuffle_i64x2::<ODD>(odd_left, odd_right),
    ]
}
