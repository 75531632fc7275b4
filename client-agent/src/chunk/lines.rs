//! Owns the cut of text without a tree: every line a piece, held together by indentation and blank lines.
//! Must not know grammars.

use sextant_proto::chunk::ItemType;

use crate::chunk::grammar::Defines;
use crate::chunk::measure::{char_boundary, trim};
use crate::chunk::piece::{Cutter, Decl, Place, Role};

/// Longest name kept of a heading, in bytes.
const NAME_CAP_BYTES: usize = 120;

/// Adds the lines from `start` on as pieces. With a heading mark, lines that begin with it open sections, whose
/// names become declarations; sections do not nest.
pub(super) fn split(start: usize, heading_mark: Option<u8>, cutter: &mut Cutter<'_>) -> Vec<Decl> {
    let bytes = cutter.bytes();
    let Some(mark) = heading_mark else {
        add_section(start..bytes.len(), None, cutter);
        return Vec::new();
    };
    let mut decls: Vec<Decl> = Vec::new();
    let mut section_start = start;
    let mut at = start;
    let mut fenced = false;
    while at < bytes.len() {
        let line_end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n + 1);
        let line = &bytes[at..line_end];
        if line.starts_with(b"```") || line.starts_with(b"~~~") {
            fenced = !fenced;
        }
        if !fenced && line.first() == Some(&mark) {
            add_section(section_start..at, decls.len().checked_sub(1), cutter);
            if let Some(open) = decls.last_mut() {
                open.end = at;
            }
            let name = heading_name(bytes, at..line_end, mark);
            decls.push(Decl {
                start: at,
                end: bytes.len(),
                parent: None,
                item: ItemType::Section,
                name,
                is_test: false,
                defines: Defines::Nothing,
            });
            section_start = at;
        }
        at = line_end;
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
    };
    cutter.add_lines(range, place);
}

fn heading_name(bytes: &[u8], line: std::ops::Range<usize>, mark: u8) -> Option<String> {
    let marks = bytes[line.clone()].iter().take_while(|b| **b == mark).count();
    let text = trim(bytes, line.start + marks..line.end)?;
    let end = if text.len() > NAME_CAP_BYTES {
        char_boundary(bytes, text.start + NAME_CAP_BYTES, text.start)
    } else {
        text.end
    };
    Some(String::from_utf8_lossy(&bytes[text.start..end]).into_owned())
}
