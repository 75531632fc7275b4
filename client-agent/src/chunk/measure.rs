//! Owns the counting of bytes: white space, characters, lines, character boundaries.
//! Must not know trees, languages or chunks.

use std::ops::Range;

/// Bytes between two stored sums: a count costs at most this many table look-ups, and the sums take 1/16 of the file.
const STEP: usize = 64;

/// Bytes of a piece that give its hash: its signature, so that an edit in its body moves no boundary.
const HASHED_BYTES: usize = 64;

/// White space in the sense of this module: ASCII alone, so that a count needs no decoding.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Counts non-white-space characters of any range of one file in constant time.
/// A character is a byte that is no UTF-8 continuation byte; in broken text every stray lead byte counts.
pub(super) struct Measure<'a> {
    bytes: &'a [u8],
    sums: Vec<u32>,
}

fn counted(byte: u8) -> bool {
    !is_space(byte) && (byte & 0xC0) != 0x80
}

impl<'a> Measure<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut sums = Vec::with_capacity(bytes.len() / STEP + 1);
        let mut sum = 0;
        for block in bytes.chunks(STEP) {
            sums.push(sum);
            sum += block.iter().filter(|b| counted(**b)).count() as u32;
        }
        sums.push(sum);
        Self { bytes, sums }
    }

    fn before(&self, at: usize) -> usize {
        let block = at / STEP;
        let rest = self.bytes[block * STEP..at].iter().filter(|b| counted(**b)).count();
        self.sums[block] as usize + rest
    }

    /// A number that the beginning of the range's text gives, wherever it stands; white space does not count.
    pub(super) fn hash(&self, start: usize, end: usize) -> u64 {
        let text = self.bytes.get(start..end.min(start + HASHED_BYTES)).unwrap_or_default();
        // FNV-1a, then a mix, since its high bits are poor for short texts.
        let inked = text.iter().filter(|b| !is_space(**b));
        let hash =
            inked.fold(0xCBF2_9CE4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01B3));
        (hash ^ (hash >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 1
    }

    /// Non-white-space characters in the range.
    pub(super) fn chars(&self, range: Range<usize>) -> usize {
        self.before(range.end).saturating_sub(self.before(range.start))
    }
}

/// The range without white space at both ends; None where nothing else is in it.
pub(super) fn trim(bytes: &[u8], range: Range<usize>) -> Option<Range<usize>> {
    let inside = bytes.get(range.clone())?;
    let first = inside.iter().position(|b| !is_space(*b))?;
    let last = inside.iter().rposition(|b| !is_space(*b))?;
    Some(range.start + first..range.start + last + 1)
}

/// The nearest place at or before `at` (but after `floor`) that does not tear a character. Where the text is not
/// UTF-8 and four continuation bytes stand in a row, `at` itself.
pub(super) fn char_boundary(bytes: &[u8], at: usize, floor: usize) -> usize {
    (0..4)
        .filter_map(|back| at.checked_sub(back))
        .take_while(|place| *place > floor)
        .find(|place| bytes.get(*place).is_none_or(|b| b & 0xC0 != 0x80))
        .unwrap_or(at)
}

/// Columns of white space between the line's start and `at`; None where text comes before `at` on its line.
/// A tab counts four.
pub(super) fn indent_at(bytes: &[u8], at: usize) -> Option<usize> {
    let mut columns = 0;
    for byte in bytes[..at].iter().rev() {
        match byte {
            b'\n' => return Some(columns),
            b'\t' => columns += 4,
            b' ' => columns += 1,
            b'\r' | 0x0B | 0x0C => {}
            // The rest of a BOM: it is no text of the first line.
            0xEF | 0xBB | 0xBF if at < 64 && bytes.starts_with(&[0xEF, 0xBB, 0xBF]) => return Some(columns),
            _ => return None,
        }
    }
    Some(columns)
}

/// Line feeds in a gap of white space, up to 2: 0 the same line, 1 the next line, 2 a blank line between.
pub(super) fn line_breaks(bytes: &[u8], gap: Range<usize>) -> usize {
    bytes.get(gap).map_or(0, |g| g.iter().filter(|b| **b == b'\n').take(2).count())
}

/// All line feeds of a range.
pub(super) fn line_feeds(bytes: &[u8], range: Range<usize>) -> u32 {
    let inside = bytes.get(range).unwrap_or_default();
    inside.iter().fold(0, |sum, byte| sum + u32::from(*byte == b'\n'))
}
