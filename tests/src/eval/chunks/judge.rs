//! Owns the verdict on one file: byte ranges against a tree that the judge parsed itself.
//! Must not know how ranges are made, nor files, nor reports.

use std::collections::HashSet;
use std::ops::Range;

use tree_sitter::{Node, Parser, Tree};

use super::rules::{FUNCTIONS, Rules};

/// Up to where a rule binds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// No chunk can be longer, so nothing longer can be kept together. Bytes.
    pub cap_bytes: usize,
    /// Longer constructs may be cut. Characters that are no white space.
    pub whole_chars: usize,
}

/// The rule that a cut broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// A chunk begins with syntax that closes what an earlier one opens.
    OrphanCloser,
    /// A comment, an attribute or a modifier is in another chunk than the declaration that it leads.
    DetachedPrefix,
    /// A construct that should be kept whole is in several chunks.
    CutWhole,
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The cut, as a byte: the start of the chunk behind it.
    pub at: usize,
    /// The kind of the node that suffered.
    pub kind: String,
}

/// What the bytes say of the ranges, whatever the language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// Bytes that are no white space, nor a byte order mark.
    pub inked: usize,
    /// Those of them in at least one range.
    pub covered: usize,
    /// Those of them in more than one.
    pub twice: usize,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

/// Characters that are no white space.
pub fn chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| !is_space(**b) && **b & 0xC0 != 0x80).count()
}

/// Counts bytes in ranges, byte by byte.
pub fn cover(bytes: &[u8], ranges: &[Range<usize>]) -> Cover {
    let mut times = vec![0_u8; bytes.len()];
    for at in ranges.iter().flat_map(Clone::clone) {
        if let Some(n) = times.get_mut(at) {
            *n = n.saturating_add(1);
        }
    }
    let bom = if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let mut cover = Cover::default();
    for (byte, n) in bytes.iter().zip(times).skip(bom).filter(|(byte, _)| !is_space(**byte)) {
        let _ = byte;
        cover.inked += 1;
        cover.covered += usize::from(n > 0);
        cover.twice += usize::from(n > 1);
    }
    cover
}

/// The judge's own parse; none where the grammar does not load.
pub fn parse(rules: &Rules, bytes: &[u8]) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&(rules.grammar)()).ok()?;
    parser.parse(bytes, None)
}

/// Every rule that ordered, disjoint ranges break.
pub fn judge(
    rules: &Rules,
    tree: &Tree,
    bytes: &[u8],
    ranges: &[Range<usize>],
    limits: Limits,
) -> Vec<Finding> {
    let mut verdict = Verdict { rules, bytes, ranges, limits, found: HashSet::new() };
    for range in ranges {
        verdict.closer(tree, range.start);
    }
    verdict.walk(tree);
    let mut found: Vec<Finding> = verdict.found.into_iter().collect();
    found.sort_by_key(|f| (f.at, f.rule));
    found
}

struct Verdict<'a> {
    rules: &'a Rules,
    bytes: &'a [u8],
    ranges: &'a [Range<usize>],
    limits: Limits,
    found: HashSet<Finding>,
}

/// What leads the next sibling.
#[derive(Clone, Copy, Default)]
struct Lead {
    start: Option<usize>,
    end: usize,
    /// The last one is an attribute: blank lines do not matter.
    attribute: bool,
}

