//! What a server does with a request, whatever carried it: admission, roles, deadline, handler, metrics.
//!
//! It must not know the carrier. Both carriers hand it bytes and get a reply frame back.

use std::future::Future;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use sextant_proto::access::{Peer, Role};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::frame::{self, Header, REPLY_ERROR, REPLY_OK};
use sextant_proto::handshake::Handshake;
use sextant_proto::message::{Route, decode, encode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::TransportError;
use crate::routes::{CallContext, Routes};
use crate::server::ServerOptions;

/// Bodies in memory are counted in units of this many bytes.
const BODY_UNIT_BYTES: usize = 1024;

/// A server without its carrier.
pub(crate) struct Dispatch {
    pub(crate) own: Peer,
    pub(crate) options: ServerOptions,
    routes: Routes,
    inflight: Arc<Semaphore>,
    body_units: Arc<Semaphore>,
    /// Cancelled when the server drains: requests that are running go on, new ones are refused.
    pub(crate) draining: CancellationToken,
    /// Cancelled when the server is gone.
    pub(crate) closed: CancellationToken,
    /// Every request until its reply has left.
    pub(crate) requests: TaskTracker,
}

/// What one connection may have running.
pub(crate) struct ConnectionBound(Arc<Semaphore>);

/// The other side of a connection.
pub(crate) struct Caller {
    pub(crate) peer: Peer,
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) bound: ConnectionBound,
}

/// Why a request has no answer.
pub(crate) enum Broken {
    /// The other side gave up the stream, or the connection is gone: nobody waits for an answer.
    Gone(Option<quinn::ConnectionError>),
    /// An error that the caller is told.
    Refused(WireError),
}

impl From<WireError> for Broken {
    fn from(error: WireError) -> Self {
        Self::Refused(error)
    }
}

/// Held while a request runs.
pub(crate) struct Admission {
    _server: OwnedSemaphorePermit,
    _connection: OwnedSemaphorePermit,
}

impl Dispatch {
    pub(crate) fn new(
        own: Peer,
        routes: Routes,
        options: ServerOptions,
    ) -> Result<Arc<Self>, TransportError> {
        routes.validate()?;
        options.validate()?;
        Ok(Arc::new(Self {
            own,
            routes,
            inflight: Arc::new(Semaphore::new(options.max_inflight as usize)),
            body_units: Arc::new(Semaphore::new(options.max_body_bytes / BODY_UNIT_BYTES)),
            draining: CancellationToken::new(),
            closed: CancellationToken::new(),
            requests: TaskTracker::new(),
            options,
        }))
    }

    pub(crate) fn connection(&self) -> ConnectionBound {
        ConnectionBound(Arc::new(Semaphore::new(self.options.max_streams as usize)))
    }

    /// Decides the first request of a connection.
    pub(crate) fn greet(&self, peer: &Peer, body: &[u8]) -> Result<Bytes, WireError> {
        if peer.org != self.own.org {
            let message = format!("this cluster belongs to {}, the caller to {}", self.own.org, peer.org);
            return Err(WireError::new(ErrorCode::Forbidden, message));
        }
        let handshake: Handshake = decode(body)
            .map_err(|_| WireError::new(ErrorCode::BadRequest, "the handshake does not decode"))?;
        // Nodes among themselves hold no key; those that do must show that it is the right one.
        if matches!(peer.role, Role::Client | Role::Ci)
            && self.options.org_key.is_some()
            && handshake.org_key.is_none()
        {
            let message = "this cluster asks clients for their organisation key; join with a join string";
            return Err(WireError::new(ErrorCode::WrongOrgKey, message));
        }
        let reply = handshake.answer(self.options.org_key)?;
        frame::encode(REPLY_OK, &encode(&reply)?)
    }

    /// Room for one more request, or a typed refusal.
    fn admit(&self, connection: &ConnectionBound) -> Result<Admission, WireError> {
        if self.draining.is_cancelled() {
            return Err(WireError::new(ErrorCode::ShuttingDown, "this node is shutting down; ask another"));
        }
        let full = |what: &str| {
            WireError::overloaded(
                format!("{what} has as many requests as it takes"),
                self.options.retry_after_ms,
            )
        };
        let per_connection = Arc::clone(&connection.0);
        let connection = per_connection.try_acquire_owned().map_err(|_| full("the connection"))?;
        let server = Arc::clone(&self.inflight).try_acquire_owned().map_err(|_| full("this node"))?;
        Ok(Admission { _server: server, _connection: connection })
    }

