//! The lexical index of one tree: the same chunks as the cluster has, found by their words. It lies on this machine and
//! nothing of it is ever sent.
//!
//! It is derived from the checkout and the manifest alone: whatever is wrong with it is mended by making it again, so
//! damage is never an error of a command. Must not know vectors or the cluster.

mod gather;
mod row;
mod shelf;
mod store;
pub mod terms;
mod update;

use std::path::PathBuf;

pub use gather::{Gathered, Sought};
pub use row::{Name, Row};
pub use shelf::Shelf;
pub use store::Lexical;
pub use update::{Indexed, Source};

/// Why the lexical index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LexicalError {
    /// The folder cannot be made, read or written.
    #[error(
        "{path}: the lexical index cannot be used ({reason}); check the disk, or remove the folder: it is made again"
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The index fails while it is used.
    #[error("the lexical index: {0}; remove client/lexical in the data folder: it is made again")]
    Index(#[from] tantivy::TantivyError),
    /// The record of files fails.
    #[error(
        "the record of the lexical index: {0}; remove client/lexical in the data folder: it is made again"
    )]
    Record(String),
}
