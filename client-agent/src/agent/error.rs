//! Why a command fails: each a thing that its user can act on.

use std::path::{Path, PathBuf};

use sextant_proto::error::WireError;

use crate::data_dir::DataDirError;
use crate::manifest::ManifestError;
use crate::sync::SyncError;
use crate::walk::WalkError;

/// Bytes of a path that a message shows.
const SHOWN_PATH_BYTES: usize = 300;

/// Why a command fails.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The data folder.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// A path of the user's.
    #[error("{}: {source}; check the spelling", shown(path))]
    Path {
        /// As given.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A folder that holds far more than code.
    #[error(
        "{} holds everything of yours, not one project; name a folder in it, or say --force if you mean it",
        path.display()
    )]
    TooWide {
        /// The folder.
        path: PathBuf,
    },
    /// A question that is none.
    #[error("{0}")]
    Query(String),
    /// The nodes of this process.
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Embedded(#[from] crate::embedded::EmbeddedError),
    /// Certificates and keys.
    #[error(transparent)]
    Transport(#[from] sextant_transport::TransportError),
    /// The tree.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// The index.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// This machine's record.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The cluster.
    #[error("the cluster answered: {0}")]
    Cluster(#[from] WireError),
    /// A defect, or a machine out of memory.
    #[error("a background task failed: {0}")]
    Task(String),
}

/// A path as a message shows it: the middle of a very long one is left out.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.len() <= SHOWN_PATH_BYTES {
        return text.into_owned();
    }
    let head = text.floor_char_boundary(SHOWN_PATH_BYTES * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - SHOWN_PATH_BYTES / 3);
    format!("{} … {} ({} bytes)", &text[..head], &text[tail..], text.len())
}
