//! What can go wrong in an embed-node, and how it looks on the wire. Messages never hold a text that was embedded.

use std::path::{Path, PathBuf};

use sextant_proto::error::{ErrorCode, WireError};

/// Failures of the embed-node.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// A file of a model or the runtime cannot be read.
    #[error("{} cannot be read: {source}; deploy/setup.sh makes it, or name another place in the node's settings", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A configuration file breaks a rule.
    #[error("{}: {reason}", file.display())]
    Config {
        /// The file.
        file: PathBuf,
        /// The rule, and how to keep it.
        reason: String,
    },
    /// ONNX Runtime's library cannot be loaded.
    #[error(
        "ONNX Runtime could not be loaded from {}: {reason}; deploy/setup.sh makes the library, the setting `library` names it", file.display()
    )]
    Library {
        /// The library.
        file: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// The model's graph cannot be opened, or is not one that this node can run.
    #[error("the model {} cannot run on {device}: {reason}", file.display())]
    Model {
        /// The graph.
        file: PathBuf,
        /// Where it should run.
        device: String,
        /// What the runtime said, or what the graph lacks.
        reason: String,
    },
    /// A thread of the node could not be started.
    #[error("a session thread could not be started: {0}; lower the setting `sessions`")]
    Thread(std::io::Error),
    /// The tokenizer refused a text.
    #[error("the tokenizer could not read text {at} of the request: {reason}")]
    Tokenize {
        /// Position of the text in its request.
        at: usize,
        /// What the tokenizer said.
        reason: String,
    },
    /// A run failed, or its output is no vector.
    #[error("the model gave no vector: {0}")]
    Inference(String),
    /// The model cannot make the code that was asked for.
    #[error("{0}")]
    Code(String),
}

impl EmbedError {
    /// A broken rule of `file`.
    pub(crate) fn config(file: &Path, reason: impl Into<String>) -> Self {
        Self::Config { file: file.to_owned(), reason: reason.into() }
    }
}

impl From<EmbedError> for WireError {
    fn from(error: EmbedError) -> Self {
        let code = match &error {
            EmbedError::Tokenize { .. } | EmbedError::Code(_) => ErrorCode::BadRequest,
            EmbedError::Inference(_) => ErrorCode::Inference,
            EmbedError::Read { .. }
            | EmbedError::Config { .. }
            | EmbedError::Library { .. }
            | EmbedError::Model { .. }
            | EmbedError::Thread(_) => ErrorCode::Internal,
        };
        Self::new(code, error.to_string())
    }
}
