//! The set of files of a checkout: which there are, what their stat says, and why the others were left out.
//!
//! The set is what `git ls-files -co --exclude-standard` gives, minus what is no regular file on disk, minus
//! `.sextantignore`, minus what is over the size cap. Folders are listed and entries are stat'ed; of contents only
//! rule files and git's index and configuration are read, so that a second look at an unchanged tree costs no reads.
//! Must not know what a chunk, a key or a server is.

mod classify;
mod git;
mod root;
mod rules;
mod skip;
mod tracked;
mod traverse;

use std::path::{Path, PathBuf};

pub use classify::{LINE_CAP_BYTES, classify};
pub use root::{OpenError, Root};
pub use skip::{SkipReason, Skipped};

/// Our own ignore file: gitignore syntax, in any folder, on top of git's rules and for tracked files too.
pub const IGNORE_FILE: &str = ".sextantignore";

/// What the caller may choose about a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkOptions {
    /// Files with more bytes than this are listed as [`SkipReason::TooLarge`].
    pub size_cap_bytes: u64,
    /// Threads that list folders; 0 takes the machine's cores, at most 8.
    pub threads: usize,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self { size_cap_bytes: 1 << 20, threads: 0 }
    }
}

/// What `lstat` said of a file: equal twice means unchanged as far as the file system tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileStat {
    /// Length in bytes.
    pub size: u64,
    /// Last change of the content, nanoseconds since 1970; saturates at the ends of i64 (the years 1677, 2262).
    pub mtime_ns: i64,
    /// Last change of content or inode, nanoseconds since 1970; tools that set mtime back cannot set this one.
    pub ctime_ns: i64,
    /// Inode number; changes when an editor writes a new file and renames it over the old.
    pub inode: u64,
    /// Device that the inode number belongs to.
    pub device: u64,
}

/// A file of the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkedFile {
    /// Path below the root of the walk, parts separated by `/`.
    pub path: String,
    /// The stat at the time of the walk.
    pub stat: FileStat,
}

/// The answer of a walk. Both lists are sorted by the bytes of their paths.
#[derive(Debug, Default)]
pub struct WalkOutcome {
    /// The files to index.
    pub files: Vec<WalkedFile>,
    /// What git would list but we leave out. What ignore rules exclude is not listed.
    pub skipped: Vec<Skipped>,
    /// What the user should hear although the walk went on.
    pub warnings: Vec<WalkWarning>,
}

/// Something the user should hear although the walk went on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalkWarning {
    /// Nothing to index.
    #[error(
        "no file to index in {root}: the folder is empty or ignore rules exclude all of it; `git ls-files -co \
         --exclude-standard` shows what git sees there, and {IGNORE_FILE} may exclude more"
    )]
    NoFiles {
        /// The root of the walk.
        root: PathBuf,
    },
    /// There is a `.git`, but it cannot be used.
    #[error(
        "{root} has git metadata that cannot be used ({problem}): only .gitignore files were honoured; repair it \
         (`git status` names the trouble) and index again"
    )]
    GitUnusable {
        /// The root of the walk.
        root: PathBuf,
        /// What failed.
        problem: String,
    },
    /// The list of tracked files could not be read.
    #[error(
        "git's index {path} cannot be read ({problem}): tracked files that an ignore rule matches are missing from \
         the walk; run `git status` there and index again"
    )]
    IndexUnreadable {
        /// The index file.
        path: PathBuf,
        /// What failed.
        problem: String,
    },
    /// An ignore file exists but could not be read, so its rules did not count.
    #[error("the rules of {path} were not applied, for it cannot be read ({problem}); check its permissions")]
    RulesUnreadable {
        /// The rule file.
        path: PathBuf,
        /// What failed.
        problem: String,
    },
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// Nothing is at the root path.
    #[error("no folder at {path}: check the spelling, or name a folder that exists")]
    RootMissing {
        /// The path as given.
        path: PathBuf,
    },
    /// The root path is a file or something else.
    #[error("{path} is not a folder: name the folder that holds it")]
    RootNotFolder {
        /// The path as given.
        path: PathBuf,
    },
    /// The root is inside git's own metadata.
    #[error("{path} lies inside the git directory {git_dir}: name the checkout instead")]
    RootInsideGit {
        /// The path as given.
        path: PathBuf,
        /// The git directory.
        git_dir: PathBuf,
    },
    /// The root cannot be opened or listed.
    #[error("the folder {path} cannot be listed: {source}; check its permissions")]
    RootUnreadable {
        /// The path as given.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Walks `root`, which may be a folder below the top of a git work tree: the rules of the top still hold, and paths
/// stay relative to `root`. A linked worktree and a folder without git work too; nested repositories and submodules
/// are listed as skipped, never entered. Symlinks are never followed, except for `root` itself.
///
/// Costs a `readdir` a folder and an `lstat` a listed file; folders that are ignored and hold no tracked file are
/// not opened. What vanishes while the walk goes on is left out without an error.
pub fn walk(root: &Path, options: &WalkOptions) -> Result<WalkOutcome, WalkError> {
    let handle = Root::open(root)?;
    let mut warnings = Vec::new();
    let checkout = git::look(&handle, root, &mut warnings)?;
    let found = traverse::traverse(&handle, &checkout, options);
    let mut outcome = WalkOutcome { files: found.files, skipped: found.skipped, warnings };
    outcome.warnings.extend(found.warnings);
    if let Some(source) = found.root_error {
        return Err(WalkError::RootUnreadable { path: root.to_path_buf(), source });
    }
    outcome.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    outcome.skipped.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    if outcome.files.is_empty() {
        outcome.warnings.push(WalkWarning::NoFiles { root: root.to_path_buf() });
    }
    Ok(outcome)
}
