//! The side that listens: QUIC connections in, one task a request, and the end of it all.
//!
//! It must not know what requests mean; `dispatch` decides everything about them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::{Connection, Incoming, RecvStream, SendStream, VarInt};
use sextant_proto::access::Peer;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::frame::{HEADER_BYTES, Header};
use sextant_proto::handshake::ALPN;
use sextant_proto::ids::OrgKeyId;
use sextant_proto::message::Route;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::dispatch::{Broken, Caller, Dispatch, Meter, error_frame, reply_frame};
use crate::error::TransportError;
use crate::identity::{Identity, peer_of_connection};
use crate::memory::Network;
use crate::prelude::{self, PRELUDE_BYTES};
use crate::routes::Routes;
use crate::stream::{read_array, read_body};
use crate::tls;

/// Close code: the node is shutting down.
pub(crate) const CLOSE_SHUTDOWN: u32 = 1;
/// Close code: the connection was refused; the reason is text.
pub(crate) const CLOSE_REFUSED: u32 = 2;

/// Connections whose handshake is under way. Above half of it, a caller must first show that its address is its own.
const MAX_HANDSHAKES: usize = 256;
/// For the four bytes of a prelude and the six of a header.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// For the acknowledgement of a reply's last bytes.
const LINGER: Duration = Duration::from_secs(5);
/// Streams above `max_streams` that a caller may open, to be told that it is over its bound.
const SPARE_STREAMS: u32 = 64;

/// Bounds of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Id of the organisation key that clients must hold; `None` asks for none.
    pub org_key: Option<OrgKeyId>,
    /// Requests that one connection may have running; one more is answered `Overloaded`.
    pub max_streams: u32,
    /// Requests that may run on the whole server; one more is answered `Overloaded`.
    pub max_inflight: u32,
    /// Bytes of request bodies in memory, over all connections; a request that does not fit is answered `Overloaded`.
    pub max_body_bytes: usize,
    /// Connections; one more is refused.
    pub max_connections: usize,
    /// Silence after which a connection is given up.
    pub idle: Duration,
    /// From the first packet of a connection until its first request is answered; at most 10 s.
    pub handshake_timeout: Duration,
    /// The longest time that a request may run, whatever its caller says.
    pub max_deadline: Duration,
    /// Told with `Overloaded`.
    pub retry_after_ms: u32,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            org_key: None,
            max_streams: 1024,
            max_inflight: 4096,
            max_body_bytes: 256 << 20,
            max_connections: 4096,
            idle: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(8),
            max_deadline: Duration::from_mins(10),
            retry_after_ms: 100,
        }
    }
}

impl ServerOptions {
    pub(crate) fn validate(&self) -> Result<(), TransportError> {
        let wrong = |name, reason: &str| Err(TransportError::Setting { name, reason: reason.into() });
        if self.max_streams == 0 || self.max_inflight == 0 {
            return wrong("max_streams and max_inflight", "at least 1 request must be allowed");
        }
        if self.max_body_bytes < sextant_proto::limits::MAX_FRAME_BYTES as usize {
            return wrong("max_body_bytes", "it must hold the largest frame, 8 MiB");
        }
        if self.max_body_bytes / 1024 > Semaphore::MAX_PERMITS || self.max_streams > 1 << 20 {
            return wrong("max_body_bytes or max_streams", "it is too large to be a bound");
        }
        if self.handshake_timeout.is_zero() || self.handshake_timeout > Duration::from_secs(10) {
            return wrong("handshake_timeout", "it must be more than 0 and at most 10 s");
        }
        Ok(())
    }
}

enum Carrier {
    Quic { endpoint: quinn::Endpoint, accept: AbortHandle },
    Memory { network: Network },
}

/// A server that is running. Dropping it ends it at once; [`Server::shutdown`] lets requests finish.
pub struct Server {
    dispatch: Arc<Dispatch>,
    local_addr: SocketAddr,
    carrier: Carrier,
}

impl Server {
    /// Opens the socket and serves `routes`. Port 0 takes a free one. Must be called inside of a tokio runtime.
    pub fn bind(
        addr: SocketAddr,
        identity: &Identity,
        routes: Routes,
        options: ServerOptions,
    ) -> Result<Self, TransportError> {
        Self::bind_with_alpn(addr, identity, routes, (options, ALPN))
    }

