//! A group in memory: resident codes, chunk coordinates and views. A cache of the rows, filled from them at start.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use roaring::RoaringBitmap;

use sextant_consensus::{DataView, MachineError};
use sextant_proto::code::{Generation, bytes_to_words};
use sextant_proto::ids::{CollectionId, GenerationId, Sequence};

use crate::arena::Arena;
use crate::store::keys::{self, ViewKey};
use crate::store::rows::{self, CollectionRow, FileRow, GenerationRow, ViewRow};

/// One use of a vector: chunk `ordinal` of a file version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// Number of the file version.
    pub file: u32,
    /// Position in its chunk list.
    pub ordinal: u32,
}

/// Vectors of one generation.
#[derive(Debug)]
pub struct GenerationMemory {
    /// Model and code.
    pub made_with: Generation,
    /// Resident codes.
    pub arena: Arena,
    /// Number of the next vector.
    pub next_vector: u32,
    /// Uses, by vector; most vectors have one.
    postings: Vec<Vec<Posting>>,
}

impl GenerationMemory {
    pub(crate) fn new(made_with: Generation) -> Result<Self, MachineError> {
        let arena = Arena::new(made_with.code.width.words()).map_err(broken)?;
        Ok(Self { made_with, arena, next_vector: 0, postings: Vec::new() })
    }

    /// Uses of a vector, in the order in which they came.
    pub fn postings(&self, vector: u32) -> &[Posting] {
        self.postings.get(vector as usize).map_or(&[], Vec::as_slice)
    }

    fn post(&mut self, file: u32, vectors: &[u32]) {
        for (ordinal, vector) in vectors.iter().enumerate() {
            let at = *vector as usize;
            if self.postings.len() <= at {
                self.postings.resize_with(at + 1, Vec::new);
            }
            let uses = &mut self.postings[at];
            uses.reserve_exact(1);
            uses.push(Posting { file, ordinal: ordinal as u32 });
        }
    }
}

/// A view's file versions, now and before its last change.
pub type ViewMemory = ViewRow;

/// What a group holds of one collection.
#[derive(Debug, Default)]
pub struct CollectionMemory {
    /// Generations.
    pub generations: HashMap<GenerationId, GenerationMemory>,
    /// Views.
    pub views: HashMap<ViewKey, ViewMemory>,
    /// Number of the next file version.
    pub next_file: u32,
    files: HashMap<u32, Arc<FileRow>>,
}

impl CollectionMemory {
    /// A file version.
    pub fn file(&self, number: u32) -> Option<&Arc<FileRow>> {
        self.files.get(&number)
    }

    /// File versions held.
    pub fn file_count(&self) -> u64 {
        self.files.len() as u64
    }

    /// Of `files` those that `passes`.
    pub fn select(&self, files: &RoaringBitmap, passes: impl Fn(&FileRow) -> bool) -> RoaringBitmap {
        files.iter().filter(|number| self.file(*number).is_some_and(|file| passes(file))).collect()
    }

    fn add_file(&mut self, number: u32, file: Arc<FileRow>) {
        if let Some(generation) = self.generations.get_mut(&file.generation) {
            generation.post(number, &file.vectors);
        }
        self.files.insert(number, file);
    }
}

/// What a group holds.
#[derive(Debug, Default)]
pub struct Memory {
    collections: HashMap<CollectionId, CollectionMemory>,
    poisoned: Option<String>,
}

/// The change of memory that belongs to one command.
#[derive(Debug, Default)]
pub struct Effect {
    pub(crate) collection: CollectionId,
    pub(crate) generation: Option<(GenerationId, GenerationRow)>,
    pub(crate) vectors: Vec<(u32, Vec<u8>)>,
    pub(crate) files: Vec<(u32, Arc<FileRow>)>,
    pub(crate) next_file: Option<u32>,
    pub(crate) view: Option<(ViewKey, Option<ViewMemory>)>,
}

impl Memory {
    /// Why nothing may be read from it, if so.
    pub fn poisoned(&self) -> Option<&str> {
        self.poisoned.as_deref()
    }

    pub(crate) fn poison(&mut self, reason: String) {
        self.poisoned.get_or_insert(reason);
    }

    /// A collection, where the group holds something of it.
    pub fn collection(&self, id: CollectionId) -> Option<&CollectionMemory> {
        self.collections.get(&id)
    }

