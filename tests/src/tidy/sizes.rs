//! Sizes: a file owns one thing and stays readable in one sitting; a binary is a thin shell around its library.

use super::workspace::Source;
use super::{Finding, Workspace};

/// The rule's name.
pub const RULE: &str = "sizes";

/// Lines of a file without its tests.
const MAX_LINES: usize = 400;
/// Lines of a file with its tests, and of a file of tests.
const MAX_LINES_WITH_TESTS: usize = 800;
/// Lines of a binary's root file.
const MAX_BINARY_LINES: usize = 60;

/// A file that holds nothing but tests.
fn is_tests(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// The root file of a binary: `src/main.rs`, `src/bin/x.rs` or `src/bin/x/main.rs`.
fn is_binary(path: &str) -> bool {
    let Some((_, inside)) = path.rsplit_once("src/") else { return false };
    inside == "main.rs"
        || inside.strip_prefix("bin/").is_some_and(|rest| !rest.contains('/') || rest.ends_with("/main.rs"))
}

fn lines_without_tests(source: &Source) -> usize {
    let tests: usize = source.code.test_modules().iter().map(ExactSizeIterator::len).sum();
    source.text.lines().count() - tests
}

/// Checks every Rust file's length in lines, comments and blank lines included.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &workspace.sources {
        let all = source.text.lines().count();
        let bare = lines_without_tests(source);
        let mut exceeds = |lines: usize, limit: usize, advice: &str| {
            if lines > limit {
                findings.push(Finding {
                    rule: RULE,
                    place: source.path.clone(),
                    what: format!("has {lines} lines {advice}; at most {limit} are allowed"),
                });
            }
        };
        if is_binary(&source.path) {
            exceeds(bare, MAX_BINARY_LINES, "in a binary's root (move them to the library)");
        } else if !is_tests(&source.path) {
            exceeds(bare, MAX_LINES, "without tests (split it by noun)");
        }
        exceeds(all, MAX_LINES_WITH_TESTS, "with tests (move the tests to a file of their own)");
    }
    findings
}
