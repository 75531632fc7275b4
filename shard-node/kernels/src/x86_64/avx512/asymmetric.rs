//! Asymmetric score with AVX-512 BW: the code's bits are the mask that picks +1 or -1 for each weight.
//!
//! VPMADDWD multiplies by the sign and adds neighbours into 32-bit lanes, so that -(-32768) does not wrap. A lane
//! takes two weights in every 32, at most 2^29 in all at the greatest width.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_add_epi64, _mm512_castsi512_si256, _mm512_cvtepi32_epi64,
    _mm512_extracti64x4_epi64, _mm512_loadu_epi16, _mm512_madd_epi16, _mm512_mask_blend_epi16,
    _mm512_maskz_loadu_epi16, _mm512_reduce_add_epi64, _mm512_set1_epi16, _mm512_setzero_si512,
};

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn score(weights: &[i16], code: &[u64]) -> i64 {
    let (full, tail) = weights.as_chunks::<64>();
    let mut low = _mm512_setzero_si512();
    let mut high = _mm512_setzero_si512();
    for (weights, &word) in full.iter().zip(code) {
        let (halves, _) = weights.as_chunks::<32>();
        if let [first, second] = halves {
            low = _mm512_add_epi32(low, signed(load(first), word as u32));
            high = _mm512_add_epi32(high, signed(load(second), (word >> 32) as u32));
        }
    }
    if let (false, Some(&word)) = (tail.is_empty(), code.last()) {
        // Weights that are not there load as zero, so their bits do not matter.
        let (first, second) = tail.split_at(tail.len().min(32));
        low = _mm512_add_epi32(low, signed(load_tail(first), word as u32));
        high = _mm512_add_epi32(high, signed(load_tail(second), (word >> 32) as u32));
    }
    _mm512_reduce_add_epi64(_mm512_add_epi64(widen(low), widen(high)))
}

/// Sums of neighbouring weights, each with the sign of its bit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn signed(weights: __m512i, bits: u32) -> __m512i {
    let signs = _mm512_mask_blend_epi16(bits, _mm512_set1_epi16(-1), _mm512_set1_epi16(1));
    _mm512_madd_epi16(weights, signs)
}

/// Sixteen 32-bit lanes added into eight of 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn widen(sums: __m512i) -> __m512i {
    let low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(sums));
    let high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64::<1>(sums));
    _mm512_add_epi64(low, high)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load(weights: &[i16; 32]) -> __m512i {
    // SAFETY: the array is 64 readable bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_epi16(weights.as_ptr()) }
}

/// Loads fewer than 33 weights; the other lanes are zero.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_tail(weights: &[i16]) -> __m512i {
    let lanes = weights.len().min(32);
    let mask = ((1_u64 << lanes) - 1) as u32;
    // SAFETY: the mask names at most `weights.len()` lanes, and lanes outside the mask are not read.
    unsafe { _mm512_maskz_loadu_epi16(mask, weights.as_ptr()) }
}
