//! Every Rust file begins by saying what it owns.

use super::{Finding, Workspace};

/// The rule's name.
pub const RULE: &str = "docs";

/// Checks the first line: `//!` with words after it.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let undocumented = workspace.sources.iter().filter(|source| {
        let first = source.text.lines().next().unwrap_or_default();
        first.strip_prefix("//!").is_none_or(|words| words.trim().is_empty())
    });
    undocumented
        .map(|source| Finding {
            rule: RULE,
            place: source.path.clone(),
            what: "does not begin with a `//!` line that says what it owns".to_owned(),
        })
        .collect()
}
