//! Connections to servers: one an endpoint, shared by all callers, made when needed and again when lost.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use quinn::{Connection, ConnectionError, TransportErrorCode, VarInt, WriteError};
use sextant_proto::access::Peer;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::frame;
use sextant_proto::handshake::{Handshake, HandshakeReply, PROTOCOL_VERSION};
use sextant_proto::message::{Route, decode, encode};
use tokio::time::{Instant, timeout};

use crate::client::{ClientOptions, Endpoint, check_server};
use crate::dispatch::Broken;
use crate::error::TransportError;
use crate::identity::{Identity, TLS_NAME, peer_of_connection};
use crate::server::{CLOSE_REFUSED, CLOSE_SHUTDOWN};
use crate::stream::read_reply;
use crate::{prelude, tls};

/// QUIC's numbers for TLS alerts are 0x100 + alert (RFC 9001, section 4.8).
const TLS_ALERTS: std::ops::Range<u64> = 0x100..0x200;
/// The alert for "no application protocol in common" (RFC 7301).
const NO_APPLICATION_PROTOCOL: u64 = 0x100 + 120;

type Dial = Shared<BoxFuture<'static, Result<Connection, WireError>>>;

/// Makes and keeps connections.
pub(crate) struct Dialer {
    own: Peer,
    options: ClientOptions,
    config: quinn::ClientConfig,
    /// One socket for each address family, opened when first needed.
    sockets: Mutex<[Option<quinn::Endpoint>; 2]>,
    dials: Mutex<HashMap<Endpoint, Dial>>,
}

impl Dialer {
    pub(crate) fn new(
        identity: &Identity,
        options: ClientOptions,
        alpn: &[u8],
    ) -> Result<Self, TransportError> {
        let transport = tls::transport(options.idle, 0, Some(options.idle / 3))?;
        let config = tls::client(identity, alpn, transport)?;
        let own = identity.peer().clone();
        Ok(Self { own, options, config, sockets: Mutex::default(), dials: Mutex::default() })
    }

    /// Sends a request and reads its reply.
    pub(crate) async fn exchange(
        &self,
        to: &Endpoint,
        route: Route,
        body: &[u8],
        until: Instant,
    ) -> Result<Vec<u8>, WireError> {
        let frame = frame::encode(route as u16, body)?;
        let mut connection = self.connection(to).await?;
        let mut streams = connection.open_bi().await;
        if streams.is_err() {
            // Nothing was sent yet, so a second try is safe.
            connection = self.connection(to).await?;
            streams = connection.open_bi().await;
        }
        let streams = streams.map_err(|error| lost(to, &error))?;
        let remaining = until.saturating_duration_since(Instant::now());
        let reply = send(streams, remaining, frame).await;
        reply.map_err(|broken| match broken {
            Broken::Refused(error) => error,
            Broken::Gone(error) => match error.or_else(|| connection.close_reason()) {
                Some(error) => lost(to, &error),
                None => {
                    WireError::new(ErrorCode::Unavailable, format!("{to} gave up the request; try again"))
                }
            },
        })
    }

    /// A connection that is open as far as this side knows.
    async fn connection(&self, to: &Endpoint) -> Result<Connection, WireError> {
        let dial = {
            let mut dials = self.dials.lock().unwrap_or_else(PoisonError::into_inner);
            match dials.get(to) {
                Some(dial) if !is_spent(dial) => dial.clone(),
                _ => {
                    let dial = self.start(to)?;
                    dials.insert(*to, dial.clone());
                    dial
                }
            }
        };
        dial.await
    }

    /// Dials in a task of its own, so that a caller that gives up does not take the others' connection with it.
    fn start(&self, to: &Endpoint) -> Result<Dial, WireError> {
        let endpoint = self.socket(to.addr)?;
        let connecting = endpoint.connect_with(self.config.clone(), to.addr, TLS_NAME).map_err(|error| {
            WireError::new(ErrorCode::BadRequest, format!("{to} cannot be dialled: {error}"))
        })?;
        let (to, own, org_key) = (*to, self.own.clone(), self.options.org_key);
        let limit = self.options.connect_timeout;
        let dial = async move {
            let connection = connecting.await.map_err(|error| lost(&to, &error))?;
            match greet(
                &connection,
                &to,
                &own,
                Handshake { version: PROTOCOL_VERSION, program: env!("CARGO_PKG_VERSION").into(), org_key },
            )
            .await
            {
                Ok(()) => Ok(connection),
                Err(error) => {
                    connection.close(VarInt::from_u32(CLOSE_REFUSED), b"refused by the caller");
                    Err(error)
                }
            }
        };
        let task = tokio::spawn(timeout(limit, dial));
        let outcome = async move {
            match task.await {
                Ok(Ok(dialled)) => dialled,
                Ok(Err(_)) => Err(unreachable_within(&to, limit)),
                Err(_) => Err(WireError::new(ErrorCode::Unavailable, format!("dialling {to} was stopped"))),
            }
        };
        Ok(outcome.boxed().shared())
    }

