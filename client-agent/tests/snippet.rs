//! Snippets under honest servers, edited checkouts and lying servers.

use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;
use sextant_client::snippet::{
    BadReason, Coordinates, LocateOptions, Located, SnippetError, SnippetState, locate,
};
use sextant_client::walk::Root;

const KEY: [u8; 32] = [7; 32];

fn hash(text: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&blake3::keyed_hash(&KEY, text).as_bytes()[..16]);
    short
}

fn find(root: &Path, at: &Coordinates<'_>) -> Result<Located, SnippetError> {
    let root = Root::open(root).expect("the root opens");
    locate(&root, at, &LocateOptions::default(), &hash)
}

/// The coordinates of `text` in `file`, as an honest server gives them.
fn coordinates<'a>(path: &'a str, file: &str, text: &str) -> Coordinates<'a> {
    let start = file.find(text).expect("the text is in the file");
    let line = |at: usize| u32::try_from(file[..at].matches('\n').count() + 1).expect("few lines");
    Coordinates {
        path,
        start_byte: start as u64,
        end_byte: (start + text.len()) as u64,
        start_line: line(start),
        end_line: line(start + text.len() - 1),
        text_hash: hash(text.as_bytes()),
    }
}

const FILE: &str = "use a;\n\nfn one() {\n    1\n}\n\nimpl X {\n    fn two() {\n        2\n    }\n}\n";

#[test]
fn exact_moved_edited_missing() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let path = dir.path().join("src.rs");
    let one = coordinates("src.rs", FILE, "fn one() {\n    1\n}");
    let two = coordinates("src.rs", FILE, "fn two() {\n        2\n    }");
    std::fs::write(&path, FILE).expect("write");
    let got = find(dir.path(), &one).expect("found");
    assert_eq!(got.state, SnippetState::Exact);
    assert_eq!((got.start_line, got.end_line, got.text.as_str()), (3, 5, "fn one() {\n    1\n}"));
    assert_eq!((got.start_byte, got.end_byte), (one.start_byte, one.end_byte));

    // Lines above, and none of the text touched: both are found again, the indented one at its own column.
    let moved = format!("// new\n// lines\n{FILE}// more\n");
    std::fs::write(&path, &moved).expect("write");
    for (at, lines) in [(&one, (5, 7)), (&two, (10, 12))] {
        let got = find(dir.path(), at).expect("found");
        assert_eq!((got.state, (got.start_line, got.end_line)), (SnippetState::Moved, lines));
        assert_eq!(got.start_byte, at.start_byte + 16);
        assert_eq!(hash(got.text.as_bytes()), at.text_hash);
    }

    // Lines below cut away: the range ends beyond the file, yet the text is still there.
    std::fs::write(&path, "    fn two() {\n        2\n    }").expect("write");
    assert_eq!(find(dir.path(), &two).expect("found").state, SnippetState::Moved);

    // Edited: what stands at the old lines is shown, within the file.
    std::fs::write(&path, FILE.replace("    1\n", "    11\n")).expect("write");
    let got = find(dir.path(), &one).expect("shown");
    assert_eq!((got.state, got.start_line, got.end_line), (SnippetState::Edited, 3, 5));
    assert_eq!(got.text, "fn one() {\n    11\n}\n");
    std::fs::write(&path, "a\nb\n").expect("write");
    let got = find(dir.path(), &two).expect("shown");
    assert_eq!((got.state, got.start_line, got.end_line), (SnippetState::Edited, 1, 2));
    assert_eq!(got.text, "a\nb\n");
    std::fs::write(&path, "").expect("write");
    let got = find(dir.path(), &two).expect("shown");
    assert_eq!(
        (got.state, got.start_line, got.end_line, got.text.as_str()),
        (SnippetState::Edited, 1, 1, "")
    );

    std::fs::remove_file(&path).expect("remove");
    let got = find(dir.path(), &one).expect("said");
    assert_eq!((got.state, got.text.as_str()), (SnippetState::Missing, ""));
    std::fs::create_dir(&path).expect("create");
    assert_eq!(find(dir.path(), &one).expect("said").state, SnippetState::Missing);
}

