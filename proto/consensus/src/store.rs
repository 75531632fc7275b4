//! Owns the one RocksDB of a node: opening, column families, format marker, identity. Knows nothing of Raft's
//! rules and nothing of what state machines keep.
//!
//! # What is durable when
//!
//! All families share one write-ahead log. Log entries and votes are synced before Raft hears that they are
//! written ([`crate::sync`]). State machine batches, the committed index and purges are not synced by themselves;
//! they need not be:
//!
//! - a crash keeps a *prefix* of the write-ahead log (point-in-time recovery), and a flush of one family first
//!   syncs the closed logs of the others, so no batch survives without everything written before it;
//! - an entry is applied only after it is committed, hence synced on a quorum, so a lost tail of applied batches
//!   is applied again from the log, with the same outcome, because apply is deterministic;
//! - data, applied index and membership of one entry are one batch, so it is never applied twice;
//! - a purge comes after the batches that applied the purged entries, so it cannot survive without them.
//!
//! Installing a snapshot is the exception (the leader counts it as replicated), so its switch is synced.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocksdb::{
    BlockBasedOptions, BoundColumnFamily, Cache, ColumnFamilyDescriptor, DBCompressionType, DBRecoveryMode,
    DBWithThreadMode, MultiThreaded, Options, ReadOptions, WriteBatch, WriteOptions,
};
use sextant_proto::ids::{GroupId, Incarnation, NodeId};

use crate::error::StoreError;
use crate::keys;
use crate::sync::Syncer;
use crate::types::{GroupState, decode, encode};
use crate::view::DataView;

pub(crate) type Db = DBWithThreadMode<MultiThreaded>;

pub(crate) const RAFT: &str = "raft";
pub(crate) const DATA: &str = "data";

/// Sizes of a node store. The defaults suit a node that shares a laptop; shard-nodes raise them.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Cache of uncompressed blocks, bytes, for all families together.
    pub block_cache_bytes: usize,
    /// Memtables of all families together, bytes; beyond it they are flushed.
    pub write_buffer_bytes: usize,
    /// Files kept open; the process's file limit must leave room for it.
    pub max_open_files: i32,
    /// Threads that flush and compact.
    pub background_jobs: i32,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            block_cache_bytes: 64 << 20,
            write_buffer_bytes: 64 << 20,
            max_open_files: 512,
            background_jobs: 2,
        }
    }
}

/// The one RocksDB of a node. Clones share it; it closes when the last is dropped.
#[derive(Clone)]
pub struct NodeStore {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    // Joined on drop, before the last handle to the database goes.
    syncer: Syncer,
    db: Arc<Db>,
}

impl NodeStore {
    /// Opens the store in the folder `path`, or makes it.
    ///
    /// # Errors
    /// [`StoreError::Open`] when the folder is held by another process or is damaged,
    /// [`StoreError::NewerFormat`] when a newer build wrote it.
    pub fn open(path: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Open { path: path.to_owned(), source };
        let cache = Cache::new_lru_cache(options.block_cache_bytes);
        let families = [
            ColumnFamilyDescriptor::new("default", Options::default()),
            ColumnFamilyDescriptor::new(RAFT, family_options(&cache, options)),
            ColumnFamilyDescriptor::new(DATA, family_options(&cache, options)),
        ];
        let db = Arc::new(Db::open_cf_descriptors(&db_options(options), path, families).map_err(failed)?);
        check_format(&db, path)?;
        let syncer = Syncer::start(Arc::clone(&db)).map_err(|error| StoreError::Sync(error.to_string()))?;
        Ok(Self { inner: Arc::new(Inner { path: path.to_owned(), syncer, db }) })
    }

    /// Where the store lies.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The groups that have state here, in ascending order: what a restarted node has to open.
    pub fn groups(&self) -> Result<Vec<GroupId>, StoreError> {
        let raft = self.family(RAFT)?;
        let mut iterator = self.inner.db.raw_iterator_cf(&raft);
        let mut groups = Vec::new();
        iterator.seek_to_first();
        while let Some(prefix) = iterator.key().and_then(|key| key.first_chunk::<8>()) {
            let group = GroupId(u64::from_be_bytes(*prefix));
            groups.push(group);
            let Some(next) = group.0.checked_add(1) else { break };
            iterator.seek(next.to_be_bytes());
        }
        iterator.status().map_err(|source| StoreError::Read { what: "the list of groups", source })?;
        Ok(groups)
    }

    /// The current data of a group, read without Raft: as it was applied last, possibly stale.
    pub fn view(&self, group: GroupId) -> Result<DataView, StoreError> {
        let state = self.group_state(group)?;
        Ok(DataView::new(self.clone(), group, state.incarnation))
    }

    /// Ties the store to one node for good, or confirms the tie: a store mounted under another node's id would
    /// vote a second time in its name.
    pub(crate) fn claim(&self, node: NodeId) -> Result<(), StoreError> {
        let read = |source| StoreError::Read { what: "the node id", source };
        match self.inner.db.get(keys::NODE_KEY).map_err(read)? {
            None => self
                .inner
                .db
                .put_opt(keys::NODE_KEY, node.0.to_be_bytes(), &synced())
                .map_err(|source| StoreError::Write { what: "the node id", source }),
            Some(bytes) => {
                let found = bytes.as_slice().try_into().map(u64::from_be_bytes).map_err(|_| {
                    StoreError::Decode { what: "the node id", reason: format!("{} bytes", bytes.len()) }
                })?;
                if found == node.0 {
                    Ok(())
                } else {
                    Err(StoreError::OtherNode { path: self.inner.path.clone(), found, wanted: node.0 })
                }
            }
        }
    }

