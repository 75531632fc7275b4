//! Commands of a group's log, and their answers, as bytes.

use serde::{Deserialize, Serialize};

use sextant_proto::access::Role;
use sextant_proto::code::Generation;
use sextant_proto::coordinator::SlotSeal;
use sextant_proto::error::WireError;
use sextant_proto::ids::{CollectionId, RevisionId, Sequence, WorkspaceId};
use sextant_proto::message::{decode, encode};
use sextant_proto::publish::Batch;
use sextant_proto::view::View;

/// One entry of a group's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A workspace moves on by one publish.
    Publish {
        /// The collection.
        collection: CollectionId,
        /// What vectors are made with.
        made_with: Generation,
        /// Role of the publisher.
        publisher: Role,
        /// The checkout.
        workspace: WorkspaceId,
        /// Its publish.
        sequence: Sequence,
        /// The change.
        batch: Batch,
    },
    /// A revision grows before it is sealed.
    Stage {
        /// The collection.
        collection: CollectionId,
        /// What vectors are made with.
        made_with: Generation,
        /// Role of the publisher.
        publisher: Role,
        /// The revision.
        revision: RevisionId,
        /// The change; no masks.
        batch: Batch,
    },
    /// A revision becomes readable.
    Seal {
        /// The collection.
        collection: CollectionId,
        /// The revision.
        revision: RevisionId,
        /// Slots that hold files.
        slots: Vec<SlotSeal>,
    },
    /// A view is given up.
    DropView {
        /// The collection.
        collection: CollectionId,
        /// The view.
        view: View,
    },
}

impl Command {
    /// The command's bytes.
    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        encode(self)
    }

    /// The command of its bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        decode(bytes)
    }
}

/// Whether the group took a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Why not; `None` when it did.
    pub refused: Option<WireError>,
}

impl Answer {
    /// The answer's bytes.
    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        encode(self)
    }

    /// The answer of its bytes, as the result that it stands for.
    pub fn into_result(bytes: &[u8]) -> Result<(), WireError> {
        decode::<Self>(bytes)?.refused.map_or(Ok(()), Err)
    }
}
