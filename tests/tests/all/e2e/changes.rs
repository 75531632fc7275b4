//! A tree that changes: only what is new is read, embedded and sent, and a hit says whether its text still stands.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::sandbox::{Model, Sandbox, number, skipped, text};

/// Files of a few hundred bytes, one chunk each.
const FILES: usize = 40;

fn name(n: usize) -> String {
    format!("src/part{n}.py")
}

/// A body whose words are its own.
fn body(n: usize) -> String {
    format!(
        "def part{n}(left, right):\n    \"\"\"Computes zebra{n} of giraffe{n}.\"\"\"\n    return left * {n} + right\n"
    )
}

fn indexed() -> (Sandbox, Value) {
    let sandbox = Sandbox::new(Model::Fake);
    for n in 0..FILES {
        sandbox.write(&name(n), body(n));
    }
    let report = sandbox.index();
    (sandbox, report)
}

fn numbers<const N: usize>(report: &Value, fields: [&str; N]) -> [u64; N] {
    fields.map(|field| number(report, field))
}

/// The path of the best hit for the words of part `n`.
fn best(sandbox: &Sandbox, n: usize) -> String {
    let hits = sandbox.search(&[&format!("zebra{n} giraffe{n} part{n}"), "-k", "1", "--no-refresh"]);
    text(&hits[0], "path").to_owned()
}

const COUNTS: [&str; 5] = ["files", "chunks", "embedded", "reused", "files_read"];

#[test]
fn only_what_is_new_is_read_and_embedded() {
    let (sandbox, report) = indexed();
    let all = FILES as u64;
    assert_eq!(numbers(&report, COUNTS), [all, all, all, 0, all]);
    let whole = number(&report, "bytes_sent");

    let report = sandbox.index();
    assert_eq!(numbers(&report, COUNTS), [all, all, 0, all, 0], "nothing changed");
    let idle = number(&report, "bytes_sent");
    assert!(idle < 1_000 && idle * 10 < whole, "{idle} of {whole} bytes sent for nothing");
    assert_eq!(sandbox.status()["trees"][0]["changed"], 0);

    let touched = File::options().append(true).open(sandbox.tree().join(name(3))).expect("it opens");
    touched.set_modified(SystemTime::now() - Duration::from_hours(1)).expect("times can be set");
    assert_eq!(sandbox.status()["trees"][0]["changed"], 1);
    assert_eq!(numbers(&sandbox.index(), COUNTS), [all, all, 0, all, 1], "touched");

    sandbox.write(&name(5), body(500));
    let report = sandbox.index();
    assert_eq!(numbers(&report, COUNTS), [all, all, 1, all - 1, 1], "edited");
    assert!(number(&report, "bytes_sent") * 4 < whole, "{report}");
    assert_eq!(best(&sandbox, 500), name(5));

    fs::rename(sandbox.tree().join(name(7)), sandbox.tree().join("src/renamed.py")).expect("renamed");
    assert_eq!(numbers(&sandbox.index(), COUNTS), [all, all, 1, all - 1, 1], "renamed");
    assert_eq!(best(&sandbox, 7), "src/renamed.py");

    fs::remove_file(sandbox.tree().join(name(9))).expect("removed");
    let left = all - 1;
    assert_eq!(numbers(&sandbox.index(), COUNTS), [left, left, 0, left, 0], "removed");

    sandbox.write("added/new.py", body(900));
    assert_eq!(numbers(&sandbox.index(), COUNTS), [all, all, 1, left, 1], "added");
    assert_eq!(best(&sandbox, 900), "added/new.py");

    let paths = sandbox.paths();
    let mut expected: Vec<_> = (0..FILES).filter(|n| ![7, 9].contains(n)).map(name).collect();
    expected.extend(["src/renamed.py".to_owned(), "added/new.py".to_owned()]);
    expected.sort();
    assert_eq!(paths, expected, "the view is what the tree holds, nothing more");
}

