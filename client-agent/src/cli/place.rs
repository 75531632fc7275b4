//! Where a hit lies, as seen from the folder the user stands in.
//!
//! Must not touch files: folders come in as absolute paths without symlinks.

use std::path::{Path, PathBuf};

/// The folder that was searched and the one the user stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// What paths of an answer start from. Absolute.
    pub(super) root: PathBuf,
    /// The current folder. Absolute.
    pub(super) current: PathBuf,
}

impl Place {
    /// `path` (from the root, `/` between parts) as seen from the current folder, `../` where needed.
    pub(super) fn seen(&self, path: &str) -> String {
        let full = self.root.join(path);
        match pathdiff::diff_paths(&full, &self.current) {
            Some(seen) if !seen.as_os_str().is_empty() => seen.to_string_lossy().into_owned(),
            _ => full.to_string_lossy().into_owned(),
        }
    }

    /// The place of a search in `path`, from the processes' folder `current`; symlinks resolved where that can be
    /// done (the agent tells what is wrong with a path where it cannot).
    pub(super) fn of(path: &Path, current: &Path) -> Self {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        Self { root: real(current.join(path)), current: real(current.to_path_buf()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_seen_from_the_current_folder() {
        for (root, current, path, seen) in [
            ("/a/b", "/a/b", "src/x.rs", "src/x.rs"),
            ("/a/b", "/a", "src/x.rs", "b/src/x.rs"),
            ("/a/b", "/a/b/src/deep", "src/x.rs", "../x.rs"),
            ("/a/b", "/c", "x", "../a/b/x"),
            ("/", "/c", "x", "../x"),
        ] {
            let place = Place { root: root.into(), current: current.into() };
            assert_eq!(place.seen(path), seen, "{root} from {current}");
        }
    }

    #[test]
    fn the_path_seen_leads_to_the_file() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let base = folder.path();
        std::fs::create_dir_all(base.join("tree/src")).expect("create");
        std::fs::create_dir_all(base.join("else/where")).expect("create");
        std::fs::write(base.join("tree/src/x"), "").expect("write");
        std::os::unix::fs::symlink(base.join("tree"), base.join("link")).expect("link");
        for (path, from) in [("../../link", "else/where"), ("tree", "."), (".", "tree"), ("..", "tree/src")] {
            let place = Place::of(Path::new(path), &base.join(from));
            let seen = place.current.join(place.seen("src/x"));
            assert!(seen.exists(), "{path} from {from}: {}", seen.display());
        }
    }
}
