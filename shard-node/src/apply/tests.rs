//! The state machine through a real group of one voter: commands in, memory out, and the same after a restart.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;

use sextant_consensus::{
    CarrierError, ConsensusConfig, Group, Groups, NodeStore, RaftCall, RaftCarrier, StoreOptions,
};
use sextant_kernels::Kernels;
use sextant_proto::access::Role;
use sextant_proto::chunk::{ChunkColumns, ChunkRecord, FileVersion, ItemType};
use sextant_proto::code::{CodeSpec, CodeWidth, Generation, QueryVector};
use sextant_proto::coordinator::SlotSeal;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{
    BlobId, ChunkKey, ChunkerVersion, CollectionId, GenerationId, GroupId, ModelFingerprint, NodeId,
    RevisionId, Sequence, SlotDigest, TextHash, WorkspaceId,
};
use sextant_proto::publish::{Batch, Entry, VectorColumns};
use sextant_proto::search::Filter;
use sextant_proto::shard::{ShardSearch, Target};
use sextant_proto::slot::slot_of;
use sextant_proto::view::{SessionToken, View};

use super::{Answer, Command, GroupMachine};
use crate::query::search;

const COLLECTION: CollectionId = CollectionId(3);
const GENERATION: GenerationId = GenerationId(1);
const WORKSPACE: WorkspaceId = WorkspaceId([7; 16]);

struct Nowhere;

impl RaftCarrier for Nowhere {
    fn send(
        &self,
        target: NodeId,
        _: GroupId,
        _: RaftCall,
    ) -> BoxFuture<'static, Result<Bytes, CarrierError>> {
        async move { Err(CarrierError::Unreachable(target, "there is one node".into())) }.boxed()
    }
}

async fn open(dir: &Path) -> (Groups, Group<GroupMachine>) {
    let store = NodeStore::open(dir, &StoreOptions::default()).unwrap();
    let groups = Groups::start(NodeId(1), store, Arc::new(Nowhere), ConsensusConfig::default()).unwrap();
    let group = groups.open(GroupId(1), Arc::new(GroupMachine::default())).await.unwrap();
    group.initialize(&[NodeId(1)]).await.unwrap();
    group.wait_leader(tokio::time::Instant::now() + std::time::Duration::from_secs(20)).await.unwrap();
    (groups, group)
}

async fn write(group: &Group<GroupMachine>, command: Command) -> Result<(), WireError> {
    let applied = group.write(Bytes::from(command.encode().unwrap())).await.unwrap();
    Answer::into_result(&applied.reply)
}

fn made_with() -> Generation {
    let code = CodeSpec { width: CodeWidth::new(64).unwrap(), rotation_seed: Some(0) };
    Generation { model: ModelFingerprint([1; 32]), code }
}

fn key(word: u64) -> ChunkKey {
    ChunkKey(std::array::from_fn(|i| word.to_le_bytes()[i % 8]))
}

/// A file with one chunk a word; a word is its own code.
fn file(path: &str, words: &[u64]) -> FileVersion {
    let records: Vec<_> = (0u32..)
        .zip(words)
        .map(|(at, word)| ChunkRecord {
            key: key(*word),
            text_hash: TextHash([at as u8; 16]),
            start_byte: at * 10,
            end_byte: at * 10 + 9,
            start_line: at + 1,
            end_line: at + 1,
            item: ItemType::Function,
            flags: 0,
            metadata: Vec::new(),
        })
        .collect();
    let blob = BlobId(*blake3::hash(format!("{words:?}").as_bytes()).as_bytes());
    FileVersion {
        path: path.into(),
        blob,
        chunker: ChunkerVersion(1),
        language: "rust".into(),
        chunks: ChunkColumns::from_records(&records),
    }
}

fn vectors(words: &[u64]) -> VectorColumns {
    let mut columns = VectorColumns::default();
    for word in words {
        columns.push(key(*word), &word.to_le_bytes(), slot_of("x"));
    }
    columns
}

fn publish(sequence: u64, words: &[u64], entries: Vec<Entry>) -> Command {
    Command::Publish {
        collection: COLLECTION,
        made_with: made_with(),
        publisher: Role::Client,
        workspace: WORKSPACE,
        sequence: Sequence(sequence),
        batch: Batch { generation: GENERATION, vectors: vectors(words), entries },
    }
}

