//! The data folder: made for its owner alone, and locked, so that one process at a time works in it.
//!
//! Must not know what lies in the stores.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a process that waits for the lock looks again.
const POLL: Duration = Duration::from_millis(25);
/// Folders in the data folder that only their owner may look into. Vectors give away much of the text they stand for,
/// so the servers' folders are as private as the client's.
const PRIVATE: [&str; 4] = ["client", "shard", "coordinator", "logs"];
/// Name of the lock file.
pub const LOCK: &str = "lock";

/// Why the data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// The system refused.
    #[error(
        "{path}: {doing} failed: {source}; check that the folder exists, may be written and has room, or set \
         SEXTANT_DATA_DIR"
    )]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// Another process has it.
    #[error(
        "{path} is in use by another sextant{}; stop it, or set SEXTANT_DATA_DIR to another folder",
        holder.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// Who has it, where it said so.
        holder: Option<u32>,
    },
}

/// The lock of a data folder; released when dropped, and by the system when the process ends.
#[derive(Debug)]
pub struct DataLock {
    _file: File,
}

/// Makes the data folder and what must be private in it. Folders that exist keep their modes.
pub fn make(dir: &Path) -> Result<(), DataDirError> {
    for folder in std::iter::once(dir.to_owned()).chain(PRIVATE.map(|name| dir.join(name))) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|source| DataDirError::Io { path: folder, doing: "making the folder", source })?;
    }
    Ok(())
}

/// Who holds the lock of the data folder; `None` where nobody does. The process id is absent where it is not known.
pub fn holder(dir: &Path) -> std::io::Result<Option<Option<u32>>> {
    let mut file = match File::open(dir.join(LOCK)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
        Err(TryLockError::WouldBlock) => Ok(Some(pid_in(&mut file))),
    }
}

fn pid_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

impl DataLock {
    /// Takes the lock, waiting up to `patience` for another process to give it up. `waiting` hears once that it waits.
    pub async fn take(dir: &Path, patience: Duration, waiting: impl Fn()) -> Result<Self, DataDirError> {
        let path = dir.join(LOCK);
        let failed =
            |source| DataDirError::Io { path: path.clone(), doing: "locking the data folder", source };
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let mut file = options.open(&path).map_err(failed)?;
        let started = Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(source)) => return Err(failed(source)),
                Err(TryLockError::WouldBlock) if started.elapsed() >= patience => {
                    return Err(DataDirError::Busy { holder: pid_in(&mut file), path });
                }
                Err(TryLockError::WouldBlock) => {
                    if !told {
                        waiting();
                        told = true;
                    }
                    tokio::time::sleep(POLL).await;
                }
            }
        }
        let note_holder = || {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        let mut note_holder = note_holder;
        note_holder().map_err(failed)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_has_the_lock_and_is_named() {
        let dir = tempfile::tempdir().expect("temporary folder");
        make(dir.path()).expect("made");
        assert_eq!(holder(dir.path()).expect("asked"), None);
        let first = DataLock::take(dir.path(), Duration::ZERO, || {}).await.expect("free");
        assert_eq!(holder(dir.path()).expect("asked"), Some(Some(std::process::id())));
        let waited = std::cell::Cell::new(0);
        let second = DataLock::take(dir.path(), POLL * 3, || waited.set(waited.get() + 1)).await;
        let message = second.expect_err("held").to_string();
        assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
        assert_eq!(waited.get(), 1, "told once");
        drop(first);
        assert!(DataLock::take(dir.path(), Duration::ZERO, || {}).await.is_ok());
    }
}
