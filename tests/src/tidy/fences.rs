//! Fences: which files may name which crate, so that a foreign type or a native library stays in one room.
//! Must not know the packages' order; that is the floors' part.

use super::{Finding, Workspace};

/// The rule's name.
pub const RULE: &str = "fences";

/// A crate and the only places that may name it.
struct Fence {
    /// The name in code. With `family`, every name that begins with it and an underscore as well.
    word: &'static str,
    family: bool,
    /// A file, a module (`x` covers `x.rs` and all in `x/`), or a folder (with a final `/`).
    places: &'static [&'static str],
}

const FENCES: &[Fence] = &[
    Fence { word: "openraft", family: false, places: &["proto/consensus/"] },
    Fence {
        word: "rocksdb",
        family: false,
        places: &["proto/consensus/", "shard-node/src/store", "coordinator/src/meta/store"],
    },
    Fence { word: "tree_sitter", family: true, places: &["client-agent/src/chunk", "tests/src/eval/chunks"] },
    Fence { word: "ort", family: false, places: &["embed-node/src/backend"] },
    // The client's embedded mode is the one place where node libraries meet in a process.
    Fence {
        word: "sextant_shard",
        family: false,
        places: &["client-agent/src/embedded", "shard-node/", "tests/"],
    },
    Fence {
        word: "sextant_embed",
        family: false,
        places: &["client-agent/src/embedded", "embed-node/", "tests/"],
    },
    Fence {
        word: "sextant_coordinator",
        family: false,
        places: &["client-agent/src/embedded", "coordinator/", "tests/"],
    },
];

/// Packages that stay free of some crates altogether.
const BARRED: &[(&str, &[&str])] = &[("sextant-proto", &["tokio", "quinn", "openraft", "rocksdb"])];

impl Fence {
    fn names(&self, word: &str) -> bool {
        word == self.word
            || self.family && word.strip_prefix(self.word).is_some_and(|rest| rest.starts_with('_'))
    }

    fn admits(&self, path: &str) -> bool {
        self.places.iter().any(|place| {
            path.strip_prefix(place)
                .is_some_and(|rest| place.ends_with('/') || rest == ".rs" || rest.starts_with('/'))
        })
    }
}

/// Checks the names in the code (not in comments and strings), and the barred dependencies.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &workspace.sources {
        for fence in FENCES.iter().filter(|fence| !fence.admits(&source.path)) {
            // One finding a file and crate: the first line tells enough.
            if let Some((line, word)) = source.code.roots().find(|(_, word)| fence.names(word)) {
                findings.push(Finding {
                    rule: RULE,
                    place: format!("{}:{line}", source.path),
                    what: format!("names {word}, which only {} may", fence.places.join(", ")),
                });
            }
        }
    }
    for package in &workspace.packages {
        let barred = BARRED.iter().filter(|(name, _)| *name == package.name).flat_map(|(_, barred)| *barred);
        for name in barred.filter(|name| package.dependencies.iter().any(|d| d.package == **name)) {
            findings.push(Finding {
                rule: RULE,
                place: package.name.clone(),
                what: format!("depends on {name}, which it must not know"),
            });
        }
    }
    findings
}
