//! Gives paths and texts to the cleaning, the normalisation and the short form of a path.
//!
//! `make fuzz`, or `cargo +nightly fuzz run embed_input` in `client-agent/`. A finding goes into the tests of
//! `client-agent/src/chunk/embed_input.rs` as a fixed case.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sextant_chunk_fuzz::chunk::embed_input::{PATH_CAP_CHARS, abbreviated, embed_input};

// The first line is the path, its file name's extension chooses what is noise.
fuzz_target!(|input: &str| {
    let (path, text) = input.split_once('\n').unwrap_or((input, ""));
    let shown = embed_input(path, text);
    let short = abbreviated(path, PATH_CAP_CHARS);
    let file = path.rsplit('/').next().unwrap_or_default();
    assert!(short.ends_with(file), "the file name stays");
    assert!(short.chars().count() <= PATH_CAP_CHARS.max(file.chars().count()), "under the cap");
    assert_eq!(abbreviated(&short, PATH_CAP_CHARS), short, "idempotent");
    let body = shown.strip_prefix(short.as_str()).expect("the path stands first");
    for line in body.split('\n').skip(1) {
        assert!(
            !line.trim_end().is_empty() && line.trim_end() == line,
            "no blank lines, no white space at line ends"
        );
    }
    // What is shown of the text is a subsequence of it.
    let mut source = text.chars();
    assert!(body.chars().filter(|c| *c != '\n').all(|c| source.any(|s| s == c)), "nothing is added");
});
