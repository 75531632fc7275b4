//! Further words of candidates that lie anywhere, with VPOPCNTQ.
//!
//! Memory of the candidates ahead is asked for while eight are compared; a candidate would else wait for it.

use core::arch::x86_64::{
    _MM_HINT_T0, _mm_prefetch, _mm512_add_epi64, _mm512_and_si512, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_srli_epi64,
};

use super::hamming::{Sink, row_counts};
use super::load;
use super::transpose::sum_across;
use crate::planes::{LANES, Near, RestRows};
use crate::scalar;

/// Candidates between the request for memory and its use: as many as a core has requests in flight.
const AHEAD: usize = 24;
/// Words of a cache line.
const LINE_WORDS: usize = 8;

#[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
pub(super) fn narrow(part: &[u64], rest: RestRows<'_>, limit: u32, near: &mut [Near]) -> usize {
    for near in near.iter().take(AHEAD) {
        prefetch(part.len(), rest, *near);
    }
    let whole = near.len() / LANES * LANES;
    let mut kept = 0;
    for first in (0..whole).step_by(LANES) {
        for near in near.iter().skip(first + AHEAD).take(LANES) {
            prefetch(part.len(), rest, *near);
        }
        let Some(candidates) = near[first..].first_chunk::<LANES>() else { break };
        let candidates = *candidates;
        let mut partial = [_mm512_setzero_si512(); LANES];
        for (partial, near) in partial.iter_mut().zip(&candidates) {
            let from = near.row as usize * rest.stride + rest.from;
            *partial = row_counts(part, &rest.words[from..from + part.len()]);
        }
        // Row in the lower half of each lane, distance in the upper.
        let pairs = load(&candidates.map(|near| u64::from(near.row) | (u64::from(near.distance) << 32)));
        let counts = _mm512_add_epi64(sum_across(partial), _mm512_srli_epi64::<32>(pairs));
        let rows = _mm512_and_si512(pairs, _mm512_set1_epi64(i64::from(u32::MAX)));
        // Eight places from `kept` on end at most where these eight candidates did: none unread is overwritten.
        let mut sink = Sink::new(&mut near[kept..first + LANES], limit);
        sink.take(counts, rows);
        kept += sink.found();
    }
    let tail = near.len() - whole;
    near.copy_within(whole.., kept);
    kept + scalar::narrow(part, rest, limit, &mut near[kept..kept + tail])
}

#[inline]
#[target_feature(enable = "avx512f")]
fn prefetch(words: usize, rest: RestRows<'_>, near: Near) {
    let from = near.row as usize * rest.stride + rest.from;
    for line in (0..words).step_by(LINE_WORDS) {
        // A prefetch never faults, whatever the address.
        _mm_prefetch::<_MM_HINT_T0>(rest.words.as_ptr().wrapping_add(from + line).cast());
    }
}
