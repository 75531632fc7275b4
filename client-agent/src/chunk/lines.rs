//! Owns the cut of text without a tree: every line a piece, held together by indentation and blank lines.
//! Must not know grammars.

use sextant_proto::chunk::ItemType;

use crate::chunk::grammar::Defines;
use crate::chunk::measure::char_boundary;
use crate::chunk::outline::{self, Outline};
use crate::chunk::piece::{Cutter, Decl, Place, Role};

/// Longest name kept of a heading, in bytes.
const NAME_CAP_BYTES: usize = 120;

/// Adds the lines from `start` on as pieces. What the outline opens become declarations, which do not nest: `item`
/// each, with their names.
pub(super) fn split(start: usize, outline: Outline, item: ItemType, cutter: &mut Cutter<'_>) -> Vec<Decl> {
    let bytes = cutter.bytes();
    let mut decls: Vec<Decl> = Vec::new();
    let mut section_start = start;
    for opening in outline::openings(outline, bytes, start) {
        add_section(section_start..opening.start, decls.len().checked_sub(1), cutter);
        if let Some(open) = decls.last_mut() {
            open.end = opening.start;
        }
        decls.push(Decl {
            start: opening.start,
            end: bytes.len(),
            parent: None,
            item,
            name: opening.name.map(|name| shown(bytes, name)),
            is_test: false,
            defines: Defines::Nothing,
        });
        section_start = opening.start;
    }
    add_section(section_start..bytes.len(), decls.len().checked_sub(1), cutter);
    decls
}

fn add_section(range: std::ops::Range<usize>, decl: Option<usize>, cutter: &mut Cutter<'_>) {
    let place = Place {
        depth: 0,
        inner_depth: 1,
        by_layout: true,
        decl,
        role: Role::Code,
        is_head: false,
        is_whole: false,
        is_glued: false,
        is_opening: decl.is_some(),
    };
    cutter.add_lines(range, place);
}

fn shown(bytes: &[u8], name: std::ops::Range<usize>) -> String {
    let end = if name.len() > NAME_CAP_BYTES {
        char_boundary(bytes, name.start + NAME_CAP_BYTES, name.start)
    } else {
        name.end
    };
    String::from_utf8_lossy(&bytes[name.start..end]).into_owned()
}
