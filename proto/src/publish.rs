//! What clients write: vectors as columns, entries of a view.

use serde::{Deserialize, Serialize};

use crate::chunk::{FileVersion, validate_path};
use crate::code::CodeWidth;
use crate::error::{ErrorCode, WireError};
use crate::ids::{ChunkKey, GenerationId};
use crate::slot::{Slot, slot_of};

/// Vectors as columns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct VectorColumns {
    /// 32 bytes a vector.
    #[serde(with = "serde_bytes")]
    pub keys: Vec<u8>,
    /// The collection's code width, in bytes, a vector.
    #[serde(with = "serde_bytes")]
    pub codes: Vec<u8>,
    /// Slot of the file that needs it, one a vector: a coordinator sends the vector to that slot's group.
    pub slots: Vec<Slot>,
}

impl VectorColumns {
    /// Adds a vector that a file of `slot` needs.
    pub fn push(&mut self, key: ChunkKey, code: &[u8], slot: Slot) {
        self.slots.push(slot);
        self.keys.extend_from_slice(&key.0);
        self.codes.extend_from_slice(code);
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.keys.len() / ChunkKey::LEN
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Checks the lengths against a width.
    pub fn validate(&self, width: CodeWidth) -> Result<(), WireError> {
        let whole =
            self.keys.len().is_multiple_of(ChunkKey::LEN) && self.codes.len() == self.len() * width.bytes();
        if whole {
            Ok(())
        } else {
            Err(WireError::new(ErrorCode::BadRequest, "vector columns differ in length"))
        }
    }

    /// The vectors, in order. Call [`Self::validate`] before.
    pub fn iter(&self, width: CodeWidth) -> impl Iterator<Item = (ChunkKey, &[u8])> {
        self.keys
            .as_chunks::<32>()
            .0
            .iter()
            .map(|key| ChunkKey(*key))
            .zip(self.codes.chunks_exact(width.bytes()))
    }
}

/// One change of a view: a path gets a file version, or none (masked).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
// Most entries are `Put`; a box would cost them an allocation to make the rare masks smaller.
#[allow(clippy::large_enum_variant)]
pub enum Entry {
    /// The path holds this.
    Put(FileVersion),
    /// The path is not in the view.
    Mask(String),
}

impl Entry {
    /// The path.
    pub fn path(&self) -> &str {
        match self {
            Self::Put(version) => &version.path,
            Self::Mask(path) => path,
        }
    }

    /// The slot of the path.
    pub fn slot(&self) -> Slot {
        slot_of(self.path())
    }

    /// Checks path and chunks.
    pub fn validate(&self) -> Result<(), WireError> {
        match self {
            Self::Put(version) => version.validate(),
            Self::Mask(path) => validate_path(path),
        }
    }
}

/// A batch of vectors and entries of one generation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Batch {
    /// Generation of the vectors.
    pub generation: GenerationId,
    /// New vectors; they may be ahead of the entries that need them.
    pub vectors: VectorColumns,
    /// Changes; the last of a path wins.
    pub entries: Vec<Entry>,
}

impl Batch {
    /// Checks vectors and entries.
    pub fn validate(&self, width: CodeWidth) -> Result<(), WireError> {
        self.vectors.validate(width)?;
        self.entries.iter().try_for_each(Entry::validate)
    }
}
