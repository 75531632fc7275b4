//! Text from files, servers and users made safe to show: no byte of it can command a terminal or reorder a line.
//!
//! Owns which characters are escaped. Must not know where the text goes.

use std::borrow::Cow;
use std::fmt::Write;

/// Columns of a tab stop in a snippet.
const TAB: &str = "    ";

/// Whether a terminal or a reader could be deceived by `c`: C0 and C1 controls, DEL, and the marks that turn the
/// direction of writing (which hide code in plain sight, CVE-2021-42574) or break lines.
fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}' | '\u{2029}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with dangerous characters shown as `\x1b` or `\u{202e}`; for paths, messages and the like.
pub(super) fn line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        push(&mut safe, c);
    }
    Cow::Owned(safe)
}

/// A line of code: as [`line`], with tabs as four spaces.
pub(super) fn code(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\t' => safe.push_str(TAB),
            c => push(&mut safe, c),
        }
    }
    safe
}

/// JSON `text` with dangerous characters as `\u` escapes. They occur inside of its strings alone (the serialiser
/// escaped C0 controls already, and line ends between values stay), so the value is the same.
pub(super) fn json(text: &str) -> Cow<'_, str> {
    let needs_escape = |c: char| is_dangerous(c) && !c.is_ascii() || c == '\x7f';
    if !text.contains(needs_escape) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if needs_escape(c) {
            // All of them lie in the basic plane. Writing to a string cannot fail.
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

fn push(safe: &mut String, c: char) {
    // Writing to a string cannot fail.
    let _ = match c {
        '\n' => safe.write_str("\\n"),
        '\r' => safe.write_str("\\r"),
        '\t' => safe.write_str("\\t"),
        c if !is_dangerous(c) => safe.write_char(c),
        c if u32::from(c) < 0x100 => write!(safe, "\\x{:02x}", u32::from(c)),
        c => write!(safe, "\\u{{{:x}}}", u32::from(c)),
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commands_are_shown_and_not_obeyed() {
        assert_eq!(line("a\x1b[2Jb\n\r\t\u{9b}31m"), "a\\x1b[2Jb\\n\\r\\t\\x9b31m");
        assert_eq!(line("if x\u{202e}"), "if x\\u{202e}");
        assert_eq!(code("\tlet s = \"\x07\";"), "    let s = \"\\x07\";");
        assert!(matches!(line("grüße/日本.kt"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn nothing_dangerous_is_left(text in any::<String>()) {
            prop_assert!(!line(&text).contains(is_dangerous));
            prop_assert!(!code(&text).contains(is_dangerous));
        }

        #[test]
        fn json_keeps_its_value(text in "[\\x00-\\u{a0}\\u{2000}-\\u{2070}a-z]{0,40}") {
            let plain = serde_json::to_string(&text).expect("serialise");
            let safe = json(&plain);
            prop_assert!(!safe.contains(is_dangerous));
            let back: String = serde_json::from_str(&safe).expect("still JSON");
            prop_assert_eq!(back, text);
        }
    }
}
