//! Embeds what the cluster lacks and publishes batches, each written down before it is sent.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use futures::{StreamExt, TryStreamExt, stream};

use sextant_proto::coordinator::{ClusterStatus, CollectionInfo, MissingKeys, Publish};
use sextant_proto::embed::{EmbedRequest, Lane};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{ChunkKey, ChunkerVersion, GroupId, Sequence, WorkspaceId};
use sextant_proto::limits::{MAX_EMBED_TEXTS, MAX_KEYS};
use sextant_proto::publish::{Batch, Entry};
use sextant_proto::slot::{Slot, slot_of};
use sextant_proto::view::SessionToken;

use super::pack::{Vector, pack};
use super::prepare::FileWork;
use super::{Sync, SyncError};
use crate::failpoint;
use crate::manifest::{FileState, Pending, TreeRow};

/// Files whose vectors are all there.
pub(super) struct Embedded {
    /// The files.
    pub works: Vec<FileWork>,
    /// Vectors that the cluster did not have.
    pub vectors: Vec<Vector>,
    /// How many of them there are.
    pub made: u64,
    /// Of how many of them the model read only the start.
    pub truncated: u64,
}

/// A workspace that nothing was published to yet.
pub(super) fn new_tree(
    collection: &CollectionInfo,
    chunker: ChunkerVersion,
    settings: &str,
) -> Result<TreeRow, WireError> {
    let mut workspace = [0u8; 16];
    getrandom::fill(&mut workspace).map_err(|error| {
        WireError::new(ErrorCode::Internal, format!("no random numbers from the system: {error}"))
    })?;
    Ok(TreeRow {
        collection: collection.name.clone(),
        collection_id: collection.id,
        generation: collection.generation,
        chunker,
        settings: settings.to_owned(),
        workspace: WorkspaceId(workspace),
        sequence: Sequence(0),
        session: SessionToken::default(),
        revision: None,
    })
}

impl Sync<'_> {
    /// Asks which vectors of a batch are missing and has them made.
    pub(super) async fn embed(
        &self,
        collection: &CollectionInfo,
        mut works: Vec<FileWork>,
    ) -> Result<Embedded, SyncError> {
        // Vectors are shared within a group: the same chunk in files of two groups goes to both.
        let mut needed: Vec<(ChunkKey, Slot, &str)> = Vec::new();
        let mut seen = HashSet::new();
        for work in &works {
            let slot = slot_of(&work.path);
            let group = collection.slots.group_of(slot);
            for (key, text) in &work.texts {
                if seen.insert((*key, group)) {
                    needed.push((*key, slot, text));
                }
            }
        }
        let mut missing: HashSet<(ChunkKey, Option<GroupId>)> = HashSet::new();
        for part in needed.chunks(MAX_KEYS / 2) {
            let request = MissingKeys {
                collection: collection.id,
                map_version: collection.slots.version,
                generation: collection.generation,
                keys: part.iter().flat_map(|(key, ..)| key.0).collect(),
                slots: part.iter().map(|(_, slot, _)| *slot).collect(),
            };
            let reply = self.cluster.ask(&request).await?;
            let lacking: HashSet<ChunkKey> = reply.iter().collect();
            let of_part = part.iter().filter(|(key, ..)| lacking.contains(key));
            missing.extend(of_part.map(|(key, slot, _)| (*key, collection.slots.group_of(*slot))));
        }
        needed.retain(|(key, slot, _)| missing.contains(&(*key, collection.slots.group_of(*slot))));

        // One text is embedded once, also where two groups need it.
        let mut texts: Vec<(ChunkKey, &str)> = Vec::new();
        let mut once = HashSet::new();
        for (key, _, text) in &needed {
            if once.insert(*key) {
                texts.push((*key, text));
            }
        }
        let code = collection.made_with.code;
        let at_once = (self.model.sessions.max(1) * 2) as usize;
        let requests = stream::iter(texts.chunks(self.texts_a_request())).map(|part| async move {
            let request = EmbedRequest {
                lane: Lane::Index,
                model: self.model.fingerprint,
                code,
                texts: part.iter().map(|(_, text)| (*text).to_owned()).collect(),
            };
            let reply = self.cluster.embed(&request).await?;
            let made: Vec<_> = part
                .iter()
                .enumerate()
                .filter_map(|(at, (key, _))| {
                    let cut = reply.truncated.get(at).is_some_and(|cut| *cut != 0);
                    Some((*key, (reply.code(at, code)?.to_vec(), cut)))
                })
                .collect();
            Ok::<_, WireError>(made)
        });
        let made: Vec<Vec<_>> = requests.buffered(at_once).try_collect().await?;
        let made: HashMap<ChunkKey, (Vec<u8>, bool)> = made.into_iter().flatten().collect();

        let vectors: Vec<Vector> = needed
            .iter()
            .filter_map(|(key, slot, _)| Some((*key, made.get(key)?.0.clone(), *slot)))
            .collect();
        for work in &mut works {
            work.texts = Vec::new();
        }
        let truncated = made.values().filter(|(_, cut)| *cut).count() as u64;
        Ok(Embedded { works, vectors, made: made.len() as u64, truncated })
    }

    fn texts_a_request(&self) -> usize {
        (self.model.batch.max(1) as usize * 8).clamp(1, MAX_EMBED_TEXTS)
    }
}

