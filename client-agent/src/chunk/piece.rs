//! Owns pieces: the smallest ranges that are never cut again, with how strongly each holds to the one before it.
//! Must not know trees or languages.

use std::ops::Range;

use sextant_proto::chunk::ItemType;

use crate::chunk::ChunkBudget;
use crate::chunk::grammar::Defines;
use crate::chunk::measure::{Measure, indent_at, is_space, line_breaks, trim};

/// Levels of one depth step of the tree; the room below it orders boundaries within one parent by layout.
const DEPTH_STEP: u32 = 64;
/// What is kept whole may be so many times the preferred size.
pub(super) const WHOLE_SHARE: usize = 2;
/// Longest head of a line looked at; what is longer is no head.
const LINE_HEAD_BYTES: usize = 256;
/// Smallest hard cap taken.
const MIN_CAP_BYTES: usize = 64;

/// A declaration found while splitting. Declarations stand in order of their start.
#[derive(Debug)]
pub(super) struct Decl {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Index of the declaration around it.
    pub(super) parent: Option<usize>,
    pub(super) item: ItemType,
    pub(super) name: Option<String>,
    pub(super) is_test: bool,
    pub(super) defines: Defines,
}

impl Decl {
    /// Whether what is declared inside it counts as nested.
    pub(super) fn nests(&self) -> bool {
        self.defines != Defines::Parts
            && !matches!(self.item, ItemType::Section | ItemType::Field | ItemType::Import)
    }

    /// The name that it brings into the program, bare: the last part of a dotted path, without sigils.
    pub(super) fn defined_name(&self) -> Option<&str> {
        if self.defines != Defines::Itself || matches!(self.item, ItemType::Section | ItemType::Import) {
            return None;
        }
        let last = self.name.as_deref()?.rsplit(['.', ':']).next()?;
        let bare = last.trim_matches(['`', '$', '#', '@', '&']);
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        (!bare.is_empty() && bare.chars().all(is_name)).then_some(bare)
    }
}

/// How a piece behaves beside its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Code,
    /// A comment: belongs to what follows on the next line, and alone makes a documentation chunk.
    Comment,
    /// An attribute or decorator: belongs to what follows, even after a blank line.
    Attribute,
}

/// How a piece holds to the piece before it; the order is the order of merging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bond {
    /// On one line: a cut there reads badly.
    SameLine,
    /// Documentation with its declaration, a bracket with what it opens or closes.
    Glued,
    /// Neighbours; the level decides.
    Loose,
}

/// A range that is never cut again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Innermost declaration that holds the piece or is it.
    pub(super) decl: Option<usize>,
    pub(super) role: Role,
    pub(super) bond: Bond,
    /// Depth of the common parent with the piece before, refined by layout. Higher merges first.
    pub(super) level: u32,
    /// The first piece of a declaration that was too large to be one piece.
    pub(super) is_head: bool,
}

impl Piece {
    /// Depth of the common parent with the piece before.
    pub(super) fn depth(&self) -> u32 {
        self.level / DEPTH_STEP
    }
}

/// Where a piece stands in the tree.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a place can have any of these at once")]
pub(super) struct Place {
    /// Depth of the nearest node that holds this piece and the one before it.
    pub(super) depth: u32,
    /// Depth of the range itself: what its own lines have in common.
    pub(super) inner_depth: u32,
    /// Order by indentation: within ERROR nodes and plain text, where the tree says nothing.
    pub(super) by_layout: bool,
    pub(super) decl: Option<usize>,
    pub(super) role: Role,
    /// Begins a declaration that is opened.
    pub(super) is_head: bool,
    /// One piece although it does not fit.
    pub(super) is_whole: bool,
    /// Belongs to the piece before, for a reason that the text does not show.
    pub(super) is_glued: bool,
    /// Begins a part of its own, whatever sign it begins with.
    pub(super) is_opening: bool,
}

impl Place {
    fn inside(self) -> Self {
        // Blank lines in a comment do not end it.
        let is_glued = self.role == Role::Comment;
        Self { depth: self.inner_depth, by_layout: true, is_head: false, is_opening: false, is_glued, ..self }
    }
}

/// Collects pieces of one file in order.
pub(super) struct Cutter<'a> {
    bytes: &'a [u8],
    measure: &'a Measure<'a>,
    preferred: usize,
    cap: usize,
    pieces: Vec<Piece>,
}

