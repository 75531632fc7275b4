//! Coordinator: knows members, collections, slot maps and branches; routes writes, fans questions out, merges answers.
//!
//! It never sees source text or the words of a question; paths, codes and query vectors pass through it.

pub mod carrier;
pub mod ingest;
pub mod members;
pub mod meta;
pub mod node;
pub mod query;
pub mod service;
pub mod settings;
