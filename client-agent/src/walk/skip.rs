//! Why a path is in no index: the closed list of reasons that `index --json` and `status` show.

/// A path that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Path below the root of the walk; bytes that are not UTF-8 are shown as U+FFFD.
    pub path: String,
    /// Why it was left out.
    pub reason: SkipReason,
}

/// Why a path was left out. The first group is decided by the walk, the second by [`super::classify`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkipReason {
    /// Symlinks are never followed; what they lead to is indexed where it lies.
    #[error("symbolic link, not followed")]
    Symlink,
    /// A FIFO, socket or device.
    #[error("not a regular file")]
    Special,
    /// A submodule of this repository: index it under its own root.
    #[error("submodule, a repository of its own")]
    Submodule,
    /// Another repository or worktree inside this one: index it under its own root.
    #[error("nested repository or worktree")]
    NestedRepository,
    /// Over the size cap.
    #[error("{size} bytes, over the cap of {cap}")]
    TooLarge {
        /// Bytes on disk.
        size: u64,
        /// The cap in bytes.
        cap: u64,
    },
    /// The name is not UTF-8.
    #[error("name is not UTF-8")]
    NameNotUtf8,
    /// The system refused to list or stat it.
    #[error("unreadable: {problem}")]
    Unreadable {
        /// The system's words.
        problem: String,
    },

    /// Nothing but white space (and perhaps a byte order mark).
    #[error("empty")]
    Empty,
    /// UTF-16 or UTF-32 text.
    #[error("UTF-16 or UTF-32 text")]
    Utf16,
    /// Holds a NUL byte.
    #[error("binary")]
    Binary,
    /// Minified or generated: a line that no reader would read.
    #[error("line {line} has {bytes} bytes, over the cap of {cap}")]
    LineTooLong {
        /// 1-based.
        line: usize,
        /// Bytes of that line.
        bytes: usize,
        /// The cap in bytes.
        cap: usize,
    },
}

impl SkipReason {
    /// A stable word for machines and counts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Symlink => "symlink",
            Self::Special => "special",
            Self::Submodule => "submodule",
            Self::NestedRepository => "nested-repository",
            Self::TooLarge { .. } => "too-large",
            Self::NameNotUtf8 => "name-not-utf8",
            Self::Unreadable { .. } => "unreadable",
            Self::Empty => "empty",
            Self::Utf16 => "utf16",
            Self::Binary => "binary",
            Self::LineTooLong { .. } => "line-too-long",
        }
    }
}