impl<'a> Cutter<'a> {
    pub(super) fn new(bytes: &'a [u8], measure: &'a Measure<'a>, budget: ChunkBudget) -> Self {
        let (preferred, cap) = limits(&budget);
        Self { bytes, measure, preferred, cap, pieces: Vec::new() }
    }

    pub(super) fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the range may be one chunk.
    pub(super) fn fits(&self, range: &Range<usize>) -> bool {
        range.len() <= self.cap && self.measure.chars(range.clone()) <= self.preferred
    }

    /// Whether the range, taken whole, would be torn from what stands before it on its line: a body of several lines
    /// that does not fit together with its head. Opened, it leaves its bracket with the head.
    pub(super) fn tears_line(&self, range: Range<usize>) -> bool {
        let near = range.start.saturating_sub(LINE_HEAD_BYTES);
        let before = self.bytes[near..range.start].iter().rposition(|b| *b == b'\n').map(|n| near + n + 1);
        let Some(line) = before.or((near == 0).then_some(0)) else { return false };
        trim(self.bytes, line..range.start).is_some()
            && self.measure.chars(line..range.end) > self.preferred
            && self.bytes[range].contains(&b'\n')
    }

    /// Adds a range as one piece where it fits, by lines where not, and lines that do not fit in windows.
    /// False where the range holds white space alone.
    pub(super) fn add(&mut self, range: Range<usize>, place: Place) -> bool {
        let Some(range) = trim(self.bytes, range) else { return false };
        if place.is_whole || self.fits(&range) {
            self.push(range, place);
        } else {
            self.add_lines(range, place);
        }
        true
    }

    /// Adds every line of the range as a piece of its own.
    pub(super) fn add_lines(&mut self, range: Range<usize>, place: Place) {
        let mut place = place;
        let mut at = range.start;
        while at < range.end {
            let length =
                self.bytes[at..range.end].iter().position(|b| *b == b'\n').map_or(range.end - at, |n| n + 1);
            if let Some(line) = trim(self.bytes, at..at + length) {
                if self.fits(&line) {
                    self.push(line, place);
                } else {
                    self.add_windows(line, place);
                }
                // Lines of one leaf hold to each other more strongly than the leaf to what is before it.
                place = place.inside();
            }
            at += length;
        }
    }

    fn add_windows(&mut self, line: Range<usize>, place: Place) {
        let mut place = place;
        let mut at = line.start;
        while at < line.end {
            let end = self.window_end(at, line.end);
            if let Some(window) = trim(self.bytes, at..end) {
                self.push(window, place);
                place = place.inside();
            }
            at = end;
        }
    }

    /// The end of the longest window from `at` that fits, moved back to a good place within its last quarter.
    fn window_end(&self, at: usize, end: usize) -> usize {
        let mut stop = at;
        let mut chars = 0;
        let (mut after_space, mut after_mark) = (None, None);
        while stop < end && stop - at < self.cap {
            let byte = self.bytes[stop];
            if !is_space(byte) && byte & 0xC0 != 0x80 {
                if chars == self.preferred {
                    break;
                }
                chars += 1;
            }
            stop += 1;
            if is_space(byte) {
                after_space = Some(stop);
            } else if matches!(byte, b';' | b'}' | b',') {
                after_mark = Some(stop);
            }
        }
        if stop >= end {
            return end;
        }
        let latest = |mark: Option<usize>| mark.filter(|m| *m - at > (stop - at) / 4 * 3);
        latest(after_space)
            .or(latest(after_mark))
            .unwrap_or_else(|| crate::chunk::measure::char_boundary(self.bytes, stop, at))
    }

    /// Whether the range may be one piece because of what it is: up to twice the preferred size.
    pub(super) fn fits_whole(&self, range: &Range<usize>) -> bool {
        range.len() <= self.cap && self.measure.chars(range.clone()) <= self.preferred * WHOLE_SHARE
    }

    /// Where the pieces begin that lead (document, attribute) what begins at `start`; `start` where there are none.
    fn lead(&self, start: usize) -> (usize, usize) {
        let (mut index, mut from) = (self.pieces.len(), start);
        while let Some(piece) = index.checked_sub(1).and_then(|n| self.pieces.get(n)) {
            if !self.leads(piece, line_breaks(self.bytes, piece.end..from)) {
                break;
            }
            (index, from) = (index - 1, piece.start);
        }
        (index, from)
    }

