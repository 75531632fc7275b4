//! Owns the way in which the fuzz targets reach the chunker: its module, compiled here without the rest of the client.
//! Must not hold code of its own.

#[path = "../../src/chunk/mod.rs"]
pub mod chunk;
