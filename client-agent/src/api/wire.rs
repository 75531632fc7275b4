//! Requests and replies of the local API, as JSON has them. Their fields are a promise: names and meanings stay within a
//! version; fields may be added to replies. Unknown fields of requests are refused.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::daemon::Program;
use crate::path_text::{self, PathText};
use crate::report::{Answer, IndexReport};

/// Hits of an answer unless said otherwise.
pub const DEFAULT_LIMIT: u32 = 10;
/// Hits of an answer at most.
pub const MAX_LIMIT: u32 = 10_000;

/// Brings the index of a folder up to date.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IndexRequest {
    /// The folder. Absolute.
    #[serde(with = "path_text")]
    #[schemars(with = "PathText")]
    pub path: PathBuf,
    /// Whether a home folder, or one above it, is meant too.
    #[serde(default)]
    pub force: bool,
}

/// Asks a question of a folder; what is not indexed yet is indexed first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// The question, at most 65,536 bytes.
    pub query: String,
    /// The folder. Absolute.
    #[serde(with = "path_text")]
    #[schemars(with = "PathText")]
    pub path: PathBuf,
    /// Hits wanted.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 10_000))]
    pub limit: u32,
    /// Only these languages; empty: all.
    #[serde(default)]
    pub languages: Vec<String>,
    /// Whether the hits come with their text.
    #[serde(default = "yes")]
    pub snippets: bool,
    /// Whether to look for changed files first.
    #[serde(default = "yes")]
    pub refresh: bool,
    /// Whether a home folder, or one above it, is meant too.
    #[serde(default)]
    pub force: bool,
}

/// Asks what is indexed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusRequest {
    /// Only the tree that holds this folder; absent: every tree. Absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathText>,
}

/// What runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersionReply {
    /// Versions of this API that are served.
    pub api: Vec<String>,
    /// The build.
    pub program: Program,
    /// Fingerprint of the settings that it works by.
    pub settings: String,
    /// Its process.
    pub pid: u32,
}

/// The daemon's own state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DaemonReply {
    /// Its process.
    pub pid: u32,
    /// The build.
    pub program: Program,
    /// Its socket.
    pub socket: String,
    /// Its log; older parts have `.1`, `.2`, … behind the name.
    pub log: String,
    /// Its data folder.
    pub data_dir: String,
    /// Since its start, seconds.
    pub up_s: f64,
    /// Requests under way, this one and its like not counted.
    pub requests: u64,
    /// Whether stores and model are open; a daemon at rest opens them with the next request.
    pub open: bool,
    /// Memory of the process, bytes; absent where the system does not tell.
    pub memory_bytes: Option<u64>,
}

/// The daemon ends: it lets requests under way finish and takes no more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StopReply {
    /// Its process.
    pub pid: u32,
    /// Requests that it waits for.
    pub requests: u64,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReply {
    /// The error.
    pub error: Problem,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// For programs.
    pub code: ProblemCode,
    /// For people: what was tried, on what, and what to do.
    pub message: String,
}

/// Kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// The request is none; sending it again changes nothing.
    BadRequest,
    /// There is no such route.
    UnknownRoute,
    /// A path that is not there, or is no folder.
    BadPath,
    /// A folder that is surely not meant, unless forced.
    Refused,
    /// The tree could not be read.
    Tree,
    /// The data folder, a store, the model or a library.
    Setup,
    /// The index could not be brought up to date, or asked.
    Cluster,
    /// A defect.
    Internal,
}

/// One line of a stream of events. `done` and `failed` are the last one, and come once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<T> {
    /// Files looked at, of how many.
    Files {
        /// Files looked at.
        done: u64,
        /// Of how many.
        total: u64,
    },
    /// Chunks that have their vectors, of how many known so far.
    Chunks {
        /// Chunks that have their vectors.
        done: u64,
        /// Of how many.
        total: u64,
    },
    /// A line for people, such as why it waits.
    Note {
        /// The line.
        line: String,
    },
    /// The reply.
    Done {
        /// What the route answers without a stream.
        result: T,
    },
    /// Why there is none.
    Failed {
        /// The error.
        error: Problem,
    },
}

/// Events of an index.
pub type IndexEvent = Event<IndexReport>;
/// Events of a search.
pub type SearchEvent = Event<Answer>;

fn default_limit() -> u32 {
    DEFAULT_LIMIT
}

fn yes() -> bool {
    true
}
