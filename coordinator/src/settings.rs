//! The settings file of a coordinator, as a typed value and as what the node starts with.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use sextant_proto::access::Role;
use sextant_proto::ids::{GroupId, NodeId};
use sextant_transport::{Endpoint, Identity, TransportError};

use crate::node::CoordinatorConfig;

/// The file. Unknown keys are refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinatorSettings {
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
    /// Every coordinator, this one among them.
    pub coordinators: Vec<NodeAddress>,
    /// Every shard-node.
    pub shards: Vec<NodeAddress>,
    /// The groups and the shard-nodes that hold them.
    pub groups: Vec<GroupVoters>,
    /// Hash of the organisation key, hexadecimal; clients that hold another key are refused.
    #[serde(default)]
    pub org_key_id: Option<String>,
}

/// Where a node listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeAddress {
    /// Its id.
    pub node: NodeId,
    /// Its address.
    pub addr: SocketAddr,
}

/// Where a group's replicas are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupVoters {
    /// The group.
    pub group: GroupId,
    /// Its voters.
    pub voters: Vec<NodeId>,
}

impl CoordinatorSettings {
    /// The identity in the folder that the file names.
    pub fn identity(&self) -> Result<Identity, TransportError> {
        let file = |name| self.identity.join(name);
        Identity::from_files(&file("ca.crt"), &file("node.crt"), &file("node.key"))
    }

    /// What the node starts with.
    pub fn config(&self) -> Result<CoordinatorConfig, sextant_proto::ids::ParseIdError> {
        let others = self.coordinators.iter().filter(|other| other.node != self.node);
        let peers: HashMap<_, _> = others
            .map(|other| (other.node, Endpoint { addr: other.addr, role: Role::Coordinator }))
            .collect();
        Ok(CoordinatorConfig {
            node: self.node,
            data_dir: self.data_dir.clone(),
            listen: self.listen,
            voters: self.coordinators.iter().map(|coordinator| coordinator.node).collect(),
            peers,
            shards: self.shards.iter().map(|shard| (shard.node, shard.addr)).collect(),
            groups: self.groups.iter().map(|group| (group.group, group.voters.clone())).collect(),
            org_key: self.org_key_id.as_deref().map(str::parse).transpose()?,
        })
    }
}
