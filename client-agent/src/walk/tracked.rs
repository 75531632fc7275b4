//! The paths in git's index, as a sorted table that answers "is it tracked" and "is anything tracked below it".
//! Must not know ignore rules or the file system.

use std::ops::Range;

use gix::glob::pattern::Case;
use gix::index::entry::Mode;

/// The table. Paths are relative to the top of the repository; where git ignores case, ASCII letters are folded.
pub(super) struct Tracked {
    names: Vec<u8>,
    rows: Vec<Row>,
    case: Case,
}

struct Row {
    name: Range<usize>,
    submodule: bool,
}

/// What the table says about one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    No,
    File,
    Submodule,
}

impl Tracked {
    /// The table of a folder without an index.
    pub(super) fn nothing(case: Case) -> Self {
        Self { names: Vec::new(), rows: Vec::new(), case }
    }

    /// Copies the paths of `index`; unmerged paths, which are there several times, count once.
    pub(super) fn from_index(index: &gix::index::State, case: Case) -> Self {
        let mut table = Self::nothing(case);
        for entry in index.entries() {
            if entry.mode == Mode::DIR {
                continue; // A folded folder of a sparse index: its files are not on disk.
            }
            let start = table.names.len();
            table.names.extend_from_slice(entry.path(index));
            if table.case == Case::Fold {
                table.names[start..].make_ascii_lowercase();
            }
            table.rows.push(Row { name: start..table.names.len(), submodule: entry.mode == Mode::COMMIT });
        }
        let names = &table.names;
        table.rows.sort_by(|a, b| names[a.name.clone()].cmp(&names[b.name.clone()]));
        table.rows.dedup_by(|a, b| names[a.name.clone()] == names[b.name.clone()]);
        table
    }

    /// All rows: the range of the top folder.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.rows.len()
    }

    /// The rows of `within` that lie below folder `path`.
    pub(super) fn below(&self, within: Range<usize>, path: &[u8]) -> Range<usize> {
        if within.is_empty() || path.is_empty() {
            return within;
        }
        let folder = [&self.fold(path), b"/".as_slice()].concat();
        let rows = &self.rows[within.clone()];
        let start = rows.partition_point(|row| self.name(row) < folder.as_slice());
        let count = rows[start..].partition_point(|row| self.name(row).starts_with(&folder));
        within.start + start..within.start + start + count
    }

    /// Whether `path` itself is among the rows of `within`.
    pub(super) fn known(&self, within: Range<usize>, path: &[u8]) -> Known {
        if within.is_empty() {
            return Known::No;
        }
        let path = self.fold(path);
        let rows = &self.rows[within];
        match rows.binary_search_by(|row| self.name(row).cmp(&path)) {
            Err(_) => Known::No,
            Ok(at) if rows[at].submodule => Known::Submodule,
            Ok(_) => Known::File,
        }
    }

    fn name(&self, row: &Row) -> &[u8] {
        &self.names[row.name.clone()]
    }

    fn fold<'a>(&self, path: &'a [u8]) -> std::borrow::Cow<'a, [u8]> {
        match self.case {
            Case::Sensitive => path.into(),
            Case::Fold => path.to_ascii_lowercase().into(),
        }
    }
}
