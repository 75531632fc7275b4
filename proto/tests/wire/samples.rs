//! One filled request and reply of every route.

use sextant_proto::access::Role;
use sextant_proto::chunk::{ChunkColumns, ChunkRecord, FileVersion, ItemType, flags};
use sextant_proto::code::{CodeSpec, CodeWidth, Generation, QueryVector};
use sextant_proto::coordinator::{
    ClusterStatus, ClusterStatusReply, CollectionInfo, CollectionStatus, Done, DropView, MissingKeys,
    MissingKeysReply, OpenCollection, Publish, Seal, Search, SearchReply, SetBranch, SlotSeal, Stage,
    Written,
};
use sextant_proto::coverage::{Coverage, Missing};
use sextant_proto::embed::{EmbedReply, EmbedRequest, Lane, ModelCard, ModelsReply, ModelsRequest};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::handshake::{Handshake, HandshakeReply};
use sextant_proto::ids::{
    BlobId, ChunkKey, ChunkerVersion, CollectionId, GenerationId, GroupId, Incarnation, LogIndex,
    ModelFingerprint, NodeId, OrgKeyId, RevisionId, Sequence, SlotDigest, TextHash, WorkspaceId,
};
use sextant_proto::message::{Request, Route, decode, encode};
use sextant_proto::publish::{Batch, Entry, VectorColumns};
use sextant_proto::raft::{RaftReply, RaftRequest};
use sextant_proto::search::{Filter, Hit};
use sextant_proto::shard::{
    CollectionCounts, GroupWritten, ShardDropView, ShardMissingKeys, ShardOpenGroup, ShardPublish, ShardSeal,
    ShardSearch, ShardSearchReply, ShardStage, ShardStatus, ShardStatusReply, Target,
};
use sextant_proto::slot::{Slot, SlotMap};
use sextant_proto::view::{GroupMark, SessionToken, View};

/// A route with the bytes of a filled request and reply, and its decoders.
pub(crate) struct Sample {
    pub(crate) route: Route,
    pub(crate) request: Vec<u8>,
    pub(crate) reply: Vec<u8>,
    /// Whether bytes decode as the request.
    pub(crate) decode_request: fn(&[u8]) -> bool,
    /// Whether bytes decode as the reply.
    pub(crate) decode_reply: fn(&[u8]) -> bool,
    /// Asserts that decoding and encoding again changes nothing.
    pub(crate) round_trip: fn(&[u8], &[u8]),
}

fn sample<R: Request>(request: &R, reply: &R::Reply) -> Sample {
    Sample {
        route: R::ROUTE,
        request: encode(request).unwrap(),
        reply: encode(reply).unwrap(),
        decode_request: |bytes| decode::<R>(bytes).is_ok(),
        decode_reply: |bytes| decode::<R::Reply>(bytes).is_ok(),
        round_trip: |request, reply| {
            assert_eq!(encode(&decode::<R>(request).unwrap()).unwrap(), request, "{:?}", R::ROUTE);
            assert_eq!(encode(&decode::<R::Reply>(reply).unwrap()).unwrap(), reply, "{:?}", R::ROUTE);
        },
    }
}

const MODEL: ModelFingerprint = ModelFingerprint([0x11; 32]);
const REVISION: RevisionId = RevisionId([0x22; 32]);
const WORKSPACE: WorkspaceId = WorkspaceId([0x33; 16]);
const KEY: ChunkKey = ChunkKey([0x44; 32]);
const BLOB: BlobId = BlobId([0x55; 32]);
const TEXT: TextHash = TextHash([0x66; 16]);
const DIGEST: SlotDigest = SlotDigest([0x77; 32]);
const COLLECTION: CollectionId = CollectionId(3);
const GENERATION: GenerationId = GenerationId(4);
const GROUP: GroupId = GroupId(5);
const MARK: GroupMark = GroupMark { group: GROUP, incarnation: Incarnation(6), applied: LogIndex(700) };

fn code() -> CodeSpec {
    CodeSpec { width: CodeWidth::new(64).unwrap(), rotation_seed: Some(9) }
}

fn made_with() -> Generation {
    Generation { model: MODEL, code: code() }
}

