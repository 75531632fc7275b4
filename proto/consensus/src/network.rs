//! Owns the outbound Raft calls of a group: their form, and the sending of a snapshot frame by frame. Knows no
//! transport: bytes go through a [`RaftCarrier`].

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use openraft::error::{
    Fatal, NetworkError, RPCError, RaftError, ReplicationClosed, StreamingError, Unreachable,
};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse,
};
use openraft::{EmptyNode, OptionalSend};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sextant_proto::ids::{GroupId, NodeId};

use crate::error::{CarrierError, StoreError};
use crate::snapshot::{Frame, Piece, SnapshotData, SnapshotReader, Trailer};
use crate::types::{Snapshot, SnapshotMeta, TypeConfig, Vote, decode, encode};

/// One Raft message to a group's replica on another node. The transport moves it unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaftCall {
    /// What the body is; only this library knows the numbers.
    pub kind: u8,
    pub body: Bytes,
}

/// Moves Raft calls between nodes; node libraries implement it over their transport.
pub trait RaftCarrier: Send + Sync + 'static {
    /// Delivers `call` to [`crate::Groups::handle`] on `target` and returns its answer.
    ///
    /// Must not wait for ever: Raft drops the future after its own time limit (one heartbeat interval for log
    /// entries and votes, [`crate::ConsensusConfig::frame_timeout_ms`] for a snapshot's frames). A call may be
    /// delivered twice or not at all.
    fn send(
        &self,
        target: NodeId,
        group: GroupId,
        call: RaftCall,
    ) -> BoxFuture<'static, Result<Bytes, CarrierError>>;
}

/// The numbers of [`RaftCall::kind`]. Frozen: they are on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CallKind {
    Append = 1,
    Vote = 2,
    SnapshotBegin = 3,
    SnapshotFrame = 4,
    SnapshotEnd = 5,
}

