//! Rust text reduced to what the compiler acts on: comments and literals blanked, lines and columns kept.
//! A scanner, not a parser: it must not know items or types.

use std::iter;
use std::ops::Range;

/// The code of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// As long as the source in characters; every character of a comment or literal is a space, line ends are kept.
    blanked: String,
}

impl Code {
    /// Blanks comments (nested ones too), strings (raw, byte and C strings too) and character literals.
    pub fn of(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut blanked = String::with_capacity(text.len());
        let mut at = 0;
        while at < chars.len() {
            if let Some(length) = skipped_length(&chars, at) {
                let end = (at + length).min(chars.len());
                blanked.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
                at = end;
            } else {
                blanked.push(chars[at]);
                at += 1;
            }
        }
        Self { blanked }
    }

    /// The identifiers and keywords with their lines (from 1), in order.
    pub fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().enumerate().flat_map(|(row, line)| words_of(line).map(move |(_, word)| (row + 1, word)))
    }

    /// The words that can name a crate: not those within a path (`backend::ort`) and not declared modules
    /// (`mod ort`). A path that goes on from the line above counts as begun anew.
    pub fn roots(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().enumerate().flat_map(|(row, line)| {
            words_of(line).filter(|(at, _)| begins_path(&line[..*at])).map(move |(_, word)| (row + 1, word))
        })
    }

    /// The lines without comments and literals.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.blanked.lines()
    }

    /// The lines (from 0) of the modules that are compiled for tests only, attribute included. An out-of-line
    /// `mod tests;` counts for its own two lines.
    pub fn test_modules(&self) -> Vec<Range<usize>> {
        let lines: Vec<&str> = self.lines().collect();
        let mut found = Vec::new();
        let mut row = 0;
        while row < lines.len() {
            if is_test_attribute(lines[row])
                && let Some(end) = end_of_module(&lines, row)
            {
                found.push(row..end);
                row = end;
            } else {
                row += 1;
            }
        }
        found
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of a line with the byte where each begins.
fn words_of(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let words = line.split(|c: char| !is_word(c)).filter(|word| !word.is_empty());
    words.map(|word| (word.as_ptr() as usize - line.as_ptr() as usize, word))
}

/// Whether a word after this text stands at the root of a path.
fn begins_path(before: &str) -> bool {
    let before = before.trim_end();
    match before.strip_suffix("::") {
        // `::ort` is the crate for certain; `<T>::ort` and `backend::ort` are not.
        Some(owner) => !owner.ends_with(|c| is_word(c) || c == '>'),
        None => before.split(|c| !is_word(c)).next_back() != Some("mod"),
    }
}

/// `#[cfg(test)]` and its combinations, such as `#[cfg(all(test, unix))]`; not `#[cfg(not(test))]`.
fn is_test_attribute(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[cfg(")
        && !line.contains("not(")
        && line.split(|c| !is_word(c)).any(|word| word == "test")
}

/// The line after the module that follows the attribute in line `start`, if a module follows.
fn end_of_module(lines: &[&str], start: usize) -> Option<usize> {
    let mut depth = 0_i64;
    let mut is_module = false;
    for (row, line) in lines.iter().enumerate().skip(start) {
        // Attributes stand before the module: their own brackets are no block.
        if !is_module && line.trim_start().starts_with("#[") {
            continue;
        }
        if !is_module {
            is_module = line.split(|c| !is_word(c)).any(|word| word == "mod");
            if !is_module {
                return None;
            }
        }
        let opened = line.matches('{').count() as i64;
        depth += opened - line.matches('}').count() as i64;
        if depth <= 0 && (opened > 0 || line.contains('}') || line.contains(';')) {
            return Some(row + 1);
        }
    }
    Some(lines.len())
}

/// How many characters from `at` are a comment or a literal; None where code goes on.
fn skipped_length(chars: &[char], at: usize) -> Option<usize> {
    let after_word = at > 0 && is_word(chars[at - 1]);
    let rest = &chars[at..];
    match rest {
        ['/', '/', ..] => Some(rest.iter().take_while(|c| **c != '\n').count()),
        ['/', '*', ..] => Some(block_comment_length(rest)),
        ['"', ..] => Some(string_length(rest, 0)),
        ['b' | 'c', '"', ..] if !after_word => Some(string_length(rest, 1)),
        ['b', '\'', ..] if !after_word => char_length(&rest[1..]).map(|length| length + 1),
        ['r', ..] if !after_word => raw_string_length(rest, 1),
        ['b' | 'c', 'r', ..] if !after_word => raw_string_length(rest, 2),
        ['\'', ..] => char_length(rest),
        _ => None,
    }
}

fn block_comment_length(rest: &[char]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => {
                depth += 1;
                at += 2;
            }
            ['*', '/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of a string whose opening quote stands at `quote`, as far as it is closed.
fn string_length(rest: &[char], quote: usize) -> usize {
    let mut at = quote + 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of a raw string with `prefix` letters before its hashes; None for a raw identifier or a plain word.
fn raw_string_length(rest: &[char], prefix: usize) -> Option<usize> {
    let hashes = rest[prefix..].iter().take_while(|c| **c == '#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&'"') {
        return None;
    }
    let closing: Vec<char> = iter::once('"').chain(iter::repeat_n('#', hashes)).collect();
    let body = &rest[open + 1..];
    let end = body.windows(closing.len()).position(|window| window == closing);
    Some(end.map_or(rest.len(), |end| open + 1 + end + closing.len()))
}

/// The length of a character literal; None for a lifetime or a label.
fn char_length(rest: &[char]) -> Option<usize> {
    match rest {
        ['\'', '\\', ..] => {
            let body = rest.iter().skip(3).position(|c| *c == '\'')?;
            Some(body + 4)
        }
        ['\'', _, '\'', ..] => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        Code::of(text).words().map(|(_, word)| word.to_owned()).collect()
    }

    #[test]
    fn comments_and_literals_are_blank() {
        for (text, expected) in [
            ("a // unsafe\nb", vec!["a", "b"]),
            ("a /* x /* y */ z */ b", vec!["a", "b"]),
            ("a \"un\\\"safe\" b", vec!["a", "b"]),
            ("a r#\"un\"safe\"# b", vec!["a", "b"]),
            ("a br\"\\\" b", vec!["a", "b"]),
            ("a b\"x\" c\"y\" b'z' d", vec!["a", "d"]),
            ("r#type", vec!["r", "type"]),
            ("a '\"' b '\\'' c '\\u{7f}' d", vec!["a", "b", "c", "d"]),
            ("&'a str, 'outer: loop", vec!["a", "str", "outer", "loop"]),
            ("for_r\"x\" y", vec!["for_r", "y"]),
            ("open \"never closed", vec!["open"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_are_kept() {
        let text = "one\n/* two\nthree */ four\nr\"\nsix\" seven\n";
        assert_eq!(Code::of(text).words().collect::<Vec<_>>(), [(1, "one"), (3, "four"), (5, "seven")]);
    }

    #[test]
    fn roots_are_told_from_path_members() {
        for (text, expected) in [
            ("use ort::session;", vec!["use", "ort"]),
            ("use crate::backend::ort::Thing;", vec!["use", "crate"]),
            ("mod ort;", vec!["mod"]),
            ("fn f() -> ::ort::Result {", vec!["fn", "f", "ort"]),
            ("<T>::ort", vec!["T"]),
        ] {
            assert_eq!(Code::of(text).roots().map(|(_, word)| word).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn test_modules_are_found() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { \"}\" }\n}\nfn c() {}\n#[cfg(test)]\nmod more;\n";
        assert_eq!(Code::of(text).test_modules(), [1..5, 6..8]);
        let allowed = "#[cfg(all(test, unix))]\n#[allow(dead_code)]\nmod tests\n{\n}\nfn c() {}\n";
        assert_eq!(Code::of(allowed).test_modules(), [Range { start: 0, end: 5 }]);
        assert!(Code::of("#[cfg(not(test))]\nmod a {\n}\n").test_modules().is_empty());
        assert!(Code::of("#[cfg(test)]\nuse a::b;\nmod a {\n}\n").test_modules().is_empty());
    }
}