    /// Every collection.
    pub fn collections(&self) -> impl Iterator<Item = (CollectionId, &CollectionMemory)> {
        self.collections.iter().map(|(id, collection)| (*id, collection))
    }

    /// Follows a command whose rows are in the store.
    pub(crate) fn follow(&mut self, effect: Effect) -> Result<(), MachineError> {
        let collection = self.collections.entry(effect.collection).or_default();
        if let Some((id, row)) = effect.generation {
            let generation = match collection.generations.entry(id) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(new) => {
                    new.insert(GenerationMemory::new(row.made_with)?)
                }
            };
            generation.next_vector = row.next_vector;
            for (vector, code) in &effect.vectors {
                generation.arena.push_bytes(*vector, code).map_err(broken)?;
            }
        }
        for (number, file) in effect.files {
            collection.add_file(number, file);
        }
        if let Some(next) = effect.next_file {
            collection.next_file = next;
        }
        match effect.view {
            Some((key, Some(view))) => {
                collection.views.insert(key, view);
            }
            Some((key, None)) => {
                collection.views.remove(&key);
            }
            None => {}
        }
        Ok(())
    }

    /// Reads everything from the rows: collections, generations, codes, file versions, views.
    pub(crate) fn load(view: &DataView) -> Result<Self, MachineError> {
        let mut memory = Self::default();
        each(view, keys::COLLECTIONS, |key, value| {
            let row: CollectionRow = rows::decode("collection", value).map_err(broken)?;
            memory.part(key)?.next_file = row.next_file;
            Ok(())
        })?;
        each(view, keys::GENERATIONS, |key, value| {
            let row: GenerationRow = rows::decode("generation", value).map_err(broken)?;
            let mut generation = GenerationMemory::new(row.made_with)?;
            generation.next_vector = row.next_vector;
            memory.part(key)?.generations.insert(generation_of(key)?, generation);
            Ok(())
        })?;
        each(view, keys::CODES, |key, value| {
            let generation_id = generation_of(key)?;
            let generation =
                memory.part(key)?.generations.get_mut(&generation_id).ok_or_else(|| {
                    broken(format!("a code of generation {generation_id}, which has no row"))
                })?;
            let code = value.get(1..).unwrap_or_default();
            bytes_to_words(code, generation.made_with.code.width).map_err(broken)?;
            generation.arena.push_bytes(number_of(key)?, code).map_err(broken)
        })?;
        each(view, keys::FILES, |key, value| {
            let file: FileRow = rows::decode("file version", value).map_err(broken)?;
            if !file.is_whole() {
                return Err(broken("a file version's columns differ in length"));
            }
            memory.part(key)?.add_file(number_of(key)?, Arc::new(file));
            Ok(())
        })?;
        each(view, keys::VIEWS, |key, value| {
            let row = ViewRow::decode(value).map_err(broken)?;
            let view_key = keys::view_of(key).ok_or_else(|| broken("a view's key is too short"))?;
            memory.part(key)?.views.insert(view_key, row);
            Ok(())
        })?;
        Ok(memory)
    }

    fn part(&mut self, key: &[u8]) -> Result<&mut CollectionMemory, MachineError> {
        let id = keys::collection_of(key).ok_or_else(|| broken("a key is too short for its collection"))?;
        Ok(self.collections.entry(id).or_default())
    }
}

/// The session sequence of a view that can be read: current, previous, or neither.
impl ViewMemory {
    /// Files of the view at `sequence`; `None` where it is neither the last nor the one before.
    pub fn at(&self, sequence: Sequence) -> Option<Arc<RoaringBitmap>> {
        if self.sequence == sequence {
            return Some(Arc::clone(&self.files));
        }
        self.previous.as_ref().filter(|(known, _)| *known == sequence).map(|(_, files)| Arc::clone(files))
    }
}

pub(crate) fn broken(reason: impl ToString) -> MachineError {
    MachineError::Broken(reason.to_string())
}

fn generation_of(key: &[u8]) -> Result<GenerationId, MachineError> {
    keys::generation_of(key).ok_or_else(|| broken("a key is too short for its generation"))
}

fn number_of(key: &[u8]) -> Result<u32, MachineError> {
    keys::number_of(key).ok_or_else(|| broken("a key is too short for its number"))
}

fn each(
    view: &DataView,
    tag: u8,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), MachineError>,
) -> Result<(), MachineError> {
    let mut failed = None;
    view.scan_prefix(&[tag], |key, value| match visit(key, value) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    failed.map_or(Ok(()), Err)
}
