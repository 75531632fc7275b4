//! Owns the way in of a snapshot: rows go to an incarnation of their own, which becomes the group's data in one
//! batch, or is removed.

use rocksdb::WriteBatch;
use sextant_proto::ids::{GroupId, Incarnation};

use super::frame::{Frame, RowDecoder, Trailer};
use crate::error::StoreError;
use crate::keys;
use crate::store::{DATA, NodeStore};
use crate::types::GroupState;

/// A snapshot that is being received. Dropped unfinished, it takes its rows with it; after a crash they are
/// removed when the group opens.
#[derive(Debug)]
pub(crate) struct Staging {
    target: Target,
    decoder: RowDecoder,
    seen: Trailer,
    digest: blake3::Hasher,
}

/// A snapshot received whole, not yet switched to.
#[derive(Debug)]
pub(crate) struct Staged {
    target: Target,
}

impl Staging {
    /// `incarnation` must be one that the group has never used since the node started, nor uses.
    pub(crate) fn begin(store: NodeStore, group: GroupId, incarnation: Incarnation) -> Self {
        Self {
            target: Target { store, group, incarnation, keep: false },
            decoder: RowDecoder::default(),
            seen: Trailer { frames: 0, rows: 0, digest: [0; 32] },
            digest: blake3::Hasher::new(),
        }
    }

    /// Writes one frame's rows. A repeat of the frame before is taken as done, so a lost answer can be retried.
    pub(crate) fn take(&mut self, frame: &Frame) -> Result<(), StoreError> {
        if !frame.is_intact() {
            return Err(StoreError::Snapshot(format!("frame {} was damaged on the way", frame.index)));
        }
        if frame.index.checked_add(1) == Some(self.seen.frames) {
            return Ok(());
        }
        if frame.index != self.seen.frames {
            let (got, wanted) = (frame.index, self.seen.frames);
            return Err(StoreError::Snapshot(format!("frame {got} came where frame {wanted} belongs")));
        }
        let Target { store, group, incarnation, .. } = &self.target;
        let family = store.family(DATA)?;
        let prefix = keys::data_prefix(*group, *incarnation);
        let mut batch = WriteBatch::default();
        let mut rows = 0;
        self.decoder
            .push(&frame.payload, |key, value| {
                batch.put_cf(&family, [&prefix[..], key].concat(), value);
                rows += 1;
            })
            .map_err(|too_large| StoreError::Snapshot(format!("a row of {} bytes", too_large.0)))?;
        store.write("rows of a snapshot", batch)?;
        self.digest.update(&frame.payload);
        self.seen.rows += rows;
        self.seen.frames += 1;
        Ok(())
    }

    pub(crate) fn finish(mut self, trailer: &Trailer) -> Result<Staged, StoreError> {
        self.seen.digest = *self.digest.finalize().as_bytes();
        if self.seen != *trailer || !self.decoder.is_complete() {
            return Err(StoreError::Snapshot(format!(
                "{} rows in {} frames arrived, the sender counts {} in {}, or the digests differ",
                self.seen.rows, self.seen.frames, trailer.rows, trailer.frames
            )));
        }
        Ok(Staged { target: self.target })
    }
}

impl Staged {
    /// Makes the staged rows the group's data, with `state` (whose incarnation is set here), durably and at once.
    /// The rows of the old incarnation stay until the caller removes them.
    pub(crate) fn switch(mut self, mut state: GroupState) -> Result<GroupState, StoreError> {
        state.incarnation = self.target.incarnation;
        let mut batch = WriteBatch::default();
        self.target.store.put_record(&mut batch, (self.target.group, keys::TAG_STATE), &state)?;
        // Whether or not an error left the switch on disk, the rows must not be removed in its wake: the group
        // stops, and opening it again removes the loser.
        self.target.keep = true;
        self.target.store.write_synced("the switch to a snapshot", batch)?;
        Ok(state)
    }
}

#[derive(Debug)]
struct Target {
    store: NodeStore,
    group: GroupId,
    incarnation: Incarnation,
    keep: bool,
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.keep
            && let Err(error) = self.store.remove_incarnation(self.group, self.incarnation)
        {
            tracing::warn!(group = %self.group, %error, "an abandoned snapshot stays on disk until the next start");
        }
    }
}
