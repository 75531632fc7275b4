//! Bytes of a group's rows. Each begins with the version of its format; a row of a later version is refused, so an
//! older program never guesses.

use std::sync::Arc;

use roaring::RoaringBitmap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use sextant_proto::chunk::FileVersion;
use sextant_proto::code::Generation;
use sextant_proto::ids::{BlobId, ChunkerVersion, GenerationId, Sequence, TextHash};

/// Version that this program writes.
pub const FORMAT: u8 = 1;

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// Written by a later program.
    #[error(
        "a {what} row has format {found}; this program reads up to {FORMAT}: start the newer version again"
    )]
    Newer {
        /// Kind of row.
        what: &'static str,
        /// Its version.
        found: u8,
    },
    /// Not the bytes that were written.
    #[error(
        "a {what} row is damaged ({reason}): remove this replica's folder and let it be filled from the others"
    )]
    Damaged {
        /// Kind of row.
        what: &'static str,
        /// What did not fit.
        reason: String,
    },
}

/// What a collection counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CollectionRow {
    /// Number that the next file version gets; never given twice.
    pub next_file: u32,
}

/// What a generation is made with, and what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationRow {
    /// Model and code.
    pub made_with: Generation,
    /// Number that the next vector gets; never given twice.
    pub next_vector: u32,
}

/// A file version: its chunks as columns, each with the number of its vector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRow {
    /// Path from the collection's root.
    pub path: Box<str>,
    /// The content.
    pub blob: BlobId,
    /// The chunker.
    pub chunker: ChunkerVersion,
    /// Language name.
    pub language: Box<str>,
    /// Generation of the vectors.
    pub generation: GenerationId,
    /// Vectors, by ordinal.
    pub vectors: Vec<u32>,
    /// Keyed hashes of the chunks' bytes, 16 bytes each.
    #[serde(with = "serde_bytes")]
    pub text_hashes: Vec<u8>,
    /// First bytes.
    pub start_bytes: Vec<u32>,
    /// Bytes behind the last ones.
    pub end_bytes: Vec<u32>,
    /// First lines.
    pub start_lines: Vec<u32>,
    /// Last lines.
    pub end_lines: Vec<u32>,
    /// Item types.
    #[serde(with = "serde_bytes")]
    pub items: Vec<u8>,
    /// Flags.
    #[serde(with = "serde_bytes")]
    pub flags: Vec<u8>,
    /// Empty, or one entry a chunk.
    pub metadata: Vec<serde_bytes::ByteBuf>,
}

impl FileRow {
    /// The row of a file version whose chunks have these vectors.
    pub fn new(version: FileVersion, generation: GenerationId, vectors: Vec<u32>) -> Self {
        let FileVersion { path, blob, chunker, language, chunks } = version;
        Self {
            path: path.into(),
            blob,
            chunker,
            language: language.into(),
            generation,
            vectors,
            text_hashes: chunks.text_hashes,
            start_bytes: chunks.start_bytes,
            end_bytes: chunks.end_bytes,
            start_lines: chunks.start_lines,
            end_lines: chunks.end_lines,
            items: chunks.items,
            flags: chunks.flags,
            metadata: chunks.metadata,
        }
    }

    /// Keyed hash of a chunk's bytes.
    pub fn text_hash(&self, ordinal: usize) -> Option<TextHash> {
        self.text_hashes
            .get(ordinal * TextHash::LEN..(ordinal + 1) * TextHash::LEN)
            .and_then(TextHash::from_slice)
    }

    /// Whether every column has one entry a chunk.
    pub fn is_whole(&self) -> bool {
        let n = self.vectors.len();
        [self.start_bytes.len(), self.end_bytes.len(), self.start_lines.len(), self.end_lines.len()] == [n; 4]
            && [self.items.len(), self.flags.len(), self.text_hashes.len() / TextHash::LEN] == [n; 3]
    }
}

/// A view's file versions, now and before its last change.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewRow {
    /// Last publish of a workspace; 0 for a revision.
    pub sequence: Sequence,
    /// File versions in the view.
    pub files: Arc<RoaringBitmap>,
    /// The publish before, which stays readable until every group has acknowledged the last one.
    pub previous: Option<(Sequence, Arc<RoaringBitmap>)>,
    /// For a revision: hash of what it was sealed with; it can be read from then on.
    pub sealed: Option<[u8; 32]>,
}

