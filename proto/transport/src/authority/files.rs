//! Secret files: mode 0600 in folders of mode 0700, written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::TransportError;

/// Larger files are no keys or certificates.
const MAX_FILE_BYTES: u64 = 1 << 20;

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> TransportError {
    move |source| TransportError::File { action, path: path.into(), source }
}

/// A file's bytes, up to a bound.
fn read_bounded(path: &Path) -> Result<(Vec<u8>, u32), TransportError> {
    let file = File::open(path).map_err(failed("open", path))?;
    let mode = file.metadata().map_err(failed("inspect", path))?.permissions().mode() & 0o777;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(failed("read", path))?;
    Ok((bytes, mode))
}

/// The bytes of a file that must be its owner's alone.
pub(crate) fn read_secret(path: &Path) -> Result<Vec<u8>, TransportError> {
    let (bytes, mode) = read_bounded(path)?;
    if mode & 0o077 != 0 {
        return Err(TransportError::Exposed { path: path.into(), mode, wanted: 0o600 });
    }
    Ok(bytes)
}

/// The text of a file that anybody may read.
pub(crate) fn read_text(path: &Path) -> Result<String, TransportError> {
    let (bytes, _) = read_bounded(path)?;
    String::from_utf8(bytes).map_err(|_| TransportError::Damaged {
        path: path.into(),
        reason: "it is no text".into(),
        repair: "restore it from a backup or issue it again",
    })
}

/// A name beside `path` that no other process uses.
fn temporary(path: &Path) -> Result<PathBuf, TransportError> {
    let mut random = [0u8; 8];
    getrandom::fill(&mut random).map_err(|error| TransportError::Random(error.to_string()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{:016x}", u64::from_le_bytes(random))))
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<(), TransportError> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(failed("create", path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed("write", path))
}

fn sync_folder(path: &Path) -> Result<(), TransportError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent).and_then(|folder| folder.sync_all()).map_err(failed("sync", parent))
}

/// Makes a file of mode 0600 with `bytes`; [`TransportError::Exists`] where there is one. A crash leaves it whole or absent.
pub(crate) fn create_secret(path: &Path, bytes: &[u8]) -> Result<(), TransportError> {
    let draft = temporary(path)?;
    write_new(&draft, bytes)?;
    let linked = fs::hard_link(&draft, path);
    let _ = fs::remove_file(&draft);
    match linked {
        Ok(()) => sync_folder(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(TransportError::Exists(path.into())),
        Err(error) => Err(failed("create", path)(error)),
    }
}

/// Replaces a file with one of mode 0600.
pub(crate) fn replace_secret(path: &Path, bytes: &[u8]) -> Result<(), TransportError> {
    let draft = temporary(path)?;
    write_new(&draft, bytes)?;
    fs::rename(&draft, path).map_err(failed("replace", path))?;
    sync_folder(path)
}

/// Makes a folder of mode 0700 that holds `files`, all of mode 0600, in one rename; [`TransportError::Exists`] where a
/// folder with anything in it is there already.
pub(crate) fn create_folder(path: &Path, files: &[(&str, &[u8])]) -> Result<(), TransportError> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed("create", parent))?;
    let draft = temporary(path)?;
    fs::DirBuilder::new().mode(0o700).create(&draft).map_err(failed("create", &draft))?;
    let filled = files.iter().try_for_each(|(name, bytes)| write_new(&draft.join(name), bytes));
    let renamed = filled.and_then(|()| {
        fs::rename(&draft, path).map_err(|error| match error.kind() {
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                TransportError::Exists(path.into())
            }
            _ => failed("create", path)(error),
        })
    });
    if renamed.is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    renamed.and_then(|()| sync_folder(path))
}
