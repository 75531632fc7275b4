//! Data that crosses the wire or names what is stored: ids, coordinates, codes, requests, replies, error codes, framing.
//!
//! Nothing here does input or output: no tokio, quinn, openraft or RocksDB. The byte formats are frozen by golden
//! tests in `tests/golden.rs`; a change to one of them is a change of the protocol version.

pub mod access;
pub mod chunk;
pub mod code;
pub mod coordinator;
pub mod coverage;
pub mod embed;
pub mod error;
pub mod frame;
pub mod handshake;
pub mod ids;
pub mod limits;
pub mod message;
pub mod publish;
pub mod raft;
pub mod search;
pub mod shard;
pub mod slot;
pub mod view;
