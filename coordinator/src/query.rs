//! Fans a question out to the groups of a collection and merges their hits. Memory is bounded by twice the limit.

use std::time::Instant as Clock;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;

use sextant_proto::coordinator::{Search, SearchReply};
use sextant_proto::coverage::{Coverage, Missing};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::search::{Hit, validate_limit};
use sextant_proto::shard::{ShardSearch, Target};
use sextant_proto::view::SessionToken;

use crate::members::Members;

/// Answers a question, or names why not.
pub async fn search(members: &Members, request: Search, deadline: Instant) -> Result<SearchReply, WireError> {
    validate_limit(request.limit)?;
    request.filter.validate()?;
    let unknown = || WireError::new(ErrorCode::NotFound, "the collection does not exist, or may not be seen");
    let info = members.meta().info(request.collection).ok_or_else(unknown)?;
    let matching = |query: &&sextant_proto::code::QueryVector| {
        query.model == info.made_with.model && query.code == info.made_with.code
    };
    let query = request.queries.iter().find(matching).ok_or_else(|| {
        let message =
            "no query vector of the collection's model and code; embed the question with that model";
        WireError::new(ErrorCode::BadRequest, message)
    })?;

    let started = Clock::now();
    let mut asked: FuturesUnordered<_> = info
        .slots
        .groups
        .iter()
        .map(|group| {
            let request = ShardSearch {
                target: Target { group: *group, collection: info.id, map_version: info.slots.version },
                view: request.view,
                generation: info.generation,
                query: query.clone(),
                limit: request.limit,
                oversample: request.oversample,
                filter: request.filter.clone(),
                slots: Vec::new(),
                session: request.session.clone(),
            };
            async move { (*group, members.read(*group, &request, deadline).await) }
        })
        .collect();

    let mut hits: Vec<Hit> = Vec::new();
    let mut session = SessionToken::default();
    let mut coverage = Coverage { asked: asked.len() as u32, ..Coverage::default() };
    let mut scan_us = 0;
    let mut failed = None;
    while let Some((group, reply)) = asked.next().await {
        match reply {
            Ok(reply) => {
                coverage.answered += 1;
                coverage.behind = coverage.behind.max(reply.behind);
                coverage.scanned += reply.scanned;
                session.raise(reply.mark);
                scan_us = scan_us.max(reply.scan_us);
                merge(&mut hits, reply.hits, request.limit as usize);
            }
            Err(error) => {
                coverage.missing.push(Missing { group, code: error.code });
                failed = Some(error);
            }
        }
    }
    if !coverage.missing.is_empty() {
        metrics::counter!("query_partial_total").increment(1);
    }
    coverage.missing.sort_by_key(|missing| missing.group);
    metrics::histogram!("query_stage_seconds", "stage" => "fan_out").record(started.elapsed().as_secs_f64());
    match failed {
        Some(error) if !request.allow_partial || coverage.answered == 0 => Err(error),
        _ => Ok(SearchReply { hits, coverage, session, scan_us }),
    }
}

/// Keeps the best `limit` of both.
pub fn merge(best: &mut Vec<Hit>, more: Vec<Hit>, limit: usize) {
    best.extend(more);
    best.sort_by(Hit::order);
    best.truncate(limit);
}
