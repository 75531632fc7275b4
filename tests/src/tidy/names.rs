//! Names: a module is called by the thing that it owns, so the names of drawers for everything are refused.

use super::{Finding, Workspace};

/// The rule's name.
pub const RULE: &str = "names";

const REFUSED: &[&str] = &["common", "util", "utils", "misc", "helper", "helpers"];

/// Checks file and folder names, `mod` declarations, and package names.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut refuse = |place: String, name: &str| {
        findings.push(Finding {
            rule: RULE,
            place,
            what: format!("is called {name}; name it after the thing that it owns"),
        });
    };
    for source in &workspace.sources {
        let stem = source.path.strip_suffix(".rs").unwrap_or(&source.path);
        if let Some(name) = stem.split('/').find(|part| REFUSED.contains(part)) {
            refuse(source.path.clone(), name);
        }
        // Inline modules have no file of their own.
        let mut before = "";
        for (line, word) in source.code.words() {
            if before == "mod" && REFUSED.contains(&word) {
                refuse(format!("{}:{line}", source.path), word);
            }
            before = word;
        }
    }
    for package in &workspace.packages {
        if let Some(name) = package.name.split('-').find(|part| REFUSED.contains(part)) {
            refuse(package.name.clone(), name);
        }
    }
    findings
}
