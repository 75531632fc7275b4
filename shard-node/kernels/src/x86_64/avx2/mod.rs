//! AVX2 kernels: 256-bit vectors, population count by nibble look-up, signs by comparison.
//!
//! Owns the token [`Avx2`] and the loads. It must not know how rows are blocked or ranked.

mod asymmetric;
mod hamming;

use core::arch::x86_64::{__m256i, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256, _mm256_maskload_epi64};

use crate::planes::{Near, Planes, RestRows, Split};

/// Candidates between the request for memory and its use: as many as a core has requests in flight.
const AHEAD: usize = 24;
/// Words of a cache line.
const LINE_WORDS: usize = 8;

/// Proof that this processor has AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// `None` where the processor, or the operating system, lacks it.
    pub(crate) fn new() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    /// See [`crate::Kernels::within`].
    pub(crate) fn within(self, query: Split<'_>, planes: Planes<'_>, limit: u32, out: &mut [Near]) -> usize {
        // SAFETY: `self` exists, so `new` found AVX2, which is all that the function enables.
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
        // SAFETY: `self` exists, so `new` found AVX2, which is all that the function enables.
        unsafe { hamming::interleaved_within(query, planes, limit, out) }
    }

    /// See [`crate::Kernels::narrow`].
    pub(crate) fn narrow(self, part: &[u64], rest: RestRows<'_>, limit: u32, near: &mut [Near]) -> usize {
        // SAFETY: `self` exists, so `new` found AVX2, which is all that the function enables.
        unsafe { hamming::narrow(part, rest, limit, near) }
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

/// Asks for the memory of a candidate's words.
#[inline]
#[target_feature(enable = "avx2")]
fn prefetch(words: usize, rest: RestRows<'_>, near: Near) {
    let from = near.row as usize * rest.stride + rest.from;
    prefetch_words(rest.words.as_ptr().wrapping_add(from), words);
}

/// Asks for the memory of `words` words from `first` on.
#[inline]
#[target_feature(enable = "avx2")]
fn prefetch_words(first: *const u64, words: usize) {
    for line in (0..words).step_by(LINE_WORDS) {
        // A prefetch never faults, whatever the address.
        _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(line).cast());
    }
}
