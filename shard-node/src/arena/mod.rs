//! Resident codes of one (group, collection, generation), and which vector each row belongs to.
//!
//! Owns the memory that scans read. It must not know queries, views, file versions or the store: it is a cache,
//! filled from the store at start and kept up by `apply`, and whoever shares it brings the lock.
//!
//! # Layout
//! Rows of `words` little-endian `u64` lie one after the other in segments of [`SEGMENT_ROWS`] rows, each segment
//! on a cache line. A new segment is the only allocation that a push may need, so a writer never copies what is
//! already resident and never holds readers up for longer than one row.
//!
//! A removed row stays where it is, is no longer live, and is taken by a later push. Rows therefore never move:
//! a scan that lets go of the lock between two segments still meets every vector that was there throughout.

mod segment;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::mem::size_of;

use sextant_kernels::MAX_WORDS;

use self::segment::Segment;
pub use self::segment::{SEGMENT_ROWS, SegmentView};

/// A code that the arena cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArenaError {
    /// No arena can have this width.
    #[error("an arena of {words} words a code cannot be made: the code width must be 1 to {MAX_WORDS} words")]
    Width {
        /// Words asked for.
        words: usize,
    },
    /// The code belongs to another generation, or is damaged.
    #[error(
        "vector {vector_id} has a code of {bytes} bytes where the arena holds {expected}: \
         check that the code is of this arena's generation and its stored row is whole"
    )]
    CodeLength {
        /// Whose code it is.
        vector_id: u32,
        /// Bytes given.
        bytes: usize,
        /// Bytes of every code here.
        expected: usize,
    },
    /// Vector ids are never reused, so one id with two codes means that the arena and the store have parted.
    #[error("vector {vector_id} is resident with another code: rebuild the arena from the store")]
    Conflict {
        /// The id given twice.
        vector_id: u32,
    },
    /// Row numbers are `u32`.
    #[error("the arena is full at {rows} rows: give slots of the collection to another group")]
    Full {
        /// Rows resident.
        rows: usize,
    },
}

/// The resident codes. See the module for layout and locking.
#[derive(Debug)]
pub struct Arena {
    words: usize,
    segments: Vec<Segment>,
    /// Row of each live vector.
    rows: HashMap<u32, u32>,
    /// Rows ever used; those of them that are not live are in `free`.
    used: usize,
    free: Vec<u32>,
}

impl Arena {
    /// An empty arena for codes of `words` words (1 to [`MAX_WORDS`]). It allocates with the first push.
    pub fn new(words: usize) -> Result<Self, ArenaError> {
        if words == 0 || words > MAX_WORDS {
            return Err(ArenaError::Width { words });
        }
        Ok(Self { words, segments: Vec::new(), rows: HashMap::new(), used: 0, free: Vec::new() })
    }

    /// Builds an arena from stored rows: `(vector id, code bytes)` in any order, each code as [`Self::push_bytes`]
    /// takes it. Stops at the first row that cannot be read or does not fit.
    pub fn rebuild<C, E>(words: usize, rows: impl IntoIterator<Item = Result<(u32, C), E>>) -> Result<Self, E>
    where
        C: AsRef<[u8]>,
        E: From<ArenaError>,
    {
        let mut arena = Self::new(words)?;
        for row in rows {
            let (vector_id, code) = row?;
            arena.push_bytes(vector_id, code.as_ref())?;
        }
        Ok(arena)
    }

    /// Makes a vector resident. The same vector with the same code again changes nothing.
    pub fn push(&mut self, vector_id: u32, code: &[u64]) -> Result<(), ArenaError> {
        self.check_length(vector_id, size_of_val(code))?;
        self.place(vector_id, code.iter().copied())
    }

    /// [`Self::push`] from the stored form: the words of the code as little-endian bytes.
    pub fn push_bytes(&mut self, vector_id: u32, code: &[u8]) -> Result<(), ArenaError> {
        self.check_length(vector_id, code.len())?;
        let (words, _) = code.as_chunks::<{ size_of::<u64>() }>();
        self.place(vector_id, words.iter().map(|&bytes| u64::from_le_bytes(bytes)))
    }

    /// Forgets a vector; its row stays until a push takes it. False if it was not resident.
    pub fn remove(&mut self, vector_id: u32) -> bool {
        let Some(row) = self.rows.remove(&vector_id) else {
            return false;
        };
        if let Some(segment) = self.segments.get_mut(row as usize / SEGMENT_ROWS) {
            segment.retire(row as usize % SEGMENT_ROWS);
        }
        self.free.push(row);
        true
    }

    /// The code of a live vector.
    pub fn code(&self, vector_id: u32) -> Option<&[u64]> {
        self.rows.get(&vector_id).and_then(|&row| self.code_at(row))
    }

    /// Whether the vector is live.
    pub fn contains(&self, vector_id: u32) -> bool {
        self.rows.contains_key(&vector_id)
    }

    /// Live vectors.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no vector is live.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Rows that a scan reads: live ones and those waiting to be taken again.
    pub fn row_count(&self) -> usize {
        self.used
    }

    /// Words of every code.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Bytes allocated for codes, ids and the id map (the map by estimate: a key, a value and a control byte for
    /// each place).
    pub fn bytes(&self) -> usize {
        let map = self.rows.capacity() * (2 * size_of::<u32>() + 1);
        let segments: usize = self.segments.iter().map(Segment::bytes).sum();
        segments + map + self.free.capacity() * size_of::<u32>()
    }

    /// The used rows, segment after segment, in row order.
    pub fn segments(&self) -> impl Iterator<Item = SegmentView<'_>> {
        self.segments.iter().enumerate().map(|(index, segment)| {
            let first_row = index * SEGMENT_ROWS;
            segment.view(first_row as u32, (self.used - first_row).min(SEGMENT_ROWS), self.words)
        })
    }

    /// The code in a row that has been used, live or not.
    pub(crate) fn code_at(&self, row: u32) -> Option<&[u64]> {
        let segment = self.segments.get(row as usize / SEGMENT_ROWS)?;
        segment.code(row as usize % SEGMENT_ROWS, self.words)
    }

    fn check_length(&self, vector_id: u32, bytes: usize) -> Result<(), ArenaError> {
        let expected = self.words * size_of::<u64>();
        if bytes == expected { Ok(()) } else { Err(ArenaError::CodeLength { vector_id, bytes, expected }) }
    }

    /// `code` yields exactly `self.words` words.
    fn place(&mut self, vector_id: u32, code: impl Iterator<Item = u64>) -> Result<(), ArenaError> {
        if let Some(resident) = self.code(vector_id) {
            let same = resident.iter().copied().eq(code);
            return if same { Ok(()) } else { Err(ArenaError::Conflict { vector_id }) };
        }
        let row = if let Some(row) = self.free.pop() {
            row
        } else {
            let row = u32::try_from(self.used).map_err(|_| ArenaError::Full { rows: self.used })?;
            self.used += 1;
            row
        };
        let index = row as usize / SEGMENT_ROWS;
        if index == self.segments.len() {
            self.segments.push(Segment::new(self.words));
        }
        if let Some(segment) = self.segments.get_mut(index) {
            segment.put(row as usize % SEGMENT_ROWS, vector_id, self.words, code);
        }
        self.rows.insert(vector_id, row);
        Ok(())
    }
}