impl CallKind {
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        [Self::Append, Self::Vote, Self::SnapshotBegin, Self::SnapshotFrame, Self::SnapshotEnd]
            .into_iter()
            .find(|kind| *kind as u8 == number)
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotBegin {
    pub(crate) vote: Vote,
    pub(crate) meta: SnapshotMeta,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum BeginAnswer {
    Ready { transfer: u64 },
    HigherVote { vote: Vote },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotFrame {
    pub(crate) transfer: u64,
    pub(crate) frame: Frame,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotEnd {
    pub(crate) transfer: u64,
    pub(crate) trailer: Trailer,
}

/// How often one snapshot call is tried before the whole transfer fails and starts again.
const SNAPSHOT_CALL_TRIES: usize = 3;

/// Makes the outbound half of a group's connections.
pub(crate) struct Peers {
    pub(crate) carrier: Arc<dyn RaftCarrier>,
    pub(crate) group: GroupId,
}

/// The outbound half of a group's connection to one other replica.
pub(crate) struct Peer {
    carrier: Arc<dyn RaftCarrier>,
    group: GroupId,
    target: NodeId,
}

impl RaftNetworkFactory<TypeConfig> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, _node: &EmptyNode) -> Peer {
        Peer { carrier: Arc::clone(&self.carrier), group: self.group, target: NodeId(target) }
    }
}

/// A call's failure before openraft's error types, of which there are several.
enum CallError {
    Local(StoreError),
    Carrier(CarrierError),
    TimedOut(Duration),
}

impl Peer {
    async fn call<Q: Serialize, A: DeserializeOwned>(
        &self,
        kind: CallKind,
        question: &Q,
    ) -> Result<A, CallError> {
        let body = encode("a Raft call", question).map_err(CallError::Local)?;
        let call = RaftCall { kind: kind as u8, body: Bytes::from(body) };
        let answer = self.carrier.send(self.target, self.group, call).await.map_err(CallError::Carrier)?;
        decode("a Raft answer", &answer).map_err(CallError::Local)
    }

    async fn call_within<Q: Serialize, A: DeserializeOwned>(
        &self,
        kind: CallKind,
        question: &Q,
        limit: Duration,
    ) -> Result<A, CallError> {
        let mut tries = 1;
        loop {
            let outcome = tokio::time::timeout(limit, self.call(kind, question))
                .await
                .unwrap_or(Err(CallError::TimedOut(limit)));
            match outcome {
                Err(CallError::Carrier(CarrierError::Failed(..)) | CallError::TimedOut(_))
                    if tries < SNAPSHOT_CALL_TRIES =>
                {
                    tries += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn send_snapshot(
        &self,
        begin: SnapshotBegin,
        mut reader: SnapshotReader,
        limit: Duration,
    ) -> Result<SnapshotResponse<u64>, CallError> {
        let transfer = match self.call_within(CallKind::SnapshotBegin, &begin, limit).await? {
            BeginAnswer::HigherVote { vote } => return Ok(SnapshotResponse::new(vote)),
            BeginAnswer::Ready { transfer } => transfer,
        };
        loop {
            match reader.next().await.map_err(CallError::Local)? {
                Piece::Frame(frame) => {
                    let frame = SnapshotFrame { transfer, frame };
                    let () = self.call_within(CallKind::SnapshotFrame, &frame, limit).await?;
                }
                Piece::End(trailer) => {
                    let end = SnapshotEnd { transfer, trailer };
                    return self.call_within(CallKind::SnapshotEnd, &end, limit).await;
                }
            }
        }
    }
}

/// The receiver's own faults count as unreachable: retrying at once would only burn a core.
fn unreachable(error: &(impl std::error::Error + 'static)) -> Unreachable {
    Unreachable::new(error)
}

type Rpc<T> = Result<T, RPCError<u64, EmptyNode, RaftError<u64>>>;

fn rpc<T>(outcome: Result<T, CallError>) -> Rpc<T> {
    outcome.map_err(|error| match error {
        CallError::Carrier(error @ CarrierError::Failed(..)) => NetworkError::new(&error).into(),
        CallError::Carrier(error) => unreachable(&error).into(),
        CallError::Local(error) => unreachable(&error).into(),
        CallError::TimedOut(limit) => NetworkError::new(&timed_out(limit)).into(),
    })
}

fn timed_out(limit: Duration) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no answer within {limit:?}"))
}

impl RaftNetwork<TypeConfig> for Peer {
    async fn append_entries(
        &mut self,
        call: AppendEntriesRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Rpc<AppendEntriesResponse<u64>> {
        rpc(self.call(CallKind::Append, &call).await)
    }

    async fn vote(&mut self, call: VoteRequest<u64>, _option: RPCOption) -> Rpc<VoteResponse<u64>> {
        rpc(self.call(CallKind::Vote, &call).await)
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: Snapshot,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        option: RPCOption,
    ) -> Result<SnapshotResponse<u64>, StreamingError<TypeConfig, Fatal<u64>>> {
        let SnapshotData::Outgoing(reader) = *snapshot.snapshot else {
            let error = StoreError::Snapshot("only a snapshot read from the store can be sent".to_owned());
            return Err(StreamingError::Unreachable(unreachable(&error)));
        };
        let begin = SnapshotBegin { vote, meta: snapshot.meta };
        let sent = tokio::select! {
            closed = cancel => return Err(closed.into()),
            sent = self.send_snapshot(begin, reader, option.hard_ttl()) => sent,
        };
        sent.map_err(|error| {
            StreamingError::Unreachable(match error {
                CallError::Carrier(error) => unreachable(&error),
                CallError::Local(error) => unreachable(&error),
                CallError::TimedOut(limit) => unreachable(&timed_out(limit)),
            })
        })
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(Duration::from_millis(200)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_frozen() {
        let numbers: Vec<_> =
            (0..=u8::MAX).filter_map(CallKind::from_number).map(|kind| kind as u8).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        assert_eq!(CallKind::from_number(4), Some(CallKind::SnapshotFrame));
    }
}
