//! What runs a batch of token ids. The rest of the crate knows the trait; only this room names a runtime.

pub mod fake;
pub mod ort;

use crate::error::EmbedError;

/// Token ids of a batch, one row a text.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Rows of their own lengths, at least one id each.
    pub rows: &'a [&'a [u32]],
    /// The id that fills shorter rows.
    pub pad_id: u32,
}

impl Batch<'_> {
    /// Length of the longest row.
    pub fn longest(&self) -> usize {
        self.rows.iter().map(|row| row.len()).max().unwrap_or(0)
    }
}

/// What a model gave for a batch of `n` texts.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// `n × dims`: the graph pools.
    Pooled {
        /// Dimensions of a vector.
        dims: usize,
        /// Row by row.
        values: Vec<f32>,
    },
    /// `n × length × dims`: a vector a token, padding included.
    Tokens {
        /// Tokens of a row.
        length: usize,
        /// Dimensions of a vector.
        dims: usize,
        /// Row by row, token by token.
        values: Vec<f32>,
    },
}

/// One session. It runs one batch at a time on the thread that calls it.
pub trait Backend: Send {
    /// Runs `batch`. Errors are [`EmbedError::Inference`]; the session stays usable.
    fn run(&mut self, batch: Batch<'_>) -> Result<Output, EmbedError>;
}