fn stage(revision: RevisionId, words: &[u64], entries: Vec<Entry>) -> Command {
    Command::Stage {
        collection: COLLECTION,
        made_with: made_with(),
        publisher: Role::Ci,
        revision,
        batch: Batch { generation: GENERATION, vectors: vectors(words), entries },
    }
}

fn at(sequence: u64) -> View {
    View::Workspace { id: WORKSPACE, sequence: Sequence(sequence) }
}

/// Paths and first bytes of the hits nearest to `word` in a view.
fn find(
    group: &Group<GroupMachine>,
    view: View,
    word: u64,
    filter: Filter,
) -> Result<Vec<(String, u32)>, ErrorCode> {
    let floats: Vec<f32> = (0..64).map(|bit| if word >> bit & 1 == 1 { 0.125 } else { -0.125 }).collect();
    let request = ShardSearch {
        target: Target { group: GroupId(1), collection: COLLECTION, map_version: 1 },
        view,
        generation: GENERATION,
        query: QueryVector::quantise(made_with().model, made_with().code, &floats).unwrap(),
        limit: 10,
        oversample: 4,
        filter,
        slots: Vec::new(),
        session: SessionToken::default(),
    };
    let found = search(&group.machine().read(), Kernels::detect(), &request, &|| false)
        .map_err(|error| error.code)?;
    Ok(found.hits.into_iter().map(|hit| (hit.path, hit.start_byte)).collect())
}

fn hits(group: &Group<GroupMachine>, view: View, word: u64) -> Result<Vec<(String, u32)>, ErrorCode> {
    find(group, view, word, Filter::default())
}

fn path(path: &str, start: u32) -> (String, u32) {
    (path.into(), start)
}

#[tokio::test]
async fn a_workspace_moves_by_publishes_and_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (groups, group) = open(dir.path()).await;
    let (a, b) = (0xff, !0xff);
    let first = publish(1, &[a, b], vec![Entry::Put(file("a.rs", &[a, b])), Entry::Put(file("b.rs", &[a]))]);
    write(&group, first.clone()).await.unwrap();
    let all = vec![path("a.rs", 0), path("b.rs", 0), path("a.rs", 10)];
    assert_eq!(hits(&group, at(1), a).unwrap(), all);

    // The same publish again changes nothing; a gap is refused.
    write(&group, first).await.unwrap();
    assert_eq!(write(&group, publish(3, &[], vec![])).await.unwrap_err().code, ErrorCode::OutOfSequence);
    assert_eq!(hits(&group, at(1), a).unwrap(), all);

    // A mask hides a path from the next sequence on; the one before stays as it was.
    write(&group, publish(2, &[], vec![Entry::Mask("a.rs".into())])).await.unwrap();
    assert_eq!(hits(&group, at(2), a).unwrap(), [path("b.rs", 0)]);
    assert_eq!(hits(&group, at(1), a).unwrap(), all);
    write(&group, publish(3, &[], vec![Entry::Put(file("a.rs", &[b]))])).await.unwrap();
    assert_eq!(hits(&group, at(3), b).unwrap(), [path("a.rs", 0), path("b.rs", 0)]);
    assert_eq!(hits(&group, at(1), a), Err(ErrorCode::NotFound));
    assert_eq!(hits(&group, at(4), a), Err(ErrorCode::Behind));

    let before = (hits(&group, at(3), a), hits(&group, at(2), a));
    groups.shutdown().await;
    drop((groups, group));
    let (groups, group) = open(dir.path()).await;
    assert_eq!((hits(&group, at(3), a), hits(&group, at(2), a)), before);
    // Numbers go on where they stopped: a new vector gets none that is in use.
    write(&group, publish(4, &[0xf0], vec![Entry::Put(file("c.rs", &[0xf0]))])).await.unwrap();
    assert_eq!(hits(&group, at(4), 0xf0).unwrap()[0], path("c.rs", 0));
    assert_eq!(hits(&group, at(4), b).unwrap()[0], path("a.rs", 0));
    groups.shutdown().await;
}

#[tokio::test]
async fn a_file_version_without_its_vectors_is_refused_with_their_keys_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (groups, group) = open(dir.path()).await;
    let entries = vec![Entry::Put(file("a.rs", &[1, 2, 3]))];
    let error = write(&group, publish(1, &[2], entries.clone())).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::MissingKeys);
    let mut missing = error.keys.as_chunks::<32>().0.to_vec();
    missing.sort_unstable();
    assert_eq!(missing, [key(1).0, key(3).0]);
    assert_eq!(hits(&group, at(1), 1), Err(ErrorCode::NotFound));
    write(&group, publish(1, &[1, 2, 3], entries)).await.unwrap();
    assert_eq!(hits(&group, at(1), 3).unwrap().len(), 3);
    groups.shutdown().await;
}