    /// Whether a declaration that fits is too large together with what leads it: opened, its signature stays with
    /// its documentation and its body follows.
    pub(super) fn outgrows_with_lead(&self, range: &Range<usize>) -> bool {
        let (_, from) = self.lead(range.start);
        from < range.start && self.measure.chars(from..range.end) > self.preferred + self.preferred / 2
    }

    /// Holds what begins at `start`, with what leads it, to the piece before; true where the next piece itself is
    /// to be held.
    pub(super) fn glue(&mut self, start: usize) -> bool {
        let (index, _) = self.lead(start);
        match self.pieces.get_mut(index) {
            Some(first) => {
                first.bond = first.bond.min(Bond::Glued);
                false
            }
            None => true,
        }
    }

    /// Whether a piece on the line where the piece before ends is a part of that piece.
    fn continues(&self, before: &Piece, range: &Range<usize>, is_whole: bool) -> bool {
        let both = before.start..range.end;
        if both.len() > self.cap {
            return false;
        }
        let many_lines = |r: Range<usize>| self.bytes[r].contains(&b'\n');
        let new_lines = many_lines(range.clone());
        let limit = if !new_lines && !many_lines(before.start..before.end) || new_lines && !is_whole {
            self.preferred
        } else {
            self.preferred * WHOLE_SHARE + self.preferred / 4
        };
        self.measure.chars(both) <= limit
    }

    fn extend(&mut self, end: usize, place: Place) {
        if let Some(before) = self.pieces.last_mut() {
            before.end = end;
            before.is_head |= place.is_head;
            if before.role != Role::Code {
                before.decl = place.decl;
            }
            if before.role != place.role {
                before.role = Role::Code;
            }
        }
    }

    fn push(&mut self, range: Range<usize>, place: Place) {
        if let Some(before) = self.pieces.last() {
            let closes = closes(&self.bytes[range.clone()]) && range.end - before.start <= self.cap;
            let same_line = line_breaks(self.bytes, before.end..range.start) == 0;
            if closes || same_line && self.continues(before, &range, place.is_whole) {
                return self.extend(range.end, place);
            }
        }
        let indent = indent_at(self.bytes, range.start);
        let (bond, breaks) = match self.pieces.last() {
            None => (Bond::Loose, 2),
            Some(before) => {
                let breaks = line_breaks(self.bytes, before.end..range.start);
                (self.bond(before, range.start, breaks), breaks)
            }
        };
        let close = u32::from(breaks < 2);
        let layout = if place.by_layout {
            // Deeper indentation first, then lines without a blank one between.
            indent.map_or(31, |columns| (columns / 2).min(15) as u32 * 2 + close)
        } else {
            32 + 16 * close
        };
        let level = place.depth.saturating_mul(DEPTH_STEP).saturating_add(layout);
        let Range { start, end } = range;
        let Place { decl, role, mut is_head, is_glued, is_opening, .. } = place;
        let bond = match (is_glued, is_opening) {
            (true, _) => bond.min(Bond::Glued),
            (_, true) => Bond::Loose,
            _ => bond,
        };
        // A head whose bracket stands on a line of its own.
        is_head |= self.bytes[start] == b'{' && self.pieces.last().is_some_and(|p| p.is_head);
        self.pieces.push(Piece { start, end, decl, role, bond, level, is_head });
    }

    fn bond(&self, before: &Piece, start: usize, breaks: usize) -> Bond {
        if breaks == 0 {
            return Bond::SameLine;
        }
        if matches!(self.bytes[start], b'}' | b')' | b']' | b'{' | b';' | b',') || self.leads(before, breaks)
        {
            return Bond::Glued;
        }
        Bond::Loose
    }

    /// Whether a piece belongs to what follows it after so many line feeds.
    fn leads(&self, piece: &Piece, breaks: usize) -> bool {
        match piece.role {
            Role::Code => false,
            Role::Comment => breaks <= 1 && indent_at(self.bytes, piece.start).is_some(),
            Role::Attribute => true,
        }
    }
}

/// Whether a text begins with syntax that closes.
fn closes(text: &[u8]) -> bool {
    matches!(text, [b'}' | b')' | b']', ..] | [b'<', b'/', ..] | [b'/' | b'?', b'>', ..])
}

/// Preferred characters and cap in bytes, with the smallest values taken.
pub(super) fn limits(budget: &ChunkBudget) -> (usize, usize) {
    (budget.preferred.max(1), budget.hard_cap_bytes.max(MIN_CAP_BYTES))
}
