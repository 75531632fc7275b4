//! Where the lines of a file begin. A line ends at LF, at CRLF, and at a CR that stands alone; not at U+2028 or
//! U+0085. Must not know chunks.

use std::ops::Range;

/// Byte offsets of line starts; the first is 0, and a final line end starts no further line.
pub(super) struct Lines {
    starts: Vec<usize>,
    len: usize,
}

impl Lines {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut starts = vec![0];
        for (at, &byte) in bytes.iter().enumerate() {
            let crlf = byte == b'\r' && bytes.get(at + 1) == Some(&b'\n');
            if (byte == b'\n' || (byte == b'\r' && !crlf)) && at + 1 < bytes.len() {
                starts.push(at + 1);
            }
        }
        Self { starts, len: bytes.len() }
    }

    /// At least 1: an empty file has one empty line.
    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The 1-based number of the line that holds byte `at`.
    pub(super) fn number(&self, at: usize) -> usize {
        self.starts.partition_point(|&start| start <= at)
    }

    /// The bytes of lines `first..=last` (1-based, clamped), with the last line's end.
    pub(super) fn span(&self, first: usize, last: usize) -> Range<usize> {
        let start = self.starts.get(first.saturating_sub(1)).copied().unwrap_or(self.len);
        let end = self.starts.get(last).copied().unwrap_or(self.len);
        start..end.max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_lf_crlf_and_lone_cr() {
        let rows: [(&str, &[usize]); 7] = [
            ("", &[0]),
            ("a", &[0]),
            ("a\n", &[0]),
            ("a\nb", &[0, 2]),
            ("a\r\nb\rc\n\rd", &[0, 3, 5, 7, 8]),
            ("\n\n", &[0, 1]),
            ("a\u{2028}b\u{85}c", &[0]),
        ];
        for (text, starts) in rows {
            assert_eq!(Lines::of(text.as_bytes()).starts(), starts, "{text:?}");
        }
        let lines = Lines::of(b"ab\ncd\n");
        assert_eq!([0, 2, 3, 5].map(|at| lines.number(at)), [1, 1, 2, 2]);
        assert_eq!(lines.span(1, 1), 0..3);
        assert_eq!(lines.span(2, 9), 3..6);
        assert_eq!(lines.span(7, 9), 6..6);
    }
}
