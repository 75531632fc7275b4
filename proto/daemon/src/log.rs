//! The process's log: where it goes, how much of it, in which form.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::error::DaemonError;

/// The variable that overrules [`LogOptions::level`].
pub const LEVEL_VARIABLE: &str = "SEXTANT_LOG";

/// Settings of the log.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// A level, or `target=level` pairs with commas between them.
    pub level: String,
    /// Appended to (mode 0600 where it is made); `None` is stderr.
    pub file: Option<PathBuf>,
    /// One JSON object a line.
    pub json: bool,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { level: "info".into(), file: None, json: false }
    }
}

/// Starts the log of this process, once. `SEXTANT_LOG`, where set and not empty, overrules the level.
pub fn start_log(options: &LogOptions) -> Result<(), DaemonError> {
    let level = std::env::var(LEVEL_VARIABLE).ok().filter(|level| !level.is_empty());
    let dispatch = dispatch(options, level.as_deref())?;
    tracing::dispatcher::set_global_default(dispatch).map_err(|_| DaemonError::Twice("the log"))
}

fn dispatch(options: &LogOptions, overruling: Option<&str>) -> Result<tracing::Dispatch, DaemonError> {
    let level = overruling.unwrap_or(&options.level);
    let filter = EnvFilter::builder()
        .parse(level)
        .map_err(|error| DaemonError::LogLevel { level: level.into(), reason: error.to_string() })?;
    let (writer, colours) = if let Some(path) = &options.file {
        (BoxMakeWriter::new(Mutex::new(open(path)?)), false)
    } else {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        (BoxMakeWriter::new(std::io::stderr), terminal && std::env::var_os("NO_COLOR").is_none())
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colours);
    Ok(if options.json { builder.json().into() } else { builder.into() })
}

fn open(path: &Path) -> Result<File, DaemonError> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map_err(|source| DaemonError::LogFile { path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(options: &LogOptions, overruling: Option<&str>) -> String {
        let dispatch = dispatch(options, overruling).unwrap();
        tracing::dispatcher::with_default(&dispatch, || {
            tracing::info!(answer = 42, "quiet");
            tracing::warn!("loud");
        });
        std::fs::read_to_string(options.file.as_ref().unwrap()).unwrap()
    }

    #[test]
    fn level_form_and_file_are_as_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| Some(dir.path().join(name));
        let text = LogOptions { file: file("text"), ..LogOptions::default() };
        let lines = write(&text, None);
        assert!(
            lines.contains("answer=42") && lines.contains("loud") && !lines.contains('\u{1b}'),
            "{lines}"
        );
        let json = LogOptions { file: file("json"), json: true, ..LogOptions::default() };
        assert!(write(&json, None).lines().all(|line| line.starts_with('{') && line.ends_with('}')));
        let quiet = LogOptions { file: file("quiet"), ..LogOptions::default() };
        let lines = write(&quiet, Some("warn"));
        assert!(!lines.contains("quiet") && lines.contains("loud"), "{lines}");
        // Appended to, not replaced.
        assert_eq!(write(&quiet, Some("warn")).lines().count(), 2);
    }

    #[test]
    fn errors_name_the_level_or_the_file() {
        let bad = dispatch(&LogOptions::default(), Some("sextant=lowd")).unwrap_err().to_string();
        assert!(bad.contains("lowd"), "{bad}");
        let file = Some(PathBuf::from("/nowhere/at/all.log"));
        let bad = dispatch(&LogOptions { file, ..LogOptions::default() }, None).unwrap_err().to_string();
        assert!(bad.contains("/nowhere/at/all.log"), "{bad}");
    }
}
