//! Hamming distances with AVX2: a shuffle looks up the population of each nibble (W. Muła, N. Kurz, D. Lemire,
//! "Faster Population Counts Using AVX2 Instructions", 2018, section 3.1), and VPSADBW adds the bytes.
//!
//! Bytes hold 31 vectors of at most 8 each (248 of 255) before they are added up.

use core::arch::x86_64::{
    __m256i, _mm_add_epi64, _mm_cvtsi128_si64, _mm_unpackhi_epi64, _mm256_add_epi8, _mm256_add_epi64,
    _mm256_and_si256, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_sad_epu8, _mm256_set1_epi8,
    _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_xor_si256,
};

use super::{load, load_tail};

/// Vectors whose byte counts fit a byte together.
const BYTE_ROUNDS: usize = 31;

#[target_feature(enable = "avx2")]
pub(super) fn rows(query: &[u64], rows: &[u64], out: &mut [u32]) {
    for (distance, row) in out.iter_mut().zip(rows.chunks_exact(query.len())) {
        *distance = sum(row_counts(query, row));
    }
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
fn sum(counts: __m256i) -> u32 {
    let pairs = _mm_add_epi64(_mm256_castsi256_si128(counts), _mm256_extracti128_si256::<1>(counts));
    _mm_cvtsi128_si64(_mm_add_epi64(pairs, _mm_unpackhi_epi64(pairs, pairs))) as u32
}
