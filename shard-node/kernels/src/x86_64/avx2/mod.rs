//! AVX2 kernels: 256-bit vectors, population count by nibble look-up, signs by comparison.
//!
//! Owns the token [`Avx2`] and the loads. It must not know how rows are blocked or ranked.

mod asymmetric;
mod hamming;

use core::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_maskload_epi64};

/// Proof that this processor has AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// `None` where the processor, or the operating system, lacks it.
    pub(crate) fn new() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    /// See [`crate::Kernels::hamming_rows`].
    pub(crate) fn hamming_rows(self, query: &[u64], rows: &[u64], out: &mut [u32]) {
        // SAFETY: `self` exists, so `new` found AVX2, which is all that the function enables.
        unsafe { hamming::rows(query, rows, out) }
    }

    /// See [`crate::Kernels::asymmetric`].
    pub(crate) fn asymmetric(self, weights: &[i16], code: &[u64]) -> i64 {
        // SAFETY: `self` exists, so `new` found AVX2, which is all that the function enables.
        unsafe { asymmetric::score(weights, code) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(words: &[u64; 4]) -> __m256i {
    // SAFETY: the array is 32 readable bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Loads one to three words; the other lanes are zero.
#[inline]
#[target_feature(enable = "avx2")]
fn load_tail(words: &[u64]) -> __m256i {
    /// A window of four that begins at `3 - n` has its first `n` lanes set.
    const WINDOWS: [i64; 7] = [-1, -1, -1, 0, 0, 0, 0];
    let lanes = words.len().min(3);
    // SAFETY: `3 - lanes` is 0 to 3, so the window of four ends within the seven lanes.
    let mask = unsafe { _mm256_loadu_si256(WINDOWS.as_ptr().add(3 - lanes).cast()) };
    // SAFETY: the mask names at most `words.len()` lanes, and lanes outside the mask are not read.
    unsafe { _mm256_maskload_epi64(words.as_ptr().cast(), mask) }
}
