//! Bounds of the protocol, in one place. A length is compared with its bound before anything is allocated.

/// Largest body of a frame on any route, bytes.
pub const MAX_FRAME_BYTES: u32 = 8 << 20;
/// Largest body of a publish or stage, bytes.
pub const MAX_PUBLISH_BYTES: u32 = 1 << 20;
/// Largest body of a request with a handful of small fields, bytes.
pub const MAX_SMALL_BYTES: u32 = 64 << 10;
/// Most texts in one embed request.
pub const MAX_EMBED_TEXTS: usize = 512;
/// Longest text in one embed request, bytes. What is longer is cut by the client, which says so.
pub const MAX_EMBED_TEXT_BYTES: usize = 256 << 10;
/// Longest path, bytes.
pub const MAX_PATH_BYTES: usize = 4096;
/// Most chunks of one file version.
pub const MAX_CHUNKS_PER_FILE: usize = 8192;
/// Longest metadata of a chunk, bytes.
pub const MAX_METADATA_BYTES: usize = 64;
/// Longest name of a collection, branch or principal, bytes.
pub const MAX_NAME_BYTES: usize = 512;
/// Most hits that one search may ask for.
pub const MAX_LIMIT: u32 = 10_000;
/// Most ranges that one vector expands to in an answer; the remainder is counted.
pub const MAX_RANGES_PER_VECTOR: usize = 16;
/// Code widths, bits: from, to, step.
pub const CODE_BITS: (u32, u32, u32) = (64, 8192, 64);
/// Most keys in one request for the known keys.
pub const MAX_KEYS: usize = 16_384;
