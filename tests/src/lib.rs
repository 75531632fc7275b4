//! What the tests of the whole share: the repository's own rules as checks.

pub mod eval;
pub mod tidy;
