//! What git knows about the root: its place in the work tree, the tracked paths, the rules from outside it.
//!
//! Reads `.git` itself; needs no git binary. The only file here that opens a repository. Must not know how folders
//! are listed.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::glob::pattern::Case;

use super::root::read_rules;
use super::rules::{Candidate, Rules, excluded};
use super::tracked::Tracked;
use super::{IGNORE_FILE, Root, WalkError, WalkWarning};

/// Everything about the root that is not in it.
pub(super) struct Checkout {
    /// The root relative to the top of the work tree; empty where it is the top.
    pub(super) prefix: Vec<u8>,
    pub(super) tracked: Tracked,
    pub(super) case: Case,
    /// Git's rules that hold for the whole root.
    pub(super) rules: Option<Arc<Rules>>,
    /// The same of [`IGNORE_FILE`].
    pub(super) ours: Option<Arc<Rules>>,
    /// Git's rules exclude the root: only tracked files count.
    pub(super) excluded: bool,
    /// Our rules exclude the root: nothing counts.
    pub(super) ours_excluded: bool,
}

impl Checkout {
    fn without_repository(case: Case, warnings: &mut Vec<WalkWarning>) -> Self {
        Self {
            prefix: Vec::new(),
            tracked: Tracked::nothing(case),
            case,
            rules: rules_of(global_without_repository(), None, warnings),
            ours: None,
            excluded: false,
            ours_excluded: false,
        }
    }
}

/// Finds the repository that holds `root`; without one (or with one that is broken, which adds a warning) only the
/// global ignore file is known.
pub(super) fn look(
    root: &Root,
    given: &Path,
    warnings: &mut Vec<WalkWarning>,
) -> Result<Checkout, WalkError> {
    let repository = match gix::discover(root.path()) {
        Ok(repository) => Some(repository),
        Err(error) => {
            if root.path().ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok()) {
                let problem = error.to_string();
                warnings.push(WalkWarning::GitUnusable { root: given.to_path_buf(), problem });
            }
            None
        }
    };
    let Some(repository) = repository else {
        return Ok(Checkout::without_repository(Case::Sensitive, warnings));
    };
    for git_dir in [repository.git_dir(), repository.common_dir()] {
        if git_dir.canonicalize().is_ok_and(|git_dir| root.path().starts_with(git_dir)) {
            let git_dir = git_dir.to_path_buf();
            return Err(WalkError::RootInsideGit { path: given.to_path_buf(), git_dir });
        }
    }
    let config = repository.config_snapshot();
    let case = match config.boolean("core.ignoreCase") {
        Some(true) => Case::Fold,
        _ => Case::Sensitive,
    };
    let top = repository.workdir().and_then(|top| top.canonicalize().ok());
    let Some(prefix) = top.as_ref().and_then(|top| root.path().strip_prefix(top).ok()) else {
        let problem = "the folder is in no work tree of it".to_owned();
        warnings.push(WalkWarning::GitUnusable { root: given.to_path_buf(), problem });
        return Ok(Checkout::without_repository(case, warnings));
    };
    let global = config.trusted_path("core.excludesFile").ok().flatten().or_else(xdg_ignore);
    let global = global.map(|path| top.as_ref().map_or(path.clone(), |top| top.join(&path)));
    let rules = rules_of(global, None, warnings);
    let rules = rules_of(Some(repository.common_dir().join("info/exclude")), rules, warnings);
    let mut checkout = Checkout {
        prefix: prefix.as_os_str().as_bytes().to_vec(),
        tracked: tracked_paths(&repository, case, warnings),
        case,
        rules,
        ours: None,
        excluded: false,
        ours_excluded: false,
    };
    if let Some(top) = &top {
        descend(top, &mut checkout, warnings);
    }
    Ok(checkout)
}