    fn socket(&self, to: SocketAddr) -> Result<quinn::Endpoint, WireError> {
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        let (slot, any): (_, SocketAddr) = match to {
            SocketAddr::V4(_) => (&mut sockets[0], (Ipv4Addr::UNSPECIFIED, 0).into()),
            SocketAddr::V6(_) => (&mut sockets[1], (Ipv6Addr::UNSPECIFIED, 0).into()),
        };
        if let Some(endpoint) = slot {
            return Ok(endpoint.clone());
        }
        let endpoint = quinn::Endpoint::client(any).map_err(|error| {
            WireError::new(ErrorCode::Unavailable, format!("cannot open a UDP socket on {any}: {error}"))
        })?;
        Ok(slot.insert(endpoint).clone())
    }
}

fn is_spent(dial: &Dial) -> bool {
    match dial.peek() {
        None => false,
        Some(Ok(connection)) => connection.close_reason().is_some(),
        Some(Err(_)) => true,
    }
}

/// Checks the server and shakes hands.
async fn greet(
    connection: &Connection,
    to: &Endpoint,
    own: &Peer,
    handshake: Handshake,
) -> Result<(), WireError> {
    let server = peer_of_connection(connection).map_err(|reason| {
        WireError::new(ErrorCode::Forbidden, format!("the certificate of {to} names nobody: {reason}"))
    })?;
    check_server(own, to, &server)?;
    let frame = frame::encode(Route::Handshake as u16, &encode(&handshake)?)?;
    let streams = connection.open_bi().await.map_err(|error| lost(to, &error))?;
    let reply = send(streams, Duration::MAX, frame).await.map_err(|broken| match broken {
        Broken::Refused(error) => error,
        Broken::Gone(Some(error)) => lost(to, &error),
        Broken::Gone(None) => {
            WireError::new(ErrorCode::Unavailable, format!("{to} gave up the handshake; try again"))
        }
    })?;
    let reply: HandshakeReply = decode(&reply).map_err(|_| {
        WireError::new(ErrorCode::BadRequest, format!("{to} answered the handshake with something else"))
    })?;
    if reply.version == PROTOCOL_VERSION {
        return Ok(());
    }
    let message =
        format!("{to} speaks version {}, this side {PROTOCOL_VERSION}; update the older one", reply.version);
    Err(WireError::new(ErrorCode::VersionMismatch, message))
}

/// One request on a fresh stream. Dropping the future stops the stream, which ends the handler on the server.
async fn send(
    (mut send, mut recv): (quinn::SendStream, quinn::RecvStream),
    remaining: Duration,
    frame: Bytes,
) -> Result<Vec<u8>, Broken> {
    let mut chunks = [Bytes::copy_from_slice(&prelude::encode(remaining)), frame];
    match send.write_all_chunks(&mut chunks).await {
        Ok(()) => {
            let _ = send.finish();
        }
        // The server has refused the request without reading all of it: its reply says why.
        Err(WriteError::Stopped(_)) => {}
        Err(WriteError::ConnectionLost(error)) => return Err(Broken::Gone(Some(error))),
        Err(_) => return Err(Broken::Gone(None)),
    }
    read_reply(&mut recv).await
}

fn unreachable_within(to: &Endpoint, limit: Duration) -> WireError {
    let message = format!("{to} did not answer within {limit:?}; is it running, and is the address right?");
    WireError::new(ErrorCode::Unavailable, message)
}

/// A lost connection as one clear error.
///
/// With TLS 1.3 this side's connection is open before the server has looked at this side's certificate, so a refusal
/// arrives here as a close with a TLS alert, whichever stream was waiting.
fn lost(to: &Endpoint, error: &ConnectionError) -> WireError {
    let (code, message) = match error {
        ConnectionError::VersionMismatch => (
            ErrorCode::VersionMismatch,
            format!("{to} speaks another version of QUIC; update the older side"),
        ),
        ConnectionError::TransportError(error) if u64::from(error.code) == NO_APPLICATION_PROTOCOL => {
            (ErrorCode::VersionMismatch, format!("{to} speaks another protocol; update the older side"))
        }
        ConnectionError::ConnectionClosed(close)
            if u64::from(close.error_code) == NO_APPLICATION_PROTOCOL =>
        {
            (ErrorCode::VersionMismatch, format!("{to} speaks another protocol; update the older side"))
        }
        ConnectionError::TransportError(error) if TLS_ALERTS.contains(&u64::from(error.code)) => (
            ErrorCode::Forbidden,
            format!(
                "the certificate of {to} is not accepted: {}; renew it, or check whose node it is",
                error.reason
            ),
        ),
        ConnectionError::ConnectionClosed(close) if TLS_ALERTS.contains(&u64::from(close.error_code)) => (
            ErrorCode::Forbidden,
            format!(
                "{to} refused this side's certificate ({}); renew it, or join again",
                String::from_utf8_lossy(&close.reason)
            ),
        ),
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            (ErrorCode::Unavailable, format!("{to} takes no more connections; try again"))
        }
        ConnectionError::ApplicationClosed(close) if close.error_code == VarInt::from_u32(CLOSE_REFUSED) => (
            ErrorCode::Forbidden,
            format!("{to} refused the connection: {}", String::from_utf8_lossy(&close.reason)),
        ),
        ConnectionError::ApplicationClosed(close) if close.error_code == VarInt::from_u32(CLOSE_SHUTDOWN) => {
            (ErrorCode::Unavailable, format!("{to} is shutting down; ask another, or try again"))
        }
        other => (ErrorCode::Unavailable, format!("{to} cannot be reached: {other}")),
    };
    WireError::new(code, message)
}
