//! Files of the kinds that broke other programs, made here.

use std::time::{Duration, Instant};

use crate::chunk::tests::{assert_invariants, chunk_default, text};
use crate::chunk::{ChunkBudget, ParseOutcome, chunk_file};

fn holds(path: &str, bytes: &[u8], budget: &ChunkBudget, part: &str) -> bool {
    let file = chunk_file(path, bytes, budget);
    file.chunks.iter().any(|c| text(bytes, c).windows(part.len()).any(|w| w == part.as_bytes()))
}

#[test]
fn raw_offsets_with_bom_crlf_emoji_and_letters_of_all_kinds() {
    let lines = [
        "package offsets.demo",
        "",
        "/** Misst 🦊 und o\u{308} (zwei Zeichen). */",
        "class Messer(private val länge: String) {",
        "    fun weite(): Int = länge.length // 🏳️\u{200D}🌈",
        "",
        "    fun sagen(wem: String): String {",
        "        val s = \"🖖 ${wem} – \\u00e4\"",
        "        return s",
        "    }",
        "}",
        "",
        "fun oben語(x: Int) = x + 1",
        "",
        "fun ohneZeilenende() = \"🕯\"",
    ];
    let mut bytes = b"\xEF\xBB\xBF".to_vec();
    bytes.extend(lines.join("\r\n").into_bytes());
    let functions = [
        "fun weite(): Int = länge.length",
        "fun sagen(wem: String): String {\r\n        val s = \"🖖 ${wem} – \\u00e4\"\r\n        return s\r\n    }",
        "fun oben語(x: Int) = x + 1",
        "fun ohneZeilenende() = \"🕯\"",
    ];
    for preferred in [80, 120, 1_000] {
        let budget = ChunkBudget { preferred, ..ChunkBudget::default() };
        assert_invariants("Messer.kt", &bytes, &budget);
        for function in functions {
            assert!(holds("Messer.kt", &bytes, &budget, function), "{function} is torn at {preferred}");
        }
    }
}

#[test]
fn minified_megabytes_are_cut_in_windows_without_a_parse() {
    let mut bytes = Vec::new();
    let mut n = 7_u32;
    while bytes.len() < 12 * 1_024 * 1_024 {
        n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes.extend(
            format!("!function(a,b){{var c={n},d=[{},{}];return a.q{}=b}}(self,!1);", n % 7, n % 31, n % 997)
                .bytes(),
        );
    }
    let started = Instant::now();
    let file = chunk_default("bundle.min.js", &bytes);
    // Generous: 0.3 s on two busy cores, optimised. A parse alone takes 3.6 s there.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(file.parse, ParseOutcome::Lines);
    assert!(file.chunks.len() <= sextant_proto::limits::MAX_CHUNKS_PER_FILE, "{}", file.chunks.len());
    assert!(file.chunks.iter().all(|c| c.end_byte - c.start_byte <= 8_192));
    let inked = |bytes: &[u8]| bytes.iter().filter(|b| **b != b' ').count();
    let covered: usize = file.chunks.iter().map(|c| inked(text(&bytes, c))).sum();
    assert_eq!(covered, inked(&bytes));
}

#[test]
fn long_line_in_a_small_file_is_not_parsed() {
    let source = format!("var a = [{}];\n", "1,".repeat(11_000));
    assert_eq!(chunk_default("data.js", source.as_bytes()).parse, ParseOutcome::Lines);
    assert_invariants("data.js", source.as_bytes(), &ChunkBudget::default());
}

#[test]
fn heredocs_that_lose_the_tree_lose_no_text() {
    let tag = "Q".repeat(300);
    let source = format!(
        "<?php\nclass Post {{\n    public function intro(): string {{\n        return <<<END\n            Hello {{$x}} END of it\n            END;\n    }}\n    public function wide(): string {{ return <<<{tag}\nline\n{tag};\n    }}\n    public function later(): int {{ return 3; }}\n}}\n?>\n<p><?= later() ?></p>\n<?php\nfunction final_one() {{ return <<<Z\n\nZ; }}\n"
    );
    let open = format!("<?php\nfunction early() {{ return 1; }}\n$s = <<<NEVER\n{}", "text\n".repeat(2_000));
    for (bytes, names) in [
        (source.as_bytes(), vec!["function intro", "function wide", "function later", "function final_one"]),
        (open.as_bytes(), vec!["function early"]),
    ] {
        for preferred in [60, 200, 1_000] {
            let budget = ChunkBudget { preferred, ..ChunkBudget::default() };
            assert_invariants("Post.php", bytes, &budget);
            for name in &names {
                assert!(holds("Post.php", bytes, &budget, name), "{name} at {preferred}");
            }
        }
    }
}

