//! Owns the form in which a language is described to the chunker, and its compiled look-up by node kind.
//! Must not know any language by name, nor how pieces are cut.

use sextant_proto::chunk::ItemType;
use tree_sitter::Node;

/// A way from a node to one below it: each step is a field name or, where the node has no such field, the kind of
/// a child.
pub(super) type Path = &'static [&'static str];

/// Children looked at for one step of a path: names stand near the front, and a body may have 100,000.
const STEP_CHILDREN: usize = 48;

/// A node at `path` of one of these kinds (any, where the list is empty) makes the declaration an `item`.
pub(super) struct Refinement {
    pub(super) path: Path,
    pub(super) kinds: &'static [&'static str],
    pub(super) item: ItemType,
}

/// Which names a declaration brings into the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defines {
    /// Its own.
    Itself,
    /// None: it speaks of something defined elsewhere (Rust's `impl`), or has no name that somebody would ask for.
    Nothing,
    /// Those of its parts, which are declarations of their own: Go's `const ( … )`.
    Parts,
}

/// A node kind that declares something.
pub(super) struct Declaration {
    pub(super) kind: &'static str,
    /// What it is where no refinement says otherwise; None: no declaration at all then.
    pub(super) item: Option<ItemType>,
    /// The first path that leads somewhere gives the name.
    pub(super) names: &'static [Path],
    pub(super) refinements: &'static [Refinement],
    pub(super) defines: Defines,
}

impl Declaration {
    /// A declaration named by its field `name`.
    pub(super) const fn new(kind: &'static str, item: ItemType) -> Self {
        Self { kind, item: Some(item), names: &[&["name"]], refinements: &[], defines: Defines::Itself }
    }

    /// A kind that is a declaration only where a refinement says so.
    pub(super) const fn only_if(kind: &'static str, refinements: &'static [Refinement]) -> Self {
        Self { kind, item: None, names: &[&["name"]], refinements, defines: Defines::Itself }
    }

    pub(super) const fn named(mut self, names: &'static [Path]) -> Self {
        self.names = names;
        self
    }

    pub(super) const fn defining(mut self, defines: Defines) -> Self {
        self.defines = defines;
        self
    }

    pub(super) const fn refined(mut self, refinements: &'static [Refinement]) -> Self {
        self.refinements = refinements;
        self
    }
}

/// A node of this kind that has something at `path` is one of a run.
pub(super) struct Run {
    pub(super) kind: &'static str,
    pub(super) path: Path,
}

/// How test code is marked inside a file.
pub(super) struct TestMarks {
    /// Text among the attributes, decorators or modifiers of a declaration. It begins with one of `#@[:`.
    pub(super) attributes: &'static [&'static str],
    /// Beginnings of function names; they count in files whose path says test.
    pub(super) function_prefixes: &'static [&'static str],
    /// Beginnings of statements that define a test, such as `describe(`.
    pub(super) statements: &'static [&'static str],
}

/// A language as data.
pub(super) struct LanguageSpec {
    pub(super) name: &'static str,
    /// Without the dot, lower case.
    pub(super) extensions: &'static [&'static str],
    pub(super) filenames: &'static [&'static str],
    /// Programs of a `#!` line.
    pub(super) interpreters: &'static [&'static str],
    pub(super) grammar: fn() -> tree_sitter::Language,
    pub(super) declarations: &'static [Declaration],
    /// Kinds of comments; they belong to what follows on the next line.
    pub(super) comments: &'static [&'static str],
    /// Kinds of attributes and decorators that stand before what they decorate.
    pub(super) attributes: &'static [&'static str],
    /// Kinds that are opened even where they fit, so that what they hold is seen (namespaces).
    pub(super) containers: &'static [&'static str],
    /// Kinds that lose their meaning when cut: whole up to twice the preferred size.
    pub(super) wholes: &'static [&'static str],
    /// Literals that are whole likewise, unless one of `functions` stands directly in them.
    pub(super) tables: &'static [&'static str],
    pub(super) functions: &'static [&'static str],
    /// Siblings in a row that belong together, as the fields of a data class without braces.
    pub(super) runs: &'static [Run],
    /// Declarations that belong to the next one where it has the same name.
    pub(super) overloads: &'static [&'static str],
    /// Beginnings of annotations (`@…`, `[…`, `#[…`) and of comments that say nothing to somebody who searches: they
    /// are left out of what is embedded.
    pub(super) noise: &'static [&'static str],
    pub(super) tests: TestMarks,
}

