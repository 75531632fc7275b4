//! The judge judged: cuts planted where they break a rule are found, and honest cuts are left in peace.

use std::ops::Range;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::judge::{Cover, Finding, Limits, Rule, cover, judge, parse};
use super::rules::{self, Rules};

/// A text with marks: `¦` where a cut breaks a rule, `|` where a cut is honest. Neither occurs in the code itself.
struct Plant {
    path: &'static str,
    text: &'static str,
    rule: Rule,
}

use Rule::{CutWhole, DetachedPrefix, OrphanCloser};

const PLANTS: &[Plant] = &[
    Plant {
        path: "a.rs",
        rule: DetachedPrefix,
        text: "use a;\n\n|/// Does it.\n¦/// Well.\n¦#[inline]\n¦pub fn b() {\n    c();\n    |d();\n}\n\n|// alone\n\n|struct E;\n",
    },
    Plant {
        path: "a.rs",
        rule: OrphanCloser,
        text: "fn a() {\n    if b {\n        c(¦);\n    ¦}\n    |d();\n¦}\n|fn e() {}\n",
    },
    Plant {
        path: "a.rs",
        rule: CutWhole,
        text: "fn a() {\n    |let b = match c {\n        ¦1 => d(),\n        ¦_ => e(),\n    };\n    |f();\n}\n|struct G {\n    ¦h: u8,\n    ¦i: u8,\n}\n",
    },
    Plant {
        path: "A.kt",
        rule: DetachedPrefix,
        text: "package p\n\n|/** Does it. */\n¦class A {\n    |// why\n    ¦fun b() = 1\n    |fun c() = 2\n}\n",
    },
    Plant {
        path: "A.kt",
        rule: OrphanCloser,
        text: "fun a() {\n    b(1¦)\n    |c {\n        d()\n    ¦}\n¦}\n",
    },
    Plant {
        path: "A.kt",
        rule: CutWhole,
        text: "fun a() = 1\n\n|fun b(c: Int) = when (c) {\n    ¦1 -> 2\n    ¦else -> 3\n}\n|enum class D {\n    E,\n    ¦F,\n}\n",
    },
    Plant {
        path: "A.java",
        rule: DetachedPrefix,
        text: "class A {\n    |/** Doc. */\n    ¦@Override\n    ¦public ¦void ¦b() { c(); }\n    |int d;\n}\n",
    },
    Plant {
        path: "A.java",
        rule: OrphanCloser,
        text: "class A {\n    void b() {\n        c(1¦);\n    ¦}\n    |void d() {}\n¦}\n",
    },
    Plant {
        path: "A.java",
        rule: CutWhole,
        text: "class A {\n    void b(int c) {\n        |switch (c) {\n            ¦case 1: d(); break;\n            ¦default: e();\n        }\n        |f();\n    }\n}\n|enum G {\n    ¦H, ¦I\n}\n",
    },
    Plant {
        path: "a.py",
        rule: DetachedPrefix,
        text: "import a\n\n|# Why.\n¦@b.c\n¦@d\n¦def e():\n    f()\n    |return 1\n",
    },
    Plant {
        path: "a.py",
        rule: OrphanCloser,
        text: "def a():\n    b(\n        1,\n    ¦)\n    |c = [\n        d(),\n    ¦]\n",
    },
    Plant {
        path: "a.py",
        rule: CutWhole,
        text: "A = {\n    ¦'b': 1,\n    ¦'c': 2,\n}\n|def d():\n    |s = \"\"\"\n    ¦select 1\n    ¦from t\n    \"\"\"\n    |match s:\n        ¦case 1: pass\n",
    },
    Plant {
        path: "a.js",
        rule: DetachedPrefix,
        text: "import a from 'a';\n\n|/** Doc. */\n¦// more\n¦export function b() {\n  |return 1;\n}\n",
    },
    Plant {
        path: "a.js",
        rule: OrphanCloser,
        text: "function a() {\n  b(() => {\n    c();\n  ¦}¦);\n  |d();\n¦}\n",
    },
    Plant {
        path: "a.jsx",
        rule: CutWhole,
        text: "const a = {\n  ¦b: 1,\n  ¦c: 2,\n};\n|const E = () => {\n  |const f = 1;\n  |return <ul>\n    ¦<li>{f}</li>\n    ¦<li>g</li>\n  </ul>;\n};\n",
    },
    Plant {
        path: "a.ts",
        rule: DetachedPrefix,
        text: "import a from 'a';\n\n|/** Doc. */\n¦export class B {\n  |/** Doc. */\n  ¦private ¦c(): void { d(); }\n}\n",
    },
    Plant {
        path: "a.ts",
        rule: OrphanCloser,
        text: "class A {\n  b(): void {\n    c([1¦]);\n  ¦}\n  |d = 1;\n¦}\n",
    },
    Plant {
        path: "a.ts",
        rule: CutWhole,
        text: "interface A {\n  ¦b: number;\n  ¦c: string;\n}\n|enum D {\n  ¦E,\n  ¦F,\n}\n|const s = `\n  ¦one\n  ¦two`;\n",
    },
    Plant {
        path: "a.cs",
        rule: DetachedPrefix,
        text: "class A {\n    |/// <summary>Doc.</summary>\n    ¦[Obsolete]\n    ¦public ¦void ¦B() { C(); }\n    |int d;\n}\n",
    },
    Plant {
        path: "a.cs",
        rule: OrphanCloser,
        text: "class A {\n    void B() {\n        C(1¦);\n    ¦}\n    |int d;\n¦}\n",
    },
    Plant {
        path: "a.cs",
        rule: CutWhole,
        text: "enum A {\n    ¦B,\n    ¦C\n}\n|class D {\n    int E(int f) {\n        |switch (f) {\n            ¦case 1: return 2;\n            ¦default: return 3;\n        }\n    }\n}\n",
    },
    Plant {
        path: "a.php",
        rule: DetachedPrefix,
        text: "<?php\n\n|/** Doc. */\n¦#[Pure]\n¦function a() {\n    |return 1;\n}\n",
    },
    Plant {
        path: "a.php",
        rule: OrphanCloser,
        text: "<?php\nfunction a() {\n    if (b(1¦)) {\n        c();\n    ¦}\n    |d();\n¦}\n",
    },
    Plant {
        path: "a.php",
        rule: CutWhole,
        text: "<?php\n$a = [\n    ¦'b' => 1,\n    ¦'c' => 2,\n];\n|function d($e) {\n    |return match ($e) {\n        ¦1 => 2,\n        ¦default => 3,\n    };\n}\n",
    },
    Plant {
        path: "a.go",
        rule: DetachedPrefix,
        text: "package p\n\n|// Does it.\n¦// Well.\n¦func A() {\n\tb()\n\t|c()\n}\n\n|// alone\n\n|type D int\n",
    },
    Plant {
        path: "a.go",
        rule: OrphanCloser,
        text: "package p\n\nfunc A() {\n\tif b(1¦) {\n\t\tc()\n\t¦}\n\t|d()\n¦}\n",
    },
    Plant {
        path: "a.go",
        rule: CutWhole,
        text: "package p\n\n|const (\n\t¦A = 1\n\t¦B = 2\n)\n\n|type C struct {\n\t¦d int\n\t¦e int\n}\n\n|func F(g int) {\n\t|switch g {\n\t¦case 1:\n\t\th()\n\t¦case 2:\n\t}\n}\n",
    },
];

