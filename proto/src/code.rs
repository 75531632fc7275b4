//! Vector codes: one bit a dimension, and the integer query that orders candidates.
//!
//! A code is `bits / 64` little-endian `u64` words. Bit `i` of the vector is bit `i % 64` of word `i / 64`; a bit is 1
//! where the rotated dimension is ≥ 0. Padding bits are zero.

use serde::{Deserialize, Serialize};

use crate::ids::ModelFingerprint;
use crate::limits::CODE_BITS;

/// Why bytes or numbers are no code or query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// The width is outside of the allowed range.
    #[error("a code cannot have {0} bits; allowed are 64 to 8192 in steps of 64")]
    Width(u32),
    /// The length does not fit the width.
    #[error("{what} has {got} elements where its width asks for {want}")]
    Length {
        /// What was decoded.
        what: &'static str,
        /// Elements found.
        got: usize,
        /// Elements needed.
        want: usize,
    },
    /// A float that is no number, or infinite.
    #[error("the vector holds a value that is not finite at dimension {0}")]
    NotFinite(usize),
}

/// Width of a code in bits: 64 to 8,192 in steps of 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct CodeWidth(u32);

impl CodeWidth {
    /// The default width of a collection.
    pub const DEFAULT: Self = Self(2048);

    /// Checks `bits`.
    pub fn new(bits: u32) -> Result<Self, CodeError> {
        let (min, max, step) = CODE_BITS;
        if (min..=max).contains(&bits) && bits.is_multiple_of(step) {
            Ok(Self(bits))
        } else {
            Err(CodeError::Width(bits))
        }
    }

    /// Bits of a code.
    pub const fn bits(self) -> usize {
        self.0 as usize
    }

    /// `u64` words of a code.
    pub const fn words(self) -> usize {
        self.0 as usize / 64
    }

    /// Bytes of a code.
    pub const fn bytes(self) -> usize {
        self.0 as usize / 8
    }
}

impl TryFrom<u32> for CodeWidth {
    type Error = CodeError;
    fn try_from(bits: u32) -> Result<Self, CodeError> {
        Self::new(bits)
    }
}

impl From<CodeWidth> for u32 {
    fn from(width: CodeWidth) -> u32 {
        width.0
    }
}

/// How a collection's vectors become codes. Two specs that differ make codes that cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodeSpec {
    /// Width of the code.
    pub width: CodeWidth,
    /// Seed of the rotation; `None` takes plain sign bits (then the width is the model's).
    pub rotation_seed: Option<u64>,
}

impl Default for CodeSpec {
    fn default() -> Self {
        Self { width: CodeWidth::DEFAULT, rotation_seed: Some(0) }
    }
}

/// What vectors of a collection are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Generation {
    /// The model.
    pub model: ModelFingerprint,
    /// The code.
    pub code: CodeSpec,
}

/// Sign bits of `rotated`, one a dimension (≥ 0 → 1), as words. The length must be `width.bits()`.
pub fn sign_code(rotated: &[f32], width: CodeWidth) -> Result<Vec<u64>, CodeError> {
    expect_len("the rotated vector", rotated.len(), width.bits())?;
    let mut words = vec![0u64; width.words()];
    for (at, value) in rotated.iter().enumerate() {
        if !value.is_finite() {
            return Err(CodeError::NotFinite(at));
        }
        words[at / 64] |= u64::from(*value >= 0.0) << (at % 64);
    }
    Ok(words)
}

/// Words of a code as little-endian bytes.
pub fn words_to_bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Words of a code from little-endian bytes, or an error where the length is not the width's.
pub fn bytes_to_words(bytes: &[u8], width: CodeWidth) -> Result<Vec<u64>, CodeError> {
    expect_len("the code", bytes.len(), width.bytes())?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// A query as integers, so that replicas on different processors give equal scores.
///
/// `weights[i] = round(rotated[i] / scale)` with `scale = max|rotated| / 32767`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryVector {
    /// The model the floats come from.
    pub model: ModelFingerprint,
    /// The code its collection keeps.
    pub code: CodeSpec,
    /// `width` little-endian `i16`, in the order of the rotated dimensions.
    #[serde(with = "serde_bytes")]
    pub weights: Vec<u8>,
    /// What one unit of weight is worth.
    pub scale: f32,
}

