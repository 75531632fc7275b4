//! Resident codes of one (group, collection, generation), and which vector each row belongs to.
//!
//! Owns the memory that scans read. It must not know queries, views, file versions or the store: it is a cache,
//! filled from the store at start and kept up by `apply`, and whoever shares it brings the lock.
//!
//! # Layout
//! Rows lie in segments of [`SEGMENT_ROWS`]; in each, the first words of eight vectors are interleaved ([`Shape`],
//! [`sextant_kernels::Planes`]) and the other words follow row by row. A new segment, or a doubled last one, is the only
//! allocation that a push may need.
//!
//! # Readers keep their generation
//! A scan takes a [`Snapshot`], a list of shared segments, and needs no lock from then on. A writer copies a segment that
//! some snapshot still holds before it changes it, so a snapshot never changes. A removed row stays where it is, is no
//! longer live, and is taken by a later push; where too many wait, [`Compaction`] rewrites the arena beside it.

mod compact;
mod pages;
mod segment;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::mem::size_of;
use std::sync::Arc;

use sextant_kernels::MAX_WORDS;

pub use self::compact::Compaction;
use self::compact::Journal;
pub use self::segment::{SEGMENT_ROWS, Segment, Shape};

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
    /// The system gave no memory.
    #[error(
        "{bytes} bytes for resident codes were refused ({reason}): give the node more memory, or fewer slots"
    )]
    Memory {
        /// Bytes asked for.
        bytes: usize,
        /// What the system said.
        reason: std::io::ErrorKind,
    },
}

/// The resident codes. See the module for layout and locking.
#[derive(Debug)]
pub struct Arena {
    shape: Shape,
    segments: Vec<Arc<Segment>>,
    /// Row of each live vector.
    rows: HashMap<u32, u32>,
    /// Rows ever used; those of them that are not live are in `free`.
    used: usize,
    free: Vec<u32>,
    /// What changed since a compaction began.
    journal: Option<Journal>,
    compactions: u64,
}

/// The rows of an arena as they were when it was taken. Cheap to make and to clone; holds memory while it lives.
#[derive(Clone, Debug)]
pub struct Snapshot {
    shape: Shape,
    segments: Vec<Arc<Segment>>,
    live: usize,
}

impl Arena {
    /// An empty arena for codes of `words` words (1 to [`MAX_WORDS`]). It allocates with the first push.
    pub fn new(words: usize) -> Result<Self, ArenaError> {
        if words == 0 || words > MAX_WORDS {
            return Err(ArenaError::Width { words });
        }
        Ok(Self::of_shape(Shape::of(words)))
    }

    fn of_shape(shape: Shape) -> Self {
        let (segments, rows, free) = (Vec::new(), HashMap::new(), Vec::new());
        Self { shape, segments, rows, used: 0, free, journal: None, compactions: 0 }
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

    /// Forgets a vector; its row stays until a push takes it. `Ok(false)` if it was not resident. Fails where a segment
    /// that is being read could not be copied; nothing has changed then.
    pub fn remove(&mut self, vector_id: u32) -> Result<bool, ArenaError> {
        let Some(&row) = self.rows.get(&vector_id) else { return Ok(false) };
        let offset = row as usize % SEGMENT_ROWS;
        self.segment_mut(row as usize / SEGMENT_ROWS, offset)?.retire(offset);
        self.rows.remove(&vector_id);
        self.free.push(row);
        if let Some(journal) = &mut self.journal {
            journal.note(vector_id);
        }
        Ok(true)
    }

    /// The code of a live vector.
    pub fn code(&self, vector_id: u32) -> Option<Vec<u64>> {
        let row = *self.rows.get(&vector_id)?;
        let segment = self.segments.get(row as usize / SEGMENT_ROWS)?;
        Some((0..self.words()).map(|word| segment.word(row as usize % SEGMENT_ROWS, word)).collect())
    }

    /// The row of a live vector.
    pub fn row(&self, vector_id: u32) -> Option<u32> {
        self.rows.get(&vector_id).copied()
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
        self.shape.words()
    }

    /// Bytes allocated for codes, ids and the id map (the map by estimate: a key, a value and a control byte for
    /// each place).
    pub fn bytes(&self) -> usize {
        let map = self.rows.capacity() * (2 * size_of::<u32>() + 1);
        let segments: usize = self.segments.iter().map(|segment| segment.bytes()).sum();
        segments + map + self.free.capacity() * size_of::<u32>()
    }

    /// The rows as they are now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { shape: self.shape, segments: self.segments.clone(), live: self.rows.len() }
    }

    fn check_length(&self, vector_id: u32, bytes: usize) -> Result<(), ArenaError> {
        let expected = self.words() * size_of::<u64>();
        if bytes == expected { Ok(()) } else { Err(ArenaError::CodeLength { vector_id, bytes, expected }) }
    }

    /// `code` yields exactly the words of one code.
    fn place(&mut self, vector_id: u32, code: impl Iterator<Item = u64>) -> Result<(), ArenaError> {
        if let Some(resident) = self.code(vector_id) {
            let same = resident.into_iter().eq(code);
            return if same { Ok(()) } else { Err(ArenaError::Conflict { vector_id }) };
        }
        let row = match self.free.last() {
            Some(&row) => row,
            None => u32::try_from(self.used).map_err(|_| ArenaError::Full { rows: self.used })?,
        };
        let (index, offset) = (row as usize / SEGMENT_ROWS, row as usize % SEGMENT_ROWS);
        if index == self.segments.len() {
            self.segments.push(Arc::new(Segment::new(self.shape)?));
        }
        self.segment_mut(index, offset)?.put(offset, vector_id, code);
        if self.free.pop().is_none() {
            self.used += 1;
        }
        self.rows.insert(vector_id, row);
        if let Some(journal) = &mut self.journal {
            journal.note(vector_id);
        }
        Ok(())
    }

    /// A segment to write the row at `offset` into: the resident one, or a copy where that is read or too small.
    fn segment_mut(&mut self, index: usize, offset: usize) -> Result<&mut Segment, ArenaError> {
        let shared = self.segments.get_mut(index).ok_or(ArenaError::Full { rows: self.used })?;
        let room = Segment::room_for(offset);
        if shared.capacity() < room || Arc::get_mut(shared).is_none() {
            *shared = Arc::new(shared.copy(room)?);
        }
        // Just made, or nobody else has it.
        Arc::get_mut(shared).ok_or(ArenaError::Full { rows: self.used })
    }
}

impl Snapshot {
    /// The used rows, segment after segment; segment `n` begins with row `n × SEGMENT_ROWS`.
    pub fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// How codes are cut.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Live vectors.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether no vector is live.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Copies the code of a used row, live or not, into `code`; `false` where there is no such row.
    pub fn copy_code(&self, row: u32, code: &mut [u64]) -> bool {
        let offset = row as usize % SEGMENT_ROWS;
        match self.segments.get(row as usize / SEGMENT_ROWS) {
            Some(segment) if offset < segment.used() && code.len() == self.shape.words() => {
                for (word, place) in code.iter_mut().enumerate() {
                    *place = segment.word(offset, word);
                }
                true
            }
            _ => false,
        }
    }
}