/// The code without its marks, and the bytes where they stood: broken, honest.
fn marks(plant: &Plant) -> (String, Vec<usize>, Vec<usize>) {
    let (mut code, mut broken, mut honest) = (String::new(), Vec::new(), Vec::new());
    for c in plant.text.chars() {
        match c {
            '¦' => broken.push(code.len()),
            '|' => honest.push(code.len()),
            _ => code.push(c),
        }
    }
    (code, broken, honest)
}

fn rules_of(path: &str) -> &'static Rules {
    rules::of_path(Path::new(path)).unwrap_or(&rules::RULES[0])
}

/// Ranges between the cuts, without white space at their ends.
fn ranges(code: &str, cuts: &[usize]) -> Vec<Range<usize>> {
    let mut marks: Vec<usize> = cuts.iter().copied().chain([0, code.len()]).collect();
    marks.sort_unstable();
    marks.dedup();
    let trimmed = |pair: &[usize]| {
        let text = &code[pair[0]..pair[1]];
        let start = pair[0] + (text.len() - text.trim_start().len());
        (!text.trim().is_empty()).then(|| start..start + text.trim().len())
    };
    marks.windows(2).filter_map(trimmed).collect()
}

fn verdict(plant: &Plant, cuts: &[usize]) -> Vec<Finding> {
    let (code, ..) = marks(plant);
    let rules = rules_of(plant.path);
    let Some(tree) = parse(rules, code.as_bytes()) else { return Vec::new() };
    let limits = Limits { cap_bytes: 8_192, whole_chars: 2_000 };
    judge(rules, &tree, code.as_bytes(), &ranges(&code, cuts), limits)
}

