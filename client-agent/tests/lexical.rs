//! The lexical index over a real folder: what it finds, how it follows changes, how it mends itself.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use sextant_client::chunk::ChunkBudget;
use sextant_client::key::Keyring;
use sextant_client::lexical::{Gathered, Indexed, Lexical, Sought, Source};
use sextant_proto::ids::BlobId;
use sextant_transport::OrgKey;

const SETTINGS: &str = "test";

struct Tree {
    dir: tempfile::TempDir,
    keyring: Keyring,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        let tree = Self { keyring: Keyring::new(&OrgKey::generate()?), dir };
        for (path, text) in files {
            tree.write(path, text)?;
        }
        Ok(tree)
    }

    fn root(&self) -> std::path::PathBuf {
        self.dir.path().join("tree")
    }

    fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let file = self.root().join(path);
        std::fs::create_dir_all(file.parent().context("a file has a folder")?)?;
        Ok(std::fs::write(file, text)?)
    }

    fn files(&self, paths: &[&str]) -> anyhow::Result<BTreeMap<String, BlobId>> {
        let blob = |path: &&str| {
            Ok(((*path).to_owned(), self.keyring.blob(&std::fs::read(self.root().join(path))?)))
        };
        paths.iter().map(blob).collect()
    }

    fn open(&self) -> anyhow::Result<Lexical> {
        Ok(Lexical::open(&self.index(), SETTINGS)?)
    }

    fn index(&self) -> std::path::PathBuf {
        self.dir.path().join("lexical")
    }

    fn update(&self, lexical: &Lexical, files: &BTreeMap<String, BlobId>) -> anyhow::Result<Indexed> {
        let root = self.root();
        let budget = ChunkBudget::default();
        let source = Source { root: &root, keyring: &self.keyring, budget, max_file_bytes: 1 << 20 };
        Ok(lexical.update(&source, files)?)
    }
}

fn by_words<'a>(words: &[&str]) -> Sought<'a> {
    let terms = words.iter().map(|word| ((*word).to_owned(), 1.0)).collect();
    Sought { terms, limit: 10, ..Sought::default() }
}

fn paths(gathered: &Gathered) -> Vec<&str> {
    let mut rows: Vec<_> = gathered.rows.iter().filter(|(_, score)| *score > 0.0).collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    rows.into_iter().map(|(row, _)| row.path.as_str()).collect()
}

const TOKENS: &str =
    "/// Renews what a caller shows.\npub fn refresh_token(now: u64) -> u64 {\n    now + 60\n}\n";
const OTHER: &str = "pub struct Ledger {\n    entries: Vec<u64>,\n}\n";

#[test]
fn words_definitions_and_places_are_found() -> anyhow::Result<()> {
    let tree = Tree::new(&[("src/session.rs", TOKENS), ("src/ledger.rs", OTHER)])?;
    let lexical = tree.open()?;
    let done = tree.update(&lexical, &tree.files(&["src/session.rs", "src/ledger.rs"])?)?;
    assert_eq!(done, Indexed { files: 2, gone: 0 });
    // A part of the identifier, stemmed; the path counts too.
    assert_eq!(paths(&lexical.gather(&by_words(&["token"]))?), ["src/session.rs"]);
    assert_eq!(paths(&lexical.gather(&by_words(&["ledger"]))?), ["src/ledger.rs"]);

    let sought = Sought { identifiers: vec!["ledger".into()], ..Sought::default() };
    let gathered = lexical.gather(&sought)?;
    assert_eq!(gathered.definers["ledger"], 1);
    let (row, _) = gathered.rows.first().context("the definer")?;
    assert_eq!(row.defines[0].name, "Ledger");

    // The row of a chunk that somebody else named, with its score by these words.
    let place = (row.path.as_str(), row.start_byte, row.end_byte);
    let sought = Sought { places: vec![place, ("src/ledger.rs", 7, 8)], limit: 0, ..by_words(&["entri"]) };
    let gathered = lexical.gather(&sought)?;
    assert_eq!(gathered.rows.len(), 1);
    assert!(gathered.rows[0].1 > 0.0);
    assert!(gathered.idf["entri"] > 0.0);
    Ok(())
}

