//! Why a process cannot start.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Every variant names the setting or file to change.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The configuration file cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    ConfigFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The configuration file is no TOML, or a value does not fit its key.
    #[error("{}: {reason}", path.display())]
    ConfigValue {
        /// The file.
        path: PathBuf,
        /// The key with its line, and what is wrong.
        reason: String,
    },
    /// Keys that mean nothing.
    #[error("{}: unknown {}: {}; correct or remove", path.display(), if keys.len() == 1 { "key" } else { "keys" }, keys.join(", "))]
    ConfigKeys {
        /// The file.
        path: PathBuf,
        /// Their paths, such as `server.prot`.
        keys: Vec<String>,
    },
    /// The log filter does not parse.
    #[error("log level {level:?}: {reason}; use error, warn, info, debug, trace, or target=level pairs")]
    LogLevel {
        /// What was given.
        level: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The log file cannot be opened.
    #[error("cannot open the log file {}: {source}", path.display())]
    LogFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something else of this process has a log or recorder already.
    #[error("{0} was started twice in this process")]
    Twice(&'static str),
    /// The metrics address cannot be served.
    #[error("cannot serve metrics on {addr}: {reason}; set another metrics_addr, or none")]
    Metrics {
        /// The address.
        addr: SocketAddr,
        /// What went wrong.
        reason: String,
    },
    /// The system refuses signal handlers.
    #[error("cannot listen for signals: {0}")]
    Signals(std::io::Error),
}