#[test]
fn every_planted_cut_is_found_alone_and_every_honest_one_is_not() {
    for plant in PLANTS {
        let (code, broken, honest) = marks(plant);
        for cut in broken {
            let found = verdict(plant, &[cut]);
            assert!(
                found.iter().any(|f| f.rule == plant.rule),
                "{} not found at {cut} in\n{code}",
                plant.path
            );
        }
        assert_eq!(verdict(plant, &honest), Vec::new(), "{} honest cuts of\n{code}", plant.path);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A planted cut is found among honest ones, whatever else is cut.
    #[test]
    fn planted_cuts_are_found_among_honest_ones(
        plant in select((0..PLANTS.len()).collect::<Vec<_>>()), at: Index, keep: u16,
    ) {
        let plant = &PLANTS[plant];
        let (_, broken, honest) = marks(plant);
        let planted = broken[at.index(broken.len())];
        let kept = honest.iter().enumerate().filter(|(n, _)| keep & (1 << (n % 16)) != 0).map(|(_, cut)| *cut);
        let cuts: Vec<usize> = kept.chain([planted]).collect();
        prop_assert!(verdict(plant, &cuts).iter().any(|f| f.rule == plant.rule));
    }
}

#[test]
fn missing_and_doubled_bytes_are_counted() {
    let bytes = b"\xEF\xBB\xBFab cd\n";
    assert_eq!(cover(bytes, &[3..5, 6..8]), Cover { inked: 4, covered: 4, twice: 0 });
    assert_eq!(cover(bytes, &[3..5, 4..7]), Cover { inked: 4, covered: 3, twice: 1 });
    assert_eq!(cover(bytes, &[]), Cover { inked: 4, covered: 0, twice: 0 });
}

#[test]
fn every_kind_that_the_judge_names_is_in_its_grammar() {
    for rules in rules::RULES {
        let language = (rules.grammar)();
        let names = [rules.comments, rules.attributes, rules.declarations, rules.wholes, rules.tables];
        for kind in names.into_iter().flatten() {
            assert_ne!(language.id_for_node_kind(kind, true), 0, "{} has no {kind}", rules.name);
        }
    }
}

#[test]
fn what_is_over_the_limits_may_be_cut() {
    let rows = (0..400).fold(String::new(), |rows, n| rows + &format!("    'key{n}': {n},\n"));
    let code = format!("A = {{\n{rows}}}\n");
    let rules = rules_of("a.py");
    let Some(tree) = parse(rules, code.as_bytes()) else { panic!("no grammar") };
    let cut = code.find("    'key200'").unwrap_or_default();
    let found = |whole_chars| {
        let limits = Limits { cap_bytes: 8_192, whole_chars };
        judge(rules, &tree, code.as_bytes(), &ranges(&code, &[cut]), limits).len()
    };
    assert_eq!((found(2_000), found(8_000)), (0, 1));
}
