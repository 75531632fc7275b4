//! Owns the parse of one file under a budget. Must not know what the tree is used for.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use crate::chunk::grammar::Grammar;

/// Larger files are generated or data: a parse costs 100 times what the cut by lines does, and finds nothing.
const MAX_PARSED_BYTES: usize = 1024 * 1024;
/// Files with a longer line are minified or data.
const MAX_LINE_BYTES: usize = 20_000;
/// Progress reports (one a hundred parser operations) that a parse may take. Counted, not timed, so that a file that
/// is too hard for one machine is too hard for all. Code takes 0.005 to 0.02 a byte, and 8,000 to 15,000 pass in a
/// second: a megabyte of usual code gets through, and nothing takes much over two seconds.
const MAX_STEPS: u64 = 16_000;
/// A last stop by the clock, for the case that single operations are slow.
const MAX_PARSE_TIME: Duration = Duration::from_secs(5);

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
    if bytes.len() > MAX_PARSED_BYTES || bytes.split(|b| *b == b'\n').any(|line| line.len() > MAX_LINE_BYTES)
    {
        return Syntax::Unsuited;
    }
    let mut parser = Parser::new();
    if parser.set_language(&grammar.language).is_err() {
        return Syntax::Unsuited;
    }
    let mut steps = 0_u64;
    let deadline = Instant::now() + MAX_PARSE_TIME;
    let mut progress = |_: &ParseState| {
        steps += 1;
        if steps > MAX_STEPS || Instant::now() > deadline {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options)).map_or(Syntax::Stopped, Syntax::Tree)
}
