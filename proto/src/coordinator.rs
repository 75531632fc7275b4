//! Requests that clients send to a coordinator.

use serde::{Deserialize, Serialize};

use crate::code::{CodeSpec, Generation, QueryVector};
use crate::coverage::Coverage;

use crate::ids::{
    BlobId, ChunkKey, CollectionId, GenerationId, ModelFingerprint, RevisionId, Sequence, SlotDigest,
    WorkspaceId,
};
use crate::message::{Request, Route};
use crate::publish::Batch;
use crate::search::{Filter, Hit};
use crate::slot::{Slot, SlotMap};
use crate::view::{SessionToken, View};

/// Finds a collection by its name and makes it where it is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCollection {
    /// Normalised remote, or a given name.
    pub name: String,
    /// Model of its vectors.
    pub model: ModelFingerprint,
    /// Code of its vectors; an existing collection keeps its own.
    #[serde(default)]
    pub code: CodeSpec,
    /// Whether to make it.
    #[serde(default)]
    pub create: bool,
}

/// A collection as clients need to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionInfo {
    /// The id.
    pub id: CollectionId,
    /// The name.
    pub name: String,
    /// Current generation.
    pub generation: GenerationId,
    /// What it is made with.
    pub made_with: Generation,
    /// Which group holds which slot.
    pub slots: SlotMap,
    /// Branches and the revisions they point at.
    #[serde(default)]
    pub branches: Vec<(String, RevisionId)>,
}

impl Request for OpenCollection {
    const ROUTE: Route = Route::OpenCollection;
    type Reply = CollectionInfo;
}

/// Asks which keys a collection does not hold. Told only to those who may publish to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingKeys {
    /// The collection.
    pub collection: CollectionId,
    /// Version of the slot map that `slots` was made for.
    pub map_version: u64,
    /// The generation.
    pub generation: GenerationId,
    /// 32 bytes a key.
    #[serde(with = "serde_bytes")]
    pub keys: Vec<u8>,
    /// Slot of the file that needs the key, one a key.
    pub slots: Vec<Slot>,
}

/// Keys that are not held, 32 bytes a key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MissingKeysReply {
    /// By group, in the order asked.
    #[serde(with = "serde_bytes")]
    pub keys: Vec<u8>,
}

impl MissingKeysReply {
    /// The keys.
    pub fn iter(&self) -> impl Iterator<Item = ChunkKey> {
        self.keys.as_chunks::<32>().0.iter().map(|key| ChunkKey(*key))
    }
}

impl Request for MissingKeys {
    const ROUTE: Route = Route::MissingKeys;
    type Reply = MissingKeysReply;
}

/// Changes a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publish {
    /// The collection.
    pub collection: CollectionId,
    /// Version of the slot map.
    pub map_version: u64,
    /// The checkout.
    pub workspace: WorkspaceId,
    /// One more than the last publish; the same one again changes nothing.
    pub sequence: Sequence,
    /// The change.
    pub batch: Batch,
}

/// A write that a quorum holds on disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Written {
    /// Marks that a later read needs.
    pub session: SessionToken,
}

impl Request for Publish {
    const ROUTE: Route = Route::Publish;
    type Reply = Written;
}

/// Adds to a revision before it is sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The collection.
    pub collection: CollectionId,
    /// Version of the slot map.
    pub map_version: u64,
    /// The revision.
    pub revision: RevisionId,
    /// The change; masks are not allowed.
    pub batch: Batch,
}

impl Request for Stage {
    const ROUTE: Route = Route::Stage;
    type Reply = Written;
}

/// Count and digest of a revision's files in one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotSeal {
    /// The slot.
    pub slot: Slot,
    /// Files.
    pub files: u32,
    /// Sum (lane-wise wrapping) of the hashes of (path, blob): independent of order.
    pub digest: SlotDigest,
}

impl SlotSeal {
    /// Adds a file. The order in which files are added does not matter.
    pub fn add(&mut self, path: &str, blob: &BlobId) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&blob.0).update(path.as_bytes());
        let hash = *hasher.finalize().as_bytes();
        for (sum, lane) in self.digest.0.as_chunks_mut::<8>().0.iter_mut().zip(hash.as_chunks::<8>().0) {
            *sum = u64::from_le_bytes(*sum).wrapping_add(u64::from_le_bytes(*lane)).to_le_bytes();
        }
        self.files += 1;
    }
}

/// Makes a staged revision readable; an equal second seal changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// The collection.
    pub collection: CollectionId,
    /// Version of the slot map.
    pub map_version: u64,
    /// The revision.
    pub revision: RevisionId,
    /// Slots that hold files.
    pub slots: Vec<SlotSeal>,
}

impl Request for Seal {
    const ROUTE: Route = Route::Seal;
    type Reply = Written;
}

/// Points a branch at a sealed revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetBranch {
    /// The collection.
    pub collection: CollectionId,
    /// The branch.
    pub branch: String,
    /// The revision.
    pub revision: RevisionId,
}

/// Nothing more to say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Done {}

impl Request for SetBranch {
    const ROUTE: Route = Route::SetBranch;
    type Reply = Done;
}

/// Gives up a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropView {
    /// The collection.
    pub collection: CollectionId,
    /// The view; of a workspace every sequence goes.
    pub view: View,
}

impl Request for DropView {
    const ROUTE: Route = Route::DropView;
    type Reply = Written;
}

/// A question to one view of one collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The collection.
    pub collection: CollectionId,
    /// What to look at.
    pub view: View,
    /// One vector a model fingerprint.
    pub queries: Vec<QueryVector>,
    /// Hits wanted.
    pub limit: u32,
    /// Candidates by Hamming distance a hit; 0 takes the default.
    #[serde(default)]
    pub oversample: u32,
    /// Conditions.
    #[serde(default)]
    pub filter: Filter,
    /// What the client has seen.
    #[serde(default)]
    pub session: SessionToken,
    /// Whether an answer without every group is wanted.
    #[serde(default)]
    pub allow_partial: bool,
}

/// Hits, best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchReply {
    /// The hits.
    pub hits: Vec<Hit>,
    /// What they come from.
    pub coverage: Coverage,
    /// Raised by the read.
    #[serde(default)]
    pub session: SessionToken,
    /// The slowest shard's scan, microseconds.
    #[serde(default)]
    pub scan_us: u64,
}

impl Request for Search {
    const ROUTE: Route = Route::Search;
    type Reply = SearchReply;
}

/// Asks for collections and counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClusterStatus {}

/// A collection with its counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionStatus {
    /// The collection.
    pub info: CollectionInfo,
    /// File versions held.
    pub file_versions: u64,
    /// Vectors held.
    pub vectors: u64,
    /// Bytes of resident codes.
    pub code_bytes: u64,
}

/// The cluster as a coordinator sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterStatusReply {
    /// Collections that the caller may read.
    pub collections: Vec<CollectionStatus>,
    /// Groups that did not answer are missing from the counts.
    pub coverage: Coverage,
}

impl Request for ClusterStatus {
    const ROUTE: Route = Route::ClusterStatus;
    type Reply = ClusterStatusReply;
}
