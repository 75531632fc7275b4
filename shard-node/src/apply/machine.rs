//! Decides each command over rows and memory.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use sextant_consensus::{ApplyContext, Changes, DataView, MachineError, Outcome, StateMachine};
use sextant_proto::access::Role;
use sextant_proto::code::Generation;
use sextant_proto::coordinator::SlotSeal;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{CollectionId, LogIndex, RevisionId, Sequence, SlotDigest};
use sextant_proto::publish::{Batch, Entry};
use sextant_proto::slot::{Slot, slot_of};
use sextant_proto::view::View;

use super::batch::{Place, prepare};
use super::command::{Answer, Command};
use super::memory::{Effect, Memory, ViewMemory, broken};
use crate::store::keys::{self, ViewKey};

/// A command that is not taken, or a store that cannot be read.
pub(super) enum Refusal {
    /// Told to the caller; nothing changes.
    Refused(WireError),
    /// Stops the group on this node.
    Broken(MachineError),
}

impl From<WireError> for Refusal {
    fn from(error: WireError) -> Self {
        Self::Refused(error)
    }
}

impl From<MachineError> for Refusal {
    fn from(error: MachineError) -> Self {
        Self::Broken(error)
    }
}

impl From<sextant_consensus::StoreError> for Refusal {
    fn from(error: sextant_consensus::StoreError) -> Self {
        Self::Broken(error.into())
    }
}

/// One group's state machine.
#[derive(Debug, Default)]
pub struct GroupMachine {
    memory: RwLock<Memory>,
}

