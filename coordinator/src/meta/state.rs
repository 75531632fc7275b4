//! The meta state as values, and the rules by which it changes. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sextant_proto::access::Role;
use sextant_proto::code::Generation;
use sextant_proto::coordinator::CollectionInfo;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{CollectionId, GenerationId, GroupId, NodeId, RevisionId};
use sextant_proto::limits::MAX_NAME_BYTES;
use sextant_proto::slot::SlotMap;

/// A node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its role.
    pub role: Role,
    /// Where it listens.
    pub addr: String,
}

/// Where a group's replicas are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPlace {
    /// Its voters.
    pub voters: Vec<NodeId>,
}

/// A collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    /// Its name; unique.
    pub name: String,
    /// Generation that is searched.
    pub current: GenerationId,
    /// Every generation.
    pub generations: BTreeMap<GenerationId, Generation>,
    /// Which group holds which slot.
    pub slots: SlotMap,
    /// Branches.
    pub branches: BTreeMap<String, RevisionId>,
}

/// Everything that the coordinators agree on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meta {
    /// Nodes.
    pub members: BTreeMap<NodeId, Member>,
    /// Groups of shards.
    pub groups: BTreeMap<GroupId, GroupPlace>,
    /// Collections.
    pub collections: BTreeMap<CollectionId, Collection>,
    /// Collections by name.
    pub names: BTreeMap<String, CollectionId>,
}

impl Meta {
    /// A collection by its name.
    pub fn by_name(&self, name: &str) -> Option<(CollectionId, &Collection)> {
        let id = *self.names.get(name)?;
        Some((id, self.collections.get(&id)?))
    }

    /// A collection as clients need to know it; `None` where its current generation is not known.
    pub fn info(&self, id: CollectionId) -> Option<CollectionInfo> {
        let collection = self.collections.get(&id)?;
        Some(CollectionInfo {
            id,
            name: collection.name.clone(),
            generation: collection.current,
            made_with: *collection.generations.get(&collection.current)?,
            slots: collection.slots.clone(),
            branches: collection.branches.iter().map(|(name, revision)| (name.clone(), *revision)).collect(),
        })
    }

    /// The collection that a new one of this name would be, or the one that is there.
    pub fn created(
        &self,
        name: &str,
        made_with: Generation,
    ) -> Result<(CollectionId, Collection), WireError> {
        if let Some((id, known)) = self.by_name(name) {
            let mut known = known.clone();
            if !known.generations.values().any(|generation| *generation == made_with) {
                let next = known.generations.keys().last().map_or(1, |last| last.0 + 1);
                known.generations.insert(GenerationId(next), made_with);
            }
            if let Some((generation, _)) = known.generations.iter().find(|(_, made)| **made == made_with) {
                known.current = *generation;
            }
            return Ok((id, known));
        }
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control) {
            let message =
                format!("a collection's name has 1 to {MAX_NAME_BYTES} bytes and no control characters");
            return Err(WireError::new(ErrorCode::BadRequest, message));
        }
        if self.groups.is_empty() {
            let message = "the cluster has no group to hold a collection; add a shard-node first";
            return Err(WireError::new(ErrorCode::Unavailable, message));
        }
        let id = CollectionId(self.collections.keys().last().map_or(1, |last| last.0 + 1));
        let collection = Collection {
            name: name.into(),
            current: GenerationId(1),
            generations: BTreeMap::from([(GenerationId(1), made_with)]),
            slots: SlotMap::even(self.groups.keys().copied().collect()),
            branches: BTreeMap::new(),
        };
        Ok((id, collection))
    }
}
