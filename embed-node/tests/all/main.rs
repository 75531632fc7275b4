//! Tests of the embed-node from outside: requests in, codes out.

mod bombs;
mod model;
mod nodes;
mod prefixes;
mod service;
mod wire;
