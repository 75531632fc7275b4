//! The catalogue of metrics against the sources: a name that is recorded is described, and the other way round.

use std::collections::BTreeSet;
use std::path::Path;

use sextant_daemon::catalogue::CATALOGUE;

/// Names in calls of the recording macros of one source text.
fn recorded(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for call in ["counter!(", "gauge!(", "histogram!("] {
        for (at, _) in text.match_indices(call) {
            let described = text[..at].ends_with("describe_");
            let rest = text[at + call.len()..].trim_start();
            if let Some(name) = rest.strip_prefix('"').and_then(|rest| rest.split('"').next())
                && !described
            {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

#[test]
fn names_are_found_in_calls_alone() {
    let text = "metrics::counter!(\n    \"a_total\", \"l\" => x); describe_gauge!(\"b\"); // c\nhistogram!(\"d_seconds\")";
    assert_eq!(recorded(text), BTreeSet::from(["a_total".to_owned(), "d_seconds".to_owned()]));
}

#[test]
fn the_catalogue_is_what_is_recorded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for room in ["proto", "shard-node", "embed-node", "coordinator", "client-agent"] {
        for entry in ignore::Walk::new(root.join(room)) {
            let entry = entry.expect("a room can be listed");
            if entry.path().extension().is_some_and(|ending| ending == "rs") {
                found.extend(recorded(&std::fs::read_to_string(entry.path()).expect("a source can be read")));
            }
        }
    }
    let described: BTreeSet<String> = CATALOGUE.iter().map(|metric| metric.name.to_owned()).collect();
    assert_eq!(found, described);
}
