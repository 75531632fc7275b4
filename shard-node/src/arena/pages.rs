//! Zeroed memory of whole pages for codes, on huge pages where there is enough of it.
//!
//! Owns allocation and alignment. It must not know what lies in the words.

use std::io;
use std::mem::size_of;

use memmap2::MmapMut;

/// Bytes of a huge page on x86-64 and on aarch64 with pages of 4 KiB. A scan reads gigabytes in order; with small
/// pages it would miss the address cache in every one.
const HUGE_BYTES: usize = 2 << 20;

/// `words` zeroed words, at the start of a page. Pages that nobody wrote to cost nothing.
#[derive(Debug)]
pub(super) struct Pages {
    map: MmapMut,
    start: usize,
    words: usize,
}

impl Pages {
    pub(super) fn zeroed(words: usize) -> io::Result<Self> {
        let bytes = words * size_of::<u64>();
        let huge = bytes >= HUGE_BYTES;
        // Room to begin on a huge page: what lies in front and behind is never touched.
        let map = MmapMut::map_anon(if huge { bytes + HUGE_BYTES } else { bytes.max(1) })?;
        let start = if huge { map.as_ptr().align_offset(HUGE_BYTES).min(HUGE_BYTES) } else { 0 };
        #[cfg(target_os = "linux")]
        if huge {
            // Refused by kernels built without huge pages, where a scan is only slower.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        Ok(Self { map, start, words })
    }

    pub(super) fn words(&self) -> &[u64] {
        bytemuck::cast_slice(&self.map[self.start..self.start + self.words * size_of::<u64>()])
    }

    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        bytemuck::cast_slice_mut(&mut self.map[self.start..self.start + self.words * size_of::<u64>()])
    }
}
