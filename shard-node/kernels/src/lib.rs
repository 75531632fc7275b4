//! Distance kernels over 1-bit vector codes: the innermost loops of a scan and nothing else.
//!
//! Owns the arithmetic, its instruction-set variants, and the choice between them. It must not know what a
//! vector stands for, where codes are kept, or how candidates are ranked. It has no dependencies, and it is the
//! only package of the workspace that holds `unsafe` code.
//!
//! # Layout
//! A *code* of `B` bits is `words = ceil(B / 64)` little-endian `u64` words; bit `i` of the vector is bit
//! `i % 64` of word `i / 64`; bits past `B` are zero. A set bit stands for +1, a clear one for -1. Codes of many
//! vectors lie row after row without gaps.
//!
//! # Use
//! [`Kernels::detect`] once a scan, then call its methods on blocks of rows that stay in the L1 or L2 cache.
//! Nothing here allocates, and all results are integers, hence equal on every processor.
//!
//! ```
//! use sextant_kernels::Kernels;
//!
//! let kernels = Kernels::detect();
//! let mut distances = [0; 2];
//! kernels.hamming_rows(&[0b1011], &[0b1010, 0b0100], &mut distances)?;
//! assert_eq!(distances, [1, 4]);
//! assert_eq!(kernels.asymmetric(&[5, -3, 7], &[0b101])?, 15);
//! # Ok::<(), sextant_kernels::ShapeError>(())
//! ```

mod dispatch;
mod scalar;
mod shape;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use dispatch::{Isa, Kernels};
pub use shape::{MAX_WORDS, ShapeError};