#[derive(Serialize, Deserialize)]
struct ViewBytes {
    sequence: Sequence,
    #[serde(with = "serde_bytes")]
    files: Vec<u8>,
    previous: Option<(Sequence, serde_bytes::ByteBuf)>,
    sealed: Option<[u8; 32]>,
}

impl ViewRow {
    /// A view without files.
    pub fn empty() -> Self {
        Self { sequence: Sequence(0), files: Arc::default(), previous: None, sealed: None }
    }

    /// The row's bytes.
    pub fn encode(&self) -> Result<Vec<u8>, RowError> {
        let bytes = ViewBytes {
            sequence: self.sequence,
            files: bitmap_bytes(&self.files)?,
            previous: match &self.previous {
                Some((sequence, files)) => Some((*sequence, bitmap_bytes(files)?.into())),
                None => None,
            },
            sealed: self.sealed,
        };
        encode("view", &bytes)
    }

    /// The row of its bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, RowError> {
        let row: ViewBytes = decode("view", bytes)?;
        let previous = match row.previous {
            Some((sequence, files)) => Some((sequence, Arc::new(bitmap(&files)?))),
            None => None,
        };
        Ok(Self {
            sequence: row.sequence,
            files: Arc::new(bitmap(&row.files)?),
            previous,
            sealed: row.sealed,
        })
    }
}

fn bitmap_bytes(bitmap: &RoaringBitmap) -> Result<Vec<u8>, RowError> {
    let mut bytes = Vec::with_capacity(bitmap.serialized_size());
    bitmap
        .serialize_into(&mut bytes)
        .map_err(|error| RowError::Damaged { what: "view", reason: error.to_string() })?;
    Ok(bytes)
}

fn bitmap(bytes: &[u8]) -> Result<RoaringBitmap, RowError> {
    RoaringBitmap::deserialize_from(bytes)
        .map_err(|error| RowError::Damaged { what: "view", reason: error.to_string() })
}

/// Version, then MessagePack with field names.
pub fn encode<T: Serialize>(what: &'static str, row: &T) -> Result<Vec<u8>, RowError> {
    let mut bytes = vec![FORMAT];
    rmp_serde::encode::write_named(&mut bytes, row)
        .map_err(|error| RowError::Damaged { what, reason: error.to_string() })?;
    Ok(bytes)
}

/// The row of its bytes.
pub fn decode<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T, RowError> {
    match bytes.split_first() {
        Some((&FORMAT, rest)) => {
            rmp_serde::from_slice(rest).map_err(|error| RowError::Damaged { what, reason: error.to_string() })
        }
        Some((&found, _)) if found > FORMAT => Err(RowError::Newer { what, found }),
        _ => Err(RowError::Damaged { what, reason: "no format version".into() }),
    }
}

/// The number of a 4-byte row.
pub fn number(what: &'static str, bytes: &[u8]) -> Result<u32, RowError> {
    bytes.try_into().map(u32::from_be_bytes).map_err(|_| RowError::Damaged {
        what,
        reason: format!("{} bytes where a number has 4", bytes.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_survives_the_trip_through_bytes() {
        let row = ViewRow {
            sequence: Sequence(4),
            files: Arc::new([1, 5, 70_000].into_iter().collect()),
            previous: Some((Sequence(3), Arc::new([1].into_iter().collect()))),
            sealed: Some([7; 32]),
        };
        assert_eq!(ViewRow::decode(&row.encode().unwrap()), Ok(row));
    }

    #[test]
    fn a_row_of_a_later_format_is_refused_by_name() {
        let error = decode::<CollectionRow>("collection", &[FORMAT + 1, 0]).unwrap_err();
        assert_eq!(error, RowError::Newer { what: "collection", found: FORMAT + 1 });
        for damaged in [&[][..], &[0], &[FORMAT], &[FORMAT, 0xc1]] {
            assert!(matches!(decode::<CollectionRow>("collection", damaged), Err(RowError::Damaged { .. })));
        }
    }
}
