//! One allocation of an arena: codes of up to [`SEGMENT_ROWS`] rows with their ids and live bits.
//!
//! Owns alignment and the bitmap of live rows. It must not know which rows the arena has used, or any other
//! segment.

use std::mem::size_of;

/// Rows in one segment: 256 KiB of codes at 2,048 bits. Small enough that an arena with a handful of vectors
/// costs little, large enough that a scan does not notice the seams.
pub const SEGMENT_ROWS: usize = 1_024;

/// Rows that share one word of the live bitmap.
const BITMAP_ROWS: usize = 64;

/// Bytes in a cache line. A 64-byte load that crosses a line costs two.
const LINE_BYTES: usize = 64;

#[derive(Debug)]
pub(super) struct Segment {
    /// Codes from `start` on; never grown, so the alignment stays.
    memory: Vec<u64>,
    start: usize,
    /// Vector of each row; meaningless where the row is not live.
    ids: Box<[u32; SEGMENT_ROWS]>,
    live: [u64; SEGMENT_ROWS / BITMAP_ROWS],
}

/// The used rows of one segment, as a scan reads them.
#[derive(Clone, Copy, Debug)]
pub struct SegmentView<'a> {
    /// Row number of the first row here.
    pub first_row: u32,
    /// Codes of all used rows, live or not, row after row.
    pub codes: &'a [u64],
    ids: &'a [u32],
    live: &'a [u64],
}

impl SegmentView<'_> {
    /// The vector of the row at `offset` from the first here, or `None` where the row is not live.
    pub fn live_id(&self, offset: usize) -> Option<u32> {
        let bits = *self.live.get(offset / BITMAP_ROWS)?;
        if (bits >> (offset % BITMAP_ROWS)) & 1 == 0 {
            return None;
        }
        self.ids.get(offset).copied()
    }
}

impl Segment {
    pub(super) fn new(words: usize) -> Self {
        let slack = LINE_BYTES / size_of::<u64>() - 1;
        // Zeroed memory comes from the operating system untouched: pages without rows are not resident.
        let memory = vec![0_u64; SEGMENT_ROWS * words + slack];
        // `align_offset` may decline; an unaligned segment is only slower.
        let start = memory.as_ptr().align_offset(LINE_BYTES).min(slack);
        Self { memory, start, ids: Box::new([0; SEGMENT_ROWS]), live: [0; SEGMENT_ROWS / BITMAP_ROWS] }
    }

    pub(super) fn put(
        &mut self,
        offset: usize,
        vector_id: u32,
        words: usize,
        code: impl Iterator<Item = u64>,
    ) {
        let from = self.start + offset * words;
        if let (Some(row), Some(id)) = (self.memory.get_mut(from..from + words), self.ids.get_mut(offset)) {
            for (place, word) in row.iter_mut().zip(code) {
                *place = word;
            }
            *id = vector_id;
            self.live[offset / BITMAP_ROWS] |= 1 << (offset % BITMAP_ROWS);
        }
    }

    pub(super) fn retire(&mut self, offset: usize) {
        self.live[offset / BITMAP_ROWS] &= !(1 << (offset % BITMAP_ROWS));
    }

    pub(super) fn code(&self, offset: usize, words: usize) -> Option<&[u64]> {
        let from = self.start + offset * words;
        self.memory.get(from..from + words)
    }

    pub(super) fn view(&self, first_row: u32, used: usize, words: usize) -> SegmentView<'_> {
        let codes = &self.memory[self.start..self.start + used * words];
        SegmentView { first_row, codes, ids: &self.ids[..used], live: &self.live }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.memory.len() * size_of::<u64>() + size_of::<[u32; SEGMENT_ROWS]>()
    }
}
