//! `sextant-eval chunks`: judges how real files are cut, by rules and by the edits of a real history.
//!
//! The judge parses for itself and sees byte ranges alone; it must not know how they are made.

pub mod history;
pub mod judge;
pub mod report;
pub mod rules;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use sextant_client::chunk::{ChunkBudget, ParseOutcome, chunk_file};

use self::judge::{Finding, Limits, Rule};
use self::report::LanguageReport;
use self::rules::Rules;

/// Larger files are left out: what a size limit does to them is no matter of good cuts.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// What to judge.
#[derive(Debug, Args)]
pub struct ChunksArgs {
    /// Folders and files of code, in the languages that the judge knows.
    paths: Vec<PathBuf>,
    /// Non-white-space characters that a chunk should not exceed.
    #[arg(long, default_value_t = ChunkBudget::default().preferred)]
    budget: usize,
    /// Constructs of up to so many non-white-space characters must be whole; twice the budget where not given.
    #[arg(long)]
    whole: Option<usize>,
    /// Applies the last commits of this git repository one by one and counts changed chunks; may be given again.
    #[arg(long, value_name = "REPOSITORY")]
    history: Vec<PathBuf>,
    /// Commits taken of each history.
    #[arg(long, default_value_t = 200)]
    commits: usize,
    /// Prints up to so many broken rules with their places.
    #[arg(long, default_value_t = 0)]
    show: usize,
    /// Writes the figures as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes a page that shows the worst cuts in their files.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Ranges of a file and how long they took.
struct Cut {
    ranges: Vec<Range<usize>>,
    parse: ParseOutcome,
    took: Duration,
}

fn cut(path: &str, bytes: &[u8], budget: &ChunkBudget) -> Cut {
    let started = Instant::now();
    let file = chunk_file(path, bytes, budget);
    let took = started.elapsed();
    let ranges = file.chunks.iter().map(|c| c.start_byte as usize..c.end_byte as usize).collect();
    Cut { ranges, parse: file.parse, took }
}

/// Judges, prints a table a language, and answers whether no rule was broken.
pub fn run(args: &ChunksArgs, out: &mut impl Write) -> anyhow::Result<bool> {
    let budget = ChunkBudget { preferred: args.budget, ..ChunkBudget::default() };
    let whole_chars = args.whole.unwrap_or(args.budget * 2);
    let limits = Limits { cap_bytes: budget.hard_cap_bytes, whole_chars };
    let mut reports: BTreeMap<&'static str, LanguageReport> = BTreeMap::new();
    let mut shown = 0;
    for path in files(&args.paths)? {
        let Some(rules) = rules::of_path(&path) else { continue };
        let bytes = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        if bytes.is_empty() || bytes.contains(&0) {
            continue;
        }
        let name = path.to_string_lossy();
        let cut = cut(&name, &bytes, &budget);
        let report = reports.entry(rules.name).or_default();
        for finding in judge_file(rules, &path, &bytes, &cut, limits, report) {
            if shown < args.show {
                shown += 1;
                show(out, &name, &bytes, &finding)?;
            }
            report.keep_worst(&path, &bytes, &cut.ranges, &finding);
        }
        report.sizes_of(&bytes, &cut.ranges);
    }
    report::table(out, &reports, args.budget)?;
    let edits = history::of_repositories(&args.history, args.commits, |path, bytes| {
        cut(path, bytes, &budget).ranges
    })?;
    history::table(out, &edits)?;
    if let Some(page) = &args.html {
        std::fs::write(page, report::page(&reports))
            .with_context(|| format!("{} cannot be written", page.display()))?;
    }
    crate::eval::write_json(args.json.as_deref(), &report::json(&reports, &edits, args.budget))?;
    Ok(reports.values().all(LanguageReport::is_clean))
}

fn judge_file(
    rules: &'static Rules,
    path: &Path,
    bytes: &[u8],
    cut: &Cut,
    limits: Limits,
    report: &mut LanguageReport,
) -> Vec<Finding> {
    let cover = judge::cover(bytes, &cut.ranges);
    report.files += 1;
    report.bytes += bytes.len();
    report.chunks += cut.ranges.len();
    report.cover.inked += cover.inked;
    report.cover.covered += cover.covered;
    report.cover.twice += cover.twice;
    report.chunking += cut.took;
    let started = Instant::now();
    let tree = judge::parse(rules, bytes);
    report.parsing += started.elapsed();
    match cut.parse {
        ParseOutcome::Parsed | ParseOutcome::PartlyErrors => {}
        // Without a tree there is nothing that a cut could have respected.
        ParseOutcome::TimedOut => {
            report.fallbacks.push((path.to_owned(), "parse over its budget"));
            return Vec::new();
        }
        ParseOutcome::Lines => {
            report.fallbacks.push((path.to_owned(), "not worth a parse"));
            return Vec::new();
        }
    }
    let Some(tree) = tree else { return Vec::new() };
    let found = judge::judge(rules, &tree, bytes, &cut.ranges, limits);
    for finding in &found {
        *match finding.rule {
            Rule::OrphanCloser => &mut report.orphan_closers,
            Rule::DetachedPrefix => &mut report.detached_prefixes,
            Rule::CutWhole => &mut report.cut_wholes,
        } += 1;
    }
    found
}

fn show(out: &mut impl Write, name: &str, bytes: &[u8], finding: &Finding) -> std::io::Result<()> {
    let line = judge::line_of(bytes, finding.at);
    let end = bytes[finding.at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| finding.at + n);
    let text = String::from_utf8_lossy(&bytes[finding.at..end.min(finding.at + 100)]);
    writeln!(out, "{:?} {} {name}:{line}: {text}", finding.rule, finding.kind)
}

/// Every file below the paths that is not ignored, in order.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let walk =
            ignore::WalkBuilder::new(path).max_filesize(Some(MAX_FILE_BYTES)).require_git(false).build();
        for entry in walk {
            let entry = entry.with_context(|| format!("{} cannot be walked", path.display()))?;
            if entry.file_type().is_some_and(|t| t.is_file()) {
                files.push(entry.into_path());
            }
        }
    }
    files.sort();
    Ok(files)
}
