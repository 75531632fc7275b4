//! Owns a group's snapshot as a stream of frames: reading it out, taking it in. Knows no transport.
//!
//! A snapshot is every row under (group, incarnation), as one RocksDB sequence number shows them, plus the applied
//! log id and membership of that moment. It is never stored: every transfer reads the rows anew, so a snapshot
//! costs nothing until it is sent, and at most two frames of it are in memory.

mod frame;
mod reader;
mod staging;

#[cfg(test)]
pub(crate) use frame::push_row;
pub(crate) use frame::{Frame, Trailer};
pub(crate) use reader::{Piece, SnapshotReader};
pub(crate) use staging::{Staged, Staging};

use crate::types::{GroupState, LogId, SnapshotMeta};

/// What openraft carries from the place that makes a snapshot to the place that sends or installs it.
#[derive(Debug)]
pub(crate) enum SnapshotData {
    /// Nothing: openraft asks for a blank one, but transfers here make their own.
    Blank,
    /// To be sent.
    Outgoing(SnapshotReader),
    /// Received whole and checked, to be switched to.
    Incoming(Staged),
}

/// None before the first applied entry. Two replicas that applied the same entries give the same id.
pub(crate) fn meta_of(state: &GroupState) -> Option<SnapshotMeta> {
    let last = state.last_applied?;
    Some(SnapshotMeta {
        last_log_id: Some(last),
        last_membership: state.membership.clone(),
        snapshot_id: snapshot_id(&last),
    })
}

fn snapshot_id(last: &LogId) -> String {
    format!("{}-{}-{}", last.leader_id.term, last.leader_id.node_id, last.index)
}