    pub(crate) fn bind_with_alpn(
        addr: SocketAddr,
        identity: &Identity,
        routes: Routes,
        (options, alpn): (ServerOptions, &[u8]),
    ) -> Result<Self, TransportError> {
        let dispatch = Dispatch::new(identity.peer().clone(), routes, options)?;
        let options = &dispatch.options;
        let transport = tls::transport(options.idle, options.max_streams + SPARE_STREAMS, None)?;
        let mut config = tls::server(identity, alpn, transport)?;
        // What strangers can make this side remember: first packets that nobody has looked at yet.
        config.max_incoming(1024).incoming_buffer_size(64 << 10).incoming_buffer_size_total(8 << 20);
        let bind = |source| TransportError::Bind { addr, source };
        let endpoint = quinn::Endpoint::server(config, addr).map_err(bind)?;
        let local_addr = endpoint.local_addr().map_err(bind)?;
        let accept = tokio::spawn(accept(endpoint.clone(), Arc::clone(&dispatch))).abort_handle();
        Ok(Self { dispatch, local_addr, carrier: Carrier::Quic { endpoint, accept } })
    }

    /// Serves `routes` as `peer` in a [`Network`] of this process: same limits, codes and deadlines, no sockets.
    pub fn in_memory(
        network: &Network,
        addr: SocketAddr,
        peer: Peer,
        routes: Routes,
        options: ServerOptions,
    ) -> Result<Self, TransportError> {
        let dispatch = Dispatch::new(peer, routes, options)?;
        let local_addr = network.register(addr, &dispatch)?;
        Ok(Self { dispatch, local_addr, carrier: Carrier::Memory { network: network.clone() } })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Refuses new requests with `ShuttingDown`, waits up to `drain` for those that run, and closes all connections.
    pub async fn shutdown(self, drain: Duration) {
        self.dispatch.draining.cancel();
        self.dispatch.requests.close();
        if timeout(drain, self.dispatch.requests.wait()).await.is_err() {
            let left = self.dispatch.requests.len();
            tracing::warn!(left, "requests were still running when the drain time was over");
        }
        self.close();
        if let Carrier::Quic { endpoint, .. } = &self.carrier {
            let _ = timeout(Duration::from_secs(1), endpoint.wait_idle()).await;
        }
    }

    /// Connections that are open or opening; `None` in memory.
    #[cfg(test)]
    pub(crate) fn open_connections(&self) -> Option<usize> {
        match &self.carrier {
            Carrier::Quic { endpoint, .. } => Some(endpoint.open_connections()),
            Carrier::Memory { .. } => None,
        }
    }

    fn close(&self) {
        self.dispatch.draining.cancel();
        self.dispatch.closed.cancel();
        match &self.carrier {
            Carrier::Quic { endpoint, accept } => {
                accept.abort();
                endpoint.close(VarInt::from_u32(CLOSE_SHUTDOWN), b"shutting down");
            }
            Carrier::Memory { network } => network.remove(self.local_addr, &self.dispatch),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Server({} at {})", self.dispatch.own, self.local_addr)
    }
}

/// Takes connections until the endpoint is closed.
async fn accept(endpoint: quinn::Endpoint, dispatch: Arc<Dispatch>) {
    let handshakes = Arc::new(Semaphore::new(MAX_HANDSHAKES));
    while let Some(incoming) = endpoint.accept().await {
        let crowded = handshakes.available_permits() < MAX_HANDSHAKES / 2;
        if crowded && incoming.may_retry() && !incoming.remote_address_validated() {
            let _ = incoming.retry();
        } else if dispatch.draining.is_cancelled()
            || endpoint.open_connections() >= dispatch.options.max_connections
        {
            incoming.refuse();
        } else if let Ok(permit) = Arc::clone(&handshakes).try_acquire_owned() {
            tokio::spawn(connection(Arc::clone(&dispatch), incoming, permit));
        } else {
            incoming.ignore();
        }
    }
}

/// One connection, from its first packet to its last.
async fn connection(dispatch: Arc<Dispatch>, incoming: Incoming, permit: OwnedSemaphorePermit) {
    let remote = incoming.remote_address();
    let opened = timeout(dispatch.options.handshake_timeout, open(&dispatch, incoming)).await;
    drop(permit);
    let (connection, peer) = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(reason)) => return tracing::debug!(%remote, reason, "connection refused"),
        Err(_) => return tracing::debug!(%remote, "connection dropped: its handshake did not finish in time"),
    };
    tracing::debug!(%remote, %peer, "connection opened");
    let caller = Arc::new(Caller { peer, remote: Some(remote), bound: dispatch.connection() });
    while let Ok((send, recv)) = connection.accept_bi().await {
        dispatch.requests.spawn(request(Arc::clone(&dispatch), Arc::clone(&caller), send, recv));
    }
    tracing::debug!(%remote, peer = %caller.peer, "connection closed");
}

