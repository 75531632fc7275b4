//! Asks the lexical index: the best chunks by their words, those that define an identifier, and the rows of chunks that
//! the cluster named. Must not know ranking.

use std::collections::{BTreeMap, HashMap, HashSet};

use tantivy::collector::{DocSetCollector, TopDocs};
use tantivy::query::{BooleanQuery, BoostQuery, ConstScoreQuery, EnableScoring, Occur, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{DocAddress, DocSet, Score, Searcher, TERMINATED, TantivyDocument, Term};

use super::LexicalError;
use super::row::Row;
use super::store::Lexical;
use super::update::place;

/// Most chunks taken for an identifier that many define.
const MAX_DEFINERS: usize = 50;

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct Sought<'a> {
    /// Terms of the question, each with its weight.
    pub terms: Vec<(String, f32)>,
    /// Identifiers whose definitions are wanted.
    pub identifiers: Vec<String>,
    /// Coordinates of chunks that are candidates already: path, first byte, byte behind the last.
    pub places: Vec<(&'a str, u32, u32)>,
    /// Only files below this path; empty: all.
    pub prefix: &'a str,
    /// Only these languages; empty: all.
    pub languages: &'a [String],
    /// Chunks wanted by words.
    pub limit: usize,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    /// Chunks with their BM25 score: those found by words, definers, and the places asked for.
    pub rows: Vec<(Row, f32)>,
    /// Inverse document frequency of each term, natural logarithm.
    pub idf: HashMap<String, f32>,
    /// How many chunks define each identifier, by its lower case.
    pub definers: HashMap<String, u64>,
}

impl Lexical {
    /// Gathers candidates and what ranking needs to know of them.
    pub fn gather(&self, sought: &Sought<'_>) -> Result<Gathered, LexicalError> {
        let searcher = self.reader.searcher();
        let fields = self.fields;
        let mut gathered = Gathered::default();
        let documents = searcher.num_docs() as f32;
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for (term, weight) in &sought.terms {
            let key = Term::from_field_text(fields.text, term);
            let holding = searcher.doc_freq(&key)? as f32;
            gathered.idf.insert(term.clone(), (1.0 + (documents - holding + 0.5) / (holding + 0.5)).ln());
            let by_term = TermQuery::new(key, IndexRecordOption::WithFreqs);
            clauses.push((Occur::Should, Box::new(BoostQuery::new(Box::new(by_term), *weight))));
        }
        let words = BooleanQuery::new(clauses);
        let filters = self.filters(sought);
        let filtered = |query: Box<dyn Query>| -> Box<dyn Query> {
            if filters.is_empty() {
                return query;
            }
            let mut clauses: Vec<(Occur, Box<dyn Query>)> =
                filters.iter().map(|filter| (Occur::Must, filter.box_clone())).collect();
            clauses.push((Occur::Must, query));
            Box::new(BooleanQuery::new(clauses))
        };

        let mut found: BTreeMap<DocAddress, Option<Score>> = BTreeMap::new();
        if sought.limit > 0 && !sought.terms.is_empty() {
            let top = TopDocs::with_limit(sought.limit).order_by_score();
            for (score, at) in searcher.search(&*filtered(Box::new(words.clone())), &top)? {
                found.insert(at, Some(score));
            }
        }
        for identifier in &sought.identifiers {
            let lower = identifier.to_lowercase();
            let key = Term::from_field_text(fields.defines, &lower);
            let by_name = TermQuery::new(key.clone(), IndexRecordOption::Basic);
            gathered.definers.insert(lower, searcher.doc_freq(&key)?);
            let mut definers: Vec<DocAddress> =
                searcher.search(&*filtered(Box::new(by_name)), &DocSetCollector)?.into_iter().collect();
            definers.sort_unstable();
            for at in definers.into_iter().take(MAX_DEFINERS) {
                found.entry(at).or_default();
            }
        }
        for (path, start, end) in &sought.places {
            if let Some(at) = self.at(&searcher, path, *start, *end)? {
                found.entry(at).or_default();
            }
        }
        score(&searcher, &words, &mut found)?;
        for (at, score) in found {
            let document: TantivyDocument = searcher.doc(at)?;
            let bytes = document.get_first(fields.row).and_then(|value| value.as_bytes().map(<[u8]>::to_vec));
            // A row that does not decode is one that is not there.
            if let Some(row) = bytes.and_then(|bytes| rmp_serde::from_slice::<Row>(&bytes).ok()) {
                gathered.rows.push((row, score.unwrap_or_default()));
            }
        }
        Ok(gathered)
    }

    fn filters(&self, sought: &Sought<'_>) -> Vec<Box<dyn Query>> {
        let quiet = |query: Box<dyn Query>| -> Box<dyn Query> { Box::new(ConstScoreQuery::new(query, 0.0)) };
        let term = |field, text: &str| -> Box<dyn Query> {
            Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::Basic))
        };
        let mut filters = Vec::new();
        if !sought.prefix.is_empty() {
            filters.push(quiet(term(self.fields.within, sought.prefix)));
        }
        if !sought.languages.is_empty() {
            let names: HashSet<&str> = sought.languages.iter().map(String::as_str).collect();
            let any = names.into_iter().map(|name| term(self.fields.language, name)).collect();
            filters.push(quiet(Box::new(BooleanQuery::union(any))));
        }
        filters
    }

    fn at(
        &self,
        searcher: &Searcher,
        path: &str,
        start: u32,
        end: u32,
    ) -> Result<Option<DocAddress>, LexicalError> {
        let key = Term::from_field_text(self.fields.place, &place(path, start, end));
        for (segment, reader) in (0u32..).zip(searcher.segment_readers()) {
            let inverted = reader.inverted_index(self.fields.place)?;
            let Some(mut postings) = inverted
                .read_postings(&key, IndexRecordOption::Basic)
                .map_err(tantivy::TantivyError::from)?
            else {
                continue;
            };
            let alive = reader.alive_bitset();
            while postings.doc() != TERMINATED {
                if alive.is_none_or(|alive| alive.is_alive(postings.doc())) {
                    return Ok(Some(DocAddress::new(segment, postings.doc())));
                }
                postings.advance();
            }
        }
        Ok(None)
    }
}

/// Scores what has none yet.
fn score(
    searcher: &Searcher,
    words: &BooleanQuery,
    found: &mut BTreeMap<DocAddress, Option<Score>>,
) -> Result<(), LexicalError> {
    let weight = words.weight(EnableScoring::enabled_from_searcher(searcher))?;
    for (segment, reader) in (0u32..).zip(searcher.segment_readers()) {
        let mut scorer = weight.scorer(reader, 1.0)?;
        for (at, score) in found.iter_mut().filter(|(at, score)| at.segment_ord == segment && score.is_none())
        {
            if scorer.doc() < at.doc_id {
                scorer.seek(at.doc_id);
            }
            if scorer.doc() == at.doc_id {
                *score = Some(scorer.score());
            }
        }
    }
    Ok(())
}
