//! The last order of an answer, made where the source is. Pure; knows candidates and the question's words, no server and
//! no file.
//!
//! Meaning and words are joined by normalised scores; names, path and kind of the code add to it or take from it; the best
//! chunks of a file lift it; every file shows its best chunk before any file shows a second one.

pub mod asked;
mod signals;
pub mod weights;

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sextant_proto::search::Hit;

use crate::lexical::Name;
use asked::{Asked, Shape};
pub use signals::kind::Kind;
use signals::{declared, definition, folder, kind, stem, together};
use weights::Weights;

/// Candidates asked of the cluster for one answer, at least; as many by words.
pub const LEAST_CANDIDATES: u32 = 200;
/// Candidates for each hit wanted.
pub const CANDIDATES_A_HIT: u32 = 5;

/// A chunk that may be an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Where it is.
    pub hit: Hit,
    /// Estimate of the cosine, where the cluster named it.
    pub semantic: Option<f32>,
    /// BM25 score; 0 where no word of the question occurs.
    pub lexical: f32,
    /// What it declares.
    pub names: Vec<Name>,
}

/// What the index knows of the question's words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Words {
    /// Inverse document frequency of each term.
    pub idf: HashMap<String, f32>,
    /// How many chunks define each identifier, by its lower case.
    pub definers: HashMap<String, u64>,
}

/// What is known of a candidate beside its place: each is 0 to 1, or yes and no.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Signals {
    /// Meaning, among the candidates.
    pub semantic: f32,
    /// Words, among the candidates.
    pub lexical: f32,
    /// Words, against what the question's words weigh; not held to 1.
    pub words: f32,
    /// Defines a named identifier.
    pub definition: f32,
    /// Declared names.
    pub declared: f32,
    /// File name.
    pub stem: f32,
    /// Folder names.
    pub folder: f32,
    /// What kind of code it is, where the question does not ask for that kind.
    pub kind: Kind,
}

/// Why a candidate stands where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reasons {
    /// What is known of it.
    #[serde(flatten)]
    pub signals: Signals,
    /// The file's best chunks together; for its best chunk alone.
    pub together: f32,
    /// The sum that decides, as a share of what it can be: 0 to 1.
    pub total: f32,
}

/// A candidate at its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The candidate.
    pub candidate: Candidate,
    /// Why it stands there.
    pub reasons: Reasons,
}

/// Orders candidates, best first. Nothing is lost or doubled.
pub fn rank(asked: &Asked, words: &Words, candidates: Vec<Candidate>, weights: &Weights) -> Vec<Ranked> {
    let signals = signals(asked, words, &candidates);
    let paths: Vec<&str> = candidates.iter().map(|one| one.hit.path.as_str()).collect();
    let places = order(asked.shape, &paths, &signals, weights);
    let mut slots: Vec<Option<Candidate>> = candidates.into_iter().map(Some).collect();
    let ranked =
        |(at, reasons): (usize, Reasons)| Some(Ranked { candidate: slots.get_mut(at)?.take()?, reasons });
    places.into_iter().filter_map(ranked).collect()
}

/// The signals of each candidate. They do not depend on the weights.
pub fn signals(asked: &Asked, words: &Words, candidates: &[Candidate]) -> Vec<Signals> {
    let semantic = Normal::of(candidates.iter().filter_map(|one| one.semantic));
    let lexical = Normal::of(candidates.iter().map(|one| one.lexical));
    let weight: f32 = words.idf.values().sum();
    let weight = weight.max(f32::MIN_POSITIVE);
    let folders: HashSet<&str> = candidates.iter().flat_map(|one| folders_of(&one.hit.path)).collect();
    // A file has several candidates; its path is looked at once.
    let mut of_path: HashMap<&str, (f32, f32)> = HashMap::new();
    for one in candidates {
        let path = one.hit.path.as_str();
        of_path.entry(path).or_insert_with(|| {
            (stem::stem(&asked.terms, &words.idf, path), folder::folder(&asked.terms, &words.idf, path))
        });
    }
    let path_of = |one: &Candidate| of_path.get(one.hit.path.as_str()).copied().unwrap_or_default();
    let of = |one: &Candidate| Signals {
        semantic: one.semantic.map_or(0.0, |score| semantic.normal(score)),
        lexical: lexical.normal(one.lexical),
        words: one.lexical / weight,
        definition: definition::definition(asked, &words.definers, &one.names),
        declared: declared::declared(&asked.terms, &words.idf, &one.names),
        stem: path_of(one).0,
        folder: path_of(one).1,
        kind: kind::kind(asked, &one.hit, &folders),
    };
    candidates.iter().map(of).collect()
}

/// The order by signals: places among the candidates, best first. `paths` are those of the candidates.
pub fn order(shape: Shape, paths: &[&str], signals: &[Signals], weights: &Weights) -> Vec<(usize, Reasons)> {
    let meaning = match shape {
        Shape::Question => weights.semantic,
        Shape::Symbol => weights.semantic_symbol,
    };
    // Words that no chunk holds together tell little, however well the best of them stands among the others.
    let best = signals.iter().fold(0f32, |best, one| best.max(one.words));
    let wording = (1.0 - meaning) * (best / weights.sure_words).min(1.0);
    let total = |one: &Signals| {
        let base = (1.0 - wording) * one.semantic + wording * one.lexical;
        let names = weights.definition * one.definition
            + weights.declared * one.declared
            + weights.stem * one.stem
            + weights.folder * one.folder;
        (base + names) * one.kind.keeps(weights)
    };
    let mut all: Vec<Reasons> =
        signals.iter().map(|one| Reasons { signals: *one, total: total(one), together: 0.0 }).collect();
    let sums = together::together(paths.iter().copied().zip(all.iter().map(|why| why.total)), weights);

    let mut places: Vec<usize> = (0..all.len()).collect();
    places.sort_by(|a, b| all[*b].total.total_cmp(&all[*a].total).then(a.cmp(b)));
    let mut seen = HashSet::new();
    let (mut first, mut rest): (Vec<usize>, Vec<usize>) =
        places.into_iter().partition(|at| seen.insert(paths[*at]));
    for at in &first {
        let sum = sums.get(paths[*at]).copied().unwrap_or_default();
        all[*at].together = sum;
        all[*at].total += weights.together * sum;
    }
    if !weights.one_a_file {
        first.append(&mut rest);
    }
    first.sort_by(|a, b| all[*b].total.total_cmp(&all[*a].total).then(a.cmp(b)));
    let most = weights.most();
    let share = |at: usize| (at, Reasons { total: all[at].total / most, ..all[at] });
    first.into_iter().chain(rest).map(share).collect()
}

fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// Scores brought to 0 to 1 by the least and the greatest of them.
struct Normal {
    low: f32,
    span: f32,
}

impl Normal {
    fn of(scores: impl Iterator<Item = f32>) -> Self {
        let (low, high) = scores
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), score| (low.min(score), high.max(score)));
        Self { low, span: if high > low { high - low } else { 1.0 } }
    }

    fn normal(&self, score: f32) -> f32 {
        ((score - self.low) / self.span).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests;
