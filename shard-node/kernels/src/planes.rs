//! How codes of many vectors lie in memory, and the candidates that kernels hand back.
//!
//! Owns the two planes, their shapes and [`Near`]; it does no arithmetic on codes.
//!
//! *Prefix plane*: the first words of eight vectors interleaved, word 0 of the eight, then word 1 of the eight, and so
//! on: one lane a vector, no horizontal sums. *Rest plane*: the other words, row after row. A code whose words all
//! lie in the prefix has no rest.

use crate::shape::{MAX_WORDS, ShapeError};

/// Vectors that are interleaved in the prefix plane, hence the unit in which planes grow.
pub const LANES: usize = 8;

/// Places that a kernel may write behind the last candidate: it stores eight at a time.
pub const SLACK: usize = LANES;

/// A vector that is near enough so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Near {
    /// Row of the planes that were given.
    pub row: u32,
    /// Bits that differ in the words compared so far.
    pub distance: u32,
}

/// Codes of `rows` vectors (a multiple of [`LANES`]) in two planes.
#[derive(Clone, Copy, Debug)]
pub struct Planes<'a> {
    /// `rows × prefix words`, interleaved by [`LANES`].
    pub prefix: &'a [u64],
    /// `rows × rest words`, row after row; empty where the prefix is the whole code.
    pub rest: &'a [u64],
}

/// A query's code, cut where the planes are cut.
#[derive(Clone, Copy, Debug)]
pub struct Split<'a> {
    /// Words that are compared with the prefix plane; at least one.
    pub prefix: &'a [u64],
    /// Words that are compared with the rest plane.
    pub rest: &'a [u64],
}

/// Which words of each row [`crate::Kernels::narrow`] compares.
#[derive(Clone, Copy, Debug)]
pub struct RestRows<'a> {
    /// The rest plane.
    pub words: &'a [u64],
    /// Words from one row to the next.
    pub stride: usize,
    /// First word compared of each row; the query's part says how many.
    pub from: usize,
}

/// Where one row's words are in an interleaved plane of `words` words a vector.
#[inline]
pub fn interleaved_at(row: usize, word: usize, words: usize) -> usize {
    (row / LANES) * LANES * words + word * LANES + row % LANES
}

/// Accepts planes and output that fit the query.
pub(crate) fn check(query: Split<'_>, planes: Planes<'_>, out: &[Near]) -> Result<(), ShapeError> {
    let words = query.prefix.len() + query.rest.len();
    if query.prefix.is_empty() || words > MAX_WORDS {
        return Err(ShapeError::Width { words });
    }
    let rows = planes.prefix.len() / query.prefix.len();
    if !rows.is_multiple_of(LANES)
        || rows * query.prefix.len() != planes.prefix.len()
        || rows.checked_mul(query.rest.len()) != Some(planes.rest.len())
        || u32::try_from(rows).is_err()
    {
        return Err(ShapeError::Planes { words, prefix: planes.prefix.len(), rest: planes.rest.len() });
    }
    if out.len() < rows + SLACK {
        return Err(ShapeError::Room { rows, places: out.len() });
    }
    Ok(())
}

/// Accepts the rows that `near` names.
pub(crate) fn check_rest(part: &[u64], rest: RestRows<'_>, near: &[Near]) -> Result<(), ShapeError> {
    if part.len() > MAX_WORDS {
        return Err(ShapeError::Width { words: part.len() });
    }
    let wrong = ShapeError::Part { from: rest.from, words: part.len(), stride: rest.stride };
    if rest.from.checked_add(part.len()).is_none_or(|end| end > rest.stride) {
        return Err(wrong);
    }
    let rows = rest.words.len().checked_div(rest.stride).unwrap_or(0);
    // Rows are checked once here, so that the loops behind may rely on them.
    match near.iter().map(|near| near.row).max() {
        Some(last) if last as usize >= rows && !part.is_empty() => Err(wrong),
        _ => Ok(()),
    }
}
