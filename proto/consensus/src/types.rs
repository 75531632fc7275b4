//! Owns the binding of openraft's type parameters and the records that are persisted. Knows no state machine:
//! commands and replies are bytes.

use std::fmt;

use bytes::Bytes;
use openraft::{EmptyNode, StorageError, StorageIOError, TokioRuntime};
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sextant_proto::ids::{Incarnation, LogIndex};

use crate::error::StoreError;
use crate::snapshot::SnapshotData;

openraft::declare_raft_types!(
    pub(crate) TypeConfig:
        D = Command,
        R = Reply,
        NodeId = u64,
        Node = EmptyNode,
        Entry = openraft::Entry<TypeConfig>,
        SnapshotData = SnapshotData,
        AsyncRuntime = TokioRuntime,
);

pub(crate) type Raft = openraft::Raft<TypeConfig>;
pub(crate) type Entry = openraft::Entry<TypeConfig>;
pub(crate) type LogId = openraft::LogId<u64>;
pub(crate) type Vote = openraft::Vote<u64>;
pub(crate) type StoredMembership = openraft::StoredMembership<u64, EmptyNode>;
pub(crate) type SnapshotMeta = openraft::SnapshotMeta<u64, EmptyNode>;
pub(crate) type Snapshot = openraft::Snapshot<TypeConfig>;
pub(crate) type StorageResult<T> = Result<T, StorageError<u64>>;

/// A state machine's command: bytes that only it can read.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Command(pub(crate) Bytes);

/// A state machine's reply. Empty for Raft's own entries.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Reply(pub(crate) Bytes);

/// What is applied, to which incarnation of the data, under which membership.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroupState {
    pub(crate) incarnation: Incarnation,
    pub(crate) last_applied: Option<LogId>,
    pub(crate) membership: StoredMembership,
}

impl Default for GroupState {
    fn default() -> Self {
        Self { incarnation: FIRST_INCARNATION, last_applied: None, membership: StoredMembership::default() }
    }
}

impl GroupState {
    /// 0 when nothing is applied: the first entry, a membership, has index 0 too, but changes no data.
    pub(crate) fn applied_index(&self) -> LogIndex {
        LogIndex(self.last_applied.map_or(0, |id| id.index))
    }
}

/// A group's first incarnation is 1, so that 0 can mean "none" in session tokens.
const FIRST_INCARNATION: Incarnation = Incarnation(1);

/// Keeps command bytes out of logs: they hold paths and vectors.
fn fmt_length(name: &str, bytes: &Bytes, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{name}({} bytes)", bytes.len())
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_length("Command", &self.0, f)
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_length("Reply", &self.0, f)
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(BinVisitor).map(Self)
    }
}

impl Serialize for Reply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Reply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(BinVisitor).map(Self)
    }
}

struct BinVisitor;

impl Visitor<'_> for BinVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
        Ok(Bytes::copy_from_slice(bytes))
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
        Ok(Bytes::from(bytes))
    }
}

pub(crate) fn encode<T: Serialize>(what: &'static str, value: &T) -> Result<Vec<u8>, StoreError> {
    rmp_serde::to_vec_named(value).map_err(|error| StoreError::Encode { what, reason: error.to_string() })
}

pub(crate) fn decode<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T, StoreError> {
    rmp_serde::from_slice(bytes).map_err(|error| StoreError::Decode { what, reason: error.to_string() })
}

/// How openraft's storage traits want to hear of an error, by the part of the store that was touched.
pub(crate) trait IntoStorage<T> {
    fn reading_logs(self) -> StorageResult<T>;
    fn writing_logs(self) -> StorageResult<T>;
    fn reading_state(self) -> StorageResult<T>;
    fn writing_state(self) -> StorageResult<T>;
}

impl<T> IntoStorage<T> for Result<T, StoreError> {
    fn reading_logs(self) -> StorageResult<T> {
        self.map_err(|error| StorageIOError::read_logs(&error).into())
    }

    fn writing_logs(self) -> StorageResult<T> {
        self.map_err(|error| StorageIOError::write_logs(&error).into())
    }

    fn reading_state(self) -> StorageResult<T> {
        self.map_err(|error| StorageIOError::read_state_machine(&error).into())
    }

    fn writing_state(self) -> StorageResult<T> {
        self.map_err(|error| StorageIOError::write_state_machine(&error).into())
    }
}
