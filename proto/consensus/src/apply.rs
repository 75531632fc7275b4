//! Owns the applying of committed entries to a state machine, and the installing of snapshots under it. Knows no
//! command and no peer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use openraft::storage::RaftStateMachine;
use openraft::{EntryPayload, OptionalSend, RaftSnapshotBuilder, StorageIOError};
use rocksdb::WriteBatch;
use sextant_proto::ids::{GroupId, Incarnation, LogIndex};
use tokio::sync::watch;

use crate::error::{MachineError, StoreError};
use crate::keys;
use crate::machine::{ApplyContext, StateMachine};
use crate::snapshot::{Piece, SnapshotData, SnapshotReader, Staged, Staging, meta_of};
use crate::store::NodeStore;
use crate::types::{
    Entry, GroupState, IntoStorage, LogId, Reply, Snapshot, SnapshotMeta, StorageResult, StoredMembership,
    TypeConfig,
};
use crate::view::{Changes, DataView};

/// Where a replica stands; session tokens are made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub incarnation: Incarnation,
    /// Every entry up to here is applied and readable. 0 before the first.
    pub applied: LogIndex,
}

/// One group's data and the machine over it. Everything here blocks.
pub(crate) struct Applier<S> {
    pub(crate) group: GroupId,
    pub(crate) machine: Arc<S>,
    store: NodeStore,
    state: RwLock<GroupState>,
    next_incarnation: AtomicU64,
    position: watch::Sender<Position>,
    applied_gauge: metrics::Gauge,
}

impl<S: StateMachine> Applier<S> {
    /// Removes left-overs of interrupted installations and loads the machine.
    pub(crate) fn open(store: NodeStore, group: GroupId, machine: Arc<S>) -> Result<Self, MachineError> {
        let state = store.group_state(group)?;
        store.remove_other_incarnations(group, state.incarnation)?;
        machine.load(DataView::new(store.clone(), group, state.incarnation))?;
        let applied_gauge = metrics::gauge!("raft_applied_index", "group" => group.to_string());
        applied_gauge.set(state.applied_index().0 as f64);
        Ok(Self {
            group,
            machine,
            next_incarnation: AtomicU64::new(state.incarnation.0 + 1),
            position: watch::Sender::new(position_of(&state)),
            state: RwLock::new(state),
            store,
            applied_gauge,
        })
    }

    pub(crate) fn state(&self) -> GroupState {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn view(&self) -> DataView {
        DataView::new(self.store.clone(), self.group, self.state().incarnation)
    }

    pub(crate) fn position(&self) -> watch::Receiver<Position> {
        self.position.subscribe()
    }

    /// A place for a snapshot's rows, never used before.
    pub(crate) fn stage(&self) -> Staging {
        let incarnation = Incarnation(self.next_incarnation.fetch_add(1, Ordering::Relaxed));
        Staging::begin(self.store.clone(), self.group, incarnation)
    }

    /// Applies one entry: its changes, the applied log id and the membership in one batch.
    pub(crate) fn apply(&self, entry: Entry) -> Result<Reply, StoreError> {
        let mut state = self.state();
        let index = LogIndex(entry.log_id.index);
        state.last_applied = Some(entry.log_id);
        let (reply, effect, mut batch) = match entry.payload {
            EntryPayload::Blank => (Vec::new(), None, WriteBatch::default()),
            EntryPayload::Membership(membership) => {
                state.membership = StoredMembership::new(Some(entry.log_id), membership);
                (Vec::new(), None, WriteBatch::default())
            }
            EntryPayload::Normal(command) => {
                let view = DataView::new(self.store.clone(), self.group, state.incarnation);
                let mut changes = Changes::new(&self.store, self.group, state.incarnation)?;
                let outcome = self
                    .machine
                    .apply(&ApplyContext { index, view: &view }, &command.0, &mut changes)
                    .map_err(|error| self.machine_error(index, error))?;
                (outcome.reply, Some(outcome.effect), changes.into_batch())
            }
        };
        self.store.put_record(&mut batch, (self.group, keys::TAG_STATE), &state)?;
        self.store.write("an applied entry", batch)?;
        if let Some(effect) = effect {
            self.machine.committed(index, effect);
        }
        self.publish(state);
        Ok(Reply(Bytes::from(reply)))
    }

    /// Switches to a received snapshot, lets the machine load it, removes the old data.
    fn install(&self, meta: &SnapshotMeta, staged: Staged) -> Result<(), StoreError> {
        let old = self.state().incarnation;
        let state = staged.switch(GroupState {
            incarnation: old,
            last_applied: meta.last_log_id,
            membership: meta.last_membership.clone(),
        })?;
        let index = state.applied_index();
        self.machine
            .load(DataView::new(self.store.clone(), self.group, state.incarnation))
            .map_err(|error| self.machine_error(index, error))?;
        self.publish(state);
        self.store.remove_incarnation(self.group, old)
    }

    /// Last, so that whoever waits for an index finds its rows and its effects.
    fn publish(&self, state: GroupState) {
        self.applied_gauge.set(state.applied_index().0 as f64);
        let position = position_of(&state);
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
        self.position.send_replace(position);
    }

    fn machine_error(&self, index: LogIndex, error: MachineError) -> StoreError {
        match error {
            MachineError::Store(error) => error,
            MachineError::Broken(reason) => StoreError::Machine { group: self.group, index: index.0, reason },
        }
    }
}

fn position_of(state: &GroupState) -> Position {
    Position { incarnation: state.incarnation, applied: state.applied_index() }
}

/// [`Applier`] as openraft wants it. Work runs on threads where blocking is allowed.
pub(crate) struct MachineStore<S>(pub(crate) Arc<Applier<S>>);

impl<S> Clone for MachineStore<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: StateMachine> MachineStore<S> {
    async fn snapshot(&self) -> Result<(SnapshotMeta, SnapshotReader), StoreError> {
        let reader = SnapshotReader::open(self.0.store.db(), self.0.group).await?;
        Ok((meta_of(reader.state()).unwrap_or_default(), reader))
    }

