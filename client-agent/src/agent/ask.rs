//! The way of a question: candidates by meaning and by words, their order, their text.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sextant_proto::coordinator::CollectionInfo;
use sextant_proto::coverage::Coverage;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{Sequence, WorkspaceId};

use super::{Agent, AgentError, SearchOptions};
use crate::lexical::{Lexical, LexicalError};
use crate::manifest::TreeRow;
use crate::rank::asked::Asked;
use crate::rank::weights::Weights;
use crate::rank::{Candidate, Words, rank};
use crate::report::{Answer, Receipt, Silent, Timing};
use crate::search::{self, Question};
use crate::tree::Place;

/// Tries of a question while an index moves its view on: each publish makes the one before unreadable.
const MOVING_TRIES: u32 = 20;

/// Candidates of an answer with what orders them.
#[derive(Debug)]
pub struct Gathered {
    /// The question.
    pub asked: Asked,
    /// What the index knows of its words.
    pub words: Words,
    /// The candidates.
    pub candidates: Vec<Candidate>,
    /// What the cluster's part comes from.
    pub coverage: Coverage,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Where the time went.
    pub timing: Timing,
}

impl Agent {
    /// Asks, and asks again where the view moved on meanwhile: an index that runs beside makes each publish's view
    /// unreadable soon after the next one.
    pub(super) async fn ask(
        &self,
        query: &str,
        place: &Place,
        options: &SearchOptions,
    ) -> Result<Answer, AgentError> {
        for _ in 1..MOVING_TRIES {
            let before = self.view(place)?;
            match self.ask_once(query, place, options).await {
                Err(AgentError::Cluster(_)) if self.view(place)? != before => {}
                answer => return answer,
            }
        }
        // Publishes follow each other faster than one question takes: wait for the index to end.
        let _turn = self.turns.take(&place.root, &Silent).await;
        self.ask_once(query, place, options).await
    }

    fn view(&self, place: &Place) -> Result<Option<(WorkspaceId, Sequence)>, AgentError> {
        Ok(self.manifest.tree(&place.root)?.map(|tree| (tree.workspace, tree.sequence)))
    }

    async fn ask_once(
        &self,
        query: &str,
        place: &Place,
        options: &SearchOptions,
    ) -> Result<Answer, AgentError> {
        let collection = self.collection(place, false).await?;
        let tree = self.tree(place)?;
        let question = self.question(query, place, options, &tree, &collection);
        let mut gathered = self.gather(&question, place).await?;
        let ordered = Instant::now();
        let mut hits = rank(&gathered.asked, &gathered.words, gathered.candidates, &Weights::default());
        hits.truncate(options.limit as usize);
        gathered.timing.rank += ordered.elapsed().as_secs_f64();
        let located = Instant::now();
        let (hits, bad_coordinates) = search::locate_all(&place.root, &self.keyring, &question, hits)?;
        gathered.timing.snippets = located.elapsed().as_secs_f64();
        if bad_coordinates > 0 {
            gathered.warnings.push(format!(
                "{bad_coordinates} hits were dropped: their coordinates lead nowhere in the checkout"
            ));
        }
        Ok(Answer {
            root: place.root.clone(),
            hits,
            coverage: Receipt::from(&gathered.coverage),
            warnings: gathered.warnings,
            bad_coordinates,
            timing: gathered.timing,
        })
    }

    /// Everything that the order of an answer is made from, for measurements of the order alone.
    pub async fn candidates(
        &self,
        query: &str,
        path: &Path,
        options: &SearchOptions,
    ) -> Result<Gathered, AgentError> {
        let place = self.place(path)?;
        let collection = self.collection(&place, false).await?;
        let tree = self.tree(&place)?;
        self.gather(&self.question(query, &place, options, &tree, &collection), &place).await
    }

    async fn gather(&self, question: &Question<'_>, place: &Place) -> Result<Gathered, AgentError> {
        let (reply, scores, mut timing) = search::ask(&self.cluster, &self.model, question).await?;
        let mut warnings = Vec::new();
        if !reply.coverage.is_complete() {
            let missing: Vec<_> = reply.coverage.missing.iter().map(|part| part.group.to_string()).collect();
            warnings.push(format!("the answer is partial: no reply from group {}", missing.join(", ")));
        }
        let started = Instant::now();
        let asked = Asked::new(question.query);
        let named: Vec<_> = reply.hits.into_iter().zip(scores).collect();
        let joined = match self.lexical(place) {
            Ok(lexical) => search::candidates_of(&lexical, &asked, question, &named),
            Err(error) => Err(error),
        };
        let (words, candidates) = joined.unwrap_or_else(|error| {
            warnings.push(format!("this answer is by meaning alone: {error}"));
            (Words::default(), search::semantic_alone(named))
        });
        timing.rank = started.elapsed().as_secs_f64();
        Ok(Gathered { asked, words, candidates, coverage: reply.coverage, warnings, timing })
    }

    fn question<'a>(
        &'a self,
        query: &'a str,
        place: &'a Place,
        options: &'a SearchOptions,
        tree: &'a TreeRow,
        collection: &'a CollectionInfo,
    ) -> Question<'a> {
        let max_file_bytes = self.config.max_file_bytes;
        Question { query, prefix: &place.prefix, options, tree, collection, max_file_bytes }
    }

    fn tree(&self, place: &Place) -> Result<TreeRow, AgentError> {
        let no_tree = || WireError::new(ErrorCode::NotFound, "the tree is not indexed");
        Ok(self.manifest.tree(&place.root)?.ok_or_else(no_tree)?)
    }

    pub(super) fn lexical(&self, place: &Place) -> Result<Arc<Lexical>, LexicalError> {
        self.shelf.of(&place.root, &self.local_name(&place.root))
    }
}
