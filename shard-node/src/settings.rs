//! The settings file of a shard-node, as a typed value and as what the node starts with.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use sextant_proto::access::Role;
use sextant_proto::ids::NodeId;
use sextant_transport::{Endpoint, Identity, TransportError};

use crate::node::ShardConfig;

/// The file. Unknown keys are refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardSettings {
    /// The node's id; never used again by another node.
    pub node: NodeId,
    /// Address of the server.
    pub listen: SocketAddr,
    /// Folder of the store.
    pub data_dir: PathBuf,
    /// Folder with the node's identity: `ca.crt`, `node.crt`, `node.key` (0600).
    pub identity: PathBuf,
    /// Address of the Prometheus exporter; none by default.
    #[serde(default)]
    pub metrics: Option<SocketAddr>,
    /// The other shard-nodes.
    #[serde(default)]
    pub peers: Vec<PeerAddress>,
}

/// Where another node listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerAddress {
    /// Its id.
    pub node: NodeId,
    /// Its address.
    pub addr: SocketAddr,
}

impl ShardSettings {
    /// The identity in the folder that the file names.
    pub fn identity(&self) -> Result<Identity, TransportError> {
        let file = |name| self.identity.join(name);
        Identity::from_files(&file("ca.crt"), &file("node.crt"), &file("node.key"))
    }

    /// What the node starts with.
    pub fn config(&self) -> ShardConfig {
        let endpoint = |peer: &PeerAddress| (peer.node, Endpoint { addr: peer.addr, role: Role::Shard });
        let peers: HashMap<_, _> = self.peers.iter().map(endpoint).collect();
        ShardConfig { node: self.node, data_dir: self.data_dir.clone(), listen: self.listen, peers }
    }
}
