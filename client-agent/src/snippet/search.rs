//! Finds a text of known length and hash in a file by trying the places where a chunk is likely to start.
//! Must not know which hash it is.

use std::ops::Range;

use super::lines::Lines;

/// The candidate nearest to `old` that `matches`, among the starts of lines and of their first non-blank byte.
///
/// Two passes: first the candidates that also end where a line ends, which nearly all chunks do and few other
/// ranges, then the rest. Stops once candidates of `budget_bytes` in all were hashed, so that a long file and a long
/// chunk cost milliseconds.
pub(super) fn nearest(
    bytes: &[u8],
    lines: &Lines,
    old: &Range<usize>,
    budget_bytes: u64,
    matches: &dyn Fn(Range<usize>) -> bool,
) -> Option<Range<usize>> {
    let len = old.len();
    let last_start = bytes.len().checked_sub(len)?;
    let mut starts: Vec<usize> =
        lines.starts().iter().flat_map(|&at| [at, first_non_blank(bytes, at)]).collect();
    starts.retain(|&start| start <= last_start && start != old.start);
    starts.sort_unstable_by_key(|&start| (start.abs_diff(old.start), start));
    starts.dedup();
    let mut left = budget_bytes;
    for whole_lines in [true, false] {
        for &start in &starts {
            if ends_a_line(bytes, start + len) != whole_lines {
                continue;
            }
            left = left.checked_sub(len as u64)?;
            if matches(start..start + len) {
                return Some(start..start + len);
            }
        }
    }
    None
}

fn first_non_blank(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count()
}

/// True where `end` is the end of a line, with or without its line end.
fn ends_a_line(bytes: &[u8], end: usize) -> bool {
    let is_end = |byte: Option<&u8>| matches!(byte, None | Some(b'\n' | b'\r'));
    is_end(bytes.get(end)) || end.checked_sub(1).is_some_and(|at| is_end(bytes.get(at)))
}
