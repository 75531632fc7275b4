//! Answers a question over a group's memory: scan, expand vectors to their chunks, order. Pure.

use std::sync::Arc;
use std::time::Instant;

use roaring::RoaringBitmap;

use sextant_kernels::Kernels;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::GenerationId;
use sextant_proto::limits::MAX_RANGES_PER_VECTOR;
use sextant_proto::search::{Hit, validate_limit};
use sextant_proto::shard::ShardSearch;
use sextant_proto::slot::slot_of;
use sextant_proto::view::View;

use crate::apply::{CollectionMemory, GenerationMemory, Memory};
use crate::scan::{Control, Depth, ScanError, ScanQuery, Scored, top_k, top_k_selected};
use crate::store::keys::ViewKey;
use crate::store::rows::FileRow;

/// Candidates a hit where the request names no number.
pub const DEFAULT_OVERSAMPLE: u32 = 4;
/// Most candidates a hit.
const MAX_OVERSAMPLE: u32 = 64;
/// Where view and filter leave fewer than one vector in this many, those are scanned by themselves. The scans alone cost the
/// same near 5 %, between lines that were measured (`docs/scan.md`); looking up rows takes the rest.
const SELECT_SHARE: usize = 50;
/// Vectors from which a scan is pruned; fewer are read whole in a fraction of a millisecond.
const PRUNE_FROM: usize = 20_000;

/// What a scan found and cost.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Vectors compared.
    pub scanned: u64,
    /// Bytes of codes read.
    pub bytes: u64,
    /// Time of the scan, microseconds.
    pub scan_us: u64,
}

