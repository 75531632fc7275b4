//! Owns the one thread that makes log writes durable: one fsync for what every group of the node appended since
//! the last. Knows no group and no log entry.
//!
//! Writers put their batch into RocksDB's write-ahead log first (unsynced, at once readable) and then ask here for
//! a sync. While one fsync runs, the requests of all groups gather; the next fsync covers them all, because a
//! request is queued only after its bytes are in the log.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::store::Db;

type Done = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

struct Request {
    entries: usize,
    done: Done,
}

/// Handle to the syncing thread; dropping it lets the thread finish what is queued and joins it.
pub(crate) struct Syncer {
    queue: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    pub(crate) fn start(db: Arc<Db>) -> std::io::Result<Self> {
        let (queue, requests) = channel();
        let thread = std::thread::Builder::new()
            .name("raft-fsync".to_owned())
            .spawn(move || run(&requests, || db.flush_wal(true).map_err(|error| error.to_string())))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Calls `done` once everything written before this call is on disk (or known not to be).
    ///
    /// The queue has no bound of its own: each group has at most one request in it, because openraft waits for
    /// an append before it makes the next.
    pub(crate) fn request(&self, entries: usize, done: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        let request = Request { entries, done: Box::new(done) };
        let refused = match &self.queue {
            Some(queue) => queue.send(request).err().map(|unsent| unsent.0),
            None => Some(request),
        };
        if let Some(request) = refused {
            (request.done)(Err(StoreError::Sync("the syncing thread has ended".to_owned())));
        }
    }

    pub(crate) async fn synced(&self) -> Result<(), StoreError> {
        let (done, outcome) = oneshot::channel();
        self.request(0, move |result| {
            let _unheard = done.send(result);
        });
        outcome.await.unwrap_or_else(|_| Err(StoreError::Sync("the syncing thread has ended".to_owned())))
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _panicked = thread.join();
        }
    }
}

fn run(requests: &Receiver<Request>, fsync: impl Fn() -> Result<(), String>) {
    let batch_entries = metrics::histogram!("raft_append_batch_entries");
    let fsync_seconds = metrics::histogram!("raft_fsync_seconds");
    // After a failed fsync the kernel may have dropped the dirty pages, and a second fsync would say all is well:
    // so the first failure is the last word.
    let mut broken: Option<String> = None;
    while let Ok(first) = requests.recv() {
        let mut gathered = vec![first];
        gathered.extend(requests.try_iter());
        if broken.is_none() {
            let started = Instant::now();
            broken = fsync().err();
            fsync_seconds.record(started.elapsed().as_secs_f64());
            batch_entries.record(gathered.iter().map(|request| request.entries).sum::<usize>() as f64);
        }
        for request in gathered {
            (request.done)(broken.clone().map_or(Ok(()), |reason| Err(StoreError::Sync(reason))));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Mutex;

    use super::*;

    fn outcomes(requests: usize, fsync: impl Fn() -> Result<(), String>) -> Vec<bool> {
        let (queue, received) = channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        for _ in 0..requests {
            let seen = Arc::clone(&seen);
            let done: Done = Box::new(move |result| {
                if let Ok(mut seen) = seen.lock() {
                    seen.push(result.is_ok());
                }
            });
            queue.send(Request { entries: 1, done }).expect("the receiver lives");
        }
        drop(queue);
        run(&received, fsync);
        let seen = seen.lock().expect("no panic above");
        seen.clone()
    }

    #[test]
    fn one_fsync_covers_everything_that_waits() {
        let fsyncs = Cell::new(0);
        let outcomes = outcomes(100, || {
            fsyncs.set(fsyncs.get() + 1);
            Ok(())
        });
        assert_eq!(outcomes, vec![true; 100]);
        assert_eq!(fsyncs.get(), 1);
    }

    #[test]
    fn a_failed_fsync_is_never_forgotten() {
        let (queue, received) = channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let request = |queue: &Sender<Request>| {
            let seen = Arc::clone(&seen);
            let done: Done = Box::new(move |result| {
                if let Ok(mut seen) = seen.lock() {
                    seen.push(result.is_ok());
                }
            });
            queue.send(Request { entries: 1, done }).expect("the receiver lives");
        };
        request(&queue);
        // The second request arrives after the first fsync has failed; the disk "works" again by then.
        let fsyncs = Cell::new(0);
        let late = Cell::new(Some(queue));
        run(&received, || {
            fsyncs.set(fsyncs.get() + 1);
            if let Some(queue) = late.take() {
                request(&queue);
                return Err("device gone".to_owned());
            }
            Ok(())
        });
        assert_eq!(*seen.lock().expect("no panic above"), vec![false, false]);
        assert_eq!(fsyncs.get(), 1);
    }
}
