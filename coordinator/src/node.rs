//! Starts a coordinator: store, meta group, service, server; then places the groups it was told of.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use sextant_consensus::{
    ConsensusConfig, Groups, NodeStore, OpenError, ReadError, StoreError, StoreOptions, WriteError,
};
use sextant_proto::access::Role;
use sextant_proto::error::WireError;
use sextant_proto::ids::{GroupId, NodeId, OrgKeyId};
use sextant_transport::{Client, ClientOptions, Endpoint, Identity, Server, ServerOptions, TransportError};

use crate::carrier::CoordinatorCarrier;
use crate::members::Members;
use crate::meta::{GroupPlace, META_GROUP, Member, MetaMachine};
use crate::service::CoordinatorService;

/// Longest wait for the first leader and the first placement.
const START_DEADLINE: Duration = Duration::from_secs(30);

/// Settings of a coordinator.
#[derive(Debug, Clone)]
pub struct CoordinatorConfig {
    /// Its id in the cluster.
    pub node: NodeId,
    /// Folder of its store.
    pub data_dir: PathBuf,
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The coordinators, this one among them, and where the others listen.
    pub voters: Vec<NodeId>,
    /// Where the other coordinators listen.
    pub peers: HashMap<NodeId, Endpoint>,
    /// The shard-nodes.
    pub shards: Vec<(NodeId, SocketAddr)>,
    /// The groups and their voters among the shard-nodes.
    pub groups: Vec<(GroupId, Vec<NodeId>)>,
    /// Names the organisation's key, to tell a wrong one.
    pub org_key: Option<OrgKeyId>,
}

/// Why a coordinator does not start.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The meta group.
    #[error(transparent)]
    Group(#[from] OpenError),
    /// No leader.
    #[error("the coordinators found no leader: {0}; start a majority of them")]
    Leader(#[from] ReadError),
    /// The first write.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The network.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The shard-nodes.
    #[error("the groups could not be placed: {0}; start the shard-nodes named in the configuration")]
    Place(#[from] WireError),
}

/// A running coordinator.
pub struct Coordinator {
    service: Arc<CoordinatorService>,
    server: Server,
}

impl Coordinator {
    /// Opens the store, the meta group and the port, and places the groups.
    pub async fn start(config: CoordinatorConfig, identity: &Identity) -> Result<Self, CoordinatorError> {
        let store = NodeStore::open(&config.data_dir, &StoreOptions::default())?;
        let client = Client::new(identity, ClientOptions::default())?;
        let carrier = Arc::new(CoordinatorCarrier::new(client.clone(), config.peers));
        let groups = Groups::start(config.node, store, carrier, ConsensusConfig::default())?;
        let meta = groups.open(META_GROUP, Arc::new(MetaMachine::default())).await?;
        meta.initialize(&config.voters).await?;
        let deadline = Instant::now() + START_DEADLINE;
        let members = Members::new(client, Arc::clone(meta.machine()));
        let service = CoordinatorService::new(groups, meta.clone(), members);
        let options = ServerOptions { org_key: config.org_key, ..ServerOptions::default() };
        let server = Server::bind(config.listen, identity, service.routes(), options)?;
        let leader = meta.wait_leader(deadline).await?;
        if leader == config.node {
            // Everything committed before must be applied before anything is decided.
            meta.read_index().await?;
            let shards = config
                .shards
                .into_iter()
                .map(|(id, addr)| (id, Member { role: Role::Shard, addr: addr.to_string() }));
            let places = config.groups.into_iter().map(|(id, voters)| (id, GroupPlace { voters }));
            service.place(shards.collect(), places.collect(), deadline).await?;
        }
        Ok(Self { service, server })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// Resolves when the process should end; says why.
    pub fn fatal(&self) -> impl Future<Output = String> + Send + 'static {
        let service = Arc::clone(&self.service);
        async move { service.fatal().await }
    }

    /// Lets requests under way end within `drain`, then stops the meta group.
    pub async fn shutdown(self, drain: Duration) {
        self.server.shutdown(drain).await;
        self.service.shutdown().await;
    }
}
