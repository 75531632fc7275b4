//! Owns the cut of one file into chunks: syntax where a grammar is there, lines elsewhere.
//! Must not know files on disk, keys, vectors or the network: bytes in, byte ranges out.
//!
//! The way through: `languages` names the language, `syntax` parses under a budget, `split` (or `lines`) makes
//! pieces that are never cut again, `merge` joins small neighbours, `label` says what each chunk is.

mod clean;
pub mod embed_input;

mod grammar;
mod label;
mod languages;
mod lines;
mod measure;
mod merge;
mod outline;
mod path_line;
mod piece;
mod split;
mod syntax;
mod test_paths;
#[cfg(test)]
mod tests;

use std::fmt;

use sextant_proto::chunk::ItemType;
use sextant_proto::limits::MAX_CHUNKS_PER_FILE;

use crate::chunk::measure::Measure;
use crate::chunk::piece::{Cutter, Decl};
use crate::chunk::syntax::Syntax;

/// Raised whenever the same bytes can give other chunks than before: file versions carry it, so that a change of
/// rules leads to new file versions instead of a mixture.
pub const CHUNKER_VERSION: u32 = 5;

/// How large a chunk may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkBudget {
    /// Non-white-space characters that a chunk should not exceed. A declaration may go over it by half to keep its
    /// documentation, attributes and closing bracket.
    pub preferred: usize,
    /// Bytes that a chunk never exceeds. At least 64 are taken, so that no character is torn.
    pub hard_cap_bytes: usize,
}

impl Default for ChunkBudget {
    fn default() -> Self {
        Self { preferred: 1_000, hard_cap_bytes: 8 * 1_024 }
    }
}

impl ChunkBudget {
    /// Two neighbours never fit into one chunk together, so a file has at most 2 · characters ÷ preferred chunks.
    /// Very large files (over 4 MB at the defaults) get larger chunks, to stay under the limit of a file version.
    fn for_file(self, file_bytes: usize) -> Self {
        let least = file_bytes / (MAX_CHUNKS_PER_FILE / 2 - 1);
        Self { preferred: self.preferred.max(least.min(self.hard_cap_bytes)), ..self }
    }
}

/// The name of a language, as `--lang` takes it: `rust`, `kotlin`, `markdown`, `text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(&'static str);

impl Language {
    /// The name itself, lower case.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// How the structure of a file was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseOutcome {
    /// The grammar took the whole file.
    Parsed,
    /// The grammar took the file with ERROR or MISSING nodes; the declarations around them are whole.
    PartlyErrors,
    /// The parse went over its budget; the file was cut by lines.
    TimedOut,
    /// No grammar, or a file that is not worth parsing (over 1 MiB, or a line over 20,000 bytes): cut by lines.
    Lines,
}

/// One chunk of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Position among the file's chunks, from 0.
    pub ordinal: u32,
    /// First byte, counted in the raw file (a BOM and carriage returns count).
    pub start_byte: u32,
    /// One past the last byte.
    pub end_byte: u32,
    /// 1-based line of the first byte. A line ends at LF alone, as for git and grep.
    pub start_line: u32,
    /// 1-based line of the last byte, inclusive.
    pub end_line: u32,
    /// What the chunk holds, or holds a part of.
    pub item: ItemType,
    /// The declared name, where there is one. It stays on the client.
    pub name: Option<String>,
    /// Test code, by the path or by the language's own marks.
    pub is_test: bool,
    /// Names of the declarations that are open where the chunk begins, outermost first. They stay on the client.
    pub scopes: Vec<String>,
    /// What begins in this chunk, in file order: functions, types, members, constants. They stay on the client.
    pub defines: Vec<Definition>,
}

/// A name that a chunk brings into the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The bare name: no path, no sigil (`$`, `#`), no back-ticks.
    pub name: String,
    /// A function inside a type is a method, a function that tests is a test.
    pub item: ItemType,
    /// Declarations around it (types, functions); modules and namespaces do not count. 0: top level.
    pub depth: u32,
}

/// A file cut into chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkedFile {
    /// The language that the path (or the `#!` line) names.
    pub language: Language,
    /// How the structure was found.
    pub parse: ParseOutcome,
    /// In file order, disjoint; every byte that is neither ASCII white space nor the BOM lies in exactly one.
    pub chunks: Vec<Chunk>,
}

/// Cuts a file. `path` is relative, with `/`; only its names are looked at. Pure: the same input gives the same
/// chunks on every machine, save where the wall-clock stop of a parse (see `syntax`) is reached.
/// Files over 4 GiB have no coordinates and give no chunks.
pub fn chunk_file(path: &str, bytes: &[u8], budget: &ChunkBudget) -> ChunkedFile {
    let detected = languages::detect(path, bytes);
    let language = Language(detected.name());
    if u32::try_from(bytes.len()).is_err() {
        return ChunkedFile { language, parse: ParseOutcome::Lines, chunks: Vec::new() };
    }
    let start = if bytes.starts_with(&[0xEF, 0xBB, 0xBF]) { 3 } else { 0 };
    let measure = Measure::new(bytes);
    let budget = &budget.for_file(bytes.len());
    let mut cutter = Cutter::new(bytes, &measure, *budget);
    let in_test_file = test_paths::is_test_path(path);

    let syntax = match detected.grammar() {
        Some(grammar) => syntax::parse(grammar, bytes),
        None => Syntax::Unsuited,
    };
    let (parse, decls) = match (&syntax, detected.grammar()) {
        (Syntax::Tree(tree), Some(grammar)) => {
            let decls = split::split(tree, grammar, start, in_test_file, &mut cutter);
            let outcome =
                if tree.root_node().has_error() { ParseOutcome::PartlyErrors } else { ParseOutcome::Parsed };
            (outcome, decls)
        }
        (stopped, _) => {
            let decls: Vec<Decl> = lines::split(start, detected.outline(), detected.part_item(), &mut cutter);
            let timed_out = matches!(stopped, Syntax::Stopped);
            (if timed_out { ParseOutcome::TimedOut } else { ParseOutcome::Lines }, decls)
        }
    };
    let pieces = cutter.into_pieces();
    let groups = merge::merge(&pieces, &measure, budget);
    let labels = label::Labels { decls: &decls, fallback: detected.fallback_item(), in_test_file };
    let chunks = labels.chunks(bytes, &pieces, &groups, &measure);
    ChunkedFile { language, parse, chunks }
}