    /// Removes what interrupted snapshot installations left behind: all data of the group but `current`.
    pub(crate) fn remove_other_incarnations(
        &self,
        group: GroupId,
        current: Incarnation,
    ) -> Result<(), StoreError> {
        let first = keys::data_prefix(group, Incarnation(0));
        let kept = keys::data_prefix(group, current);
        let mut batch = WriteBatch::default();
        let data = self.family(DATA)?;
        batch.delete_range_cf(&data, first, kept);
        let kept_end = keys::after_prefix(&kept);
        let group_end = keys::after_prefix(&group.0.to_be_bytes()).unwrap_or_else(|| vec![u8::MAX; 32]);
        if let Some(kept_end) = kept_end {
            batch.delete_range_cf(&data, kept_end, group_end);
        }
        self.write("the removal of left-over data", batch)
    }

    pub(crate) fn remove_incarnation(&self, group: GroupId, old: Incarnation) -> Result<(), StoreError> {
        let from = keys::data_prefix(group, old).to_vec();
        let to = keys::after_prefix(&from).unwrap_or_else(|| vec![u8::MAX; 32]);
        let mut batch = WriteBatch::default();
        batch.delete_range_cf(&self.family(DATA)?, from, to);
        self.write("the removal of replaced data", batch)
    }

    pub(crate) fn group_state(&self, group: GroupId) -> Result<GroupState, StoreError> {
        Ok(self.record(group, keys::TAG_STATE, "a group's applied state")?.unwrap_or_default())
    }

    pub(crate) fn record<T: serde::de::DeserializeOwned>(
        &self,
        group: GroupId,
        tag: u8,
        what: &'static str,
    ) -> Result<Option<T>, StoreError> {
        let bytes = self
            .inner
            .db
            .get_pinned_cf(&self.family(RAFT)?, keys::record(group, tag))
            .map_err(|source| StoreError::Read { what, source })?;
        bytes.map(|bytes| decode(what, &bytes)).transpose()
    }

    pub(crate) fn put_record<T: serde::Serialize>(
        &self,
        batch: &mut WriteBatch,
        (group, tag): (GroupId, u8),
        value: &T,
    ) -> Result<(), StoreError> {
        batch.put_cf(&self.family(RAFT)?, keys::record(group, tag), encode("a Raft record", value)?);
        Ok(())
    }

    /// Into the write-ahead log and the memtables, unsynced: see the module's account of durability.
    pub(crate) fn write(&self, what: &'static str, batch: WriteBatch) -> Result<(), StoreError> {
        self.inner.db.write(batch).map_err(|source| StoreError::Write { what, source })
    }

    /// As [`Self::write`], and on disk with everything before it on return. Blocks for an fsync.
    pub(crate) fn write_synced(&self, what: &'static str, batch: WriteBatch) -> Result<(), StoreError> {
        self.inner.db.write_opt(batch, &synced()).map_err(|source| StoreError::Write { what, source })
    }

    pub(crate) fn syncer(&self) -> &Syncer {
        &self.inner.syncer
    }

    pub(crate) fn db(&self) -> &Arc<Db> {
        &self.inner.db
    }

    pub(crate) fn family(&self, name: &'static str) -> Result<Arc<BoundColumnFamily<'_>>, StoreError> {
        self.inner.db.cf_handle(name).ok_or(StoreError::MissingFamily(name))
    }
}

impl std::fmt::Debug for NodeStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NodeStore({})", self.inner.path.display())
    }
}

fn synced() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    options
}

/// Bounds an iterator to `from..to` (to the end of the family when `to` is none).
pub(crate) fn bounded(from: Vec<u8>, to: Option<Vec<u8>>) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_iterate_lower_bound(from);
    if let Some(to) = to {
        options.set_iterate_upper_bound(to);
    }
    options
}

fn db_options(options: &StoreOptions) -> Options {
    let mut db = Options::default();
    db.create_if_missing(true);
    db.create_missing_column_families(true);
    db.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    db.set_db_write_buffer_size(options.write_buffer_bytes);
    // A quiet family must not keep old write-ahead logs alive for ever.
    db.set_max_total_wal_size(4 * options.write_buffer_bytes as u64);
    db.set_max_open_files(options.max_open_files);
    db.set_max_background_jobs(options.background_jobs);
    db.set_keep_log_file_num(4);
    db
}

fn family_options(cache: &Cache, options: &StoreOptions) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    blocks.set_bloom_filter(10.0, false);
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    let mut family = Options::default();
    family.set_block_based_table_factory(&blocks);
    family.set_write_buffer_size((options.write_buffer_bytes / 4).max(1 << 20));
    family.set_compression_type(DBCompressionType::Lz4);
    family.set_bottommost_compression_type(DBCompressionType::Zstd);
    family.set_level_compaction_dynamic_level_bytes(true);
    family
}

fn check_format(db: &Db, path: &Path) -> Result<(), StoreError> {
    let read = |source| StoreError::Read { what: "the store's format", source };
    match db.get(keys::FORMAT_KEY).map_err(read)? {
        None => db
            .put_opt(keys::FORMAT_KEY, keys::FORMAT.to_string(), &synced())
            .map_err(|source| StoreError::Write { what: "the store's format", source }),
        Some(bytes) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            match text.parse::<u32>() {
                Ok(found) if (1..=keys::FORMAT).contains(&found) => Ok(()),
                Ok(_) => {
                    Err(StoreError::NewerFormat { path: path.to_owned(), found: text, known: keys::FORMAT })
                }
                Err(error) => {
                    Err(StoreError::Decode { what: "the store's format", reason: error.to_string() })
                }
            }
        }
    }
}
