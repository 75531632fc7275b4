//! Starts a shard-node: store, groups, service, server.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sextant_consensus::{ConsensusConfig, Groups, NodeStore, OpenError, StoreError, StoreOptions};
use sextant_proto::ids::NodeId;
use sextant_transport::{Client, ClientOptions, Endpoint, Identity, Server, ServerOptions, TransportError};

use crate::carrier::ShardCarrier;
use crate::service::ShardService;

/// Settings of a shard-node.
#[derive(Debug, Clone)]
pub struct ShardConfig {
    /// Its id in the cluster.
    pub node: NodeId,
    /// Folder of its store.
    pub data_dir: PathBuf,
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The other shard-nodes.
    pub peers: HashMap<NodeId, Endpoint>,
}

/// Why a shard-node does not start.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A group.
    #[error(transparent)]
    Group(#[from] OpenError),
    /// The network.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// A running shard-node.
pub struct ShardNode {
    service: Arc<ShardService>,
    server: Server,
}

impl ShardNode {
    /// Opens the store, its groups and the port.
    pub async fn start(config: ShardConfig, identity: &Identity) -> Result<Self, ShardError> {
        let store = NodeStore::open(&config.data_dir, &StoreOptions::default())?;
        let client = Client::new(identity, ClientOptions::default())?;
        let carrier = Arc::new(ShardCarrier::new(client, config.peers));
        let groups = Groups::start(config.node, store, carrier, ConsensusConfig::default())?;
        let service = ShardService::start(groups).await?;
        let server = Server::bind(config.listen, identity, service.routes(), ServerOptions::default())?;
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

    /// Lets requests under way end within `drain`, then stops the groups.
    pub async fn shutdown(self, drain: Duration) {
        self.server.shutdown(drain).await;
        self.service.shutdown().await;
    }
}
