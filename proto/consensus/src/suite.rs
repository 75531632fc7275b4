//! openraft's own storage test suite over this log and this state machine store.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use openraft::testing::{StoreBuilder, Suite};
use sextant_proto::ids::{GroupId, LogIndex};
use tempfile::TempDir;

use crate::apply::{Applier, MachineStore};
use crate::error::MachineError;
use crate::log::LogStore;
use crate::machine::{ApplyContext, Outcome, StateMachine};
use crate::store::{NodeStore, StoreOptions};
use crate::types::{StorageResult, TypeConfig};
use crate::view::{Changes, DataView};

struct Idle;

impl StateMachine for Idle {
    type Effect = ();

    fn load(&self, _view: DataView) -> Result<(), MachineError> {
        Ok(())
    }

    fn apply(
        &self,
        _context: &ApplyContext<'_>,
        command: &[u8],
        _changes: &mut Changes<'_>,
    ) -> Result<Outcome<()>, MachineError> {
        Ok(Outcome { reply: command.to_vec(), effect: () })
    }

    fn committed(&self, _index: LogIndex, _effect: ()) {}
}

struct Builder;

impl StoreBuilder<TypeConfig, LogStore, MachineStore<Idle>, TempDir> for Builder {
    async fn build(&self) -> StorageResult<(TempDir, LogStore, MachineStore<Idle>)> {
        let folder = tempfile::tempdir().unwrap();
        let store = NodeStore::open(folder.path(), &StoreOptions::default()).unwrap();
        // Neighbours above and below must stay out of the group's way.
        let group = GroupId(7);
        let applier = Applier::open(store.clone(), group, Arc::new(Idle)).unwrap();
        Ok((folder, LogStore::new(store, group), MachineStore(Arc::new(applier))))
    }
}

#[test]
fn passes_openrafts_storage_suite() {
    Suite::test_all(Builder).unwrap();
}

#[test]
fn what_an_interrupted_installation_left_is_removed_at_open() {
    use crate::snapshot::{Frame, push_row};

    let folder = tempfile::tempdir().unwrap();
    let store = NodeStore::open(folder.path(), &StoreOptions::default()).unwrap();
    let (group, neighbour) = (GroupId(7), GroupId(8));
    let mut stream = Vec::new();
    push_row(&mut stream, b"key", b"value");
    let frame = Frame::new(0, stream.into());
    for group in [group, neighbour] {
        let applier = Applier::open(store.clone(), group, Arc::new(Idle)).unwrap();
        let mut staging = applier.stage();
        staging.take(&frame).unwrap();
        // As after a crash: nobody cleans up.
        std::mem::forget(staging);
    }
    let left = |group| crate::view::DataView::new(store.clone(), group, sextant_proto::ids::Incarnation(2));
    assert_eq!(left(group).get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    Applier::open(store.clone(), group, Arc::new(Idle)).unwrap();
    assert_eq!(left(group).get(b"key").unwrap(), None);
    assert!(left(neighbour).get(b"key").unwrap().is_some(), "the neighbour's rows are not ours to remove");
}

#[test]
fn a_snapshot_is_taken_in_only_whole_and_unharmed() {
    use crate::snapshot::{Frame, Trailer, push_row};

    let folder = tempfile::tempdir().unwrap();
    let store = NodeStore::open(folder.path(), &StoreOptions::default()).unwrap();
    let applier = Applier::open(store, GroupId(7), Arc::new(Idle)).unwrap();
    let mut stream = Vec::new();
    push_row(&mut stream, b"key", b"value");
    let digest = *blake3::hash(&stream).as_bytes();
    let frame = Frame::new(0, stream.into());
    let whole = Trailer { frames: 1, rows: 1, digest };
    let received = |frames: &[&Frame], trailer: Trailer| {
        let mut staging = applier.stage();
        frames.iter().try_for_each(|frame| staging.take(frame))?;
        staging.finish(&trailer).map(drop)
    };
    assert!(received(&[&frame], whole).is_ok());
    assert!(received(&[&frame, &frame], whole).is_ok(), "a repeated frame is harmless");
    assert!(received(&[], whole).is_err(), "nothing came");
    assert!(received(&[&frame], Trailer { rows: 2, ..whole }).is_err());
    assert!(received(&[&frame], Trailer { digest: [0; 32], ..whole }).is_err());
    assert!(received(&[&Frame::new(1, frame.payload.clone())], whole).is_err(), "a gap");
}

#[test]
fn a_store_of_a_newer_build_is_refused() {
    use crate::error::StoreError;

    let folder = tempfile::tempdir().unwrap();
    let store = NodeStore::open(folder.path(), &StoreOptions::default()).unwrap();
    store.db().put(crate::keys::FORMAT_KEY, "2").unwrap();
    drop(store);
    let opened = NodeStore::open(folder.path(), &StoreOptions::default());
    assert!(matches!(opened, Err(StoreError::NewerFormat { found, known: 1, .. }) if found == "2"));
}
