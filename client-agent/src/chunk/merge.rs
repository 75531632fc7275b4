//! Owns the merge of small neighbours into chunks: deepest common parent first, never over the budget.
//! Must not know trees or languages: it sees pieces and levels.
//!
//! Merging a frame of the tree after its children are merged is the same as taking all boundaries in order of their
//! level: a boundary that once did not fit never fits later, since groups only grow. So one pass is enough, and the
//! depth of the tree does not matter.
//!
//! Boundaries of one level are taken in an order that their text gives (a hash), not from left to right: from left to
//! right, an edit that moves one boundary moves all behind it. In hashed order what happens at a boundary depends on
//! its neighbours of lower hash, on theirs of still lower, and so on: such falling chains are short, so an edit is
//! felt by the chunk it touches and seldom by more than one beside it.

use std::cmp::Reverse;
use std::ops::Range;

use crate::chunk::ChunkBudget;
use crate::chunk::measure::Measure;
use crate::chunk::piece::{Bond, Piece, Role, WHOLE_SHARE, limits};

/// A group of less than 1/16 of the preferred size is joined to a neighbour even if that goes a little over.
const CRUMB_SHARE: usize = 16;

/// Pieces looked at for the head of a declaration: its documentation and attributes come first.
const HEAD_PIECES: usize = 64;

/// The order of joining.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Glue,
    Line,
    Head,
    Neighbours,
}

/// Groups of neighbouring pieces under construction. Only the first and last index of a group are kept true.
struct Groups<'a> {
    pieces: &'a [Piece],
    measure: &'a Measure<'a>,
    cap: usize,
    first_of: Vec<usize>,
    last_of: Vec<usize>,
    /// Boundaries that are gone: the indices on both sides may be stale.
    joined: Vec<bool>,
}

impl Groups<'_> {
    /// Whether the group after a loose boundary belongs to what follows it: documentation cut off from what it
    /// documents, or the head of a declaration whose first members did not fit. It shall not be joined to whatever
    /// stands before it.
    fn leads_on(&self, at: usize) -> bool {
        let last = self.last_of[at];
        let Some(next) = self.pieces.get(last + 1) else { return false };
        let piece = &self.pieces[at];
        if piece.bond != Bond::Loose {
            return false;
        }
        let documents = next.bond == Bond::Glued && self.pieces[last].role != Role::Code;
        let heads = || self.pieces[at..=last].iter().take(HEAD_PIECES).any(|p| p.is_head);
        documents || (next.depth() > piece.depth() && heads())
    }

    fn chars(&self, first: usize, last: usize) -> usize {
        self.measure.chars(self.pieces[first].start..self.pieces[last].end)
    }

    /// Joins the groups on both sides of the boundary before piece `at`, if the result is within the limit.
    fn join(&mut self, at: usize, limit_chars: usize) -> bool {
        if self.joined[at] {
            return false;
        }
        let (first, last) = (self.first_of[at - 1], self.last_of[at]);
        let fits = self.pieces[last].end - self.pieces[first].start <= self.cap
            && self.chars(first, last) <= limit_chars;
        if fits {
            self.last_of[first] = last;
            self.first_of[last] = first;
            self.joined[at] = true;
        }
        fits
    }
}

/// Index ranges of pieces, each range one chunk; they cover all pieces in order.
pub(super) fn merge(pieces: &[Piece], measure: &Measure<'_>, budget: &ChunkBudget) -> Vec<Range<usize>> {
    let (preferred, cap) = limits(budget);
    let mut groups = Groups {
        pieces,
        measure,
        cap,
        first_of: (0..pieces.len()).collect(),
        last_of: (0..pieces.len()).collect(),
        joined: vec![false; pieces.len()],
    };
    let mut boundaries: Vec<usize> = (1..pieces.len()).collect();
    boundaries.sort_by_key(|at| {
        let piece = &pieces[*at];
        match piece.bond {
            // From the declaration backwards: documentation that is too long is cut far from what it documents.
            Bond::Glued => (Step::Glue, Reverse(0), (usize::MAX - at) as u64),
            Bond::SameLine => (Step::Line, Reverse(piece.level), *at as u64),
            // A head takes its first members, before those find each other.
            Bond::Loose if pieces[at - 1].is_head => (Step::Head, Reverse(piece.level), *at as u64),
            Bond::Loose => (Step::Neighbours, Reverse(piece.level), measure.hash(piece.start, piece.end)),
        }
    });
    for at in boundaries {
        if pieces[at].bond == Bond::Glued {
            // An attribute can be a table of test cases: its end stays with the declaration, not all of it.
            let table = [at - 1, at].iter().all(|n| pieces[*n].role == Role::Attribute);
            groups.join(at, if table { preferred * WHOLE_SHARE + preferred / 4 } else { usize::MAX });
        } else if !groups.joined[at] && !groups.leads_on(at) {
            groups.join(at, preferred);
        }
    }
    join_crumbs(&mut groups, preferred);

    let mut out = Vec::new();
    let mut first = 0;
    while first < pieces.len() {
        let last = groups.last_of[first];
        out.push(first..last + 1);
        first = last + 1;
    }
    out
}

fn join_crumbs(groups: &mut Groups<'_>, preferred: usize) {
    let limit = preferred + preferred / 4;
    let mut first = 0;
    while first < groups.pieces.len() {
        let last = groups.last_of[first];
        let next = last + 1;
        if groups.chars(first, last) <= preferred / CRUMB_SHARE {
            let before = (first > 0).then(|| groups.pieces[first].level);
            let after = groups.pieces.get(next).map(|p| p.level);
            // The closer neighbour first.
            let (near, far) = if after > before { (next, first) } else { (first, next) };
            let valid = |at: usize| at > 0 && at < groups.pieces.len();
            let (near, far) = (Some(near).filter(|at| valid(*at)), Some(far).filter(|at| valid(*at)));
            let joined =
                near.is_some_and(|at| groups.join(at, limit)) || far.is_some_and(|at| groups.join(at, limit));
            if joined {
                // The grown group may have swallowed the next one: go on behind it.
                let start = groups.first_of[groups.last_of[first].max(last)];
                first = groups.last_of[start] + 1;
                continue;
            }
        }
        first = next;
    }
}
