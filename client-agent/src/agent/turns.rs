//! Who may bring a tree up to date: one at a time, others of the same tree in turn, those of other trees at once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

use crate::report::Progress;

/// The right to bring one tree up to date, until the last of its holders drops it.
pub(super) type Turn = Arc<OwnedMutexGuard<()>>;

/// One lock a tree.
#[derive(Debug, Default)]
pub(super) struct Turns {
    trees: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
}

impl Turns {
    /// Waits for the turn of the tree at `root`; says so where it has to.
    pub(super) async fn take(&self, root: &Path, progress: &dyn Progress) -> Turn {
        let lock = {
            // Nothing panics while it is held.
            let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(trees.entry(root.to_owned()).or_default())
        };
        if let Ok(turn) = Arc::clone(&lock).try_lock_owned() {
            return Arc::new(turn);
        }
        progress.note("waiting for another index of this folder");
        Arc::new(lock.lock_owned().await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Silent;
    use futures::FutureExt;

    #[tokio::test]
    async fn a_tree_has_one_turn_and_trees_do_not_wait_for_each_other() {
        let turns = Turns::default();
        let (a, b) = (Path::new("/a"), Path::new("/b"));
        let first = turns.take(a, &Silent).await;
        assert!(turns.take(b, &Silent).now_or_never().is_some());
        let held = Arc::clone(&first);
        drop(first);
        assert!(turns.take(a, &Silent).now_or_never().is_none(), "somebody holds it still");
        drop(held);
        assert!(turns.take(a, &Silent).now_or_never().is_some());
    }
}