/// Hits of a request, best first, at most its limit.
///
/// `stop` says whether nobody waits for them any more; it is looked at every few megabytes of codes.
pub fn search(
    memory: &Memory,
    kernels: Kernels,
    request: &ShardSearch,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Found, WireError> {
    validate_limit(request.limit)?;
    request.filter.validate()?;
    if let Some(reason) = memory.poisoned() {
        return Err(WireError::new(ErrorCode::Internal, reason));
    }
    // A publish reaches every group of the collection, so a group that knows nothing of it has lost it.
    let unknown =
        || WireError::new(ErrorCode::NotFound, "nothing of the collection is here; publish it again");
    let collection = memory.collection(request.target.collection).ok_or_else(unknown)?;
    let files = readable(collection, request.view)?;
    let Some(generation) = collection.generations.get(&request.generation) else {
        return Ok(Found::default());
    };
    if generation.made_with.model != request.query.model || generation.made_with.code != request.query.code {
        let message = "the query's model or code is not that of the generation; embed it again";
        return Err(WireError::new(ErrorCode::BadRequest, message));
    }
    let narrowed = !request.filter.languages.is_empty()
        || !request.filter.path_prefix.is_empty()
        || !request.slots.is_empty();
    let files = if narrowed {
        let in_slots =
            |file: &FileRow| request.slots.is_empty() || request.slots.contains(&slot_of(&file.path));
        collection
            .select(&files, |file| request.filter.passes(&file.path, &file.language) && in_slots(file))
            .into()
    } else {
        files
    };

    let weights = request.query.weights().map_err(bad_query)?;
    let code = request.query.code_words().map_err(bad_query)?;
    let oversample =
        if request.oversample == 0 { DEFAULT_OVERSAMPLE } else { request.oversample.min(MAX_OVERSAMPLE) };
    let arena = generation.arena.snapshot();
    // Only rotated bits are exchangeable, which the bound of a pruned scan rests on.
    let prunable = generation.made_with.code.rotation_seed.is_some() && arena.len() >= PRUNE_FROM;
    let query = ScanQuery {
        code: &code,
        weights: &weights,
        k: request.limit as usize,
        oversample: oversample as usize,
        depth: if prunable { Depth::Pruned { z: Depth::DEFAULT_Z } } else { Depth::Exact },
    };
    let control = Control { threads: Control::threads_for(arena.segments().len()), stop };
    let started = Instant::now();
    let few = selected(collection, request.generation, &files, arena.len() / SELECT_SHARE);
    let scan = if let Some(vectors) = few {
        let mut rows: Vec<u32> =
            vectors.into_iter().filter_map(|vector| generation.arena.row(vector)).collect();
        rows.sort_unstable();
        rows.dedup();
        top_k_selected(kernels, &arena, &query, &rows, control)
    } else {
        let passes =
            |vector: u32| generation.postings(vector).iter().any(|posting| files.contains(posting.file));
        top_k(kernels, &arena, &query, &passes, control)
    };
    let scan = scan.map_err(scan_error)?;
    let scan_us = started.elapsed().as_micros() as u64;

    let mut hits = Vec::with_capacity(scan.hits.len());
    for scored in &scan.hits {
        expand(collection, generation, &files, *scored, &mut hits);
    }
    hits.sort_by(Hit::order);
    hits.truncate(request.limit as usize);
    Ok(Found { hits, scanned: scan.stats.rows, bytes: scan.stats.bytes, scan_us })
}

fn readable(collection: &CollectionMemory, view: View) -> Result<Arc<RoaringBitmap>, WireError> {
    let unknown = || WireError::new(ErrorCode::NotFound, "no such view here; publish it again");
    let known = collection.views.get(&ViewKey::of(view)).ok_or_else(unknown)?;
    match view {
        View::Revision(_) if known.sealed.is_some() => Ok(Arc::clone(&known.files)),
        View::Revision(_) => Err(WireError::new(ErrorCode::NotFound, "the revision is not sealed yet")),
        View::Workspace { sequence, .. } => known.at(sequence).ok_or_else(|| {
            if sequence > known.sequence {
                WireError::new(ErrorCode::Behind, format!("publish {sequence} has not arrived here yet"))
            } else {
                WireError::new(
                    ErrorCode::NotFound,
                    format!("publish {sequence} is no longer kept; ask for the last one"),
                )
            }
        }),
    }
}

/// The vectors of a generation that the file versions use, where they are fewer than `fewer`.
fn selected(
    collection: &CollectionMemory,
    generation: GenerationId,
    files: &RoaringBitmap,
    fewer: usize,
) -> Option<Vec<u32>> {
    let mut vectors = Vec::new();
    for file in files {
        let Some(file) = collection.file(file).filter(|file| file.generation == generation) else { continue };
        vectors.extend_from_slice(&file.vectors);
        if vectors.len() >= fewer {
            return None;
        }
    }
    (vectors.len() < fewer).then_some(vectors)
}

/// Adds every range of a vector that is in the view, up to a cap; the remainder is counted on the last one.
fn expand(
    collection: &CollectionMemory,
    generation: &GenerationMemory,
    files: &RoaringBitmap,
    scored: Scored,
    hits: &mut Vec<Hit>,
) {
    let mut uses: Vec<_> = generation
        .postings(scored.vector_id)
        .iter()
        .filter(|posting| files.contains(posting.file))
        .filter_map(|posting| Some((collection.file(posting.file)?, posting.ordinal as usize)))
        .collect();
    uses.sort_by(|(a, at), (b, bt)| a.path.cmp(&b.path).then(at.cmp(bt)));
    let more = uses.len().saturating_sub(MAX_RANGES_PER_VECTOR) as u32;
    let kept = uses.len().min(MAX_RANGES_PER_VECTOR);
    for (n, (file, ordinal)) in uses.into_iter().take(kept).enumerate() {
        let Some(text_hash) = file.text_hash(ordinal) else { continue };
        hits.push(Hit {
            score: scored.score,
            distance: scored.distance,
            path: file.path.to_string(),
            blob: file.blob,
            language: file.language.to_string(),
            start_byte: file.start_bytes[ordinal],
            end_byte: file.end_bytes[ordinal],
            start_line: file.start_lines[ordinal],
            end_line: file.end_lines[ordinal],
            item: file.items[ordinal],
            flags: file.flags[ordinal],
            text_hash,
            more: if n + 1 == kept { more } else { 0 },
        });
    }
}

fn scan_error(error: ScanError) -> WireError {
    match error {
        ScanError::Stopped => WireError::new(ErrorCode::DeadlineExceeded, error.to_string()),
        ScanError::Width { .. } | ScanError::Shape(_) => bad_query(error),
    }
}

fn bad_query(error: impl ToString) -> WireError {
    WireError::new(ErrorCode::BadRequest, error.to_string())
}
