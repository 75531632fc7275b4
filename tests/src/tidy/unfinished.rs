//! Nothing unfinished is committed: no skipped test, no placeholder that panics.

use super::{Finding, Workspace};

/// The rule's name.
pub const RULE: &str = "unfinished";

/// A fragment of code without its spaces, and what it stands for.
const REFUSED: &[(&str, &str)] = &[
    ("#[ignore", "a test that never runs"),
    ("todo!(", "a placeholder that panics"),
    ("unimplemented!(", "a placeholder that panics"),
];

/// Checks the code, not comments and strings.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &workspace.sources {
        for (row, line) in source.code.lines().enumerate() {
            let line: String = line.split_whitespace().collect();
            for (_, meaning) in REFUSED.iter().filter(|(fragment, _)| line.contains(fragment)) {
                findings.push(Finding {
                    rule: RULE,
                    place: format!("{}:{}", source.path, row + 1),
                    what: format!("{meaning}; finish it or leave it out"),
                });
            }
        }
    }
    findings
}
