//! Which build of the program this is, and which of two is newer.
//!
//! Must not know who asks.

use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::config::Config;

/// A build of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Program {
    /// Version, as `sextant --version` prints it.
    pub version: String,
    /// When its executable was written, milliseconds since 1970: tells two builds of one version apart.
    pub built_ms: u64,
    /// Bytes of its executable.
    pub bytes: u64,
}

impl Program {
    /// That of this process. Taken at its start, for the file may be replaced later.
    pub fn this() -> Self {
        let metadata = std::env::current_exe().and_then(std::fs::metadata);
        let modified = metadata.as_ref().ok().and_then(|metadata| metadata.modified().ok());
        let age = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            built_ms: age.as_millis() as u64,
            bytes: metadata.map_or(0, |metadata| metadata.len()),
        }
    }

    /// Whether this one should take over from `running`. Of two builds that are equally new neither does, so that two
    /// installations do not throw each other out in turns.
    pub fn supersedes(&self, running: &Self) -> bool {
        (numbers(&self.version), self.built_ms) > (numbers(&running.version), running.built_ms)
    }
}

fn numbers(version: &str) -> Vec<u64> {
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    plain.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// Fingerprint of the settings that a daemon works by: one with others hands over. How much is logged, and which file
/// said all this, do not count.
pub fn settings(config: &Config) -> String {
    let Config { file: _, log: _, .. } = config;
    let counted = Config { file: None, log: crate::config::LogLevel::Off, ..config.clone() };
    blake3::hash(format!("{counted:?}").as_bytes()).to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(version: &str, built_ms: u64) -> Program {
        Program { version: version.into(), built_ms, bytes: 1 }
    }

    #[test]
    fn the_newer_one_supersedes_and_never_both() {
        for (older, newer) in [
            (program("0.1.0", 9), program("0.2.0", 1)),
            (program("0.9.0", 9), program("0.10.0", 1)),
            (program("0.1.0", 1), program("0.1.0", 2)),
            (program("0.1.0-pre", 1), program("0.1.1", 1)),
        ] {
            assert!(newer.supersedes(&older) && !older.supersedes(&newer), "{older:?} {newer:?}");
            assert!(!newer.supersedes(&newer.clone()));
        }
    }

    #[test]
    fn this_program_knows_its_file() {
        let this = Program::this();
        assert!(this.built_ms > 1_500_000_000_000 && this.bytes > 0, "{this:?}");
    }
}
