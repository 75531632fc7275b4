//! What is told of the index.

use std::path::Path;

use sextant_proto::coordinator::ClusterStatus;

use super::{Agent, AgentError};
use crate::diff::diff;
use crate::report::{StatusReport, TreeStatus};
use crate::walk::walk;

impl Agent {
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
}
