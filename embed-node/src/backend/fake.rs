//! A model without weights for tests: each token id has a random-looking ±1 vector, a text is their sum. Texts that
//! share words are near, texts that share none are about orthogonal. Deterministic on every machine.

use super::{Backend, Batch, Output};
use crate::error::EmbedError;

/// The fake session. Its output is [`Output::Pooled`].
#[derive(Debug, Clone)]
pub struct FakeBackend {
    dims: usize,
}

impl FakeBackend {
    /// A session whose vectors have `dims` dimensions.
    pub fn new(dims: usize) -> Self {
        Self { dims }
    }
}

impl Backend for FakeBackend {
    fn run(&mut self, batch: Batch<'_>) -> Result<Output, EmbedError> {
        let mut values = Vec::with_capacity(batch.rows.len() * self.dims);
        for row in batch.rows {
            // A share of its own keeps the sum away from zero: two words can cancel each other.
            let mut sum = vec![0f32; self.dims];
            sum[0] = 0.5;
            for id in *row {
                add(&mut sum, *id);
            }
            values.extend(sum);
        }
        Ok(Output::Pooled { dims: self.dims, values })
    }
}

fn add(sum: &mut [f32], id: u32) {
    let mut state = u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for block in sum.chunks_mut(64) {
        let bits = split_mix(&mut state);
        for (at, value) in block.iter_mut().enumerate() {
            *value += if bits >> at & 1 == 1 { 1.0 } else { -1.0 };
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): a step of the counter, then two multiply-xorshift rounds.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
