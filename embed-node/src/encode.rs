//! Vectors to codes: a seeded rotation to the collection's width, then signs. The same vector gives the same code on
//! every processor: f32 additions and multiplications in a fixed order, none fused, signs from a hash.
//!
//! The rotation is a randomised Hadamard transform. The vector is padded with zeros to P, the power of two that holds
//! both its dimensions and the code; three rounds of (seeded ±1 signs, Walsh–Hadamard butterflies, 1/√P) spread it; the
//! first `bits` dimensions are kept and brought to unit length, which also undoes the loss of the others on average.
//! Cost: 3 · P · log₂ P additions (P = 2,048: some ten microseconds).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sextant_proto::code::{CodeSpec, CodeWidth, sign_code, words_to_bytes};

use crate::config::ModelConfig;
use crate::error::EmbedError;
use crate::pool::{cut, unit};

const ROUNDS: u32 = 3;
const DOMAIN: &str = "sextant rotation signs 1";
/// Rotations kept ready. A collection needs one; the bound is against requests with ever new seeds.
const MAX_CACHED: usize = 32;

/// A vector as a collection keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct Coded {
    /// `width / 8` bytes.
    pub code: Vec<u8>,
    /// `width` rotated dimensions of unit length.
    pub rotated: Vec<f32>,
}

/// How vectors of one model become codes of one spec.
#[derive(Debug)]
pub struct Projection {
    width: CodeWidth,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Rows of ±1, one a round, each of length P.
    Rotated(Vec<Vec<f32>>),
    Plain,
}

impl Projection {
    /// Checks that a model of `config` can make codes of `spec`.
    pub fn new(config: &ModelConfig, spec: CodeSpec) -> Result<Self, EmbedError> {
        let (width, bits) = (spec.width, spec.width.bits());
        let kind = match spec.rotation_seed {
            Some(seed) => {
                let padded = config.dims.max(bits).next_power_of_two();
                Kind::Rotated((0..ROUNDS).map(|round| signs(seed, round, padded)).collect())
            }
            None if bits == config.dims || config.matryoshka.contains(&bits) => Kind::Plain,
            None => {
                return Err(EmbedError::Code(format!(
                    "plain sign bits of {} are {} wide{}; {bits} bits need a rotation seed",
                    config.name,
                    config.dims,
                    if config.matryoshka.is_empty() {
                        String::new()
                    } else {
                        format!(" or cut to one of {:?}", config.matryoshka)
                    }
                )));
            }
        };
        Ok(Self { width, kind })
    }

    /// Width of the codes.
    pub fn width(&self) -> CodeWidth {
        self.width
    }

    /// The code of `vector`, with the floats that its signs come from.
    pub fn encode(&self, vector: &[f32]) -> Result<Coded, EmbedError> {
        let rotated = match &self.kind {
            Kind::Plain => cut(vector, self.width.bits())?,
            Kind::Rotated(signs) => {
                // A unit vector first, so that no butterfly overflows.
                let mut padded = unit(vector.to_vec())?;
                padded.resize(signs.first().map_or(0, Vec::len), 0.0);
                rotate(&mut padded, signs);
                cut(&padded, self.width.bits())?
            }
        };
        let words =
            sign_code(&rotated, self.width).map_err(|error| EmbedError::Inference(error.to_string()))?;
        Ok(Coded { code: words_to_bytes(&words), rotated })
    }
}

/// ±1 by the bits of a hash stream: bit 1 is −1; bit `i` is bit `i % 8` of byte `i / 8`.
fn signs(seed: u64, round: u32, padded: usize) -> Vec<f32> {
    let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
    hasher.update(&seed.to_le_bytes());
    hasher.update(&round.to_le_bytes());
    hasher.update(&(padded as u64).to_le_bytes());
    let mut bytes = vec![0u8; padded.div_ceil(8)];
    hasher.finalize_xof().fill(&mut bytes);
    (0..padded).map(|at| if bytes[at / 8] >> (at % 8) & 1 == 1 { -1.0 } else { 1.0 }).collect()
}

/// In place; `values` and each row of `signs` have the same length, a power of two.
fn rotate(values: &mut [f32], signs: &[Vec<f32>]) {
    let scale = 1.0 / (values.len() as f32).sqrt();
    for row in signs {
        for (value, sign) in values.iter_mut().zip(row) {
            *value *= sign;
        }
        walsh_hadamard(values);
        for value in values.iter_mut() {
            *value *= scale;
        }
    }
}

