//! Owns the way out of a snapshot: a thread that holds the RocksDB snapshot and gives one frame at a time.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use bytes::Bytes;
use sextant_proto::ids::GroupId;
use tokio::sync::{mpsc, oneshot};

use super::frame::{FRAME_BYTES, Frame, Trailer, push_row};
use crate::error::StoreError;
use crate::keys::{self, DATA_PREFIX_LEN};
use crate::store::{DATA, Db, RAFT, bounded};
use crate::types::{GroupState, decode};

/// One answer of the reading thread.
#[derive(Debug)]
pub(crate) enum Piece {
    Frame(Frame),
    End(Trailer),
}

/// A group's rows at one moment. Dropping it lets the thread, and with it the RocksDB snapshot, go.
#[derive(Debug)]
pub(crate) struct SnapshotReader {
    state: GroupState,
    // The thread works only on demand, so an unread snapshot reads no row.
    demand: Sender<()>,
    pieces: mpsc::Receiver<Result<Piece, StoreError>>,
}

impl SnapshotReader {
    /// Fixes the moment: everything applied before this call is in, nothing applied after it returned.
    pub(crate) async fn open(db: &Arc<Db>, group: GroupId) -> Result<Self, StoreError> {
        let (demand, wanted) = channel();
        let (give, pieces) = mpsc::channel(1);
        let (opened, state) = oneshot::channel();
        let db = Arc::clone(db);
        std::thread::Builder::new()
            .name("raft-snapshot".to_owned())
            .spawn(move || {
                if let Err(error) = read_out(&db, group, opened, (&wanted, &give)) {
                    let _gone = give.blocking_send(Err(error));
                }
            })
            .map_err(|error| StoreError::Snapshot(format!("no thread to read it: {error}")))?;
        let state = state.await.map_err(|_| ended())??;
        Ok(Self { state, demand, pieces })
    }

    pub(crate) fn state(&self) -> &GroupState {
        &self.state
    }

    pub(crate) async fn next(&mut self) -> Result<Piece, StoreError> {
        self.demand.send(()).map_err(|_| ended())?;
        self.pieces.recv().await.ok_or_else(ended)?
    }
}

fn ended() -> StoreError {
    StoreError::Snapshot("the reading thread has ended early".to_owned())
}

type Channels<'a> = (&'a Receiver<()>, &'a mpsc::Sender<Result<Piece, StoreError>>);

/// The thread's work. Returns early without an error when the reader is dropped.
fn read_out(
    db: &Db,
    group: GroupId,
    opened: oneshot::Sender<Result<GroupState, StoreError>>,
    (wanted, give): Channels<'_>,
) -> Result<(), StoreError> {
    let snapshot = db.snapshot();
    let read_state = || -> Result<GroupState, StoreError> {
        let raft = db.cf_handle(RAFT).ok_or(StoreError::MissingFamily(RAFT))?;
        let bytes = snapshot
            .get_cf(&raft, keys::record(group, keys::TAG_STATE))
            .map_err(|source| StoreError::Read { what: "a group's applied state", source })?;
        bytes.map_or_else(|| Ok(GroupState::default()), |bytes| decode("a group's applied state", &bytes))
    };
    let state = match read_state() {
        Ok(state) => state,
        Err(error) => {
            let _gone = opened.send(Err(error));
            return Ok(());
        }
    };
    let prefix = keys::data_prefix(group, state.incarnation);
    if opened.send(Ok(state)).is_err() || wanted.recv().is_err() {
        return Ok(());
    }

    let data = db.cf_handle(DATA).ok_or(StoreError::MissingFamily(DATA))?;
    let mut options = bounded(prefix.to_vec(), keys::after_prefix(&prefix));
    // A whole group would push everything else out of the cache.
    options.fill_cache(false);
    let mut rows = snapshot.raw_iterator_cf_opt(&data, options);
    rows.seek_to_first();

    let mut trailer = Trailer { frames: 0, rows: 0, digest: [0; 32] };
    let mut digest = blake3::Hasher::new();
    let mut stream = Vec::with_capacity(2 * FRAME_BYTES);
    let mut sent = 0;
    loop {
        while stream.len() - sent < FRAME_BYTES {
            let Some((key, value)) = rows.item() else { break };
            stream.drain(..sent);
            sent = 0;
            push_row(&mut stream, &key[DATA_PREFIX_LEN..], value);
            trailer.rows += 1;
            rows.next();
        }
        rows.status().map_err(|source| StoreError::Read { what: "rows of a snapshot", source })?;
        if stream.len() == sent {
            break;
        }
        let end = stream.len().min(sent + FRAME_BYTES);
        let payload = Bytes::copy_from_slice(&stream[sent..end]);
        sent = end;
        digest.update(&payload);
        let frame = Frame::new(trailer.frames, payload);
        trailer.frames += 1;
        if give.blocking_send(Ok(Piece::Frame(frame))).is_err() || wanted.recv().is_err() {
            return Ok(());
        }
    }
    trailer.digest = *digest.finalize().as_bytes();
    let _gone = give.blocking_send(Ok(Piece::End(trailer)));
    Ok(())
}