fn query() -> QueryVector {
    let vector: Vec<f32> = (0..64u8).map(|at| f32::from(at) / 64.0 - 0.5).collect();
    QueryVector::quantise(MODEL, code(), &vector).unwrap()
}

fn session() -> SessionToken {
    SessionToken { marks: vec![MARK] }
}

fn target() -> Target {
    Target { group: GROUP, collection: COLLECTION, map_version: 2 }
}

fn batch() -> Batch {
    let mut vectors = VectorColumns::default();
    vectors.push(KEY, &[1, 2, 3, 4, 5, 6, 7, 8], Slot(1023));
    let chunk = ChunkRecord {
        key: KEY,
        text_hash: TEXT,
        start_byte: 10,
        end_byte: 2000,
        start_line: 1,
        end_line: 70,
        item: ItemType::Method,
        flags: flags::TEST | flags::GENERATED,
        metadata: b"meta".to_vec(),
    };
    let version = FileVersion {
        path: "src/main.rs".into(),
        blob: BLOB,
        chunker: ChunkerVersion(8),
        language: "rust".into(),
        chunks: ChunkColumns::from_records(&[chunk]),
    };
    let entries = vec![Entry::Put(version), Entry::Mask("old.rs".into())];
    Batch { generation: GENERATION, vectors, entries }
}

fn info() -> CollectionInfo {
    CollectionInfo {
        id: COLLECTION,
        name: "example.org/team/tool".into(),
        generation: GENERATION,
        made_with: made_with(),
        slots: SlotMap { version: 2, groups: vec![GROUP, GroupId(300)], owners: vec![0, 1, 0] },
        branches: vec![("main".into(), REVISION)],
    }
}

fn coverage() -> Coverage {
    let missing = vec![Missing { group: GroupId(300), code: ErrorCode::Behind }];
    Coverage { asked: 2, answered: 1, missing, behind: 12, scanned: 100_000 }
}

fn filter() -> Filter {
    Filter { languages: vec!["rust".into(), "kotlin".into()], path_prefix: "src".into() }
}

fn hit() -> Hit {
    Hit {
        score: -123_456,
        distance: 17,
        path: "src/main.rs".into(),
        blob: BLOB,
        language: "rust".into(),
        start_byte: 10,
        end_byte: 2000,
        start_line: 1,
        end_line: 70,
        item: ItemType::Method as u8,
        flags: flags::TEST,
        text_hash: TEXT,
        more: 2,
    }
}

fn seal() -> SlotSeal {
    SlotSeal { slot: Slot(1023), files: 300, digest: DIGEST }
}

fn view() -> View {
    View::Workspace { id: WORKSPACE, sequence: Sequence(41) }
}

fn written() -> Written {
    Written { session: session() }
}

/// Every route.
pub(crate) fn all() -> Vec<Sample> {
    [connection_routes(), coordinator_routes(), shard_routes()].into_iter().flatten().collect()
}

/// Bytes that are no message of a route by themselves.
pub(crate) fn others() -> Vec<(&'static str, Vec<u8>)> {
    let error = WireError {
        retry_after_ms: Some(250),
        leader: Some(NodeId(2)),
        keys: KEY.0.to_vec(),
        ..WireError::new(ErrorCode::MissingKeys, "keys are missing")
    };
    vec![
        ("WireError", encode(&error).unwrap()),
        ("View.revision", encode(&View::Revision(REVISION)).unwrap()),
        ("Entry.mask", encode(&Entry::Mask("old.rs".into())).unwrap()),
        ("CodeSpec.default", encode(&CodeSpec::default()).unwrap()),
    ]
}

