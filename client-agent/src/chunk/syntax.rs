//! Owns the parse of one file under a budget. Must not know what the tree is used for.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use crate::chunk::grammar::Grammar;

/// Larger files are generated or data: a parse costs 100 times what the cut by lines does, and finds nothing.
const MAX_PARSED_BYTES: usize = 1024 * 1024;
/// Files with a longer line are minified or data.
const MAX_LINE_BYTES: usize = 20_000;
/// Progress reports (one a hundred parser operations) that any file may take, and further ones a byte.
/// Counted, not timed, so that a file that is too hard for one machine is too hard for all.
const STEPS_AT_LEAST: u64 = 20_000;
const STEPS_A_BYTE: f64 = 0.5;
/// A last stop by the clock, since single operations can be slow. Only files near it differ between machines.
const MAX_PARSE_TIME: Duration = Duration::from_secs(2);

/// What came of a parse.
pub(super) enum Syntax {
    Tree(Tree),
    /// Over the budget.
    Stopped,
    /// Not worth a parse, or a grammar that does not load.
    Unsuited,
}

/// Parses a file, unless its size or its longest line says that it is no code that somebody wrote.
pub(super) fn parse(grammar: &Grammar, bytes: &[u8]) -> Syntax {
    if bytes.len() > MAX_PARSED_BYTES || bytes.split(|b| *b == b'\n').any(|line| line.len() > MAX_LINE_BYTES) {
        return Syntax::Unsuited;
    }
    let mut parser = Parser::new();
    if parser.set_language(&grammar.language).is_err() {
        return Syntax::Unsuited;
    }
    let allowed = STEPS_AT_LEAST + (bytes.len() as f64 * STEPS_A_BYTE) as u64;
    let mut steps = 0_u64;
    let deadline = Instant::now() + MAX_PARSE_TIME;
    let mut progress = |_: &ParseState| {
        steps += 1;
        if steps > allowed || Instant::now() > deadline { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options)).map_or(Syntax::Stopped, Syntax::Tree)
}