    /// Room in memory for a body.
    fn admit_body(&self, body_bytes: usize) -> Result<OwnedSemaphorePermit, WireError> {
        let units = u32::try_from(body_bytes.div_ceil(BODY_UNIT_BYTES)).unwrap_or(u32::MAX);
        Arc::clone(&self.body_units).try_acquire_many_owned(units).map_err(|_| {
            WireError::overloaded(
                "this node holds as many request bytes as it may",
                self.options.retry_after_ms,
            )
        })
    }

    /// A whole request: limits, room, role, body, handler. `read` fetches a body whose length has passed every check.
    ///
    /// Dropping the future drops the handler's. What it returns is kept until the reply has left.
    pub(crate) async fn serve<F>(
        &self,
        caller: &Caller,
        (remaining, header): (Duration, Header),
        meter: &mut Meter,
        read: impl FnOnce(usize) -> F,
    ) -> Result<(Admission, Vec<u8>), Broken>
    where
        F: Future<Output = Result<Vec<u8>, Broken>>,
    {
        let (route, body_len) = header.request()?;
        meter.route(route);
        if route == Route::Handshake {
            return Err(WireError::new(ErrorCode::BadRequest, "a second handshake on a connection").into());
        }
        self.routes.check(route, caller.peer.role)?;
        let admission = self.admit(&caller.bound)?;
        let _body_room = self.admit_body(body_len)?;
        let deadline = Instant::now() + remaining.min(self.options.max_deadline);
        let body = tokio::time::timeout_at(deadline, read(body_len)).await.map_err(|_| too_late(route))??;
        let context = CallContext { peer: caller.peer.clone(), deadline, route, remote: caller.remote };
        Ok((admission, self.answer(context, body).await?))
    }

    /// Runs the handler and makes the reply's body. Dropping the future drops the handler's.
    async fn answer(&self, context: CallContext, body: Vec<u8>) -> Result<Vec<u8>, WireError> {
        let (route, deadline) = (context.route, context.deadline);
        if deadline <= Instant::now() {
            return Err(too_late(route));
        }
        let handler = AssertUnwindSafe(self.routes.start(context, body)?).catch_unwind();
        match tokio::time::timeout_at(deadline, handler).await {
            Err(_) => Err(too_late(route)),
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => {
                tracing::error!(route = route.name(), "a handler panicked");
                let message = format!("the handler of {} failed; its node's log has more", route.name());
                Err(WireError::new(ErrorCode::Internal, message))
            }
        }
    }
}

fn too_late(route: Route) -> WireError {
    let message = format!("the caller's time for {} passed on the server", route.name());
    WireError::new(ErrorCode::DeadlineExceeded, message)
}

/// Counts one request from its start to its reply: `rpc_inflight`, `rpc_seconds`, `rpc_errors_total`.
pub(crate) struct Meter {
    route: &'static str,
    started: Instant,
}

impl Meter {
    pub(crate) fn start() -> Self {
        metrics::gauge!("rpc_inflight").increment(1.0);
        Self { route: "unknown", started: Instant::now() }
    }

    pub(crate) fn route(&mut self, route: Route) {
        self.route = route.name();
    }

    pub(crate) fn error(&self, error: &WireError) {
        metrics::counter!("rpc_errors_total", "route" => self.route, "code" => error.code.label())
            .increment(1);
        tracing::debug!(route = self.route, code = error.code.label(), "request refused or failed");
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        metrics::gauge!("rpc_inflight").decrement(1.0);
        metrics::histogram!("rpc_seconds", "route" => self.route)
            .record(self.started.elapsed().as_secs_f64());
    }
}

/// The frame of a result. An answer over the limit becomes an error, and an error always fits.
pub(crate) fn reply_frame(result: Result<Vec<u8>, WireError>, meter: &Meter) -> Bytes {
    let error = match result.and_then(|body| frame::encode(REPLY_OK, &body)) {
        Ok(whole) => return whole,
        Err(error) => error,
    };
    meter.error(&error);
    error_frame(&error)
}

/// The frame of an error.
pub(crate) fn error_frame(error: &WireError) -> Bytes {
    let bare = WireError::new(error.code, "an error whose details are too long");
    [error, &bare]
        .into_iter()
        .find_map(|error| frame::encode(REPLY_ERROR, &encode(error).ok()?).ok())
        .unwrap_or_default()
}
