//! The side that asks: typed calls with a deadline, over whichever carrier.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sextant_proto::access::{Peer, Role};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::handshake::ALPN;
use sextant_proto::ids::OrgKeyId;
use sextant_proto::message::{Request, decode, encode};
use tokio::time::{Instant, timeout_at};

use crate::dial::Dialer;
use crate::error::TransportError;
use crate::identity::Identity;
use crate::memory::{MemoryClient, Network};

/// Longest deadline of a call; longer ones are cut.
const MAX_DEADLINE: Duration = Duration::from_hours(24);

/// A server, by its address and by the role that its certificate must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Where it listens.
    pub addr: SocketAddr,
    /// Expected of its certificate; another role is answered `Forbidden` without sending the request.
    pub role: Role,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.role.name(), self.addr)
    }
}

/// Settings of a client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Shown in the handshake; clients need it, nodes have none.
    pub org_key: Option<OrgKeyId>,
    /// For a connection and its handshake.
    pub connect_timeout: Duration,
    /// Silence after which a connection is given up; a third of it is the time between keep-alives.
    pub idle: Duration,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self { org_key: None, connect_timeout: Duration::from_secs(5), idle: Duration::from_secs(9) }
    }
}

#[derive(Clone)]
enum Carrier {
    Quic(Arc<Dialer>),
    Memory(Arc<MemoryClient>),
}

/// Calls servers. Clones share their connections: one a server, made at the first call and again when it is lost.
#[derive(Clone)]
pub struct Client {
    carrier: Carrier,
    own: Peer,
}

impl Client {
    /// A client over QUIC. Must be called inside of a tokio runtime.
    pub fn new(identity: &Identity, options: ClientOptions) -> Result<Self, TransportError> {
        Self::with_alpn(identity, options, ALPN)
    }

    pub(crate) fn with_alpn(
        identity: &Identity,
        options: ClientOptions,
        alpn: &[u8],
    ) -> Result<Self, TransportError> {
        let carrier = Carrier::Quic(Arc::new(Dialer::new(identity, options, alpn)?));
        Ok(Self { carrier, own: identity.peer().clone() })
    }

    /// A client that reaches the servers of `network`.
    pub fn in_memory(network: &Network, peer: Peer, options: &ClientOptions) -> Self {
        let client = MemoryClient::new(network.clone(), peer.clone(), options.org_key);
        Self { carrier: Carrier::Memory(Arc::new(client)), own: peer }
    }

    /// Who this side is.
    pub fn own(&self) -> &Peer {
        &self.own
    }

    /// Sends `request` and waits for its reply, at most `deadline` from now, which the server is told.
    ///
    /// Errors of the server come as it sent them. Made here: `Unavailable` (retryable: not reached, or lost before the
    /// reply; the server may have run the request), `Forbidden` (a certificate was refused, or the role is another),
    /// `VersionMismatch`, `WrongOrgKey`, `TooLarge`, `DeadlineExceeded`. Dropping the future drops the handler's future
    /// on the server.
    pub async fn call<R: Request>(
        &self,
        to: &Endpoint,
        request: &R,
        deadline: Duration,
    ) -> Result<R::Reply, WireError> {
        let until = Instant::now() + deadline.min(MAX_DEADLINE);
        let body = encode(request)?;
        let limit = R::ROUTE.max_request_bytes();
        if body.len() > limit as usize {
            let message =
                format!("a {} request of {} bytes; the limit is {limit}", R::ROUTE.name(), body.len());
            return Err(WireError::new(ErrorCode::TooLarge, message));
        }
        let exchange = async {
            match &self.carrier {
                Carrier::Quic(dialer) => dialer.exchange(to, R::ROUTE, &body, until).await,
                Carrier::Memory(client) => client.exchange(to, R::ROUTE, body, until).await,
            }
        };
        let reply = timeout_at(until, exchange).await.unwrap_or_else(|_| {
            let message = format!("{to} did not answer {} within {deadline:?}", R::ROUTE.name());
            Err(WireError::new(ErrorCode::DeadlineExceeded, message))
        })?;
        decode(&reply).map_err(|_| {
            let message = format!("the reply of {to} to {} does not decode", R::ROUTE.name());
            WireError::new(ErrorCode::Internal, message)
        })
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Client({})", self.own)
    }
}

/// Whether the server is who the endpoint says.
pub(crate) fn check_server(own: &Peer, to: &Endpoint, server: &Peer) -> Result<(), WireError> {
    if server.role == to.role && server.org == own.org {
        return Ok(());
    }
    let message = format!("{} is {server}, not a {} of {}", to.addr, to.role.name(), own.org);
    Err(WireError::new(ErrorCode::Forbidden, message))
}
