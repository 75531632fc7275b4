//! What changed between the manifest and a walk. Pure: no content is read here.

use std::collections::BTreeMap;

use crate::manifest::FileState;
use crate::walk::{FileStat, WalkedFile};

/// A change within this time before it was recorded may have been missed by the file system's clock.
const RACY_NS: i64 = 20_000_000;

/// Outcome of a comparison.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Files to read: new, or with another stat.
    pub suspects: Vec<WalkedFile>,
    /// Paths that are gone.
    pub gone: Vec<String>,
    /// Files whose stat is the recorded one.
    pub unchanged: u64,
}

/// Compares what is known with what is there. `walked` is sorted by path.
pub fn diff(known: &BTreeMap<String, FileState>, walked: &[WalkedFile]) -> Difference {
    let mut difference = Difference::default();
    for file in walked {
        match known.get(&file.path) {
            Some(state) if is_same(state, &file.stat) => difference.unchanged += 1,
            _ => difference.suspects.push(file.clone()),
        }
    }
    let is_there = |path: &str| walked.binary_search_by(|file| file.path.as_str().cmp(path)).is_ok();
    difference.gone = known.keys().filter(|path| !is_there(path)).cloned().collect();
    difference
}

/// Same size, times and inode, and recorded well after the last change.
fn is_same(state: &FileState, stat: &FileStat) -> bool {
    state.stat == *stat && state.recorded_ns.saturating_sub(stat.ctime_ns.max(stat.mtime_ns)) > RACY_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stat(n: i64) -> FileStat {
        FileStat { size: n as u64, mtime_ns: n, ctime_ns: n, inode: 1, device: 1 }
    }

    fn walked(path: &str, n: i64) -> WalkedFile {
        WalkedFile { path: path.into(), stat: stat(n) }
    }

    fn state(n: i64, recorded_ns: i64) -> FileState {
        FileState { stat: stat(n), recorded_ns, ..FileState::default() }
    }

    #[test]
    fn a_file_recorded_right_after_its_change_is_read_again() {
        let known =
            BTreeMap::from([("a".into(), state(5, 5 + RACY_NS)), ("b".into(), state(5, 6 + RACY_NS))]);
        let difference = diff(&known, &[walked("a", 5), walked("b", 5)]);
        assert_eq!(difference.suspects, [walked("a", 5)]);
        assert_eq!(difference.unchanged, 1);
    }

    proptest! {
        #[test]
        fn every_path_is_unchanged_suspect_or_gone(
            before in proptest::collection::btree_map("[a-c]{1,2}", 0i64..3, 0..8),
            after in proptest::collection::btree_map("[a-c]{1,2}", 0i64..3, 0..8),
        ) {
            let known = before.iter().map(|(path, n)| (path.clone(), state(*n, i64::MAX))).collect();
            let walk: Vec<_> = after.iter().map(|(path, n)| walked(path, *n)).collect();
            let difference = diff(&known, &walk);
            let suspects: Vec<_> = walk.iter().filter(|f| before.get(&f.path) != after.get(&f.path)).cloned().collect();
            let gone: Vec<_> = before.keys().filter(|path| !after.contains_key(*path)).cloned().collect();
            prop_assert_eq!(difference.unchanged as usize, walk.len() - suspects.len());
            prop_assert_eq!(difference.suspects, suspects);
            prop_assert_eq!(difference.gone, gone);
        }
    }
}
