//! What can be wrong with a configuration.
//!
//! Owns the words of each problem. Must not know how the layers are read.

use std::path::PathBuf;

use crate::config::layer::KEYS;

/// Why there is no valid configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The home folder is unknown, and so are the folders below it.
    #[error("cannot tell where the home folder is: set HOME")]
    NoHome,
    /// A file was named that cannot be read.
    #[error("cannot read the configuration {}: {source}; name another with --config", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file holds a key that does not exist.
    #[error("{}: there is no key `{key}`{}", file.display(), did_you_mean(nearest.as_deref()))]
    UnknownKey {
        /// The file.
        file: PathBuf,
        /// The key.
        key: String,
        /// The key that was perhaps meant.
        nearest: Option<&'static str>,
    },
    /// A file is no TOML, or a key has a value of the wrong type.
    #[error("{}: {problem}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// Which key and why.
        problem: String,
    },
    /// A value is outside of what it may be.
    #[error(
        "the value of `{key}` {problem}; correct it in the configuration file, the environment or the flags"
    )]
    Invalid {
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    match nearest {
        Some(key) => format!("; did you mean `{key}`?"),
        None => format!("; the keys are {}", KEYS.join(", ")),
    }
}
