//! Answers and reports as text for people. Pure: values in, text out; every foreign character is escaped on the way.
//!
//! Must not know where the text goes, nor ask the system anything.

use std::fmt::Write;

use crate::cli::escape;
use crate::cli::highlight;
use crate::cli::paint::{Colors, DIM, DOUBT, LINES, PATH};
use crate::cli::place::Place;
use crate::report::{Answer, Found, IndexReport, StatusReport};
use crate::snippet::SnippetState;

/// Lines of a snippet that are shown.
const SNIPPET_LINES: usize = 12;
/// Characters of a line that are shown: a minified file is one line.
const LINE_CHARS: usize = 200;
/// Skipped files that a summary names.
const SKIPPED_SHOWN: usize = 5;

/// How an answer is shown.
#[derive(Debug, Clone)]
pub(super) struct RenderOptions {
    /// Folders that paths are told by.
    pub(super) place: Place,
    /// Colours.
    pub(super) colors: Colors,
}

/// The name of a state, as every output gives it.
pub(super) fn state_name(state: SnippetState) -> &'static str {
    match state {
        SnippetState::Exact => "exact",
        SnippetState::Moved => "moved",
        SnippetState::Edited => "edited",
        SnippetState::Missing => "missing",
    }
}

/// The hits of an answer, best first, a blank line between those with text.
pub(super) fn answer(answer: &Answer, options: &RenderOptions) -> String {
    let mut out = String::new();
    for (at, hit) in answer.hits.iter().enumerate() {
        let after_text = at > 0 && answer.hits[at - 1].snippet.is_some();
        if after_text || (at > 0 && hit.snippet.is_some()) {
            out.push('\n');
        }
        heading(&mut out, hit, options);
        if let Some(text) = &hit.snippet {
            snippet(&mut out, hit, text, options.colors);
        }
    }
    out
}

fn heading(out: &mut String, hit: &Found, options: &RenderOptions) {
    let colors = options.colors;
    let path = options.place.seen(&hit.path);
    out.push_str(&colors.paint(PATH, &escape::line(&path)));
    out.push(':');
    out.push_str(&colors.paint(LINES, &format!("{}-{}", hit.start_line, hit.end_line)));
    // Writing to a string cannot fail.
    let _ = write!(out, "  {:.3}  {}", hit.score, hit.item);
    if hit.state != SnippetState::Exact {
        out.push_str("  ");
        out.push_str(&colors.paint(DOUBT, state_name(hit.state)));
    }
    out.push('\n');
}

fn snippet(out: &mut String, hit: &Found, text: &str, colors: Colors) {
    let total = text.lines().count();
    // A rest of one line is shown rather than counted.
    let shown = if total <= SNIPPET_LINES + 1 { total } else { SNIPPET_LINES };
    let lines: Vec<String> = text.lines().take(shown).map(cut).collect();
    let last = u64::from(hit.start_line) + total.saturating_sub(1) as u64;
    let width = last.to_string().len().max(4);
    for (at, line) in highlight::paint(&lines, &hit.lang, colors).iter().enumerate() {
        let number = u64::from(hit.start_line) + at as u64;
        let gutter = format!("{number:>width$} │");
        out.push_str(&colors.paint(DIM, &gutter));
        if !line.is_empty() {
            out.push(' ');
            out.push_str(line);
        }
        out.push('\n');
    }
    if total > shown {
        let rest = format!("{:>width$} │ … {} more lines", "", total - shown);
        out.push_str(&colors.paint(DIM, &rest));
        out.push('\n');
    }
}

/// A line as it is shown: not over `LINE_CHARS`, tabs as spaces, nothing dangerous.
fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => escape::code(&line[..end]) + "…",
        None => escape::code(line),
    }
}

/// An index's summary; `verbose` lists every skipped file and what the run cost.
pub(super) fn index(report: &IndexReport, verbose: bool) -> String {
    let mut out = format!(
        "{}, {}: {} embedded, {} reused, {} skipped; {} sent in {}\n",
        count(report.files, "file"),
        count(report.chunks, "chunk"),
        report.embedded,
        report.reused,
        count(report.skipped.len() as u64, "file"),
        bytes(report.bytes_sent),
        duration(report.seconds),
    );
    let shown = if verbose { usize::MAX } else { SKIPPED_SHOWN };
    for skipped in report.skipped.iter().take(shown) {
        let (path, reason) = (escape::line(&skipped.path), escape::line(&skipped.reason));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  skipped {path}: {reason}");
    }
    if report.skipped.len() > shown {
        let _ = writeln!(out, "  {} more (see --json)", report.skipped.len() - shown);
    }
    if verbose {
        let rate = if report.seconds > 0.0 { report.embedded as f64 / report.seconds } else { 0.0 };
        let _ = writeln!(
            out,
            "  {} read; {rate:.1} chunks/s; the model read only the start of {}",
            count(report.files_read, "file"),
            count(report.truncated, "chunk"),
        );
    }
    out
}

/// A status.
pub(super) fn status(report: &StatusReport) -> String {
    let mut out = format!(
        "data    {}\nmodel   {}, codes of {} bits\nvectors {}, codes {}\n",
        escape::line(&report.data_dir),
        escape::line(&report.model),
        report.code_bits,
        report.vectors,
        bytes(report.code_bytes),
    );
    if report.trees.is_empty() {
        out.push_str("nothing is indexed; `sextant index PATH` does it, and so does the first search\n");
    }
    for tree in &report.trees {
        let changed = match tree.changed {
            Some(0) => "up to date".to_owned(),
            Some(changed) => format!("{} changed since", count(changed, "file")),
            None => "the folder is gone".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{}\n  {}, {}; {changed}\n  collection {}, revision {}",
            escape::line(&tree.root),
            count(tree.files, "file"),
            count(tree.chunks, "chunk"),
            escape::line(&tree.collection),
            escape::line(&tree.revision),
        );
    }
    out
}

fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn bytes(number: u64) -> String {
    indicatif::BinaryBytes(number).to_string()
}

fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    format!("{} min {} s", whole / 60, whole % 60)
}

#[cfg(test)]
#[path = "render_tests.rs"]
pub(super) mod tests;
