//! Shard-node: stores 1-bit vectors and coordinates of the groups it carries, and scans them.
//!
//! It never sees source text or a question's words: what it stores is listed in `docs/security.md`.

pub mod arena;
pub mod scan;
