//! The promise: neither source nor question text reaches a server's disk or a log, nor does the organisation's key.
//!
//! Canaries are planted in every place that text comes from; then all that the server side keeps is searched for any
//! piece of them: the raw bytes of every file (write-ahead logs hold everything first, uncompressed, so the search
//! follows each command), and every row of the stores, read as the servers read it. The folder `client` of the data
//! folder is not searched: it belongs to the asking machine, which has the source anyway.

use std::collections::HashSet;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::path::Path;

use sextant_consensus::{NodeStore, StoreOptions};

use super::sandbox::{Model, Sandbox, files_below, text};

/// Bytes of a piece: none is met by chance, and no shorter rest of a text tells anything.
const PIECE: usize = 12;

/// Words to look for, in pieces.
struct Hunt {
    pieces: HashSet<[u8; PIECE]>,
    /// First two bytes of the pieces: most places are passed by with one look.
    starts: Vec<bool>,
}

impl Hunt {
    fn new<T: AsRef<[u8]>>(words: impl IntoIterator<Item = T>) -> Self {
        let mut hunt = Self { pieces: HashSet::new(), starts: vec![false; 1 << 16] };
        for word in words {
            for piece in word.as_ref().windows(PIECE).filter_map(|piece| piece.first_chunk()) {
                hunt.pieces.insert(*piece);
                hunt.starts[usize::from(u16::from_le_bytes([piece[0], piece[1]]))] = true;
            }
        }
        hunt
    }

    /// Where the first piece of any word stands.
    fn find(&self, bytes: &[u8]) -> Option<usize> {
        bytes.windows(PIECE).position(|window| {
            self.starts[usize::from(u16::from_le_bytes([window[0], window[1]]))]
                && window.first_chunk().is_some_and(|piece| self.pieces.contains(piece))
        })
    }

    /// Files below `folder` that hold a piece, with the place.
    fn files(&self, folder: &Path) -> Vec<String> {
        let files = files_below(folder);
        assert!(!files.is_empty(), "{} holds files", folder.display());
        let found = files.iter().filter_map(|(path, bytes)| Some((path, self.find(bytes)?)));
        found.map(|(path, at)| format!("{} at byte {at}", path.display())).collect()
    }

    /// Rows of a store that hold a piece, in key or value.
    fn rows(&self, store: &Path) -> Vec<String> {
        let store = NodeStore::open(store, &StoreOptions::default()).expect("no process holds the store");
        let groups = store.groups().expect("the groups can be listed");
        assert!(!groups.is_empty(), "{store:?} holds groups");
        let mut found = Vec::new();
        for group in groups {
            let view = store.view(group).expect("a view");
            view.scan_prefix(&[], |key, value| {
                if self.find(key).or(self.find(value)).is_some() {
                    found.push(format!("{store:?}, {group}, key {key:?}"));
                }
                ControlFlow::Continue(())
            })
            .expect("the rows can be read");
        }
        found
    }
}

/// A word of letters and digits that never was before.
fn canary(what: &str) -> String {
    let random = || format!("{:016x}", RandomState::new().hash_one(what));
    format!("q{what}{}{}{}", random(), random(), random())
}

const SERVERS: [&str; 2] = ["shard", "coordinator"];

struct Planted {
    sandbox: Sandbox,
    sources: Vec<String>,
    question: String,
}

/// A tree with a canary wherever text comes from.
fn planted() -> Planted {
    let sandbox = Sandbox::new(Model::Real);
    let sources: Vec<String> = ["name", "comment", "literal", "docs", "notes", "config", "late", "skipped"]
        .iter()
        .map(|what| canary(what))
        .collect();
    let [name, comment, literal, docs, notes, config, _, skipped] = sources.as_slice() else {
        panic!("eight canaries")
    };
    sandbox.write(
        "src/parrot.rs",
        format!("//! {docs}\n\n// {comment}\npub fn {name}() -> &'static str {{\n    \"{literal}\"\n}}\n"),
    );
    sandbox.write(
        "src/Parrot.java",
        format!("/** {docs} */\nclass Parrot {{ String {name} = \"{literal}\"; }}\n"),
    );
    sandbox.write("notes/plan.md", format!("# Plan\n\nThe launch code is {notes}.\n"));
    sandbox.write("settings.toml", format!("password = \"{config}\"\n"));
    sandbox.write("picture.bin", format!("\0\0{skipped}"));
    Planted { sandbox, sources, question: canary("question") }
}

