//! Owns how text becomes terms: identifiers whole and in their parts, stemmed. The same for chunks and questions.
//! Must not know indexes, files or ranking.

use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};

/// Longest term kept, bytes: what is longer is data, not a word.
const MAX_TERM_BYTES: usize = 64;

/// Calls `sink` with each term of `text` and the byte range it stands for, in order.
///
/// A word is a run of letters, digits and `_`. One that has several parts (`parseHttpHeader`, `MAX_LEN`, `utf8`) gives
/// itself in lower case and each part; a part that is a word of a language is stemmed.
pub fn terms(text: &str, mut sink: impl FnMut(&str, Range<usize>)) {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut lower = String::new();
    for (at, word) in words(text) {
        let mut count = 0;
        for part in parts(word) {
            count += 1;
            let start = at + (part.as_ptr() as usize - word.as_ptr() as usize);
            if part.len() <= MAX_TERM_BYTES {
                fold(part, &mut lower);
                sink(&stemmer.stem(&lower), start..start + part.len());
            }
        }
        if count > 1 && word.len() <= MAX_TERM_BYTES {
            fold(word, &mut lower);
            sink(&lower, at..at + word.len());
        }
    }
}

/// Terms of `text` as a list.
pub fn term_list(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    terms(text, |term, _| all.push(term.to_owned()));
    all
}

/// Words of `text` with their offsets: runs of letters, digits and `_`.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.split(move |c: char| !inside(c))
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Parts of an identifier: cut at `_`, before a capital that starts a word, and between letters and digits.
pub fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split('_').flat_map(humps).filter(|part| !part.is_empty())
}

fn humps(word: &str) -> Vec<&str> {
    #[derive(Clone, Copy, PartialEq)]
    enum Kind {
        Upper,
        Lower,
        Digit,
    }
    let kind = |c: char| {
        if c.is_uppercase() {
            Kind::Upper
        } else if c.is_numeric() {
            Kind::Digit
        } else {
            Kind::Lower
        }
    };
    let mut found = Vec::new();
    let mut from = 0;
    let mut before: Option<(usize, Kind)> = None;
    for (at, c) in word.char_indices() {
        let now = kind(c);
        if let Some((last_at, last)) = before {
            match (last, now) {
                // `HTTPServer`: the last capital of a run begins the next word.
                (Kind::Upper, Kind::Lower) if last_at > from => {
                    found.push(&word[from..last_at]);
                    from = last_at;
                }
                (Kind::Upper, Kind::Lower) => {}
                (a, b) if a != b => {
                    found.push(&word[from..at]);
                    from = at;
                }
                _ => {}
            }
        }
        before = Some((at, now));
    }
    found.push(&word[from..]);
    found
}

fn fold(word: &str, into: &mut String) {
    into.clear();
    into.extend(word.chars().flat_map(char::to_lowercase));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn identifiers_give_parts_and_the_whole() {
        let parts = |word| parts(word).collect::<Vec<_>>();
        assert_eq!(parts("parseHTTPHeader2"), ["parse", "HTTP", "Header", "2"]);
        assert_eq!(parts("__init__"), ["init"]);
        assert_eq!(parts("MAX_LEN"), ["MAX", "LEN"]);
        assert_eq!(parts("utf8"), ["utf", "8"]);
        assert_eq!(parts("X"), ["X"]);
        assert_eq!(parts("ABc"), ["A", "Bc"]);
        assert_eq!(term_list("refreshTokens(now)"), ["refresh", "token", "refreshtokens", "now"]);
        assert_eq!(term_list("Größe_ändern"), ["größe", "ändern", "größe_ändern"]);
    }

    #[test]
    fn data_is_no_term() {
        assert_eq!(term_list(&format!("{} key", "a".repeat(65))), ["key"]);
    }

    proptest! {
        #[test]
        fn ranges_lie_in_the_text(text in "\\PC{0,60}") {
            let mut ranges = Vec::new();
            terms(&text, |term, range| ranges.push((term.to_owned(), range)));
            for (term, range) in ranges {
                prop_assert!(!term.is_empty());
                prop_assert!(text.get(range).is_some_and(|part| !part.is_empty()));
            }
        }

        #[test]
        fn parts_lose_no_letter(word in "[a-zA-Z0-9_Äö]{1,20}") {
            let joined: String = parts(&word).collect();
            prop_assert_eq!(joined, word.replace('_', ""));
        }
    }
}
