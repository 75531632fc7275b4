//! The agent: everything that a command needs, opened once. Commands come in here and values of `report` go out.
//!
//! `ask` has the way of a question, `status` what is told of the index, `turns` who may bring a tree up to date.

mod ask;
mod error;
mod status;
mod turns;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sextant_proto::code::CodeSpec;
use sextant_proto::coordinator::{CollectionInfo, OpenCollection};
use sextant_proto::embed::ModelCard;
use sextant_proto::error::ErrorCode;

use crate::chunk::ChunkBudget;
use crate::cluster::Cluster;
use crate::config::Config;
use crate::data_dir::{self, DataLock};
use crate::key::Keyring;
use crate::lexical::{Indexed, LexicalError, Shelf, Source};
use crate::manifest::Manifest;
use crate::report::{Answer, IndexReport, Progress};
use crate::sync::{Sync, SyncError};
use crate::tree::{Place, collection_name, resolve};
use crate::walk::{WalkError, WalkOptions};

pub use crate::search::SearchOptions;
pub use ask::Gathered;
pub use error::AgentError;
use turns::{Turn, Turns};

/// How long a command waits for another one to release the data folder.
const LOCK_WAIT: Duration = Duration::from_mins(10);
/// Longest question, bytes.
const MAX_QUERY_BYTES: usize = 64 << 10;
/// How long a search of an indexed tree waits for an index of it that is under way before it answers from what is there.
const INDEX_WAIT: Duration = Duration::from_secs(2);

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
    turns: Turns,
    // Held until the end: one process a data folder.
    _lock: Arc<DataLock>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("data_dir", &self.config.data_dir).finish_non_exhaustive()
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
        let settings = crate::sync::settings(config.max_file_bytes, &budget(config));
        let shelf = Shelf::new(dir.join("client").join("lexical"), settings);
        Ok(Self {
            config: config.clone(),
            manifest,
            keyring,
            cluster,
            model,
            shelf,
            embedded,
            turns: Turns::default(),
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
        let turn = self.turns.take(&place.root, progress).await;
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
            match tokio::time::timeout(patience, self.turns.take(&place.root, progress)).await {
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
                let turn = self.turns.take(&place.root, progress).await;
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

    /// A name for a folder of this machine that tells nothing of it.
    fn local_name(&self, root: &Path) -> String {
        self.keyring.text(root.as_os_str().as_encoded_bytes()).to_string()
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
        turn: &Turn,
        progress: &dyn Progress,
    ) -> Result<IndexReport, AgentError> {
        let sync = Sync {
            cluster: &self.cluster,
            manifest: &self.manifest,
            keyring: &self.keyring,
            model: &self.model,
            budget: self.budget(),
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
        if let Err(error) = self.refresh_lexical(place, Arc::clone(turn)).await {
            report.warnings.push(format!("answers are by meaning alone: {error}"));
        }
        Ok(report)
    }

    /// Brings the lexical index to what the manifest holds. What is wrong with it is mended once by making it again.
    async fn refresh_lexical(&self, place: &Place, turn: Turn) -> Result<Indexed, LexicalError> {
        let files =
            self.manifest.files(&place.root).map_err(|error| LexicalError::Record(error.to_string()))?;
        let files = files.into_iter().filter_map(|(path, state)| Some((path, state.blob?))).collect();
        let keyring = self.keyring.clone();
        let (root, max_file_bytes) = (place.root.clone(), self.config.max_file_bytes);
        let (lexical, budget) = (self.lexical(place)?, self.budget());
        let work = move || {
            // This goes on where the caller gives up, and nobody else may begin before it has ended.
            let _turn = turn;
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

    /// How files are cut.
    pub fn budget(&self) -> ChunkBudget {
        budget(&self.config)
    }

    fn walk_options(&self) -> WalkOptions {
        WalkOptions { size_cap_bytes: self.config.max_file_bytes, ..WalkOptions::default() }
    }
}

fn budget(config: &Config) -> ChunkBudget {
    ChunkBudget { preferred: config.chunk_chars, ..ChunkBudget::default() }
}
