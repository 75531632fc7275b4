//! Chunks and file versions: coordinates of code, never its text.

use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, WireError};
use crate::ids::{BlobId, ChunkKey, ChunkerVersion, TextHash};
use crate::limits::{MAX_CHUNKS_PER_FILE, MAX_METADATA_BYTES, MAX_PATH_BYTES};

/// What a chunk is. The numbers are frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ItemType {
    /// A free function.
    Function = 1,
    /// A function of a type.
    Method = 2,
    /// A class, struct, record, object or implementation block.
    Class = 3,
    /// An interface or trait.
    Interface = 4,
    /// An enumeration.
    Enum = 5,
    /// A field, property, constant or variable.
    Field = 6,
    /// Imports, includes, package lines.
    Import = 7,
    /// Documentation or a comment that stands alone.
    Doc = 8,
    /// Test code.
    Test = 9,
    /// Configuration.
    Config = 10,
    /// A part of a file that has no declaration of its own, or several.
    Section = 11,
    /// Lines of a file that was not parsed.
    Window = 12,
}

impl ItemType {
    /// Every item type.
    pub const ALL: [Self; 12] = [
        Self::Function,
        Self::Method,
        Self::Class,
        Self::Interface,
        Self::Enum,
        Self::Field,
        Self::Import,
        Self::Doc,
        Self::Test,
        Self::Config,
        Self::Section,
        Self::Window,
    ];

    /// The name shown to people and tools.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "class",
            Self::Interface => "interface",
            Self::Enum => "enum",
            Self::Field => "field",
            Self::Import => "import",
            Self::Doc => "doc",
            Self::Test => "test",
            Self::Config => "config",
            Self::Section => "section",
            Self::Window => "window",
        }
    }

    /// The item type of a byte; a number of a later version reads as [`Self::Section`].
    pub fn from_byte(byte: u8) -> Self {
        Self::ALL.into_iter().find(|item| *item as u8 == byte).unwrap_or(Self::Section)
    }
}

/// Flags of a chunk.
pub mod flags {
    /// Test code.
    pub const TEST: u8 = 1;
    /// Generated code.
    pub const GENERATED: u8 = 2;
}

/// One chunk of a file: where it is and which vector stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRecord {
    /// Identity of the vector.
    pub key: ChunkKey,
    /// Keyed hash of the raw bytes.
    pub text_hash: TextHash,
    /// First byte in the file.
    pub start_byte: u32,
    /// Byte behind the last one.
    pub end_byte: u32,
    /// First line, from 1.
    pub start_line: u32,
    /// Last line, from 1, inclusive.
    pub end_line: u32,
    /// What it is.
    pub item: ItemType,
    /// See [`flags`].
    pub flags: u8,
    /// At most [`MAX_METADATA_BYTES`]; empty where unused.
    pub metadata: Vec<u8>,
}

/// A file version's chunks as columns, in the order of their ordinals.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ChunkColumns {
    /// 32 bytes a chunk.
    #[serde(with = "serde_bytes")]
    pub keys: Vec<u8>,
    /// 16 bytes a chunk.
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
    /// One byte a chunk.
    #[serde(with = "serde_bytes")]
    pub items: Vec<u8>,
    /// One byte a chunk.
    #[serde(with = "serde_bytes")]
    pub flags: Vec<u8>,
    /// Empty, or one entry a chunk.
    pub metadata: Vec<serde_bytes::ByteBuf>,
}

impl ChunkColumns {
    /// Columns of `records`.
    pub fn from_records(records: &[ChunkRecord]) -> Self {
        let mut columns = Self::default();
        let any_metadata = records.iter().any(|record| !record.metadata.is_empty());
        for record in records {
            columns.keys.extend_from_slice(&record.key.0);
            columns.text_hashes.extend_from_slice(&record.text_hash.0);
            columns.start_bytes.push(record.start_byte);
            columns.end_bytes.push(record.end_byte);
            columns.start_lines.push(record.start_line);
            columns.end_lines.push(record.end_line);
            columns.items.push(record.item as u8);
            columns.flags.push(record.flags);
            if any_metadata {
                columns.metadata.push(serde_bytes::ByteBuf::from(record.metadata.clone()));
            }
        }
        columns
    }

    /// Number of chunks that the line column has; [`Self::validate`] shows whether the others agree.
    pub fn len(&self) -> usize {
        self.start_bytes.len()
    }

    /// Whether there is no chunk.
    pub fn is_empty(&self) -> bool {
        self.start_bytes.is_empty()
    }

    /// Checks lengths, ranges and bounds.
    pub fn validate(&self) -> Result<(), WireError> {
        let n = self.len();
        let bad = |what: &str| Err(WireError::new(ErrorCode::BadRequest, format!("chunk columns: {what}")));
        if n > MAX_CHUNKS_PER_FILE {
            return bad("a file version has too many chunks");
        }
        let equal = [
            self.end_bytes.len(),
            self.start_lines.len(),
            self.end_lines.len(),
            self.items.len(),
            self.flags.len(),
        ]
        .into_iter()
        .all(|len| len == n)
            && self.keys.len() == n * ChunkKey::LEN
            && self.text_hashes.len() == n * TextHash::LEN
            && (self.metadata.is_empty() || self.metadata.len() == n);
        if !equal {
            return bad("the columns differ in length");
        }
        if (0..n).any(|i| self.start_bytes[i] > self.end_bytes[i] || self.start_lines[i] > self.end_lines[i])
        {
            return bad("a range ends before it starts");
        }
        if self.metadata.iter().any(|metadata| metadata.len() > MAX_METADATA_BYTES) {
            return bad("a metadata field is too long");
        }
        Ok(())
    }

    /// The rows, after a check.
    pub fn records(&self) -> Result<Vec<ChunkRecord>, WireError> {
        self.validate()?;
        let keys = self.keys.as_chunks::<32>().0;
        let hashes = self.text_hashes.as_chunks::<16>().0;
        Ok((0..self.len())
            .map(|i| ChunkRecord {
                key: ChunkKey(keys[i]),
                text_hash: TextHash(hashes[i]),
                start_byte: self.start_bytes[i],
                end_byte: self.end_bytes[i],
                start_line: self.start_lines[i],
                end_line: self.end_lines[i],
                item: ItemType::from_byte(self.items[i]),
                flags: self.flags[i],
                metadata: self.metadata.get(i).map(|bytes| bytes.to_vec()).unwrap_or_default(),
            })
            .collect())
    }
}

/// An immutable version of one file: what its content was and where its chunks are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// Path from the collection's root, `/` between its parts.
    pub path: String,
    /// The content.
    pub blob: BlobId,
    /// The chunker.
    pub chunker: ChunkerVersion,
    /// Language name, such as `rust` or `text`.
    pub language: String,
    /// The chunks.
    pub chunks: ChunkColumns,
}

impl FileVersion {
    /// Checks path and chunks.
    pub fn validate(&self) -> Result<(), WireError> {
        validate_path(&self.path)?;
        if self.language.len() > 32 {
            return Err(WireError::new(ErrorCode::BadRequest, "a language name has more than 32 bytes"));
        }
        self.chunks.validate()
    }
}

/// Checks that a path is relative, in parts, and within bounds.
pub fn validate_path(path: &str) -> Result<(), WireError> {
    let bad = path.is_empty()
        || path.len() > MAX_PATH_BYTES
        || path.contains('\0')
        || path.split('/').any(|part| part.is_empty() || part == "." || part == "..");
    if bad {
        return Err(WireError::new(
            ErrorCode::BadRequest,
            "a path must be relative, without empty, `.` or `..` parts",
        ));
    }
    Ok(())
}
