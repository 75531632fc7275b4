//! Roles, principals and rights.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Role in a certificate's URI: `spiffe://ORG/{role}/NAME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A laptop.
    Client,
    /// A build runner.
    Ci,
    /// An embed-node.
    Embed,
    /// A shard-node.
    Shard,
    /// A coordinator.
    Coordinator,
}

impl Role {
    /// As written in a URI.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Ci => "ci",
            Self::Embed => "embed",
            Self::Shard => "shard",
            Self::Coordinator => "coordinator",
        }
    }
}

/// Who is on the other side of a connection, as its certificate says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Peer {
    /// The organisation.
    pub org: String,
    /// The role.
    pub role: Role,
    /// The name within the role; for clients, the principal.
    pub name: String,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "spiffe://{}/{}/{}", self.org, self.role.name(), self.name)
    }
}

/// A URI that names no peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not of the form spiffe://ORG/{{client|ci|embed|shard|coordinator}}/NAME")]
pub struct ParsePeerError(pub String);

impl FromStr for Peer {
    type Err = ParsePeerError;

    fn from_str(uri: &str) -> Result<Self, ParsePeerError> {
        let wrong = || ParsePeerError(uri.chars().take(200).collect());
        let mut parts = uri.strip_prefix("spiffe://").ok_or_else(wrong)?.split('/');
        let (Some(org), Some(role), Some(name), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        let role = [Role::Client, Role::Ci, Role::Embed, Role::Shard, Role::Coordinator]
            .into_iter()
            .find(|known| known.name() == role)
            .ok_or_else(wrong)?;
        if org.is_empty() || name.is_empty() {
            return Err(wrong());
        }
        Ok(Self { org: org.into(), role, name: name.into() })
    }
}

/// What a principal may do with a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Search it.
    Read,
    /// Publish to it.
    Publish,
    /// Change its rights and settings.
    Admin,
}
