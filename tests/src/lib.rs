//! What the tests of the whole share: the repository's own rules as checks.

pub mod bench_daemon;
pub mod eval;
pub mod tidy;
