//! Local signals: what a chunk's names, path and neighbours say beside its score. One file a signal; each is a pure
//! function of the question and the candidate. None knows a repository or a query.

pub(super) mod declared;
pub(super) mod definition;
pub(super) mod folder;
pub(super) mod kind;
pub(super) mod stem;
pub(super) mod together;

use std::collections::{HashMap, HashSet};

use crate::lexical::terms::term_list;

/// Weight of a term that the index has never seen.
const UNKNOWN_IDF: f32 = 1.0;
/// Shortest beginning of a word that counts as that word, letters, and what it counts.
const PREFIX_LETTERS: usize = 3;
const PREFIX_CREDIT: f32 = 0.8;

/// How much of the question's weight (inverse document frequency) the words of `name` cover, 0 to 1.
fn coverage(terms: &[String], idf: &HashMap<String, f32>, name: &str) -> f32 {
    let words: HashSet<String> = term_list(name).into_iter().collect();
    let weight = |term: &String| idf.get(term).copied().unwrap_or(UNKNOWN_IDF);
    let all: f32 = terms.iter().map(weight).sum();
    if all <= 0.0 {
        return 0.0;
    }
    terms.iter().map(|term| weight(term) * credit(term, &words)).sum::<f32>() / all
}

fn credit(term: &str, words: &HashSet<String>) -> f32 {
    if words.contains(term) {
        return 1.0;
    }
    let begins = |long: &str, short: &str| short.chars().count() >= PREFIX_LETTERS && long.starts_with(short);
    if words.iter().any(|word| begins(term, word) || begins(word, term)) { PREFIX_CREDIT } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_weighs_terms_and_takes_beginnings() {
        let idf = HashMap::from([("router".to_owned(), 3.0), ("match".to_owned(), 1.0)]);
        let terms = ["router".to_owned(), "match".to_owned()];
        assert!((coverage(&terms, &idf, "router") - 0.75).abs() < 1e-6);
        assert!((coverage(&terms, &idf, "matcher") - 0.2).abs() < 1e-6);
        assert!((coverage(&terms, &idf, "RouterMatch") - 1.0).abs() < 1e-6);
        assert!(coverage(&terms, &idf, "ma").abs() < 1e-6);
        assert!(coverage(&[], &idf, "router").abs() < 1e-6);
    }
}
