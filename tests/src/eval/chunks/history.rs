//! Owns the edits of a git history: which chunks change with the declarations that a commit touches.
//! Must not know how chunks are made.

use std::collections::HashSet;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tree_sitter::{Node, Tree};

use super::judge;
use super::rules::{self, Rules};

/// Files changed by a commit beyond which it is a move or a reformat, not an edit.
const MAX_FILES: usize = 20;

/// Changed chunks a changed declaration, one figure a commit.
#[derive(Debug, Default)]
pub struct Edits {
    ratios: Vec<f64>,
    declarations: usize,
    chunks: usize,
}

impl Edits {
    fn at(&self, share: f64) -> f64 {
        let mut ratios = self.ratios.clone();
        ratios.sort_by(f64::total_cmp);
        let at = (ratios.len().saturating_sub(1) as f64 * share).round() as usize;
        ratios.get(at).copied().unwrap_or_default()
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "commits": self.ratios.len(), "declarations": self.declarations, "changed_chunks": self.chunks,
            "median": self.at(0.5), "p95": self.at(0.95), "worst": self.at(1.0),
        })
    }
}

/// One line, where a history was asked for.
pub fn table(out: &mut impl Write, edits: &Edits) -> std::io::Result<()> {
    if edits.ratios.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "edits: {} commits, {} changed declarations, {} changed chunks; a declaration median {:.2}, p95 {:.2}, worst {:.1}",
        edits.ratios.len(),
        edits.declarations,
        edits.chunks,
        edits.at(0.5),
        edits.at(0.95),
        edits.at(1.0),
    )
}

/// The last `commits` of each repository that edit files of a known language.
pub fn of_repositories(
    repositories: &[PathBuf],
    commits: usize,
    mut cut: impl FnMut(&str, &[u8]) -> Vec<Range<usize>>,
) -> anyhow::Result<Edits> {
    let mut edits = Edits::default();
    for repository in repositories {
        let mut taken = 0;
        let list = git(repository, &["rev-list", "--no-merges", "HEAD"])?;
        for commit in String::from_utf8_lossy(&list).split_whitespace() {
            if taken == commits {
                break;
            }
            let (mut declarations, mut chunks) = (0, 0);
            for (before, after, path) in changed(repository, commit)? {
                let Some(rules) = rules::of_path(Path::new(&path)) else { continue };
                let old = git(repository, &["cat-file", "blob", &before])?;
                let new = git(repository, &["cat-file", "blob", &after])?;
                let (touched, keys) = compare(rules, &path, &old, &new, &mut cut);
                declarations += touched;
                chunks += keys;
            }
            if declarations > 0 {
                taken += 1;
                edits.declarations += declarations;
                edits.chunks += chunks;
                edits.ratios.push(chunks as f64 / declarations as f64);
            }
        }
    }
    Ok(edits)
}

fn git(repository: &Path, words: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output =
        Command::new("git").arg("-C").arg(repository).args(words).output().context("git does not start")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {} in {}: {said}", words.join(" "), repository.display());
    Ok(output.stdout)
}

/// Blob before, blob after, path, of every file that the commit modifies.
fn changed(repository: &Path, commit: &str) -> anyhow::Result<Vec<(String, String, String)>> {
    let raw = git(
        repository,
        &["diff-tree", "-r", "--no-renames", "--diff-filter=M", "--raw", "--no-abbrev", "-z", commit],
    )?;
    let text = String::from_utf8_lossy(&raw);
    let mut parts = text.split('\0').peekable();
    let mut found = Vec::new();
    while let Some(part) = parts.next() {
        let fields: Vec<&str> = part.split_whitespace().collect();
        if let [_, _, before, after, "M"] = fields[..]
            && let Some(path) = parts.next()
        {
            found.push((before.to_owned(), after.to_owned(), path.to_owned()));
        }
    }
    if found.len() > MAX_FILES {
        found.clear();
    }
    Ok(found)
}

/// Declarations of the new file that the old one lacks, or that the old one has and the new one lacks, whichever
/// is more; and chunks of the new file whose normalised text the old one lacks.
fn compare(
    rules: &Rules,
    path: &str,
    old: &[u8],
    new: &[u8],
    cut: &mut impl FnMut(&str, &[u8]) -> Vec<Range<usize>>,
) -> (usize, usize) {
    let (Some(before), Some(after)) = (judge::parse(rules, old), judge::parse(rules, new)) else {
        return (0, 0);
    };
    let texts = |tree: &Tree, bytes: &[u8]| -> HashSet<Vec<u8>> {
        units(rules, tree, bytes.len())
            .into_iter()
            .map(|r| normal(&bytes[r]))
            .filter(|t| !t.is_empty())
            .collect()
    };
    let (was, is) = (texts(&before, old), texts(&after, new));
    let declarations = is.difference(&was).count().max(was.difference(&is).count());
    let known: HashSet<Vec<u8>> = cut(path, old).into_iter().map(|r| normal(&old[r])).collect();
    let fresh = cut(path, new).into_iter().filter(|r| !known.contains(&normal(&new[r.clone()]))).count();
    (declarations, fresh)
}

/// The text between the starts of declarations: a partition, so that every change falls into exactly one.
fn units(rules: &Rules, tree: &Tree, length: usize) -> Vec<Range<usize>> {
    let mut marks = vec![0, length];
    let mut cursor = tree.walk();
    'walk: loop {
        let node: Node<'_> = cursor.node();
        if rules.declarations.contains(&node.kind()) {
            marks.extend([node.start_byte(), node.end_byte()]);
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                break 'walk;
            }
        }
    }
    marks.sort_unstable();
    marks.dedup();
    marks.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// White space does not count, as in keys indentation and blank lines do not.
fn normal(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect()
}
