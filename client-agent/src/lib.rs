//! Client agent: walks a checkout, cuts it into chunks, publishes codes and coordinates, asks questions.

pub mod agent;
pub mod chunk;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod diff;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod key;
pub mod lexical;
pub mod manifest;
pub mod rank;
pub mod report;
pub mod search;
pub mod snippet;
pub mod sync;
pub mod tree;
pub mod walk;