/// Publishes a batch of files.
pub(super) async fn publish(
    sync: &Sync<'_>,
    root: &Path,
    tree: &mut TreeRow,
    collection: &CollectionInfo,
    embedded: Embedded,
) -> Result<(), SyncError> {
    let mut states = Vec::with_capacity(embedded.works.len());
    let mut entries = Vec::new();
    for work in embedded.works {
        if let Some(version) = work.version {
            entries.push(Entry::Put(version));
        } else if work.mask {
            entries.push(Entry::Mask(work.path.clone()));
        }
        states.push((work.path, Some(work.state)));
    }
    send(sync, root, tree, (collection, pack(collection.generation, &embedded.vectors, entries)), states)
        .await
}

/// Takes paths out of the view.
pub(super) async fn mask(
    sync: &Sync<'_>,
    root: &Path,
    tree: &mut TreeRow,
    collection: &CollectionInfo,
    gone: &[String],
) -> Result<(), SyncError> {
    let entries = gone.iter().map(|path| Entry::Mask(path.clone())).collect();
    let states = gone.iter().map(|path| (path.clone(), None)).collect();
    send(sync, root, tree, (collection, pack(collection.generation, &[], entries)), states).await
}

/// Sends a publish again that may not have arrived before the last end of this program.
pub(super) async fn resend(sync: &Sync<'_>, root: &Path, tree: &mut TreeRow) -> Result<(), SyncError> {
    match sync.manifest.pending(root)? {
        Some(pending) if pending.publish.sequence.0 == tree.sequence.0 + 1 => {
            deliver(sync, root, tree, pending).await
        }
        _ => Ok(()),
    }
}

/// Makes sure that the cluster holds at least as many file versions of the collection as this tree published: one that
/// has lost its stores does not. (One that has lost a part is found by the next search, which asks for the view itself.)
pub(super) async fn confirm(
    sync: &Sync<'_>,
    collection: &CollectionInfo,
    files: u64,
) -> Result<(), SyncError> {
    let status = sync.cluster.ask(&ClusterStatus {}).await?;
    let held = status.collections.iter().find(|known| known.info.id == collection.id);
    if held.map_or(0, |known| known.file_versions) >= files {
        return Ok(());
    }
    Err(WireError::new(ErrorCode::NotFound, "the cluster has lost files that were published to it").into())
}

async fn send(
    sync: &Sync<'_>,
    root: &Path,
    tree: &mut TreeRow,
    (collection, batches): (&CollectionInfo, Vec<Batch>),
    mut states: Vec<(String, Option<FileState>)>,
) -> Result<(), SyncError> {
    if batches.is_empty() {
        // Nothing for the cluster: files whose content is as before, or is left out.
        return Ok(sync.manifest.acknowledge(root, tree, &states)?);
    }
    let last = batches.len() - 1;
    for (at, batch) in batches.into_iter().enumerate() {
        let publish = Publish {
            collection: collection.id,
            map_version: collection.slots.version,
            workspace: tree.workspace,
            sequence: Sequence(tree.sequence.0 + 1),
            batch,
        };
        // States become true with the last batch: before it, a file's entry may not have been sent.
        let states = if at == last { std::mem::take(&mut states) } else { Vec::new() };
        let pending = Pending { publish, states };
        sync.manifest.set_pending(root, &pending)?;
        failpoint::at("sync-written-down");
        deliver(sync, root, tree, pending).await?;
    }
    Ok(())
}

async fn deliver(
    sync: &Sync<'_>,
    root: &Path,
    tree: &mut TreeRow,
    pending: Pending,
) -> Result<(), SyncError> {
    let written = sync.cluster.ask(&pending.publish).await?;
    failpoint::at("sync-published");
    tree.sequence = pending.publish.sequence;
    tree.session.merge(&written.session);
    sync.manifest.acknowledge(root, tree, &pending.states)?;
    failpoint::at("sync-acknowledged");
    Ok(())
}
