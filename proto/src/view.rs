//! Views: what a search looks at; and the session token by which a client reads its own writes.

use serde::{Deserialize, Serialize};

use crate::ids::{GroupId, Incarnation, LogIndex, RevisionId, Sequence, WorkspaceId};

/// What a search looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// A sealed, immutable set of file versions.
    Revision(RevisionId),
    /// A checkout at one of its publishes.
    Workspace {
        /// The checkout.
        id: WorkspaceId,
        /// The publish; it or the one before it can be read.
        sequence: Sequence,
    },
}

/// How far a client has seen one group. Raised by writes and by reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupMark {
    /// The group.
    pub group: GroupId,
    /// Install of the group's data.
    pub incarnation: Incarnation,
    /// Applied index.
    pub applied: LogIndex,
}

/// How far a client has seen each group; a replica that lags answers `Behind`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionToken {
    /// At most one mark a group.
    pub marks: Vec<GroupMark>,
}

impl SessionToken {
    /// Raises the mark of a group; lower marks change nothing. A later incarnation replaces an earlier one.
    pub fn raise(&mut self, mark: GroupMark) {
        match self.marks.iter_mut().find(|known| known.group == mark.group) {
            Some(known) if (known.incarnation, known.applied) < (mark.incarnation, mark.applied) => {
                *known = mark;
            }
            Some(_) => {}
            None => self.marks.push(mark),
        }
    }

    /// The mark of a group.
    pub fn mark(&self, group: GroupId) -> Option<GroupMark> {
        self.marks.iter().find(|mark| mark.group == group).copied()
    }

    /// Raises every mark of `other`.
    pub fn merge(&mut self, other: &Self) {
        other.marks.iter().for_each(|mark| self.raise(*mark));
    }
}