#[test]
fn kotlin_that_grammars_stumble_over_stays_whole() {
    let functions = [
        "fun turn(result: Any): List<T> {\n        @Suppress(\"UNCHECKED_CAST\")\n        (result as List<T>)\n        return emptyList()\n    }",
        "override fun toString(): String = \"b\"",
        "fun <R : Any> suspend(request: Call<R>, skip: Boolean): R = handle(request, flag = skip)",
        "@Label(\"one\")\nobject Alpha {\n}",
        "object Omega {\n}",
        "val hook: Outer.Inner.() -> Unit = {}",
        "fun cents() = \"is $ 5 // no comment ${\"n${1}\"} \\$\"",
        "fun put() { getInstance().field = \"v\" }",
        "fun rest() = when (val x = 1) { !is Int -> 0; in 1..2 -> x; else -> -x }",
    ];
    let source = format!(
        "package demo\n\nclass Box<T>(@field:Deprecated(\"x\") val value: T) {{\n    {}\n    {}\n    {}\n}}\n\n{}\n\n{}\n\n{}\n{}\n{}\n{}\n",
        functions[0],
        functions[1],
        functions[2],
        functions[3],
        functions[4],
        functions[5],
        functions[6],
        functions[7],
        functions[8],
    );
    for preferred in [140, 200, 1_000] {
        let budget = ChunkBudget { preferred, ..ChunkBudget::default() };
        assert_invariants("Box.kt", source.as_bytes(), &budget);
        for function in functions {
            assert!(
                holds("Box.kt", source.as_bytes(), &budget, function),
                "{function} is torn at {preferred}"
            );
        }
    }
}

#[test]
fn encodings_keep_raw_offsets_and_line_feeds_alone_end_lines() {
    let files: &[(&str, &[u8], &str)] = &[
        ("latin1.py", b"# caf\xe9\ndef latin():\n    return '\xe4'\n", "def latin"),
        ("broken.py", b"x='\xf0\x9f\x92'\ny='\xc0\xaf\xed\xa0\x80'\ndef torn():\n    pass\n", "def torn"),
        ("cr.py", b"def cr_a():\r    return 1\rdef cr_b():\r    return 2\r", "def cr_b"),
        ("mixed.py", b"def m1():\r\n    return 1\n\rdef m2():\r    return 2", "def m2"),
        (
            "nel.js",
            "function ls(){return '\u{2028}\u{2029}\u{85}'}\nfunction after(){}\n".as_bytes(),
            "function after",
        ),
        ("nul.js", b"function early(){}\n\0x", "function early"),
    ];
    for (path, bytes, part) in files {
        for preferred in [5, 30, 1_000] {
            assert_invariants(path, bytes, &ChunkBudget { preferred, ..ChunkBudget::default() });
        }
        assert!(holds(path, bytes, &ChunkBudget::default(), part), "{part}");
    }
    // The walk skips UTF-16; what gets here all the same is cut without a loss.
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        let text = "\u{FEFF}fn a() {\r\n    \u{1F98A}\r\n}\r\n".repeat(40);
        let wide: Vec<u8> = text.encode_utf16().flat_map(order).collect();
        for preferred in [5, 30, 1_000] {
            assert_invariants("wide.rs", &wide, &ChunkBudget { preferred, ..ChunkBudget::default() });
        }
    }
    let nel = chunk_default("nel.js", files[4].1);
    assert_eq!(nel.chunks.last().map(|c| c.end_line), Some(2));
    for empty in [&b""[..], b"\xEF\xBB\xBF", b" \t\r\n \n"] {
        assert!(chunk_default("empty.go", empty).chunks.is_empty());
        assert!(chunk_default("empty.txt", empty).chunks.is_empty());
    }
}

#[test]
fn deep_nesting_and_slow_parses_end() {
    let deep = format!("x = {}1{};\n", "(\n".repeat(30_000), ")\n".repeat(30_000));
    assert_invariants("deep.js", deep.as_bytes(), &ChunkBudget::default());
    let functions = "fn a(){\n".repeat(20_000);
    assert_invariants("deep.rs", functions.as_bytes(), &ChunkBudget::default());
    // Every annotation can also begin a call: the parser keeps many readings alive.
    let chain = format!("val x = 1\n{}", "@A(b) (c)\n".repeat(60_000));
    let file = chunk_default("chain.kt", chain.as_bytes());
    assert_eq!(file.parse, ParseOutcome::TimedOut);
    let covered: usize = file.chunks.iter().map(|c| text(chain.as_bytes(), c).len()).sum();
    assert!(covered + file.chunks.len() >= chain.trim_end().len(), "lines are used instead");
}
