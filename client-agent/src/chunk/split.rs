//! Owns the walk that turns a tree into pieces: the largest nodes that fit, and only what is too large is opened.
//! Must not know any language, nor how pieces are merged.
//!
//! One cursor, no recursion, and never a node's `parent()` (it walks from the root): cost grows with the nodes
//! whose parents are too large, not with the tree.

use std::ops::Range;

use sextant_proto::chunk::ItemType;
use tree_sitter::{Node, Tree};

use crate::chunk::grammar::{Declaration, Defines, Grammar, KindRole, follow};
use crate::chunk::measure::char_boundary;
use crate::chunk::piece::{Cutter, Decl, Place, Role};

/// Longest name kept, in bytes.
const NAME_CAP_BYTES: usize = 120;
/// Bytes before a name in which test attributes are looked for.
const MARKS_CAP_BYTES: usize = 2_048;

/// An opened node on the way from the root.
struct Frame {
    end: usize,
    /// Everything before is in pieces.
    done: usize,
    /// The tree says nothing about how the children belong together.
    is_error: bool,
    decl: Option<usize>,
    /// Where the first attribute before the current child begins; comments between do not end the run.
    attributes: Option<usize>,
    /// The node is a piece already: only the declarations in it are still looked for.
    taken: bool,
    /// In a function that has no name.
    in_function: bool,
    /// Role of all that is in the node.
    role: Role,
    /// Where the run begins of which the last child was one.
    run: Option<usize>,
    /// The last child that was a declaration, if it belongs to the next one of its name.
    overload: Option<usize>,
}

impl Frame {
    fn new(end: usize, done: usize, decl: Option<usize>) -> Self {
        Self {
            end,
            done,
            is_error: false,
            decl,
            attributes: None,
            taken: false,
            in_function: false,
            role: Role::Code,
            run: None,
            overload: None,
        }
    }
}

/// The common parent of the last piece and the next.
#[derive(Clone, Copy)]
struct Common {
    depth: usize,
    is_error: bool,
}

/// A statement that defines a test, with the text that it gives as a name.
struct TestStatement {
    name: Option<String>,
}

struct Walk<'a, 'b> {
    grammar: &'a Grammar,
    cutter: &'a mut Cutter<'b>,
    in_test_file: bool,
    frames: Vec<Frame>,
    decls: Vec<Decl>,
    common: Common,
    /// The next piece begins a declaration that was opened.
    head_pending: bool,
    /// The next piece belongs to the one before.
    glue_pending: bool,
}

/// Adds the pieces of the whole file from `start` on; answers the declarations met, in order of their start.
pub(super) fn split(
    tree: &Tree,
    grammar: &Grammar,
    start: usize,
    in_test_file: bool,
    cutter: &mut Cutter<'_>,
) -> Vec<Decl> {
    let end = cutter.bytes().len();
    let root = tree.root_node();
    let outside = Frame { is_error: root.is_error(), ..Frame::new(end, start, None) };
    let common = Common { depth: 0, is_error: false };
    let mut walk = Walk {
        grammar,
        cutter,
        in_test_file,
        frames: vec![outside],
        decls: Vec::new(),
        common,
        head_pending: false,
        glue_pending: false,
    };
    let mut cursor = tree.walk();
    'nodes: loop {
        // A node to open without children has none to look at: the gap before the next node takes its text.
        if let Some(frame) = walk.enter(cursor.node())
            && cursor.goto_first_child()
        {
            walk.frames.push(frame);
            continue 'nodes;
        }
        loop {
            if !walk.in_taken() {
                walk.meet();
            }
            if cursor.goto_next_sibling() {
                continue 'nodes;
            }
            if !walk.close() || !cursor.goto_parent() {
                break 'nodes;
            }
        }
    }
    while walk.close() {}
    walk.decls
}

