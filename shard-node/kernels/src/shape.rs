//! Shapes of the slices that kernels accept, and what is said when they do not fit together.
//!
//! Checked once a call, so that the loops behind may rely on it; it knows no instruction set.

use std::fmt;

/// Most words in one code: 262,144 bits.
///
/// At this width the 32-bit lanes of the asymmetric kernels reach at most 2^30 (2^18 weights in 8 lanes, two
/// bytes each), so no kernel needs an overflow check, and a distance always fits a `u32`.
pub const MAX_WORDS: usize = 4_096;

/// Slices that do not fit together. The call did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// The query has no words, or more than [`MAX_WORDS`].
    Width {
        /// Words of the query.
        words: usize,
    },
    /// The rows are not exactly one code for every place in the output.
    Rows {
        /// Words of the query, hence of each row.
        words: usize,
        /// Places in the output.
        rows: usize,
        /// Words given for all the rows together.
        given_words: usize,
    },
    /// The code is not `ceil(weights / 64)` words long.
    Weights {
        /// Weights of the query, one a bit.
        weights: usize,
        /// Words of the code.
        words: usize,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Width { words } => {
                write!(out, "a code of {words} words cannot be compared: give 1 to {MAX_WORDS} words")
            }
            Self::Rows { words, rows, given_words } => write!(
                out,
                "{rows} rows of {words} words were asked for and {given_words} words given: \
                 pass exactly one code for each output"
            ),
            Self::Weights { weights, words } => write!(
                out,
                "{weights} weights do not fit a code of {words} words: pass one weight for each bit of the code"
            ),
        }
    }
}

impl std::error::Error for ShapeError {}

/// Accepts `out` rows of `query` words.
pub(crate) fn check_rows(query: &[u64], rows: &[u64], out: &[u32]) -> Result<(), ShapeError> {
    let words = query.len();
    if words == 0 || words > MAX_WORDS {
        return Err(ShapeError::Width { words });
    }
    if out.len().checked_mul(words) != Some(rows.len()) {
        return Err(ShapeError::Rows { words, rows: out.len(), given_words: rows.len() });
    }
    Ok(())
}

/// Accepts one code with a weight for each of its bits.
pub(crate) fn check_weights(weights: &[i16], code: &[u64]) -> Result<(), ShapeError> {
    let words = code.len();
    if words == 0 || words > MAX_WORDS {
        return Err(ShapeError::Width { words });
    }
    if weights.len().div_ceil(64) != words {
        return Err(ShapeError::Weights { weights: weights.len(), words });
    }
    Ok(())
}
