//! Cuts of constructs that tear easily, judged by eye. Each file holds code with a line `✂ item name` where a chunk
//! begins; the code is what is left without those lines.

use std::fmt::Write;

use crate::chunk::tests::assert_invariants;
use crate::chunk::{ChunkBudget, chunk_file};

const MARK: &str = "✂ ";
/// Small, so that constructs of a usual size are over it.
const PREFERRED: usize = 120;

/// The code with a line before every chunk. A chunk that begins inside a line breaks it: that is seen too.
fn marked(path: &str, code: &str) -> String {
    let budget = ChunkBudget { preferred: PREFERRED, ..ChunkBudget::default() };
    let mut out = String::new();
    let mut done = 0;
    for chunk in chunk_file(path, code.as_bytes(), &budget).chunks {
        let start = chunk.start_byte as usize;
        let line = code[..start].rfind('\n').map_or(0, |n| n + 1);
        let at = if code[line..start].trim().is_empty() { line } else { start };
        let between = if at == start && at != line { "\n" } else { "" };
        let _ = writeln!(
            out,
            "{}{between}{MARK}{} {}",
            &code[done..at],
            chunk.item.name(),
            chunk.name.as_deref().unwrap_or("-")
        );
        done = at;
    }
    out + &code[done..]
}

fn check(path: &str, expected: &str) {
    let lines = expected.split_inclusive('\n').filter(|line| !line.starts_with(MARK));
    let code: String = lines.collect();
    let found = marked(path, &code);
    assert!(found == expected, "{path} is cut like this now:\n{found}");
    for preferred in [20, 60, 300, 1_000] {
        assert_invariants(path, code.as_bytes(), &ChunkBudget { preferred, ..ChunkBudget::default() });
    }
}

macro_rules! constructs {
    ($($name:ident: $file:literal),* $(,)?) => {
        $(#[test]
        fn $name() {
            check($file, include_str!(concat!("constructs/", $file, ".txt")));
        })*
    };
}

constructs! {
    kotlin: "kotlin.kt",
    java: "java.java",
    python: "python.py",
    javascript: "javascript.jsx",
    typescript: "typescript.ts",
    csharp: "csharp.cs",
    php: "php.php",
    go: "go.go",
    rust: "rust.rs",
}
