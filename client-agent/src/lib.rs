//! Client agent: walks a checkout, cuts it into chunks, publishes codes and coordinates, asks questions.

pub mod agent;
pub mod api;
pub mod chunk;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod daemon;
pub mod data_dir;
pub mod diff;
pub mod doctor;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod failpoint;
pub mod key;
pub mod lexical;
pub mod manifest;
pub mod mcp;
pub mod path_text;
pub mod rank;
pub mod report;
pub mod search;
pub mod snippet;
pub mod sync;
pub mod tree;
pub mod walk;
