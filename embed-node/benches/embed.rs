//! Placeholder while the crate comes up.
fn main() {}
