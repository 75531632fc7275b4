//! Owns the handle to one open group: writes, reads, membership, waiting, state of health. Knows no command.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use openraft::error::{
    CheckIsLeaderError, ClientWriteError, Fatal, ForwardToLeader, InitializeError, RaftError,
};
use openraft::{EmptyNode, RaftMetrics, ServerState};
use sextant_proto::ids::{GroupId, LogIndex, NodeId};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::apply::{Applier, Position};
use crate::error::{FatalError, ReadError, WriteError};
use crate::machine::StateMachine;
use crate::types::{Command, Raft};
use crate::view::DataView;

/// What one write came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The entry's index; a reader that has applied it sees the write.
    pub index: LogIndex,
    /// The state machine's reply.
    pub reply: Bytes,
}

/// How a group stands, as this node knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupStatus {
    pub leader: Option<NodeId>,
    pub term: u64,
    pub last_log: Option<LogIndex>,
    pub applied: Option<LogIndex>,
    /// Entries up to here are gone from the log.
    pub purged: Option<LogIndex>,
    pub voters: BTreeSet<NodeId>,
    pub learners: BTreeSet<NodeId>,
    /// On the leader: how far each replica is known to have the log.
    pub replicated: Vec<(NodeId, Option<LogIndex>)>,
}

/// An open group. Clones are the same group.
pub struct Group<S> {
    node: NodeId,
    raft: Raft,
    applier: Arc<Applier<S>>,
    budget: Arc<Semaphore>,
    max_command_bytes: usize,
}

impl<S> Clone for Group<S> {
    fn clone(&self) -> Self {
        Self {
            node: self.node,
            raft: self.raft.clone(),
            applier: Arc::clone(&self.applier),
            budget: Arc::clone(&self.budget),
            max_command_bytes: self.max_command_bytes,
        }
    }
}

/// Each entry weighs at least this in the budget, so that tiny commands are bounded too.
const LEAST_WEIGHT_BYTES: usize = 1024;

impl<S: StateMachine> Group<S> {
    pub(crate) fn new(
        (node, raft): (NodeId, Raft),
        applier: Arc<Applier<S>>,
        budget: Arc<Semaphore>,
        max_command_bytes: usize,
    ) -> Self {
        Self { node, raft, applier, budget, max_command_bytes }
    }

    pub fn id(&self) -> GroupId {
        self.applier.group
    }

    pub fn machine(&self) -> &Arc<S> {
        &self.applier.machine
    }

    /// The rows as they are applied now. After a snapshot they lie in another incarnation: take a new view.
    pub fn view(&self) -> DataView {
        self.applier.view()
    }

    /// Founds a new group with these voters; call it on one member. False: the group exists already.
    ///
    /// # Errors
    /// [`WriteError::Membership`] when this node is not among the members.
    pub async fn initialize(&self, members: &[NodeId]) -> Result<bool, WriteError> {
        // Asked first, since openraft logs an error where the group exists, which is the rule at every restart.
        if self.raft.is_initialized().await.map_err(|fatal| stopped(&fatal))? {
            return Ok(false);
        }
        let members: BTreeSet<u64> = members.iter().map(|member| member.0).collect();
        match self.raft.initialize(members).await {
            Ok(()) => Ok(true),
            Err(RaftError::APIError(InitializeError::NotAllowed(_))) => Ok(false),
            Err(RaftError::APIError(InitializeError::NotInMembers(error))) => {
                Err(WriteError::Membership(error.to_string()))
            }
            Err(RaftError::Fatal(fatal)) => Err(stopped(&fatal)),
        }
    }

    /// Replicates and applies one command; returns when it is on disk on a quorum and applied here.
    ///
    /// Dropping the future does not take the command back. After an error other than `TooLarge`, `Overloaded` and
    /// `ForwardToLeader` the outcome is unknown: commands must be safe to repeat.
    pub async fn write(&self, command: Bytes) -> Result<Applied, WriteError> {
        let bytes = command.len();
        if bytes > self.max_command_bytes {
            return Err(WriteError::TooLarge { bytes, limit_bytes: self.max_command_bytes });
        }
        let weight = u32::try_from(bytes.max(LEAST_WEIGHT_BYTES)).unwrap_or(u32::MAX);
        let _waiting = self
            .budget
            .try_acquire_many(weight)
            .map_err(|_| WriteError::Overloaded { retry_after: Duration::from_millis(100) })?;
        let written = self.raft.client_write(Command(command)).await.map_err(write_error)?;
        Ok(Applied { index: LogIndex(written.log_id.index), reply: written.data.0 })
    }

    /// Adds a replica that copies but does not vote; waits until it has nearly caught up.
    pub async fn add_learner(&self, node: NodeId) -> Result<LogIndex, WriteError> {
        let added = self.raft.add_learner(node.0, EmptyNode {}, true).await.map_err(write_error)?;
        Ok(LogIndex(added.log_id.index))
    }

    /// Makes exactly `voters` the members. New ones must be learners first. A voter that lost its disk must be
    /// taken out before it comes back empty: it has forgotten whom it voted for.
    pub async fn change_voters(&self, voters: &[NodeId]) -> Result<LogIndex, WriteError> {
        let voters: BTreeSet<u64> = voters.iter().map(|voter| voter.0).collect();
        let changed = self.raft.change_membership(voters, false).await.map_err(write_error)?;
        Ok(LogIndex(changed.log_id.index))
    }