/// What a node kind means.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a kind can be any of these at once")]
pub(super) struct KindRole {
    declaration: Option<u16>,
    pub(super) comment: bool,
    pub(super) attribute: bool,
    pub(super) container: bool,
    pub(super) overload: bool,
    whole: bool,
    table: bool,
    in_run: bool,
}

impl KindRole {
    /// Whether a rule for declarations exists.
    pub(super) fn declares(self) -> bool {
        self.declaration.is_some()
    }
}

/// A language with its grammar loaded and its kinds looked up by number.
pub(super) struct Grammar {
    pub(super) spec: &'static LanguageSpec,
    pub(super) language: tree_sitter::Language,
    roles: Vec<KindRole>,
}

impl Grammar {
    pub(super) fn new(spec: &'static LanguageSpec) -> Self {
        let language = (spec.grammar)();
        let roles = (0..language.node_kind_count())
            .map(|id| {
                let id = id as u16;
                let kind = language.node_kind_for_id(id).filter(|_| language.node_kind_is_named(id));
                kind.map_or_else(KindRole::default, |kind| KindRole {
                    declaration: spec.declarations.iter().position(|d| d.kind == kind).map(|n| n as u16),
                    comment: spec.comments.contains(&kind),
                    attribute: spec.attributes.contains(&kind),
                    container: spec.containers.contains(&kind),
                    overload: spec.overloads.contains(&kind),
                    whole: spec.wholes.contains(&kind),
                    table: spec.tables.contains(&kind),
                    in_run: spec.runs.iter().any(|run| run.kind == kind),
                })
            })
            .collect();
        Self { spec, language, roles }
    }

    /// Kinds that the description names and the grammar lacks: empty unless a grammar was raised carelessly.
    #[cfg(test)]
    pub(super) fn unknown_kinds(&self) -> Vec<&'static str> {
        let spec = self.spec;
        let known = |kind: &str| {
            (0..self.language.node_kind_count() as u16).any(|id| {
                self.language.node_kind_is_named(id) && self.language.node_kind_for_id(id) == Some(kind)
            })
        };
        let declared = spec.declarations.iter().map(|d| d.kind);
        let others = [
            spec.comments,
            spec.attributes,
            spec.containers,
            spec.wholes,
            spec.tables,
            spec.functions,
            spec.overloads,
        ];
        declared.chain(others.into_iter().flatten().copied()).filter(|kind| !known(kind)).collect()
    }

    pub(super) fn role(&self, node: Node<'_>) -> KindRole {
        self.roles.get(usize::from(node.kind_id())).copied().unwrap_or_default()
    }

    /// Whether the node should be one piece although it is too large for one.
    pub(super) fn is_whole(&self, role: KindRole, node: Node<'_>) -> bool {
        role.whole || role.table && self.is_table(node)
    }

    fn is_table(&self, node: Node<'_>) -> bool {
        let is_function = |n: Node<'_>| self.spec.functions.contains(&n.kind());
        let body = node.child_by_field_name("body").unwrap_or(node);
        let mut cursor = node.walk();
        body.named_children(&mut cursor)
            .all(|n| !is_function(n) && !n.child_by_field_name("value").is_some_and(is_function))
    }

    /// Whether the node belongs to a run of its siblings.
    pub(super) fn in_run(&self, role: KindRole, node: Node<'_>) -> bool {
        let runs = || self.spec.runs.iter().filter(|run| run.kind == node.kind());
        role.in_run && runs().any(|run| follow(node, run.path).is_some())
    }

    /// The rule of a declaring node and the item that it makes.
    pub(super) fn declaration(
        &self,
        role: KindRole,
        node: Node<'_>,
    ) -> Option<(&'static Declaration, ItemType)> {
        let rule = self.spec.declarations.get(usize::from(role.declaration?))?;
        let refined = rule.refinements.iter().find(|refinement| {
            follow(node, refinement.path)
                .is_some_and(|found| refinement.kinds.is_empty() || refinement.kinds.contains(&found.kind()))
        });
        let item = refined.map_or(rule.item, |refinement| Some(refinement.item))?;
        Some((rule, item))
    }
}

/// The node at the end of a path.
pub(super) fn follow(node: Node<'_>, path: Path) -> Option<Node<'_>> {
    path.iter().try_fold(node, |at, step| {
        at.child_by_field_name(step).or_else(|| {
            let mut cursor = at.walk();
            at.children(&mut cursor).take(STEP_CHILDREN).find(|child| child.kind() == *step)
        })
    })
}
