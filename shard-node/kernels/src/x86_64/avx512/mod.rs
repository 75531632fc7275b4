//! AVX-512 kernels: 512-bit vectors, VPOPCNTQ for distances, byte-word masks for signs.
//!
//! Owns the token [`Avx512`] and the loads. It must not know how rows are blocked or ranked.

mod asymmetric;
mod hamming;

use core::arch::x86_64::{__m512i, _mm512_loadu_epi64, _mm512_maskz_loadu_epi64};

/// Proof that this processor has AVX-512 F, BW and VPOPCNTDQ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// `None` where the processor, or the operating system, lacks any of the three.
    pub(crate) fn new() -> Option<Self> {
        let present = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vpopcntdq");
        present.then_some(Self(()))
    }

    /// See [`crate::Kernels::hamming_rows`].
    pub(crate) fn hamming_rows(self, query: &[u64], rows: &[u64], out: &mut [u32]) {
        // SAFETY: `self` exists, so `new` found the three features that the function enables.
        unsafe { hamming::rows(query, rows, out) }
    }

    /// See [`crate::Kernels::asymmetric`].
    pub(crate) fn asymmetric(self, weights: &[i16], code: &[u64]) -> i64 {
        // SAFETY: `self` exists, so `new` found the features that the function enables.
        unsafe { asymmetric::score(weights, code) }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u64; 8]) -> __m512i {
    // SAFETY: the array is 64 readable bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_epi64(words.as_ptr().cast()) }
}

/// Loads fewer than eight words; the other lanes are zero.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_tail(words: &[u64]) -> __m512i {
    let lanes = words.len().min(7);
    let mask = (1_u8 << lanes) - 1;
    // SAFETY: the mask names at most `words.len()` lanes, and lanes outside the mask are not read.
    unsafe { _mm512_maskz_loadu_epi64(mask, words.as_ptr().cast()) }
}
