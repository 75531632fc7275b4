//! AVX-512 kernels: 512-bit vectors, VPOPCNTQ for distances, byte-word masks for signs.
//!
//! Owns the token [`Avx512`] and the loads. It must not know how rows are blocked or ranked.

mod asymmetric;
mod hamming;
mod narrow;
mod transpose;

use core::arch::x86_64::{
    __m512i, _mm512_loadu_epi64, _mm512_maskz_loadu_epi64, _mm512_or_si512, _mm512_reduce_or_epi64,
    _mm512_setzero_si512,
};

use crate::planes::{Near, Planes, RestRows, Split};

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

    /// See [`crate::Kernels::within`].
    pub(crate) fn within(self, query: Split<'_>, planes: Planes<'_>, limit: u32, out: &mut [Near]) -> usize {
        // SAFETY: `self` exists, so `new` found the three features that the function enables.
        unsafe { hamming::within(query, planes, limit, out) }
    }

    /// See [`crate::Kernels::interleaved_within`].
    pub(crate) fn interleaved_within(
        self,
        query: Split<'_>,
        planes: Planes<'_>,
        limit: u32,
        out: &mut [Near],
    ) -> usize {
        // SAFETY: `self` exists, so `new` found the three features that the function enables.
        unsafe { hamming::interleaved_within(query, planes, limit, out) }
    }

    /// See [`crate::Kernels::narrow`].
    pub(crate) fn narrow(self, part: &[u64], rest: RestRows<'_>, limit: u32, near: &mut [Near]) -> usize {
        // SAFETY: `self` exists, so `new` found the three features that the function enables.
        unsafe { narrow::narrow(part, rest, limit, near) }
    }

    /// See [`crate::Kernels::interleave`].
    pub(crate) fn interleave(self, rows: &[u64], words: usize, out: &mut [u64]) {
        // SAFETY: `self` exists, so `new` found AVX-512 F, which is all that the function enables.
        unsafe { transpose::interleave(rows, words, out) }
    }

    /// See [`crate::Kernels::asymmetric`].
    pub(crate) fn asymmetric(self, weights: &[i16], code: &[u64]) -> i64 {
        // SAFETY: `self` exists, so `new` found the features that the function enables.
        unsafe { asymmetric::score(weights, code) }
    }

    /// See [`crate::Kernels::read`].
    pub(crate) fn read(self, words: &[u64]) -> u64 {
        // SAFETY: `self` exists, so `new` found AVX-512 F, which is all that the function enables.
        unsafe { read(words) }
    }
}

/// Four loads in flight with one operation each: as fast as one core reads memory.
#[target_feature(enable = "avx512f")]
fn read(words: &[u64]) -> u64 {
    let (rounds, tail) = words.as_chunks::<32>();
    let mut all = [_mm512_setzero_si512(); 4];
    for round in rounds {
        for (all, words) in all.iter_mut().zip(round.as_chunks::<8>().0) {
            *all = _mm512_or_si512(*all, load(words));
        }
    }
    let [a, b, c, d] = all;
    let all = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
    tail.iter().fold(_mm512_reduce_or_epi64(all) as u64, |all, word| all | word)
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