/// Collects the rule files from the top of the work tree down to the folder above the root.
fn descend(top: &Path, checkout: &mut Checkout, warnings: &mut Vec<WalkWarning>) {
    if checkout.prefix.is_empty() {
        return;
    }
    let Ok(top) = Root::open(top) else { return };
    let prefix = checkout.prefix.clone();
    let cuts = prefix.iter().enumerate().filter(|&(_, &byte)| byte == b'/').map(|(at, _)| at);
    let mut above: &[u8] = b"";
    for cut in cuts.chain([prefix.len()]) {
        // Where it vanishes as we look, the walk itself will say so.
        let Ok(folder) = top.open_folder(above) else { return };
        let mut add = |farther: &mut Option<Arc<Rules>>, name: &str| match read_rules(folder.as_fd(), name) {
            Ok(Some(bytes)) => *farther = Rules::nearer(farther.take(), above, &bytes),
            Ok(None) => {}
            Err(error) => warnings.push(WalkWarning::RulesUnreadable {
                path: top.path().join(std::ffi::OsStr::from_bytes(above)).join(name),
                problem: error.to_string(),
            }),
        };
        add(&mut checkout.rules, ".gitignore");
        add(&mut checkout.ours, IGNORE_FILE);
        let candidate = Candidate { path: &prefix[..cut], is_dir: true, case: checkout.case };
        checkout.excluded |= excluded(checkout.rules.as_ref(), candidate);
        checkout.ours_excluded |= excluded(checkout.ours.as_ref(), candidate);
        above = &prefix[..cut];
    }
}

/// True where `dot_git` (a folder, or a file that leads to one) makes its parent a repository in git's eyes.
pub(super) fn is_repository(dot_git: &Path) -> bool {
    gix::discover::is_git(dot_git).is_ok()
}

fn tracked_paths(repository: &gix::Repository, case: Case, warnings: &mut Vec<WalkWarning>) -> Tracked {
    // Not `repository.index()`: that would obey GIT_INDEX_FILE, which hooks set to a half-made index.
    let path = repository.git_dir().join("index");
    if !path.exists() {
        return Tracked::nothing(case);
    }
    let skip_checksum = true;
    match gix::index::File::at(
        &path,
        repository.object_hash(),
        skip_checksum,
        gix::index::decode::Options::default(),
    ) {
        Ok(index) => Tracked::from_index(&index, case),
        Err(error) => {
            warnings.push(WalkWarning::IndexUnreadable { path, problem: error.to_string() });
            Tracked::nothing(case)
        }
    }
}

/// Puts the rules of the file at `path`, which hold for the whole tree, in front of `farther`.
fn rules_of(
    path: Option<PathBuf>,
    farther: Option<Arc<Rules>>,
    warnings: &mut Vec<WalkWarning>,
) -> Option<Arc<Rules>> {
    let Some(path) = path else { return farther };
    if !path.is_file() {
        return farther; // Also keeps us from reading a FIFO.
    }
    match std::fs::read(&path) {
        Ok(bytes) => Rules::nearer(farther, b"", &bytes),
        Err(error) => {
            warnings.push(WalkWarning::RulesUnreadable { path, problem: error.to_string() });
            farther
        }
    }
}

/// The user's global ignore file where no repository's configuration names one.
fn global_without_repository() -> Option<PathBuf> {
    use gix::config::{File, Source};
    // Not `File::from_globals`: it runs the git binary to find the installation's own configuration.
    let mut named = None;
    for source in [Source::System, Source::Git, Source::User] {
        let path = source.storage_location(&mut |name| std::env::var_os(name)).filter(|path| path.is_file());
        let Some(config) = path.and_then(|path| File::from_path_no_includes(path, source).ok()) else {
            continue;
        };
        let home = std::env::home_dir();
        let context =
            gix::config::path::interpolate::Context { home_dir: home.as_deref(), ..Default::default() };
        if let Some(path) = config.path("core.excludesFile").and_then(|path| path.interpolate(context).ok()) {
            named = Some(path);
        }
    }
    named.or_else(xdg_ignore)
}

/// Git's default for `core.excludesFile`.
fn xdg_ignore() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    Some(folder.or_else(|| Some(std::env::home_dir()?.join(".config")))?.join("git/ignore"))
}
