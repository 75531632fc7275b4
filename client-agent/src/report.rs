//! What the agent tells its callers: results of an index, a search or a status, and progress on the way.
//!
//! Plain values. The local API sends them as JSON, so their fields are a promise; the CLI prints them.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sextant_proto::coverage::Coverage;

use crate::path_text;
use crate::rank::Reasons;
use crate::snippet::SnippetState;

/// A file that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFile {
    /// Path from the root.
    pub path: String,
    /// Why, for people.
    pub reason: String,
}

/// Result of an index.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct IndexReport {
    /// Files in the index.
    pub files: u64,
    /// Chunks in the index.
    pub chunks: u64,
    /// Chunks that went through the model in this run.
    pub embedded: u64,
    /// Chunks whose vectors were there already.
    pub reused: u64,
    /// Chunks of this run of which the model read only the start.
    pub truncated: u64,
    /// Files left out.
    pub skipped: Vec<SkippedFile>,
    /// Files whose content was read in this run.
    pub files_read: u64,
    /// Bytes sent to servers.
    pub bytes_sent: u64,
    /// Time taken.
    pub seconds: f64,
    /// What the user should know though the index succeeded.
    pub warnings: Vec<String>,
}

/// A hit with its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// Path from the root.
    pub path: String,
    /// First line, from 1.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// First byte in the file.
    pub start_byte: u64,
    /// Byte behind the last one.
    pub end_byte: u64,
    /// What decides the order, 0 to 1; comparable within one answer only.
    pub score: f32,
    /// What the score is made of.
    pub reasons: Reasons,
    /// What it is.
    pub item: Cow<'static, str>,
    /// Language.
    pub lang: String,
    /// Collection.
    pub collection: String,
    /// The state that was searched: hexadecimal `RevisionId`.
    pub revision: String,
    /// Whether the text is the one that was indexed.
    pub state: SnippetState,
    /// The text; absent where it was not asked for or is gone.
    pub snippet: Option<String>,
}

/// A group that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingGroup {
    /// The group.
    pub group: u64,
    /// Why.
    pub reason: String,
}

/// What an answer was made from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Whether every group answered.
    pub complete: bool,
    /// Groups that were asked.
    pub asked: u32,
    /// Groups that answered.
    pub answered: u32,
    /// Groups that did not.
    pub missing: Vec<MissingGroup>,
    /// Log entries by which answering replicas were behind, the most of any group.
    pub behind: u64,
    /// Vectors that were compared.
    pub scanned: u64,
}

impl From<&Coverage> for Receipt {
    fn from(coverage: &Coverage) -> Self {
        let missing = coverage.missing.iter();
        Self {
            complete: coverage.is_complete(),
            asked: coverage.asked,
            answered: coverage.answered,
            missing: missing
                .map(|part| MissingGroup { group: part.group.0, reason: format!("{:?}", part.code) })
                .collect(),
            behind: coverage.behind,
            scanned: coverage.scanned,
        }
    }
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// What the paths of the hits start from.
    #[serde(with = "path_text")]
    #[schemars(with = "path_text::PathText")]
    pub root: PathBuf,
    /// Best first.
    pub hits: Vec<Found>,
    /// What it comes from.
    pub coverage: Receipt,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Coordinates from a server that named nothing inside of the checkout.
    pub bad_coordinates: u64,
    /// Where the time went.
    pub timing: Timing,
}

/// Stages of a search, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Looking for changes and publishing them.
    pub refresh: f64,
    /// The query through the model.
    pub embed: f64,
    /// Coordinator and shards.
    pub cluster: f64,
    /// The lexical index and the last order.
    pub rank: f64,
    /// Reading and checking snippets.
    pub snippets: f64,
}

/// One indexed tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TreeStatus {
    /// Folder on this machine.
    pub root: String,
    /// Collection.
    pub collection: String,
    /// State that can be searched: hexadecimal `RevisionId`.
    pub revision: String,
    /// Files.
    pub files: u64,
    /// Chunks.
    pub chunks: u64,
    /// Files that changed since, counted now; absent where the folder is gone.
    pub changed: Option<u64>,
}

/// Result of a status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusReport {
    /// Data folder.
    pub data_dir: String,
    /// Model in use.
    pub model: String,
    /// Bits of a code.
    pub code_bits: u32,
    /// Trees, by root.
    pub trees: Vec<TreeStatus>,
    /// Vectors in the cluster.
    pub vectors: u64,
    /// Bytes of resident codes in the cluster.
    pub code_bytes: u64,
}

/// Hears of progress. Called from several threads.
pub trait Progress: Send + Sync {
    /// Files looked at, of how many.
    fn files(&self, done: u64, total: u64);
    /// Chunks that have their vectors, of how many known so far.
    fn chunks(&self, done: u64, total: u64);
    /// A line for people, such as why it waits.
    fn note(&self, line: &str);
}

/// Progress that nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn files(&self, _done: u64, _total: u64) {}
    fn chunks(&self, _done: u64, _total: u64) {}
    fn note(&self, _line: &str) {}
}
