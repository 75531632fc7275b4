//! The choice of an instruction set and the safe doors to the kernels behind it.
//!
//! Owns [`Isa`] and [`Kernels`]. It does no arithmetic.

use crate::planes::{self, LANES, Near, Planes, RestRows, Split};
use crate::shape::{self, ShapeError};
#[cfg(target_arch = "x86_64")]
use crate::x86_64::{avx2::Avx2, avx512::Avx512};
use crate::{portable, scalar};

/// An instruction set that kernels are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// One word after the other: the oracle of the others.
    Scalar,
    /// Portable Rust that compilers vectorise; the fastest outside of x86-64.
    Portable,
    /// 256-bit vectors, population count by nibble look-up.
    Avx2,
    /// 512-bit vectors with AVX-512 F, BW and VPOPCNTDQ (Ice Lake, Zen 4 and later).
    Avx512,
}

impl Isa {
    /// All instruction sets, slowest first, whether this processor has them or not.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Portable, Self::Avx2, Self::Avx512];

    /// A short name for logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Portable => "portable",
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
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

/// Calls the same function of whichever kernels were chosen.
macro_rules! chosen {
    ($self:ident, $function:ident($($argument:expr),*)) => {
        match $self.chosen {
            Chosen::Scalar => scalar::$function($($argument),*),
            Chosen::Portable => portable::$function($($argument),*),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(avx2) => avx2.$function($($argument),*),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(avx512) => avx512.$function($($argument),*),
        }
    };
}

impl Kernels {
    /// The fastest kernels of this processor. Call it once a scan.
    pub fn detect() -> Self {
        Isa::ALL.into_iter().rev().find_map(Self::with).unwrap_or(Self { chosen: Chosen::Portable })
    }

    /// Kernels of exactly this instruction set, or `None` where the processor lacks it.
    pub fn with(isa: Isa) -> Option<Self> {
        let chosen = match isa {
            Isa::Scalar => Chosen::Scalar,
            Isa::Portable => Chosen::Portable,
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
            Chosen::Portable => Isa::Portable,
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(_) => Isa::Avx2,
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(_) => Isa::Avx512,
        }
    }

    /// Compares every row with the query and puts those of a Hamming distance of at most `limit` bits into `out`, in
    /// row order; says how many. With no rest (on both sides) it compares prefixes alone, the first stage of a pruned
    /// scan.
    ///
    /// Reads both planes once, front to back. `out` has a place for every row and [`crate::SLACK`] more; what is behind
    /// those found is meaningless. Fails, and writes nothing, when the lengths do not fit together.
    pub fn within(
        self,
        query: Split<'_>,
        planes: Planes<'_>,
        limit: u32,
        out: &mut [Near],
    ) -> Result<usize, ShapeError> {
        planes::check(query, planes, out)?;
        Ok(chosen!(self, within(query, planes, limit, out)))
    }

    /// [`Self::within`] where the rest plane is interleaved like the prefix ([`Self::interleave`] makes it so): what a
    /// batch of queries runs over a block that stays in the first cache level. A block of eight is given up as soon as
    /// none of its rows can still be near enough, so the answer is exact.
    pub fn interleaved_within(
        self,
        query: Split<'_>,
        planes: Planes<'_>,
        limit: u32,
        out: &mut [Near],
    ) -> Result<usize, ShapeError> {
        planes::check(query, planes, out)?;
        Ok(chosen!(self, interleaved_within(query, planes, limit, out)))
    }

    /// Adds to each candidate the bits by which `part` differs from its words `from..from + part.len()`, and keeps
    /// those of at most `limit` bits in all, in order, at the front of `near`; says how many. Memory is asked for ahead
    /// of use, so that candidates may lie anywhere.
    ///
    /// Fails, and changes nothing, where a row or a word lies outside of the plane.
    pub fn narrow(
        self,
        part: &[u64],
        rest: RestRows<'_>,
        limit: u32,
        near: &mut [Near],
    ) -> Result<usize, ShapeError> {
        planes::check_rest(part, rest, near)?;
        Ok(chosen!(self, narrow(part, rest, limit, near)))
    }

    /// Interleaves rows of `words` words by eight. Fails, and writes nothing, unless `rows` holds whole blocks and
    /// `out` is as long.
    pub fn interleave(self, rows: &[u64], words: usize, out: &mut [u64]) -> Result<(), ShapeError> {
        if rows.is_empty() && out.is_empty() {
            return Ok(());
        }
        if rows.len() != out.len() || words == 0 || !rows.len().is_multiple_of(LANES * words) {
            return Err(ShapeError::Planes { words, prefix: out.len(), rest: rows.len() });
        }
        match self.chosen {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(avx512) => avx512.interleave(rows, words, out),
            _ => scalar::interleave(rows, words, out),
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
            Chosen::Scalar | Chosen::Portable => scalar::asymmetric(weights, code),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(avx2) => avx2.asymmetric(weights, code),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(avx512) => avx512.asymmetric(weights, code),
        })
    }

    /// Reads every word once and gives their OR: the time that memory alone takes, for measurements.
    pub fn read(self, words: &[u64]) -> u64 {
        match self.chosen {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(avx512) => avx512.read(words),
            _ => words.iter().fold(0, |all, word| all | word),
        }
    }
}
