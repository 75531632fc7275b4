//! Shard-node: stores 1-bit vectors and coordinates of the groups it carries, and scans them.
//!
//! It never sees source text or a question's words: what it stores is listed in `docs/security.md`.

pub mod apply;
pub mod arena;
pub mod carrier;
pub mod node;
pub mod query;
pub mod scan;
pub mod service;
pub mod settings;
pub mod store;
