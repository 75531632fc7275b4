//! The agent: everything that a command needs, opened once. Commands come in here and values of `report` go out.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;

use sextant_proto::code::CodeSpec;
use sextant_proto::coordinator::{ClusterStatus, CollectionInfo, OpenCollection};
use sextant_proto::coverage::Coverage;
use sextant_proto::embed::ModelCard;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{Sequence, WorkspaceId};

use crate::chunk::ChunkBudget;
use crate::cluster::Cluster;
use crate::config::Config;
use crate::data_dir::{self, DataDirError, DataLock};
use crate::diff::diff;
use crate::key::Keyring;
use crate::lexical::{Indexed, Lexical, LexicalError, Shelf, Source};
use crate::manifest::{Manifest, ManifestError, TreeRow};
use crate::rank::asked::Asked;
use crate::rank::weights::Weights;
use crate::rank::{Candidate, Words, rank};
use crate::report::{Answer, IndexReport, Progress, Receipt, Silent, StatusReport, Timing, TreeStatus};
use crate::search::{self, Question};
use crate::sync::{Sync, SyncError};
use crate::tree::{Place, collection_name, resolve};
use crate::walk::{WalkError, WalkOptions, walk};

pub use crate::search::SearchOptions;

/// How long a command waits for another one to release the data folder.
const LOCK_WAIT: Duration = Duration::from_mins(10);
/// Longest question, bytes.
const MAX_QUERY_BYTES: usize = 64 << 10;
/// How long a search of an indexed tree waits for an index of it that is under way before it answers from what is there.
const INDEX_WAIT: Duration = Duration::from_secs(2);
/// Tries of a question while an index moves its view on: each publish makes the one before unreadable.
const MOVING_TRIES: u32 = 20;
/// Bytes of a path that a message shows.
const SHOWN_PATH_BYTES: usize = 300;

