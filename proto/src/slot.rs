//! Slots: a file's home within its collection, and the versioned map that gives slots to groups.

use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, WireError};
use crate::ids::GroupId;

/// Slots of a collection.
pub const SLOTS: u16 = 1024;

/// A file's home within its collection, 0 to 1,023.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slot(pub u16);

/// Slot of a path: the first two bytes of its unkeyed blake3 hash, little-endian, modulo [`SLOTS`].
///
/// Unkeyed because coordinators route by it; the path itself is in the request.
pub fn slot_of(path: &str) -> Slot {
    let hash = blake3::hash(path.as_bytes());
    let [low, high, ..] = *hash.as_bytes();
    Slot(u16::from_le_bytes([low, high]) % SLOTS)
}

/// Which group holds which slot of a collection. Versions grow; an old one is answered with `StaleMap`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotMap {
    /// Grows with every change.
    pub version: u64,
    /// The groups, each once.
    pub groups: Vec<GroupId>,
    /// For each slot the index of its group in `groups`.
    pub owners: Vec<u16>,
}

impl SlotMap {
    /// Slots dealt evenly to `groups`; the first version.
    pub fn even(groups: Vec<GroupId>) -> Self {
        let count = groups.len().max(1) as u16;
        Self { version: 1, groups, owners: (0..SLOTS).map(|slot| slot % count).collect() }
    }

    /// Checks that each slot has a group.
    pub fn validate(&self) -> Result<(), WireError> {
        let whole = self.owners.len() == usize::from(SLOTS)
            && self.owners.iter().all(|owner| usize::from(*owner) < self.groups.len());
        if whole {
            Ok(())
        } else {
            Err(WireError::new(ErrorCode::BadRequest, "the slot map leaves a slot without a group"))
        }
    }

    /// Group of a slot, `None` where the map is damaged.
    pub fn group_of(&self, slot: Slot) -> Option<GroupId> {
        let owner = self.owners.get(usize::from(slot.0))?;
        self.groups.get(usize::from(*owner)).copied()
    }
}