    /// A panic of the machine becomes an error, and the error ends the group.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Applier<S>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let applier = Arc::clone(&self.0);
        let group = applier.group;
        tokio::task::spawn_blocking(move || work(&applier))
            .await
            .unwrap_or_else(|error| Err(StoreError::Task { group, reason: error.to_string() }))
    }
}

impl<S: StateMachine> RaftStateMachine<TypeConfig> for MachineStore<S> {
    type SnapshotBuilder = SnapshotBuilder;

    async fn applied_state(&mut self) -> StorageResult<(Option<LogId>, StoredMembership)> {
        let state = self.0.state();
        Ok((state.last_applied, state.membership))
    }

    async fn apply<I>(&mut self, entries: I) -> StorageResult<Vec<Reply>>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<Entry> = entries.into_iter().collect();
        self.blocking(|applier| entries.into_iter().map(|entry| applier.apply(entry)).collect())
            .await
            .writing_state()
    }

    async fn get_snapshot_builder(&mut self) -> SnapshotBuilder {
        SnapshotBuilder { opened: Some(self.snapshot().await) }
    }

    async fn begin_receiving_snapshot(&mut self) -> StorageResult<Box<SnapshotData>> {
        Ok(Box::new(SnapshotData::Blank))
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        snapshot: Box<SnapshotData>,
    ) -> StorageResult<()> {
        let staged = match *snapshot {
            SnapshotData::Incoming(staged) => Ok(staged),
            SnapshotData::Outgoing(reader) => copy(reader, self.0.stage()).await,
            SnapshotData::Blank => {
                Err(StoreError::Snapshot("a blank snapshot cannot be installed".to_owned()))
            }
        };
        let meta = meta.clone();
        let installed = match staged {
            Ok(staged) => self.blocking(move |applier| applier.install(&meta, staged)).await,
            Err(error) => Err(error),
        };
        installed.map_err(|error| StorageIOError::write_snapshot(None, &error).into())
    }

    async fn get_current_snapshot(&mut self) -> StorageResult<Option<Snapshot>> {
        if self.0.state().last_applied.is_none() {
            return Ok(None);
        }
        let (meta, reader) = self.snapshot().await.reading_state()?;
        Ok(Some(Snapshot { meta, snapshot: Box::new(SnapshotData::Outgoing(reader)) }))
    }
}

/// Holds the moment at which openraft asked for a snapshot. There is nothing more to build: rows are read when
/// they are sent.
pub(crate) struct SnapshotBuilder {
    opened: Option<Result<(SnapshotMeta, SnapshotReader), StoreError>>,
}

impl RaftSnapshotBuilder<TypeConfig> for SnapshotBuilder {
    async fn build_snapshot(&mut self) -> StorageResult<Snapshot> {
        let spent = || Err(StoreError::Snapshot("a builder builds once".to_owned()));
        let (meta, reader) = self.opened.take().unwrap_or_else(spent).reading_state()?;
        Ok(Snapshot { meta, snapshot: Box::new(SnapshotData::Outgoing(reader)) })
    }
}

/// Between two stores of one process, without a transport.
async fn copy(mut from: SnapshotReader, mut to: Staging) -> Result<Staged, StoreError> {
    loop {
        match from.next().await? {
            Piece::Frame(frame) => to.take(&frame)?,
            Piece::End(trailer) => return to.finish(&trailer),
        }
    }
}
