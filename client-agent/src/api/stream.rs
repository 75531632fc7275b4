//! Work as a stream of events, one JSON object a line.
//!
//! The work lives as long as somebody reads: where the reader goes away it is dropped at its next step, which is as safe
//! as a power cut there. Must not know what the work is.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::Stream;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::api::wire::{Event, Problem};
use crate::report::Progress;

/// What a reader asks for, and gets, to see events instead of the reply alone.
pub const NDJSON: &str = "application/x-ndjson";

/// Progress that becomes events.
#[derive(Debug)]
pub struct Told<T> {
    events: mpsc::UnboundedSender<Event<T>>,
}

impl<T> Told<T> {
    fn tell(&self, event: Event<T>) {
        // Nobody reads any more where this fails; the work is about to be dropped.
        let _ = self.events.send(event);
    }
}

impl<T: Send + Sync> Progress for Told<T> {
    fn files(&self, done: u64, total: u64) {
        self.tell(Event::Files { done, total });
    }

    fn chunks(&self, done: u64, total: u64) {
        self.tell(Event::Chunks { done, total });
    }

    fn note(&self, line: &str) {
        self.tell(Event::Note { line: line.to_owned() });
    }
}

/// Lines of a task; dropping them drops the task.
struct Lines<T> {
    events: mpsc::UnboundedReceiver<Event<T>>,
    task: JoinHandle<()>,
}

impl<T> Drop for Lines<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<T: Serialize> Stream for Lines<T> {
    type Item = Result<Bytes, serde_json::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_recv(context).map(|event| {
            event.map(|event| {
                let mut line = serde_json::to_vec(&event)?;
                line.push(b'\n');
                Ok(line.into())
            })
        })
    }
}

/// Runs `work` and streams what it tells, its outcome last.
pub fn respond<T, F>(work: impl FnOnce(Arc<Told<T>>) -> F) -> Response
where
    T: Serialize + Send + Sync + 'static,
    F: Future<Output = Result<T, Problem>> + Send + 'static,
{
    let (sender, events) = mpsc::unbounded_channel();
    let told = Arc::new(Told { events: sender });
    let work = work(Arc::clone(&told));
    let task = tokio::spawn(async move {
        told.tell(match work.await {
            Ok(result) => Event::Done { result },
            Err(error) => Event::Failed { error },
        });
    });
    let body = Body::from_stream(Lines { events, task });
    ([(header::CONTENT_TYPE, NDJSON)], body).into_response()
}
