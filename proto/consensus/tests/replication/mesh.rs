//! Nodes in one process and the carrier between them.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use sextant_consensus::{
    CarrierError, ConsensusConfig, Group, Groups, NodeStore, RaftCall, RaftCarrier, StoreOptions,
};
use sextant_proto::ids::{GroupId, NodeId};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::ledger::Ledger;

pub(crate) const GROUP: GroupId = GroupId(5);

#[derive(Default)]
struct Wires {
    nodes: HashMap<NodeId, Groups>,
    isolated: HashSet<NodeId>,
}

/// The folders of the nodes and the wires between those that run.
#[derive(Clone)]
pub(crate) struct Mesh {
    folder: Arc<TempDir>,
    wires: Arc<Mutex<Wires>>,
    pub(crate) largest_call: Arc<AtomicUsize>,
    pub(crate) config: ConsensusConfig,
}

struct Carrier {
    from: NodeId,
    mesh: Mesh,
}

impl RaftCarrier for Carrier {
    fn send(
        &self,
        target: NodeId,
        group: GroupId,
        call: RaftCall,
    ) -> BoxFuture<'static, Result<Bytes, CarrierError>> {
        self.mesh.largest_call.fetch_max(call.body.len(), Ordering::Relaxed);
        let receiver = {
            let wires = self.mesh.wires.lock().unwrap();
            let cut = wires.isolated.contains(&target) || wires.isolated.contains(&self.from);
            wires.nodes.get(&target).filter(|_| !cut).cloned()
        };
        async move {
            let receiver = receiver.ok_or_else(|| CarrierError::Unreachable(target, "no wire".to_owned()))?;
            // As over a real wire, a caller that gives up does not stop the receiver.
            let handled = tokio::spawn(async move { receiver.handle(group, call).await });
            handled
                .await
                .map_err(|error| CarrierError::Failed(target, error.to_string()))?
                .map_err(|error| CarrierError::Refused(target, error.to_string()))
        }
        .boxed()
    }
}

impl Mesh {
    /// Elections only happen when somebody triggers them: a test that passes does not owe it to a timeout.
    pub(crate) fn patient() -> Self {
        Self::with(ConsensusConfig {
            election_min_ms: 600_000,
            election_max_ms: 1_200_000,
            ..ConsensusConfig::default()
        })
    }

    pub(crate) fn with(config: ConsensusConfig) -> Self {
        Self {
            folder: Arc::new(tempfile::tempdir().unwrap()),
            wires: Arc::default(),
            largest_call: Arc::default(),
            config,
        }
    }

    pub(crate) fn path(&self, node: u64) -> PathBuf {
        self.folder.path().join(node.to_string())
    }

    pub(crate) async fn start(&self, node: u64) -> Groups {
        let store = self.open_store(node).await;
        let carrier = Arc::new(Carrier { from: NodeId(node), mesh: self.clone() });
        let groups = Groups::start(NodeId(node), store, carrier, self.config.clone()).unwrap();
        self.wires.lock().unwrap().nodes.insert(NodeId(node), groups.clone());
        groups
    }

    pub(crate) async fn start_ledger(&self, node: u64) -> Group<Ledger> {
        self.start(node).await.open(GROUP, Arc::new(Ledger::default())).await.unwrap()
    }

    /// The last tasks of a stopped node may hold its store a moment longer.
    pub(crate) async fn open_store(&self, node: u64) -> NodeStore {
        let deadline = deadline();
        loop {
            match NodeStore::open(&self.path(node), &StoreOptions::default()) {
                Ok(store) => return store,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) async fn stop(&self, node: u64) {
        let groups = self.wires.lock().unwrap().nodes.remove(&NodeId(node));
        if let Some(groups) = groups {
            groups.shutdown().await;
        }
    }

    pub(crate) fn isolate(&self, node: u64) {
        self.wires.lock().unwrap().isolated.insert(NodeId(node));
    }

    pub(crate) fn rejoin(&self, node: u64) {
        self.wires.lock().unwrap().isolated.remove(&NodeId(node));
    }
}

/// Far beyond what anything here takes, also on a busy machine.
pub(crate) fn deadline() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

/// Polls until `condition` holds.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = deadline();
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
