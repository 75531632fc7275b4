//! Distance kernels over 1-bit vector codes: the innermost loops of a scan and nothing else.
//!
//! Owns the arithmetic, its instruction-set variants, and the choice between them. It must not know what a
//! vector stands for, where codes are kept, or how candidates are ranked. It has no dependencies, and it is the
//! only package of the workspace that holds `unsafe` code.
//!
//! # Layout
//! A *code* of `B` bits is `words = ceil(B / 64)` little-endian `u64` words; bit `i` of the vector is bit
//! `i % 64` of word `i / 64`; bits past `B` are zero. A set bit stands for +1, a clear one for -1. Codes of many
//! vectors lie in the two planes of [`Planes`].
//!
//! # Use
//! [`Kernels::detect`] once a scan, then call its methods on blocks of rows. Nothing here allocates, and all results
//! are integers, hence equal on every processor.
//!
//! ```
//! use sextant_kernels::{Kernels, Near, Planes, Split};
//!
//! let kernels = Kernels::detect();
//! let mut near = [Near::default(); 16];
//! // Eight vectors of one word each, all of it prefix.
//! let planes = Planes { prefix: &[0b1010, 0b0100, !0, !0, !0, !0, !0, !0], rest: &[] };
//! let found = kernels.within(Split { prefix: &[0b1011], rest: &[] }, planes, 4, &mut near)?;
//! assert_eq!(near[..found], [Near { row: 0, distance: 1 }, Near { row: 1, distance: 4 }]);
//! assert_eq!(kernels.asymmetric(&[5, -3, 7], &[0b101])?, 15);
//! # Ok::<(), sextant_kernels::ShapeError>(())
//! ```

mod dispatch;
mod planes;
mod portable;
mod scalar;
mod shape;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use dispatch::{Isa, Kernels};
pub use planes::{LANES, Near, Planes, RestRows, SLACK, Split, interleaved_at};
pub use shape::{MAX_WORDS, ShapeError};
