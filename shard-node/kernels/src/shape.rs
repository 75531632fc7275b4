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
    /// The planes do not hold the same whole blocks of rows of the query's width.
    Planes {
        /// Words of the query.
        words: usize,
        /// Words in the prefix plane.
        prefix: usize,
        /// Words in the rest plane.
        rest: usize,
    },
    /// The output has no place for every row and the slack behind them.
    Room {
        /// Rows to be compared.
        rows: usize,
        /// Places given.
        places: usize,
    },
    /// The part of the rows that is asked for lies outside of them, or a row outside of the plane.
    Part {
        /// First word asked for.
        from: usize,
        /// Words asked for.
        words: usize,
        /// Words of a row.
        stride: usize,
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
            Self::Planes { words, prefix, rest } => write!(
                out,
                "planes of {prefix} and {rest} words do not hold whole blocks of rows of {words} words: \
                 pass both planes of the same rows"
            ),
            Self::Room { rows, places } => write!(
                out,
                "{rows} rows were to be compared with room for {places}: pass one place a row and {} more",
                crate::planes::SLACK
            ),
            Self::Part { from, words, stride } => write!(
                out,
                "words {from} to {} of rows of {stride} were asked for, or a row that is not there: \
                 pass rows of this plane",
                from.saturating_add(words)
            ),
            Self::Weights { weights, words } => write!(
                out,
                "{weights} weights do not fit a code of {words} words: pass one weight for each bit of the code"
            ),
        }
    }
}

impl std::error::Error for ShapeError {}

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
