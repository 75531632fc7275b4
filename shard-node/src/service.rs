//! Answers a shard-node's routes: writes go through the group's log, reads through its memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Mutex, watch};

use sextant_consensus::{Group, Groups, RaftCall, ReadError, WriteError};
use sextant_kernels::Kernels;
use sextant_proto::access::Role;
use sextant_proto::coordinator::{Done, MissingKeysReply};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{ChunkKey, GroupId, NodeId};
use sextant_proto::limits::MAX_KEYS;
use sextant_proto::raft::{RaftReply, RaftRequest};
use sextant_proto::shard::{
    CollectionCounts, GroupWritten, ShardDropView, ShardMissingKeys, ShardOpenGroup, ShardPublish, ShardSeal,
    ShardSearch, ShardSearchReply, ShardStage, ShardStatus, ShardStatusReply,
};
use sextant_proto::view::GroupMark;
use sextant_transport::Routes;

use crate::apply::{Answer, Command, GroupMachine};
use crate::query::search;
use crate::store::keys;

/// How long a replica waits for what a session token asks before it answers `Behind`.
const CATCH_UP: Duration = Duration::from_millis(200);

type GroupHandle = Group<GroupMachine>;

/// The groups of a node and what they answer.
pub struct ShardService {
    groups: Groups,
    open: Mutex<HashMap<GroupId, GroupHandle>>,
    kernels: Kernels,
    dead: watch::Sender<Option<String>>,
}

impl ShardService {
    /// A service over `groups`; opens those that have state on this node.
    pub async fn start(groups: Groups) -> Result<Arc<Self>, sextant_consensus::OpenError> {
        let known = groups.store().groups()?;
        let service = Arc::new(Self {
            groups,
            open: Mutex::default(),
            kernels: Kernels::detect(),
            dead: watch::Sender::new(None),
        });
        for group in known {
            service.open_group(group).await?;
        }
        Ok(service)
    }

    /// The routes, each with the roles that may use it.
    pub fn routes(self: &Arc<Self>) -> Routes {
        macro_rules! to {
            ($routes:expr, $request:ty, $method:ident, $roles:expr) => {{
                let service = Arc::clone(self);
                $routes.on::<$request, _, _>($roles, move |_, request| {
                    let service = Arc::clone(&service);
                    async move { service.$method(request).await }
                })
            }};
        }
        let coordinator = &[Role::Coordinator];
        let routes = to!(Routes::new(), ShardOpenGroup, create_group, coordinator);
        let routes = to!(routes, ShardMissingKeys, missing_keys, coordinator);
        let routes = to!(routes, ShardPublish, publish, coordinator);
        let routes = to!(routes, ShardStage, stage, coordinator);
        let routes = to!(routes, ShardSeal, seal, coordinator);
        let routes = to!(routes, ShardDropView, drop_view, coordinator);
        let routes = to!(routes, ShardSearch, search, coordinator);
        let routes = to!(routes, ShardStatus, status, coordinator);
        to!(routes, RaftRequest, raft, &[Role::Shard])
    }

    /// Resolves when a group's Raft core has died: the process should end and be started again.
    pub async fn fatal(&self) -> String {
        let mut dead = self.dead.subscribe();
        let reason = dead.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
        match reason {
            Some(reason) => reason,
            None => std::future::pending().await,
        }
    }

    /// Stops every group.
    pub async fn shutdown(&self) {
        self.open.lock().await.clear();
        self.groups.shutdown().await;
    }

    async fn open_group(&self, id: GroupId) -> Result<GroupHandle, sextant_consensus::OpenError> {
        let mut open = self.open.lock().await;
        if let Some(group) = open.get(&id) {
            return Ok(group.clone());
        }
        let group = self.groups.open(id, Arc::new(GroupMachine::default())).await?;
        let (fatal, dead) = (group.watch_fatal(), self.dead.clone());
        tokio::spawn(async move { dead.send_replace(Some(fatal.await.to_string())) });
        open.insert(id, group.clone());
        Ok(group)
    }

    async fn group(&self, id: GroupId) -> Result<GroupHandle, WireError> {
        let unknown =
            || WireError::new(ErrorCode::NotFound, format!("group {id} has no replica on this node"));
        self.open.lock().await.get(&id).cloned().ok_or_else(unknown)
    }

    async fn create_group(&self, request: ShardOpenGroup) -> Result<Done, WireError> {
        let group = self.open_group(request.group).await.map_err(internal)?;
        if request.voters.contains(&self.node()) {
            group.initialize(&request.voters).await.map_err(write_error)?;
            let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
            group.wait_leader(deadline).await.map_err(read_error)?;
        }
        Ok(Done {})
    }

    fn node(&self) -> NodeId {
        self.groups.node()
    }

    async fn write(&self, id: GroupId, command: Command) -> Result<GroupWritten, WireError> {
        let group = self.group(id).await?;
        let bytes = Bytes::from(command.encode()?);
        let applied = group.write(bytes).await.map_err(write_error)?;
        Answer::into_result(&applied.reply)?;
        let incarnation = group.position().incarnation;
        Ok(GroupWritten { mark: GroupMark { group: id, incarnation, applied: applied.index } })
    }

    async fn publish(&self, request: ShardPublish) -> Result<GroupWritten, WireError> {
        let ShardPublish { target, made_with, publisher, workspace, sequence, batch } = request;
        let collection = target.collection;
        let command = Command::Publish { collection, made_with, publisher, workspace, sequence, batch };
        self.write(target.group, command).await
    }