impl QueryVector {
    /// Quantises a rotated query of unit length.
    pub fn quantise(model: ModelFingerprint, code: CodeSpec, rotated: &[f32]) -> Result<Self, CodeError> {
        expect_len("the rotated query", rotated.len(), code.width.bits())?;
        if let Some(at) = rotated.iter().position(|value| !value.is_finite()) {
            return Err(CodeError::NotFinite(at));
        }
        let largest = rotated.iter().fold(0f32, |most, value| most.max(value.abs()));
        let scale = if largest > 0.0 { largest / 32767.0 } else { 1.0 };
        let weights =
            rotated.iter().flat_map(|value| ((value / scale).round() as i16).to_le_bytes()).collect();
        Ok(Self { model, code, weights, scale })
    }

    /// The weights as integers; an error where their number is not the width.
    pub fn weights(&self) -> Result<Vec<i16>, CodeError> {
        expect_len("the query", self.weights.len(), self.code.width.bits() * 2)?;
        Ok(self.weights.as_chunks::<2>().0.iter().map(|pair| i16::from_le_bytes(*pair)).collect())
    }

    /// The query's own code.
    pub fn code_words(&self) -> Result<Vec<u64>, CodeError> {
        let weights = self.weights()?;
        let mut words = vec![0u64; self.code.width.words()];
        for (at, weight) in weights.iter().enumerate() {
            words[at / 64] |= u64::from(*weight >= 0) << (at % 64);
        }
        Ok(words)
    }

    /// Estimate of the cosine from an asymmetric score (Σ ± weight).
    ///
    /// For a rotated unit vector of `B` dimensions E|x_i| = √(2 / (π·B)), so Σ q_i·sign(x_i) ≈ cos·√(2·B / π) · 1.
    pub fn cosine_estimate(&self, score: i64) -> f32 {
        let bits = self.code.width.bits() as f64;
        let sum = score as f64 * f64::from(self.scale);
        (sum / (2.0 * bits / std::f64::consts::PI).sqrt()).clamp(-1.0, 1.0) as f32
    }

    /// Standard error of [`Self::cosine_estimate`] where the estimate is `cosine`: √((π/2 − cosine²) / B).
    ///
    /// A term q·sign(x) of the sum has the mean square E q² = 1/B and the mean √(2/π)·cosine/B, hence the sum a variance
    /// of 1 − 2·cosine²/π. Holds for rotated codes alone; `docs/scan.md` derives and checks it. With it, estimates from
    /// codes of different widths can be put in one list.
    pub fn cosine_error(&self, cosine: f32) -> f32 {
        let (bits, cosine) = (self.code.width.bits() as f64, f64::from(cosine));
        ((std::f64::consts::FRAC_PI_2 - cosine * cosine) / bits).max(0.0).sqrt() as f32
    }
}

fn expect_len(what: &'static str, got: usize, want: usize) -> Result<(), CodeError> {
    if got == want { Ok(()) } else { Err(CodeError::Length { what, got, want }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn widths_outside_of_the_steps_are_refused() {
        for bits in [0, 63, 65, 8256, u32::MAX] {
            assert_eq!(CodeWidth::new(bits), Err(CodeError::Width(bits)));
        }
        assert_eq!(CodeWidth::new(384).map(CodeWidth::words), Ok(6));
    }

    #[test]
    fn a_value_that_is_no_number_is_refused() {
        let width = CodeWidth::new(64).unwrap();
        let mut vector = vec![0.5f32; 64];
        vector[7] = f32::NAN;
        assert_eq!(sign_code(&vector, width), Err(CodeError::NotFinite(7)));
    }

    proptest! {
        #[test]
        fn codes_survive_the_trip_through_bytes(values in proptest::collection::vec(-1f32..1.0, 128)) {
            let width = CodeWidth::new(128).unwrap();
            let words = sign_code(&values, width).unwrap();
            prop_assert_eq!(bytes_to_words(&words_to_bytes(&words), width).unwrap(), words.clone());
            for (at, value) in values.iter().enumerate() {
                prop_assert_eq!(words[at / 64] >> (at % 64) & 1 == 1, *value >= 0.0);
            }
        }

        #[test]
        fn a_quantised_query_keeps_signs_and_order(values in proptest::collection::vec(-1f32..1.0, 64)) {
            let code = CodeSpec { width: CodeWidth::new(64).unwrap(), rotation_seed: None };
            let query = QueryVector::quantise(ModelFingerprint([0; 32]), code, &values).unwrap();
            for (weight, value) in query.weights().unwrap().iter().zip(&values) {
                prop_assert!((f32::from(*weight) * query.scale - value).abs() <= query.scale);
            }
        }
    }
}
