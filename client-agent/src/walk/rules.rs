//! Ignore rules as a chain of files: the nearest file speaks first, within a file the last matching line wins.
//!
//! Matching is gitoxide's port of git's own wildmatch, not a general glob library: there `{a,b}` is an alternation
//! and an unclosed `[` an error, in git both are plain text. Must not know the file system.

use std::sync::Arc;

use gix::bstr::{BStr, ByteSlice};
use gix::glob::pattern::{Case, Mode};
use gix::glob::search::pattern::{List, Mapping};
use gix::ignore::search::{Ignore, pattern_matching_relative_path};

/// A path relative to the top of the repository, made ready for matching.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    /// `/`-separated, no leading slash.
    pub(super) path: &'a [u8],
    pub(super) is_dir: bool,
    pub(super) case: Case,
}

/// One rule file and those that speak after it.
pub(super) struct Rules {
    farther: Option<Arc<Rules>>,
    list: List<Ignore>,
}

impl Rules {
    /// Puts the file with `bytes`, found in folder `base` (relative to the top, empty for rules of the whole tree),
    /// in front of `farther`. A file without a rule adds nothing.
    pub(super) fn nearer(farther: Option<Arc<Rules>>, base: &[u8], bytes: &[u8]) -> Option<Arc<Rules>> {
        let patterns = parse(bytes);
        if patterns.is_empty() {
            return farther;
        }
        let base = (!base.is_empty()).then(|| [base, b"/"].concat().into());
        Some(Arc::new(Rules { farther, list: List { patterns, source: None, base } }))
    }
}

/// True where the chain excludes the path itself. The caller sees to it that nothing below an excluded folder is
/// asked for: git never re-includes there.
pub(super) fn excluded(rules: Option<&Arc<Rules>>, candidate: Candidate<'_>) -> bool {
    let path: &BStr = candidate.path.as_bstr();
    let basename = path.rfind_byte(b'/').map(|at| at + 1);
    let mut next = rules;
    while let Some(rules) = next {
        let found = pattern_matching_relative_path(
            &rules.list,
            path,
            basename,
            Some(candidate.is_dir),
            candidate.case,
        );
        if let Some(found) = found {
            return !found.pattern.mode.contains(Mode::NEGATIVE);
        }
        next = rules.farther.as_ref();
    }
    false
}

/// Git reads a rule file byte by byte: a UTF-8 mark at the start is dropped, CR is dropped before LF, and the last
/// line counts as ended even where the LF is missing.
fn parse(bytes: &[u8]) -> Vec<Mapping<gix::ignore::Kind>> {
    let mut text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).to_vec();
    text.push(b'\n');
    gix::ignore::parse(&text, false)
        .map(|(pattern, line, kind)| Mapping { pattern, value: kind, sequence_number: line })
        .collect()
}
