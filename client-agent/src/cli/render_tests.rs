//! Tests of the text for people, on fixed values.

use super::*;
use crate::report::{Receipt, SkippedFile, Timing, TreeStatus};

pub(in crate::cli) fn hit(path: &str, lines: (u32, u32), snippet: Option<&str>) -> Found {
    Found {
        path: path.into(),
        start_line: lines.0,
        end_line: lines.1,
        start_byte: 100,
        end_byte: 180,
        score: 0.731_25,
        reasons: crate::rank::Reasons::default(),
        item: "function".into(),
        lang: "rust".into(),
        collection: "example".into(),
        revision: "00ff".into(),
        state: SnippetState::Exact,
        snippet: snippet.map(str::to_owned),
    }
}

pub(in crate::cli) fn answer_of(hits: Vec<Found>) -> Answer {
    Answer {
        root: "/a/b".into(),
        hits,
        coverage: Receipt { complete: true, asked: 1, answered: 1, scanned: 9, ..Receipt::default() },
        warnings: Vec::new(),
        bad_coordinates: 0,
        timing: Timing::default(),
    }
}

fn options(colors: Colors) -> RenderOptions {
    RenderOptions { place: Place { root: "/a/b".into(), current: "/a/b/docs".into() }, colors }
}

#[test]
fn a_hit_is_its_place_score_item_and_text() {
    let hits = vec![
        hit("src/x.rs", (9, 11), Some("fn x() {\r\n\tlet y = 1;\r\n\r\n}\n")),
        hit("y.rs", (1, 1), None),
    ];
    assert_eq!(
        answer(&answer_of(hits), &options(Colors::None)),
        "../src/x.rs:9-11  0.731  function\n   9 │ fn x() {\n  10 │     let y = 1;\n  11 │\n  12 │ }\n\n\
         ../y.rs:1-1  0.731  function\n"
    );
}

#[test]
fn hits_without_text_stand_line_by_line() {
    let hits = vec![hit("x.rs", (1, 2), None), hit("y.rs", (3, 4), None)];
    assert_eq!(answer(&answer_of(hits), &options(Colors::None)).lines().count(), 2);
}

#[test]
fn every_state_but_exact_is_said() {
    for (state, end) in [
        (SnippetState::Exact, "function\n"),
        (SnippetState::Moved, "function  moved\n"),
        (SnippetState::Edited, "function  edited\n"),
        (SnippetState::Missing, "function  missing\n"),
    ] {
        let shown =
            answer(&answer_of(vec![Found { state, ..hit("x", (1, 1), None) }]), &options(Colors::None));
        assert!(shown.ends_with(end), "{shown}");
    }
}

#[test]
fn long_texts_are_cut_and_say_so() {
    let text = |lines: u32| (0..lines).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let shown = |lines| {
        answer(&answer_of(vec![hit("x", (9_995, 20_000), Some(&text(lines)))]), &options(Colors::None))
    };
    assert_eq!(shown(13).lines().count(), 14);
    assert!(!shown(13).contains("more lines"));
    assert_eq!(shown(40).lines().count(), 14);
    assert!(shown(40).ends_with("10006 │ line 11\n      │ … 28 more lines\n"), "{}", shown(40));
    let wide = answer(&answer_of(vec![hit("x", (1, 1), Some(&"é".repeat(5_000)))]), &options(Colors::None));
    assert_eq!(wide.matches('é').count(), LINE_CHARS);
    assert!(wide.ends_with("é…\n"));
}

#[test]
fn nothing_of_a_hit_commands_the_terminal() {
    let evil = hit("a\x1b]0;t\x07\n.rs", (1, 1), Some("// \x1b[2J\u{202e}\u{9b}1A\n"));
    let plain = answer(&answer_of(vec![evil.clone()]), &options(Colors::None));
    assert!(!plain.contains(|c: char| c.is_control() && c != '\n'), "{plain:?}");
    assert_eq!(plain.lines().count(), 2);
    let painted = answer(&answer_of(vec![evil]), &options(Colors::True));
    assert!(!painted.contains("\x1b[2J") && !painted.contains("\x1b]") && !painted.contains('\u{202e}'));
}

#[test]
fn colours_change_no_text() {
    let hits = vec![hit("src/x.rs", (9, 11), Some("fn x() {\n    \"s\"\n}"))];
    let painted = answer(&answer_of(hits.clone()), &options(Colors::Indexed));
    assert!(painted.contains("\x1b[38;5;"));
    let mut plain = String::new();
    for (at, part) in painted.split('\x1b').enumerate() {
        plain.push_str(if at == 0 { part } else { part.split_once('m').expect("a sequence ends").1 });
    }
    assert_eq!(plain, answer(&answer_of(hits), &options(Colors::None)));
}

#[test]
fn an_index_is_a_line_and_the_first_skipped() {
    let mut report = IndexReport {
        files: 1,
        chunks: 2_000,
        embedded: 1_500,
        reused: 500,
        bytes_sent: 3 << 20,
        seconds: 75.4,
        ..IndexReport::default()
    };
    assert_eq!(
        index(&report, false),
        "1 file, 2000 chunks: 1500 embedded, 500 reused, 0 files skipped; 3.00 MiB sent in 1 min 15 s\n"
    );
    report.skipped =
        (0..7).map(|n| SkippedFile { path: format!("f\x1b{n}"), reason: "too large".into() }).collect();
    let text = index(&report, false);
    assert_eq!(text.lines().count(), 7);
    assert!(
        text.contains("  skipped f\\x1b0: too large\n") && text.ends_with("  2 more (see --json)\n"),
        "{text}"
    );
    let all = index(&report, true);
    assert!(all.contains("f\\x1b6") && !all.contains("more (see") && all.contains("chunks/s"), "{all}");
}

#[test]
fn a_status_tells_of_every_tree() {
    let tree = |root: &str, changed| TreeStatus {
        root: root.into(),
        collection: "c".into(),
        revision: "ab".into(),
        files: 1,
        chunks: 2,
        changed,
    };
    let mut report = StatusReport {
        data_dir: "/d".into(),
        model: "m".into(),
        code_bits: 2048,
        trees: Vec::new(),
        vectors: 2,
        code_bytes: 512,
    };
    assert!(status(&report).contains("nothing is indexed"));
    report.trees = vec![tree("/a", Some(0)), tree("/b", Some(3)), tree("/c", None)];
    let text = status(&report);
    for part in ["/a\n  1 file, 2 chunks; up to date", "3 files changed since", "the folder is gone"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
