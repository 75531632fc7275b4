//! Requests that a coordinator sends to a group on a shard-node.

use serde::{Deserialize, Serialize};

use crate::access::Role;
use crate::code::{Generation, QueryVector};
use crate::coordinator::{Done, MissingKeysReply, SlotSeal};
use crate::ids::{CollectionId, GenerationId, GroupId, NodeId, RevisionId, Sequence, WorkspaceId};
use crate::message::{Request, Route};
use crate::publish::Batch;
use crate::search::{Filter, Hit};
use crate::slot::Slot;
use crate::view::{GroupMark, SessionToken, View};

/// The part of a collection that a request speaks of: which group, which slots of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The group.
    pub group: GroupId,
    /// The collection.
    pub collection: CollectionId,
    /// Version of the slot map that routed the request.
    pub map_version: u64,
}

/// Makes a replica of a group on this node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardOpenGroup {
    /// The group.
    pub group: GroupId,
    /// Its voters.
    pub voters: Vec<NodeId>,
}

impl Request for ShardOpenGroup {
    const ROUTE: Route = Route::ShardOpenGroup;
    type Reply = Done;
}

/// Keys that the group lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardMissingKeys {
    /// Where.
    pub target: Target,
    /// The generation.
    pub generation: GenerationId,
    /// 32 bytes a key.
    #[serde(with = "serde_bytes")]
    pub keys: Vec<u8>,
}

impl Request for ShardMissingKeys {
    const ROUTE: Route = Route::ShardMissingKeys;
    type Reply = MissingKeysReply;
}

/// Changes a workspace's part in a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardPublish {
    /// Where.
    pub target: Target,
    /// What vectors of the batch are made with.
    pub made_with: Generation,
    /// Role of the publisher; kept with each vector.
    pub publisher: Role,
    /// The checkout.
    pub workspace: WorkspaceId,
    /// Its publish.
    pub sequence: Sequence,
    /// The change.
    pub batch: Batch,
}

/// A group's write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupWritten {
    /// Where the group stands.
    pub mark: GroupMark,
}

impl Request for ShardPublish {
    const ROUTE: Route = Route::ShardPublish;
    type Reply = GroupWritten;
}

/// Adds to a revision's part in a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardStage {
    /// Where.
    pub target: Target,
    /// What vectors of the batch are made with.
    pub made_with: Generation,
    /// Role of the publisher.
    pub publisher: Role,
    /// The revision.
    pub revision: RevisionId,
    /// The change.
    pub batch: Batch,
}

impl Request for ShardStage {
    const ROUTE: Route = Route::ShardStage;
    type Reply = GroupWritten;
}

/// Seals a revision's part in a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardSeal {
    /// Where.
    pub target: Target,
    /// The revision.
    pub revision: RevisionId,
    /// Slots of this group that hold files.
    pub slots: Vec<SlotSeal>,
}

impl Request for ShardSeal {
    const ROUTE: Route = Route::ShardSeal;
    type Reply = GroupWritten;
}

/// Gives up a view's part in a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardDropView {
    /// Where.
    pub target: Target,
    /// The view.
    pub view: View,
}

impl Request for ShardDropView {
    const ROUTE: Route = Route::ShardDropView;
    type Reply = GroupWritten;
}

/// A question to one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardSearch {
    /// Where.
    pub target: Target,
    /// What to look at.
    pub view: View,
    /// The generation.
    pub generation: GenerationId,
    /// The query, of that generation's model and code.
    pub query: QueryVector,
    /// Hits wanted.
    pub limit: u32,
    /// Candidates a hit.
    pub oversample: u32,
    /// Conditions.
    pub filter: Filter,
    /// Slots to look at; empty: all of the group's.
    #[serde(default)]
    pub slots: Vec<Slot>,
    /// What the client has seen.
    pub session: SessionToken,
}

/// A group's hits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardSearchReply {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Where the replica stands.
    pub mark: GroupMark,
    /// Log entries that the replica knows as committed and has not applied.
    pub behind: u64,
    /// Vectors compared.
    pub scanned: u64,
    /// Time of the scan, microseconds.
    pub scan_us: u64,
}

impl Request for ShardSearch {
    const ROUTE: Route = Route::ShardSearch;
    type Reply = ShardSearchReply;
}

/// Asks a group for its counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardStatus {
    /// The group.
    pub group: GroupId,
}

/// Counts of one collection in a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionCounts {
    /// The collection.
    pub collection: CollectionId,
    /// File versions.
    pub file_versions: u64,
    /// Vectors.
    pub vectors: u64,
    /// Bytes of resident codes.
    pub code_bytes: u64,
}

/// A group's counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardStatusReply {
    /// Where the replica stands.
    pub mark: GroupMark,
    /// By collection.
    pub collections: Vec<CollectionCounts>,
}

impl Request for ShardStatus {
    const ROUTE: Route = Route::ShardStatus;
    type Reply = ShardStatusReply;
}
