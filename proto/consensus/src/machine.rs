//! Owns the contract between a group and its state machine. Knows no command.

use sextant_proto::ids::{GroupId, Incarnation, LogIndex};

use crate::error::MachineError;
use crate::view::{Changes, DataView};

/// A replicated state machine whose state lies in the node store.
///
/// Calls for one group never overlap: `load`, then `apply` and `committed` in turn, in log order, on a thread
/// where blocking is allowed. Readers of the machine run beside them, so shared memory needs its own locks.
pub trait StateMachine: Send + Sync + 'static {
    /// What `apply` hands to `committed`: the change to memory that belongs to the change on disk.
    type Effect: Send;

    /// (Re)builds everything held in memory from `view`. Called once when the group opens and again after each
    /// installed snapshot, with a view of the new incarnation; the old incarnation's rows go away after it returns.
    fn load(&self, view: DataView) -> Result<(), MachineError>;

    /// Applies one command: reads from `context`, writes into `changes`, returns the reply.
    ///
    /// Must be deterministic: no clock, no randomness, no network, nothing read but rows and memory that earlier
    /// entries made. It must not change memory that readers see: the batch is not written yet. A refused command
    /// is a reply with empty `changes`.
    ///
    /// # Errors
    /// An error (or a panic) stops the group on this node: only for what must never be passed over.
    fn apply(
        &self,
        context: &ApplyContext<'_>,
        command: &[u8],
        changes: &mut Changes<'_>,
    ) -> Result<Outcome<Self::Effect>, MachineError>;

    /// The batch of the entry at `index` is in the store: now memory may follow. Replies go out after it returns.
    fn committed(&self, index: LogIndex, effect: Self::Effect);
}

/// What one `apply` gives back.
#[derive(Debug)]
pub struct Outcome<E> {
    /// For the writer; must be the same on every replica.
    pub reply: Vec<u8>,
    pub effect: E,
}

/// Where and on what a command is applied.
#[derive(Debug)]
pub struct ApplyContext<'a> {
    /// The entry's index in the group's log.
    pub index: LogIndex,
    /// The rows as all earlier entries left them.
    pub view: &'a DataView,
}

impl ApplyContext<'_> {
    pub fn group(&self) -> GroupId {
        self.view.group()
    }

    pub fn incarnation(&self) -> Incarnation {
        self.view.incarnation()
    }
}
