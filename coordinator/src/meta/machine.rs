//! The meta state machine: decides commands over the state, and keeps it in rows.

use std::collections::btree_map::Entry;
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use sextant_consensus::{ApplyContext, Changes, DataView, MachineError, Outcome, StateMachine};
use sextant_proto::code::Generation;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{CollectionId, GroupId, LogIndex, NodeId, RevisionId};
use sextant_proto::limits::MAX_NAME_BYTES;
use sextant_proto::message::{decode, encode};

use super::rows;
use super::state::{GroupPlace, Member, Meta};

/// One entry of the meta group's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetaCommand {
    /// A node is there, or has moved.
    PutMember(NodeId, Member),
    /// A group is there; an existing one keeps its place.
    AddGroup(GroupId, GroupPlace),
    /// A collection of this name with a generation made with this, its current one from now on.
    OpenCollection(String, Generation),
    /// A branch points at a sealed revision.
    SetBranch(CollectionId, String, RevisionId),
}

/// Whether a command was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaAnswer {
    /// Why not; `None` when it was.
    pub refused: Option<WireError>,
}

/// The coordinators' state machine.
#[derive(Debug, Default)]
pub struct MetaMachine {
    meta: RwLock<Arc<Meta>>,
}

impl MetaMachine {
    /// The state as applied here.
    pub fn meta(&self) -> Arc<Meta> {
        Arc::clone(&self.meta.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, meta: Meta) {
        *self.meta.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(meta);
    }
}

fn decide(
    meta: &mut Meta,
    command: MetaCommand,
    changes: &mut Changes<'_>,
) -> Result<Result<(), WireError>, MachineError> {
    match command {
        MetaCommand::PutMember(id, member) => {
            rows::put_member(changes, id, &member)?;
            meta.members.insert(id, member);
        }
        MetaCommand::AddGroup(id, place) => {
            if let Entry::Vacant(new) = meta.groups.entry(id) {
                rows::put_group(changes, id, &place)?;
                new.insert(place);
            }
        }
        MetaCommand::OpenCollection(name, made_with) => match meta.created(&name, made_with) {
            Ok((id, collection)) => {
                rows::put_collection(changes, id, &collection)?;
                meta.names.insert(name, id);
                meta.collections.insert(id, collection);
            }
            Err(error) => return Ok(Err(error)),
        },
        MetaCommand::SetBranch(id, branch, revision) => {
            let Some(collection) = meta.collections.get_mut(&id) else {
                return Ok(Err(WireError::new(ErrorCode::NotFound, "no such collection")));
            };
            if branch.is_empty() || branch.len() > MAX_NAME_BYTES {
                let message = format!("a branch's name has 1 to {MAX_NAME_BYTES} bytes");
                return Ok(Err(WireError::new(ErrorCode::BadRequest, message)));
            }
            collection.branches.insert(branch, revision);
            rows::put_collection(changes, id, collection)?;
        }
    }
    Ok(Ok(()))
}

impl StateMachine for MetaMachine {
    type Effect = Option<Meta>;

    fn load(&self, view: DataView) -> Result<(), MachineError> {
        self.replace(rows::load(&view)?);
        Ok(())
    }

    fn apply(
        &self,
        _context: &ApplyContext<'_>,
        command: &[u8],
        changes: &mut Changes<'_>,
    ) -> Result<Outcome<Self::Effect>, MachineError> {
        let command = decode(command).map_err(|error| MachineError::Broken(error.to_string()))?;
        let mut meta = Meta::clone(&self.meta());
        let (refused, effect) = match decide(&mut meta, command, changes)? {
            Ok(()) => (None, Some(meta)),
            Err(error) => (Some(error), None),
        };
        let reply =
            encode(&MetaAnswer { refused }).map_err(|error| MachineError::Broken(error.to_string()))?;
        Ok(Outcome { reply, effect })
    }

    fn committed(&self, _index: LogIndex, effect: Self::Effect) {
        if let Some(meta) = effect {
            self.replace(meta);
        }
    }
}
