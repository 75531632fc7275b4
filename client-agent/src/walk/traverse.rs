//! Lists the folders of the root, level by level on a few threads, and decides for every entry whether it is in.
//!
//! The order of decisions is git's: a folder that is a submodule, excluded (with nothing tracked below) or another
//! repository is not entered; in an excluded folder only tracked files count. Must not know where rules come from.

use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gix::glob::pattern::Case;
use rustix::fs::{AtFlags, Dir, FileType};
use rustix::io::Errno;

use super::git::{Checkout, is_repository};
use super::root::{OpenError, read_rules};
use super::rules::{Candidate, Rules, excluded};
use super::tracked::Known;
use super::{FileStat, IGNORE_FILE, Root, SkipReason, Skipped, WalkOptions, WalkWarning, WalkedFile};

/// A level with fewer folders is not worth a thread.
const FOLDERS_PER_THREAD: usize = 8;

/// What the folders gave, unsorted.
#[derive(Default)]
pub(super) struct Found {
    pub(super) files: Vec<WalkedFile>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) warnings: Vec<WalkWarning>,
    /// The root itself could not be listed.
    pub(super) root_error: Option<std::io::Error>,
}

/// A folder to list.
struct Folder {
    /// Relative to the top of the work tree.
    path: Vec<u8>,
    rules: Option<Arc<Rules>>,
    ours: Option<Arc<Rules>>,
    /// The tracked paths below it.
    rows: Range<usize>,
    /// Git excludes it, yet tracked files are below.
    tracked_only: bool,
}

struct Entry {
    name: Vec<u8>,
    kind: FileType,
}

struct Traversal<'a> {
    root: &'a Root,
    checkout: &'a Checkout,
    size_cap_bytes: u64,
    /// Bytes of a top-relative path that lie before its root-relative part.
    lead: usize,
}

/// Lists everything below `root` that counts.
pub(super) fn traverse(root: &Root, checkout: &Checkout, options: &WalkOptions) -> Found {
    let mut found = Found::default();
    if checkout.ours_excluded {
        return found;
    }
    let prefix = &checkout.prefix;
    let lead = if prefix.is_empty() { 0 } else { prefix.len() + 1 };
    let traversal = Traversal { root, checkout, size_cap_bytes: options.size_cap_bytes, lead };
    let cores = || std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let threads = if options.threads == 0 { cores() } else { options.threads };
    let mut level = vec![Folder {
        path: prefix.clone(),
        rules: checkout.rules.clone(),
        ours: checkout.ours.clone(),
        rows: checkout.tracked.below(checkout.tracked.all(), prefix),
        tracked_only: checkout.excluded,
    }];
    while !level.is_empty() {
        level = traversal.list_level(&level, threads, &mut found);
    }
    found
}

