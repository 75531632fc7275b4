//! Reads a file once and makes of its bytes everything that is published: blob, chunks, keys, texts to embed.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};

use sextant_proto::chunk::{ChunkColumns, ChunkRecord, FileVersion, flags};
use sextant_proto::ids::{BlobId, ChunkKey, ChunkerVersion, ModelFingerprint};
use sextant_proto::limits::{MAX_CHUNKS_PER_FILE, MAX_EMBED_TEXT_BYTES};

use super::SyncError;
use crate::chunk::embed_input::{embed_input, source_text};
use crate::chunk::{CHUNKER_VERSION, ChunkBudget, chunk_file};
use crate::key::Keyring;
use crate::manifest::FileState;
use crate::walk::{FileStat, Root, WalkedFile, classify};

/// Tries to read a file that changes while it is read.
const READ_TRIES: u32 = 5;

/// What one file comes to.
#[derive(Debug)]
pub struct FileWork {
    /// Path from the root.
    pub path: String,
    /// State to record when it is published.
    pub state: FileState,
    /// What to publish; `None` where the recorded content still stands, or the content is left out.
    pub version: Option<FileVersion>,
    /// Texts of its chunks, in the order of the ordinals.
    pub texts: Vec<(ChunkKey, String)>,
    /// Whether an earlier version must go from the index.
    pub mask: bool,
}

/// Reads files of one tree.
pub(super) struct Reader {
    root: PathBuf,
    keyring: Keyring,
    model: ModelFingerprint,
    budget: ChunkBudget,
}

impl Reader {
    /// A reader below `root`.
    pub(super) fn new(root: &Path, keyring: &Keyring, model: ModelFingerprint, budget: ChunkBudget) -> Self {
        Self { root: root.into(), keyring: keyring.clone(), model, budget }
    }

    /// The work of a file; `None` where it has vanished (the next walk masks it).
    pub(super) fn read(&self, file: WalkedFile, known: Option<FileState>) -> Option<FileWork> {
        let was_indexed = known.as_ref().is_some_and(|state| state.blob.is_some());
        let recorded_ns = now_ns();
        let (bytes, stat) = match self.bytes(&file.path) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                let state = FileState {
                    stat: file.stat,
                    recorded_ns: 0,
                    skipped: Some(format!("unreadable: {error}")),
                    ..FileState::default()
                };
                return Some(FileWork {
                    path: file.path,
                    state,
                    version: None,
                    texts: vec![],
                    mask: was_indexed,
                });
            }
        };
        let state = FileState { stat, recorded_ns, ..FileState::default() };
        if let Err(reason) = classify(&bytes) {
            let state = FileState { skipped: Some(reason.to_string()), ..state };
            return Some(FileWork {
                path: file.path,
                state,
                version: None,
                texts: vec![],
                mask: was_indexed,
            });
        }
        let blob = self.keyring.blob(&bytes);
        if let Some(known) = known.filter(|known| known.blob == Some(blob)) {
            let state = FileState { blob: Some(blob), chunks: known.chunks, ..state };
            return Some(FileWork { path: file.path, state, version: None, texts: vec![], mask: false });
        }
        Some(self.cut(file.path, &bytes, blob, state))
    }

    fn cut(&self, path: String, bytes: &[u8], blob: BlobId, state: FileState) -> FileWork {
        let chunked = chunk_file(&path, bytes, &self.budget);
        let mut records = Vec::with_capacity(chunked.chunks.len());
        let mut texts = Vec::with_capacity(chunked.chunks.len());
        for chunk in chunked.chunks.iter().take(MAX_CHUNKS_PER_FILE) {
            let raw = bytes.get(chunk.start_byte as usize..chunk.end_byte as usize).unwrap_or_default();
            let mut text = embed_input(&path, &source_text(bytes, chunk));
            if text.len() > MAX_EMBED_TEXT_BYTES {
                text.truncate(text.floor_char_boundary(MAX_EMBED_TEXT_BYTES));
            }
            let key = self.keyring.chunk(self.model, &text);
            records.push(ChunkRecord {
                key,
                text_hash: self.keyring.text(raw),
                start_byte: chunk.start_byte,
                end_byte: chunk.end_byte,
                start_line: chunk.start_line,
                end_line: chunk.end_line,
                item: chunk.item,
                flags: if chunk.is_test { flags::TEST } else { 0 },
                metadata: Vec::new(),
            });
            texts.push((key, text));
        }
        let state = FileState { blob: Some(blob), chunks: records.len() as u32, ..state };
        let version = FileVersion {
            path: path.clone(),
            blob,
            chunker: ChunkerVersion(CHUNKER_VERSION),
            language: chunked.language.as_str().to_owned(),
            chunks: ChunkColumns::from_records(&records),
        };
        FileWork { path, state, version: Some(version), texts, mask: false }
    }

    /// Content and stat of one moment: read again while the stat changes under the read.
    fn bytes(&self, path: &str) -> std::io::Result<(Vec<u8>, FileStat)> {
        let root = Root::open(&self.root).map_err(std::io::Error::other)?;
        let mut last = None;
        for _ in 0..READ_TRIES {
            let mut file = root.open_file(path).map_err(open_error)?;
            let before = stat(&file)?;
            let mut bytes = Vec::with_capacity(before.size as usize);
            file.read_to_end(&mut bytes)?;
            let after = stat(&file)?;
            if before == after && after.size == bytes.len() as u64 {
                return Ok((bytes, after));
            }
            last = Some((bytes, after));
        }
        // A file that never rests, such as a log: what was read last is one version of it; the racy record time
        // makes the next index look again.
        last.map(|(bytes, stat)| (bytes, FileStat { size: u64::MAX, ..stat }))
            .ok_or_else(|| std::io::Error::other("the file changes while it is read"))
    }
}

fn open_error(error: crate::walk::OpenError) -> std::io::Error {
    let kind = match &error {
        crate::walk::OpenError::Missing => std::io::ErrorKind::NotFound,
        _ => std::io::ErrorKind::Other,
    };
    std::io::Error::new(kind, error.to_string())
}

fn stat(file: &std::fs::File) -> std::io::Result<FileStat> {
    let meta = file.metadata()?;
    let ns = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    Ok(FileStat {
        size: meta.size(),
        mtime_ns: ns(meta.mtime(), meta.mtime_nsec()),
        ctime_ns: ns(meta.ctime(), meta.ctime_nsec()),
        inode: meta.ino(),
        device: meta.dev(),
    })
}

fn now_ns() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Groups works until a batch has `chunks` chunks.
pub(super) fn batches(
    works: BoxStream<'_, Result<FileWork, SyncError>>,
    chunks: usize,
) -> impl Stream<Item = Result<Vec<FileWork>, SyncError>> {
    futures::stream::unfold(Some(works), move |works| async move {
        let mut works = works?;
        let mut batch = Vec::new();
        let mut held = 0;
        while held < chunks && batch.len() < chunks {
            match works.next().await {
                Some(Ok(work)) => {
                    held += work.texts.len();
                    batch.push(work);
                }
                Some(Err(error)) => return Some((Err(error), None)),
                None if batch.is_empty() => return None,
                None => return Some((Ok(batch), None)),
            }
        }
        Some((Ok(batch), Some(works)))
    })
}
