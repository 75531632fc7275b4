//! Asymmetric score with AVX2: sixteen bits are spread over sixteen lanes and compared into +1 or -1.
//!
//! VPMADDWD multiplies by the sign and adds neighbours into 32-bit lanes, so that -(-32768) does not wrap. A lane
//! takes two weights in every 16, at most 2^30 in all at the greatest width.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_cmpeq_epi16, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_or_si256, _mm256_set1_epi16, _mm256_setr_epi16, _mm256_setzero_si256, _mm256_storeu_si256,
};

use crate::scalar;

#[target_feature(enable = "avx2")]
pub(super) fn score(weights: &[i16], code: &[u64]) -> i64 {
    let (full, tail) = weights.as_chunks::<64>();
    let mut sums = _mm256_setzero_si256();
    for (weights, &word) in full.iter().zip(code) {
        let (quarters, _) = weights.as_chunks::<16>();
        for (quarter, weights) in quarters.iter().enumerate() {
            let bits = (word >> (16 * quarter)) as i16;
            sums = _mm256_add_epi32(sums, _mm256_madd_epi16(load(weights), signs(bits)));
        }
    }
    let mut lanes = [0_i32; 8];
    // SAFETY: the array is 32 writable bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sums) };
    lanes.into_iter().map(i64::from).sum::<i64>() + scalar::asymmetric(tail, &code[full.len()..])
}

/// Lane `i` is +1 where bit `i` is set, else -1.
#[inline]
#[target_feature(enable = "avx2")]
fn signs(bits: i16) -> __m256i {
    #[rustfmt::skip]
    let own_bit = _mm256_setr_epi16(
        1, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7,
        1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, i16::MIN,
    );
    let own = _mm256_and_si256(_mm256_set1_epi16(bits), own_bit);
    // Clear: -1 | 1 is -1. Set: 0 | 1 is 1.
    _mm256_or_si256(_mm256_cmpeq_epi16(own, _mm256_setzero_si256()), _mm256_set1_epi16(1))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(weights: &[i16; 16]) -> __m256i {
    // SAFETY: the array is 32 readable bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(weights.as_ptr().cast()) }
}
