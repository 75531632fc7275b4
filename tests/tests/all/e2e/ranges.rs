//! Byte and line ranges through the whole way: counted in the raw file, whatever stands in it.

use serde_json::Value;

use super::sandbox::{Model, Sandbox, line_at, number, text};

/// Kotlin as a Windows editor saves it: a mark at the start, two bytes a line end, none at the end, and letters of two,
/// three and four bytes.
fn kotlin() -> Vec<u8> {
    let mut lines: Vec<String> = vec![
        "package demo.offsets".into(),
        String::new(),
        "/** Zählt 🦀 and e\u{301} (two code points). */".into(),
        "class Greeter(private val naïve: String) {".into(),
        "    fun größe(): Int = naïve.length // 🏳️\u{200d}🌈 ZWJ run".into(),
        String::new(),
    ];
    for n in 0..12 {
        lines.push(format!("    fun hello{n}(name: String): String {{"));
        lines.extend(
            (0..14).map(|k| format!("        val s{k} = \"👋 ${{name}} – \\u00e9 漢字 {n}/{k}\" + größe()")),
        );
        lines.push("        return s0\r\n    }\r\n".into());
    }
    lines.extend(["}".into(), String::new(), "fun top漢字(x: Int) = x + 1".into(), String::new()]);
    lines.push("fun lastNoNewline() = \"💡\"".into());
    [b"\xef\xbb\xbf", lines.join("\r\n").as_bytes()].concat()
}

/// Every chunk holds the file's own bytes, and all that is no white space lies in exactly one.
fn check_cover(bytes: &[u8], chunks: &[Value]) {
    let mut at = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    for chunk in chunks {
        let (start, end) = (number(chunk, "start_byte") as usize, number(chunk, "end_byte") as usize);
        assert!(at <= start && start < end, "{chunk}");
        assert!(bytes[at..start].iter().all(u8::is_ascii_whitespace), "a gap before {chunk}");
        assert_eq!(text(chunk, "snippet").as_bytes(), &bytes[start..end]);
        assert_eq!(text(chunk, "state"), "exact");
        let lines = (number(chunk, "start_line"), number(chunk, "end_line"));
        assert_eq!(lines, (line_at(bytes, start), line_at(bytes, end - 1)), "{chunk}");
        at = end;
    }
    assert!(bytes[at..].iter().all(u8::is_ascii_whitespace), "a rest after the last chunk");
}

#[test]
fn ranges_count_raw_bytes() {
    let sandbox = Sandbox::new(Model::Fake);
    let bytes = kotlin();
    sandbox.write("Greeter.kt", &bytes);
    sandbox.index();
    let chunks = sandbox.chunks();
    assert!(chunks.len() > 4, "the file is cut: {}", chunks.len());
    check_cover(&bytes, &chunks);
    // A function is never torn.
    let whole = String::from_utf8(bytes).expect("UTF-8");
    for n in 0..12 {
        let start = whole.find(&format!("fun hello{n}(")).expect("it is there");
        let end = start + whole[start..].find("\r\n    }").expect("it ends") + "\r\n    }".len();
        let holders = chunks.iter().filter(|chunk| {
            number(chunk, "start_byte") as usize <= start && end <= number(chunk, "end_byte") as usize
        });
        assert_eq!(holders.count(), 1, "hello{n}");
    }
}

#[test]
fn what_is_no_utf_8_is_found_where_it_lies() {
    let sandbox = Sandbox::new(Model::Fake);
    let latin = b"# Gr\xf6\xdfe der Fl\xe4che\ndef flaeche(a, b):\n    return a * b\n";
    sandbox.write("latin.py", latin);
    sandbox.index();
    let chunks = sandbox.chunks();
    assert_eq!(chunks.len(), 1);
    let range = (number(&chunks[0], "start_byte"), number(&chunks[0], "end_byte"));
    assert_eq!(range, (0, latin.len() as u64 - 1));
    assert_eq!(text(&chunks[0], "state"), "exact");
    assert!(text(&chunks[0], "snippet").starts_with("# Gr\u{fffd}\u{fffd}e der"));
}

#[test]
fn a_file_far_over_the_usual_size_has_its_text_shown_to_the_end() {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.configure("backend = \"fake\"\nmax_file_bytes = 4194304\n");
    let mut source = "x = 1  # filler\n".repeat(80_000);
    assert!(source.len() > 1 << 20);
    source.push_str(&"    return pangolin(scales) + pangolin(tongue)\n".repeat(60));
    sandbox.write("large.py", &source);
    let report = sandbox.index();
    assert_eq!(number(&report, "files"), 1, "{report}");
    let told = sandbox.run(&["search", "--jsonl", "return pangolin scales pangolin tongue", "-k", "1"]);
    assert_eq!((told.code, told.err.as_str()), (Some(0), ""), "{told:?}");
    let hits = told.hits();
    assert!(text(&hits[0], "snippet").contains("pangolin"), "{told:?}");
}
