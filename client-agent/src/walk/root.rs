//! The checkout's folder as a handle: everything below it is opened through here and nothing outside it ever is.
//!
//! A path is resolved from the folder's own descriptor without following a single symlink, so neither a lying server
//! nor a folder swapped for a link while we look leads out of the checkout. Must not know git or ignore rules.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{SkipReason, WalkError};

/// Rule files over this are not read, as in git.
const RULES_CAP_BYTES: u64 = 100 << 20;

/// Why something below the root was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path could not name anything below the root.
    #[error("{0}")]
    BadPath(&'static str),
    /// Nothing is there.
    #[error("nothing is there")]
    Missing,
    /// The path, or a folder on the way, is a symlink.
    #[error("a symbolic link is on the way")]
    Symlink,
    /// It is a folder.
    #[error("it is a folder")]
    Folder,
    /// It is a FIFO, socket or device. It was not opened.
    #[error("it is not a regular file")]
    Special,
    /// The system refused.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl OpenError {
    /// The reason to list; `None` where the path is simply gone.
    pub fn skip_reason(&self) -> Option<SkipReason> {
        match self {
            Self::Missing => None,
            Self::Symlink => Some(SkipReason::Symlink),
            Self::Special | Self::Folder => Some(SkipReason::Special),
            Self::BadPath(problem) => Some(SkipReason::Unreadable { problem: (*problem).to_owned() }),
            Self::Io(error) => Some(SkipReason::Unreadable { problem: error.to_string() }),
        }
    }
}

impl From<Errno> for OpenError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::Missing,
            Errno::LOOP => Self::Symlink,
            other => Self::Io(other.into()),
        }
    }
}

/// An open root folder.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
    path: PathBuf,
}

impl Root {
    /// Opens `path`, the one path whose symlinks are followed: the user named it.
    pub fn open(path: &Path) -> Result<Self, WalkError> {
        let at = || path.to_path_buf();
        let refused = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::NotFound => WalkError::RootMissing { path: at() },
            std::io::ErrorKind::NotADirectory => WalkError::RootNotFolder { path: at() },
            _ => WalkError::RootUnreadable { path: at(), source },
        };
        let real = path.canonicalize().map_err(refused)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&real, flags, Mode::empty()).map_err(|errno| refused(errno.into()))?;
        Ok(Self { folder, path: real })
    }

    /// The root without symlinks, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the regular file at `path` (relative, `/` between parts) for reading. Devices, FIFOs and sockets are
    /// recognised before they are opened, and again after, for they may be swapped in between; never blocks.
    pub fn open_file(&self, path: &str) -> Result<File, OpenError> {
        check(path.as_bytes())?;
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = self.open_folder(parent.as_bytes())?;
        open_regular(folder.as_fd(), name.as_bytes())
    }

    /// Opens the folder at `path`; empty for the root itself.
    pub(super) fn open_folder(&self, path: &[u8]) -> Result<OwnedFd, OpenError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        if path.is_empty() {
            return Ok(rustix::fs::openat(&self.folder, ".", flags, Mode::empty())?);
        }
        check(path)?;
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{ResolveFlags, openat2};
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            match openat2(&self.folder, path, flags, Mode::empty(), resolve) {
                // Old kernels, sandboxes that filter the call, and a rename that raced with the look-up.
                Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::NAMETOOLONG) => {}
                Err(Errno::NOTDIR) => return Err(self.not_a_folder(path)),
                done => return Ok(done?),
            }
        }
        self.open_folder_stepwise(path)
    }

    /// The same by one `openat` a part: what every Unix can do.
    fn open_folder_stepwise(&self, path: &[u8]) -> Result<OwnedFd, OpenError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut folder: Option<OwnedFd> = None;
        for part in path.split(|&byte| byte == b'/') {
            let at = folder.as_ref().map_or(self.folder.as_fd(), AsFd::as_fd);
            let next = match rustix::fs::openat(at, part, flags, Mode::empty()) {
                Err(Errno::NOTDIR) if is_symlink(at, part) => return Err(OpenError::Symlink),
                done => done?,
            };
            folder = Some(next);
        }
        folder.ok_or(OpenError::BadPath("the path is empty"))
    }

    /// Tells a link from a file where a folder was expected.
    #[cfg(target_os = "linux")]
    fn not_a_folder(&self, path: &[u8]) -> OpenError {
        self.open_folder_stepwise(path).err().unwrap_or(OpenError::Missing)
    }
}

