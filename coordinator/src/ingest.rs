//! Splits writes by slot among the groups of a collection. The split is pure; sending it is not.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use tokio::time::Instant;

use sextant_proto::access::Role;
use sextant_proto::coordinator::{
    CollectionInfo, DropView, MissingKeys, MissingKeysReply, Publish, Seal, Stage, Written,
};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::{CollectionId, GroupId};
use sextant_proto::publish::Batch;
use sextant_proto::shard::{
    GroupWritten, ShardDropView, ShardMissingKeys, ShardPublish, ShardSeal, ShardStage, Target,
};
use sextant_proto::slot::{Slot, SlotMap};

use crate::members::Members;

/// The collection, if the caller's slot map is the current one.
pub fn routed(members: &Members, id: CollectionId, map_version: u64) -> Result<CollectionInfo, WireError> {
    let unknown =
        || WireError::new(ErrorCode::NotFound, format!("collection {id} does not exist, or may not be seen"));
    let info = members.meta().info(id).ok_or_else(unknown)?;
    if info.slots.version != map_version {
        let message = format!(
            "slot map {map_version} is old; open the collection again for map {}",
            info.slots.version
        );
        return Err(WireError::new(ErrorCode::StaleMap, message));
    }
    Ok(info)
}

/// A batch's part of each group. Every group has one, since a view moves on in all of them at once.
pub fn split(batch: Batch, info: &CollectionInfo) -> Result<BTreeMap<GroupId, Batch>, WireError> {
    let width = info.made_with.code.width;
    batch.validate(width)?;
    let generation = batch.generation;
    let empty = || Batch { generation, ..Batch::default() };
    let mut parts: BTreeMap<GroupId, Batch> =
        info.slots.groups.iter().map(|group| (*group, empty())).collect();
    for (slot, (key, code)) in batch.vectors.slots.iter().zip(batch.vectors.iter(width)) {
        let group = group_of(&info.slots, *slot)?;
        let part = parts.get_mut(&group).ok_or_else(|| no_group(*slot))?;
        part.vectors.push(key, code, *slot);
    }
    for entry in batch.entries {
        let group = group_of(&info.slots, entry.slot())?;
        let part = parts.get_mut(&group).ok_or_else(|| no_group(entry.slot()))?;
        part.entries.push(entry);
    }
    Ok(parts)
}

fn group_of(slots: &SlotMap, slot: Slot) -> Result<GroupId, WireError> {
    slots.group_of(slot).ok_or_else(|| no_group(slot))
}

fn no_group(slot: Slot) -> WireError {
    WireError::new(ErrorCode::BadRequest, format!("slot {} has no group", slot.0))
}

fn target(group: GroupId, info: &CollectionInfo) -> Target {
    Target { group, collection: info.id, map_version: info.slots.version }
}

fn written(groups: &[GroupWritten]) -> Written {
    let mut written = Written::default();
    for group in groups {
        written.session.raise(group.mark);
    }
    written
}

/// Sends a workspace's publish to every group of the collection.
pub async fn publish(
    members: &Members,
    publisher: Role,
    request: Publish,
    deadline: Instant,
) -> Result<Written, WireError> {
    let info = routed(members, request.collection, request.map_version)?;
    let (workspace, sequence, made_with) = (request.workspace, request.sequence, info.made_with);
    check_generation(&info, &request.batch)?;
    let sends = split(request.batch, &info)?.into_iter().map(|(group, batch)| {
        let request =
            ShardPublish { target: target(group, &info), made_with, publisher, workspace, sequence, batch };
        async move { members.write(group, &request, deadline).await }
    });
    Ok(written(&try_join_all(sends).await?))
}

/// Sends files of a revision to the groups that hold them.
pub async fn stage(
    members: &Members,
    publisher: Role,
    request: Stage,
    deadline: Instant,
) -> Result<Written, WireError> {
    let info = routed(members, request.collection, request.map_version)?;
    let (revision, made_with) = (request.revision, info.made_with);
    check_generation(&info, &request.batch)?;
    let sends = split(request.batch, &info)?.into_iter().map(|(group, batch)| {
        let request = ShardStage { target: target(group, &info), made_with, publisher, revision, batch };
        async move { members.write(group, &request, deadline).await }
    });
    Ok(written(&try_join_all(sends).await?))
}

/// Seals a revision in every group of the collection, each with the slots it holds.
pub async fn seal(members: &Members, request: Seal, deadline: Instant) -> Result<Written, WireError> {
    let info = routed(members, request.collection, request.map_version)?;
    let mut parts: BTreeMap<GroupId, Vec<_>> =
        info.slots.groups.iter().map(|group| (*group, Vec::new())).collect();
    for seal in request.slots {
        let group = group_of(&info.slots, seal.slot)?;
        parts.entry(group).or_default().push(seal);
    }
    let sends = parts.into_iter().map(|(group, slots)| {
        let request = ShardSeal { target: target(group, &info), revision: request.revision, slots };
        async move { members.write(group, &request, deadline).await }
    });
    Ok(written(&try_join_all(sends).await?))
}

/// Gives a view up in every group of the collection.
pub async fn drop_view(
    members: &Members,
    request: DropView,
    deadline: Instant,
) -> Result<Written, WireError> {
    let unknown = || WireError::new(ErrorCode::NotFound, "the collection does not exist, or may not be seen");
    let info = members.meta().info(request.collection).ok_or_else(unknown)?;
    let sends = info.slots.groups.iter().map(|group| {
        let request = ShardDropView { target: target(*group, &info), view: request.view };
        async move { members.write(*group, &request, deadline).await }
    });
    Ok(written(&try_join_all(sends).await?))
}

/// Asks each group for the keys that files of its slots need.
pub async fn missing_keys(
    members: &Members,
    request: MissingKeys,
    deadline: Instant,
) -> Result<MissingKeysReply, WireError> {
    let info = routed(members, request.collection, request.map_version)?;
    let (asked, rest) = request.keys.as_chunks::<32>();
    if !rest.is_empty() || asked.len() != request.slots.len() {
        return Err(WireError::new(ErrorCode::BadRequest, "keys have 32 bytes each, and each has a slot"));
    }
    let mut parts: BTreeMap<GroupId, Vec<u8>> = BTreeMap::new();
    for (key, slot) in asked.iter().zip(&request.slots) {
        parts.entry(group_of(&info.slots, *slot)?).or_default().extend_from_slice(key);
    }
    let generation = request.generation;
    let sends = parts.into_iter().map(|(group, keys)| {
        let request = ShardMissingKeys { target: target(group, &info), generation, keys };
        async move { members.read(group, &request, deadline).await }
    });
    let replies = try_join_all(sends).await?;
    Ok(MissingKeysReply { keys: replies.into_iter().flat_map(|reply| reply.keys).collect() })
}

fn check_generation(info: &CollectionInfo, batch: &Batch) -> Result<(), WireError> {
    if batch.generation == info.generation {
        return Ok(());
    }
    let message =
        format!("generation {} is not the collection's current {}", batch.generation, info.generation);
    Err(WireError::new(ErrorCode::StaleMap, message))
}
