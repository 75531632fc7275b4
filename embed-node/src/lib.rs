//! embed-node: texts to vectors to codes.
//!
//! A request's texts live in memory until its reply and nowhere else: nothing here writes a file or logs a text. The
//! crate knows models, batches and codes; it must not know collections, paths, chunks, or who asks.

pub mod backend;
pub mod batch;
pub mod config;
pub mod encode;
pub mod engine;
pub mod error;
pub mod fingerprint;
mod pending;
pub mod pool;
pub mod queue;
pub mod service;
pub mod settings;
pub mod tokenizer;

pub use error::EmbedError;
pub use service::EmbedService;
pub use settings::NodeSettings;
