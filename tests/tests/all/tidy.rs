//! The repository keeps its rules, and every rule finds the violation that is planted for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sextant_tests::tidy::{Finding, RULES, Workspace, check};
use tempfile::TempDir;

#[test]
fn the_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace");
    let workspace = Workspace::load(root).expect("the workspace can be read");
    assert!(workspace.packages.len() > 5, "the packages were found");
    assert!(
        workspace.sources.iter().any(|source| source.path == "tests/tests/all/tidy.rs"),
        "sources were found"
    );
    assert!(workspace.texts.iter().any(|text| text.path == ".gitignore"), "other files were found");
    let findings: Vec<_> = check(&workspace).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{} broken rules:\n{}", findings.len(), findings.join("\n"));
}

/// A small workspace that keeps every rule; a test adds to it what breaks one.
struct Sample {
    folder: TempDir,
}

impl Sample {
    fn new() -> Self {
        let sample = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        sample.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"proto\", \"proto/transport\", \"shard-node\", \"embed-node\", \"client-agent\"]\n");
        sample.package("proto", "sextant-proto", "");
        sample.package("proto/transport", "sextant-transport", "sextant-proto = { path = \"..\" }");
        sample.package(
            "shard-node",
            "sextant-shard",
            "sextant-transport = { path = \"../proto/transport\" }",
        );
        sample.package("embed-node", "sextant-embed", "");
        sample.package(
            "client-agent",
            "sextant-client",
            "sextant-shard = { path = \"../shard-node\", optional = true }",
        );
        sample.write(".gitignore", "target/\n");
        sample
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder above")).expect("folders are made");
        fs::write(path, text).expect("a file is written");
    }

    fn package(&self, folder: &str, name: &str, dependencies: &str) {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}\n"
        );
        self.write(&format!("{folder}/Cargo.toml"), &manifest);
        self.write(&format!("{folder}/src/lib.rs"), "//! Owns a sample.\n");
    }

    fn findings(&self) -> Vec<Finding> {
        check(&Workspace::load(self.folder.path()).expect("the sample can be read"))
    }
}

/// Files that break the named rule, written over the sample; and the places that the findings must name.
struct Plant {
    rule: &'static str,
    files: Vec<(&'static str, String)>,
    places: &'static [&'static str],
}

fn plant(
    rule: &'static str,
    path: &'static str,
    text: impl Into<String>,
    places: &'static [&'static str],
) -> Plant {
    Plant { rule, files: vec![(path, text.into())], places }
}

fn manifest(name: &str, tables: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{tables}\n")
}

