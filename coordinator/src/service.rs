//! Answers a coordinator's routes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use tokio::time::Instant;

use sextant_consensus::{Group, Groups, RaftCall, WriteError};
use sextant_proto::access::Role;
use sextant_proto::code::Generation;
use sextant_proto::coordinator::{
    ClusterStatus, ClusterStatusReply, CollectionInfo, CollectionStatus, Done, DropView, MissingKeys,
    MissingKeysReply, OpenCollection, Publish, Seal, Search, SearchReply, SetBranch, Stage, Written,
};
use sextant_proto::coverage::{Coverage, Missing};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{CollectionId, GroupId, NodeId};
use sextant_proto::message::{decode, encode};
use sextant_proto::raft::{RaftReply, RaftRequest};
use sextant_proto::shard::{CollectionCounts, ShardOpenGroup, ShardStatus};
use sextant_transport::{CallContext, Routes};

use crate::members::Members;
use crate::meta::{GroupPlace, Member, MetaAnswer, MetaCommand, MetaMachine};
use crate::{ingest, query};

/// Answers over the meta group and the members.
pub struct CoordinatorService {
    groups: Groups,
    meta: Group<MetaMachine>,
    members: Members,
}

impl CoordinatorService {
    /// A service over an open meta group.
    pub fn new(groups: Groups, meta: Group<MetaMachine>, members: Members) -> Arc<Self> {
        Arc::new(Self { groups, meta, members })
    }

    /// The routes, each with the roles that may use it.
    pub fn routes(self: &Arc<Self>) -> Routes {
        macro_rules! to {
            ($routes:expr, $request:ty, $method:ident, $roles:expr) => {{
                let service = Arc::clone(self);
                $routes.on::<$request, _, _>($roles, move |context, request| {
                    let service = Arc::clone(&service);
                    async move { service.$method(context, request).await }
                })
            }};
        }
        let clients = &[Role::Client, Role::Ci];
        let routes = to!(Routes::new(), OpenCollection, open_collection, clients);
        let routes = to!(routes, ClusterStatus, cluster_status, clients);
        let routes = to!(routes, MissingKeys, missing_keys, clients);
        let routes = to!(routes, Publish, publish, clients);
        let routes = to!(routes, Stage, stage, clients);
        let routes = to!(routes, Seal, seal, clients);
        let routes = to!(routes, SetBranch, set_branch, clients);
        let routes = to!(routes, DropView, drop_view, clients);
        let routes = to!(routes, Search, search, clients);
        to!(routes, RaftRequest, raft, &[Role::Coordinator])
    }

    /// Records shard-nodes and groups, and makes the replicas of groups that are new.
    pub async fn place(
        &self,
        members: Vec<(NodeId, Member)>,
        groups: Vec<(GroupId, GroupPlace)>,
        deadline: Instant,
    ) -> Result<(), WireError> {
        for (id, member) in members {
            if self.members.meta().members.get(&id) != Some(&member) {
                self.change(MetaCommand::PutMember(id, member)).await?;
            }
        }
        for (group, place) in groups {
            for voter in &place.voters {
                let request = ShardOpenGroup { group, voters: place.voters.clone() };
                self.members.call(*voter, &request, deadline).await?;
            }
            if !self.members.meta().groups.contains_key(&group) {
                self.change(MetaCommand::AddGroup(group, place)).await?;
            }
        }
        Ok(())
    }

    async fn change(&self, command: MetaCommand) -> Result<(), WireError> {
        let applied = self.meta.write(Bytes::from(encode(&command)?)).await.map_err(write_error)?;
        decode::<MetaAnswer>(&applied.reply)?.refused.map_or(Ok(()), Err)
    }

    async fn open_collection(
        &self,
        _context: CallContext,
        request: OpenCollection,
    ) -> Result<CollectionInfo, WireError> {
        let made_with = Generation { model: request.model, code: request.code };
        let known = |service: &Self| {
            let meta = service.members.meta();
            meta.by_name(&request.name).and_then(|(id, _)| meta.info(id))
        };
        if let Some(info) = known(self)
            && (info.made_with == made_with || !request.create)
        {
            return Ok(info);
        }
        if request.create {
            self.change(MetaCommand::OpenCollection(request.name.clone(), made_with)).await?;
        }
        known(self).ok_or_else(|| {
            WireError::new(ErrorCode::NotFound, "the collection does not exist, or may not be seen")
        })
    }

