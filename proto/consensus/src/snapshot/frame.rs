//! Owns the byte form of a snapshot's frames and rows. Does no input or output.
//!
//! The rows are one byte stream: key length u32, value length u32 (little-endian), key, value, and so on. Frames
//! cut that stream anywhere, so a row may be larger than a frame.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Payload of every frame but the last, bytes.
pub(crate) const FRAME_BYTES: usize = 512 << 10;

/// Largest key plus value that is taken in; checked before anything is allocated.
pub(crate) const ROW_LIMIT_BYTES: usize = 256 << 20;

const ROW_HEADER: usize = 8;

/// One piece of the row stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frame {
    /// Counts from 0.
    pub(crate) index: u64,
    /// blake3 of `index` (8 bytes, little-endian) and the payload.
    checksum: [u8; 32],
    #[serde(with = "payload")]
    pub(crate) payload: Bytes,
}

/// What the receiver must have when it has everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trailer {
    pub(crate) frames: u64,
    pub(crate) rows: u64,
    /// blake3 of the whole row stream.
    pub(crate) digest: [u8; 32],
}

impl Frame {
    pub(crate) fn new(index: u64, payload: Bytes) -> Self {
        Self { index, checksum: checksum(index, &payload), payload }
    }

    pub(crate) fn is_intact(&self) -> bool {
        checksum(self.index, &self.payload) == self.checksum
    }
}

fn checksum(index: u64, payload: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&index.to_le_bytes());
    hasher.update(payload);
    *hasher.finalize().as_bytes()
}

/// Appends one row to the stream. Lengths over 4 GiB cannot come out of RocksDB.
pub(crate) fn push_row(stream: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    stream.extend_from_slice(&(key.len() as u32).to_le_bytes());
    stream.extend_from_slice(&(value.len() as u32).to_le_bytes());
    stream.extend_from_slice(key);
    stream.extend_from_slice(value);
}

/// Puts rows together again from pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct RowDecoder {
    rest: Vec<u8>,
}

/// A row announces more bytes than [`ROW_LIMIT_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RowTooLarge(pub(crate) usize);

impl RowDecoder {
    /// Takes in one piece and visits every row that it completes.
    pub(crate) fn push(
        &mut self,
        piece: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), RowTooLarge> {
        self.rest.extend_from_slice(piece);
        let mut at = 0;
        while let Some((key_len, value_len)) = header(&self.rest[at..]) {
            let len = key_len.saturating_add(value_len);
            if len > ROW_LIMIT_BYTES {
                return Err(RowTooLarge(len));
            }
            let row = at + ROW_HEADER;
            let Some(bytes) = self.rest.get(row..row + len) else { break };
            let (key, value) = bytes.split_at(key_len);
            visit(key, value);
            at = row + len;
        }
        self.rest.drain(..at);
        Ok(())
    }

    /// Whether the stream may end here.
    pub(crate) fn is_complete(&self) -> bool {
        self.rest.is_empty()
    }
}

fn header(bytes: &[u8]) -> Option<(usize, usize)> {
    let key_len = u32::from_le_bytes(*bytes.first_chunk()?);
    let value_len = u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?);
    Some((key_len as usize, value_len as usize))
}

/// Raw bytes in MessagePack instead of a sequence of numbers.
mod payload {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::types::Command;

    pub(super) fn serialize<S: Serializer>(payload: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(payload)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        Command::deserialize(deserializer).map(|command| command.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..40);
        (bytes(), bytes())
    }

    proptest! {
        #[test]
        fn rows_survive_any_cut(rows in proptest::collection::vec(row(), 0..20), cut in 1..50_usize) {
            let mut stream = Vec::new();
            for (key, value) in &rows {
                push_row(&mut stream, key, value);
            }
            let mut decoder = RowDecoder::default();
            let mut back = Vec::new();
            for piece in stream.chunks(cut) {
                let pushed = decoder.push(piece, |key, value| back.push((key.to_vec(), value.to_vec())));
                prop_assert_eq!(pushed, Ok(()));
            }
            prop_assert!(decoder.is_complete());
            prop_assert_eq!(back, rows);
        }

        #[test]
        fn a_flipped_bit_is_seen(payload in proptest::collection::vec(any::<u8>(), 1..200), at: usize, bit in 0..8_u32) {
            let frame = Frame::new(7, Bytes::from(payload.clone()));
            prop_assert!(frame.is_intact());
            let mut damaged = payload;
            let at = at % damaged.len();
            damaged[at] ^= 1_u8 << bit;
            let moved = Frame { index: 8, ..frame.clone() };
            prop_assert!(!moved.is_intact());
            let damaged = Frame { payload: Bytes::from(damaged), ..frame };
            prop_assert!(!damaged.is_intact());
        }
    }

    #[test]
    fn a_monstrous_row_is_refused_before_allocation() {
        let mut decoder = RowDecoder::default();
        assert!(decoder.push(&[0xFF; 8], |_, _| ()).is_err());
    }
}
