//! Owns the set of groups open on a node: opening, inbound calls, shutdown. Knows no transport.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use sextant_proto::ids::{GroupId, NodeId};
use tokio::sync::Semaphore;

use crate::apply::{Applier, MachineStore};
use crate::config::ConsensusConfig;
use crate::error::{HandleError, OpenError};
use crate::group::Group;
use crate::inbound::Inbound;
use crate::log::LogStore;
use crate::machine::StateMachine;
use crate::network::{Peers, RaftCall, RaftCarrier};
use crate::store::NodeStore;
use crate::types::Raft;

/// The groups of one node, over one [`NodeStore`] and one [`RaftCarrier`]. Clones share them.
#[derive(Clone)]
pub struct Groups {
    inner: Arc<Inner>,
}

struct Inner {
    node: NodeId,
    store: NodeStore,
    carrier: Arc<dyn RaftCarrier>,
    config: ConsensusConfig,
    raft_config: Arc<openraft::Config>,
    budget: Arc<Semaphore>,
    open: RwLock<HashMap<GroupId, Slot>>,
}

/// A group is reserved while it opens, so that it is opened once.
enum Slot {
    Opening,
    Open(Arc<Inbound>),
}

impl Groups {
    /// Checks the settings and ties the store to `node`. Opens no group yet.
    pub fn start(
        node: NodeId,
        store: NodeStore,
        carrier: Arc<dyn RaftCarrier>,
        config: ConsensusConfig,
    ) -> Result<Self, OpenError> {
        let raft_config = config.validate()?;
        store.claim(node)?;
        let budget = Arc::new(Semaphore::new(config.in_flight_bytes as usize));
        let open = RwLock::default();
        Ok(Self { inner: Arc::new(Inner { node, store, carrier, config, raft_config, budget, open }) })
    }

    pub fn node(&self) -> NodeId {
        self.inner.node
    }

    pub fn store(&self) -> &NodeStore {
        &self.inner.store
    }

    /// Opens a group: removes left-overs, loads the machine, applies what was committed, starts Raft.
    ///
    /// A group with one voter, this node, leads within milliseconds. A new group does nothing until
    /// [`Group::initialize`] is called on one member, or a leader adds this node.
    pub async fn open<S: StateMachine>(
        &self,
        group: GroupId,
        machine: Arc<S>,
    ) -> Result<Group<S>, OpenError> {
        {
            let mut open = self.inner.open.write().unwrap_or_else(PoisonError::into_inner);
            if open.contains_key(&group) {
                return Err(OpenError::AlreadyOpen(group));
            }
            open.insert(group, Slot::Opening);
        }
        let opened = self.open_reserved(group, machine).await;
        let mut open = self.inner.open.write().unwrap_or_else(PoisonError::into_inner);
        match opened {
            Ok((group_handle, inbound)) => {
                open.insert(group, Slot::Open(inbound));
                Ok(group_handle)
            }
            Err(error) => {
                open.remove(&group);
                Err(error)
            }
        }
    }

    async fn open_reserved<S: StateMachine>(
        &self,
        group: GroupId,
        machine: Arc<S>,
    ) -> Result<(Group<S>, Arc<Inbound>), OpenError> {
        let inner = &self.inner;
        let core = |reason: String| OpenError::Core { group, reason };
        let store = inner.store.clone();
        let applier = tokio::task::spawn_blocking(move || Applier::open(store, group, machine))
            .await
            .map_err(|error| core(error.to_string()))?
            .map_err(|source| OpenError::Load { group, source })?;
        let applier = Arc::new(applier);
        let raft = Raft::new(
            inner.node.0,
            Arc::clone(&inner.raft_config),
            Peers { carrier: Arc::clone(&inner.carrier), group },
            LogStore::new(inner.store.clone(), group),
            MachineStore(Arc::clone(&applier)),
        )
        .await
        .map_err(|fatal| core(fatal.to_string()))?;
        elect_if_alone(&raft, inner.node).await.map_err(|fatal| core(fatal.to_string()))?;

        let staging = Arc::clone(&applier);
        let inbound = Arc::new(Inbound::new(group, raft.clone(), move || staging.stage()));
        let budget = Arc::clone(&inner.budget);
        Ok((Group::new((inner.node, raft), applier, budget, inner.config.max_command_bytes), inbound))
    }

    /// Answers another node's Raft call.
    pub async fn handle(&self, group: GroupId, call: RaftCall) -> Result<Bytes, HandleError> {
        let inbound = {
            let open = self.inner.open.read().unwrap_or_else(PoisonError::into_inner);
            match open.get(&group) {
                Some(Slot::Open(inbound)) => Arc::clone(inbound),
                Some(Slot::Opening) | None => return Err(HandleError::UnknownGroup(group)),
            }
        };
        inbound.handle(&call).await
    }

    /// Stops one group; its state stays. Does nothing if it is not open.
    pub async fn close(&self, group: GroupId) {
        let slot = self.inner.open.write().unwrap_or_else(PoisonError::into_inner).remove(&group);
        if let Some(Slot::Open(inbound)) = slot {
            stop(&inbound).await;
        }
    }

    /// Stops every group. The store closes when its last handle is dropped.
    pub async fn shutdown(&self) {
        let all: Vec<_> = self.inner.open.write().unwrap_or_else(PoisonError::into_inner).drain().collect();
        let stops = all.iter().filter_map(|(_, slot)| match slot {
            Slot::Open(inbound) => Some(stop(inbound)),
            Slot::Opening => None,
        });
        futures::future::join_all(stops).await;
    }
}

async fn stop(inbound: &Inbound) {
    if let Err(error) = inbound.raft().shutdown().await {
        tracing::warn!(%error, "a Raft core ended badly");
    }
}

/// A sole voter has nobody to wait for: without this it would sit out an election timeout after a restart.
async fn elect_if_alone(raft: &Raft, node: NodeId) -> Result<(), openraft::error::Fatal<u64>> {
    let (alone, leads) = raft
        .with_raft_state(move |state| {
            let membership = state.membership_state.effective();
            (membership.voter_ids().eq([node.0]), state.server_state == openraft::ServerState::Leader)
        })
        .await?;
    if alone && !leads {
        raft.trigger().elect().await?;
    }
    Ok(())
}
