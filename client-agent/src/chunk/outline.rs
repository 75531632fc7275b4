//! Owns the lines that open a part of a text without a grammar: headings, sections, entries, statements, cells.
//! Must not know how parts are cut or joined. Bytes and byte ranges alone, one look a line.

use std::ops::Range;

use crate::chunk::measure::trim;

/// What opens a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outline {
    /// Nothing does.
    None,
    /// A line that begins with the byte: `# Title`. Not between fences of code.
    Marked(u8),
    /// A line with a line of one repeated sign below it, and perhaps above it, as in reStructuredText.
    Underlined,
    /// `[section]`, as in TOML and INI, with the comment lines above it.
    Bracketed,
    /// `key:` without indentation, as in YAML, with the comment lines above it.
    Keyed,
    /// What follows a line that ends with `;`, as in SQL, outside `$$ … $$`.
    Statements,
    /// A cell of a Jupyter notebook, as its own tools lay it out.
    Cells,
}

/// A line that opens a part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opening {
    /// Where the part begins: at its heading, or at the comments above it.
    pub(super) start: usize,
    /// The name, in bytes of the file; none where the part has none.
    pub(super) name: Option<Range<usize>>,
}

/// Signs that underline a title in reStructuredText.
const ADORNMENTS: &[u8] = b"=-~^\"'`#*+.:_<>!$%&,;@";
/// Shortest underline.
const ADORNMENT_BYTES: usize = 3;

/// Every opening from `start` on, in order of `start`.
pub(super) fn openings(outline: Outline, bytes: &[u8], start: usize) -> Vec<Opening> {
    let mut found = Vec::new();
    if outline == Outline::None {
        return found;
    }
    let mut fenced = false;
    let mut ended = true;
    // Where the comment lines that lead the next line begin.
    let mut lead: Option<usize> = None;
    // The line before, where an overline stands.
    let mut above: Option<Range<usize>> = None;
    let mut in_cells = false;
    let mut at = start;
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let line = &bytes[at..end];
        let text = trim(bytes, at..end);
        let trimmed = text.clone().map_or(&b""[..], |t| &bytes[t]);
        let comment = is_comment(outline, trimmed);
        let flush = text.as_ref().is_some_and(|t| t.start == at);
        let from = lead.unwrap_or(at);
        match outline {
            Outline::Marked(mark) => {
                if line.starts_with(b"```") || line.starts_with(b"~~~") {
                    fenced = !fenced;
                }
                if !fenced && line.first() == Some(&mark) {
                    let marks = line.iter().take_while(|b| **b == mark).count();
                    found.push(Opening { start: at, name: trim(bytes, at + marks..end) });
                }
            }
            Outline::Underlined => {
                let next = end..line_end(bytes, end);
                let under = trim(bytes, next.clone()).filter(|u| u.start == end);
                let sign =
                    under.and_then(|u| adornment(&bytes[u.clone()]).filter(|_| u.len() >= trimmed.len()));
                if !trimmed.is_empty() && adornment(trimmed).is_none() && sign.is_some() {
                    let over = above.filter(|a| adornment(trimmed_of(bytes, a.clone())) == sign);
                    found.push(Opening { start: over.map_or(at, |a| a.start), name: text.clone() });
                    // The underline is no title's overline.
                    (above, at) = (None, next.end);
                    continue;
                }
            }
            Outline::Bracketed => {
                if flush && trimmed.starts_with(b"[") && bracketed(trimmed) {
                    let inner = text.clone().map(|t| t.start + 1..t.start + bracket_at(trimmed));
                    let inner = inner.map(|r| if bytes[r.start] == b'[' { r.start + 1..r.end } else { r });
                    found.push(Opening { start: from, name: inner.and_then(|r| trim(bytes, r)) });
                }
            }
            Outline::Keyed => {
                let key = flush.then(|| trimmed.iter().position(|b| *b == b':')).flatten();
                let opens =
                    trimmed.first().is_some_and(|b| b.is_ascii_alphanumeric() || b"_\"'/.".contains(b));
                if let Some(length) = key.filter(|_| opens) {
                    found.push(Opening { start: from, name: trim(bytes, at..at + length) });
                }
            }
            Outline::Statements => {
                if !trimmed.is_empty() && !comment {
                    if ended {
                        found.push(Opening { start: from, name: None });
                    }
                    fenced ^= trimmed.windows(2).filter(|w| w == b"$$").count() % 2 == 1;
                    ended = !fenced && trimmed.ends_with(b";");
                }
            }
            Outline::Cells => {
                in_cells |= trimmed.starts_with(b"\"cells\"");
                if in_cells && trimmed == b"{" && line.starts_with(b"  {") {
                    found.push(Opening { start: at, name: None });
                }
            }
            Outline::None => {}
        }
        lead = comment.then_some(from);
        above = Some(at..end);
        at = end;
    }
    found
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n + 1)
}

fn trimmed_of(bytes: &[u8], range: Range<usize>) -> &[u8] {
    trim(bytes, range).map_or(&b""[..], |t| &bytes[t])
}

fn is_comment(outline: Outline, line: &[u8]) -> bool {
    match outline {
        Outline::Bracketed => line.starts_with(b"#") || line.starts_with(b";"),
        Outline::Keyed => line.starts_with(b"#"),
        Outline::Statements => line.starts_with(b"--"),
        _ => false,
    }
}

/// The sign of a line that is nothing but it.
fn adornment(line: &[u8]) -> Option<u8> {
    let sign = *line.first().filter(|b| ADORNMENTS.contains(b))?;
    (line.len() >= ADORNMENT_BYTES && line.iter().all(|b| *b == sign)).then_some(sign)
}

/// Where the first closing bracket is.
fn bracket_at(line: &[u8]) -> usize {
    line.iter().position(|b| *b == b']').unwrap_or(line.len())
}

/// Whether the line is a bracketed name and no array: nothing but brackets and a comment follows it.
fn bracketed(line: &[u8]) -> bool {
    let close = bracket_at(line);
    let rest = line[close.min(line.len())..]
        .iter()
        .copied()
        .skip_while(|b| *b == b']')
        .find(|b| !b" \t".contains(b));
    close < line.len() && !line[..close].contains(&b',') && rest.is_none_or(|b| b"#;".contains(&b))
}
