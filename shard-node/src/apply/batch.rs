//! Applies the vectors and entries of one batch to a view: what publishes and stages have in common.

use std::collections::HashMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use sextant_consensus::{Changes, DataView, MachineError};
use sextant_proto::access::Role;
use sextant_proto::chunk::FileVersion;
use sextant_proto::code::Generation;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{ChunkKey, CollectionId, GenerationId};
use sextant_proto::publish::{Batch, Entry};

use super::machine::Refusal;
use super::memory::{CollectionMemory, Effect, broken};
use crate::store::keys::{self, ViewKey};
use crate::store::rows::{self, CollectionRow, FileRow, GenerationRow};

/// Where a batch goes.
pub(super) struct Place<'a> {
    pub view: &'a DataView,
    pub collection: CollectionId,
    pub memory: Option<&'a CollectionMemory>,
    pub key: ViewKey,
}

/// A batch whose every vector is known: nothing is written before that is certain.
pub(super) struct Prepared {
    generation: GenerationId,
    row: GenerationRow,
    new_vectors: Vec<(u32, ChunkKey, Vec<u8>)>,
    known: HashMap<ChunkKey, u32>,
    entries: Vec<Entry>,
}

/// Finds or numbers the vectors that the entries need; refuses the batch with the keys that are missing.
pub(super) fn prepare(place: &Place<'_>, made_with: Generation, batch: Batch) -> Result<Prepared, Refusal> {
    batch.validate(made_with.code.width)?;
    let known_generation = place.memory.and_then(|memory| memory.generations.get(&batch.generation));
    if known_generation.is_some_and(|known| known.made_with != made_with) {
        let message =
            format!("generation {} of the collection is made with another model or code", batch.generation);
        return Err(WireError::new(ErrorCode::BadRequest, message).into());
    }
    let mut row =
        GenerationRow { made_with, next_vector: known_generation.map_or(0, |known| known.next_vector) };

    let needed = batch.entries.iter().flat_map(|entry| match entry {
        Entry::Put(version) => version.chunks.keys.as_chunks::<32>().0,
        Entry::Mask(_) => &[],
    });
    let offered: Vec<(ChunkKey, &[u8])> = batch.vectors.iter(made_with.code.width).collect();
    let mut asked: Vec<ChunkKey> =
        offered.iter().map(|(key, _)| *key).chain(needed.map(|key| ChunkKey(*key))).collect();
    asked.sort_unstable();
    asked.dedup();
    let mut known = stored_vectors(place.view, place.collection, batch.generation, &asked)?;

    let mut new_vectors = Vec::new();
    for (key, code) in offered {
        if known.contains_key(&key) {
            continue;
        }
        let vector = row.next_vector;
        row.next_vector =
            vector.checked_add(1).ok_or_else(|| broken("a group has used all its vector numbers"))?;
        known.insert(key, vector);
        new_vectors.push((vector, key, code.to_vec()));
    }
    let missing: Vec<u8> =
        asked.iter().filter(|key| !known.contains_key(key)).flat_map(|key| key.0).collect();
    if !missing.is_empty() {
        let message =
            format!("{} vectors that the entries need are not here; send them too", missing.len() / 32);
        return Err(WireError { keys: missing, ..WireError::new(ErrorCode::MissingKeys, message) }.into());
    }
    Ok(Prepared { generation: batch.generation, row, new_vectors, known, entries: batch.entries })
}

/// Numbers of those of `chunk_keys` that have a row.
pub(super) fn stored_vectors(
    view: &DataView,
    collection: CollectionId,
    generation: GenerationId,
    chunk_keys: &[ChunkKey],
) -> Result<HashMap<ChunkKey, u32>, MachineError> {
    let row_keys: Vec<_> =
        chunk_keys.iter().map(|key| keys::chunk_key(collection, generation, key)).collect();
    let found = view.get_many(&row_keys)?;
    let mut known = HashMap::with_capacity(chunk_keys.len());
    for (key, row) in chunk_keys.iter().zip(found) {
        if let Some(row) = row {
            known.insert(*key, rows::number("chunk key", &row).map_err(broken)?);
        }
    }
    Ok(known)
}

impl Prepared {
    /// Writes the rows and returns the view's files with the memory's change.
    pub(super) fn write(
        self,
        place: &Place<'_>,
        publisher: Role,
        files: &RoaringBitmap,
        changes: &mut Changes<'_>,
    ) -> Result<(RoaringBitmap, Effect), MachineError> {
        let (collection, generation) = (place.collection, self.generation);
        let mut effect = Effect { collection, generation: Some((generation, self.row)), ..Effect::default() };
        changes.put(
            &keys::generation(collection, generation),
            &rows::encode("generation", &self.row).map_err(broken)?,
        );
        for (vector, key, code) in self.new_vectors {
            let mut row = vec![publisher as u8];
            row.extend_from_slice(&code);
            changes.put(&keys::code(collection, generation, vector), &row);
            changes.put(&keys::chunk_key(collection, generation, &key), &vector.to_be_bytes());
            effect.vectors.push((vector, code));
        }

        let mut files = files.clone();
        let mut next_file = place.memory.map_or(0, |memory| memory.next_file);
        let first_file = next_file;
        // The last entry of a path wins; earlier ones of the same batch leave no trace.
        let mut last: HashMap<&str, usize> = HashMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            last.insert(entry.path(), at);
        }
        let mut numbered: HashMap<[u8; 32], u32> = HashMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            if last.get(entry.path()) != Some(&at) {
                continue;
            }
            let path_key = keys::path(collection, place.key, entry.path());
            if let Some(old) = place.view.get(&path_key)? {
                files.remove(rows::number("path", &old).map_err(broken)?);
            }
            let Entry::Put(version) = entry else {
                changes.delete(&path_key);
                continue;
            };
            let identity = identity(generation, version)?;
            let stored = place.view.get(&keys::identity(collection, &identity))?;
            let number = if let Some(stored) = stored {
                rows::number("file version", &stored).map_err(broken)?
            } else if let Some(number) = numbered.get(&identity) {
                *number
            } else {
                let number = next_file;
                next_file =
                    number.checked_add(1).ok_or_else(|| broken("a group has used all its file numbers"))?;
                let vectors = version.chunks.keys.as_chunks::<32>().0.iter();
                let vectors = vectors.filter_map(|key| self.known.get(&ChunkKey(*key)).copied()).collect();
                let row = FileRow::new(version.clone(), generation, vectors);
                changes.put(
                    &keys::file(collection, number),
                    &rows::encode("file version", &row).map_err(broken)?,
                );
                changes.put(&keys::identity(collection, &identity), &number.to_be_bytes());
                effect.files.push((number, Arc::new(row)));
                numbered.insert(identity, number);
                number
            };
            files.insert(number);
            changes.put(&path_key, &number.to_be_bytes());
        }
        if next_file != first_file {
            let row = CollectionRow { next_file };
            changes.put(&keys::collection(collection), &rows::encode("collection", &row).map_err(broken)?);
            effect.next_file = Some(next_file);
        }
        Ok((files, effect))
    }
}

/// Hash over everything that a file version says: two that are equal in it are one.
fn identity(generation: GenerationId, version: &FileVersion) -> Result<[u8; 32], MachineError> {
    let bytes = sextant_proto::message::encode(version).map_err(broken)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&generation.0.to_le_bytes()).update(&bytes);
    Ok(*hasher.finalize().as_bytes())
}
