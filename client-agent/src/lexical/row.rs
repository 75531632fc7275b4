//! Owns what the lexical index keeps of a chunk: its coordinates, as the cluster has them, and the names it declares.
//! Must not know the index.

use serde::{Deserialize, Serialize};

use sextant_proto::chunk::{ItemType, flags};
use sextant_proto::ids::{BlobId, TextHash};
use sextant_proto::search::Hit;

use crate::chunk::{ChunkedFile, Definition};
use crate::key::Keyring;

/// A chunk of this machine's checkout. Never sent anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Path from the root.
    pub path: String,
    /// Content of the file.
    pub blob: BlobId,
    /// Language of the file.
    pub language: String,
    /// First byte.
    pub start_byte: u32,
    /// Byte behind the last one.
    pub end_byte: u32,
    /// First line, from 1.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// Item type, as on the wire.
    pub item: u8,
    /// Flags, as on the wire.
    pub flags: u8,
    /// Keyed hash of the raw text.
    pub text_hash: TextHash,
    /// What the chunk declares.
    pub defines: Vec<Name>,
}

/// A declared name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// As written.
    pub name: String,
    /// Item type, as on the wire.
    pub item: u8,
    /// Whether another declaration stands around it.
    pub nested: bool,
}

impl Row {
    /// The chunk as a hit that the cluster might have named; without a score.
    pub fn hit(&self) -> Hit {
        Hit {
            score: 0,
            distance: 0,
            path: self.path.clone(),
            blob: self.blob,
            language: self.language.clone(),
            start_byte: self.start_byte,
            end_byte: self.end_byte,
            start_line: self.start_line,
            end_line: self.end_line,
            item: self.item,
            flags: self.flags,
            text_hash: self.text_hash,
            more: 0,
        }
    }
}

/// Rows of a file, in order, each with its text.
pub(super) fn rows<'a>(
    path: &str,
    bytes: &'a [u8],
    blob: BlobId,
    chunked: &ChunkedFile,
    keyring: &Keyring,
) -> Vec<(Row, std::borrow::Cow<'a, str>)> {
    let name = |defined: &Definition| Name {
        name: defined.name.clone(),
        item: wire(defined.item),
        nested: defined.depth > 0,
    };
    chunked
        .chunks
        .iter()
        .map(|chunk| {
            let raw = bytes.get(chunk.start_byte as usize..chunk.end_byte as usize).unwrap_or_default();
            let row = Row {
                path: path.to_owned(),
                blob,
                language: chunked.language.as_str().to_owned(),
                start_byte: chunk.start_byte,
                end_byte: chunk.end_byte,
                start_line: chunk.start_line,
                end_line: chunk.end_line,
                item: wire(chunk.item),
                flags: if chunk.is_test { flags::TEST } else { 0 },
                text_hash: keyring.text(raw),
                defines: chunk.defines.iter().map(name).collect(),
            };
            (row, String::from_utf8_lossy(raw))
        })
        .collect()
}

fn wire(item: ItemType) -> u8 {
    item as u8
}
