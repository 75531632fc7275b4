//! Texts to token ids, never more than the model reads, at a bounded cost whatever the text is.
//!
//! A text is cut by bytes before the tokenizer sees it: a normaliser and a pre-tokenizer walk the whole of what they
//! are given, so megabytes of one word or of joined emoji would otherwise cost seconds to fill a few hundred tokens.

use std::path::Path;

use tokenizers::{Tokenizer, TruncationParams};

use crate::config::ModelConfig;
use crate::error::EmbedError;

/// Bytes looked at for every token that the model reads. Source code has 3 to 4 bytes a token; deep indentation and
/// long words stay far below this too.
const CAP_BYTES_PER_TOKEN: usize = 64;

/// Token ids of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// At least one, at most the model's limit.
    pub ids: Vec<u32>,
    /// Whether the text was longer than the model reads.
    pub truncated: bool,
}

/// A model's tokenizer with its limit.
#[derive(Debug)]
pub struct TextTokenizer {
    kind: Kind,
    max_tokens: usize,
    pad_id: u32,
}

#[derive(Debug)]
enum Kind {
    Trained(Box<Tokenizer>),
    Words,
}

impl TextTokenizer {
    /// Opens the tokenizer that `config` names.
    pub fn open(config: &ModelConfig) -> Result<Self, EmbedError> {
        let bytes = std::fs::read(&config.tokenizer)
            .map_err(|source| EmbedError::Read { file: config.tokenizer.clone(), source })?;
        Self::from_bytes(&bytes, config.max_tokens, &config.tokenizer)
    }

    fn from_bytes(bytes: &[u8], max_tokens: usize, file: &Path) -> Result<Self, EmbedError> {
        let refuse = |error: tokenizers::Error| EmbedError::config(file, error.to_string());
        let mut inner = Tokenizer::from_bytes(bytes).map_err(refuse)?;
        let pad_id = inner.get_padding().map_or(0, |padding| padding.pad_id);
        // Padding belongs to the batch; a fixed length in the file would make every text as long as that.
        inner.with_padding(None);
        inner
            .with_truncation(Some(TruncationParams { max_length: max_tokens, ..TruncationParams::default() }))
            .map_err(refuse)?;
        // A source text that spells a special token is text, not an instruction to the model.
        inner.set_encode_special_tokens(true);
        Ok(Self { kind: Kind::Trained(Box::new(inner)), max_tokens, pad_id })
    }

    /// A tokenizer without files: lower-case words and parts of identifiers, by their hash. For the fake backend.
    pub fn words(max_tokens: usize) -> Self {
        Self { kind: Kind::Words, max_tokens, pad_id: 0 }
    }

    /// The id that fills the shorter rows of a batch.
    pub fn pad_id(&self) -> u32 {
        self.pad_id
    }

    /// Ids of `prefix` and `text`. `at` is the text's place in its request, for the error. Cost: bounded by the model's
    /// token limit, whatever the length of `text`.
    pub fn encode(&self, prefix: &str, text: &str, at: usize) -> Result<Encoded, EmbedError> {
        let cap_bytes = self.max_tokens.saturating_mul(CAP_BYTES_PER_TOKEN);
        let head = &text[..text.floor_char_boundary(cap_bytes)];
        let cut_early = head.len() < text.len();
        let mut encoded = match &self.kind {
            Kind::Words => words(prefix, head, self.max_tokens),
            Kind::Trained(tokenizer) => {
                let input = if prefix.is_empty() { head.to_owned() } else { format!("{prefix}{head}") };
                let encoding = tokenizer
                    .encode_fast(input, true)
                    .map_err(|error| EmbedError::Tokenize { at, reason: error.to_string() })?;
                let truncated = !encoding.get_overflowing().is_empty();
                Encoded { ids: encoding.get_ids().to_vec(), truncated }
            }
        };
        encoded.truncated |= cut_early;
        if encoded.ids.is_empty() {
            // A model without special tokens has none for an empty text, and a graph cannot run on no token.
            encoded.ids.push(self.pad_id);
        }
        Ok(encoded)
    }
}

fn words(prefix: &str, text: &str, max_tokens: usize) -> Encoded {
    let mut ids = Vec::new();
    for part in [prefix, text] {
        let mut word = String::new();
        let mut lower_before = false;
        for symbol in part.chars().chain([' ']) {
            let ends = !symbol.is_alphanumeric() || (symbol.is_uppercase() && lower_before);
            if ends && !word.is_empty() {
                if ids.len() == max_tokens {
                    return Encoded { ids, truncated: true };
                }
                ids.push(word_id(&word));
                word.clear();
            }
            if symbol.is_alphanumeric() {
                word.extend(symbol.to_lowercase());
            }
            lower_before = symbol.is_lowercase();
        }
    }
    Encoded { ids, truncated: false }
}

fn word_id(word: &str) -> u32 {
    let hash = blake3::hash(word.as_bytes());
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_split_identifiers_and_ignore_case() {
        let tokenizer = TextTokenizer::words(16);
        let ids = |text: &str| tokenizer.encode("", text, 0).unwrap().ids;
        assert_eq!(ids("getUserName"), ids("get user_name"));
        assert_ne!(ids("user name"), ids("name user"));
        assert_eq!(ids(""), vec![0]);
    }

    #[test]
    fn the_cut_is_told() {
        let tokenizer = TextTokenizer::words(3);
        assert!(!tokenizer.encode("", "a b c", 0).unwrap().truncated);
        let cut = tokenizer.encode("p ", "a b c", 0).unwrap();
        assert_eq!((cut.ids.len(), cut.truncated), (3, true));
        let early = tokenizer.encode("", &"é".repeat(1000), 0).unwrap();
        assert_eq!((early.ids.len(), early.truncated), (1, true));
    }

    #[test]
    fn a_damaged_tokenizer_is_named() {
        let error = TextTokenizer::from_bytes(b"{}", 16, Path::new("t.json")).unwrap_err().to_string();
        assert!(error.starts_with("t.json"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_gives_one_to_max_tokens(prefix in "\\PC{0,20}", text in any::<String>(), max in 1usize..50) {
            let encoded = TextTokenizer::words(max).encode(&prefix, &text, 0).unwrap();
            prop_assert!((1..=max).contains(&encoded.ids.len()));
        }
    }
}
