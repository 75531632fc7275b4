//! Looks for what is wrong with an installation, and says how each is repaired. Needs no daemon and changes nothing.
//!
//! `checks` has one function a subject. Must not know how the findings are shown.

mod checks;

use serde::Serialize;

use crate::config::Config;

/// How well something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Good,
    /// It works, and may not go on so.
    Doubtful,
    /// It does not work.
    Bad,
}

/// What was found on one subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The subject: a stable word.
    pub name: &'static str,
    /// How well it is.
    pub health: Health,
    /// What was found.
    pub found: String,
    /// What to do; absent where nothing needs to be done.
    pub repair: Option<String>,
}

impl Check {
    fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, health: Health::Good, found: found.into(), repair: None }
    }

    fn doubtful(name: &'static str, found: impl Into<String>, repair: impl Into<String>) -> Self {
        Self { name, health: Health::Doubtful, found: found.into(), repair: Some(repair.into()) }
    }

    fn bad(name: &'static str, found: impl Into<String>, repair: impl Into<String>) -> Self {
        Self { name, health: Health::Bad, found: found.into(), repair: Some(repair.into()) }
    }
}

/// All that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// Whether nothing is bad.
    pub healthy: bool,
    /// Every subject.
    pub checks: Vec<Check>,
    /// The daemon's log, whether or not it is there yet.
    pub log: String,
}

/// Looks at everything.
pub async fn examine(config: &Config) -> Examination {
    let daemon = checks::daemon(config).await;
    let settings = config.clone();
    let looked = tokio::task::spawn_blocking(move || checks::of_machine(&settings)).await;
    let mut checks = looked.unwrap_or_else(|error| {
        vec![Check::bad("doctor", format!("looking failed: {error}"), "report this: it is a defect")]
    });
    checks.extend(daemon);
    let healthy = checks.iter().all(|check| check.health != Health::Bad);
    Examination { healthy, checks, log: crate::daemon::log::file(&config.data_dir).display().to_string() }
}
