//! Owns a state machine's sight of its own keys: reads, a pinned view, and the set of changes of one log entry.
//! The prefix (group, incarnation) is added and taken away here, so no state machine can reach another's keys.

use std::ops::ControlFlow;
use std::sync::Arc;

use rocksdb::{BoundColumnFamily, ReadOptions, SnapshotWithThreadMode, WriteBatch};
use sextant_proto::ids::{GroupId, Incarnation};

use crate::error::StoreError;
use crate::keys::{self, DATA_PREFIX_LEN};
use crate::store::{DATA, Db, NodeStore, bounded};

/// A key without its prefix, and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// The keys of one incarnation of one group. Cheap to clone; every read sees what is applied by then.
///
/// After a snapshot was installed the view of the old incarnation reads as empty: take the new one.
#[derive(Clone, Debug)]
pub struct DataView {
    store: NodeStore,
    group: GroupId,
    incarnation: Incarnation,
}

impl DataView {
    pub(crate) fn new(store: NodeStore, group: GroupId, incarnation: Incarnation) -> Self {
        Self { store, group, incarnation }
    }

    pub fn group(&self) -> GroupId {
        self.group
    }

    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.reader(None)?.get(key)
    }

    /// The values of `keys`, in their order, in one go.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.reader(None)?.get_many(keys)
    }

    /// Visits the pairs whose key starts with `prefix`, in key order, until `visit` breaks.
    pub fn scan_prefix(
        &self,
        prefix: &[u8],
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.reader(None)?.scan(prefix, keys::after_prefix(prefix).as_deref(), visit)
    }

    /// Visits the pairs with `from <= key < to` (to the end when `to` is none), in key order, until `visit` breaks.
    pub fn scan_range(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.reader(None)?.scan(from, to, visit)
    }

    /// The last pair whose key starts with `prefix`.
    pub fn last_with_prefix(&self, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        self.reader(None)?.last_with_prefix(prefix)
    }

    /// Runs `read` over one moment of the data: entries applied meanwhile stay unseen. Keep it short, since old
    /// versions stay on disk as long as it runs.
    pub fn pinned<R>(&self, read: impl FnOnce(&PinnedView<'_>) -> R) -> Result<R, StoreError> {
        let snapshot = self.store.db().snapshot();
        let view = PinnedView { reader: self.reader(Some(&snapshot))? };
        Ok(read(&view))
    }

    fn reader<'a>(&'a self, snapshot: Option<&'a DbSnapshot<'a>>) -> Result<Reader<'a>, StoreError> {
        Ok(Reader {
            db: self.store.db(),
            family: self.store.family(DATA)?,
            snapshot,
            prefix: keys::data_prefix(self.group, self.incarnation),
        })
    }
}

/// One moment of a [`DataView`].
pub struct PinnedView<'a> {
    reader: Reader<'a>,
}

impl PinnedView<'_> {
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.reader.get(key)
    }

    /// See [`DataView::get_many`].
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.reader.get_many(keys)
    }

    /// See [`DataView::scan_prefix`].
    pub fn scan_prefix(
        &self,
        prefix: &[u8],
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.reader.scan(prefix, keys::after_prefix(prefix).as_deref(), visit)
    }

    /// See [`DataView::scan_range`].
    pub fn scan_range(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.reader.scan(from, to, visit)
    }

    /// See [`DataView::last_with_prefix`].
    pub fn last_with_prefix(&self, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        self.reader.last_with_prefix(prefix)
    }
}

type DbSnapshot<'a> = SnapshotWithThreadMode<'a, Db>;

const ROWS: &str = "state machine rows";

struct Reader<'a> {
    db: &'a Db,
    family: Arc<BoundColumnFamily<'a>>,
    snapshot: Option<&'a DbSnapshot<'a>>,
    prefix: [u8; DATA_PREFIX_LEN],
}

