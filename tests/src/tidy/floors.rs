//! Floors: a package depends only on packages of the workspace that lie strictly lower.
//! Must not know what other crates a package uses; that is the fences' part.

use super::{Finding, Workspace};

/// The rule's name.
pub const RULE: &str = "floors";

/// Where each package lies. Equal floors never see each other; they meet through `sextant-proto` over the transport.
const FLOORS: &[(&str, u8)] = &[
    ("sextant-proto", 0),
    ("sextant-kernels", 0),
    ("sextant-transport", 1),
    ("sextant-daemon", 1),
    ("sextant-consensus", 1),
    ("sextant-shard", 2),
    ("sextant-embed", 2),
    ("sextant-coordinator", 2),
    ("sextant-client", 2),
    ("sextant-tests", 4),
];

/// The one exception: the client's optional feature `embedded` starts the three servers in its own process.
const EMBEDDING: (&str, &[&str]) =
    ("sextant-client", &["sextant-shard", "sextant-embed", "sextant-coordinator"]);

fn floor_of(package: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == package).map(|(_, floor)| *floor)
}

/// Checks every dependency between packages of the workspace, of every kind.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let Some(floor) = floor_of(&package.name) else {
            findings.push(Finding {
                rule: RULE,
                place: package.name.clone(),
                what: "has no floor; give it one in the table of floors".to_owned(),
            });
            continue;
        };
        for dependency in &package.dependencies {
            let Some(below) = floor_of(&dependency.package) else { continue };
            let (embedder, embedded) = EMBEDDING;
            let excepted = dependency.optional
                && package.name == embedder
                && embedded.contains(&dependency.package.as_str());
            if below >= floor && !excepted {
                findings.push(Finding {
                    rule: RULE,
                    place: package.name.clone(),
                    what: format!(
                        "lies on floor {floor} and depends on {} on floor {below}; it may only depend on lower floors",
                        dependency.package
                    ),
                });
            }
        }
    }
    findings
}
