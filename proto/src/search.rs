//! What a search narrows down by, and what it finds.

use serde::{Deserialize, Serialize};

use crate::chunk::ItemType;
use crate::error::{ErrorCode, WireError};
use crate::ids::{BlobId, TextHash};
use crate::limits::{MAX_LIMIT, MAX_PATH_BYTES};

/// Conditions on hits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// Languages; empty: all.
    pub languages: Vec<String>,
    /// Only files in this folder or this very file; empty: all.
    pub path_prefix: String,
}

impl Filter {
    /// Checks the bounds.
    pub fn validate(&self) -> Result<(), WireError> {
        if self.languages.len() > 64 || self.path_prefix.len() > MAX_PATH_BYTES {
            return Err(WireError::new(ErrorCode::BadRequest, "the filter is over its limits"));
        }
        Ok(())
    }

    /// Whether a file passes.
    pub fn passes(&self, path: &str, language: &str) -> bool {
        let language_passes =
            self.languages.is_empty() || self.languages.iter().any(|wanted| wanted == language);
        let path_passes = self.path_prefix.is_empty()
            || path
                .strip_prefix(self.path_prefix.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        language_passes && path_passes
    }
}

/// Checks the number of hits asked for.
pub fn validate_limit(limit: u32) -> Result<(), WireError> {
    if (1..=MAX_LIMIT).contains(&limit) {
        Ok(())
    } else {
        Err(WireError::new(
            ErrorCode::BadRequest,
            format!("the number of hits must be 1 to {MAX_LIMIT}; got {limit}"),
        ))
    }
}

/// A place in code. Coordinates alone: the client makes the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Asymmetric score, comparable within one generation and query.
    pub score: i64,
    /// Hamming distance of the codes.
    pub distance: u32,
    /// Path within the collection.
    pub path: String,
    /// Content that the coordinates are of.
    pub blob: BlobId,
    /// Language of the file.
    pub language: String,
    /// First byte.
    pub start_byte: u32,
    /// Byte behind the last one.
    pub end_byte: u32,
    /// First line, from 1.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Item type as its frozen number.
    pub item: u8,
    /// See [`crate::chunk::flags`].
    pub flags: u8,
    /// Keyed hash of the chunk's bytes.
    pub text_hash: TextHash,
    /// Ranges of the same vector that were left out.
    #[serde(default)]
    pub more: u32,
}

impl Hit {
    /// What it is.
    pub fn item_type(&self) -> ItemType {
        ItemType::from_byte(self.item)
    }

    /// Order of an answer: score down, then path and range up, so that equal answers are equal everywhere.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        other
            .score
            .cmp(&self.score)
            .then_with(|| self.path.cmp(&other.path))
            .then_with(|| self.start_byte.cmp(&other.start_byte))
            .then_with(|| self.end_byte.cmp(&other.end_byte))
    }
}
