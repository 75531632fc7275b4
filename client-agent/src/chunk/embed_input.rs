//! Owns the text that a model sees of a chunk: the path, cleaned and normalised lines. Must not know models, tokens
//! or keys. Coordinates are never touched by it.
//!
//! The path line lifts retrieval more than any rule of ranking does: file and folder names say what the code is for.

use std::borrow::Cow;

use crate::chunk::Chunk;
use crate::chunk::clean::cleaned;
use crate::chunk::languages;
use crate::chunk::measure::is_space;
pub use crate::chunk::path_line::{PATH_CAP_CHARS, abbreviated};

/// The embed input: the abbreviated path, a line feed, and the text without licence headers, banners of generators,
/// annotations that mean nothing to a search, blank lines, common indentation, carriage returns and white space at
/// line ends. Pure, so equal chunks of equal paths share a key.
pub fn embed_input(path: &str, chunk_text: &str) -> String {
    let noise = languages::detect(path, b"").noise();
    let text = cleaned(chunk_text, noise);
    let mut input = String::with_capacity(path.len() + text.len() + 1);
    input.push_str(&abbreviated(path, PATH_CAP_CHARS));
    let lines = || text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let common = lines().map(indent_of).reduce(common_prefix).unwrap_or_default().len();
    for line in lines() {
        input.push('\n');
        input.push_str(line.get(common..).unwrap_or_default());
    }
    input
}

/// A chunk's text for `embed_input`: decoded (broken UTF-8 replaced) and, where only white space stands before it on
/// its line, begun at the line's start, so that the common indentation can be seen.
pub fn source_text<'a>(bytes: &'a [u8], chunk: &Chunk) -> Cow<'a, str> {
    let (start, end) = (chunk.start_byte as usize, chunk.end_byte as usize);
    let before = bytes.get(..start).unwrap_or_default();
    let indent = before.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let at_line_start =
        before.len() == indent || before[..before.len() - indent].last().is_some_and(|b| *b == b'\n');
    let from = if at_line_start { start - indent } else { start };
    String::from_utf8_lossy(bytes.get(from..end).unwrap_or_default())
}

fn indent_of(line: &str) -> &str {
    let length = line.bytes().take_while(|b| is_space(*b)).count();
    &line[..length]
}

fn common_prefix<'a>(a: &'a str, b: &'a str) -> &'a str {
    let length = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    &a[..length]
}

#[cfg(test)]
mod tests {
    use super::embed_input;

    #[test]
    fn text_is_normalised_below_the_path() {
        let text = "    fn a() {\r\n\r\n        b();   \n    }\n";
        assert_eq!(
            embed_input("one/two/three/file.rs", text),
            "one/two/three/file.rs\nfn a() {\n    b();\n}"
        );
        assert_eq!(embed_input("file.rs", "x"), "file.rs\nx");
        assert_eq!(embed_input("a/b/c/d", "x"), "a/b/c/d\nx");
        assert_eq!(embed_input("a.rs", "  \n\t\n"), "a.rs");
    }

    #[test]
    fn mixed_tabs_and_spaces_lose_only_what_is_common() {
        assert_eq!(embed_input("a", "\t\tx\n\t  y"), "a\n\tx\n  y");
        assert_eq!(embed_input("a", "x\n    y"), "a\nx\n    y");
    }
}