fn walsh_hadamard(values: &mut [f32]) {
    let mut half = 1;
    while half < values.len() {
        for block in values.chunks_exact_mut(half * 2) {
            let (low, high) = block.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

/// The projections of one model, made when first asked for.
#[derive(Debug, Default)]
pub struct Projections {
    ready: Mutex<HashMap<CodeSpec, Arc<Projection>>>,
}

impl Projections {
    /// The projection of `spec`, or why the model cannot make such codes.
    pub fn get(&self, config: &ModelConfig, spec: CodeSpec) -> Result<Arc<Projection>, EmbedError> {
        let lock = || self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = lock().get(&spec) {
            return Ok(Arc::clone(ready));
        }
        let made = Arc::new(Projection::new(config, spec)?);
        let mut ready = lock();
        if ready.len() >= MAX_CACHED {
            ready.clear();
        }
        ready.insert(spec, Arc::clone(&made));
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use proptest::prelude::*;

    fn config(dims: usize) -> ModelConfig {
        let text = format!(
            "name = 'm'\ndims = {dims}\nmax_tokens = 16\npooling = 'mean'\nlicense = 'MIT'\nmatryoshka = [64]\n\
             onnx = 'm'\ntokenizer = 't'\n"
        );
        ModelConfig::parse(&text, Path::new("")).unwrap()
    }

    fn projection(dims: usize, bits: u32, seed: Option<u64>) -> Result<Projection, EmbedError> {
        let width = CodeWidth::new(bits).unwrap();
        Projection::new(&config(dims), CodeSpec { width, rotation_seed: seed })
    }

    /// A vector that needs no file: quadratic residues, so exact on every machine.
    fn ramp(dims: usize, step: usize) -> Vec<f32> {
        (0..dims).map(|at| ((at * at * 7 + at * step) % 101) as f32 - 50.0).collect()
    }

    fn cosine(a: &[f32], b: &[f32]) -> f64 {
        let dot =
            |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    fn bits_apart(a: &[u8], b: &[u8]) -> u32 {
        a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
    }

    /// Frozen: a change here is a new generation for every collection.
    #[test]
    fn golden_codes_stay_as_they_are() {
        let digest = |dims: usize, bits: u32, seed: Option<u64>| {
            let coded = projection(dims, bits, seed).unwrap().encode(&ramp(dims, 3)).unwrap();
            let floats: Vec<u8> = coded.rotated.iter().flat_map(|value| value.to_le_bytes()).collect();
            let hex = |bytes: &[u8]| blake3::hash(bytes).to_hex()[..16].to_string();
            (hex(&coded.code), hex(&floats))
        };
        let golden = [
            ((384, 2048, Some(0)), ("55fac6b580f5bc75", "946a00ff5ee3fd9f")),
            ((384, 2048, Some(7)), ("f777337eaa945e4d", "26a0ec50d9439464")),
            ((768, 4096, Some(0)), ("50d2e311b311d690", "b644f3493300de68")),
            ((1024, 512, Some(0)), ("973f7254cfe6e0b0", "3e0bf416ba77d048")),
            ((384, 384, None), ("29b1e5edad63d6a2", "0ca20e096e72aedb")),
        ];
        let found: Vec<_> = golden
            .iter()
            .map(|((dims, bits, seed), _)| ((*dims, *bits, *seed), digest(*dims, *bits, *seed)))
            .collect();
        let frozen: Vec<_> = golden
            .iter()
            .map(|(spec, (code, floats))| (*spec, ((*code).to_owned(), (*floats).to_owned())))
            .collect();
        assert_eq!(found, frozen);
    }

    #[test]
    fn plain_bits_have_the_models_width_or_one_of_its_cuts() {
        assert!(projection(384, 384, None).is_ok());
        assert!(projection(384, 64, None).is_ok());
        for bits in [128, 448, 2048] {
            let error = projection(384, bits, None).unwrap_err();
            assert!(matches!(&error, EmbedError::Code(text) if text.contains("384")), "{error}");
        }
    }

    #[test]
    fn another_seed_is_another_code() {
        let code = |seed| projection(384, 2048, Some(seed)).unwrap().encode(&ramp(384, 3)).unwrap().code;
        let apart = bits_apart(&code(0), &code(1));
        assert!((900..1150).contains(&apart), "{apart}");
    }

    #[test]
    fn hamming_distance_estimates_the_angle() {
        // The share of bits apart estimates the angle over π. With independent bits its standard error would be
        // √(p·(1 − p) / bits); the structured rotation comes close to that over many pairs.
        let bits = 4096;
        let projection = projection(384, bits, Some(0)).unwrap();
        for weight in [0.3f32, 1.0, 3.0] {
            let (mut squares, mut expected) = (0.0, 0.0);
            for step in 0..40 {
                let base = ramp(384, 3 + step);
                let other: Vec<f32> =
                    base.iter().zip(ramp(384, 61 + 5 * step)).map(|(a, b)| a + weight * b).collect();
                let (a, b) = (projection.encode(&base).unwrap(), projection.encode(&other).unwrap());
                let apart = f64::from(bits_apart(&a.code, &b.code)) / f64::from(bits);
                let share = cosine(&base, &other).clamp(-1.0, 1.0).acos() / std::f64::consts::PI;
                squares += (apart - share).powi(2);
                expected += share * (1.0 - share) / f64::from(bits);
                assert!((cosine(&a.rotated, &b.rotated) - cosine(&base, &other)).abs() < 1e-3);
            }
            assert!(squares < 2.0 * expected, "{weight}: {squares} where {expected} was expected");
        }
    }

    #[test]
    fn the_asymmetric_score_estimates_the_cosine_within_its_error() {
        use sextant_proto::code::{QueryVector, bytes_to_words};
        use sextant_proto::ids::ModelFingerprint;
        for bits in [512, 2048] {
            let projection = projection(384, bits, Some(0)).unwrap();
            let code = CodeSpec { width: CodeWidth::new(bits).unwrap(), rotation_seed: Some(0) };
            for weight in [0.3f32, 1.0, 3.0] {
                let (mut squares, mut bias, mut count) = (0.0, 0.0, 0.0);
                for step in 0..60 {
                    let base = ramp(384, 3 + step);
                    let other: Vec<f32> =
                        base.iter().zip(ramp(384, 61 + 5 * step)).map(|(a, b)| a + weight * b).collect();
                    let query = projection.encode(&base).unwrap().rotated;
                    let query = QueryVector::quantise(ModelFingerprint([0; 32]), code, &query).unwrap();
                    let stored =
                        bytes_to_words(&projection.encode(&other).unwrap().code, code.width).unwrap();
                    let signed = |(at, weight): (usize, i16)| {
                        let set = stored[at / 64] >> (at % 64) & 1 == 1;
                        i64::from(weight) * if set { 1 } else { -1 }
                    };
                    let score = query.weights().unwrap().into_iter().enumerate().map(signed).sum();
                    let estimate = query.cosine_estimate(score);
                    let error = f64::from(query.cosine_error(estimate));
                    let off = (f64::from(estimate) - cosine(&base, &other)) / error;
                    (squares, bias, count) = (squares + off * off, bias + off, count + 1.0);
                }
                // In standard errors: of unit size, and off to neither side beyond chance.
                let (size, bias) = ((squares / count).sqrt(), bias / count);
                assert!(size < 1.3, "{bits} bits, weight {weight}: errors of {size} standard errors");
                assert!(bias.abs() < 0.5, "{bits} bits, weight {weight}: {bias}");
            }
        }
    }

    #[test]
    fn projections_are_made_once_and_bounded() {
        let projections = Projections::default();
        let spec = |seed| CodeSpec { width: CodeWidth::DEFAULT, rotation_seed: Some(seed) };
        let first = projections.get(&config(384), spec(0)).unwrap();
        assert!(Arc::ptr_eq(&first, &projections.get(&config(384), spec(0)).unwrap()));
        for seed in 0..200 {
            projections.get(&config(384), spec(seed)).unwrap();
        }
        assert!(projections.ready.lock().unwrap().len() <= MAX_CACHED);
    }

    proptest! {
        #[test]
        fn the_fast_transform_equals_the_definition(vector in proptest::collection::vec(-1f32..1.0, 16)) {
            let mut fast = vector.clone();
            walsh_hadamard(&mut fast);
            for (row, value) in fast.iter().enumerate() {
                let naive: f64 = vector
                    .iter()
                    .enumerate()
                    .map(|(column, value)| {
                        if (row & column).count_ones() % 2 == 0 { f64::from(*value) } else { -f64::from(*value) }
                    })
                    .sum();
                prop_assert!((naive - f64::from(*value)).abs() < 1e-4);
            }
        }

        #[test]
        fn codes_have_unit_floats_that_agree_with_their_bits(
            vector in proptest::collection::vec(-1f32..1.0, 1..200), steps in 1u32..20, seed in any::<u64>(),
        ) {
            prop_assume!(vector.iter().any(|value| value.abs() > 1e-3));
            let projection = projection(200, steps * 64, Some(seed)).unwrap();
            let mut whole = vector;
            whole.resize(200, 0.0);
            let coded = projection.encode(&whole).unwrap();
            prop_assert_eq!(coded.code.len() * 8, coded.rotated.len());
            let length: f64 = coded.rotated.iter().map(|value| f64::from(*value).powi(2)).sum();
            prop_assert!((length - 1.0).abs() < 1e-4);
            // The length of the vector does not matter, and a second call gives the same.
            let scaled: Vec<f32> = whole.iter().map(|value| value * 4.0).collect();
            prop_assert_eq!(projection.encode(&scaled).unwrap(), coded);
        }
    }
}
