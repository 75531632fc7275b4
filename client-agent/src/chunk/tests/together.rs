//! What stays together, language by language, construct by construct: the text between `⟦` and `⟧` is in one chunk
//! whatever the preferred size is, from half of that text on, as long as no line is over it. The list of docs/chunking.md has a case for each entry.

use std::collections::BTreeMap;

use crate::chunk::tests::{assert_invariants, text};
use crate::chunk::{ChunkBudget, chunk_file};

const CASES: &str = include_str!("together.txt");
/// Constructs that a language shows at least.
const LEAST: usize = 8;

/// A construct in its file.
struct Case {
    path: &'static str,
    construct: &'static str,
    code: String,
    /// The part that stays together, in bytes of `code`.
    from: usize,
    to: usize,
}

/// Cases stand one below the other, each under a line `== path: construct`.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for case in CASES.split("== ").skip(1) {
        let (head, marked) = case.split_once('\n').expect("a line above the code");
        let (path, construct) = head.split_once(": ").expect("path and construct");
        let from = marked.find('⟦').expect("an opening mark");
        let marked = marked.replacen('⟦', "", 1);
        let to = marked.find('⟧').expect("a closing mark");
        let code = marked.replacen('⟧', "", 1);
        assert!(!code.contains(['⟦', '⟧']), "{head}: one pair of marks");
        cases.push(Case { path, construct, code, from, to });
    }
    cases
}

/// The budgets at which the case is torn.
fn torn(case: &Case) -> Vec<usize> {
    let bytes = case.code.as_bytes();
    let inked = |text: &str| text.chars().filter(|c| !c.is_ascii_whitespace()).count();
    let all = inked(&case.code[case.from..case.to]);
    let line = case.code.lines().map(inked).max().unwrap_or_default();
    let budgets = all.div_ceil(2).max(line)..=all * 2;
    assert!(!budgets.is_empty(), "{}: {} has a line that is too long", case.path, case.construct);
    budgets
        .filter(|preferred| {
            let budget = ChunkBudget { preferred: *preferred, ..ChunkBudget::default() };
            let chunks = chunk_file(case.path, bytes, &budget).chunks;
            !chunks.iter().any(|c| c.start_byte as usize <= case.from && c.end_byte as usize >= case.to)
        })
        .collect()
}

#[test]
fn constructs_stay_together_whatever_the_budget() {
    let mut broken = Vec::new();
    for case in cases() {
        assert_invariants(
            case.path,
            case.code.as_bytes(),
            &ChunkBudget { preferred: 40, ..ChunkBudget::default() },
        );
        let budgets = torn(&case);
        if !budgets.is_empty() {
            broken.push(format!("{}: {} at {budgets:?}", case.path, case.construct));
        }
    }
    assert!(broken.is_empty(), "torn:\n{}", broken.join("\n"));
}

#[test]
fn every_language_shows_its_constructs() {
    let mut shown: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let cases = cases();
    for case in &cases {
        let language = chunk_file(case.path, b"", &ChunkBudget::default()).language;
        shown.entry(language.as_str()).or_default().push(case.construct);
    }
    for (language, constructs) in &mut shown {
        let all = constructs.len();
        constructs.sort_unstable();
        constructs.dedup();
        assert_eq!(constructs.len(), all, "{language}: one case a construct");
        assert!(all >= LEAST, "{language} shows {constructs:?} alone");
    }
    assert_eq!(shown.len(), 9, "{:?}", shown.keys());
}

/// The test above can fail: a function's body is cut where it is too large.
#[test]
fn what_is_not_kept_whole_is_torn() {
    let code = "fn a() {\n    one(1, 2, 3);\n    two(1, 2, 3);\n    three(1, 2, 3);\n    four(1, 2, 3);\n}\n"
        .to_owned();
    let case = Case { path: "a.rs", construct: "body", from: 0, to: code.trim_end().len(), code };
    assert!(!torn(&case).is_empty());
    let whole = chunk_file("a.rs", case.code.as_bytes(), &ChunkBudget::default());
    assert_eq!(whole.chunks.len(), 1, "{:?}", whole.chunks.first().map(|c| text(case.code.as_bytes(), c)));
}
