//! Consensus traffic as the transport sees it: opaque bytes between the replicas of a group.

use serde::{Deserialize, Serialize};

use crate::ids::GroupId;
use crate::message::{Request, Route};

/// A message to a group's replica on another node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaftRequest {
    /// The group.
    pub group: GroupId,
    /// Kind of message; consensus alone knows the numbers.
    pub kind: u8,
    /// The message.
    #[serde(with = "serde_bytes")]
    pub body: Vec<u8>,
}

/// The replica's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaftReply {
    /// The message.
    #[serde(with = "serde_bytes")]
    pub body: Vec<u8>,
}

impl Request for RaftRequest {
    const ROUTE: Route = Route::Raft;
    type Reply = RaftReply;
}