    async fn stage(&self, request: ShardStage) -> Result<GroupWritten, WireError> {
        let ShardStage { target, made_with, publisher, revision, batch } = request;
        let command = Command::Stage { collection: target.collection, made_with, publisher, revision, batch };
        self.write(target.group, command).await
    }

    async fn seal(&self, request: ShardSeal) -> Result<GroupWritten, WireError> {
        let ShardSeal { target, revision, slots } = request;
        self.write(target.group, Command::Seal { collection: target.collection, revision, slots }).await
    }

    async fn drop_view(&self, request: ShardDropView) -> Result<GroupWritten, WireError> {
        let ShardDropView { target, view } = request;
        self.write(target.group, Command::DropView { collection: target.collection, view }).await
    }

    async fn missing_keys(&self, request: ShardMissingKeys) -> Result<MissingKeysReply, WireError> {
        let group = self.group(request.target.group).await?;
        let (asked, rest) = request.keys.as_chunks::<32>();
        if !rest.is_empty() || asked.len() > MAX_KEYS {
            let message = format!("keys have 32 bytes each, and a request at most {MAX_KEYS} of them");
            return Err(WireError::new(ErrorCode::BadRequest, message));
        }
        let (collection, generation) = (request.target.collection, request.generation);
        let row_keys: Vec<_> =
            asked.iter().map(|key| keys::chunk_key(collection, generation, &ChunkKey(*key))).collect();
        let found = blocking(move || group.view().get_many(&row_keys)).await?.map_err(internal)?;
        let missing =
            asked.iter().zip(found).filter(|(_, row)| row.is_none()).flat_map(|(key, _)| *key).collect();
        Ok(MissingKeysReply { keys: missing })
    }

    async fn search(&self, request: ShardSearch) -> Result<ShardSearchReply, WireError> {
        let group = self.group(request.target.group).await?;
        let mut position = group.position();
        if let Some(mark) = request.session.mark(request.target.group)
            && mark.incarnation == position.incarnation
            && mark.applied > position.applied
        {
            let deadline = tokio::time::Instant::now() + CATCH_UP;
            position = group.wait_applied(mark.applied, deadline).await.map_err(read_error)?;
        }
        let behind = group.status().last_log.map_or(0, |last| last.0.saturating_sub(position.applied.0));
        let kernels = self.kernels;
        let machine = Arc::clone(group.machine());
        let target = request.target.clone();
        // Dropped with this future: when the asker went away or the deadline passed, the scan stops too.
        let asker = Arc::new(());
        let waits = Arc::downgrade(&asker);
        let found =
            blocking(move || search(&machine.read(), kernels, &request, &|| waits.strong_count() == 0))
                .await??;
        drop(asker);
        metrics::histogram!("scan_seconds").record(found.scan_us as f64 / 1e6);
        metrics::counter!("scan_bytes_total").increment(found.bytes);
        metrics::counter!("scan_vectors_total").increment(found.scanned);
        let mark =
            GroupMark { group: target.group, incarnation: position.incarnation, applied: position.applied };
        Ok(ShardSearchReply {
            hits: found.hits,
            mark,
            behind,
            scanned: found.scanned,
            scan_us: found.scan_us,
        })
    }

    async fn status(&self, request: ShardStatus) -> Result<ShardStatusReply, WireError> {
        let started = Instant::now();
        let group = self.group(request.group).await?;
        let position = group.position();
        let memory = group.machine().read();
        let collections = memory
            .collections()
            .map(|(collection, part)| CollectionCounts {
                collection,
                file_versions: part.file_count(),
                vectors: part.generations.values().map(|generation| generation.arena.len() as u64).sum(),
                code_bytes: part.generations.values().map(|generation| generation.arena.bytes() as u64).sum(),
            })
            .collect();
        tracing::debug!(group = %request.group, took = ?started.elapsed(), "counted");
        let mark =
            GroupMark { group: request.group, incarnation: position.incarnation, applied: position.applied };
        Ok(ShardStatusReply { mark, collections })
    }

    async fn raft(&self, request: RaftRequest) -> Result<RaftReply, WireError> {
        let call = RaftCall { kind: request.kind, body: request.body.into() };
        let body = self.groups.handle(request.group, call).await;
        let body = body.map_err(|error| WireError::new(ErrorCode::Unavailable, error.to_string()))?;
        Ok(RaftReply { body: body.into() })
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, WireError> {
    tokio::task::spawn_blocking(work).await.map_err(internal)
}

fn internal(error: impl ToString) -> WireError {
    WireError::new(ErrorCode::Internal, error.to_string())
}

fn write_error(error: WriteError) -> WireError {
    let message = error.to_string();
    match error {
        WriteError::ForwardToLeader { leader } => {
            WireError { leader, ..WireError::new(ErrorCode::NotLeader, message) }
        }
        WriteError::TooLarge { .. } => WireError::new(ErrorCode::TooLarge, message),
        WriteError::Overloaded { retry_after } => {
            WireError::overloaded(message, retry_after.as_millis() as u32)
        }
        WriteError::Membership(_) => WireError::new(ErrorCode::BadRequest, message),
        WriteError::Stopped(_) => WireError::new(ErrorCode::ShuttingDown, message),
    }
}

fn read_error(error: ReadError) -> WireError {
    let message = error.to_string();
    match error {
        ReadError::ForwardToLeader { leader } => {
            WireError { leader, ..WireError::new(ErrorCode::NotLeader, message) }
        }
        ReadError::NoQuorum(_) => WireError::new(ErrorCode::Unavailable, message),
        ReadError::Behind { .. } => WireError::new(ErrorCode::Behind, message),
        ReadError::Stopped(_) => WireError::new(ErrorCode::ShuttingDown, message),
    }
}
