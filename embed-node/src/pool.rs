//! A backend's output to one vector a text: pooling, normalisation, the Matryoshka cut. Plain arithmetic in a fixed
//! order; a value that is not finite is an error and never leaves this room as a vector.

use crate::backend::Output;
use crate::config::{ModelConfig, Pooling};
use crate::error::EmbedError;

/// One vector of `config.dims` for each text, in the order of the batch. `lengths` are the texts' tokens.
pub fn pool(output: &Output, lengths: &[usize], config: &ModelConfig) -> Result<Vec<Vec<f32>>, EmbedError> {
    let vectors: Vec<Vec<f32>> = match (output, config.pooling) {
        (Output::Pooled { dims, values }, Pooling::Graph) => {
            expect(*dims, config.dims, "dimensions")?;
            expect(values.len(), lengths.len() * dims, "values")?;
            values.chunks_exact(*dims).map(<[f32]>::to_vec).collect()
        }
        (Output::Tokens { length, dims, values }, Pooling::Mean | Pooling::Last | Pooling::Cls) => {
            expect(*dims, config.dims, "dimensions")?;
            expect(values.len(), lengths.len() * length * dims, "values")?;
            if let Some(long) = lengths.iter().find(|own| **own == 0 || *own > length) {
                return Err(EmbedError::Inference(format!("a text of {long} tokens in rows of {length}")));
            }
            let rows = values.chunks_exact(length * dims).zip(lengths);
            rows.map(|(row, own)| pool_row(row, *own, *dims, config.pooling)).collect()
        }
        (Output::Pooled { .. }, pooling) => {
            return Err(EmbedError::Inference(format!(
                "the graph pools itself, but model.toml says pooling = {pooling:?}; write pooling = \"graph\""
            )));
        }
        (Output::Tokens { .. }, Pooling::Graph) => {
            return Err(EmbedError::Inference(
                "the graph gives a vector a token, but model.toml says pooling = \"graph\"; write \"mean\", \"last\" or \
                 \"cls\" as the model's card asks"
                    .into(),
            ));
        }
    };
    vectors.into_iter().map(|vector| if config.normalize { unit(vector) } else { finite(vector) }).collect()
}

/// The first `dims` dimensions at unit length.
pub fn cut(vector: &[f32], dims: usize) -> Result<Vec<f32>, EmbedError> {
    let head = vector.get(..dims).ok_or_else(|| {
        EmbedError::Code(format!("a vector of {} dimensions cannot be cut to {dims}", vector.len()))
    })?;
    unit(head.to_vec())
}

/// `vector` at unit length. The squares are summed one after the other in f64, so that no processor's rounding differs.
pub fn unit(vector: Vec<f32>) -> Result<Vec<f32>, EmbedError> {
    let mut vector = finite(vector)?;
    let mut sum = 0f64;
    for value in &vector {
        sum += f64::from(*value) * f64::from(*value);
    }
    if sum <= 0.0 {
        return Err(EmbedError::Inference("all values are zero".into()));
    }
    let norm = sum.sqrt();
    for value in &mut vector {
        *value = (f64::from(*value) / norm) as f32;
    }
    Ok(vector)
}

fn finite(vector: Vec<f32>) -> Result<Vec<f32>, EmbedError> {
    match vector.iter().position(|value| !value.is_finite()) {
        None => Ok(vector),
        Some(at) => Err(EmbedError::Inference(format!("dimension {at} is {}", vector[at]))),
    }
}

fn expect(got: usize, want: usize, what: &str) -> Result<(), EmbedError> {
    if got == want { Ok(()) } else { Err(EmbedError::Inference(format!("{got} {what} instead of {want}"))) }
}