fn plants() -> Vec<Plant> {
    let doc = "//! Owns a plant.\n";
    let machine = ["", "work", "main"].join("/");
    let long = |lines: usize| format!("{doc}{}", "// line\n".repeat(lines - 1));
    let with_tests = |lines: usize, tests: usize| {
        format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", long(lines), "    // line\n".repeat(tests))
    };
    vec![
        // A room beside, a room above, a non-optional embedding, a package that nobody placed, and a dev-dependency.
        plant(
            "floors",
            "embed-node/Cargo.toml",
            manifest("sextant-embed", "[dependencies]\nsextant-shard = { path = \"../shard-node\" }"),
            &["sextant-embed"],
        ),
        plant(
            "floors",
            "proto/Cargo.toml",
            manifest("sextant-proto", "[dev-dependencies]\nsextant-embed = { path = \"../embed-node\" }"),
            &["sextant-proto"],
        ),
        plant(
            "floors",
            "client-agent/Cargo.toml",
            manifest("sextant-client", "[dependencies]\nsextant-shard = { path = \"../shard-node\" }"),
            &["sextant-client"],
        ),
        plant("floors", "embed-node/Cargo.toml", manifest("sextant-attic", ""), &["sextant-attic"]),
        plant(
            "fences",
            "shard-node/src/service.rs",
            format!("{doc}// openraft is no word here\nuse openraft::Raft;\n"),
            &["shard-node/src/service.rs:3"],
        ),
        plant(
            "fences",
            "shard-node/src/storehouse.rs",
            format!("{doc}use rocksdb::DB;\n"),
            &["shard-node/src/storehouse.rs:2"],
        ),
        plant(
            "fences",
            "client-agent/src/walk.rs",
            format!("{doc}fn f() {{ tree_sitter_java::LANGUAGE; }}\n"),
            &["client-agent/src/walk.rs:2"],
        ),
        plant(
            "fences",
            "embed-node/src/pool.rs",
            format!("{doc}use ort::session;\n"),
            &["embed-node/src/pool.rs:2"],
        ),
        plant(
            "fences",
            "client-agent/src/search.rs",
            format!("{doc}use sextant_shard as shard;\n"),
            &["client-agent/src/search.rs:2"],
        ),
        plant(
            "fences",
            "proto/Cargo.toml",
            manifest("sextant-proto", "[dependencies]\ntokio = \"1\""),
            &["sextant-proto"],
        ),
        plant("sizes", "proto/src/long.rs", long(401), &["proto/src/long.rs"]),
        plant("sizes", "proto/src/long.rs", with_tests(300, 600), &["proto/src/long.rs"]),
        plant("sizes", "proto/tests/long.rs", long(801), &["proto/tests/long.rs"]),
        plant("sizes", "embed-node/src/main.rs", long(61), &["embed-node/src/main.rs"]),
        plant("sizes", "embed-node/src/bin/tool.rs", long(61), &["embed-node/src/bin/tool.rs"]),
        plant("names", "proto/src/utils.rs", doc, &["proto/src/utils.rs"]),
        plant("names", "proto/src/misc/mod.rs", doc, &["proto/src/misc/mod.rs"]),
        plant("names", "proto/src/a.rs", format!("{doc}mod helpers {{}}\n"), &["proto/src/a.rs:2"]),
        plant(
            "unsafe",
            "proto/src/fast.rs",
            format!("{doc}\nfn f() {{ unsafe {{}} }}\n"),
            &["proto/src/fast.rs:3"],
        ),
        plant(
            "unfinished",
            "proto/tests/later.rs",
            format!("{doc}#[test]\n#[ignore]\nfn f() {{}}\n"),
            &["proto/tests/later.rs:3"],
        ),
        plant(
            "unfinished",
            "proto/src/later.rs",
            format!("{doc}fn f() {{ todo !() }}\n"),
            &["proto/src/later.rs:2"],
        ),
        plant("docs", "proto/src/mute.rs", "fn f() {}\n", &["proto/src/mute.rs"]),
        plant("docs", "proto/src/mute.rs", "//! \nfn f() {}\n", &["proto/src/mute.rs"]),
        plant("paths", "deploy/run.sh", format!("cd {machine}/\n"), &["deploy/run.sh:1"]),
        plant("paths", "proto/src/a.rs", format!("{doc}// see {machine}/x\n"), &["proto/src/a.rs:2"]),
    ]
}

#[test]
fn every_planted_violation_is_found_and_nothing_else() {
    assert_eq!(Sample::new().findings(), [], "the sample itself keeps every rule");
    let mut planted = BTreeSet::new();
    for plant in plants() {
        let sample = Sample::new();
        for (path, text) in &plant.files {
            sample.write(path, text);
        }
        let findings = sample.findings();
        let found: Vec<_> = findings.iter().map(|finding| (finding.rule, finding.place.as_str())).collect();
        let expected: Vec<_> = plant.places.iter().map(|place| (plant.rule, *place)).collect();
        assert_eq!(found, expected, "{:?}", plant.files.iter().map(|(path, _)| path).collect::<Vec<_>>());
        planted.insert(plant.rule);
    }
    let rules: BTreeSet<_> = RULES.iter().map(|(name, _)| *name).collect();
    assert_eq!(planted, rules, "every rule has its plant");
}

#[test]
fn what_the_rules_allow_passes() {
    let doc = "//! Owns a plant.\n";
    let sample = Sample::new();
    for (path, text) in [
        ("shard-node/src/store.rs", format!("{doc}use rocksdb::DB;\n")),
        ("shard-node/src/store/engine.rs", format!("{doc}use rocksdb::DB;\n")),
        ("client-agent/src/chunk/java.rs", format!("{doc}use tree_sitter_java as java;\n")),
        ("client-agent/src/embedded.rs", format!("{doc}use sextant_shard as shard;\n")),
        ("embed-node/src/backend/ort.rs", format!("{doc}use ort::session;\n")),
        ("embed-node/src/queue.rs", format!("{doc}use crate::backend::ort::Session;\n")),
        ("proto/src/strings.rs", format!("{doc}const A: &str = \"unsafe openraft todo!()\"; // unsafe\n")),
        ("proto/src/tests.rs", format!("{doc}{}", "// line\n".repeat(700))),
        ("proto/fixtures/broken.rs", "fn f( { unsafe".to_owned()),
        ("target/debug/generated.rs", "unsafe fn f() {}".to_owned()),
    ] {
        sample.write(path, &text);
    }
    assert_eq!(sample.findings(), []);
}