#[test]
fn the_nearest_of_several_is_taken() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let twin = "    x = 1\n";
    let far = format!("{twin}{}{twin}{}{twin}", "a\n".repeat(50), "b\n".repeat(5));
    std::fs::write(dir.path().join("f.py"), &far).expect("write");
    let start = far.rfind(twin).expect("there") as u64 + 7;
    let at = Coordinates {
        path: "f.py",
        start_byte: start,
        end_byte: start + twin.len() as u64,
        start_line: 58,
        end_line: 58,
        text_hash: hash(twin.as_bytes()),
    };
    let got = find(dir.path(), &at).expect("found");
    assert_eq!((got.state, got.start_byte), (SnippetState::Moved, start - 7));
}

#[test]
fn hostile_coordinates_show_nothing() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let root = dir.path().join("root");
    std::fs::create_dir_all(root.join(".git")).expect("create");
    std::fs::create_dir_all(root.join("sub")).expect("create");
    std::fs::write(dir.path().join("outside.py"), "OUTSIDE").expect("write");
    std::fs::write(root.join("a.py"), "abcdef\n").expect("write");
    std::fs::write(root.join(".git/config"), "[core]\n").expect("write");
    symlink("/etc", root.join("link_to_etc")).expect("link");
    symlink("a.py", root.join("link.py")).expect("link");
    symlink("..", root.join("sub/up")).expect("link");
    let fifo = root.join("pipe.py");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o644.into(), 0).expect("mkfifo");
    let _socket = std::os::unix::net::UnixListener::bind(root.join("sock.py")).expect("socket");
    let text_hash = hash(b"abc");
    let at = |path, start_byte, end_byte| Coordinates {
        path,
        start_byte,
        end_byte,
        start_line: 1,
        end_line: 1,
        text_hash,
    };
    let path_reasons = |reason: BadReason| matches!(reason, BadReason::Path(_));
    for path in [
        "",
        ".",
        "..",
        "/",
        "/etc/passwd",
        "/dev/zero",
        "../outside.py",
        "../../../../etc/passwd",
        "sub/../a.py",
        "sub/../../outside.py",
        "./a.py",
        "sub//a.py",
        "sub/",
        "a.py\0.png",
        "a.py/.",
    ] {
        let got = find(&root, &at(path, 0, 3));
        assert!(
            matches!(&got, Err(SnippetError::BadCoordinates { reason, .. }) if path_reasons(*reason)),
            "{path:?}: {got:?}"
        );
    }
    let rows = [
        (at("link_to_etc/passwd", 0, 10), BadReason::Symlink),
        (at("link.py", 0, 3), BadReason::Symlink),
        (at("sub/up/a.py", 0, 3), BadReason::Symlink),
        (at(".git/config", 0, 7), BadReason::GitMetadata),
        (at("sub/.GIT/config", 0, 7), BadReason::GitMetadata),
        (at("pipe.py", 0, 10), BadReason::NotRegular),
        (at("sock.py", 0, 10), BadReason::NotRegular),
        (at("\u{1b}]0;owned\u{7}a.py", 0, 3), BadReason::ControlCharacters),
        (at("a.py", u64::MAX, 0), BadReason::ByteRange),
        (at("a.py", 10, 9), BadReason::ByteRange),
        (at("a.py", 3, 3), BadReason::ByteRange),
        (at("a.py", 0, i64::MAX as u64), BadReason::TooFar),
        (at("a.py", u64::MAX - 1, u64::MAX), BadReason::TooFar),
        (Coordinates { start_line: 0, ..at("a.py", 0, 3) }, BadReason::LineRange),
        (Coordinates { start_line: 9, end_line: 8, ..at("a.py", 0, 3) }, BadReason::LineRange),
    ];
    for (coordinates, expected) in rows {
        let got = find(&root, &coordinates);
        let Err(SnippetError::BadCoordinates { reason, .. }) = got else {
            panic!("{coordinates:?}: {got:?}");
        };
        assert_eq!(reason, expected, "{coordinates:?}");
    }
    let honest = find(&root, &at("a.py", 0, 3)).expect("found");
    assert_eq!((honest.state, honest.text.as_str()), (SnippetState::Exact, "abc"));
}