impl Walk<'_, '_> {
    /// Takes a node: as a piece where it fits, else answers the frame to open.
    fn enter(&mut self, node: Node<'_>) -> Option<Frame> {
        if self.in_taken() {
            return self.look_into(node);
        }
        let is_root = self.frames.len() == 1;
        let (done, frame_end, outer_decl, attributes, outer_role) =
            self.frames.last().map(|f| (f.done, f.end, f.decl, f.attributes, f.role))?;
        let start = if is_root { done } else { node.start_byte().max(done) };
        let end = if is_root { frame_end } else { node.end_byte().min(frame_end) };
        if end <= start {
            return None;
        }
        self.gap(start);
        let role = self.grammar.role(node);
        let mark_from = attributes.unwrap_or(start);
        if let Some(frame) = self.frames.last_mut()
            && !role.comment
        {
            frame.attributes = role.attribute.then_some(mark_from);
        }
        let decl = self.declare(node, role, start..end, mark_from).or(outer_decl);

        let piece_role = match (role.comment, role.attribute) {
            (true, _) => Role::Comment,
            (_, true) => Role::Attribute,
            _ => outer_role,
        };
        let in_function = self.in_function(role);
        let range = start..end;
        let is_whole = self.grammar.is_whole(role, node) && self.cutter.fits_whole(&range);
        let fits = self.cutter.fits(&range) && !(role.declares() && self.cutter.outgrows_with_lead(&range));
        let torn = || !role.declares() && self.cutter.tears_line(range.clone());
        let open = is_root || role.container || !is_whole && (!fits || torn());
        self.hold(node, role, &range, decl.filter(|_| decl != outer_decl));
        if open && node.child_count() > 0 {
            self.head_pending |= decl != outer_decl || role.declares();
            let is_error = node.is_error();
            return Some(Frame { is_error, in_function, role: piece_role, ..Frame::new(end, start, decl) });
        }
        self.add(range, decl, piece_role, is_whole);
        let opened = node.named_child_count() > 0 && !role.comment;
        opened.then_some(Frame { taken: true, in_function, ..Frame::new(end, end, decl) })
    }

    fn in_function(&self, role: KindRole) -> bool {
        role.function || self.frames.last().is_some_and(|f| f.in_function)
    }

    fn in_taken(&self) -> bool {
        self.frames.last().is_some_and(|f| f.taken)
    }

    /// Looks for declarations below a node that is a piece as a whole.
    fn look_into(&mut self, node: Node<'_>) -> Option<Frame> {
        let (outer_decl, attributes) = self.frames.last().map(|f| (f.decl, f.attributes))?;
        let role = self.grammar.role(node);
        let Range { start, end } = node.byte_range();
        let mark_from = attributes.unwrap_or(start);
        if let Some(frame) = self.frames.last_mut()
            && !role.comment
        {
            frame.attributes = role.attribute.then_some(mark_from);
        }
        if node.named_child_count() == 0 || role.comment {
            return None;
        }
        let in_function = self.in_function(role);
        let decl = self.declare(node, role, start..end, mark_from).or(outer_decl);
        Some(Frame { taken: true, in_function, ..Frame::new(end, end, decl) })
    }

    /// Notes that the walk stands between two children of the innermost open node.
    fn meet(&mut self) {
        let depth = self.frames.len();
        if depth < self.common.depth {
            let is_error = self.frames.last().is_some_and(|f| f.is_error);
            self.common = Common { depth, is_error };
        }
    }

    /// Closes the innermost open node; false where none is left.
    fn close(&mut self) -> bool {
        let Some((end, taken)) = self.frames.last().map(|f| (f.end, f.taken)) else { return false };
        if taken {
            self.frames.pop();
            return true;
        }
        self.gap(end);
        self.frames.pop();
        if let Some(outer) = self.frames.last_mut() {
            outer.done = outer.done.max(end);
        }
        !self.frames.is_empty()
    }

    /// Adds the text that no child covers, up to `to`.
    fn gap(&mut self, to: usize) {
        let Some((done, decl, role)) = self.frames.last().map(|f| (f.done, f.decl, f.role)) else { return };
        if done < to {
            self.meet();
            self.add(done..to, decl, role, false);
            self.meet();
        }
    }

    /// Holds the node to its elder sibling, where they are of one run, or overloads of one name.
    fn hold(&mut self, node: Node<'_>, role: KindRole, range: &Range<usize>, decl: Option<usize>) {
        if role.comment || role.attribute || !node.is_named() {
            return;
        }
        let in_run = self.grammar.in_run(role, node);
        let Some(frame) = self.frames.last_mut() else { return };
        let (run, elder) = (frame.run.take().filter(|_| in_run), frame.overload.take());
        let run_fits = run.is_some_and(|from| self.cutter.fits_whole(&(from..range.end)));
        frame.run = in_run.then(|| run.filter(|_| run_fits).unwrap_or(range.start));
        frame.overload = decl.filter(|_| role.overload && self.cutter.fits(range));
        let name = |at: usize| self.decls.get(at).and_then(|d| d.name.as_deref());
        let same_name = elder.and_then(name).is_some_and(|elder| decl.and_then(name) == Some(elder));
        if run_fits || same_name {
            self.glue_pending |= self.cutter.glue(range.start);
        }
    }

    fn add(&mut self, range: Range<usize>, decl: Option<usize>, role: Role, is_whole: bool) {
        if let Some(frame) = self.frames.last_mut() {
            frame.done = range.end;
        }
        let place = Place {
            depth: self.common.depth as u32,
            inner_depth: self.frames.len() as u32 + 1,
            by_layout: self.common.is_error,
            decl,
            role,
            is_head: self.head_pending && role == Role::Code,
            is_whole,
            is_glued: self.glue_pending,
            is_opening: false,
        };
        if self.cutter.add(range, place) {
            self.common = Common { depth: usize::MAX, is_error: false };
            self.head_pending &= role != Role::Code;
            self.glue_pending = false;
        }
    }

