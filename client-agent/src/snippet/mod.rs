//! Coordinates into text: what the asking machine's own checkout has where a server points.
//!
//! The server is taken for a liar. Its path is opened through [`Root`] and so never leads outside; its range is
//! checked before anything is read; its claim about the text is checked by a keyed hash that it cannot compute.
//! Must not know who answered, nor how hits are ranked or printed.

mod lines;
mod search;

use std::io::Read;
use std::ops::Range;

use crate::walk::{OpenError, Root};
use lines::Lines;

/// Keyed hash of a chunk's raw bytes.
pub type TextHash = [u8; 16];

/// Where a server says that a chunk lies. Nothing of it is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinates<'a> {
    /// Path below the root, `/` between parts.
    pub path: &'a str,
    /// First byte.
    pub start_byte: u64,
    /// One past the last byte.
    pub end_byte: u64,
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, 1-based, inclusive.
    pub end_line: u32,
    /// Hash of the text that was indexed.
    pub text_hash: TextHash,
}

/// Bounds of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocateOptions {
    /// No indexed file is longer, so no honest range ends beyond it, and no more of a file is read.
    pub file_cap_bytes: u64,
    /// Bytes hashed at most in the search for text that moved.
    pub search_budget_bytes: u64,
    /// Lines shown at most of a text that was edited, for then only the server's word says how many.
    pub edited_lines: u32,
}

impl Default for LocateOptions {
    fn default() -> Self {
        Self { file_cap_bytes: 1 << 20, search_budget_bytes: 32 << 20, edited_lines: 200 }
    }
}

/// How the checkout's text relates to what was indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SnippetState {
    /// The very bytes are at the very place.
    Exact,
    /// The very bytes are elsewhere in the file.
    Moved,
    /// The file is there, the text is not: what is shown is what now stands at the old lines.
    Edited,
    /// The file is gone.
    Missing,
}

/// Text to show and where it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// How it relates to what was indexed.
    pub state: SnippetState,
    /// First byte of `text` in the file as it is now; the server's number where the file is missing.
    pub start_byte: u64,
    /// One past the last byte of `text`.
    pub end_byte: u64,
    /// First line of `text`, 1-based.
    pub start_line: u32,
    /// Last line of `text`, 1-based, inclusive.
    pub end_line: u32,
    /// The text; bytes that are not UTF-8 are shown as U+FFFD.
    pub text: String,
}

/// Why there is no snippet.
#[derive(Debug, thiserror::Error)]
pub enum SnippetError {
    /// No honest server sends this: count it as a bad hit and show nothing.
    #[error(
        "a server sent coordinates that cannot be right ({reason}): {path:?} bytes {start_byte}..{end_byte}"
    )]
    BadCoordinates {
        /// What is wrong.
        reason: BadReason,
        /// The path as sent.
        path: String,
        /// As sent.
        start_byte: u64,
        /// As sent.
        end_byte: u64,
    },
    /// The file is there but the system refuses to read it.
    #[error("{path:?} cannot be read: {source}; check its permissions")]
    Unreadable {
        /// The path below the root.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
}

/// What is wrong with coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReason {
    /// Empty, absolute, with `.` or `..` or NUL: nothing that a walk could have found.
    #[error("{0}")]
    Path(&'static str),
    /// Git's own folder is in no index.
    #[error("the path leads into git's metadata")]
    GitMetadata,
    /// Control characters in the name of a file that does not exist.
    #[error("the path holds control characters")]
    ControlCharacters,
    /// Links are in no index.
    #[error("the path leads through a symbolic link")]
    Symlink,
    /// A FIFO, socket or device.
    #[error("the path is not a regular file")]
    NotRegular,
    /// The range ends before or where it starts.
    #[error("the byte range is empty or reversed")]
    ByteRange,
    /// The range ends beyond the size that any indexed file can have.
    #[error("the byte range ends beyond the largest file that is indexed")]
    TooFar,
    /// Line 0, or an end before the start.
    #[error("the line range is empty or reversed")]
    LineRange,
}

