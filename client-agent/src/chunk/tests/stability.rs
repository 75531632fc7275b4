//! What an edit changes: the chunks that it touches and hardly any other.

use std::collections::HashSet;
use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::chunk::embed_input::{embed_input, source_text};
use crate::chunk::tests::chunk_default;

/// Functions of the given numbers of lines, as members of one class where asked.
fn source(functions: &[(usize, u32)], in_class: bool) -> String {
    let mut out = String::from("package p\n\n");
    let indent = if in_class { "    " } else { "" };
    if in_class {
        out += "class Holder {\n";
    }
    for (lines, seed) in functions {
        let _ = writeln!(out, "{indent}fun f{seed}(a: Int): Int {{");
        for n in 0..*lines {
            let _ = writeln!(
                out,
                "{indent}    val v{n} = a * {} + other{n}(a)",
                seed.wrapping_mul(n as u32 + 1) % 9_973
            );
        }
        let _ = writeln!(out, "{indent}    return a\n{indent}}}\n");
    }
    if in_class {
        out += "}\n";
    }
    out
}

fn inputs(text: &str) -> HashSet<String> {
    let file = chunk_default("src/F.kt", text.as_bytes());
    file.chunks.iter().map(|c| embed_input("src/F.kt", &source_text(text.as_bytes(), c))).collect()
}

/// Chunks of the edited text that the text before does not have.
fn changed(before: &str, after: &str) -> usize {
    inputs(after).difference(&inputs(before)).count()
}

fn functions() -> impl Strategy<Value = Vec<(usize, u32)>> {
    vec((1_usize..25, any::<u32>()), 30..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    /// Left-to-right grouping fails this at once: there an edit near the start changes every chunk behind it.
    #[test]
    fn an_edit_is_felt_near_it_alone(functions in functions(), in_class: bool, grown in 1_usize..25) {
        let before = source(&functions, in_class);
        let mut counts = Vec::new();
        for at in (0..functions.len()).step_by(5) {
            let mut edited = functions.clone();
            edited[at].0 = grown;
            counts.push(changed(&before, &source(&edited, in_class)));
        }
        counts.sort_unstable();
        let p95 = counts[(counts.len() - 1) * 95 / 100];
        prop_assert!(counts[counts.len() / 2] <= 2, "median of {counts:?}");
        prop_assert!(p95 <= 4, "p95 of {counts:?}");
    }

    /// An edit that leaves sizes as they are changes one chunk.
    #[test]
    fn an_edit_of_the_same_size_changes_one_chunk(functions in functions(), in_class: bool, at in any::<prop::sample::Index>()) {
        let before = source(&functions, in_class);
        let target = format!("fun f{}(a: Int)", functions[at.index(functions.len())].1);
        let body = before.find(&target).map(|n| n + target.len()).unwrap_or_default();
        let (head, tail) = before.split_at(body);
        let after = format!("{head}{}", tail.replacen("return a", "return b", 1));
        prop_assert_eq!(changed(&before, &after), 1);
    }
}