    /// The index of the declaration that the node makes, if it makes one.
    fn declare(
        &mut self,
        node: Node<'_>,
        role: KindRole,
        range: Range<usize>,
        mark_from: usize,
    ) -> Option<usize> {
        let outer = self.frames.last().and_then(|f| f.decl);
        let outer_item = outer.map(|at| self.decls[at].item);
        let in_function = matches!(outer_item, Some(ItemType::Function | ItemType::Method | ItemType::Test))
            || self.frames.last().is_some_and(|f| f.in_function);
        let in_type = matches!(outer_item, Some(ItemType::Class | ItemType::Interface | ItemType::Enum));

        let statement = self.test_statement(node, &range);
        let (mut item, name, name_at, defines) = if let Some(test) = statement {
            (ItemType::Test, test.name, range.end, Defines::Nothing)
        } else {
            let (rule, item) = self.grammar.declaration(role, node)?;
            let named = name_node(node, rule);
            let name = named.and_then(|n| self.text(n.byte_range()));
            (item, name, named.map_or(range.end, |n| n.start_byte()), rule.defines)
        };
        if item == ItemType::Field && in_function {
            return None; // A local variable.
        }
        let around = outer.map(|at| &self.decls[at]);
        let same = |o: &Decl| o.end == range.end && o.name == name && o.defines != Defines::Parts;
        if name.is_some() && around.is_some_and(same) {
            return None; // The inside of a decorated or exported declaration.
        }
        if item == ItemType::Function && in_type {
            item = ItemType::Method;
        }
        let marked = item == ItemType::Test || self.is_marked(mark_from..name_at, item, name.as_deref());
        if marked && matches!(item, ItemType::Function | ItemType::Method) {
            item = ItemType::Test;
        }
        let is_test = marked || around.is_some_and(|o| o.is_test);
        let Range { start, end } = range;
        self.decls.push(Decl { start, end, parent: outer, item, name, is_test, defines });
        Some(self.decls.len() - 1)
    }

    fn is_marked(&self, before_name: Range<usize>, item: ItemType, name: Option<&str>) -> bool {
        let marks = &self.grammar.spec.tests;
        let function = matches!(item, ItemType::Function | ItemType::Method);
        if function && self.in_test_file {
            let prefixed = name.is_some_and(|n| marks.function_prefixes.iter().any(|p| n.starts_with(p)));
            if prefixed {
                return true;
            }
        }
        if marks.attributes.is_empty() || item == ItemType::Import || item == ItemType::Field {
            return false;
        }
        let end = before_name.end.min(before_name.start.saturating_add(MARKS_CAP_BYTES));
        let text = self.cutter.bytes().get(before_name.start..end).unwrap_or_default();
        (0..text.len())
            .filter(|at| matches!(text[*at], b'#' | b'@' | b'[' | b':'))
            .any(|at| marks.attributes.iter().any(|mark| text[at..].starts_with(mark.as_bytes())))
    }

    /// Whether the node is a statement that defines a test: `it("…", …)`.
    fn test_statement(&self, node: Node<'_>, range: &Range<usize>) -> Option<TestStatement> {
        let statements = self.grammar.spec.tests.statements;
        if statements.is_empty() || node.kind() != "expression_statement" {
            return None;
        }
        let text = self.cutter.bytes().get(range.clone())?;
        let mark = statements.iter().find(|mark| text.starts_with(mark.as_bytes()))?;
        let quote = text.get(mark.len()).filter(|b| matches!(b, b'"' | b'\'' | b'`'));
        let name = quote.and_then(|quote| {
            let from = mark.len() + 1;
            let length = text[from..].iter().take(NAME_CAP_BYTES).position(|b| b == quote)?;
            self.text(range.start + from..range.start + from + length)
        });
        Some(TestStatement { name })
    }

    /// A name's text: its first line, cut at the cap.
    fn text(&self, range: Range<usize>) -> Option<String> {
        let bytes = self.cutter.bytes();
        let line = bytes.get(range.clone())?.iter().position(|b| matches!(b, b'\n' | b'\r'));
        let mut end = line.map_or(range.end, |n| range.start + n);
        if end - range.start > NAME_CAP_BYTES {
            end = char_boundary(bytes, range.start + NAME_CAP_BYTES, range.start);
        }
        let name = String::from_utf8_lossy(&bytes[range.start..end]).trim().to_owned();
        (!name.is_empty()).then_some(name)
    }
}

fn name_node<'t>(node: Node<'t>, rule: &Declaration) -> Option<Node<'t>> {
    rule.names.iter().find_map(|path| follow(node, path))
}
