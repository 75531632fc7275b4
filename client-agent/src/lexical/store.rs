//! Owns the folder of a lexical index: the tantivy index, the record of the files in it, and the fields.
//! Must not know how documents are made or asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use tantivy::schema::{Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::store::Compressor;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy::{Index, IndexReader, IndexSettings, ReloadPolicy};

use sextant_proto::ids::BlobId;

use super::LexicalError;
use super::terms::terms;
use crate::chunk::CHUNKER_VERSION;

/// Raised whenever documents or fields change; an index of another format is made again.
const FORMAT: u32 = 1;
/// Bytes of rows that are found by one step.
const ROW_BLOCK_BYTES: usize = 2 << 10;
/// Name of the analyzer in the schema.
const ANALYZER: &str = "code";

const FILES: TableDefinition<'_, &str, &[u8; 32]> = TableDefinition::new("files");

/// The fields of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// The file's path and each folder above it: what a path filter names.
    pub(super) within: Field,
    /// Path, for deletion.
    pub(super) file: Field,
    /// Coordinates, to find the chunk that the cluster names.
    pub(super) place: Field,
    /// Language.
    pub(super) language: Field,
    /// Words of the text, of the declared names (twice) and of the path (three times).
    pub(super) text: Field,
    /// Declared identifiers in lower case.
    pub(super) defines: Field,
    /// The row, encoded.
    pub(super) row: Field,
}

/// An open lexical index.
pub struct Lexical {
    pub(super) index: Index,
    pub(super) reader: IndexReader,
    pub(super) fields: Fields,
    record: Database,
    dir: PathBuf,
}

impl Lexical {
    /// Opens the index in `dir`; what is missing, of another version or damaged is begun anew. `settings` are those that
    /// decide the cut.
    pub fn open(dir: &Path, settings: &str) -> Result<Self, LexicalError> {
        let version = format!("format={FORMAT} chunker={CHUNKER_VERSION} {settings}");
        let marker = dir.join("version");
        if std::fs::read_to_string(&marker).is_ok_and(|found| found == version)
            && let Ok(open) = Self::open_folder(dir)
        {
            return Ok(open);
        }
        let failed =
            |error: std::io::Error| LexicalError::Folder { path: dir.into(), reason: error.to_string() };
        match std::fs::remove_dir_all(dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        std::fs::create_dir_all(dir.join("index")).map_err(failed)?;
        let open = Self::open_folder(dir)?;
        std::fs::write(&marker, version).map_err(failed)?;
        Ok(open)
    }

    fn open_folder(dir: &Path) -> Result<Self, LexicalError> {
        let (schema, fields) = schema();
        let directory = tantivy::directory::MmapDirectory::open(dir.join("index"))
            .map_err(|error| LexicalError::Folder { path: dir.into(), reason: error.to_string() })?;
        let index = Index::builder().schema(schema).settings(settings()).open_or_create(directory)?;
        index.tokenizers().register(ANALYZER, CodeTokenizer);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let record = Database::create(dir.join("files.redb")).map_err(record_error)?;
        let write = record.begin_write().map_err(record_error)?;
        write.open_table(FILES).map_err(record_error)?;
        write.commit().map_err(record_error)?;
        Ok(Self { index, reader, fields, record, dir: dir.into() })
    }

    /// Files in the index, with their content.
    pub fn files(&self) -> Result<BTreeMap<String, BlobId>, LexicalError> {
        let read = self.record.begin_read().map_err(record_error)?;
        let files = read.open_table(FILES).map_err(record_error)?;
        let mut all = BTreeMap::new();
        for row in files.iter().map_err(record_error)? {
            let (path, blob) = row.map_err(record_error)?;
            all.insert(path.value().to_owned(), BlobId(*blob.value()));
        }
        Ok(all)
    }

    /// Records what the index holds now. Called after the index has committed: a crash between the two makes the files be
    /// indexed again, which changes nothing.
    pub(super) fn set_files(&self, changes: &[(String, Option<BlobId>)]) -> Result<(), LexicalError> {
        let write = self.record.begin_write().map_err(record_error)?;
        {
            let mut files = write.open_table(FILES).map_err(record_error)?;
            for (path, blob) in changes {
                match blob {
                    Some(BlobId(blob)) => files.insert(path.as_str(), blob).map_err(record_error)?,
                    None => files.remove(path.as_str()).map_err(record_error)?,
                };
            }
        }
        write.commit().map_err(record_error)
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        let size = |path: &Path| -> u64 {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            entries
                .filter_map(|entry| entry.metadata().ok())
                .filter(std::fs::Metadata::is_file)
                .map(|m| m.len())
                .sum()
        };
        size(&self.dir) + size(&self.dir.join("index"))
    }
}

pub(super) fn record_error(error: impl Into<redb::Error>) -> LexicalError {
    LexicalError::Record(error.into().to_string())
}

/// Rows are small and read by the hundred for each question: they lie uncompressed, in blocks of few.
fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::None,
        docstore_blocksize: ROW_BLOCK_BYTES,
        ..IndexSettings::default()
    }
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let words =
        TextFieldIndexing::default().set_tokenizer(ANALYZER).set_index_option(IndexRecordOption::WithFreqs);
    let name = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    let fields = Fields {
        within: schema.add_text_field("within", TextOptions::default().set_indexing_options(name)),
        file: schema.add_text_field("file", STRING),
        place: schema.add_text_field("place", STRING),
        language: schema.add_text_field("language", STRING),
        text: schema.add_text_field("text", TextOptions::default().set_indexing_options(words)),
        defines: schema.add_text_field("defines", STRING),
        row: schema.add_bytes_field("row", STORED),
    };
    (schema.build(), fields)
}

/// `terms` as tantivy wants them.
#[derive(Clone)]
struct CodeTokenizer;

struct Tokens {
    all: Vec<Token>,
    next: usize,
}

impl Tokenizer for CodeTokenizer {
    type TokenStream<'a> = Tokens;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Tokens {
        let mut all: Vec<Token> = Vec::new();
        terms(text, |term, range| {
            all.push(Token {
                offset_from: range.start,
                offset_to: range.end,
                position: all.len(),
                text: term.to_owned(),
                position_length: 1,
            });
        });
        Tokens { all, next: 0 }
    }
}

impl TokenStream for Tokens {
    fn advance(&mut self) -> bool {
        self.next += 1;
        self.next <= self.all.len()
    }

    fn token(&self) -> &Token {
        &self.all[self.next - 1]
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.all[self.next - 1]
    }
}
