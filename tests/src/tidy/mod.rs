//! The repository's rules as pure checks: a workspace read into values goes in, findings come out.
//! This module must not know what the packages do, only how they may lie.
//!
//! A rule that is not written here holds by habit alone; each one has a planted violation in the tests.

use std::fmt;

pub mod code;
pub mod docs;
pub mod fences;
pub mod floors;
pub mod names;
pub mod paths;
pub mod sizes;
pub mod unfinished;
pub mod unsafety;
pub mod workspace;

pub use workspace::Workspace;

/// One broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The rule's short name, one of [`RULES`].
    pub rule: &'static str,
    /// A file relative to the root, with `:line` (from 1) where there is one; or a package's name.
    pub place: String,
    /// What is wrong there and what to do about it.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: [{}] {}", self.place, self.rule, self.what)
    }
}

/// A rule: its short name and its check.
pub type Rule = (&'static str, fn(&Workspace) -> Vec<Finding>);

/// All rules.
pub const RULES: &[Rule] = &[
    (floors::RULE, floors::check),
    (fences::RULE, fences::check),
    (sizes::RULE, sizes::check),
    (names::RULE, names::check),
    (unsafety::RULE, unsafety::check),
    (unfinished::RULE, unfinished::check),
    (docs::RULE, docs::check),
    (paths::RULE, paths::check),
];

/// Checks every rule; the findings are sorted by rule and place.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings: Vec<_> = RULES.iter().flat_map(|(_, rule)| rule(workspace)).collect();
    findings.sort();
    findings
}