#[test]
fn a_change_that_hides_behind_the_old_times_is_seen() {
    let (sandbox, _) = indexed();
    let path = sandbox.tree().join(name(4));
    let times = path.metadata().expect("a file").modified().expect("a time");
    let new = body(4).replace("zebra4", "zebra8");
    assert_eq!(new.len(), body(4).len());
    sandbox.write(&name(4), &new);
    File::options()
        .append(true)
        .open(&path)
        .and_then(|file| file.set_modified(times))
        .expect("times can be set");
    assert_eq!(numbers(&sandbox.index(), ["embedded", "files_read"]), [1, 1]);
}

#[test]
fn a_file_that_is_code_no_more_goes_and_comes_back() {
    let (sandbox, _) = indexed();
    let all = FILES as u64;
    sandbox.write(&name(2), b"\x7fELF\0\0\0binary");
    let report = sandbox.index();
    assert_eq!(numbers(&report, COUNTS), [all - 1, all - 1, 0, all - 1, 1]);
    assert_eq!(skipped(&report), [(name(2).as_str(), "binary")]);
    assert!(!sandbox.paths().contains(&name(2)));
    assert_eq!(numbers(&sandbox.index(), ["files_read"]), [0], "what is left out is not read again");
    sandbox.write(&name(2), body(2));
    assert_eq!(numbers(&sandbox.index(), COUNTS), [all, all, 0, all, 1], "its vector was still there");
    assert_eq!(best(&sandbox, 2), name(2));
}

#[test]
fn a_tree_that_was_emptied_finds_nothing() {
    let (sandbox, _) = indexed();
    fs::remove_dir_all(sandbox.tree().join("src")).expect("removed");
    let told = sandbox.run(&["search", "zebra1 giraffe1"]);
    assert_eq!((told.code, told.out.as_str()), (Some(1), ""), "{told:?}");
    assert!(told.err.contains("no file to index"), "{told:?}");
    fs::remove_dir(sandbox.tree()).expect("removed");
    let mut status = sandbox.command(&["status", "--json"]);
    let told = sandbox.finish({
        status.current_dir(sandbox.path("home"));
        status
    });
    let report: Value = serde_json::from_str(&told.out).expect("a status in JSON");
    assert!(report["trees"][0]["changed"].is_null(), "the folder is gone: {report}");
}

#[test]
fn a_hit_says_what_became_of_its_text() {
    let (sandbox, _) = indexed();
    let ask = |n: usize, flags: &[&str]| {
        let question = format!("zebra{n} giraffe{n} part{n}");
        sandbox.search(&[&[question.as_str(), "-k", "1"], flags].concat()).remove(0)
    };
    let stale = |n| ask(n, &["--no-refresh"]);
    let body = |n| body(n).trim_end().to_owned();
    let fields =
        |hit: &Value| (text(hit, "state").to_owned(), number(hit, "start_line"), hit["snippet"].clone());
    assert_eq!(fields(&stale(1)), ("exact".into(), 1, body(1).into()));

    let above = "# Größe\n# 🦀\n\n";
    sandbox.write(&name(1), format!("{above}{}\n", body(1)));
    let moved = stale(1);
    assert_eq!(fields(&moved), ("moved".into(), 4, body(1).into()));
    assert_eq!(number(&moved, "start_byte") as usize, above.len());
    assert_eq!(number(&moved, "end_byte") as usize, above.len() + body(1).len());

    let edited = body(2).replace("right\n", "left\n").replace("+ right", "- right");
    sandbox.write(&name(2), format!("{edited}\n"));
    assert_eq!(fields(&stale(2)), ("edited".into(), 1, format!("{edited}\n").into()));

    fs::remove_file(sandbox.tree().join(name(3))).expect("removed");
    let missing = stale(3);
    assert_eq!(fields(&missing), ("missing".into(), 1, Value::Null));
    assert_eq!(text(&missing, "path"), name(3));
    let told = sandbox.run(&["search", "zebra3 giraffe3 part3", "-k", "1", "--no-refresh"]);
    assert!(told.out.starts_with("src/part3.py:1-3  ") && told.out.ends_with("  missing\n"), "{told:?}");

    // With a look for changes first, every text is the indexed one again.
    let hits = sandbox.search(&["zebra", "-k", "1000"]);
    assert_eq!(hits.len(), FILES - 1);
    assert!(hits.iter().all(|hit| text(hit, "state") == "exact"));
    assert!(text(&ask(1, &[]), "snippet").starts_with("# Größe"));
}