/// Why a command fails.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The data folder.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// A path of the user's.
    #[error("{}: {source}; check the spelling", shown(path))]
    Path {
        /// As given.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A folder that holds far more than code.
    #[error(
        "{} holds everything of yours, not one project; name a folder in it, or say --force if you mean it",
        path.display()
    )]
    TooWide {
        /// The folder.
        path: PathBuf,
    },
    /// A question that is none.
    #[error("{0}")]
    Query(String),
    /// The nodes of this process.
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Embedded(#[from] crate::embedded::EmbeddedError),
    /// Certificates and keys.
    #[error(transparent)]
    Transport(#[from] sextant_transport::TransportError),
    /// The tree.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// The index.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// This machine's record.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The cluster.
    #[error("the cluster answered: {0}")]
    Cluster(#[from] WireError),
    /// A defect, or a machine out of memory.
    #[error("a background task failed: {0}")]
    Task(String),
}

/// Candidates of an answer with what orders them.
#[derive(Debug)]
pub struct Gathered {
    /// The question.
    pub asked: Asked,
    /// What the index knows of its words.
    pub words: Words,
    /// The candidates.
    pub candidates: Vec<Candidate>,
    /// What the cluster's part comes from.
    pub coverage: Coverage,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Where the time went.
    pub timing: Timing,
}

/// An open agent.
pub struct Agent {
    config: Config,
    manifest: Manifest,
    keyring: Keyring,
    cluster: Cluster,
    model: ModelCard,
    shelf: Shelf,
    #[cfg(feature = "embedded")]
    embedded: crate::embedded::Embedded,
    trees: TreeLocks,
    // Held until the end: one process a data folder.
    _lock: Arc<DataLock>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("data_dir", &self.config.data_dir).finish_non_exhaustive()
    }
}

/// One refresh a tree at a time; others of the same tree wait in turn, those of other trees do not.
#[derive(Debug, Default)]
struct TreeLocks {
    trees: std::sync::Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
}

impl TreeLocks {
    fn of(&self, root: &Path) -> Arc<tokio::sync::Mutex<()>> {
        // Nothing panics while it is held.
        let mut trees = self.trees.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Arc::clone(trees.entry(root.to_owned()).or_default())
    }
}

impl Agent {
    /// Makes the data folder where it is not there, takes its lock and starts the embedded cluster.
    pub async fn open(config: &Config, progress: &dyn Progress) -> Result<Self, AgentError> {
        data_dir::make(&config.data_dir)?;
        let waiting = || progress.note("waiting for another sextant that uses the same data folder");
        let lock = DataLock::take(&config.data_dir, LOCK_WAIT, waiting).await?;
        Self::open_locked(config, Arc::new(lock)).await
    }

    /// The same in a data folder that was locked before.
    pub async fn open_locked(config: &Config, lock: Arc<DataLock>) -> Result<Self, AgentError> {
        let dir = &config.data_dir;
        data_dir::make(dir)?;
        let manifest = Manifest::open(&dir.join("client").join("manifest.redb"))?;
        let keyring = Keyring::new(&crate::embedded::org_key(dir)?);
        let (embedded, cluster) = crate::embedded::Embedded::start(config).await?;
        let model = cluster.model().await?;
        let settings = crate::sync::settings(config.max_file_bytes, &ChunkBudget::default());
        let shelf = Shelf::new(dir.join("client").join("lexical"), settings);
        let trees = TreeLocks::default();
        Ok(Self {
            config: config.clone(),
            manifest,
            keyring,
            cluster,
            model,
            shelf,
            embedded,
            trees,
            _lock: lock,
        })
    }

    /// Resolves when a node has died; says why.
    pub async fn fatal(&self) -> String {
        self.embedded.fatal().await
    }

    /// Refuses a tree that is surely not meant: a home folder, or one above it. A tree that is indexed already was.
    pub fn admit(&self, path: &Path) -> Result<(), AgentError> {
        let place = self.place(path)?;
        let home = self.config.home.canonicalize().unwrap_or_else(|_| self.config.home.clone());
        if home.starts_with(&place.root) && self.manifest.tree(&place.root)?.is_none() {
            return Err(AgentError::TooWide { path: place.root });
        }
        Ok(())
    }

    /// Brings the index of the tree at `path` up to date.
    pub async fn index(&self, path: &Path, progress: &dyn Progress) -> Result<IndexReport, AgentError> {
        let place = self.place(path)?;
        let turn = self.turn(&place, progress).await;
        let mut report = self.refresh(&place, true, &turn, progress).await?;
        if !place.prefix.is_empty() {
            let root = place.root.display();
            report.warnings.push(format!(
                "{} is part of the indexed tree {root}; that whole tree is up to date now",
                path.display()
            ));
        }
        Ok(report)
    }

    /// Answers a question about `path`; what is not indexed yet is indexed first.
    pub async fn search(
        &self,
        query: &str,
        path: &Path,
        options: &SearchOptions,
        progress: &dyn Progress,
    ) -> Result<Answer, AgentError> {
        if query.trim().is_empty() {
            return Err(AgentError::Query(
                "the question is empty; ask in plain words what the code does".into(),
            ));
        }
        if query.len() > MAX_QUERY_BYTES {
            return Err(AgentError::Query(format!(
                "the question has {} bytes; the most is {MAX_QUERY_BYTES}: ask in a sentence or two",
                query.len()
            )));
        }
        let place = self.place(path)?;
        let started = Instant::now();
        let mut warnings = Vec::new();
        let searchable = self.manifest.tree(&place.root)?.is_some_and(|tree| tree.revision.is_some());
        if options.refresh || !searchable {
            // A tree that can be searched is not worth a long wait for somebody else's index of it.
            let patience = if searchable { INDEX_WAIT } else { Duration::MAX };
            match tokio::time::timeout(patience, self.turn(&place, progress)).await {
                Ok(turn) => warnings = self.refresh(&place, false, &turn, progress).await?.warnings,
                Err(_) => warnings
                    .push("an index of this folder is under way; this is what is indexed so far".to_owned()),
            }
        }
        let refresh = started.elapsed().as_secs_f64();
        let answer = match self.ask(query, &place, options).await {
            // The cluster has lost what the manifest says it holds (a replica that stays behind was asked several
            // times by now): publish it again, then ask again.
            Err(AgentError::Cluster(error))
                if matches!(error.code, ErrorCode::NotFound | ErrorCode::Behind) =>
            {
                let turn = self.turn(&place, progress).await;
                self.forget(&place)?;
                warnings = self.refresh(&place, false, &turn, progress).await?.warnings;
                self.ask(query, &place, options).await
            }
            answer => answer,
        };
        let mut answer = answer?;
        answer.timing.refresh = refresh;
        answer.warnings.extend(warnings);
        Ok(answer)
    }

    /// Asks, and asks again where the view moved on meanwhile: an index that runs beside makes each publish's view
    /// unreadable soon after the next one.
    async fn ask(&self, query: &str, place: &Place, options: &SearchOptions) -> Result<Answer, AgentError> {
        for _ in 1..MOVING_TRIES {
            let before = self.view(place)?;
            match self.ask_once(query, place, options).await {
                Err(AgentError::Cluster(_)) if self.view(place)? != before => {}
                answer => return answer,
            }
        }
        // Publishes follow each other faster than one question takes: wait for the index to end.
        let _turn = self.turn(place, &Silent).await;
        self.ask_once(query, place, options).await
    }

    fn view(&self, place: &Place) -> Result<Option<(WorkspaceId, Sequence)>, AgentError> {
        Ok(self.manifest.tree(&place.root)?.map(|tree| (tree.workspace, tree.sequence)))
    }

    async fn ask_once(
        &self,
        query: &str,
        place: &Place,
        options: &SearchOptions,
    ) -> Result<Answer, AgentError> {
        let collection = self.collection(place, false).await?;
        let tree = self.tree(place)?;
        let question = self.question(query, place, options, &tree, &collection);
        let mut gathered = self.gather(&question, place).await?;
        let ordered = Instant::now();
        let mut hits = rank(&gathered.asked, &gathered.words, gathered.candidates, &Weights::default());
        hits.truncate(options.limit as usize);
        gathered.timing.rank += ordered.elapsed().as_secs_f64();
        let located = Instant::now();
        let (hits, bad_coordinates) = search::locate_all(&place.root, &self.keyring, &question, hits)?;
        gathered.timing.snippets = located.elapsed().as_secs_f64();
        if bad_coordinates > 0 {
            gathered.warnings.push(format!(
                "{bad_coordinates} hits were dropped: their coordinates lead nowhere in the checkout"
            ));
        }
        Ok(Answer {
            root: place.root.clone(),
            hits,
            coverage: Receipt::from(&gathered.coverage),
            warnings: gathered.warnings,
            bad_coordinates,
            timing: gathered.timing,
        })
    }

    /// Everything that the order of an answer is made from, for measurements of the order alone.
    pub async fn candidates(
        &self,
        query: &str,
        path: &Path,
        options: &SearchOptions,
    ) -> Result<Gathered, AgentError> {
        let place = self.place(path)?;
        let collection = self.collection(&place, false).await?;
        let tree = self.tree(&place)?;
        self.gather(&self.question(query, &place, options, &tree, &collection), &place).await
    }

    async fn gather(&self, question: &Question<'_>, place: &Place) -> Result<Gathered, AgentError> {
        let (reply, scores, mut timing) = search::ask(&self.cluster, &self.model, question).await?;
        let mut warnings = Vec::new();
        if !reply.coverage.is_complete() {
            let missing: Vec<_> = reply.coverage.missing.iter().map(|part| part.group.to_string()).collect();
            warnings.push(format!("the answer is partial: no reply from group {}", missing.join(", ")));
        }
        let started = Instant::now();
        let asked = Asked::new(question.query);
        let named: Vec<_> = reply.hits.into_iter().zip(scores).collect();
        let joined = match self.lexical(place) {
            Ok(lexical) => search::candidates_of(&lexical, &asked, question, &named),
            Err(error) => Err(error),
        };
        let (words, candidates) = joined.unwrap_or_else(|error| {
            warnings.push(format!("this answer is by meaning alone: {error}"));
            (Words::default(), search::semantic_alone(named))
        });
        timing.rank = started.elapsed().as_secs_f64();
        Ok(Gathered { asked, words, candidates, coverage: reply.coverage, warnings, timing })
    }

    fn question<'a>(
        &'a self,
        query: &'a str,
        place: &'a Place,
        options: &'a SearchOptions,
        tree: &'a TreeRow,
        collection: &'a CollectionInfo,
    ) -> Question<'a> {
        let max_file_bytes = self.config.max_file_bytes;
        Question { query, prefix: &place.prefix, options, tree, collection, max_file_bytes }
    }

    fn tree(&self, place: &Place) -> Result<TreeRow, AgentError> {
        let no_tree = || WireError::new(ErrorCode::NotFound, "the tree is not indexed");
        Ok(self.manifest.tree(&place.root)?.ok_or_else(no_tree)?)
    }

    fn lexical(&self, place: &Place) -> Result<Arc<Lexical>, LexicalError> {
        self.shelf.of(&place.root, &self.local_name(&place.root))
    }

    /// A name for a folder of this machine that tells nothing of it.
    fn local_name(&self, root: &Path) -> String {
        self.keyring.text(root.as_os_str().as_encoded_bytes()).to_string()
    }

    /// What is indexed: every tree, or the one that holds `path`.
    pub async fn status(&self, path: Option<&Path>) -> Result<StatusReport, AgentError> {
        let only = path.map(|path| self.place(path)).transpose()?.map(|place| place.root);
        let mut trees = Vec::new();
        for (root, tree) in self.manifest.trees()? {
            if only.as_ref().is_some_and(|only| *only != root) {
                continue;
            }
            let files = self.manifest.files(&root)?;
            let options = self.walk_options();
            let walked = root.clone();
            let outcome = tokio::task::spawn_blocking(move || walk(&walked, &options)).await;
            let outcome = outcome.map_err(|error| AgentError::Task(error.to_string()))?;
            let changed = outcome.ok().map(|outcome| {
                let difference = diff(&files, &outcome.files);
                (difference.suspects.len() + difference.gone.len()) as u64
            });
            trees.push(TreeStatus {
                root: root.display().to_string(),
                collection: tree.collection,
                revision: tree.revision.map(|revision| revision.to_string()).unwrap_or_default(),
                files: files.values().filter(|state| state.blob.is_some()).count() as u64,
                chunks: files.values().map(|state| u64::from(state.chunks)).sum(),
                changed,
            });
        }
        let cluster = self.cluster.ask(&ClusterStatus {}).await?;
        Ok(StatusReport {
            data_dir: self.config.data_dir.display().to_string(),
            model: self.model.name.clone(),
            code_bits: self.code().width.into(),
            trees,
            vectors: cluster.collections.iter().map(|collection| collection.vectors).sum(),
            code_bytes: cluster.collections.iter().map(|collection| collection.code_bytes).sum(),
        })
    }

    /// The cluster, for measurements.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The model in use.
    pub fn model(&self) -> &ModelCard {
        &self.model
    }

    /// Stops what `open` started.
    pub async fn close(self) {
        #[cfg(feature = "embedded")]
        self.embedded.shutdown().await;
    }

    fn place(&self, path: &Path) -> Result<Place, AgentError> {
        let known: Vec<_> = self.manifest.trees()?.into_iter().map(|(root, _)| root).collect();
        resolve(path, &known).map_err(|source| AgentError::Path { path: path.into(), source })
    }

    /// The right to bring this tree up to date; waits for others that do.
    async fn turn(&self, place: &Place, progress: &dyn Progress) -> OwnedMutexGuard<()> {
        let lock = self.trees.of(&place.root);
        if let Ok(turn) = Arc::clone(&lock).try_lock_owned() {
            return turn;
        }
        progress.note("waiting for another index of this folder");
        lock.lock_owned().await
    }

    async fn refresh(
        &self,
        place: &Place,
        confirm: bool,
        _turn: &OwnedMutexGuard<()>,
        progress: &dyn Progress,
    ) -> Result<IndexReport, AgentError> {
        let sync = Sync {
            cluster: &self.cluster,
            manifest: &self.manifest,
            keyring: &self.keyring,
            model: &self.model,
            max_file_bytes: self.config.max_file_bytes,
            confirm,
            progress,
        };
        // Checked before a collection is made, so that a mistyped path leaves no trace.
        if !place.root.is_dir() {
            return Err(WalkError::RootNotFolder { path: place.root.clone() }.into());
        }
        let collection = self.collection(place, true).await?;
        let done = match sync.run(&place.root, &collection).await {
            // The cluster does not know this workspace's last publish: start a new one; known vectors are not made again.
            Err(SyncError::Cluster(error))
                if matches!(
                    error.code,
                    ErrorCode::OutOfSequence | ErrorCode::NotFound | ErrorCode::Behind
                ) =>
            {
                self.forget(place)?;
                sync.run(&place.root, &collection).await
            }
            done => done,
        };
        let (_, mut report) = done?;
        if let Err(error) = self.refresh_lexical(place).await {
            report.warnings.push(format!("answers are by meaning alone: {error}"));
        }
        Ok(report)
    }

    /// Brings the lexical index to what the manifest holds. What is wrong with it is mended once by making it again.
    async fn refresh_lexical(&self, place: &Place) -> Result<Indexed, LexicalError> {
        let files =
            self.manifest.files(&place.root).map_err(|error| LexicalError::Record(error.to_string()))?;
        let files = files.into_iter().filter_map(|(path, state)| Some((path, state.blob?))).collect();
        let keyring = self.keyring.clone();
        let (root, max_file_bytes) = (place.root.clone(), self.config.max_file_bytes);
        let lexical = self.lexical(place)?;
        let work = move || {
            let budget = ChunkBudget::default();
            lexical.update(&Source { root: &root, keyring: &keyring, budget, max_file_bytes }, &files)
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| LexicalError::Record(error.to_string()))?
    }

    /// Makes the next refresh publish the tree from the start.
    fn forget(&self, place: &Place) -> Result<(), AgentError> {
        if let Some(mut tree) = self.manifest.tree(&place.root)? {
            // Settings that no tree has: the next sync starts anew.
            tree.settings.clear();
            self.manifest.reset(&place.root, &tree)?;
        }
        Ok(())
    }

    async fn collection(&self, place: &Place, create: bool) -> Result<CollectionInfo, AgentError> {
        let known = self.manifest.tree(&place.root)?.map(|tree| tree.collection);
        let name = known.unwrap_or_else(|| {
            let salt = self.local_name(&place.root);
            collection_name(&place.root, &salt[..8])
        });
        let request = OpenCollection { name, model: self.model.fingerprint, code: self.code(), create };
        Ok(self.cluster.ask(&request).await?)
    }

    /// How vectors of this agent's collections become codes.
    pub fn code(&self) -> CodeSpec {
        CodeSpec { width: self.config.code_bits, ..CodeSpec::default() }
    }

    fn walk_options(&self) -> WalkOptions {
        WalkOptions { size_cap_bytes: self.config.max_file_bytes, ..WalkOptions::default() }
    }
}

/// A path as a message shows it: the middle of a very long one is left out.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.len() <= SHOWN_PATH_BYTES {
        return text.into_owned();
    }
    let head = text.floor_char_boundary(SHOWN_PATH_BYTES * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - SHOWN_PATH_BYTES / 3);
    format!("{} … {} ({} bytes)", &text[..head], &text[tail..], text.len())
}
