//! Gives bytes to the chunker under every language and many budgets, and checks what holds for any file.
//!
//! `make fuzz`, or `cargo +nightly fuzz run chunk` in `client-agent/`. A finding goes into
//! `client-agent/src/chunk/tests/awkward.rs` as a fixed case.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sextant_chunk_fuzz::chunk::embed_input::{embed_input, source_text};
use sextant_chunk_fuzz::chunk::{ChunkBudget, chunk_file};

/// One file name a way of cutting.
const PATHS: &[&str] = &[
    "a.kt",
    "a.java",
    "a.py",
    "a.js",
    "a.ts",
    "a.tsx",
    "a.cs",
    "a.php",
    "a.go",
    "a.rs",
    "a.md",
    "a.adoc",
    "a.rst",
    "a.ipynb",
    "a.yaml",
    "a.toml",
    "a.json",
    "a.xml",
    "a.properties",
    "a.sql",
    "tests/a",
    "a.bin",
];

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

// The first three bytes choose the language and the budget.
fuzz_target!(|input: &[u8]| {
    let Some(([language, preferred, cap], bytes)) = input.split_first_chunk::<3>() else { return };
    let path = PATHS[usize::from(*language) % PATHS.len()];
    let preferred = if *preferred == 0 { 1_000 } else { usize::from(*preferred) };
    let budget = ChunkBudget { preferred, hard_cap_bytes: usize::from(*cap) * 32 };
    let file = chunk_file(path, bytes, &budget);
    let mut before = if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    for (n, chunk) in file.chunks.iter().enumerate() {
        let (start, end) = (chunk.start_byte as usize, chunk.end_byte as usize);
        assert_eq!(chunk.ordinal as usize, n);
        assert!(before <= start && start < end && end <= bytes.len(), "ordered, disjoint, not empty");
        assert!(end - start <= budget.hard_cap_bytes.max(64), "under the cap");
        assert!(bytes[before..start].iter().all(|b| is_space(*b)), "nothing but white space is left out");
        assert!(!is_space(bytes[start]) && !is_space(bytes[end - 1]), "trimmed");
        assert!(chunk.start_line <= chunk.end_line);
        let shown = embed_input(path, &source_text(bytes, chunk));
        assert!(shown.starts_with(path));
        before = end;
    }
    assert!(
        bytes.get(before..).is_none_or(|rest| rest.iter().all(|b| is_space(*b))),
        "nothing is left at the end"
    );
});
