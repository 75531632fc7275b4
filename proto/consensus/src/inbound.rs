//! Owns the inbound Raft calls of a group, among them the one snapshot transfer that may be under way. Knows no
//! transport and no state machine.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use openraft::error::{Fatal, RaftError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sextant_proto::ids::GroupId;
use tokio::sync::Mutex;

use crate::error::{HandleError, StoreError};
use crate::network::{BeginAnswer, CallKind, RaftCall, SnapshotBegin, SnapshotEnd, SnapshotFrame};
use crate::snapshot::{SnapshotData, Staging};
use crate::types::{Raft, Snapshot, decode, encode};

/// A group's ears.
pub(crate) struct Inbound {
    group: GroupId,
    raft: Raft,
    stage: Box<dyn Fn() -> Staging + Send + Sync>,
    last_transfer: AtomicU64,
    // A new transfer replaces the old one, which removes its rows: a leader that lost its way starts over.
    transfer: Mutex<Option<Transfer>>,
}

struct Transfer {
    id: u64,
    begin: SnapshotBegin,
    staging: Staging,
}

impl Inbound {
    pub(crate) fn new(
        group: GroupId,
        raft: Raft,
        stage: impl Fn() -> Staging + Send + Sync + 'static,
    ) -> Self {
        Self {
            group,
            raft,
            stage: Box::new(stage),
            last_transfer: AtomicU64::new(0),
            transfer: Mutex::new(None),
        }
    }

    pub(crate) fn raft(&self) -> &Raft {
        &self.raft
    }

    pub(crate) async fn handle(&self, call: &RaftCall) -> Result<Bytes, HandleError> {
        let kind = CallKind::from_number(call.kind)
            .ok_or_else(|| HandleError::Decode(format!("unknown kind {}", call.kind)))?;
        match kind {
            CallKind::Append => answer(&self.raft.append_entries(question(call)?).await.map_err(stopped)?),
            CallKind::Vote => answer(&self.raft.vote(question(call)?).await.map_err(stopped)?),
            CallKind::SnapshotBegin => answer(&self.begin(question(call)?).await?),
            CallKind::SnapshotFrame => {
                self.frame(question(call)?).await?;
                answer(&())
            }
            CallKind::SnapshotEnd => self.end(question(call)?).await,
        }
    }

    async fn begin(&self, begin: SnapshotBegin) -> Result<BeginAnswer, HandleError> {
        let vote = self.raft.with_raft_state(|state| *state.vote_ref()).await.map_err(fatal)?;
        if vote > begin.vote {
            return Ok(BeginAnswer::HigherVote { vote });
        }
        let id = 1 + self.last_transfer.fetch_add(1, Ordering::Relaxed);
        let staging = (self.stage)();
        *self.transfer.lock().await = Some(Transfer { id, begin, staging });
        Ok(BeginAnswer::Ready { transfer: id })
    }

    async fn frame(&self, call: SnapshotFrame) -> Result<(), HandleError> {
        // Held over the write: frames of one transfer come one by one.
        let mut slot = self.transfer.lock().await;
        let Some(mut transfer) = slot.take_if(|transfer| transfer.id == call.transfer) else {
            return Err(HandleError::Transfer(format!("transfer {} is not under way", call.transfer)));
        };
        let written =
            tokio::task::spawn_blocking(move || transfer.staging.take(&call.frame).map(|()| transfer));
        *slot = Some(self.joined(written).await?);
        Ok(())
    }

    async fn end(&self, call: SnapshotEnd) -> Result<Bytes, HandleError> {
        let transfer = self.transfer.lock().await.take_if(|transfer| transfer.id == call.transfer);
        let Some(Transfer { begin, staging, .. }) = transfer else {
            return Err(HandleError::Transfer(format!("transfer {} is not under way", call.transfer)));
        };
        let staged = staging.finish(&call.trailer)?;
        let snapshot = Snapshot { meta: begin.meta, snapshot: Box::new(SnapshotData::Incoming(staged)) };
        answer(&self.raft.install_full_snapshot(begin.vote, snapshot).await.map_err(fatal)?)
    }

    async fn joined<T>(
        &self,
        task: tokio::task::JoinHandle<Result<T, StoreError>>,
    ) -> Result<T, HandleError> {
        let outcome = task
            .await
            .unwrap_or_else(|error| Err(StoreError::Task { group: self.group, reason: error.to_string() }));
        Ok(outcome?)
    }
}

fn question<T: DeserializeOwned>(call: &RaftCall) -> Result<T, HandleError> {
    decode("a Raft call", &call.body).map_err(|error| HandleError::Decode(error.to_string()))
}

fn answer<T: Serialize>(value: &T) -> Result<Bytes, HandleError> {
    Ok(Bytes::from(encode("a Raft answer", value)?))
}

fn stopped(error: RaftError<u64>) -> HandleError {
    HandleError::Stopped(error.to_string())
}

fn fatal(error: Fatal<u64>) -> HandleError {
    HandleError::Stopped(error.to_string())
}
