//! Where a daemon is found: a Unix socket in a folder of its owner's, and a record of it in the data folder.
//!
//! The socket does not lie in the data folder itself: its path may hold 107 bytes at most, and the data folder may be on
//! a file system that has no sockets. Must not know who connects.

use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Longest path of a socket, bytes: `sun_path` holds 108 with the final zero.
const PATH_CAP_BYTES: usize = 107;
/// The record's name in the data folder.
const RECORD: &str = "daemon.json";

/// What a daemon writes down about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its socket.
    #[serde(with = "crate::path_text")]
    pub socket: PathBuf,
    /// Its process.
    pub pid: u32,
}

/// Why there is no place for a socket.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The system refused.
    #[error(
        "{path}: {doing} failed: {source}; make the folder writable for you, or set XDG_RUNTIME_DIR to one"
    )]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// Somebody else could reach it.
    #[error(
        "{path} must be a folder of yours that nobody else can enter (mode 700), and is not: remove it, or set \
         XDG_RUNTIME_DIR to a folder of yours"
    )]
    Open {
        /// The folder.
        path: PathBuf,
    },
}

/// The socket of the data folder's daemon, its folder made and checked.
pub fn socket(data_dir: &Path) -> Result<PathBuf, AddressError> {
    let path = path_of(data_dir);
    if let Some(folder) = path.parent() {
        private_folder(folder, rustix::process::getuid().as_raw())?;
    }
    Ok(path)
}

/// The same, its folder checked where it is there, and nothing made.
pub fn planned(data_dir: &Path) -> Result<PathBuf, AddressError> {
    let path = path_of(data_dir);
    if let Some(folder) = path.parent().filter(|folder| folder.symlink_metadata().is_ok()) {
        check(folder, rustix::process::getuid().as_raw())?;
    }
    Ok(path)
}

fn path_of(data_dir: &Path) -> PathBuf {
    let real = data_dir.canonicalize().unwrap_or_else(|_| data_dir.to_owned());
    let name = format!("{}.sock", &blake3::hash(real.as_os_str().as_bytes()).to_hex()[..16]);
    let uid = rustix::process::getuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let usable = |folder: &PathBuf| {
        folder.is_absolute() && folder.metadata().is_ok_and(|found| found.is_dir() && found.uid() == uid)
    };
    let own = runtime.filter(usable).map(|folder| folder.join("sextant").join(&name));
    own.filter(|path| path.as_os_str().len() <= PATH_CAP_BYTES)
        .unwrap_or_else(|| PathBuf::from(format!("/tmp/sextant-{uid}")).join(&name))
}

fn private_folder(folder: &Path, uid: u32) -> Result<(), AddressError> {
    let failed = |doing| move |source| AddressError::Io { path: folder.to_owned(), doing, source };
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(failed("making the folder of the socket")(error))
        }
        _ => check(folder, uid),
    }
}

fn check(folder: &Path, uid: u32) -> Result<(), AddressError> {
    let failed = |doing| move |source| AddressError::Io { path: folder.to_owned(), doing, source };
    let found = folder.symlink_metadata().map_err(failed("looking at the folder of the socket"))?;
    if found.is_dir() && found.uid() == uid && found.mode().trailing_zeros() >= 6 {
        return Ok(());
    }
    Err(AddressError::Open { path: folder.to_owned() })
}

impl Record {
    /// The record of the data folder; `None` where there is none that can be read.
    pub fn read(data_dir: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(data_dir.join(RECORD)).ok()?).ok()
    }

    /// Writes it down, at once whole.
    pub fn write(&self, data_dir: &Path) -> Result<(), AddressError> {
        let path = data_dir.join(RECORD);
        let fresh = data_dir.join(format!("{RECORD}.new"));
        let failed =
            |source| AddressError::Io { path: path.clone(), doing: "writing down the address", source };
        let bytes = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        std::fs::write(&fresh, bytes).and_then(|()| std::fs::rename(&fresh, &path)).map_err(failed)
    }

    /// Takes it back, and the socket with it.
    pub fn remove(&self, data_dir: &Path) {
        // Gone already where these fail; a stale one is recognised by nobody's answering.
        let _ = std::fs::remove_file(&self.socket);
        let _ = std::fs::remove_file(data_dir.join(RECORD));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn each_data_folder_has_its_own_short_path() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let deep = dir.path().join("d".repeat(200));
        std::fs::create_dir(&deep).expect("made");
        let (a, b) = (socket(dir.path()).expect("a path"), socket(&deep).expect("a path"));
        assert_ne!(a, b);
        assert!(a.as_os_str().len() <= PATH_CAP_BYTES && b.as_os_str().len() <= PATH_CAP_BYTES);
    }

    #[test]
    fn a_folder_that_others_may_enter_is_refused() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let uid = rustix::process::getuid().as_raw();
        let own = dir.path().join("own");
        private_folder(&own, uid).expect("made");
        assert_eq!(own.metadata().expect("there").permissions().mode() & 0o777, 0o700);
        private_folder(&own, uid).expect("found again");
        assert!(private_folder(&own, uid + 1).is_err(), "another's");
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o750)).expect("opened");
        assert!(private_folder(&own, uid).is_err(), "open to the group");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).expect("linked");
        assert!(private_folder(&link, uid).is_err(), "a link");
    }

    #[test]
    fn a_record_is_read_back_and_rubbish_is_none() {
        let dir = tempfile::tempdir().expect("temporary folder");
        assert_eq!(Record::read(dir.path()), None);
        let record = Record { socket: dir.path().join("s"), pid: 7 };
        record.write(dir.path()).expect("written");
        assert_eq!(Record::read(dir.path()), Some(record));
        std::fs::write(dir.path().join(RECORD), "{\"pid\":").expect("written");
        assert_eq!(Record::read(dir.path()), None);
    }
}
