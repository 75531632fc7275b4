//! Kernels for x86-64, one folder an instruction set.
//!
//! Each folder owns a token that can only be made where the processor has the instructions, and safe methods on
//! it. Shapes have been checked by the caller; a wrong shape gives a wrong number or a panic, never a stray read.

pub(crate) mod avx2;
pub(crate) mod avx512;
