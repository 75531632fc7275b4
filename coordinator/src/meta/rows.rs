//! Rows of the meta state: `m` node, `g` group, `c` collection; each with a format version in front.

use std::ops::ControlFlow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use sextant_consensus::{Changes, DataView, MachineError};
use sextant_proto::ids::{CollectionId, GroupId, NodeId};

use super::state::{Collection, GroupPlace, Member, Meta};

/// Version that this program writes.
const FORMAT: u8 = 1;

const MEMBERS: u8 = b'm';
const GROUPS: u8 = b'g';
const COLLECTIONS: u8 = b'c';

pub(super) fn put_member(changes: &mut Changes<'_>, id: NodeId, row: &Member) -> Result<(), MachineError> {
    put(changes, MEMBERS, id.0, row)
}

pub(super) fn put_group(
    changes: &mut Changes<'_>,
    id: GroupId,
    row: &GroupPlace,
) -> Result<(), MachineError> {
    put(changes, GROUPS, id.0, row)
}

pub(super) fn put_collection(
    changes: &mut Changes<'_>,
    id: CollectionId,
    row: &Collection,
) -> Result<(), MachineError> {
    put(changes, COLLECTIONS, id.0, row)
}

/// Reads every row.
pub(super) fn load(view: &DataView) -> Result<Meta, MachineError> {
    let mut meta = Meta::default();
    each(view, MEMBERS, |id, row| {
        meta.members.insert(NodeId(id), row);
    })?;
    each(view, GROUPS, |id, row| {
        meta.groups.insert(GroupId(id), row);
    })?;
    each(view, COLLECTIONS, |id, row: Collection| {
        meta.names.insert(row.name.clone(), CollectionId(id));
        meta.collections.insert(CollectionId(id), row);
    })?;
    Ok(meta)
}

fn put(changes: &mut Changes<'_>, tag: u8, id: u64, row: &impl Serialize) -> Result<(), MachineError> {
    let mut key = vec![tag];
    key.extend_from_slice(&id.to_be_bytes());
    let mut bytes = vec![FORMAT];
    rmp_serde::encode::write_named(&mut bytes, row)
        .map_err(|error| MachineError::Broken(error.to_string()))?;
    changes.put(&key, &bytes);
    Ok(())
}

fn each<T: DeserializeOwned>(
    view: &DataView,
    tag: u8,
    mut visit: impl FnMut(u64, T),
) -> Result<(), MachineError> {
    let mut failed = None;
    view.scan_prefix(&[tag], |key, value| match read(key, value) {
        Ok((id, row)) => {
            visit(id, row);
            ControlFlow::Continue(())
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    failed.map_or(Ok(()), Err)
}

fn read<T: DeserializeOwned>(key: &[u8], value: &[u8]) -> Result<(u64, T), MachineError> {
    let broken = |reason: String| MachineError::Broken(format!("a meta row cannot be read: {reason}"));
    let id = key
        .last_chunk::<8>()
        .map(|bytes| u64::from_be_bytes(*bytes))
        .ok_or_else(|| broken("short key".into()))?;
    match value.split_first() {
        Some((&FORMAT, rest)) => {
            rmp_serde::from_slice(rest).map(|row| (id, row)).map_err(|error| broken(error.to_string()))
        }
        Some((found, _)) if *found > FORMAT => Err(broken(format!(
            "it has format {found}, this program reads up to {FORMAT}: start the newer version again"
        ))),
        _ => Err(broken("no format version".into())),
    }
}
