//! A model's `model.toml`: raw text → checked [`ModelConfig`]. Dimensions, pooling, prefixes and limits are
//! configuration, so that a new model needs no code. Opens no model and knows no runtime.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sextant_proto::embed::Lane;

use crate::error::EmbedError;

/// Name of the file in a model's folder.
pub const MODEL_FILE: &str = "model.toml";
/// Most dimensions of a model's output.
const MAX_DIMS: usize = 8192;
/// Fewest and most tokens that a model may read of a text.
const TOKEN_LIMITS: std::ops::RangeInclusive<usize> = 8..=32_768;
/// Longest prefix, bytes.
const MAX_PREFIX_BYTES: usize = 1024;

/// How a text's token vectors become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// Mean over the text's tokens.
    Mean,
    /// The last token.
    Last,
    /// The first token.
    Cls,
    /// The graph pools itself; its output is one vector a text.
    Graph,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModelConfig {
    name: String,
    dims: usize,
    max_tokens: usize,
    pooling: Pooling,
    #[serde(default = "yes")]
    normalize: bool,
    #[serde(default)]
    query_prefix: String,
    #[serde(default)]
    document_prefix: String,
    #[serde(default)]
    matryoshka: Vec<usize>,
    license: String,
    onnx: String,
    tokenizer: String,
}

fn yes() -> bool {
    true
}

/// A model as its folder describes it, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelConfig {
    /// Name for people.
    pub name: String,
    /// Dimensions of the output.
    pub dims: usize,
    /// Tokens read of a text, special tokens included.
    pub max_tokens: usize,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Whether the output is scaled to unit length.
    pub normalize: bool,
    /// Put before the texts of [`Lane::Query`].
    pub query_prefix: String,
    /// Put before the texts of [`Lane::Index`].
    pub document_prefix: String,
    /// Shorter lengths that the model was trained to be cut to, falling.
    pub matryoshka: Vec<usize>,
    /// SPDX identifier of the model's licence.
    pub license: String,
    /// The graph.
    pub onnx: PathBuf,
    /// The tokenizer.
    pub tokenizer: PathBuf,
}

impl ModelConfig {
    /// Reads `model.toml` of `folder`.
    pub fn load(folder: &Path) -> Result<Self, EmbedError> {
        let file = folder.join(MODEL_FILE);
        let text = std::fs::read_to_string(&file)
            .map_err(|source| EmbedError::Read { file: file.clone(), source })?;
        Self::parse(&text, folder)
    }

    /// Checks the text of a `model.toml` that lies in `folder`.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, EmbedError> {
        let file = folder.join(MODEL_FILE);
        let raw: RawModelConfig =
            toml::from_str(text).map_err(|error| EmbedError::config(&file, error.message()))?;
        let refuse = |reason: String| Err(EmbedError::config(&file, reason));
        if raw.name.trim().is_empty() || raw.license.trim().is_empty() {
            return refuse("`name` and `license` must not be empty".into());
        }
        if !(1..=MAX_DIMS).contains(&raw.dims) {
            return refuse(format!("`dims` is {}; allowed are 1 to {MAX_DIMS}", raw.dims));
        }
        if !TOKEN_LIMITS.contains(&raw.max_tokens) {
            return refuse(format!(
                "`max_tokens` is {}; allowed are {} to {}",
                raw.max_tokens,
                TOKEN_LIMITS.start(),
                TOKEN_LIMITS.end()
            ));
        }
        for (key, prefix) in [("query_prefix", &raw.query_prefix), ("document_prefix", &raw.document_prefix)]
        {
            if prefix.len() > MAX_PREFIX_BYTES {
                return refuse(format!("`{key}` is longer than {MAX_PREFIX_BYTES} bytes"));
            }
        }
        let falls = raw.matryoshka.iter().zip(raw.matryoshka.iter().skip(1)).all(|(a, b)| a > b);
        if !falls || raw.matryoshka.iter().any(|cut| *cut == 0 || *cut >= raw.dims) {
            return refuse(format!("`matryoshka` must fall and stay between 1 and {}", raw.dims - 1));
        }
        let within = |key: &str, name: &str| {
            if Path::new(name).file_name().is_some_and(|own| own == name) {
                Ok(folder.join(name))
            } else {
                let reason = format!("`{key}` must name a file in the same folder; got {name:?}");
                Err(EmbedError::config(&file, reason))
            }
        };
        Ok(Self {
            onnx: within("onnx", &raw.onnx)?,
            tokenizer: within("tokenizer", &raw.tokenizer)?,
            name: raw.name,
            dims: raw.dims,
            max_tokens: raw.max_tokens,
            pooling: raw.pooling,
            normalize: raw.normalize,
            query_prefix: raw.query_prefix,
            document_prefix: raw.document_prefix,
            matryoshka: raw.matryoshka,
            license: raw.license,
        })
    }

    /// What the model wants before a text of `lane`.
    pub fn prefix(&self, lane: Lane) -> &str {
        match lane {
            Lane::Index => &self.document_prefix,
            Lane::Query => &self.query_prefix,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = 'm'\ndims = 384\nmax_tokens = 256\npooling = 'mean'\nlicense = 'MIT'\n\
                        onnx = 'model.onnx'\ntokenizer = 'tokenizer.json'\n";

    fn parse(text: &str) -> Result<ModelConfig, String> {
        ModelConfig::parse(text, Path::new("folder")).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_out_has_a_plain_default() {
        let config = parse(GOOD).unwrap();
        assert!(config.normalize);
        assert_eq!((config.query_prefix.as_str(), config.matryoshka.len()), ("", 0));
        assert_eq!(config.onnx, Path::new("folder/model.onnx"));
    }

    #[test]
    fn each_broken_rule_is_refused_and_named() {
        for (change, word) in [
            ("surprise = 1", "surprise"),
            ("matryoshka = [384]", "matryoshka"),
            ("matryoshka = [64, 128]", "matryoshka"),
            ("normalize = 'maybe'", "boolean"),
        ] {
            let error = parse(&format!("{GOOD}{change}\n")).unwrap_err();
            assert!(error.contains(word) && error.contains("model.toml"), "{change}: {error}");
        }
        for (from, to, word) in [
            ("dims = 384", "dims = 0", "dims"),
            ("dims = 384", "dims = 9000", "dims"),
            ("max_tokens = 256", "max_tokens = 1000000", "max_tokens"),
            ("'mean'", "'median'", "median"),
            ("'MIT'", "' '", "license"),
            ("model.onnx", "../model.onnx", "onnx"),
            ("tokenizer.json", "/etc/passwd", "tokenizer"),
            ("tokenizer.json", "..", "tokenizer"),
            ("name = 'm'", "", "name"),
        ] {
            let error = parse(&GOOD.replace(from, to)).unwrap_err();
            assert!(error.contains(word), "{to}: {error}");
        }
    }
}
