//! The agent: everything that a command needs, opened once. Commands come in here and values of `report` go out.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sextant_proto::code::CodeSpec;
use sextant_proto::coordinator::{ClusterStatus, CollectionInfo, OpenCollection};
use sextant_proto::coverage::Coverage;
use sextant_proto::embed::ModelCard;
use sextant_proto::error::{ErrorCode, WireError};

use crate::chunk::ChunkBudget;
use crate::cluster::Cluster;
use crate::config::Config;
use crate::diff::diff;
use crate::key::Keyring;
use crate::lexical::{Indexed, Lexical, LexicalError, Shelf, Source};
use crate::manifest::{Manifest, ManifestError, TreeRow};
use crate::rank::asked::Asked;
use crate::rank::weights::Weights;
use crate::rank::{Candidate, Words, rank};
use crate::report::{Answer, IndexReport, Progress, StatusReport, Timing, TreeStatus};
use crate::search::{self, Question};
use crate::sync::{Sync, SyncError};
use crate::tree::{Place, collection_name, resolve};
use crate::walk::{WalkError, WalkOptions, walk};

pub use crate::search::SearchOptions;

/// How long a command waits for another one to release the data folder.
const LOCK_WAIT: Duration = Duration::from_mins(10);
/// How often it looks.
const LOCK_POLL: Duration = Duration::from_millis(50);
/// Longest question, bytes.
const MAX_QUERY_BYTES: usize = 64 << 10;

/// Why a command fails.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// A folder of the agent's.
    #[error(
        "{path}: {doing} failed: {source}; check that the folder exists and may be written, or set SEXTANT_DATA_DIR"
    )]
    DataDir {
        /// The folder or file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// Another process.
    #[error(
        "{path} is in use by another sextant; wait for it to end, or set SEXTANT_DATA_DIR to another folder"
    )]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// A path of the user's.
    #[error("{path}: {source}; check the spelling")]
    Path {
        /// As given.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
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
    // Held until the end: one process a data folder.
    _lock: File,
}

impl Agent {
    /// Opens the data folder and starts the embedded cluster.
    pub async fn open(config: &Config, progress: &dyn Progress) -> Result<Self, AgentError> {
        let dir = &config.data_dir;
        let client_dir = dir.join("client");
        make_private(dir)?;
        // Vectors give away much of the text they stand for, so the servers' folders are as private as the client's.
        for name in ["client", "shard", "coordinator"] {
            make_private(&dir.join(name))?;
        }
        let lock = lock(&dir.join("lock"), progress).await?;
        let manifest = Manifest::open(&client_dir.join("manifest.redb"))?;
        let keyring = Keyring::new(&crate::embedded::org_key(dir)?);
        let (embedded, cluster) = crate::embedded::Embedded::start(config).await?;
        let model = cluster.model().await?;
        let settings = crate::sync::settings(config.max_file_bytes, &ChunkBudget::default());
        let shelf = Shelf::new(client_dir.join("lexical"), settings);
        Ok(Self { config: config.clone(), manifest, keyring, cluster, model, shelf, embedded, _lock: lock })
    }

    /// Brings the index of the tree at `path` up to date.
    pub async fn index(&self, path: &Path, progress: &dyn Progress) -> Result<IndexReport, AgentError> {
        let place = self.place(path)?;
        let mut report = self.refresh(&place, true, progress).await?;
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
        if options.refresh || self.manifest.tree(&place.root)?.is_none_or(|tree| tree.revision.is_none()) {
            warnings = self.refresh(&place, false, progress).await?.warnings;
        }
        let refresh = started.elapsed().as_secs_f64();
        let answer = match self.ask(query, &place, options).await {
            // The cluster has lost what the manifest says it holds (a replica that stays behind was asked several
            // times by now): publish it again, then ask again.
            Err(AgentError::Cluster(error))
                if matches!(error.code, ErrorCode::NotFound | ErrorCode::Behind) =>
            {
                self.forget(&place)?;
                warnings = self.refresh(&place, false, progress).await?.warnings;
                self.ask(query, &place, options).await
            }
            answer => answer,
        };
        let mut answer = answer?;
        answer.timing.refresh = refresh;
        answer.warnings.extend(warnings);
        Ok(answer)
    }

    async fn ask(&self, query: &str, place: &Place, options: &SearchOptions) -> Result<Answer, AgentError> {
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
            coverage: gathered.coverage,
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
            let changed = walk(&root, &options).ok().map(|outcome| {
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

    async fn refresh(
        &self,
        place: &Place,
        confirm: bool,
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

fn make_private(dir: &Path) -> Result<(), AgentError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|source| AgentError::DataDir {
        path: dir.into(),
        doing: "making the folder",
        source,
    })
}

async fn lock(path: &Path, progress: &dyn Progress) -> Result<File, AgentError> {
    let failed = |source| AgentError::DataDir { path: path.into(), doing: "locking the data folder", source };
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(failed)?;
    let started = Instant::now();
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) if started.elapsed() > LOCK_WAIT => {
                return Err(AgentError::Busy { path: path.into() });
            }
            Err(TryLockError::WouldBlock) => {
                if !told {
                    progress.note("waiting for another sextant that uses the same data folder");
                    told = true;
                }
                tokio::time::sleep(LOCK_POLL).await;
            }
        }
    }
}