    /// An index such that a read after [`Self::wait_applied`] of it sees every write acknowledged before this
    /// call. Asks a quorum; only the leader can. This replica has applied it when the call returns.
    pub async fn read_index(&self) -> Result<LogIndex, ReadError> {
        match self.raft.ensure_linearizable().await {
            Ok(index) => Ok(LogIndex(index.map_or(0, |id| id.index))),
            Err(RaftError::APIError(CheckIsLeaderError::ForwardToLeader(forward))) => {
                Err(ReadError::ForwardToLeader { leader: leader_of(&forward) })
            }
            Err(RaftError::APIError(CheckIsLeaderError::QuorumNotEnough(error))) => {
                Err(ReadError::NoQuorum(error.to_string()))
            }
            Err(RaftError::Fatal(fatal)) => Err(ReadError::Stopped(fatal.to_string())),
        }
    }

    /// Where this replica stands now.
    pub fn position(&self) -> Position {
        *self.applier.position().borrow()
    }

    pub fn applied_index(&self) -> LogIndex {
        self.position().applied
    }

    /// Waits until this replica has applied `index`.
    ///
    /// # Errors
    /// [`ReadError::Behind`] when it has not by `deadline`.
    pub async fn wait_applied(&self, index: LogIndex, deadline: Instant) -> Result<Position, ReadError> {
        let mut position = self.applier.position();
        let waited =
            tokio::time::timeout_at(deadline, position.wait_for(|position| position.applied >= index)).await;
        match waited {
            Ok(Ok(position)) => Ok(*position),
            Ok(Err(_closed)) => Err(ReadError::Stopped("the group was closed".to_owned())),
            Err(_elapsed) => Err(ReadError::Behind { applied: self.applied_index().0, wanted: index.0 }),
        }
    }

    /// Whether this node thinks that it leads. Only [`Self::read_index`] makes sure.
    pub fn is_leader(&self) -> bool {
        self.leader() == Some(self.node)
    }

    pub fn leader(&self) -> Option<NodeId> {
        self.raft.metrics().borrow().current_leader.map(NodeId)
    }

    /// Waits until some leader is known.
    ///
    /// # Errors
    /// [`ReadError::ForwardToLeader`] with no leader when none is by `deadline`.
    pub async fn wait_leader(&self, deadline: Instant) -> Result<NodeId, ReadError> {
        let mut metrics = self.raft.metrics();
        let waited =
            tokio::time::timeout_at(deadline, metrics.wait_for(|metrics| metrics.current_leader.is_some()));
        match waited.await {
            Ok(Ok(metrics)) => {
                metrics.current_leader.map(NodeId).ok_or(ReadError::ForwardToLeader { leader: None })
            }
            Ok(Err(_closed)) => Err(ReadError::Stopped("the group was closed".to_owned())),
            Err(_elapsed) => Err(ReadError::ForwardToLeader { leader: None }),
        }
    }

    pub fn status(&self) -> GroupStatus {
        status_of(&self.raft.metrics().borrow())
    }

    /// Lets old log entries go now instead of at the next regular time.
    pub async fn compact(&self) -> Result<(), ReadError> {
        self.raft.trigger().snapshot().await.map_err(|fatal| ReadError::Stopped(fatal.to_string()))
    }

    /// Resolves when the Raft core has died: a disk error, a failed or panicked state machine. Never resolves
    /// after an orderly shutdown. Mains end the process on it.
    pub fn watch_fatal(&self) -> impl Future<Output = FatalError> + Send + use<S> {
        let mut metrics = self.raft.metrics();
        let group = self.id();
        async move {
            let ended = metrics
                .wait_for(|metrics| metrics.running_state.is_err())
                .await
                .map(|metrics| metrics.running_state.clone());
            let reason = match ended {
                Ok(Err(Fatal::Stopped)) => None,
                Ok(Err(fatal)) => Some(fatal.to_string()),
                Ok(Ok(())) | Err(_) => Some("it panicked".to_owned()),
            };
            match reason {
                Some(reason) => FatalError { group, reason },
                None => std::future::pending().await,
            }
        }
    }

    /// Stops the group on this node. [`crate::Groups::close`] also forgets it.
    pub async fn shutdown(&self) {
        if let Err(error) = self.raft.shutdown().await {
            tracing::warn!(group = %self.id(), %error, "a Raft core ended badly");
        }
    }
}

impl<S> std::fmt::Debug for Group<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Group({} on node {})", self.applier.group, self.node)
    }
}

fn leader_of(forward: &ForwardToLeader<u64, EmptyNode>) -> Option<NodeId> {
    forward.leader_id.map(NodeId)
}

fn stopped(fatal: &Fatal<u64>) -> WriteError {
    WriteError::Stopped(fatal.to_string())
}

fn write_error(error: RaftError<u64, ClientWriteError<u64, EmptyNode>>) -> WriteError {
    match error {
        RaftError::APIError(ClientWriteError::ForwardToLeader(forward)) => {
            WriteError::ForwardToLeader { leader: leader_of(&forward) }
        }
        RaftError::APIError(ClientWriteError::ChangeMembershipError(error)) => {
            WriteError::Membership(error.to_string())
        }
        RaftError::Fatal(fatal) => stopped(&fatal),
    }
}

fn status_of(metrics: &RaftMetrics<u64, EmptyNode>) -> GroupStatus {
    let membership = metrics.membership_config.membership();
    let index = |id: &openraft::LogId<u64>| LogIndex(id.index);
    let replicated = metrics.replication.iter().flatten();
    GroupStatus {
        leader: match metrics.state {
            ServerState::Shutdown => None,
            _ => metrics.current_leader.map(NodeId),
        },
        term: metrics.current_term,
        last_log: metrics.last_log_index.map(LogIndex),
        applied: metrics.last_applied.as_ref().map(index),
        purged: metrics.purged.as_ref().map(index),
        voters: membership.voter_ids().map(NodeId).collect(),
        learners: membership.learner_ids().map(NodeId).collect(),
        replicated: replicated.map(|(node, id)| (NodeId(*node), id.as_ref().map(index))).collect(),
    }
}