fn is_symlink(folder: BorrowedFd<'_>, name: &[u8]) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Refuses what is not plainly a path below a folder.
fn check(path: &[u8]) -> Result<(), OpenError> {
    if path.is_empty() {
        return Err(OpenError::BadPath("the path is empty"));
    }
    if path.contains(&0) {
        return Err(OpenError::BadPath("the path holds a NUL byte"));
    }
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" => return Err(OpenError::BadPath("the path is absolute or has an empty part")),
            b"." | b".." => return Err(OpenError::BadPath("the path has a `.` or `..` part")),
            _ => {}
        }
    }
    Ok(())
}

/// Opens the regular file `name` in `folder`, following nothing.
fn open_regular(folder: BorrowedFd<'_>, name: &[u8]) -> Result<File, OpenError> {
    regular(rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    regular(rustix::fs::fstat(&file)?.st_mode)?;
    Ok(File::from(file))
}

fn regular(mode: rustix::fs::RawMode) -> Result<(), OpenError> {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(OpenError::Symlink),
        FileType::Directory => Err(OpenError::Folder),
        _ => Err(OpenError::Special),
    }
}

/// The bytes of rule file `name` in `folder`; `None` where there is none. As in git, a rule file that is a symlink
/// does not count.
pub(super) fn read_rules(folder: BorrowedFd<'_>, name: &str) -> Result<Option<Vec<u8>>, OpenError> {
    let file = match open_regular(folder, name.as_bytes()) {
        Ok(file) => file,
        Err(OpenError::Io(error)) => return Err(OpenError::Io(error)),
        Err(_) => return Ok(None),
    };
    let mut bytes = Vec::new();
    file.take(RULES_CAP_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_opening_agree() {
        let dir = tempfile::tempdir().expect("temporary folder");
        std::fs::create_dir_all(dir.path().join("a/b")).expect("create");
        std::fs::write(dir.path().join("a/file"), "x").expect("write");
        std::os::unix::fs::symlink("b", dir.path().join("a/link")).expect("link");
        let root = Root::open(dir.path()).expect("open");
        let name =
            |result: Result<OwnedFd, OpenError>| result.map_or_else(|e| e.to_string(), |_| "ok".into());
        for path in ["a", "a/b", "a/file", "a/file/x", "a/link", "a/link/x", "a/none", "none/b"] {
            let quick = name(root.open_folder(path.as_bytes()));
            let stepwise = name(root.open_folder_stepwise(path.as_bytes()));
            assert_eq!(quick, stepwise, "{path}");
        }
        assert_eq!(name(root.open_folder(b"a/link")), OpenError::Symlink.to_string());
        assert_eq!(name(root.open_folder(b"a/file")), OpenError::Missing.to_string());
    }

    #[test]
    fn a_deep_path_is_opened_part_by_part() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = Root::open(dir.path()).expect("open");
        let part = "d".repeat(200);
        let mut at = root.open_folder(b"").expect("root");
        let mut path = String::new();
        for _ in 0..30 {
            rustix::fs::mkdirat(&at, part.as_str(), Mode::from_raw_mode(0o755)).expect("mkdir");
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            at = rustix::fs::openat(&at, part.as_str(), flags, Mode::empty()).expect("openat");
            path.push_str(if path.is_empty() { "" } else { "/" });
            path.push_str(&part);
        }
        assert!(path.len() > 4096);
        assert!(root.open_folder(path.as_bytes()).is_ok());
    }
}
