//! How a scan runs: on how many threads, and when it gives up.
//!
//! Owns nothing that changes the answer.

use std::fmt;
use std::num::NonZero;

/// Looked at between two segments (see [`crate::arena::SEGMENT_ROWS`]): a tenth of a millisecond at 2,048 bits.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Most threads; 1 stays on the caller's.
    pub threads: usize,
    /// Whether nobody waits for the answer any more.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl Control<'_> {
    /// One thread, to the end.
    pub const ALONE: Control<'static> = Control { threads: 1, stop: &|| false };

    /// Threads for an arena of so many segments: no more than the processor has, and each with work that outweighs its
    /// start.
    pub fn threads_for(segments: usize) -> usize {
        /// Segments that a thread should have for itself: 65,536 rows take some hundred microseconds, its start twenty.
        const SHARE: usize = 4;
        let most = std::thread::available_parallelism().map_or(1, NonZero::get);
        (segments / SHARE).clamp(1, most)
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Control").field("threads", &self.threads).finish_non_exhaustive()
    }
}
