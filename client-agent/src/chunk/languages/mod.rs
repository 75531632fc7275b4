//! Owns the list of languages and which one a file is in. A language is one folder with one value; adding one
//! means a folder, a line below and a sample in the tests. Must not know how chunks are cut.

mod csharp;
mod go;
mod java;
mod javascript;
mod kotlin;
mod php;
mod plain;
mod python;
mod rust;
mod typescript;

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use sextant_proto::chunk::ItemType;

use crate::chunk::grammar::{Grammar, LanguageSpec};
pub(super) use crate::chunk::languages::plain::PlainLanguage;
use crate::chunk::outline::Outline;

static PARSED: &[&LanguageSpec] = &[
    &kotlin::SPEC,
    &java::SPEC,
    &python::SPEC,
    &javascript::SPEC,
    &typescript::SPEC,
    &typescript::TSX,
    &csharp::SPEC,
    &php::SPEC,
    &go::SPEC,
    &rust::SPEC,
];

/// Longest `#!` line looked at.
const SHEBANG_CAP_BYTES: usize = 128;

/// The language of a file.
#[derive(Clone, Copy)]
pub(super) enum Detected {
    /// Index into the languages with a grammar.
    Parsed(usize),
    Plain(&'static PlainLanguage),
}

struct Names {
    extensions: HashMap<&'static str, Detected>,
    filenames: HashMap<&'static str, Detected>,
    interpreters: HashMap<&'static str, Detected>,
}

static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let parsed = || PARSED.iter().enumerate().map(|(n, spec)| (*spec, Detected::Parsed(n)));
    let plain = || plain::PLAIN.iter().map(|spec| (spec, Detected::Plain(spec)));
    Names {
        extensions: plain()
            .flat_map(|(spec, d)| spec.extensions.iter().map(move |e| (*e, d)))
            .chain(parsed().flat_map(|(spec, d)| spec.extensions.iter().map(move |e| (*e, d))))
            .collect(),
        filenames: plain()
            .flat_map(|(spec, d)| spec.filenames.iter().map(move |e| (*e, d)))
            .chain(parsed().flat_map(|(spec, d)| spec.filenames.iter().map(move |e| (*e, d))))
            .collect(),
        interpreters: parsed().flat_map(|(spec, d)| spec.interpreters.iter().map(move |e| (*e, d))).collect(),
    }
});

/// The language that the file's name gives, else its `#!` line, else plain text.
pub(super) fn detect(path: &str, bytes: &[u8]) -> Detected {
    let file = path.rsplit('/').next().unwrap_or(path);
    if let Some(found) = NAMES.filenames.get(file) {
        return *found;
    }
    match file.rsplit_once('.') {
        Some((_, extension)) => {
            let lower = extension.to_ascii_lowercase();
            NAMES.extensions.get(lower.as_str()).copied().unwrap_or(Detected::Plain(&plain::TEXT))
        }
        None => interpreter(bytes).unwrap_or(Detected::Plain(&plain::TEXT)),
    }
}

fn interpreter(bytes: &[u8]) -> Option<Detected> {
    let line = bytes.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let line = std::str::from_utf8(line.get(..SHEBANG_CAP_BYTES).unwrap_or(line)).ok()?;
    let programs = line.split_whitespace().filter_map(|word| word.rsplit('/').next());
    programs.into_iter().find_map(|p| {
        // `python3.12` is python.
        let bare = p.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        NAMES.interpreters.get(bare).copied()
    })
}

impl Detected {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Parsed(n) => PARSED.get(n).map_or(plain::TEXT.name, |spec| spec.name),
            Self::Plain(spec) => spec.name,
        }
    }

    /// The grammar, loaded on first use and kept.
    pub(super) fn grammar(self) -> Option<&'static Grammar> {
        static LOADED: [OnceLock<Grammar>; 10] = [const { OnceLock::new() }; 10];
        match self {
            Self::Parsed(n) => Some(LOADED.get(n)?.get_or_init(|| Grammar::new(PARSED[n]))),
            Self::Plain(_) => None,
        }
    }

    /// Annotations and comments that are left out of what is embedded.
    pub(super) fn noise(self) -> &'static [&'static str] {
        match self {
            Self::Parsed(n) => PARSED.get(n).map_or(&[], |spec| spec.noise),
            Self::Plain(_) => &[],
        }
    }

    /// What a chunk is in which nothing is declared.
    pub(super) fn fallback_item(self) -> ItemType {
        match self {
            Self::Parsed(_) => ItemType::Section,
            Self::Plain(spec) => spec.item,
        }
    }

    /// What opens a part of a file that is cut by lines.
    pub(super) fn outline(self) -> Outline {
        match self {
            Self::Parsed(_) => Outline::None,
            Self::Plain(spec) => spec.outline,
        }
    }

    /// What such a part is: configuration stays that, everything else is a section.
    pub(super) fn part_item(self) -> ItemType {
        match self.fallback_item() {
            ItemType::Config => ItemType::Config,
            _ => ItemType::Section,
        }
    }
}

#[cfg(test)]
pub(super) fn all_parsed() -> impl Iterator<Item = Detected> {
    (0..PARSED.len()).map(Detected::Parsed)
}
