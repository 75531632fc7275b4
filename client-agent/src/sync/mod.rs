//! Brings the cluster to the state of a tree: walk → diff → read, cut and key → embed what is missing → publish.

mod pack;
mod prepare;
mod publish;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures::{StreamExt, TryStreamExt, stream};

use sextant_proto::coordinator::CollectionInfo;
use sextant_proto::embed::ModelCard;
use sextant_proto::error::WireError;
use sextant_proto::ids::{BlobId, ChunkerVersion};

use crate::chunk::{CHUNKER_VERSION, ChunkBudget};
use crate::cluster::Cluster;
use crate::diff::diff;
use crate::failpoint;
use crate::key::Keyring;
use crate::manifest::{Manifest, ManifestError, TreeRow};
use crate::report::{IndexReport, Progress, SkippedFile};
use crate::walk::{WalkError, WalkOptions, walk};

pub use prepare::FileWork;

/// Chunks that are embedded and published together; the last file of a batch may go over it.
const BATCH_CHUNKS: usize = 256;
/// Batches under way at once: one is published while the next ones keep every session of the model busy.
const BATCHES_AHEAD: usize = 3;

/// Why a tree was not brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The tree.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// This machine's record.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The cluster.
    #[error("the cluster refused the index: {0}")]
    Cluster(#[from] WireError),
    /// A defect, or a machine out of memory.
    #[error("a background task failed: {0}")]
    Task(String),
}

/// What a sync works with.
pub struct Sync<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// This machine's record.
    pub manifest: &'a Manifest,
    /// Hashes.
    pub keyring: &'a Keyring,
    /// The model.
    pub model: &'a ModelCard,
    /// How files are cut.
    pub budget: ChunkBudget,
    /// Largest file, bytes.
    pub max_file_bytes: u64,
    /// Whether to make sure that the cluster still holds the last publish, at the cost of a question for its counts.
    pub confirm: bool,
    /// Who watches.
    pub progress: &'a dyn Progress,
}

/// Settings that decide what is published; a change of them publishes everything again.
pub fn settings(max_file_bytes: u64, budget: &ChunkBudget) -> String {
    format!("max_file_bytes={max_file_bytes} chunk={}/{}", budget.preferred, budget.hard_cap_bytes)
}

impl Sync<'_> {
    /// Brings the tree at `root` up to date; returns its row and what was done.
    pub async fn run(
        &self,
        root: &Path,
        collection: &CollectionInfo,
    ) -> Result<(TreeRow, IndexReport), SyncError> {
        let started = Instant::now();
        let sent_before = self.cluster.bytes_sent();
        let budget = self.budget;
        // Another key gives every hash another value: what was published with the old one can no longer be verified.
        let key = self.keyring.text(b"the key itself").to_string();
        let settings = format!("{} key={}", settings(self.max_file_bytes, &budget), &key[..8]);
        let mut tree = self.tree(root, collection, &settings)?;
        publish::resend(self, root, &mut tree).await?;

        let walk_root = root.to_owned();
        let options = WalkOptions { size_cap_bytes: self.max_file_bytes, ..WalkOptions::default() };
        let outcome = blocking(move || walk(&walk_root, &options)).await??;
        let known = self.manifest.files(root)?;
        if self.confirm {
            let published = known.values().filter(|state| state.blob.is_some()).count() as u64;
            publish::confirm(self, collection, published).await?;
        }
        let difference = diff(&known, &outcome.files);
        failpoint::at("sync-walked");
        failpoint::hold("sync-walked-hold");
        let total = outcome.files.len() as u64;
        self.progress.files(difference.unchanged, total);

        let mut report = IndexReport::default();
        let mut walked = WalkedCounts { done: difference.unchanged, total, chunks: 0 };
        let reader = Arc::new(prepare::Reader::new(root, self.keyring, self.model.fingerprint, budget));
        let works = stream::iter(difference.suspects).map(|file| {
            let reader = Arc::clone(&reader);
            let known = known.get(&file.path).cloned();
            async move { blocking(move || reader.read(file, known)).await }
        });
        // Files are read ahead in order; batches are embedded ahead in order; publishes are one after another.
        let works = works.buffered(8).try_filter_map(|work| async move { Ok(work) });
        let batches = prepare::batches(works.boxed(), BATCH_CHUNKS);
        let embedded =
            batches.map(|batch| async move { self.embed(collection, batch?).await }).buffered(BATCHES_AHEAD);
        let mut embedded = std::pin::pin!(embedded);
        while let Some(batch) = embedded.next().await {
            let batch = batch?;
            failpoint::at("sync-embedded");
            report.embedded += batch.made;
            report.truncated += batch.truncated;
            report.files_read += batch.works.len() as u64;
            walked.done += batch.works.len() as u64;
            walked.chunks += batch.works.iter().map(|work| u64::from(work.state.chunks)).sum::<u64>();
            publish::publish(self, root, &mut tree, collection, batch).await?;
            self.progress.files(walked.done, walked.total);
        }
        if !difference.gone.is_empty() {
            publish::mask(self, root, &mut tree, collection, &difference.gone).await?;
        }

        let files = self.manifest.files(root)?;
        let indexed: Vec<(&str, BlobId)> =
            files.iter().filter_map(|(path, state)| Some((path.as_str(), state.blob?))).collect();
        let chunker = ChunkerVersion(CHUNKER_VERSION);
        let revision =
            self.keyring.revision(&collection.made_with, chunker, &settings, indexed.iter().copied());
        if tree.revision != Some(revision) {
            failpoint::at("sync-finishing");
            tree.revision = Some(revision);
            self.manifest.acknowledge(root, &tree, &[])?;
        }
        report.files = indexed.len() as u64;
        report.chunks = files.values().map(|state| u64::from(state.chunks)).sum();
        report.reused = report.chunks.saturating_sub(report.embedded);
        report.skipped = outcome
            .skipped
            .into_iter()
            .map(|skipped| SkippedFile { reason: skipped.reason.to_string(), path: skipped.path })
            .chain(files.iter().filter_map(|(path, state)| {
                Some(SkippedFile { path: path.clone(), reason: state.skipped.clone()? })
            }))
            .collect();
        report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        report.warnings = outcome.warnings.iter().map(ToString::to_string).collect();
        report.bytes_sent = self.cluster.bytes_sent() - sent_before;
        report.seconds = started.elapsed().as_secs_f64();
        Ok((tree, report))
    }

    /// The tree's row; started anew where it is not there or was made with other settings.
    fn tree(&self, root: &Path, collection: &CollectionInfo, settings: &str) -> Result<TreeRow, SyncError> {
        let chunker = ChunkerVersion(CHUNKER_VERSION);
        if let Some(tree) = self.manifest.tree(root)?
            && tree.collection_id == collection.id
            && tree.generation == collection.generation
            && tree.chunker == chunker
            && tree.settings == settings
        {
            return Ok(tree);
        }
        let tree = publish::new_tree(collection, chunker, settings)?;
        self.manifest.reset(root, &tree)?;
        failpoint::at("sync-begun");
        Ok(tree)
    }
}

struct WalkedCounts {
    done: u64,
    total: u64,
    chunks: u64,
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, SyncError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| SyncError::Task(error.to_string()))
}