fn pool_row(row: &[f32], own: usize, dims: usize, pooling: Pooling) -> Vec<f32> {
    let token = |at: usize| &row[at * dims..(at + 1) * dims];
    match pooling {
        Pooling::Last => token(own - 1).to_vec(),
        Pooling::Cls | Pooling::Graph => token(0).to_vec(),
        Pooling::Mean => {
            let mut sum = vec![0f32; dims];
            for at in 0..own {
                for (sum, value) in sum.iter_mut().zip(token(at)) {
                    *sum += value;
                }
            }
            for value in &mut sum {
                *value /= own as f32;
            }
            sum
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use proptest::prelude::*;

    fn config(pooling: &str, normalize: bool) -> ModelConfig {
        let text = format!(
            "name = 'm'\ndims = 2\nmax_tokens = 16\npooling = '{pooling}'\nnormalize = {normalize}\n\
             license = 'MIT'\nonnx = 'm'\ntokenizer = 't'\n"
        );
        ModelConfig::parse(&text, Path::new("")).unwrap()
    }

    fn tokens() -> Output {
        // Two rows of three tokens; the second has one token and two of padding that must not count.
        Output::Tokens {
            length: 3,
            dims: 2,
            values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 9.0, 7.0, 8.0, 100.0, 100.0, 100.0, f32::MAX],
        }
    }

    #[test]
    fn each_pooling_reads_its_tokens_and_no_padding() {
        let pooled = |name| pool(&tokens(), &[3, 1], &config(name, false)).unwrap();
        assert_eq!(pooled("mean"), [[3.0, 5.0], [7.0, 8.0]]);
        assert_eq!(pooled("last"), [[5.0, 9.0], [7.0, 8.0]]);
        assert_eq!(pooled("cls"), [[1.0, 2.0], [7.0, 8.0]]);
    }

    #[test]
    fn a_graph_that_pools_is_taken_as_it_is() {
        let output = Output::Pooled { dims: 2, values: vec![3.0, 4.0, 0.0, -2.0] };
        let lengths = [5, 6];
        assert_eq!(pool(&output, &lengths, &config("graph", false)).unwrap(), [[3.0, 4.0], [0.0, -2.0]]);
        let unit = pool(&output, &lengths, &config("graph", true)).unwrap();
        assert_eq!(unit, [[0.6, 0.8], [0.0, -1.0]]);
        assert!(pool(&output, &lengths, &config("mean", true)).is_err());
        assert!(pool(&tokens(), &[3, 1], &config("graph", true)).is_err());
    }

    #[test]
    fn what_is_no_vector_is_an_error() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for normalize in [true, false] {
                let output = Output::Pooled { dims: 2, values: vec![1.0, bad] };
                let result = pool(&output, &[1], &config("graph", normalize));
                assert!(matches!(result, Err(EmbedError::Inference(_))), "{bad}");
            }
        }
        assert!(matches!(unit(vec![0.0, -0.0]), Err(EmbedError::Inference(_))));
        let short = Output::Pooled { dims: 2, values: vec![1.0; 3] };
        assert!(pool(&short, &[1, 1], &config("graph", true)).is_err());
        assert!(pool(&tokens(), &[4, 1], &config("mean", true)).is_err());
        assert!(pool(&tokens(), &[0, 1], &config("last", true)).is_err());
    }

    #[test]
    fn huge_and_tiny_vectors_keep_their_direction() {
        for scale in [1e-38f32, 1e30, 3e38] {
            let vector = unit(vec![scale, -scale]).unwrap();
            assert!(
                (vector[0] - 0.5f32.sqrt()).abs() < 1e-6 && vector[1].to_bits() == (-vector[0]).to_bits(),
                "{scale}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_cut_is_a_unit_vector_in_the_same_direction(vector in proptest::collection::vec(-1f32..1.0, 8), dims in 1usize..9) {
            prop_assume!(vector[..dims].iter().any(|value| value.abs() > 1e-3));
            let short = cut(&vector, dims).unwrap();
            let length: f32 = short.iter().map(|value| value * value).sum();
            prop_assert!((length - 1.0).abs() < 1e-5);
            for pair in short.iter().zip(&vector) {
                prop_assert!(pair.0 * pair.1 >= 0.0);
            }
        }
    }
}