/// Finds the text of `at` in the checkout. `hash` is the keyed hash that made `text_hash`.
///
/// Opens one file, reads at most `file_cap_bytes` of it and hashes at most the chunk's length plus
/// `search_budget_bytes`. Never blocks on a FIFO or device, for it opens none.
pub fn locate(
    root: &Root,
    at: &Coordinates<'_>,
    options: &LocateOptions,
    hash: &dyn Fn(&[u8]) -> TextHash,
) -> Result<Located, SnippetError> {
    let range = check(at, options).map_err(|reason| bad(at, reason))?;
    let file = match root.open_file(at.path) {
        Ok(file) => file,
        Err(OpenError::Missing | OpenError::Folder) if at.path.chars().any(char::is_control) => {
            return Err(bad(at, BadReason::ControlCharacters));
        }
        Err(OpenError::Missing | OpenError::Folder) => return Ok(missing(at)),
        Err(OpenError::BadPath(problem)) => return Err(bad(at, BadReason::Path(problem))),
        Err(OpenError::Symlink) => return Err(bad(at, BadReason::Symlink)),
        Err(OpenError::Special) => return Err(bad(at, BadReason::NotRegular)),
        Err(OpenError::Io(source)) => return Err(unreadable(at, source)),
    };
    let mut bytes = Vec::new();
    file.take(options.file_cap_bytes).read_to_end(&mut bytes).map_err(|source| unreadable(at, source))?;
    Ok(find(&bytes, range, at, options, hash))
}

/// The pure part of [`locate`]: `bytes` is the file as it is now, `range` the checked byte range.
fn find(
    bytes: &[u8],
    range: Range<usize>,
    at: &Coordinates<'_>,
    options: &LocateOptions,
    hash: &dyn Fn(&[u8]) -> TextHash,
) -> Located {
    let matches = |range: Range<usize>| bytes.get(range).is_some_and(|text| hash(text) == at.text_hash);
    let lines = Lines::of(bytes);
    if matches(range.clone()) {
        return show(SnippetState::Exact, bytes, &lines, range);
    }
    let found = search::nearest(bytes, &lines, &range, options.search_budget_bytes, &matches);
    if let Some(range) = found {
        return show(SnippetState::Moved, bytes, &lines, range);
    }
    let wanted = (at.end_line - at.start_line).min(options.edited_lines.saturating_sub(1)) as usize;
    let last = lines.count();
    let first = (at.start_line as usize).min(last.saturating_sub(wanted).max(1));
    let shown = lines.span(first, (first + wanted).min(last));
    show(SnippetState::Edited, bytes, &lines, shown)
}

/// Refuses what no honest server sends. A range beyond the end of the file as it is now is not refused: the file may
/// have been cut since.
fn check(at: &Coordinates<'_>, options: &LocateOptions) -> Result<Range<usize>, BadReason> {
    if at.path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(BadReason::GitMetadata);
    }
    if at.end_byte <= at.start_byte {
        return Err(BadReason::ByteRange);
    }
    if at.end_byte > options.file_cap_bytes {
        return Err(BadReason::TooFar);
    }
    if at.start_line == 0 || at.end_line < at.start_line {
        return Err(BadReason::LineRange);
    }
    match (usize::try_from(at.start_byte), usize::try_from(at.end_byte)) {
        (Ok(start), Ok(end)) => Ok(start..end),
        _ => Err(BadReason::TooFar),
    }
}

fn show(state: SnippetState, bytes: &[u8], lines: &Lines, range: Range<usize>) -> Located {
    let last = if range.is_empty() { range.start } else { range.end - 1 };
    Located {
        state,
        start_byte: range.start as u64,
        end_byte: range.end as u64,
        start_line: u32::try_from(lines.number(range.start)).unwrap_or(u32::MAX),
        end_line: u32::try_from(lines.number(last)).unwrap_or(u32::MAX),
        text: String::from_utf8_lossy(bytes.get(range).unwrap_or_default()).into_owned(),
    }
}

fn missing(at: &Coordinates<'_>) -> Located {
    Located {
        state: SnippetState::Missing,
        start_byte: at.start_byte,
        end_byte: at.end_byte,
        start_line: at.start_line,
        end_line: at.end_line,
        text: String::new(),
    }
}

fn bad(at: &Coordinates<'_>, reason: BadReason) -> SnippetError {
    let (start_byte, end_byte) = (at.start_byte, at.end_byte);
    SnippetError::BadCoordinates { reason, path: at.path.to_owned(), start_byte, end_byte }
}

fn unreadable(at: &Coordinates<'_>, source: std::io::Error) -> SnippetError {
    SnippetError::Unreadable { path: at.path.to_owned(), source }
}
