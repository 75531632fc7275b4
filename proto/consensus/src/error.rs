//! Owns the errors of this library. Knows nothing of the wire: the node libraries translate.

use std::path::PathBuf;
use std::time::Duration;

use sextant_proto::ids::{GroupId, NodeId};

/// The node store could not do what was asked. On a running group it is fatal: see [`crate::Group::watch_fatal`].
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "opening the node store at {path}: {source}; check that no other process holds it and that the disk is healthy"
    )]
    Open { path: PathBuf, source: rocksdb::Error },
    #[error(
        "the node store at {path} has format {found}, this build knows up to {known}: start a newer build"
    )]
    NewerFormat { path: PathBuf, found: String, known: u32 },
    #[error(
        "the node store at {path} belongs to node {found}, not to node {wanted}: fix the node id or the path"
    )]
    OtherNode { path: PathBuf, found: u64, wanted: u64 },
    #[error(
        "the node store lacks the column family {0}: it was not made by this program, restore or wipe it"
    )]
    MissingFamily(&'static str),
    #[error("reading {what}: {source}; check the disk, then wipe this node and let it copy from its peers")]
    Read { what: &'static str, source: rocksdb::Error },
    #[error("writing {what}: {source}; check free space and the disk")]
    Write { what: &'static str, source: rocksdb::Error },
    #[error(
        "{what} does not decode: {reason}; the store is damaged, wipe this node and let it copy from its peers"
    )]
    Decode { what: &'static str, reason: String },
    #[error("{what} does not encode: {reason}; this is a defect of this program")]
    Encode { what: &'static str, reason: String },
    #[error(
        "syncing the write-ahead log: {0}; nothing more is acknowledged, check the disk and restart the node"
    )]
    Sync(String),
    #[error("snapshot: {0}")]
    Snapshot(String),
    #[error("the state machine of {group:?} failed at log index {index}: {reason}")]
    Machine { group: GroupId, index: u64, reason: String },
    #[error("a store task of {group:?} ended early: {reason}")]
    Task { group: GroupId, reason: String },
}

/// What a state machine says when it cannot go on: unreadable rows, or a command it does not know.
///
/// A *refusal* of a command is not an error: it is a reply, the same on every replica.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Broken(String),
}

/// Starting a node's groups or opening one of them failed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("consensus settings: {0}; fix the configuration")]
    Config(String),
    #[error("{0:?} is already open on this node")]
    AlreadyOpen(GroupId),
    #[error("loading the state of {group:?}: {source}")]
    Load { group: GroupId, source: MachineError },
    #[error("starting the Raft core of {group:?}: {reason}")]
    Core { group: GroupId, reason: String },
}

/// A command was not (known to be) applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    #[error("this replica does not lead the group; ask {leader:?}, or any member when no leader is known")]
    ForwardToLeader { leader: Option<NodeId> },
    #[error("the command has {bytes} bytes, at most {limit_bytes} are taken: split it")]
    TooLarge { bytes: usize, limit_bytes: usize },
    #[error("too many bytes wait for replication on this node: retry after {retry_after:?}")]
    Overloaded { retry_after: Duration },
    #[error("the membership change was refused: {0}")]
    Membership(String),
    #[error("the group has stopped on this node ({0}): the outcome is unknown, retry elsewhere")]
    Stopped(String),
}

/// A linearizable read is not possible here and now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("this replica does not lead the group; ask {leader:?}, or any member when no leader is known")]
    ForwardToLeader { leader: Option<NodeId> },
    #[error("no quorum answered: {0}; retry")]
    NoQuorum(String),
    #[error("this replica has applied index {applied}, not yet {wanted}: retry or ask another replica")]
    Behind { applied: u64, wanted: u64 },
    #[error("the group has stopped on this node ({0})")]
    Stopped(String),
}

/// An inbound Raft call was not answered. The caller's carrier reports it as [`CarrierError::Refused`].
#[derive(Debug, thiserror::Error)]
pub enum HandleError {
    #[error("{0:?} is not open on this node")]
    UnknownGroup(GroupId),
    #[error("a Raft call does not decode: {0}")]
    Decode(String),
    #[error("snapshot transfer: {0}; it starts again from the first frame")]
    Transfer(String),
    #[error("the group has stopped on this node ({0})")]
    Stopped(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An outbound Raft call got no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CarrierError {
    /// No connection: Raft waits a little before the next attempt.
    #[error("node {0:?} is unreachable: {1}")]
    Unreachable(NodeId, String),
    /// A passing fault: Raft retries at once.
    #[error("the call to node {0:?} failed: {1}")]
    Failed(NodeId, String),
    /// The other side answered with an error.
    #[error("node {0:?} refused: {1}")]
    Refused(NodeId, String),
}

/// A group's Raft core has ended while nobody asked for it. The process should end and be restarted.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the Raft core of {group:?} died: {reason}")]
pub struct FatalError {
    pub group: GroupId,
    pub reason: String,
}