impl Reader<'_> {
    fn key(&self, key: &[u8]) -> Vec<u8> {
        [&self.prefix[..], key].concat()
    }

    fn options(&self, mut options: ReadOptions) -> ReadOptions {
        if let Some(snapshot) = self.snapshot {
            options.set_snapshot(snapshot);
        }
        options
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.db
            .get_cf_opt(&self.family, self.key(key), &self.options(ReadOptions::default()))
            .map_err(|source| StoreError::Read { what: ROWS, source })
    }

    fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let keys: Vec<_> = keys.iter().map(|key| self.key(key.as_ref())).collect();
        let options = self.options(ReadOptions::default());
        self.db
            .batched_multi_get_cf_opt(&self.family, &keys, false, &options)
            .into_iter()
            .map(|row| match row {
                Ok(row) => Ok(row.map(|bytes| bytes.to_vec())),
                Err(source) => Err(StoreError::Read { what: ROWS, source }),
            })
            .collect()
    }

    fn scan(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let from = self.key(from);
        let to = to.map_or_else(|| keys::after_prefix(&self.prefix), |to| Some(self.key(to)));
        if to.as_ref().is_some_and(|to| *to <= from) {
            return Ok(());
        }
        let mut rows = self.db.raw_iterator_cf_opt(&self.family, self.options(bounded(from, to)));
        rows.seek_to_first();
        while let Some((key, value)) = rows.item() {
            if visit(&key[DATA_PREFIX_LEN..], value).is_break() {
                return Ok(());
            }
            rows.next();
        }
        rows.status().map_err(|source| StoreError::Read { what: ROWS, source })
    }

    fn last_with_prefix(&self, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        let from = self.key(prefix);
        let to = keys::after_prefix(&from);
        let mut rows = self.db.raw_iterator_cf_opt(&self.family, self.options(bounded(from, to)));
        rows.seek_to_last();
        let found = rows.item().map(|(key, value)| (key[DATA_PREFIX_LEN..].to_vec(), value.to_vec()));
        rows.status().map_err(|source| StoreError::Read { what: ROWS, source })?;
        Ok(found)
    }
}

/// Everything one log entry changes. Written in one batch with the applied index; nothing of it is readable
/// before, not even to the `apply` that fills it.
pub struct Changes<'a> {
    batch: WriteBatch,
    family: Arc<BoundColumnFamily<'a>>,
    prefix: [u8; DATA_PREFIX_LEN],
}

impl<'a> Changes<'a> {
    pub(crate) fn new(
        store: &'a NodeStore,
        group: GroupId,
        incarnation: Incarnation,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            batch: WriteBatch::default(),
            family: store.family(DATA)?,
            prefix: keys::data_prefix(group, incarnation),
        })
    }

    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.batch.put_cf(&self.family, [&self.prefix[..], key].concat(), value);
    }

    pub fn delete(&mut self, key: &[u8]) {
        self.batch.delete_cf(&self.family, [&self.prefix[..], key].concat());
    }

    /// Deletes every key with `from <= key < to`. Cheap to write, but each range slows later reads nearby a
    /// little until it is compacted away: for a handful of keys use [`Self::delete`].
    pub fn delete_range(&mut self, from: &[u8], to: &[u8]) {
        if from < to {
            let bound = |key: &[u8]| [&self.prefix[..], key].concat();
            self.batch.delete_range_cf(&self.family, bound(from), bound(to));
        }
    }

    /// Deletes every key that starts with `prefix`; see [`Self::delete_range`].
    pub fn delete_prefix(&mut self, prefix: &[u8]) {
        let from = [&self.prefix[..], prefix].concat();
        if let Some(to) = keys::after_prefix(&from) {
            self.batch.delete_range_cf(&self.family, from, to);
        }
    }

    /// Bytes gathered so far.
    pub fn size_bytes(&self) -> usize {
        self.batch.size_in_bytes()
    }

    pub(crate) fn into_batch(self) -> WriteBatch {
        self.batch
    }
}