#[test]
fn filters_hold_for_words_and_definitions() -> anyhow::Result<()> {
    let tree = Tree::new(&[
        ("a/one.rs", TOKENS),
        ("ab/two.rs", TOKENS),
        ("a/b/three.py", "def refresh_token():\n    return 1\n"),
    ])?;
    let lexical = tree.open()?;
    tree.update(&lexical, &tree.files(&["a/one.rs", "ab/two.rs", "a/b/three.py"])?)?;
    let identifiers = vec!["refresh_token".to_owned()];
    let sorted = |sought: Sought<'_>| -> anyhow::Result<Vec<String>> {
        let gathered = lexical.gather(&Sought { identifiers: identifiers.clone(), ..sought })?;
        let mut all: Vec<_> = gathered.rows.into_iter().map(|(row, _)| row.path).collect();
        all.sort();
        Ok(all)
    };
    assert_eq!(sorted(Sought { prefix: "a", ..by_words(&["token"]) })?, ["a/b/three.py", "a/one.rs"]);
    assert_eq!(sorted(Sought { prefix: "a/one.rs", ..by_words(&["token"]) })?, ["a/one.rs"]);
    let python = ["python".to_owned()];
    assert_eq!(sorted(Sought { languages: &python, ..by_words(&["token"]) })?, ["a/b/three.py"]);
    Ok(())
}

#[test]
fn it_follows_the_tree_and_reads_only_what_changed() -> anyhow::Result<()> {
    let tree = Tree::new(&[("a.rs", TOKENS), ("b.rs", OTHER)])?;
    let lexical = tree.open()?;
    let files = tree.files(&["a.rs", "b.rs"])?;
    tree.update(&lexical, &files)?;
    assert_eq!(tree.update(&lexical, &files)?, Indexed::default());
    tree.write("a.rs", "fn quench() {}\n")?;
    let files = tree.files(&["a.rs"])?;
    assert_eq!(tree.update(&lexical, &files)?, Indexed { files: 1, gone: 1 });
    assert!(paths(&lexical.gather(&by_words(&["token"]))?).is_empty());
    assert!(paths(&lexical.gather(&by_words(&["ledger"]))?).is_empty());
    assert_eq!(paths(&lexical.gather(&by_words(&["quench"]))?), ["a.rs"]);
    assert_eq!(lexical.files()?, files);
    // A file that changed after it was recorded waits for its next record.
    let recorded = tree.files(&["a.rs"])?;
    tree.write("a.rs", "fn later() {}\n")?;
    drop(lexical);
    std::fs::remove_dir_all(tree.index())?;
    let lexical = tree.open()?;
    assert_eq!(tree.update(&lexical, &recorded)?.files, 0);
    assert!(lexical.files()?.is_empty());
    Ok(())
}

#[test]
fn damage_and_other_versions_are_begun_anew() -> anyhow::Result<()> {
    let tree = Tree::new(&[("a.rs", TOKENS)])?;
    let files = tree.files(&["a.rs"])?;
    let damage: [fn(&Path) -> std::io::Result<()>; 4] = [
        |dir| std::fs::write(dir.join("files.redb"), b"not a database"),
        |dir| std::fs::write(dir.join("index").join("meta.json"), b"{"),
        |dir| std::fs::write(dir.join("version"), b"format=0"),
        |dir| std::fs::remove_file(dir.join("files.redb")),
    ];
    for hurt in damage {
        let lexical = tree.open()?;
        tree.update(&lexical, &files)?;
        drop(lexical);
        hurt(&tree.index())?;
        let lexical = tree.open()?;
        tree.update(&lexical, &files)?;
        let found = lexical.gather(&by_words(&["token"]))?;
        assert_eq!(paths(&found), ["a.rs"], "found once, not twice and not never");
    }
    Ok(())
}