fn connection_routes() -> Vec<Sample> {
    let handshake = Handshake { version: 1, program: "0.1.0".into(), org_key: Some(OrgKeyId([0x88; 32])) };
    let embed = EmbedRequest {
        lane: Lane::Query,
        model: MODEL,
        code: code(),
        texts: vec!["where is it".into(), "ü".into()],
    };
    let embedded = EmbedReply { codes: vec![1; 16], floats: vec![2; 8], truncated: vec![0, 1], tokens: 300 };
    let card = ModelCard {
        fingerprint: MODEL,
        name: "all-MiniLM-L6-v2".into(),
        dims: 384,
        max_tokens: 256,
        batch: 1,
        sessions: 2,
    };
    let raft = RaftRequest { group: GROUP, kind: 3, body: vec![9, 8, 7] };
    vec![
        sample(&handshake, &HandshakeReply { version: 1, program: "0.1.0".into() }),
        sample(&embed, &embedded),
        sample(&ModelsRequest {}, &ModelsReply { models: vec![card] }),
        sample(&raft, &RaftReply { body: vec![6, 5] }),
    ]
}

fn coordinator_routes() -> Vec<Sample> {
    let open = OpenCollection { name: "tool".into(), model: MODEL, code: code(), create: true };
    let status = CollectionStatus { info: info(), file_versions: 10, vectors: 200, code_bytes: 51_200 };
    let missing = MissingKeys {
        collection: COLLECTION,
        map_version: 2,
        generation: GENERATION,
        keys: KEY.0.to_vec(),
        slots: vec![Slot(1023)],
    };
    let publish = Publish {
        collection: COLLECTION,
        map_version: 2,
        workspace: WORKSPACE,
        sequence: Sequence(41),
        batch: batch(),
    };
    let stage = Stage { collection: COLLECTION, map_version: 2, revision: REVISION, batch: batch() };
    let seal = Seal { collection: COLLECTION, map_version: 2, revision: REVISION, slots: vec![seal()] };
    let branch = SetBranch { collection: COLLECTION, branch: "main".into(), revision: REVISION };
    let search = Search {
        collection: COLLECTION,
        view: view(),
        queries: vec![query()],
        limit: 10,
        oversample: 8,
        filter: filter(),
        session: session(),
        allow_partial: true,
    };
    let found = SearchReply { hits: vec![hit()], coverage: coverage(), session: session(), scan_us: 1234 };
    vec![
        sample(&open, &info()),
        sample(&ClusterStatus {}, &ClusterStatusReply { collections: vec![status], coverage: coverage() }),
        sample(&missing, &MissingKeysReply { keys: KEY.0.to_vec() }),
        sample(&publish, &written()),
        sample(&stage, &written()),
        sample(&seal, &written()),
        sample(&branch, &Done {}),
        sample(&DropView { collection: COLLECTION, view: view() }, &written()),
        sample(&search, &found),
    ]
}

fn shard_routes() -> Vec<Sample> {
    let missing = ShardMissingKeys { target: target(), generation: GENERATION, keys: KEY.0.to_vec() };
    let publish = ShardPublish {
        target: target(),
        made_with: made_with(),
        publisher: Role::Client,
        workspace: WORKSPACE,
        sequence: Sequence(41),
        batch: batch(),
    };
    let stage = ShardStage {
        target: target(),
        made_with: made_with(),
        publisher: Role::Ci,
        revision: REVISION,
        batch: batch(),
    };
    let search = ShardSearch {
        target: target(),
        view: View::Revision(REVISION),
        generation: GENERATION,
        query: query(),
        limit: 10,
        oversample: 8,
        filter: filter(),
        slots: vec![Slot(0), Slot(1023)],
        session: session(),
    };
    let found = ShardSearchReply { hits: vec![hit()], mark: MARK, behind: 1, scanned: 1000, scan_us: 55 };
    let counts =
        CollectionCounts { collection: COLLECTION, file_versions: 10, vectors: 200, code_bytes: 51_200 };
    let group_written = GroupWritten { mark: MARK };
    vec![
        sample(&missing, &MissingKeysReply { keys: KEY.0.to_vec() }),
        sample(&publish, &group_written),
        sample(&stage, &group_written),
        sample(&ShardSeal { target: target(), revision: REVISION, slots: vec![seal()] }, &group_written),
        sample(&ShardDropView { target: target(), view: view() }, &group_written),
        sample(&search, &found),
        sample(&ShardStatus { group: GROUP }, &ShardStatusReply { mark: MARK, collections: vec![counts] }),
        sample(&ShardOpenGroup { group: GROUP, voters: vec![NodeId(1), NodeId(2)] }, &Done {}),
    ]
}
