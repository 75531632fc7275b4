//! Texts to vectors.

use serde::{Deserialize, Serialize};

use crate::code::CodeSpec;
use crate::error::{ErrorCode, WireError};
use crate::ids::ModelFingerprint;
use crate::limits::{MAX_EMBED_TEXT_BYTES, MAX_EMBED_TEXTS};
use crate::message::{Request, Route};

/// Who waits for the vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Throughput; the reply holds codes.
    Index,
    /// Latency; the reply holds rotated floats too. It never waits behind more than one batch of the other lane.
    Query,
}

/// Texts to be embedded. The node forgets them with the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedRequest {
    /// Who waits.
    pub lane: Lane,
    /// The model.
    pub model: ModelFingerprint,
    /// The code to make.
    pub code: CodeSpec,
    /// At most [`MAX_EMBED_TEXTS`], each at most [`MAX_EMBED_TEXT_BYTES`]; the node adds the model's prefix of the lane.
    pub texts: Vec<String>,
}

/// Vectors in the order of the texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbedReply {
    /// `code.width / 8` bytes a text.
    #[serde(with = "serde_bytes")]
    pub codes: Vec<u8>,
    /// For [`Lane::Query`]: `code.width` rotated little-endian `f32` a text, of unit length; else empty.
    #[serde(default, with = "serde_bytes")]
    pub floats: Vec<u8>,
    /// One byte a text: 1 where it was longer than the model reads.
    #[serde(default, with = "serde_bytes")]
    pub truncated: Vec<u8>,
    /// Tokens that went through the model.
    #[serde(default)]
    pub tokens: u64,
}

impl Request for EmbedRequest {
    const ROUTE: Route = Route::Embed;
    type Reply = EmbedReply;
}

impl EmbedRequest {
    /// Checks the bounds.
    pub fn validate(&self) -> Result<(), WireError> {
        if self.texts.is_empty() || self.texts.len() > MAX_EMBED_TEXTS {
            let message = format!(
                "an embed request holds {} texts; allowed are 1 to {MAX_EMBED_TEXTS}",
                self.texts.len()
            );
            return Err(WireError::new(ErrorCode::BadRequest, message));
        }
        if let Some(at) = self.texts.iter().position(|text| text.len() > MAX_EMBED_TEXT_BYTES) {
            let message =
                format!("text {at} of an embed request is longer than {MAX_EMBED_TEXT_BYTES} bytes");
            return Err(WireError::new(ErrorCode::TooLarge, message));
        }
        Ok(())
    }
}

impl EmbedReply {
    /// Code of text `at`.
    pub fn code(&self, at: usize, code: CodeSpec) -> Option<&[u8]> {
        let bytes = code.width.bytes();
        self.codes.get(at * bytes..(at + 1) * bytes)
    }

    /// Rotated floats of text `at`.
    pub fn rotated(&self, at: usize, code: CodeSpec) -> Option<Vec<f32>> {
        let bytes = code.width.bits() * 4;
        let slice = self.floats.get(at * bytes..(at + 1) * bytes)?;
        Some(slice.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word)).collect())
    }
}

/// Asks an embed-node for its models.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelsRequest {}

/// A model as clients need to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCard {
    /// Hash over everything that changes its output.
    pub fingerprint: ModelFingerprint,
    /// Name for people.
    pub name: String,
    /// Dimensions of its output.
    pub dims: u32,
    /// Tokens it reads of a text.
    pub max_tokens: u32,
    /// Texts that one session of the backend takes at a time; a client sends a few of these.
    pub batch: u32,
    /// Sessions that run side by side.
    pub sessions: u32,
}

/// The models of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelsReply {
    /// At least one.
    pub models: Vec<ModelCard>,
}

impl Request for ModelsRequest {
    const ROUTE: Route = Route::Models;
    type Reply = ModelsReply;
}
