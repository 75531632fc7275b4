//! What this machine knows of the trees it has published: a redb file under the data folder.
//!
//! A publish is written here before it is sent (`pending`), with the file states that it makes true. After a crash it
//! is sent again; its sequence makes that harmless. So manifest and cluster never disagree for longer than a restart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use sextant_proto::coordinator::Publish;
use sextant_proto::ids::{
    BlobId, ChunkerVersion, CollectionId, GenerationId, RevisionId, Sequence, WorkspaceId,
};
use sextant_proto::view::SessionToken;

use crate::walk::FileStat;

/// Version of the rows.
const FORMAT: u32 = 1;

const FORMATS: TableDefinition<'_, &str, u32> = TableDefinition::new("format");
const TREES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("trees");
const FILES: TableDefinition<'_, (&[u8], &str), &[u8]> = TableDefinition::new("files");
const PENDING: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("pending");

/// Why the manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be opened.
    #[error("{path}: the manifest cannot be opened ({reason}); remove the file to index again from scratch")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Written by a later program.
    #[error(
        "{path}: the manifest has format {found}, this program reads {FORMAT}; start the newer version again"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A read or write failed.
    #[error("the manifest: {0}; check the disk")]
    Storage(String),
    /// A row does not decode.
    #[error(
        "a row of the manifest is damaged ({0}); remove client/manifest.redb in the data folder to index again"
    )]
    Damaged(String),
}

fn storage(error: impl Into<redb::Error>) -> ManifestError {
    ManifestError::Storage(error.into().to_string())
}

/// What a tree's files were when they were published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRow {
    /// Name of the collection.
    pub collection: String,
    /// Its id.
    pub collection_id: CollectionId,
    /// Generation of the vectors.
    pub generation: GenerationId,
    /// Chunker of the files.
    pub chunker: ChunkerVersion,
    /// Settings of the walk and the chunker that decide what is published.
    pub settings: String,
    /// The checkout's identity.
    pub workspace: WorkspaceId,
    /// Last publish that was acknowledged.
    pub sequence: Sequence,
    /// What a read must see.
    pub session: SessionToken,
    /// The state after the last complete index.
    pub revision: Option<RevisionId>,
}

/// A file as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileState {
    /// Its stat.
    #[serde(with = "stat_fields")]
    pub stat: FileStat,
    /// When it was recorded, nanoseconds since the epoch.
    pub recorded_ns: i64,
    /// Its content; `None` for a file whose content is left out.
    pub blob: Option<BlobId>,
    /// Its chunks.
    pub chunks: u32,
    /// Why its content is left out, for people.
    pub skipped: Option<String>,
}

mod stat_fields {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::walk::FileStat;

    pub(super) fn serialize<S: Serializer>(stat: &FileStat, serializer: S) -> Result<S::Ok, S::Error> {
        (stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode, stat.device).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FileStat, D::Error> {
        let (size, mtime_ns, ctime_ns, inode, device) = Deserialize::deserialize(deserializer)?;
        Ok(FileStat { size, mtime_ns, ctime_ns, inode, device })
    }
}

/// A publish that may or may not have arrived, and what it makes true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The request.
    pub publish: Publish,
    /// Paths and their new states; `None` for a path that is gone.
    pub states: Vec<(String, Option<FileState>)>,
}

/// The open manifest.
pub struct Manifest {
    db: Database,
}

impl Manifest {
    /// Opens the file, or makes it.
    pub fn open(path: &Path) -> Result<Self, ManifestError> {
        let failed = |reason: String| ManifestError::Open { path: path.into(), reason };
        let db = Database::create(path).map_err(|error| failed(error.to_string()))?;
        let write = db.begin_write().map_err(storage)?;
        {
            let mut formats = write.open_table(FORMATS).map_err(|error| failed(error.to_string()))?;
            let found = formats.get("manifest").map_err(storage)?.map(|row| row.value());
            match found {
                None => {
                    formats.insert("manifest", FORMAT).map_err(storage)?;
                }
                Some(FORMAT) => {}
                Some(found) => return Err(ManifestError::Newer { path: path.into(), found }),
            }
            write.open_table(TREES).map_err(storage)?;
            write.open_table(FILES).map_err(storage)?;
            write.open_table(PENDING).map_err(storage)?;
        }
        write.commit().map_err(storage)?;
        Ok(Self { db })
    }