#[test]
fn the_search_and_what_it_shows_are_bounded() {
    let dir = tempfile::tempdir().expect("temporary folder");
    std::fs::write(dir.path().join("long.py"), "x\n".repeat(400_000)).expect("write");
    let root = Root::open(dir.path()).expect("open");
    let options = LocateOptions { search_budget_bytes: 1_000_000, ..LocateOptions::default() };
    let hashed = std::cell::Cell::new(0_u64);
    let counting = |text: &[u8]| {
        hashed.set(hashed.get() + text.len() as u64);
        hash(text)
    };
    let at = Coordinates {
        path: "long.py",
        start_byte: 1000,
        end_byte: 5001,
        start_line: 1,
        end_line: u32::MAX,
        text_hash: [0; 16],
    };
    let got = locate(&root, &at, &options, &counting).expect("shown");
    assert_eq!((got.state, got.start_line, got.end_line), (SnippetState::Edited, 1, options.edited_lines));
    assert!(hashed.get() > 900_000 && hashed.get() <= 1_000_000 + 4001, "{}", hashed.get());
    let at = Coordinates { start_line: u32::MAX, ..at };
    let got = locate(&root, &at, &options, &counting).expect("shown");
    assert_eq!((got.start_line, got.end_line), (400_000, 400_000));
}

proptest! {
    #[test]
    fn never_panics_and_never_calls_wrong_text_right(
        bytes in prop::collection::vec(prop::sample::select(b"ab \t\r\n\xff".to_vec()), 0..80),
        start in 0_u64..100,
        len in 0_u64..40,
        first in 0_u32..30,
        more in 0_u32..30,
        text in prop::collection::vec(prop::sample::select(b"ab \n".to_vec()), 1..4),
    ) {
        let dir = tempfile::tempdir().expect("temporary folder");
        std::fs::write(dir.path().join("f"), &bytes).expect("write");
        let at = Coordinates {
            path: "f",
            start_byte: start,
            end_byte: start + len,
            start_line: first,
            end_line: first.saturating_add(more),
            text_hash: hash(&text),
        };
        if let Ok(got) = find(dir.path(), &at) {
            let (from, to) = (usize::try_from(got.start_byte)?, usize::try_from(got.end_byte)?);
            prop_assert!(from <= to && to <= bytes.len());
            prop_assert!(1 <= got.start_line && got.start_line <= got.end_line);
            prop_assert_eq!(got.text, String::from_utf8_lossy(&bytes[from..to]));
            let right = |from: usize, to: usize| bytes.get(from..to).is_some_and(|text| hash(text) == at.text_hash);
            match got.state {
                SnippetState::Exact => prop_assert!(right(from, to) && got.start_byte == start),
                SnippetState::Moved => prop_assert!(right(from, to) && got.start_byte != start),
                SnippetState::Edited => {
                    prop_assert!(!right(usize::try_from(start)?, usize::try_from(start + len)?));
                }
                SnippetState::Missing => prop_assert!(false, "the file is there"),
            }
        }
    }

    #[test]
    fn whole_lines_that_moved_are_found(
        above in prop::collection::vec("[a-z]{0,6}", 0..8),
        body in prop::collection::vec("[A-Z]{1,6}", 1..5),
        shift in prop::collection::vec("[a-z]{0,6}", 1..8),
        indent in "[ \t]{0,6}",
    ) {
        let text = body.join("\n");
        let lines = |lines: &[String]| lines.iter().flat_map(|line| [line, "\n"]).collect::<String>();
        let old = format!("{}{indent}{text}\n", lines(&above));
        let new = format!("{}{old}", lines(&shift));
        let dir = tempfile::tempdir().expect("temporary folder");
        std::fs::write(dir.path().join("f"), &new).expect("write");
        let got = find(dir.path(), &coordinates("f", &old, &text)).expect("found");
        prop_assert_eq!(got.state, SnippetState::Moved);
        prop_assert_eq!(got.text, text);
    }
}