#[tokio::test]
async fn the_last_entry_of_a_path_wins_within_a_batch() {
    let dir = tempfile::tempdir().unwrap();
    let (groups, group) = open(dir.path()).await;
    let put = |words: &[u64]| Entry::Put(file("a.rs", words));
    write(&group, publish(1, &[1, 2], vec![put(&[1]), Entry::Mask("a.rs".into()), put(&[2])])).await.unwrap();
    assert_eq!(hits(&group, at(1), 1).unwrap(), [path("a.rs", 0)]);
    write(&group, publish(2, &[], vec![put(&[1]), Entry::Mask("a.rs".into())])).await.unwrap();
    assert_eq!(hits(&group, at(2), 1).unwrap(), []);
    groups.shutdown().await;
}

#[tokio::test]
async fn a_revision_is_readable_when_sealed_with_what_was_staged() {
    let dir = tempfile::tempdir().unwrap();
    let (groups, group) = open(dir.path()).await;
    let revision = RevisionId([5; 32]);
    let view = View::Revision(revision);
    write(&group, stage(revision, &[1], vec![Entry::Put(file("a.rs", &[1]))])).await.unwrap();
    assert_eq!(hits(&group, view, 1), Err(ErrorCode::NotFound));
    let seal_of = |files: &[FileVersion]| {
        let mut seals: Vec<SlotSeal> = Vec::new();
        for file in files {
            let slot = slot_of(&file.path);
            let at = seals.iter().position(|seal| seal.slot == slot).unwrap_or_else(|| {
                seals.push(SlotSeal { slot, files: 0, digest: SlotDigest([0; 32]) });
                seals.len() - 1
            });
            seals[at].add(&file.path, &file.blob);
        }
        Command::Seal { collection: COLLECTION, revision, slots: seals }
    };
    let both = [file("a.rs", &[1]), file("b.rs", &[1])];
    assert_eq!(write(&group, seal_of(&both)).await.unwrap_err().code, ErrorCode::NotFound);
    write(&group, stage(revision, &[], vec![Entry::Put(file("b.rs", &[1]))])).await.unwrap();
    write(&group, seal_of(&both)).await.unwrap();
    assert_eq!(hits(&group, view, 1).unwrap(), [path("a.rs", 0), path("b.rs", 0)]);
    // A second publisher of the same state: stage and seal are no-ops; other contents are refused.
    write(&group, stage(revision, &[], vec![Entry::Put(file("c.rs", &[1]))])).await.unwrap();
    write(&group, seal_of(&both)).await.unwrap();
    assert_eq!(hits(&group, view, 1).unwrap().len(), 2);
    assert_eq!(write(&group, seal_of(&both[..1])).await.unwrap_err().code, ErrorCode::BadRequest);
    write(&group, Command::DropView { collection: COLLECTION, view }).await.unwrap();
    assert_eq!(hits(&group, view, 1), Err(ErrorCode::NotFound));
    groups.shutdown().await;
}

#[tokio::test]
async fn filters_narrow_by_folder_and_language() {
    let dir = tempfile::tempdir().unwrap();
    let (groups, group) = open(dir.path()).await;
    let python = FileVersion { language: "python".into(), ..file("src/b.py", &[1]) };
    let entries = ["src/a.rs", "srcs/c.rs", "src/deep/d.rs"].map(|path| Entry::Put(file(path, &[1])));
    let entries = entries.into_iter().chain([Entry::Put(python)]).collect();
    write(&group, publish(1, &[1], entries)).await.unwrap();
    let found = |languages: &[&str], prefix: &str| {
        let languages = languages.iter().map(ToString::to_string).collect();
        let filter = Filter { languages, path_prefix: prefix.into() };
        find(&group, at(1), 1, filter).unwrap().into_iter().map(|(path, _)| path).collect::<Vec<_>>()
    };
    assert_eq!(found(&[], "src"), ["src/a.rs", "src/b.py", "src/deep/d.rs"]);
    assert_eq!(found(&["rust"], "src/"), ["src/a.rs", "src/deep/d.rs"]);
    assert_eq!(found(&["go"], ""), [""; 0]);
    assert_eq!(found(&[], "src/a.rs"), ["src/a.rs"]);
    groups.shutdown().await;
}
