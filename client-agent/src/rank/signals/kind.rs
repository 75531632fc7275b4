//! What kind of code a chunk is: what is not the implementation stands behind it, unless the question asks for it.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sextant_proto::chunk::flags;
use sextant_proto::search::Hit;

use crate::rank::asked::Asked;
use crate::rank::weights::Weights;

/// Folders of examples.
const EXAMPLES: &[&str] = &[
    "example",
    "examples",
    "sample",
    "samples",
    "demo",
    "demos",
    "docs",
    "doc",
    "documentation",
    "tutorial",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
];
/// Folders of what is kept for others' sake.
const OLD: &[&str] = &[
    "legacy",
    "compat",
    "deprecated",
    "locale",
    "locales",
    "i18n",
    "l10n",
    "vendor",
    "vendored",
    "third_party",
    "generated",
    "stubs",
    "typings",
];
/// Endings of files that only declare what others implement.
const STUBS: &[&str] = &[".d.ts", ".pyi"];
/// Languages of prose.
const DOCUMENTS: &[&str] = &["markdown", "text", "restructuredtext", "asciidoc"];
/// Beginnings of the words by which a question asks for each kind.
const ASKS_TEST: &[&str] = &["test", "mock", "fixture", "spec"];
const ASKS_EXAMPLE: &[&str] =
    &["example", "sample", "demo", "doc", "readme", "changelog", "tutorial", "guide", "bench"];
const ASKS_OLD: &[&str] =
    &["legacy", "compat", "deprecat", "locale", "i18n", "vendor", "generated", "stub", "typing", "translat"];
const ASKS_VERSION: &[&str] = &["legacy", "old", "v1", "v2", "v3"];

/// Kinds of code that stand behind the implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "a chunk may be of any of these kinds at once")]
pub struct Kind {
    /// Test code.
    pub test: bool,
    /// Examples and documents.
    pub example: bool,
    /// Legacy code, translations, type stubs, foreign and generated code.
    pub old: bool,
    /// A version that has a later one beside it.
    pub old_version: bool,
}

impl Kind {
    /// The part of its score that a chunk keeps.
    pub(in crate::rank) fn keeps(self, weights: &Weights) -> f32 {
        let factors = [
            (self.test, weights.test),
            (self.example, weights.example),
            (self.old, weights.old),
            (self.old_version, weights.old_version),
        ];
        factors.into_iter().filter(|(is, _)| *is).map(|(_, keeps)| keeps).product()
    }
}

/// The kind of a candidate; a kind that the question asks for does not count.
pub(in crate::rank) fn kind(asked: &Asked, hit: &Hit, folders: &HashSet<&str>) -> Kind {
    let file_at = hit.path.rfind('/').unwrap_or_default();
    let above: Vec<String> = hit.path[..file_at].split('/').map(str::to_ascii_lowercase).collect();
    let in_any = |names: &[&str]| above.iter().any(|part| names.contains(&part.as_str()));
    let is_stub = STUBS.iter().any(|ending| hit.path.ends_with(ending));
    let is_document = DOCUMENTS.contains(&hit.language.as_str());
    Kind {
        test: hit.flags & flags::TEST != 0 && !asked.mentions(ASKS_TEST),
        example: (in_any(EXAMPLES) || is_document) && !asked.mentions(ASKS_EXAMPLE),
        old: (in_any(OLD) || is_stub) && !asked.mentions(ASKS_OLD),
        old_version: older_sibling(&hit.path, folders) && !asked.mentions(ASKS_VERSION),
    }
}

/// Whether a folder `vN` of the path has a sibling `vM` with a larger number among the candidates' folders.
fn older_sibling(path: &str, folders: &HashSet<&str>) -> bool {
    let number = |part: &str| part.strip_prefix('v').and_then(|digits| digits.parse::<u32>().ok());
    let ends = path.match_indices('/').map(|(at, _)| at);
    let mut start = 0;
    for end in ends {
        let part = &path[start..end];
        if let Some(mine) = number(part) {
            let above = &path[..start];
            let later = folders.iter().any(|folder| {
                folder
                    .strip_prefix(above)
                    .is_some_and(|rest| !rest.contains('/') && number(rest).is_some_and(|other| other > mine))
            });
            if later {
                return true;
            }
        }
        start = end + 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_version_beside_it_makes_a_folder_old() {
        let folders = HashSet::from(["src/v3", "src/v4", "src"]);
        assert!(older_sibling("src/v3/a.ts", &folders));
        assert!(!older_sibling("src/v4/a.ts", &folders));
        assert!(!older_sibling("lib/v3/a.ts", &folders));
        assert!(!older_sibling("src/vendor/a.ts", &folders));
    }
}
