//! Replication: many Raft groups over one RocksDB per node, generic over the state machine.
//!
//! The only user of openraft in this workspace. What it deliberately does not know: how bytes travel (a
//! [`RaftCarrier`] moves them), what a command means (a [`StateMachine`] applies it), and where groups live (the
//! coordinator decides).
//!
//! - [`NodeStore`]: the database of a node, its layout and what is durable when;
//! - [`Groups`]: the groups open on a node, inbound calls;
//! - [`Group`]: writes, reads, membership, health of one group;
//! - [`StateMachine`], [`DataView`], [`Changes`]: what a replicated state implements and works with.
//!
//! Acknowledged means: committed on a quorum, each member of which has synced the log entry, and applied here.

mod apply;
mod config;
mod error;
mod group;
mod groups;
mod inbound;
mod keys;
mod log;
mod machine;
mod network;
mod snapshot;
mod store;
mod sync;
mod types;
mod view;

#[cfg(test)]
mod suite;

pub use apply::Position;
pub use config::ConsensusConfig;
pub use error::{
    CarrierError, FatalError, HandleError, MachineError, OpenError, ReadError, StoreError, WriteError,
};
pub use group::{Applied, Group, GroupStatus};
pub use groups::Groups;
pub use machine::{ApplyContext, Outcome, StateMachine};
pub use network::{RaftCall, RaftCarrier};
pub use store::{NodeStore, StoreOptions};
pub use view::{Changes, DataView, Pair, PinnedView};