/// TLS, the peer's name, and the first request, which must be a handshake.
async fn open(dispatch: &Dispatch, incoming: Incoming) -> Result<(Connection, Peer), String> {
    let connection = incoming.accept().map_err(|e| e.to_string())?.await.map_err(|e| e.to_string())?;
    let refuse = |reason: String| {
        connection.close(VarInt::from_u32(CLOSE_REFUSED), reason.as_bytes());
        reason
    };
    let peer = peer_of_connection(&connection).map_err(refuse)?;
    let (mut send, mut recv) = connection.accept_bi().await.map_err(|e| e.to_string())?;
    let answer = match greet(dispatch, &peer, &mut recv).await {
        Ok(frame) => Ok(frame),
        Err(Broken::Gone(_)) => return Err("the caller left during the handshake".into()),
        Err(Broken::Refused(error)) => Err(error),
    };
    let frame = match &answer {
        Ok(frame) => frame.clone(),
        Err(error) => error_frame(error),
    };
    send.write_chunk(frame).await.map_err(|e| e.to_string())?;
    send.finish().map_err(|e| e.to_string())?;
    if let Err(error) = answer {
        let _ = send.stopped().await;
        return Err(refuse(error.to_string()));
    }
    Ok((connection, peer))
}

async fn greet(dispatch: &Dispatch, peer: &Peer, recv: &mut RecvStream) -> Result<bytes::Bytes, Broken> {
    read_array::<PRELUDE_BYTES>(recv).await?;
    let (route, len) = Header::decode(read_array::<HEADER_BYTES>(recv).await?).request()?;
    if route != Route::Handshake {
        return Err(WireError::new(ErrorCode::BadRequest, "the first request must be a handshake").into());
    }
    let body = read_body(recv, len).await?;
    Ok(dispatch.greet(peer, &body)?)
}

/// One request, until its reply has left or its caller has given up.
async fn request(dispatch: Arc<Dispatch>, caller: Arc<Caller>, mut send: SendStream, mut recv: RecvStream) {
    let mut meter = Meter::start();
    let stopped = send.stopped();
    let answered = async {
        let head = async {
            let remaining = prelude::decode(read_array::<PRELUDE_BYTES>(&mut recv).await?);
            Ok((remaining, Header::decode(read_array::<HEADER_BYTES>(&mut recv).await?)))
        };
        let head = timeout(HEADER_TIMEOUT, head).await.unwrap_or(Err(Broken::Gone(None)))?;
        dispatch.serve(&caller, head, &mut meter, |len| read_body(&mut recv, len)).await
    };
    let (admission, result) = tokio::select! {
        biased;
        // The caller gave up, or its connection is lost.
        _ = stopped => return,
        answered = answered => match answered {
            Ok((admission, body)) => (Some(admission), Ok(body)),
            Err(Broken::Refused(error)) => (None, Err(error)),
            Err(Broken::Gone(_)) => return,
        },
    };
    let frame = reply_frame(result, &meter);
    // A caller that does not read its answer holds its place no longer than any request may.
    let written = timeout(dispatch.options.max_deadline, send.write_chunk(frame)).await;
    drop((admission, meter));
    if matches!(written, Ok(Ok(()))) && send.finish().is_ok() {
        let _ = timeout(LINGER, send.stopped()).await;
    }
}
