//! Owns what a finished chunk is called: item, name, test flag, lines.
//! Must not know trees or languages: it sees pieces, groups and declarations.

use std::collections::BTreeMap;
use std::ops::Range;

use sextant_proto::chunk::ItemType;

use crate::chunk::measure::{Measure, line_feeds};
use crate::chunk::piece::{Bond, Decl, Piece, Role};
use crate::chunk::{Chunk, Definition};

/// What is known about a file when its chunks are labelled.
pub(super) struct Labels<'a> {
    pub(super) decls: &'a [Decl],
    /// What a chunk is in which nothing is declared.
    pub(super) fallback: ItemType,
    pub(super) in_test_file: bool,
}

struct Label {
    item: ItemType,
    name: Option<String>,
    is_test: bool,
}

impl Labels<'_> {
    /// One chunk a group, in order.
    pub(super) fn chunks(
        &self,
        bytes: &[u8],
        pieces: &[Piece],
        groups: &[Range<usize>],
        measure: &Measure<'_>,
    ) -> Vec<Chunk> {
        let (mut line, mut counted) = (1_u32, 0_usize);
        let mut line_at = |at: usize| {
            line += line_feeds(bytes, counted..at);
            counted = at;
            line
        };
        let mut next_decl = 0;
        let depths = self.depths();
        let mut chunks = Vec::with_capacity(groups.len());
        for group in groups {
            let members = &pieces[group.clone()];
            let (Some(first), Some(last)) = (members.first(), members.last()) else { continue };
            let range = first.start..last.end;
            let from = next_decl;
            while self.decls.get(next_decl).is_some_and(|d| d.start < range.end) {
                next_decl += 1;
            }
            let leads = members.iter().all(|p| p.role != Role::Code);
            let label = match pieces.get(group.end) {
                Some(next) if leads && next.bond == Bond::Glued => self.leading(next_decl),
                _ => self.label(members, &range, from..next_decl, measure),
            };
            chunks.push(Chunk {
                ordinal: chunks.len() as u32,
                start_byte: range.start as u32,
                end_byte: range.end as u32,
                start_line: line_at(range.start),
                end_line: line_at(range.end - 1),
                item: label.item,
                name: label.name,
                is_test: label.is_test || self.in_test_file,
                scopes: self.scopes(members, range.start),
                defines: self.definitions(from..next_decl, &depths),
            });
        }
        chunks
    }

    /// How many declarations that nest stand around each.
    fn depths(&self) -> Vec<u32> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.decls.len());
        for decl in self.decls {
            let outer = decl.parent.and_then(|p| Some((self.decls.get(p)?, depths.get(p)?)));
            depths.push(outer.map_or(0, |(outer, depth)| depth + u32::from(outer.nests())));
        }
        depths
    }

    /// The names that declarations in the range of indices define, each once with its least depth.
    fn definitions(&self, begun: Range<usize>, depths: &[u32]) -> Vec<Definition> {
        let mut found: Vec<Definition> = Vec::new();
        for (decl, depth) in self.decls[begun.clone()].iter().zip(&depths[begun]) {
            let Some(name) = decl.defined_name() else { continue };
            match found.iter_mut().find(|d| d.name == name && d.item == decl.item) {
                Some(known) => known.depth = known.depth.min(*depth),
                None => found.push(Definition { name: name.to_owned(), item: decl.item, depth: *depth }),
            }
        }
        found
    }

    /// Documentation that did not fit beside its declaration carries the declaration's name.
    fn leading(&self, next_decl: usize) -> Label {
        let documented = self.decls.get(next_decl);
        let is_test = documented.is_some_and(|d| d.is_test);
        Label { item: ItemType::Doc, name: documented.and_then(|d| d.name.clone()), is_test }
    }

    /// A chunk inside one function is that function; otherwise the largest of the outermost declarations that begin
    /// in it; otherwise the declaration whose end makes most of it; otherwise what lies around it.
    fn label(
        &self,
        members: &[Piece],
        range: &Range<usize>,
        begun: Range<usize>,
        measure: &Measure<'_>,
    ) -> Label {
        let around = self.around(members, range);
        if let Some(decl) = around
            && matches!(decl.item, ItemType::Function | ItemType::Method | ItemType::Test)
        {
            return Label::of(decl);
        }
        let begun_from = begun.start;
        // Namespaces and modules are looked through.
        let outer = |p: usize| p < begun_from || self.decls[p].item == ItemType::Section;
        let outermost = self.decls[begun].iter().filter(|d| d.parent.is_none_or(outer));
        let size = |d: &Decl| measure.chars(d.start..d.end.min(range.end));
        let weight = |d: &Decl| (!matches!(d.item, ItemType::Import | ItemType::Section), size(d));
        // The first of equals: max_by_key would take the last.
        let largest = outermost.fold(None, |best: Option<&Decl>, d| match best {
            Some(b) if weight(b) >= weight(d) => Some(b),
            _ => Some(d),
        });
        if let Some(decl) = largest {
            return Label::of(decl);
        }
        let tail =
            largest_part(members, measure).filter(|(_, chars)| chars * 2 > measure.chars(range.clone()));
        if let Some(decl) = tail.map(|(at, _)| &self.decls[at]).or(around) {
            return Label::of(decl);
        }
        let comments = members.iter().all(|p| p.role == Role::Comment);
        let item = if comments { ItemType::Doc } else { self.fallback };
        Label { item, name: None, is_test: false }
    }

    /// Names of the declarations that are open where the chunk begins, outermost first.
    fn scopes(&self, members: &[Piece], start: usize) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = members.first().and_then(|p| p.decl);
        while let Some(decl) = at.and_then(|n| self.decls.get(n)) {
            if decl.start < start {
                names.extend(decl.name.clone());
            }
            at = decl.parent;
        }
        names.reverse();
        names.dedup();
        names
    }

    /// The innermost declaration that holds the whole chunk.
    fn around(&self, members: &[Piece], range: &Range<usize>) -> Option<&Decl> {
        let mut at = members.first()?.decl;
        while let Some(decl) = at.and_then(|n| self.decls.get(n)) {
            if decl.start <= range.start && decl.end >= range.end {
                return Some(decl);
            }
            at = decl.parent;
        }
        None
    }
}

/// The declaration to which most characters of the pieces belong, with their number.
fn largest_part(members: &[Piece], measure: &Measure<'_>) -> Option<(usize, usize)> {
    let mut parts: BTreeMap<usize, usize> = BTreeMap::new();
    for (piece, decl) in members.iter().filter_map(|p| p.decl.map(|decl| (p, decl))) {
        *parts.entry(decl).or_default() += measure.chars(piece.start..piece.end);
    }
    parts.into_iter().max_by_key(|(_, chars)| *chars)
}

impl Label {
    fn of(decl: &Decl) -> Self {
        Self { item: decl.item, name: decl.name.clone(), is_test: decl.is_test }
    }
}