impl GroupMachine {
    /// The memory, for reads. Held only as long as one scan.
    pub fn read(&self) -> RwLockReadGuard<'_, Memory> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(
        &self,
        view: &DataView,
        command: Command,
        changes: &mut Changes<'_>,
    ) -> Result<Effect, Refusal> {
        match command {
            Command::Publish { collection, made_with, publisher, workspace, sequence, batch } => {
                let step = View::Workspace { id: workspace, sequence };
                self.publish(&Write { view, collection, made_with, publisher }, step, batch, changes)
            }
            Command::Stage { collection, made_with, publisher, revision, batch } => {
                self.stage(&Write { view, collection, made_with, publisher }, revision, batch, changes)
            }
            Command::Seal { collection, revision, slots } => self.seal(collection, revision, slots, changes),
            Command::DropView { collection, view: dropped } => {
                let key = ViewKey::of(dropped);
                changes.delete(&keys::view(collection, key));
                changes.delete_prefix(&keys::paths(collection, key));
                Ok(Effect { collection, view: Some((key, None)), ..Effect::default() })
            }
        }
    }

    fn publish(
        &self,
        write: &Write<'_>,
        step: View,
        batch: Batch,
        changes: &mut Changes<'_>,
    ) -> Result<Effect, Refusal> {
        let View::Workspace { sequence, .. } = step else { return Ok(Effect::default()) };
        let memory = self.read();
        let memory = memory.collection(write.collection);
        let key = ViewKey::of(step);
        let known = memory.and_then(|memory| memory.views.get(&key));
        let last = known.map_or(Sequence(0), |view| view.sequence);
        if sequence == last && known.is_some() {
            return Ok(Effect { collection: write.collection, ..Effect::default() });
        }
        if sequence.0 != last.0 + 1 {
            let message = format!("publish {sequence} does not follow publish {last} of this workspace");
            return Err(WireError::new(ErrorCode::OutOfSequence, message).into());
        }
        let place = Place { view: write.view, collection: write.collection, memory, key };
        let before = known.map(|view| (view.sequence, Arc::clone(&view.files)));
        let files = before.as_ref().map(|(_, files)| Arc::clone(files)).unwrap_or_default();
        let prepared = prepare(&place, write.made_with, batch)?;
        let (files, mut effect) = prepared.write(&place, write.publisher, &files, changes)?;
        let row = ViewMemory { sequence, files: Arc::new(files), previous: before, sealed: None };
        changes.put(&keys::view(write.collection, key), &row.encode().map_err(broken)?);
        effect.view = Some((key, Some(row)));
        Ok(effect)
    }

    fn stage(
        &self,
        write: &Write<'_>,
        revision: RevisionId,
        batch: Batch,
        changes: &mut Changes<'_>,
    ) -> Result<Effect, Refusal> {
        let memory = self.read();
        let memory = memory.collection(write.collection);
        let key = ViewKey::of(View::Revision(revision));
        let known = memory.and_then(|memory| memory.views.get(&key));
        if known.is_some_and(|view| view.sealed.is_some()) {
            // Another publisher of the same state was first: there is nothing left to do.
            return Ok(Effect { collection: write.collection, ..Effect::default() });
        }
        if batch.entries.iter().any(|entry| matches!(entry, Entry::Mask(_))) {
            return Err(WireError::new(
                ErrorCode::BadRequest,
                "a revision is staged from files; it has no masks",
            )
            .into());
        }
        let place = Place { view: write.view, collection: write.collection, memory, key };
        let files = known.map(|view| Arc::clone(&view.files)).unwrap_or_default();
        let prepared = prepare(&place, write.made_with, batch)?;
        let (files, mut effect) = prepared.write(&place, write.publisher, &files, changes)?;
        let row = ViewMemory { files: Arc::new(files), ..ViewMemory::empty() };
        changes.put(&keys::view(write.collection, key), &row.encode().map_err(broken)?);
        effect.view = Some((key, Some(row)));
        Ok(effect)
    }

    fn seal(
        &self,
        collection: CollectionId,
        revision: RevisionId,
        mut slots: Vec<SlotSeal>,
        changes: &mut Changes<'_>,
    ) -> Result<Effect, Refusal> {
        let memory = self.read();
        let key = ViewKey::of(View::Revision(revision));
        let known = memory
            .collection(collection)
            .and_then(|memory| memory.views.get(&key).map(|view| (memory, view)));
        slots.retain(|slot| slot.files > 0);
        slots.sort_unstable_by_key(|slot| slot.slot);
        let mut hasher = blake3::Hasher::new();
        for seal in &slots {
            hasher
                .update(&seal.slot.0.to_le_bytes())
                .update(&seal.files.to_le_bytes())
                .update(&seal.digest.0);
        }
        let with = *hasher.finalize().as_bytes();

        let row = match known {
            Some((_, row)) if row.sealed == Some(with) => {
                return Ok(Effect { collection, ..Effect::default() });
            }
            Some((_, row)) if row.sealed.is_some() => {
                let message = "the revision is sealed with other contents; a revision never changes";
                return Err(WireError::new(ErrorCode::BadRequest, message).into());
            }
            Some((_, row)) => row.clone(),
            None => ViewMemory::empty(),
        };
        let mut held: BTreeMap<Slot, SlotSeal> = BTreeMap::new();
        if let Some((memory, row)) = known {
            for file in row.files.iter().filter_map(|number| memory.file(number)) {
                let slot = slot_of(&file.path);
                let seal =
                    held.entry(slot).or_insert(SlotSeal { slot, files: 0, digest: SlotDigest([0; 32]) });
                seal.add(&file.path, &file.blob);
            }
        }
        if !held.into_values().eq(slots) {
            let message =
                "the files staged here are not those of the seal; stage the missing ones and seal again";
            return Err(WireError::new(ErrorCode::NotFound, message).into());
        }
        let row = ViewMemory { sealed: Some(with), ..row };
        changes.put(&keys::view(collection, key), &row.encode().map_err(broken)?);
        // The paths served to find replaced files while it was staged.
        changes.delete_prefix(&keys::paths(collection, key));
        Ok(Effect { collection, view: Some((key, Some(row))), ..Effect::default() })
    }
}

/// What publishes and stages have in common.
struct Write<'a> {
    view: &'a DataView,
    collection: CollectionId,
    made_with: Generation,
    publisher: Role,
}

impl StateMachine for GroupMachine {
    type Effect = Option<Effect>;

    fn load(&self, view: DataView) -> Result<(), MachineError> {
        let loaded = Memory::load(&view)?;
        *self.memory.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }

    fn apply(
        &self,
        context: &ApplyContext<'_>,
        command: &[u8],
        changes: &mut Changes<'_>,
    ) -> Result<Outcome<Self::Effect>, MachineError> {
        let command = Command::decode(command).map_err(broken)?;
        let (refused, effect) = match self.decide(context.view, command, changes) {
            Ok(effect) => (None, Some(effect)),
            Err(Refusal::Refused(error)) => (Some(error), None),
            Err(Refusal::Broken(error)) => return Err(error),
        };
        let reply = Answer { refused }.encode().map_err(broken)?;
        Ok(Outcome { reply, effect })
    }

    fn committed(&self, index: LogIndex, effect: Self::Effect) {
        let Some(effect) = effect else { return };
        let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = memory.follow(effect) {
            // The rows are right; only this process's cache is not, and what it lacks must not go unsaid.
            tracing::error!(%index, %error, "memory could not follow a command; restart this node");
            memory.poison(format!(
                "this replica's memory stopped at log index {index}: {error}; restart the node"
            ));
        }
    }
}
