//! Brings the lexical index to the state of a tree: reads the files whose content changed, cuts them as the cluster's
//! chunks were cut, adds their documents. Must not know how documents are asked for.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use tantivy::{IndexWriter, TantivyDocument, Term};

use sextant_proto::ids::BlobId;

use super::row::{Row, rows};
use super::store::Lexical;
use super::{LexicalError, row};
use crate::chunk::{ChunkBudget, chunk_file};
use crate::key::Keyring;
use crate::walk::Root;

/// Memory of the writer before it flushes a segment, bytes.
const WRITER_BYTES: usize = 64 << 20;
/// How often the words of declared names and of the path count beside those of the text.
const NAME_WEIGHT: usize = 2;
const PATH_WEIGHT: usize = 3;

/// Where the files are and how they are cut.
pub struct Source<'a> {
    /// The tree.
    pub root: &'a Path,
    /// Keys of its content.
    pub keyring: &'a Keyring,
    /// How chunks are cut.
    pub budget: ChunkBudget,
    /// Largest file read, bytes.
    pub max_file_bytes: u64,
}

/// What an update did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Indexed {
    /// Files whose documents were made.
    pub files: u64,
    /// Files that went.
    pub gone: u64,
}

impl Lexical {
    /// Makes the index hold exactly `files`. A file that has changed since it was recorded stays out until it is recorded
    /// anew.
    pub fn update(
        &self,
        source: &Source<'_>,
        files: &BTreeMap<String, BlobId>,
    ) -> Result<Indexed, LexicalError> {
        let known = self.files()?;
        let changed: Vec<(&String, BlobId)> = files
            .iter()
            .filter(|(path, blob)| known.get(*path) != Some(blob))
            .map(|(path, blob)| (path, *blob))
            .collect();
        let gone: Vec<&String> = known.keys().filter(|path| !files.contains_key(*path)).collect();
        if changed.is_empty() && gone.is_empty() {
            return Ok(Indexed::default());
        }
        let mut writer: IndexWriter<TantivyDocument> = self.index.writer_with_num_threads(1, WRITER_BYTES)?;
        for path in gone.iter().copied().chain(changed.iter().map(|(path, _)| *path)) {
            writer.delete_term(Term::from_field_text(self.fields.file, path));
        }
        let indexed = self.add(&writer, source, &changed)?;
        writer.commit()?;
        let indexed_count = indexed.len() as u64;
        let record: Vec<(String, Option<BlobId>)> = gone
            .iter()
            .map(|path| ((*path).clone(), None))
            .chain(indexed.into_iter().map(|(path, blob)| (path, Some(blob))))
            .collect();
        self.set_files(&record)?;
        writer.wait_merging_threads()?;
        self.reader.reload()?;
        Ok(Indexed { files: indexed_count, gone: gone.len() as u64 })
    }

    /// Reads, cuts and adds files on every core. Returns those that were as recorded.
    fn add(
        &self,
        writer: &IndexWriter<TantivyDocument>,
        source: &Source<'_>,
        changed: &[(&String, BlobId)],
    ) -> Result<Vec<(String, BlobId)>, LexicalError> {
        let failed = |error: crate::walk::WalkError| LexicalError::Folder {
            path: source.root.into(),
            reason: error.to_string(),
        };
        let root = Root::open(source.root).map_err(failed)?;
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<(String, BlobId)>, LexicalError> {
            let mut done = Vec::new();
            while let Some((path, blob)) = changed.get(next.fetch_add(1, Ordering::Relaxed)) {
                let Some(bytes) = read(&root, path, source.max_file_bytes) else { continue };
                if source.keyring.blob(&bytes) != *blob {
                    continue;
                }
                let chunked = chunk_file(path, &bytes, &source.budget);
                for (row, text) in rows(path, &bytes, *blob, &chunked, source.keyring) {
                    writer.add_document(self.document(&row, &text)?)?;
                }
                done.push(((*path).clone(), *blob));
            }
            Ok(done)
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(changed.len());
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let mut all = Vec::with_capacity(changed.len());
            for worker in workers {
                let done = worker.join().map_err(|_| LexicalError::Record("a worker ended early".into()))?;
                all.extend(done?);
            }
            Ok(all)
        })
    }

    fn document(&self, row: &Row, text: &str) -> Result<TantivyDocument, LexicalError> {
        let fields = self.fields;
        let mut document = TantivyDocument::default();
        document.add_text(fields.file, &row.path);
        for folder in within(&row.path) {
            document.add_text(fields.within, folder);
        }
        document.add_text(fields.place, place(&row.path, row.start_byte, row.end_byte));
        document.add_text(fields.language, &row.language);
        let mut words = text.to_owned();
        let names: Vec<&str> = row.defines.iter().map(|defined| defined.name.as_str()).collect();
        for _ in 0..NAME_WEIGHT {
            words.push('\n');
            words.push_str(&names.join(" "));
        }
        for _ in 0..PATH_WEIGHT {
            words.push('\n');
            words.push_str(&row.path);
        }
        document.add_text(fields.text, words);
        for row::Name { name, .. } in &row.defines {
            document.add_text(fields.defines, name.to_lowercase());
        }
        let bytes = rmp_serde::to_vec(row).map_err(|error| LexicalError::Record(error.to_string()))?;
        document.add_bytes(fields.row, &bytes);
        Ok(document)
    }
}

/// The key of a chunk's coordinates.
pub(super) fn place(path: &str, start_byte: u32, end_byte: u32) -> String {
    format!("{start_byte} {end_byte} {path}")
}

/// The path and every folder above it.
fn within(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at]).chain([path])
}

fn read(root: &Root, path: &str, cap: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    root.open_file(path).ok()?.take(cap).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
