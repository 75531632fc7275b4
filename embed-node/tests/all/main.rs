//! Tests of the embed-node from outside: requests in, codes out.

// Helpers of tests fail as tests do.
#![allow(clippy::unwrap_used)]

mod bombs;
mod model;
mod nodes;
mod prefixes;
mod service;
mod wire;
