//! The daemon's log: a file in the data folder, rotated by size, that its owner alone can read.
//!
//! Must not know what is logged.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use file_rotate::compression::Compression;
use file_rotate::suffix::AppendCount;
use file_rotate::{ContentLimit, FileRotate};
use tracing_subscriber::EnvFilter;

use crate::config::LogLevel;

/// A file over this is put aside, bytes.
const FILE_CAP_BYTES: usize = 4 << 20;
/// Files put aside that are kept.
const KEPT: usize = 3;

/// The log's file of a data folder. Those put aside have `.1`, `.2`, … behind their name, the newest first.
pub fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("logs").join("daemon.log")
}

/// Sends this process's events, and the words of a panic, to the log's file. Once a process; the folder exists.
pub fn start(data_dir: &Path, level: LogLevel) {
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true).mode(0o600);
    let writer = FileRotate::new(
        file(data_dir),
        AppendCount::new(KEPT),
        ContentLimit::BytesSurpassed(FILE_CAP_BYTES),
        Compression::None,
        Some(options),
    );
    // Where it is left at its default the daemon's own steps are told too: few lines, and what one looks for first.
    let filter = match level {
        LogLevel::Warn => EnvFilter::new("warn,sextant_client::daemon=info,sextant_client::api=info"),
        level => EnvFilter::new(level.as_str()),
    };
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Mutex::new(writer));
    // Set already only in a process that has another log; that one is as good.
    let _ = tracing::subscriber::set_global_default(subscriber.finish());
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
}