/// Runs a command that logs all it can, with a daemon that does too; what both have logged.
fn logged(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.stop();
    let mut command = sandbox.command(words);
    command.env("SEXTANT_LOG", "trace").env("RUST_LOG", "trace");
    let told = sandbox.finish(command);
    assert_eq!(told.code, Some(0), "{words:?}: {:.2000}", told.err);
    let log = sandbox.log();
    assert!(log.contains("TRACE"), "it logs all it can: {log:.2000}");
    told.err + &log
}

#[test]
fn no_text_reaches_a_servers_disk_or_any_log() {
    let Planted { sandbox, sources, question } = planted();
    let mut words = sources.clone();
    words.push(question.clone());
    let hunt = Hunt::new(&words);
    // Paths are among what servers keep: that they are found shows that the search reads what is there.
    let control = Hunt::new(["src/parrot.rs", "notes/plan.md"]);
    let servers = || SERVERS.map(|server| sandbox.data().join(server));
    let search = |after: &str, log: &str| {
        assert_eq!(
            hunt.find(log.as_bytes()).map(|at| &log[at.saturating_sub(300)..at + 50]),
            None,
            "after {after}"
        );
        for server in servers() {
            assert_eq!(hunt.files(&server), [""; 0], "after {after}");
        }
    };

    let log = logged(&sandbox, &["index", "--verbose"]);
    search("the index", &log);
    assert!(!control.files(&sandbox.data().join("shard")).is_empty(), "the write-ahead log shows the paths");
    let asked = format!("where is {question} and the launch code");
    let log = logged(&sandbox, &["search", &asked]);
    search("the question", &log);
    // An edit, then questions that find, that find nothing, and that are told as JSON.
    sandbox.write("src/late.py", format!("def late():\n    return '{}'\n", sources[6]));
    let log = logged(&sandbox, &["search", "--json", &format!("{question} {}", sources[6])]);
    search("the edit", &log);
    let hits = sandbox.search(&[&format!("return {}", sources[6]), "--lang", "python"]);
    assert!(text(&hits[0], "snippet").contains(&sources[6]), "the asking machine shows the text");
    search("the last question", &sandbox.log());

    sandbox.stop();
    for server in servers() {
        assert_eq!(hunt.rows(&server), [""; 0]);
    }
    assert!(!control.rows(&sandbox.data().join("shard")).is_empty(), "the rows show the paths");

    // A planted canary is found by the same search, whole or in part.
    let file = sandbox.data().join("shard/planted");
    for planted in [question.as_bytes(), &sources[2].as_bytes()[7..7 + PIECE]] {
        fs::write(&file, [b"\0\xff", planted, b"\0"].concat()).expect("planted");
        assert_eq!(hunt.files(&sandbox.data().join("shard")), [format!("{} at byte 2", file.display())]);
    }
}

#[test]
fn servers_can_neither_confirm_a_guess_nor_issue_certificates() {
    let Planted { sandbox, question, .. } = planted();
    sandbox.index();
    logged(&sandbox, &["search", &question]);
    let key = fs::read(sandbox.data().join("client/org.key")).expect("the organisation key");
    assert_eq!(key.len(), 32);
    let hex = |bytes: &[u8]| -> String {
        let digit = |n: u8| char::from_digit(n.into(), 16).expect("below 16");
        bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    };
    let authority = fs::read_to_string(sandbox.data().join("org/ca.key")).expect("the authority's key");
    let authority: String = authority.lines().filter(|line| !line.starts_with("-----")).collect();
    let mut secrets = vec![key.clone(), hex(&key).into_bytes(), authority.into_bytes()];
    // Hashes without the key would tell whether a file is there to everybody who has the same file.
    for (_, bytes) in files_below(&sandbox.tree()) {
        let hash = blake3::hash(&bytes);
        secrets.extend([hash.as_bytes().to_vec(), hash.to_hex().as_bytes().to_vec()]);
    }
    let hunt = Hunt::new(&secrets);
    sandbox.stop();
    for server in SERVERS {
        assert_eq!(hunt.files(&sandbox.data().join(server)), [""; 0]);
        assert_eq!(hunt.rows(&sandbox.data().join(server)), [""; 0]);
    }
    fs::write(sandbox.data().join("coordinator/planted"), hex(&key)).expect("planted");
    assert_eq!(hunt.files(&sandbox.data().join("coordinator")).len(), 1);
}
