//! Owns what a question is made of: its terms, the identifiers in it, its shape, what it asks for by name.
//! Pure; must not know candidates or indexes.

use std::collections::HashSet;

use crate::lexical::terms::{term_list, terms, words};

/// Words of a question that say nothing about code.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "an", "and", "any", "are", "as", "at", "be", "been", "before", "being",
    "by", "can", "code", "could", "did", "do", "does", "done", "each", "for", "from", "get", "gets", "given",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "made", "make", "makes",
    "may", "me", "of", "on", "one", "only", "or", "other", "our", "out", "own", "s", "should", "so", "some",
    "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to",
    "up", "us", "used", "uses", "using", "via", "was", "we", "were", "what", "when", "where", "which",
    "while", "who", "why", "will", "with", "would", "you", "your",
];

/// What a question looks like; decides how much its words count beside its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One identifier, path or quoted string: it is looked up.
    Symbol,
    /// Words.
    Question,
}

/// A question, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Its terms without stop words, each once, in order.
    pub terms: Vec<String>,
    /// Words that may be identifiers, as written, each once.
    pub identifiers: Vec<String>,
    /// Its shape.
    pub shape: Shape,
    /// Its words in lower case.
    pub words: HashSet<String>,
}

impl Asked {
    /// Takes a question apart.
    pub fn new(query: &str) -> Self {
        let lower: Vec<String> = words(query).map(|(_, word)| word.to_lowercase()).collect();
        let telling = |word: &str| !STOP_WORDS.contains(&word.to_lowercase().as_str());
        let mut all = Vec::new();
        for (_, word) in words(query).filter(|(_, word)| telling(word)) {
            terms(word, |term, _| all.push(term.to_owned()));
        }
        if all.is_empty() {
            all = term_list(query);
        }
        let mut seen = HashSet::new();
        all.retain(|term| seen.insert(term.clone()));
        let mut seen = HashSet::new();
        let identifiers = words(query)
            .map(|(_, word)| word)
            .filter(|word| word.len() > 1 && telling(word) && seen.insert(*word))
            .map(str::to_owned)
            .collect();
        Self { terms: all, identifiers, shape: shape(query), words: lower.into_iter().collect() }
    }

    /// Whether any word of the question begins so.
    pub fn mentions(&self, beginnings: &[&str]) -> bool {
        self.words.iter().any(|word| beginnings.iter().any(|start| word.starts_with(start)))
    }
}

/// One word without white space is looked up; so is what is quoted as a whole.
fn shape(query: &str) -> Shape {
    let query = query.trim();
    let quoted = |mark: char| query.len() > 2 && query.starts_with(mark) && query.ends_with(mark);
    let single = !query.contains(char::is_whitespace);
    if single || quoted('"') || quoted('\'') || quoted('`') { Shape::Symbol } else { Shape::Question }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_symbols_are_told_apart() {
        for symbol in ["Router", "src/net/dial.rs", "std::fs::read", "\"connection refused\"", "parse_header"]
        {
            assert_eq!(Asked::new(symbol).shape, Shape::Symbol, "{symbol}");
        }
        assert_eq!(Asked::new("where are tokens refreshed").shape, Shape::Question);
        assert_eq!(Asked::new("").shape, Shape::Symbol);
    }

    #[test]
    fn terms_leave_stop_words_out_unless_there_is_nothing_else() {
        assert_eq!(Asked::new("how does the Router match routes").terms, ["router", "match", "rout"]);
        assert_eq!(Asked::new("what is it").terms, ["what", "is", "it"]);
        assert_eq!(Asked::new("tokens token").terms, ["token"]);
    }

    #[test]
    fn beginnings_are_of_words() {
        let asked = Asked::new("where is it tested");
        assert!(asked.mentions(&["test"]));
        assert!(!Asked::new("the latest attestation").mentions(&["test"]));
    }
}
