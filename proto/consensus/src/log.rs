//! Owns one group's part of the replicated log in the node store: entries, vote, committed and purged markers.
//! Knows nothing of state machines.

use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};

use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{LogState, OptionalSend, RaftLogReader};
use rocksdb::WriteBatch;
use sextant_proto::ids::GroupId;

use crate::error::StoreError;
use crate::keys;
use crate::store::{NodeStore, RAFT, bounded};
use crate::types::{Entry, IntoStorage, LogId, StorageResult, TypeConfig, Vote, decode, encode};

/// Log bytes sent to a follower in one call, unless a single entry is larger.
const REPLICATION_BYTES: usize = 1 << 20;

/// One group's log. Clones read and write the same log.
#[derive(Clone, Debug)]
pub(crate) struct LogStore {
    store: NodeStore,
    group: GroupId,
}

impl LogStore {
    pub(crate) fn new(store: NodeStore, group: GroupId) -> Self {
        Self { store, group }
    }

    /// Entries from `from` to before `to`, stopping early once `budget_bytes` are exceeded; at least one if any.
    fn read(&self, from: u64, to: Option<u64>, budget_bytes: usize) -> Result<Vec<Entry>, StoreError> {
        let end = to.map_or_else(
            || keys::log_end(self.group).to_vec(),
            |to| keys::log_entry(self.group, to).to_vec(),
        );
        let start = keys::log_entry(self.group, from).to_vec();
        if start >= end {
            return Ok(Vec::new());
        }
        let family = self.store.family(RAFT)?;
        let mut rows = self.store.db().raw_iterator_cf_opt(&family, bounded(start, Some(end)));
        let mut entries = Vec::new();
        let mut bytes = 0;
        rows.seek_to_first();
        while let Some(value) = rows.value() {
            entries.push(decode("a log entry", value)?);
            bytes += value.len();
            if bytes >= budget_bytes {
                return Ok(entries);
            }
            rows.next();
        }
        rows.status().map_err(|source| StoreError::Read { what: "log entries", source })?;
        Ok(entries)
    }

    fn last_log_id(&self) -> Result<Option<LogId>, StoreError> {
        let family = self.store.family(RAFT)?;
        let options =
            bounded(keys::log_entry(self.group, 0).to_vec(), Some(keys::log_end(self.group).to_vec()));
        let mut rows = self.store.db().raw_iterator_cf_opt(&family, options);
        rows.seek_to_last();
        let last = rows.value().map(|value| decode::<Entry>("a log entry", value)).transpose()?;
        rows.status().map_err(|source| StoreError::Read { what: "the last log entry", source })?;
        Ok(last.map(|entry| entry.log_id))
    }

    fn remove(&self, from: u64, to: Option<u64>, batch: &mut WriteBatch) -> Result<(), StoreError> {
        let end = to.map_or_else(
            || keys::log_end(self.group).to_vec(),
            |to| keys::log_entry(self.group, to).to_vec(),
        );
        batch.delete_range_cf(&self.store.family(RAFT)?, keys::log_entry(self.group, from).to_vec(), end);
        Ok(())
    }

    /// Writes the entries, readable at once; returns how many. The caller asks for the sync.
    fn write_entries(&self, entries: impl IntoIterator<Item = Entry>) -> Result<usize, StoreError> {
        let family = self.store.family(RAFT)?;
        let mut batch = WriteBatch::default();
        for entry in entries {
            let key = keys::log_entry(self.group, entry.log_id.index);
            batch.put_cf(&family, key, encode("a log entry", &entry)?);
        }
        let count = batch.len();
        self.store.write("log entries", batch)?;
        Ok(count)
    }

    fn write_record<T: serde::Serialize>(
        &self,
        tag: u8,
        what: &'static str,
        value: &T,
    ) -> Result<(), StoreError> {
        let mut batch = WriteBatch::default();
        self.store.put_record(&mut batch, (self.group, tag), value)?;
        self.store.write(what, batch)
    }
}

impl RaftLogReader<TypeConfig> for LogStore {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> StorageResult<Vec<Entry>> {
        let from = match range.start_bound() {
            Bound::Included(from) => *from,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(last) => last.checked_add(1),
            Bound::Excluded(to) => Some(*to),
            Bound::Unbounded => None,
        };
        self.read(from, to, usize::MAX).reading_logs()
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> StorageResult<Vec<Entry>> {
        self.read(start, Some(end), REPLICATION_BYTES).reading_logs()
    }
}

impl RaftLogStorage<TypeConfig> for LogStore {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> StorageResult<LogState<TypeConfig>> {
        let purged = self.store.record(self.group, keys::TAG_PURGED, "the purged log id").reading_logs()?;
        let last = self.last_log_id().reading_logs()?;
        Ok(LogState { last_purged_log_id: purged, last_log_id: last.or(purged) })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> StorageResult<()> {
        self.write_record(keys::TAG_VOTE, "the vote", vote).writing_logs()?;
        self.store.syncer().synced().await.writing_logs()
    }

    async fn read_vote(&mut self) -> StorageResult<Option<Vote>> {
        self.store.record(self.group, keys::TAG_VOTE, "the vote").reading_logs()
    }

    // Not synced: it only spares a restarted node the wait for its leader, see `store`.
    async fn save_committed(&mut self, committed: Option<LogId>) -> StorageResult<()> {
        self.write_record(keys::TAG_COMMITTED, "the committed log id", &committed).writing_logs()
    }

    async fn read_committed(&mut self) -> StorageResult<Option<LogId>> {
        let saved: Option<Option<LogId>> =
            self.store.record(self.group, keys::TAG_COMMITTED, "the committed log id").reading_logs()?;
        Ok(saved.flatten())
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<TypeConfig>) -> StorageResult<()>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let count = self.write_entries(entries).writing_logs()?;
        self.store.syncer().request(count, move |synced| {
            callback.log_io_completed(synced.map_err(io::Error::other));
        });
        Ok(())
    }

    // Not synced: the entries that replace the removed ones are, and they come later in the same write-ahead log.
    // A removal that a crash undoes brings back entries that were never acknowledged.
    async fn truncate(&mut self, log_id: LogId) -> StorageResult<()> {
        let mut batch = WriteBatch::default();
        self.remove(log_id.index, None, &mut batch).writing_logs()?;
        self.store.write("the removal of conflicting log entries", batch).writing_logs()
    }

    async fn purge(&mut self, log_id: LogId) -> StorageResult<()> {
        let mut batch = WriteBatch::default();
        self.store.put_record(&mut batch, (self.group, keys::TAG_PURGED), &log_id).writing_logs()?;
        self.remove(0, log_id.index.checked_add(1), &mut batch).writing_logs()?;
        self.store.write("the removal of applied log entries", batch).writing_logs()
    }
}
