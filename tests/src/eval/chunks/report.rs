//! Owns the figures of the judge by language, and their forms: table, JSON, page. Must not know trees or rules.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::history::Edits;
use super::judge::{Cover, Finding, chars, line_of};

/// Broken rules shown of one language on the page.
const WORST: usize = 20;
/// Bytes shown on each side of a cut on the page.
const AROUND: usize = 600;

/// What was seen of one language.
#[derive(Debug, Default)]
pub struct LanguageReport {
    /// Files judged.
    pub files: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Their chunks.
    pub chunks: usize,
    /// Bytes in chunks.
    pub cover: Cover,
    /// Chunks that begin with closing syntax.
    pub orphan_closers: usize,
    /// Declarations cut off from what leads them.
    pub detached_prefixes: usize,
    /// Constructs cut that should be whole.
    pub cut_wholes: usize,
    /// Files cut without a tree, and why.
    pub fallbacks: Vec<(PathBuf, &'static str)>,
    /// Time of the cut, parse included.
    pub chunking: Duration,
    /// Time of the judge's parse alone.
    pub parsing: Duration,
    sizes: Vec<usize>,
    worst: Vec<String>,
}

impl LanguageReport {
    /// Whether no rule was broken.
    pub fn is_clean(&self) -> bool {
        let whole = self.cover.inked == self.cover.covered && self.cover.twice == 0;
        whole && self.orphan_closers + self.detached_prefixes + self.cut_wholes == 0
    }

    /// Notes the sizes of one file's chunks.
    pub fn sizes_of(&mut self, bytes: &[u8], ranges: &[Range<usize>]) {
        self.sizes.extend(ranges.iter().filter_map(|r| Some(chars(bytes.get(r.clone())?))));
    }

    /// Keeps a broken rule for the page, while there is room.
    pub fn keep_worst(&mut self, path: &Path, bytes: &[u8], ranges: &[Range<usize>], finding: &Finding) {
        if self.worst.len() >= WORST {
            return;
        }
        let from = finding.at.saturating_sub(AROUND);
        let to = (finding.at + AROUND).min(bytes.len());
        let line = line_of(bytes, finding.at);
        let mut html = format!(
            "<h3>{:?}: {} — {}:{line}</h3><pre>",
            finding.rule,
            escape(&finding.kind),
            escape(&path.to_string_lossy())
        );
        let mut at = from;
        for cut in ranges.iter().map(|r| r.start).filter(|start| (from..to).contains(start)) {
            html += &escape(&String::from_utf8_lossy(&bytes[at..cut]));
            html += if cut == finding.at { "<hr class=bad>" } else { "<hr>" };
            at = cut;
        }
        html += &escape(&String::from_utf8_lossy(&bytes[at..to]));
        html += "</pre>";
        self.worst.push(html);
    }

    fn size_at(&self, share: f64) -> usize {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        let at = (sizes.len().saturating_sub(1) as f64 * share).round() as usize;
        sizes.get(at).copied().unwrap_or_default()
    }

    fn small_share(&self, budget: usize) -> f64 {
        let small = self.sizes.iter().filter(|s| **s < budget / 4).count();
        small as f64 / self.sizes.len().max(1) as f64
    }

    fn rate(&self, time: Duration) -> f64 {
        self.bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9)
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// One line a language.
pub fn table(
    out: &mut impl Write,
    reports: &BTreeMap<&'static str, LanguageReport>,
    budget: usize,
) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<11} {:>6} {:>7} {:>9} {:>7} {:>7} {:>8} {:>6} {:>6} {:>5} {:>6} {:>8} {:>7} {:>6}",
        "language",
        "files",
        "chunks",
        "coverage",
        "overlap",
        "closers",
        "prefixes",
        "wholes",
        "median",
        "p95",
        "small",
        "fallback",
        "MB/s",
        "parse"
    )?;
    for (name, r) in reports {
        writeln!(
            out,
            "{name:<11} {:>6} {:>7} {:>8.4}% {:>7} {:>7} {:>8} {:>6} {:>6} {:>5} {:>5.1}% {:>8} {:>7.2} {:>6.2}",
            r.files,
            r.chunks,
            100.0 * share(r.cover.covered, r.cover.inked),
            r.cover.twice,
            r.orphan_closers,
            r.detached_prefixes,
            r.cut_wholes,
            r.size_at(0.5),
            r.size_at(0.95),
            100.0 * r.small_share(budget),
            r.fallbacks.len(),
            r.rate(r.chunking),
            r.rate(r.parsing),
        )?;
        for (path, why) in r.fallbacks.iter().take(WORST) {
            writeln!(out, "            {}: {why}", path.display())?;
        }
    }
    Ok(())
}

/// The same as data.
pub fn json(reports: &BTreeMap<&'static str, LanguageReport>, edits: &Edits, budget: usize) -> Value {
    let languages: BTreeMap<&str, Value> = reports
        .iter()
        .map(|(name, r)| {
            let value = json!({
                "files": r.files,
                "chunks": r.chunks,
                "coverage": share(r.cover.covered, r.cover.inked),
                "overlap": r.cover.twice,
                "orphan_closers": r.orphan_closers,
                "detached_prefixes": r.detached_prefixes,
                "cut_wholes": r.cut_wholes,
                "fallback_files": r.fallbacks.len(),
                "mb_per_s": r.rate(r.chunking),
                "parse_mb_per_s": r.rate(r.parsing),
                "median_chars": r.size_at(0.5),
                "p95_chars": r.size_at(0.95),
                "under_a_quarter": r.small_share(budget),
            });
            (*name, value)
        })
        .collect();
    json!({ "budget": budget, "languages": languages, "edits": edits.json() })
}

/// The page for a person: every broken rule kept, with the cuts around it as lines.
pub fn page(reports: &BTreeMap<&'static str, LanguageReport>) -> String {
    let mut html = String::from(
        "<!doctype html><meta charset=utf-8><title>Cuts</title><style>body{font:14px sans-serif;margin:2em}\
         pre{background:#f6f6f6;padding:1em}hr{border:0;border-top:2px solid #6a6}hr.bad{border-color:#c22}</style>",
    );
    for (name, report) in reports {
        let _ = write!(html, "<h2>{name}: {} files, {} chunks</h2>", report.files, report.chunks);
        report.worst.iter().for_each(|part| html += part);
    }
    html
}
