//! Owns the merge of small neighbours into chunks: deepest common parent first, never over the budget.
//! Must not know trees or languages: it sees pieces and levels.
//!
//! Merging a frame of the tree after its children are merged is the same as taking all boundaries in order of their
//! level: a boundary that once did not fit never fits later, since groups only grow. So one pass is enough, and the
//! depth of the tree does not matter.

use std::cmp::Reverse;
use std::ops::Range;

use crate::chunk::ChunkBudget;
use crate::chunk::measure::Measure;
use crate::chunk::piece::{Bond, Piece, limits};

/// A group of less than 1/16 of the preferred size is joined to a neighbour even if that goes a little over.
const CRUMB_SHARE: usize = 16;

/// Groups of neighbouring pieces under construction. Only the first and last index of a group are kept true.
struct Groups<'a> {
    pieces: &'a [Piece],
    measure: &'a Measure<'a>,
    cap: usize,
    first_of: Vec<usize>,
    last_of: Vec<usize>,
}

impl Groups<'_> {
    fn chars(&self, first: usize, last: usize) -> usize {
        self.measure.chars(self.pieces[first].start..self.pieces[last].end)
    }

    /// Joins the groups on both sides of the boundary before piece `at`, if the result is within the limit.
    fn join(&mut self, at: usize, limit_chars: usize) -> bool {
        let (first, last) = (self.first_of[at - 1], self.last_of[at]);
        let fits = self.pieces[last].end - self.pieces[first].start <= self.cap
            && self.chars(first, last) <= limit_chars;
        if fits {
            self.last_of[first] = last;
            self.first_of[last] = first;
        }
        fits
    }
}

/// Index ranges of pieces, each range one chunk; they cover all pieces in order.
pub(super) fn merge(
    pieces: &[Piece],
    _bytes: &[u8],
    measure: &Measure<'_>,
    budget: &ChunkBudget,
) -> Vec<Range<usize>> {
    let (preferred, cap) = limits(budget);
    let mut groups = Groups {
        pieces,
        measure,
        cap,
        first_of: (0..pieces.len()).collect(),
        last_of: (0..pieces.len()).collect(),
    };
    let mut boundaries: Vec<usize> = (1..pieces.len()).collect();
    boundaries.sort_by_key(|at| (pieces[*at].bond, Reverse(pieces[*at].level), *at));
    for at in boundaries {
        let limit = if pieces[at].bond == Bond::Glued { preferred + preferred / 2 } else { preferred };
        groups.join(at, limit);
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
            let joined = near.is_some_and(|at| groups.join(at, limit)) || far.is_some_and(|at| groups.join(at, limit));
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
