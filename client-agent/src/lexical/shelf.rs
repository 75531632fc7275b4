//! Owns the open lexical indexes of this machine, one a tree. Must not know what is in them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Lexical, LexicalError};

/// Every tree's index, opened when it is asked for.
pub struct Shelf {
    dir: PathBuf,
    settings: String,
    open: Mutex<HashMap<PathBuf, Arc<Lexical>>>,
}

impl Shelf {
    /// Indexes below `dir`, of trees cut with `settings`.
    pub fn new(dir: PathBuf, settings: String) -> Self {
        Self { dir, settings, open: Mutex::default() }
    }

    /// The index of the tree at `root`, made where it is missing. `name` is the name of its folder.
    pub fn of(&self, root: &Path, name: &str) -> Result<Arc<Lexical>, LexicalError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(root) {
            return Ok(Arc::clone(known));
        }
        let lexical = Arc::new(Lexical::open(&self.dir.join(name), &self.settings)?);
        open.insert(root.to_owned(), Arc::clone(&lexical));
        Ok(lexical)
    }

    /// Closes the index of a tree, so that the next call opens it again.
    pub fn close(&self, root: &Path) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(root);
    }
}