    /// The tree at `root`.
    pub fn tree(&self, root: &Path) -> Result<Option<TreeRow>, ManifestError> {
        let read = self.db.begin_read().map_err(storage)?;
        let trees = read.open_table(TREES).map_err(storage)?;
        trees.get(key(root)).map_err(storage)?.map(|row| decode(row.value())).transpose()
    }

    /// Every tree, by root.
    pub fn trees(&self) -> Result<Vec<(PathBuf, TreeRow)>, ManifestError> {
        let read = self.db.begin_read().map_err(storage)?;
        let trees = read.open_table(TREES).map_err(storage)?;
        let mut all = Vec::new();
        for row in trees.iter().map_err(storage)? {
            let (root, row) = row.map_err(storage)?;
            all.push((path_of(root.value()), decode(row.value())?));
        }
        Ok(all)
    }

    /// Known files of a tree.
    pub fn files(&self, root: &Path) -> Result<BTreeMap<String, FileState>, ManifestError> {
        let read = self.db.begin_read().map_err(storage)?;
        let files = read.open_table(FILES).map_err(storage)?;
        let mut all = BTreeMap::new();
        let from = (key(root), "");
        for row in files.range(from..).map_err(storage)? {
            let (at, row) = row.map_err(storage)?;
            let (tree, path) = at.value();
            if tree != key(root) {
                break;
            }
            all.insert(path.to_owned(), decode(row.value())?);
        }
        Ok(all)
    }

    /// Starts a tree anew: nothing of it is known any more.
    pub fn reset(&self, root: &Path, row: &TreeRow) -> Result<(), ManifestError> {
        let known = self.files(root)?;
        let write = self.db.begin_write().map_err(storage)?;
        {
            let mut files = write.open_table(FILES).map_err(storage)?;
            for path in known.keys() {
                files.remove((key(root), path.as_str())).map_err(storage)?;
            }
            write.open_table(PENDING).map_err(storage)?.remove(key(root)).map_err(storage)?;
            let bytes = encode(row)?;
            write.open_table(TREES).map_err(storage)?.insert(key(root), bytes.as_slice()).map_err(storage)?;
        }
        write.commit().map_err(storage)
    }

    /// The publish of a tree that may or may not have arrived.
    pub fn pending(&self, root: &Path) -> Result<Option<Pending>, ManifestError> {
        let read = self.db.begin_read().map_err(storage)?;
        let pending = read.open_table(PENDING).map_err(storage)?;
        pending.get(key(root)).map_err(storage)?.map(|row| decode(row.value())).transpose()
    }

    /// Writes a publish down before it is sent.
    pub fn set_pending(&self, root: &Path, pending: &Pending) -> Result<(), ManifestError> {
        let bytes = encode(pending)?;
        let write = self.db.begin_write().map_err(storage)?;
        write.open_table(PENDING).map_err(storage)?.insert(key(root), bytes.as_slice()).map_err(storage)?;
        write.commit().map_err(storage)
    }

    /// The pending publish was acknowledged: its states are true, and the tree is where it says.
    pub fn acknowledge(
        &self,
        root: &Path,
        row: &TreeRow,
        states: &[(String, Option<FileState>)],
    ) -> Result<(), ManifestError> {
        let write = self.db.begin_write().map_err(storage)?;
        {
            let mut files = write.open_table(FILES).map_err(storage)?;
            for (path, state) in states {
                match state {
                    Some(state) => {
                        let bytes = encode(state)?;
                        files.insert((key(root), path.as_str()), bytes.as_slice()).map_err(storage)?;
                    }
                    None => {
                        files.remove((key(root), path.as_str())).map_err(storage)?;
                    }
                }
            }
            write.open_table(PENDING).map_err(storage)?.remove(key(root)).map_err(storage)?;
            let bytes = encode(row)?;
            write.open_table(TREES).map_err(storage)?.insert(key(root), bytes.as_slice()).map_err(storage)?;
        }
        write.commit().map_err(storage)
    }
}

fn key(root: &Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt;
    root.as_os_str().as_bytes()
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

fn encode<T: Serialize>(row: &T) -> Result<Vec<u8>, ManifestError> {
    rmp_serde::to_vec_named(row).map_err(|error| ManifestError::Damaged(error.to_string()))
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ManifestError> {
    rmp_serde::from_slice(bytes).map_err(|error| ManifestError::Damaged(error.to_string()))
}