impl Verdict<'_> {
    /// Index of the range that holds the byte, or of the next one.
    fn range_of(&self, at: usize) -> usize {
        self.ranges.partition_point(|r| r.end <= at)
    }

    /// The first cut inside `from..=to`.
    fn cut_between(&self, from: usize, to: usize) -> Option<usize> {
        let (first, last) = (self.range_of(from), self.range_of(to));
        (first < last).then(|| self.ranges.get(first + 1).map(|r| r.start)).flatten()
    }

    fn closer(&mut self, tree: &Tree, at: usize) {
        let Some(leaf) = tree.root_node().descendant_for_byte_range(at, at + 1) else { return };
        let closes = matches!(leaf.kind(), "}" | ")" | "]" | "</" | "?>" | "/>" | "end");
        if leaf.start_byte() != at || !closes || leaf.is_named() {
            return;
        }
        // From the root, but one step a chunk.
        let Some(mut parent) = leaf.parent().filter(|p| !p.is_error()) else { return };
        if leaf.kind() == "</" {
            let Some(element) = parent.parent() else { return };
            parent = element;
        }
        if parent.start_byte() < at {
            self.found.insert(Finding { rule: Rule::OrphanCloser, at, kind: leaf.kind().to_owned() });
        }
    }

    fn walk(&mut self, tree: &Tree) {
        let mut cursor = tree.walk();
        let mut leads = vec![Lead::default()];
        loop {
            let node = cursor.node();
            if let Some(lead) = leads.last_mut() {
                let before = *lead;
                *lead = next_lead(self.rules, self.bytes, before, node);
                self.look(node, before);
            }
            if cursor.goto_first_child() {
                leads.push(Lead::default());
                continue;
            }
            while !cursor.goto_next_sibling() {
                leads.pop();
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    fn look(&mut self, node: Node<'_>, before: Lead) {
        if node.is_error() || node.is_missing() || !node.is_named() || node.start_byte() == node.end_byte() {
            return;
        }
        let kind = node.kind();
        if self.rules.declarations.contains(&kind) {
            let lines = line_feeds(&self.bytes[before.end.min(node.start_byte())..node.start_byte()]);
            let lead = before.start.filter(|_| before.attribute || lines <= 1);
            let from = lead.unwrap_or(node.start_byte());
            let to = name_of(node).map_or(node.start_byte(), |name| name.start_byte());
            // A table of test cases in an attribute may be cut, but its end stays with what it decorates.
            let short = |r: Range<usize>| chars(&self.bytes[r]) <= self.limits.whole_chars;
            let from =
                if short(from..to) { from } else { lead.map_or(node.start_byte(), |_| before.end - 1) };
            let to = if short(from..to) { to } else { node.start_byte() };
            // A longer head cannot be kept together.
            if to + 1 - from <= self.limits.cap_bytes
                && let Some(at) = self.cut_between(from, to)
            {
                self.found.insert(Finding { rule: Rule::DetachedPrefix, at, kind: kind.to_owned() });
            }
        }
        let whole = self.rules.wholes.contains(&kind) || self.rules.tables.contains(&kind) && is_table(node);
        if whole
            && node.byte_range().len() <= self.limits.cap_bytes
            && chars(&self.bytes[node.byte_range()]) <= self.limits.whole_chars
            && let Some(at) = self.cut_between(node.start_byte(), node.end_byte() - 1)
        {
            self.found.insert(Finding { rule: Rule::CutWhole, at, kind: kind.to_owned() });
        }
    }
}

fn line_feeds(bytes: &[u8]) -> usize {
    bytes.split(|b| *b == b'\n').count() - 1
}

/// The line of a byte, from 1.
pub fn line_of(bytes: &[u8], at: usize) -> usize {
    line_feeds(bytes.get(..at).unwrap_or(bytes)) + 1
}

fn next_lead(rules: &Rules, bytes: &[u8], before: Lead, node: Node<'_>) -> Lead {
    let attribute = rules.attributes.contains(&node.kind());
    let comment = rules.comments.contains(&node.kind());
    if !attribute && !comment {
        return Lead::default();
    }
    let Range { start, end } = node.byte_range();
    let text = &bytes[start..end];
    // A grammar may count the line feed into a line comment.
    let end = end - text.iter().rev().take_while(|b| is_space(**b)).count();
    let line = bytes[..start].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
    let alone = bytes[line..start].iter().all(|b| is_space(*b) || *b >= 0xBB);
    // It speaks of what is around it, or of what stands before it on its line.
    let inner = text.starts_with(b"//!") || text.starts_with(b"/*!");
    if comment && (inner || !alone) {
        return Lead::default();
    }
    let gap = line_feeds(&bytes[before.end.min(start)..start]);
    let start = before.start.filter(|_| before.attribute || gap <= 1).unwrap_or(start);
    Lead { start: Some(start), end, attribute }
}

/// Where the name of a declaration stands, as far as the grammar says.
fn name_of(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("name").or_else(|| {
        let inner =
            node.child_by_field_name("declaration").or_else(|| node.child_by_field_name("definition"));
        inner.and_then(|inner| inner.child_by_field_name("name"))
    })
}

fn is_table(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    let body = node.child_by_field_name("body").unwrap_or(node);
    body.named_children(&mut cursor).all(|child| {
        let value = child.child_by_field_name("value");
        !FUNCTIONS.contains(&child.kind()) && !value.is_some_and(|v| FUNCTIONS.contains(&v.kind()))
    })
}