    async fn missing_keys(
        &self,
        context: CallContext,
        request: MissingKeys,
    ) -> Result<MissingKeysReply, WireError> {
        ingest::missing_keys(&self.members, request, context.deadline).await
    }

    async fn publish(&self, context: CallContext, request: Publish) -> Result<Written, WireError> {
        ingest::publish(&self.members, context.peer.role, request, context.deadline).await
    }

    async fn stage(&self, context: CallContext, request: Stage) -> Result<Written, WireError> {
        ingest::stage(&self.members, context.peer.role, request, context.deadline).await
    }

    async fn seal(&self, context: CallContext, request: Seal) -> Result<Written, WireError> {
        ingest::seal(&self.members, request, context.deadline).await
    }

    async fn drop_view(&self, context: CallContext, request: DropView) -> Result<Written, WireError> {
        ingest::drop_view(&self.members, request, context.deadline).await
    }

    async fn set_branch(&self, _context: CallContext, request: SetBranch) -> Result<Done, WireError> {
        self.change(MetaCommand::SetBranch(request.collection, request.branch, request.revision)).await?;
        Ok(Done {})
    }

    async fn search(&self, context: CallContext, request: Search) -> Result<SearchReply, WireError> {
        query::search(&self.members, request, context.deadline).await
    }

    async fn cluster_status(
        &self,
        context: CallContext,
        _: ClusterStatus,
    ) -> Result<ClusterStatusReply, WireError> {
        let meta = self.members.meta();
        let asks = meta.groups.keys().map(|group| async move {
            (*group, self.members.read(*group, &ShardStatus { group: *group }, context.deadline).await)
        });
        let mut counts: BTreeMap<CollectionId, CollectionCounts> = BTreeMap::new();
        let mut coverage = Coverage::default();
        for (group, reply) in join_all(asks).await {
            coverage.asked += 1;
            match reply {
                Ok(reply) => {
                    coverage.answered += 1;
                    for part in reply.collections {
                        let sum = counts.entry(part.collection).or_insert_with(|| CollectionCounts {
                            collection: part.collection,
                            file_versions: 0,
                            vectors: 0,
                            code_bytes: 0,
                        });
                        sum.file_versions += part.file_versions;
                        sum.vectors += part.vectors;
                        sum.code_bytes += part.code_bytes;
                    }
                }
                Err(error) => coverage.missing.push(Missing { group, code: error.code }),
            }
        }
        let collections = meta.collections.keys().filter_map(|id| {
            let count = counts.get(id);
            Some(CollectionStatus {
                info: meta.info(*id)?,
                file_versions: count.map_or(0, |count| count.file_versions),
                vectors: count.map_or(0, |count| count.vectors),
                code_bytes: count.map_or(0, |count| count.code_bytes),
            })
        });
        Ok(ClusterStatusReply { collections: collections.collect(), coverage })
    }

    async fn raft(&self, _context: CallContext, request: RaftRequest) -> Result<RaftReply, WireError> {
        let call = RaftCall { kind: request.kind, body: request.body.into() };
        let body = self.groups.handle(request.group, call).await;
        let body = body.map_err(|error| WireError::new(ErrorCode::Unavailable, error.to_string()))?;
        Ok(RaftReply { body: body.into() })
    }

    /// Resolves when the meta group's Raft core has died.
    pub async fn fatal(&self) -> String {
        self.meta.watch_fatal().await.to_string()
    }

    /// Stops the meta group.
    pub async fn shutdown(&self) {
        self.groups.shutdown().await;
    }
}

/// Turns a refused write into its wire form.
pub fn write_error(error: WriteError) -> WireError {
    let message = error.to_string();
    match error {
        WriteError::ForwardToLeader { leader } => {
            WireError { leader, ..WireError::new(ErrorCode::NotLeader, message) }
        }
        WriteError::TooLarge { .. } => WireError::new(ErrorCode::TooLarge, message),
        WriteError::Overloaded { retry_after } => WireError::overloaded(
            message,
            u32::try_from(Duration::as_millis(&retry_after)).unwrap_or(u32::MAX),
        ),
        WriteError::Membership(_) => WireError::new(ErrorCode::BadRequest, message),
        WriteError::Stopped(_) => WireError::new(ErrorCode::ShuttingDown, message),
    }
}
