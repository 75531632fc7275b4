//! Asks a question of a tree: embed it, ask the cluster, turn coordinates into verified snippets.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use sextant_proto::coordinator::{CollectionInfo, Search, SearchReply};
use sextant_proto::embed::ModelCard;
use sextant_proto::error::WireError;
use sextant_proto::ids::TextHash;
use sextant_proto::limits::MAX_LIMIT;
use sextant_proto::search::{Filter, Hit};
use sextant_proto::view::View;

use crate::cluster::Cluster;
use crate::key::Keyring;
use crate::lexical::{Lexical, LexicalError, Row, Sought};
use crate::manifest::TreeRow;
use crate::rank::asked::Asked;
use crate::rank::{CANDIDATES_A_HIT, Candidate, LEAST_CANDIDATES, Ranked, Words};
use crate::report::{Found, Timing};
use crate::snippet::{Coordinates, LocateOptions, SnippetState, locate};
use crate::walk::Root;

/// What a user asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchOptions {
    /// Hits wanted.
    pub limit: u32,
    /// Languages; empty: all.
    pub languages: Vec<String>,
    /// Whether snippets are wanted.
    pub snippets: bool,
    /// Whether to look for changes first.
    pub refresh: bool,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self { limit: 10, languages: Vec::new(), snippets: true, refresh: true }
    }
}

/// A question with all that its answer depends on.
pub struct Question<'a> {
    /// The words.
    pub query: &'a str,
    /// Where in the tree to look; empty: everywhere.
    pub prefix: &'a str,
    /// What is wanted.
    pub options: &'a SearchOptions,
    /// The tree.
    pub tree: &'a TreeRow,
    /// Its collection.
    pub collection: &'a CollectionInfo,
    /// Largest file that was indexed, bytes; nothing beyond it is read for a snippet.
    pub max_file_bytes: u64,
}

/// How many candidates the last order chooses from.
fn candidates(limit: u32) -> u32 {
    limit.saturating_mul(CANDIDATES_A_HIT).clamp(LEAST_CANDIDATES, MAX_LIMIT)
}

/// Embeds the question and asks the cluster. Returns the reply with a score for each hit, and where the time went.
pub async fn ask(
    cluster: &Cluster,
    model: &ModelCard,
    question: &Question<'_>,
) -> Result<(SearchReply, Vec<f32>, Timing), WireError> {
    let started = Instant::now();
    let query = cluster.embed_query(model, question.collection.made_with.code, question.query).await?;
    let embed = started.elapsed().as_secs_f64();
    let request = Search {
        collection: question.collection.id,
        view: View::Workspace { id: question.tree.workspace, sequence: question.tree.sequence },
        queries: vec![query.clone()],
        limit: candidates(question.options.limit),
        oversample: 0,
        filter: Filter {
            languages: question.options.languages.clone(),
            path_prefix: question.prefix.to_owned(),
        },
        session: question.tree.session.clone(),
        allow_partial: true,
    };
    let asked = Instant::now();
    let reply = cluster.ask(&request).await?;
    let cluster_time = asked.elapsed().as_secs_f64();
    metrics::histogram!("query_stage_seconds", "stage" => "embed").record(embed);
    metrics::histogram!("query_stage_seconds", "stage" => "cluster").record(cluster_time);
    let scores = reply.hits.iter().map(|hit| query.cosine_estimate(hit.score)).collect();
    Ok((reply, scores, Timing { embed, cluster: cluster_time, ..Timing::default() }))
}

/// Joins what the cluster named with what the lexical index finds: candidates in the cluster's order, then by path.
pub fn candidates_of(
    lexical: &Lexical,
    asked: &Asked,
    question: &Question<'_>,
    named: &[(Hit, f32)],
) -> Result<(Words, Vec<Candidate>), LexicalError> {
    let gathered = {
        let places = named.iter().map(|(hit, _)| (hit.path.as_str(), hit.start_byte, hit.end_byte)).collect();
        lexical.gather(&Sought {
            terms: asked.terms.iter().map(|term| (term.clone(), 1.0)).collect(),
            identifiers: asked.identifiers.clone(),
            places,
            prefix: question.prefix,
            languages: &question.options.languages,
            limit: candidates(question.options.limit) as usize,
        })?
    };
    let key = |path: &str, start: u32, end: u32| (path.to_owned(), start, end);
    let mut rows: HashMap<_, (Row, f32)> = HashMap::with_capacity(gathered.rows.len());
    let mut order = Vec::with_capacity(gathered.rows.len());
    for (row, score) in gathered.rows {
        let at = key(&row.path, row.start_byte, row.end_byte);
        order.push(at.clone());
        rows.insert(at, (row, score));
    }
    let mut all = semantic_alone(named.to_vec());
    for one in &mut all {
        if let Some((row, score)) = rows.remove(&key(&one.hit.path, one.hit.start_byte, one.hit.end_byte)) {
            one.names = row.defines;
            one.lexical = score;
        }
    }
    order.sort_unstable();
    for at in order {
        if let Some((row, score)) = rows.remove(&at) {
            all.push(Candidate { hit: row.hit(), semantic: None, lexical: score, names: row.defines });
        }
    }
    Ok((Words { idf: gathered.idf, definers: gathered.definers }, all))
}

/// What the cluster named, without a lexical index.
pub fn semantic_alone(named: Vec<(Hit, f32)>) -> Vec<Candidate> {
    let candidate = |(hit, score)| Candidate { hit, semantic: Some(score), lexical: 0.0, names: Vec::new() };
    named.into_iter().map(candidate).collect()
}

/// Hits with their text, and how many named nothing inside of the tree.
pub fn locate_all(
    root: &Path,
    keyring: &Keyring,
    question: &Question<'_>,
    hits: Vec<Ranked>,
) -> Result<(Vec<Found>, u64), crate::walk::WalkError> {
    let root = Root::open(root)?;
    let hash = |bytes: &[u8]| keyring.text(bytes).0;
    let revision = question.tree.revision.map(|revision| revision.to_string()).unwrap_or_default();
    let options = LocateOptions { file_cap_bytes: question.max_file_bytes, ..LocateOptions::default() };
    let mut bad = 0;
    let mut all = Vec::with_capacity(hits.len());
    for Ranked { candidate, reasons } in hits {
        let hit = candidate.hit;
        let TextHash(text_hash) = hit.text_hash;
        let at = Coordinates {
            path: &hit.path,
            start_byte: hit.start_byte.into(),
            end_byte: hit.end_byte.into(),
            start_line: hit.start_line,
            end_line: hit.end_line,
            text_hash,
        };
        let Ok(located) = locate(&root, &at, &options, &hash) else {
            bad += 1;
            continue;
        };
        let has_text = question.options.snippets && located.state != SnippetState::Missing;
        let item = hit.item_type().name().into();
        all.push(Found {
            path: hit.path,
            start_line: located.start_line,
            end_line: located.end_line,
            start_byte: located.start_byte,
            end_byte: located.end_byte,
            score: reasons.total,
            reasons,
            item,
            lang: hit.language,
            collection: question.collection.name.clone(),
            revision: revision.clone(),
            state: located.state,
            snippet: has_text.then_some(located.text),
        });
    }
    Ok((all, bad))
}