impl Traversal<'_> {
    /// Lists the folders of one level; gives those of the next.
    fn list_level(&self, level: &[Folder], threads: usize, found: &mut Found) -> Vec<Folder> {
        let threads = threads.min(level.len().div_ceil(FOLDERS_PER_THREAD));
        let mut below = Vec::new();
        if threads <= 1 {
            for folder in level {
                self.list(folder, &mut below, found);
            }
            return below;
        }
        let turn = AtomicUsize::new(0);
        let work = || {
            let (mut below, mut found) = (Vec::new(), Found::default());
            while let Some(folder) = level.get(turn.fetch_add(1, Ordering::Relaxed)) {
                self.list(folder, &mut below, &mut found);
            }
            (below, found)
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut parts = vec![work()];
            for other in others {
                match other.join() {
                    Ok(part) => parts.push(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            for (more, part) in parts {
                below.extend(more);
                found.files.extend(part.files);
                found.skipped.extend(part.skipped);
                found.warnings.extend(part.warnings);
            }
        });
        below
    }

    fn list(&self, folder: &Folder, below: &mut Vec<Folder>, found: &mut Found) {
        let is_root = folder.path == self.checkout.prefix;
        let relative = folder.path.get(self.lead..).unwrap_or_default();
        let opened = self.root.open_folder(relative).and_then(|fd| {
            let entries = read_entries(fd.as_fd())?;
            Ok((fd, entries))
        });
        let (fd, entries) = match opened {
            Ok(opened) => opened,
            Err(error) if is_root => {
                found.root_error = Some(match error {
                    OpenError::Io(error) => error,
                    other => std::io::Error::other(other.to_string()),
                });
                return;
            }
            Err(error) => return self.skip(&folder.path, error.skip_reason(), found),
        };
        if !is_root && folder.rows.is_empty() && entries.iter().any(|entry| self.is_dot_git(&entry.name)) {
            let dot_git = self.on_disk(&folder.path).join(".git");
            if is_repository(&dot_git) {
                return self.skip(&folder.path, Some(SkipReason::NestedRepository), found);
            }
        }
        let mut here = Folder {
            path: folder.path.clone(),
            rules: folder.rules.clone(),
            ours: folder.ours.clone(),
            rows: folder.rows.clone(),
            tracked_only: folder.tracked_only,
        };
        for entry in &entries {
            let rules = match entry.name.as_slice() {
                b".gitignore" => &mut here.rules,
                name if name == IGNORE_FILE.as_bytes() => &mut here.ours,
                _ => continue,
            };
            let name = String::from_utf8_lossy(&entry.name);
            match read_rules(fd.as_fd(), &name) {
                Ok(Some(bytes)) => *rules = Rules::nearer(rules.take(), &folder.path, &bytes),
                Ok(None) => {}
                Err(error) => found.warnings.push(WalkWarning::RulesUnreadable {
                    path: self.on_disk(&folder.path).join(name.as_ref()),
                    problem: error.to_string(),
                }),
            }
        }
        let mut path = folder.path.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        let stem = path.len();
        for entry in entries {
            if self.is_dot_git(&entry.name) {
                continue;
            }
            path.truncate(stem);
            path.extend_from_slice(&entry.name);
            let kind = match entry.kind {
                // Some file systems do not tell in the listing.
                FileType::Unknown => match stat(fd.as_fd(), &entry.name) {
                    Ok((kind, _)) => kind,
                    Err(Errno::NOENT) => continue,
                    Err(errno) => {
                        self.skip(&path, OpenError::from(errno).skip_reason(), found);
                        continue;
                    }
                },
                kind => kind,
            };
            if kind == FileType::Directory {
                below.extend(self.decide_folder(&here, &path, found));
            } else if self.is_in(&here, &path) {
                self.take_file(fd.as_fd(), &entry.name, &path, kind, found);
            }
        }
    }

    /// The folder at `path`, if it is to be entered.
    fn decide_folder(&self, parent: &Folder, path: &[u8], found: &mut Found) -> Option<Folder> {
        let candidate = Candidate { path, is_dir: true, case: self.checkout.case };
        if excluded(parent.ours.as_ref(), candidate) {
            return None;
        }
        let tracked = &self.checkout.tracked;
        if tracked.known(parent.rows.clone(), path) == Known::Submodule {
            self.skip(path, Some(SkipReason::Submodule), found);
            return None;
        }
        let rows = tracked.below(parent.rows.clone(), path);
        let tracked_only = parent.tracked_only || excluded(parent.rules.as_ref(), candidate);
        if tracked_only && rows.is_empty() {
            return None;
        }
        if std::str::from_utf8(path).is_err() {
            self.skip(path, Some(SkipReason::NameNotUtf8), found);
            return None;
        }
        let (rules, ours) = (parent.rules.clone(), parent.ours.clone());
        Some(Folder { path: path.to_vec(), rules, ours, rows, tracked_only })
    }

    /// Whether the rules let in what is at `path` and is no folder.
    fn is_in(&self, parent: &Folder, path: &[u8]) -> bool {
        let candidate = Candidate { path, is_dir: false, case: self.checkout.case };
        let tracked = self.checkout.tracked.known(parent.rows.clone(), path) != Known::No;
        let by_git = tracked || (!parent.tracked_only && !excluded(parent.rules.as_ref(), candidate));
        by_git && !excluded(parent.ours.as_ref(), candidate)
    }

    fn take_file(&self, fd: BorrowedFd<'_>, name: &[u8], path: &[u8], kind: FileType, found: &mut Found) {
        let reason = match kind {
            FileType::RegularFile => match stat(fd, name) {
                // Swapped since it was listed; a folder in its place is for the next walk.
                Ok((kind, _)) if kind != FileType::RegularFile => not_regular(kind),
                Ok((_, stat)) if stat.size > self.size_cap_bytes => {
                    Some(SkipReason::TooLarge { size: stat.size, cap: self.size_cap_bytes })
                }
                Ok((_, stat)) => match std::str::from_utf8(&path[self.lead..]) {
                    Ok(path) => {
                        found.files.push(WalkedFile { path: path.to_owned(), stat });
                        return;
                    }
                    Err(_) => Some(SkipReason::NameNotUtf8),
                },
                Err(errno) => OpenError::from(errno).skip_reason(),
            },
            kind => not_regular(kind),
        };
        self.skip(path, reason, found);
    }

    fn skip(&self, path: &[u8], reason: Option<SkipReason>, found: &mut Found) {
        if let Some(reason) = reason {
            let path = String::from_utf8_lossy(path.get(self.lead..).unwrap_or_default()).into_owned();
            found.skipped.push(Skipped { path, reason });
        }
    }

    fn is_dot_git(&self, name: &[u8]) -> bool {
        match self.checkout.case {
            Case::Sensitive => name == b".git",
            Case::Fold => name.eq_ignore_ascii_case(b".git"),
        }
    }

    fn on_disk(&self, path: &[u8]) -> PathBuf {
        let relative = path.get(self.lead..).unwrap_or_default();
        self.root.path().join(std::ffi::OsStr::from_bytes(relative))
    }
}

fn not_regular(kind: FileType) -> Option<SkipReason> {
    match kind {
        FileType::Symlink => Some(SkipReason::Symlink),
        FileType::Directory => None,
        _ => Some(SkipReason::Special),
    }
}

fn read_entries(folder: BorrowedFd<'_>) -> Result<Vec<Entry>, OpenError> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            entries.push(Entry { name: name.to_vec(), kind: entry.file_type() });
        }
    }
    Ok(entries)
}

fn stat(folder: BorrowedFd<'_>, name: &[u8]) -> Result<(FileType, FileStat), Errno> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let ns =
        |seconds: i64, nanoseconds: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
    #[allow(clippy::unnecessary_cast)] // The field types differ between systems.
    let file = FileStat {
        size: stat.st_size as u64,
        mtime_ns: ns(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        ctime_ns: ns(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        inode: stat.st_ino as u64,
        device: stat.st_dev as u64,
    };
    Ok((FileType::from_raw_mode(stat.st_mode), file))
}
