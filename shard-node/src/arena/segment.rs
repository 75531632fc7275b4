//! One piece of an arena: codes of up to [`SEGMENT_ROWS`] rows in two planes, with their ids and live bits.
//!
//! Owns the layout of rows. It must not know which vector is where, or any other segment.

use std::mem::size_of;

use sextant_kernels::{LANES, Planes, interleaved_at};

use super::ArenaError;
use super::pages::Pages;

/// Rows in a whole segment: 4 MiB of codes at 2,048 bits, two huge pages. A scan looks for a reason to stop between
/// two segments, and threads take segments one by one.
pub const SEGMENT_ROWS: usize = 16_384;

/// Rows that a new segment has room for; it doubles until it is whole, so that a small collection stays small.
const FIRST_ROWS: usize = 256;

/// Rows that share one word of the live bitmap.
const BITMAP_ROWS: usize = 64;

/// How a code is cut into the two planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Words of a code in the prefix plane.
    pub prefix: usize,
    /// Words of a code in the rest plane.
    pub rest: usize,
}

impl Shape {
    /// Words of the prefix where a code has more than [`Self::WHOLE`]: 384 bits, measured against 192, 256 and 512 (see
    /// `docs/scan.md`).
    pub const PREFIX: usize = 6;
    /// Most words of a code that is not cut: its scan is so short that pruning gains nothing.
    pub const WHOLE: usize = 8;

    /// The cut of codes of `words` words.
    pub fn of(words: usize) -> Self {
        if words <= Self::WHOLE {
            Self { prefix: words, rest: 0 }
        } else {
            Self { prefix: Self::PREFIX, rest: words - Self::PREFIX }
        }
    }

    /// Words of a code.
    pub fn words(self) -> usize {
        self.prefix + self.rest
    }
}

/// Rows of an arena. Readers share it; a writer copies it first where somebody reads it.
#[derive(Debug)]
pub struct Segment {
    shape: Shape,
    /// The prefix plane of `capacity` rows, then their rest plane.
    pages: Pages,
    capacity: usize,
    used: usize,
    /// Vector of each used row; meaningless where the row is not live.
    ids: Vec<u32>,
    live: Vec<u64>,
}

impl Segment {
    pub(super) fn new(shape: Shape) -> Result<Self, ArenaError> {
        Self::with_capacity(shape, FIRST_ROWS)
    }

    fn with_capacity(shape: Shape, capacity: usize) -> Result<Self, ArenaError> {
        let words = capacity * shape.words();
        let pages = Pages::zeroed(words)
            .map_err(|error| ArenaError::Memory { bytes: words * size_of::<u64>(), reason: error.kind() })?;
        let live = vec![0; capacity / BITMAP_ROWS];
        Ok(Self { shape, pages, capacity, used: 0, ids: Vec::with_capacity(capacity), live })
    }

    /// The same rows with room for `capacity`.
    pub(super) fn copy(&self, capacity: usize) -> Result<Self, ArenaError> {
        let mut copy = Self::with_capacity(self.shape, capacity.max(self.capacity))?;
        let rows = self.used.next_multiple_of(LANES);
        let planes = self.planes(0, rows);
        let (prefix, rest) = copy.pages.words_mut().split_at_mut(copy.capacity * self.shape.prefix);
        prefix[..planes.prefix.len()].copy_from_slice(planes.prefix);
        rest[..planes.rest.len()].copy_from_slice(planes.rest);
        copy.used = self.used;
        copy.ids.extend_from_slice(&self.ids);
        copy.live[..self.live.len()].copy_from_slice(&self.live);
        Ok(copy)
    }

    /// Room that a segment must have for the row at `offset`.
    pub(super) fn room_for(offset: usize) -> usize {
        (offset + 1).next_power_of_two().clamp(FIRST_ROWS, SEGMENT_ROWS)
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Writes the row at `offset`, at most one behind the last; `code` yields the words of one code.
    pub(super) fn put(&mut self, offset: usize, vector_id: u32, code: impl Iterator<Item = u64>) {
        let Shape { prefix, rest } = self.shape;
        let (prefix_plane, rest_plane) = self.pages.words_mut().split_at_mut(self.capacity * prefix);
        for (word, value) in code.enumerate() {
            if word < prefix {
                prefix_plane[interleaved_at(offset, word, prefix)] = value;
            } else {
                rest_plane[offset * rest + word - prefix] = value;
            }
        }
        if offset == self.used {
            self.used += 1;
            self.ids.push(vector_id);
        } else {
            self.ids[offset] = vector_id;
        }
        self.live[offset / BITMAP_ROWS] |= 1 << (offset % BITMAP_ROWS);
    }

    pub(super) fn retire(&mut self, offset: usize) {
        self.live[offset / BITMAP_ROWS] &= !(1 << (offset % BITMAP_ROWS));
    }

    /// Rows written so far, live or not.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Codes of the rows `from..to`, both multiples of [`LANES`], within the used rows rounded up to whole blocks.
    pub fn planes(&self, from: usize, to: usize) -> Planes<'_> {
        let Shape { prefix, rest } = self.shape;
        let (prefix_plane, rest_plane) = self.pages.words().split_at(self.capacity * prefix);
        Planes {
            prefix: &prefix_plane[from * prefix..to * prefix],
            rest: &rest_plane[from * rest..to * rest],
        }
    }

    /// The vector of the row at `offset`, or `None` where the row is not live.
    pub fn live_id(&self, offset: usize) -> Option<u32> {
        let bits = *self.live.get(offset / BITMAP_ROWS)?;
        if (bits >> (offset % BITMAP_ROWS)) & 1 == 0 {
            return None;
        }
        self.ids.get(offset).copied()
    }

    /// Word `word` of the row at `offset`, live or not.
    pub fn word(&self, offset: usize, word: usize) -> u64 {
        let Shape { prefix, rest } = self.shape;
        let words = self.pages.words();
        if word < prefix {
            words[interleaved_at(offset, word, prefix)]
        } else {
            words[self.capacity * prefix + offset * rest + word - prefix]
        }
    }

    /// Bytes that codes, ids and bitmap take when every row with room is used.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.capacity * self.shape.words() * size_of::<u64>()
            + self.ids.capacity() * size_of::<u32>()
            + self.live.len() * size_of::<u64>()
    }
}
