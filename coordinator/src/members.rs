//! Reaches the replicas of a group: the leader for writes, any replica for reads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{GroupId, NodeId};
use sextant_proto::message::Request;
use sextant_transport::{Client, Endpoint};

use crate::meta::{Meta, MetaMachine};

/// First wait before a write is tried again; it doubles up to [`LAST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LAST_WAIT: Duration = Duration::from_millis(500);

/// Addresses of members, and which replica led a group last.
pub struct Members {
    client: Client,
    machine: Arc<MetaMachine>,
    leaders: Mutex<HashMap<GroupId, NodeId>>,
}

impl Members {
    /// Reads addresses from `machine`'s state.
    pub fn new(client: Client, machine: Arc<MetaMachine>) -> Self {
        Self { client, machine, leaders: Mutex::default() }
    }

    /// The state as applied here.
    pub fn meta(&self) -> Arc<Meta> {
        self.machine.meta()
    }

    /// Sends to a member.
    pub async fn call<R: Request>(
        &self,
        node: NodeId,
        request: &R,
        deadline: Instant,
    ) -> Result<R::Reply, WireError> {
        let meta = self.meta();
        let unknown = || WireError::new(ErrorCode::Unavailable, format!("node {node} is not a member"));
        let member = meta.members.get(&node).ok_or_else(unknown)?;
        let addr = member.addr.parse().map_err(|_| {
            WireError::new(
                ErrorCode::Internal,
                format!("node {node} has the address {:?}, which is none", member.addr),
            )
        })?;
        let endpoint = Endpoint { addr, role: member.role };
        self.client.call(&endpoint, request, deadline.saturating_duration_since(Instant::now())).await
    }

    /// Sends a write to the group's leader; follows hints and tries again until the deadline.
    pub async fn write<R: Request>(
        &self,
        group: GroupId,
        request: &R,
        deadline: Instant,
    ) -> Result<R::Reply, WireError> {
        let mut wait = FIRST_WAIT;
        let mut turn = 0;
        loop {
            let node = self.known_leader(group).map_or_else(|| self.replica(group, turn), Ok)?;
            let error = match self.call(node, request, deadline).await {
                Ok(reply) => {
                    self.remember(group, Some(node));
                    return Ok(reply);
                }
                Err(error) if error.is_retryable() => error,
                Err(error) => return Err(error),
            };
            turn += 1;
            let hint = error.leader.filter(|leader| *leader != node);
            self.remember(group, hint);
            if hint.is_some() {
                continue;
            }
            if Instant::now() + wait >= deadline {
                return Err(error);
            }
            tokio::time::sleep(error.retry_after_ms.map_or(wait, |ms| Duration::from_millis(ms.into())))
                .await;
            wait = (wait * 2).min(LAST_WAIT);
        }
    }

    /// Sends a read to a replica; the others are asked in turn where one cannot be reached or lags.
    pub async fn read<R: Request>(
        &self,
        group: GroupId,
        request: &R,
        deadline: Instant,
    ) -> Result<R::Reply, WireError> {
        let replicas = self.meta().groups.get(&group).map_or(0, |place| place.voters.len());
        let mut last = WireError::new(ErrorCode::Unavailable, format!("group {group} has no replica"));
        for turn in 0..replicas {
            match self.call(self.replica(group, turn)?, request, deadline).await {
                Ok(reply) => return Ok(reply),
                Err(error) if error.is_retryable() => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    fn known_leader(&self, group: GroupId) -> Option<NodeId> {
        self.leaders.lock().unwrap_or_else(PoisonError::into_inner).get(&group).copied()
    }

    fn replica(&self, group: GroupId, turn: usize) -> Result<NodeId, WireError> {
        let meta = self.meta();
        let voters = meta.groups.get(&group).map_or(&[][..], |place| &place.voters);
        let unknown = || WireError::new(ErrorCode::NotFound, format!("group {group} is not placed anywhere"));
        voters.get(turn % voters.len().max(1)).copied().ok_or_else(unknown)
    }

    fn remember(&self, group: GroupId, leader: Option<NodeId>) {
        let mut leaders = self.leaders.lock().unwrap_or_else(PoisonError::into_inner);
        match leader {
            Some(leader) => leaders.insert(group, leader),
            None => leaders.remove(&group),
        };
    }
}
