//! Properties of arbitrary and of mutated files.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::chunk::languages;
use crate::chunk::tests::{assert_invariants, samples};
use crate::chunk::{ChunkBudget, chunk_file};

const PATHS: &[&str] = &[
    "a.kt", "a.java", "a.py", "a.js", "a.ts", "a.tsx", "a.cs", "a.php", "a.go", "a.rs", "a.md", "a.yaml",
    "a.rst", "a.adoc", "a.ipynb", "a.toml", "a.sql", "a.ini", "a.bin",
];

/// Texts that parsers stumble over, put into samples at random places.
const SPLINTERS: &[&[u8]] = &[
    b"{",
    b"}",
    b"(",
    b")",
    b"\"",
    b"'",
    b"`",
    b"/*",
    b"*/",
    b"//",
    b"#",
    b"<?php",
    b"?>",
    b"<<<X\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\xEF\xBB\xBF",
    b"\xF0\x9F\x92",
    b"\xC0",
    b"\x80\x80\x80\x80\x80",
    b"\n\n\n",
    b"          ",
    b"@",
    b"${",
    "\u{1F469}\u{200D}\u{1F467}".as_bytes(),
    "\u{2028}\u{85}".as_bytes(),
    "漢字".as_bytes(),
    b"class",
    b"fn ",
    b"def ",
];

fn budgets() -> impl Strategy<Value = ChunkBudget> {
    (prop_oneof![1_usize..40, 40_usize..300, Just(1_000_usize)], prop_oneof![1_usize..200, Just(8_192_usize)])
        .prop_map(|(preferred, hard_cap_bytes)| ChunkBudget { preferred, hard_cap_bytes })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_cut_whole(path in select(PATHS), bytes in vec(any::<u8>(), 0..3_000), budget in budgets()) {
        assert_invariants(path, &bytes, &budget);
    }

    #[test]
    fn any_text_is_cut_whole(path in select(PATHS), text in "(\\PC|[ \\n\\t(){};]){0,800}", budget in budgets()) {
        assert_invariants(path, text.as_bytes(), &budget);
    }

    #[test]
    fn mutated_samples_are_cut_whole(
        sample in select(samples::SAMPLES),
        edits in vec((any::<Index>(), any::<Index>(), select(SPLINTERS)), 0..6),
        repeats in 1_usize..4,
        budget in budgets(),
    ) {
        let mut bytes = sample.text.repeat(repeats).into_bytes();
        for (at, removed, splinter) in edits {
            let start = at.index(bytes.len() + 1);
            let end = start + removed.index(24.min(bytes.len() - start) + 1);
            bytes.splice(start..end, splinter.iter().copied());
        }
        assert_invariants(sample.path, &bytes, &budget);
    }
}

#[test]
fn every_kind_named_by_a_language_is_in_its_grammar() {
    for detected in languages::all_parsed() {
        let unknown = detected.grammar().map(crate::chunk::grammar::Grammar::unknown_kinds);
        // TSX shares its description with TypeScript; each has all the kinds.
        assert_eq!(unknown, Some(Vec::new()), "{}", detected.name());
    }
}

/// Grammars are loaded once and shared; nothing else is.
#[test]
fn the_number_of_threads_changes_nothing() {
    let cut = |sample: &samples::Sample| {
        let budget = ChunkBudget { preferred: 60, ..ChunkBudget::default() };
        chunk_file(sample.path, sample.text.repeat(3).as_bytes(), &budget)
    };
    let alone: Vec<_> = samples::SAMPLES.iter().map(cut).collect();
    let together: Vec<Vec<_>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| samples::SAMPLES.iter().map(cut).collect())).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    assert!(together.iter().all(|cuts| *cuts == alone));
}
