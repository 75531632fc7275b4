//! The embedded cluster: one coordinator, one shard-node and one embed-node in this process, over loopback QUIC.
//!
//! The same nodes as those of a cluster, started with other settings; the one place where the client names them.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sextant_coordinator::node::{Coordinator, CoordinatorConfig, CoordinatorError};
use sextant_embed::{EmbedError, EmbedService, NodeSettings};
use sextant_proto::access::Role;
use sextant_proto::ids::{GroupId, NodeId};
use sextant_shard::node::{ShardConfig, ShardError, ShardNode};
use sextant_transport::{
    Authority, Client, ClientOptions, Endpoint, OrgKey, Server, ServerOptions, TransportError,
};

use crate::cluster::Cluster;
use crate::config::{Backend, Config};

/// Ids of the nodes of an embedded cluster.
const COORDINATOR: NodeId = NodeId(1);
const SHARD: NodeId = NodeId(2);
/// Its one group of shards.
const GROUP: GroupId = GroupId(1);
/// Dimensions of the vectors of the fake backend.
const FAKE_DIMS: usize = 384;
/// What requests under way are given at the end; the caller has its answers by then.
const DRAIN: Duration = Duration::from_millis(100);
/// Days that a certificate holds; fresh ones are made at each start.
const CERTIFICATE_DAYS: u32 = 30;

/// Why the embedded cluster does not start.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// Certificates, key or network.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The shard-node.
    #[error("the shard-node did not start: {0}")]
    Shard(#[from] ShardError),
    /// The coordinator.
    #[error("the coordinator did not start: {0}")]
    Coordinator(#[from] CoordinatorError),
    /// The embed-node.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A defect, or a machine out of memory.
    #[error("loading the model ended early: {0}")]
    Task(String),
}

/// The running nodes.
pub struct Embedded {
    coordinator: Coordinator,
    shard: ShardNode,
    embed: Server,
}

/// The organisation key; made on first use. It lies with the client's data: no server holds it.
pub fn org_key(data_dir: &Path) -> Result<OrgKey, TransportError> {
    OrgKey::load_or_create(&data_dir.join("client").join("org.key"))
}

fn org_dir(data_dir: &Path) -> PathBuf {
    data_dir.join("org")
}

fn embed_service(config: &Config) -> Result<EmbedService, EmbedError> {
    match config.backend {
        Backend::Fake => EmbedService::fake(FAKE_DIMS, config.embed_sessions),
        Backend::Onnx => EmbedService::open(&NodeSettings {
            models: vec![config.model.clone()],
            library: config.onnxruntime.clone(),
            sessions: Some(config.embed_sessions),
            ..NodeSettings::default()
        }),
    }
}

/// Loads the model and tries it; its name. Cost: seconds, and the memory of one session.
pub fn try_model(config: &Config) -> Result<String, EmbedError> {
    let service = embed_service(&Config { embed_sessions: 1, ..config.clone() })?;
    Ok(service.models().models.first().map(|model| model.name.clone()).unwrap_or_default())
}

impl Embedded {
    /// Starts the nodes with their data in the data folder, and says how to reach them.
    pub async fn start(config: &Config) -> Result<(Self, Cluster), EmbeddedError> {
        let data_dir = &config.data_dir;
        // The model's weights are read while the stores open.
        let settings = config.clone();
        let model = tokio::task::spawn_blocking(move || embed_service(&settings));
        let authority = Authority::open_or_create(&org_dir(data_dir), "embedded")?;
        let key = org_key(data_dir)?.id();
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let identity = |role, name| authority.issue(role, name, CERTIFICATE_DAYS);

        let shard_config = ShardConfig {
            node: SHARD,
            data_dir: data_dir.join("shard"),
            listen: loopback,
            peers: HashMap::new(),
        };
        let shard = ShardNode::start(shard_config, &identity(Role::Shard, "shard")?).await?;
        let coordinator_config = CoordinatorConfig {
            node: COORDINATOR,
            data_dir: data_dir.join("coordinator"),
            listen: loopback,
            voters: vec![COORDINATOR],
            peers: HashMap::new(),
            shards: vec![(SHARD, shard.local_addr())],
            groups: vec![(GROUP, vec![SHARD])],
            org_key: Some(key),
        };
        let coordinator =
            Coordinator::start(coordinator_config, &identity(Role::Coordinator, "coordinator")?).await?;
        let options = ServerOptions { org_key: Some(key), ..ServerOptions::default() };
        let model = model.await.map_err(|error| EmbeddedError::Task(error.to_string()));
        let embed = match model.and_then(|opened| Ok(opened?)) {
            Ok(model) => Arc::new(model),
            Err(error) => {
                // Stopped in order: nodes that are dropped instead complain in the log, beside the error that counts.
                coordinator.shutdown(DRAIN).await;
                shard.shutdown(DRAIN).await;
                return Err(error);
            }
        };
        let embed = Server::bind(loopback, &identity(Role::Embed, "embed")?, embed.routes(), options)?;

        let options = ClientOptions { org_key: Some(key), ..ClientOptions::default() };
        let client = Client::new(&identity(Role::Client, "local")?, options)?;
        let at = |addr, role| Endpoint { addr, role };
        let cluster = Cluster::new(
            client,
            at(coordinator.local_addr(), Role::Coordinator),
            at(embed.local_addr(), Role::Embed),
        );
        Ok((Self { coordinator, shard, embed }, cluster))
    }

    /// Resolves when a node has died; says why.
    pub async fn fatal(&self) -> String {
        tokio::select! {
            reason = self.coordinator.fatal() => reason,
            reason = self.shard.fatal() => reason,
        }
    }

    /// Stops the nodes, callers first.
    pub async fn shutdown(self) {
        self.embed.shutdown(DRAIN).await;
        self.coordinator.shutdown(DRAIN).await;
        self.shard.shutdown(DRAIN).await;
    }
}
