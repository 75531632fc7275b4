//! Carries consensus messages between coordinators over the transport.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;

use sextant_consensus::{CarrierError, RaftCall, RaftCarrier};
use sextant_proto::error::ErrorCode;
use sextant_proto::ids::{GroupId, NodeId};
use sextant_proto::raft::RaftRequest;
use sextant_transport::{Client, Endpoint};

/// Longest wait for one answer; consensus gives up earlier on most.
const DEADLINE: Duration = Duration::from_secs(30);

/// Sends to the nodes it knows.
#[derive(Debug)]
pub struct CoordinatorCarrier {
    client: Client,
    peers: RwLock<HashMap<NodeId, Endpoint>>,
}

impl CoordinatorCarrier {
    /// A carrier that knows `peers`.
    pub fn new(client: Client, peers: HashMap<NodeId, Endpoint>) -> Self {
        Self { client, peers: RwLock::new(peers) }
    }
}

impl RaftCarrier for CoordinatorCarrier {
    fn send(
        &self,
        target: NodeId,
        group: GroupId,
        call: RaftCall,
    ) -> BoxFuture<'static, Result<Bytes, CarrierError>> {
        let client = self.client.clone();
        let endpoint = self.peers.read().unwrap_or_else(PoisonError::into_inner).get(&target).copied();
        async move {
            let Some(endpoint) = endpoint else {
                return Err(CarrierError::Unreachable(target, "its address is not known here".into()));
            };
            let request = RaftRequest { group, kind: call.kind, body: call.body.into() };
            match client.call(&endpoint, &request, DEADLINE).await {
                Ok(reply) => Ok(reply.body.into()),
                Err(error) if error.code == ErrorCode::Unavailable => {
                    Err(CarrierError::Unreachable(target, error.to_string()))
                }
                Err(error) if error.is_retryable() => Err(CarrierError::Failed(target, error.to_string())),
                Err(error) => Err(CarrierError::Refused(target, error.to_string())),
            }
        }
        .boxed()
    }
}
