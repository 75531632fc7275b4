//! The choice of an instruction set and the safe doors to the kernels behind it.
//!
//! Owns [`Isa`] and [`Kernels`]. It does no arithmetic.

use crate::scalar;
use crate::shape::{self, ShapeError};
#[cfg(target_arch = "x86_64")]
use crate::x86_64::{avx2::Avx2, avx512::Avx512};

/// An instruction set that kernels are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// Portable Rust: the oracle of the others, and the only one outside x86-64.
    Scalar,
    /// 256-bit vectors, population count by nibble look-up.
    Avx2,
    /// 512-bit vectors with AVX-512 F, BW and VPOPCNTDQ (Ice Lake, Zen 4 and later).
    Avx512,
}

impl Isa {
    /// All instruction sets, slowest first, whether this processor has them or not.
    pub const ALL: [Self; 3] = [Self::Scalar, Self::Avx2, Self::Avx512];

    /// A short name for logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

/// Kernels of one instruction set that this processor is known to have. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    chosen: Chosen,
}

/// The tokens inside can only be made on a processor that has the instruction set.
#[derive(Clone, Copy, Debug)]
enum Chosen {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Kernels {
    /// The fastest kernels of this processor. Call it once a scan.
    pub fn detect() -> Self {
        Isa::ALL.into_iter().rev().find_map(Self::with).unwrap_or(Self { chosen: Chosen::Scalar })
    }

    /// Kernels of exactly this instruction set, or `None` where the processor lacks it.
    pub fn with(isa: Isa) -> Option<Self> {
        let chosen = match isa {
            Isa::Scalar => Chosen::Scalar,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Chosen::Avx2(Avx2::new()?),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Chosen::Avx512(Avx512::new()?),
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 | Isa::Avx512 => return None,
        };
        Some(Self { chosen })
    }

    /// The instruction set in use.
    pub fn isa(self) -> Isa {
        match self.chosen {
            Chosen::Scalar => Isa::Scalar,
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(_) => Isa::Avx2,
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(_) => Isa::Avx512,
        }
    }

    /// Hamming distance in bits from `query` (`words`) to each row of `rows` (`out.len()` × `words`).
    ///
    /// Reads every row once, front to back. Fails, and writes nothing, when the lengths do not fit together.
    pub fn hamming_rows(self, query: &[u64], rows: &[u64], out: &mut [u32]) -> Result<(), ShapeError> {
        shape::check_rows(query, rows, out)?;
        match self.chosen {
            Chosen::Scalar => scalar::hamming_rows(query, rows, out),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(avx2) => avx2.hamming_rows(query, rows, out),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(avx512) => avx512.hamming_rows(query, rows, out),
        }
        Ok(())
    }

    /// Score of `code` (`ceil(B / 64)` words) under the query's `weights` (`B`): the sum of `+weights[i]` where
    /// bit `i` is set and `-weights[i]` where it is clear. Greater is nearer; padding bits do not count.
    ///
    /// Fails when the lengths do not fit together.
    pub fn asymmetric(self, weights: &[i16], code: &[u64]) -> Result<i64, ShapeError> {
        shape::check_weights(weights, code)?;
        Ok(match self.chosen {
            Chosen::Scalar => scalar::asymmetric(weights, code),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(avx2) => avx2.asymmetric(weights, code),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(avx512) => avx512.asymmetric(weights, code),
        })
    }
}
