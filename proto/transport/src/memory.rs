//! The in-memory carrier: the same routes, roles, limits, codes and deadlines without sockets or certificates.
//!
//! For tests of what stands on top. Requests and replies are encoded and decoded, so nothing passes that a wire would
//! not carry.

use std::collections::HashMap;
use std::future::ready;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::future::BoxFuture;
use sextant_proto::access::Peer;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::frame::{HEADER_BYTES, Header};
use sextant_proto::handshake::{Handshake, PROTOCOL_VERSION};
use sextant_proto::ids::OrgKeyId;
use sextant_proto::message::{Route, encode};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::client::{Endpoint, check_server};
use crate::dispatch::{Broken, Caller, Dispatch, Meter, reply_frame};
use crate::error::TransportError;
use crate::prelude;
use crate::stream::{reply_body, reply_len};

/// First port given out for port 0.
const FIRST_PORT: u16 = 20_000;

/// The servers that in-memory clients can reach, by address.
#[derive(Clone, Default)]
pub struct Network(Arc<Mutex<HashMap<SocketAddr, Arc<Dispatch>>>>);

impl Network {
    /// Nobody is reachable.
    pub fn new() -> Self {
        Self::default()
    }

    fn servers(&self) -> std::sync::MutexGuard<'_, HashMap<SocketAddr, Arc<Dispatch>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn register(
        &self,
        addr: SocketAddr,
        dispatch: &Arc<Dispatch>,
    ) -> Result<SocketAddr, TransportError> {
        let mut servers = self.servers();
        let taken = |addr| TransportError::Bind { addr, source: std::io::ErrorKind::AddrInUse.into() };
        let addr = if addr.port() == 0 {
            (FIRST_PORT..=u16::MAX)
                .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
                .find(|candidate| !servers.contains_key(candidate))
                .ok_or_else(|| taken(addr))?
        } else {
            addr
        };
        if servers.contains_key(&addr) {
            return Err(taken(addr));
        }
        servers.insert(addr, Arc::clone(dispatch));
        Ok(addr)
    }

    pub(crate) fn remove(&self, addr: SocketAddr, dispatch: &Arc<Dispatch>) {
        let mut servers = self.servers();
        if servers.get(&addr).is_some_and(|known| Arc::ptr_eq(known, dispatch)) {
            servers.remove(&addr);
        }
    }
}

struct Open {
    dispatch: Arc<Dispatch>,
    caller: Arc<Caller>,
}

/// A client within a [`Network`].
pub(crate) struct MemoryClient {
    network: Network,
    peer: Peer,
    org_key: Option<OrgKeyId>,
    open: Mutex<HashMap<Endpoint, Open>>,
}

/// Ends the handler with the call.
struct AbortOnDrop(JoinHandle<Option<Bytes>>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl MemoryClient {
    pub(crate) fn new(network: Network, peer: Peer, org_key: Option<OrgKeyId>) -> Self {
        Self { network, peer, org_key, open: Mutex::default() }
    }

    /// Finds the server and shakes hands with it, once for each of its lives.
    fn connect(&self, to: &Endpoint) -> Result<(Arc<Dispatch>, Arc<Caller>), WireError> {
        let unreachable =
            || WireError::new(ErrorCode::Unavailable, format!("{to} cannot be reached: not bound"));
        let dispatch = self.network.servers().get(&to.addr).cloned().ok_or_else(unreachable)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(to)
            && Arc::ptr_eq(&known.dispatch, &dispatch)
        {
            return Ok((dispatch, Arc::clone(&known.caller)));
        }
        check_server(&self.peer, to, &dispatch.own)?;
        let handshake = Handshake {
            version: PROTOCOL_VERSION,
            program: env!("CARGO_PKG_VERSION").into(),
            org_key: self.org_key,
        };
        dispatch.greet(&self.peer, &encode(&handshake)?)?;
        let caller = Arc::new(Caller { peer: self.peer.clone(), remote: None, bound: dispatch.connection() });
        open.insert(*to, Open { dispatch: Arc::clone(&dispatch), caller: Arc::clone(&caller) });
        Ok((dispatch, caller))
    }

    /// Boxed to keep the future of every call small.
    pub(crate) fn exchange(
        &self,
        to: &Endpoint,
        route: Route,
        body: Vec<u8>,
        until: Instant,
    ) -> BoxFuture<'_, Result<Vec<u8>, WireError>> {
        let to = *to;
        Box::pin(async move {
            let (dispatch, caller) = self.connect(&to)?;
            let remaining = prelude::decode(prelude::encode(until.saturating_duration_since(Instant::now())));
            let header = Header { body_len: body.len() as u32, route: route as u16 };
            let gone = dispatch.closed.clone();
            let server = Arc::clone(&dispatch);
            let request = async move {
                let mut meter = Meter::start();
                let served =
                    server.serve(&caller, (remaining, header), &mut meter, |_| ready(Ok(body))).await;
                match served {
                    Ok((_admission, body)) => Some(reply_frame(Ok(body), &meter)),
                    Err(Broken::Refused(error)) => Some(reply_frame(Err(error), &meter)),
                    Err(Broken::Gone(_)) => None,
                }
            };
            let mut task = AbortOnDrop(dispatch.requests.spawn(request));
            let frame = tokio::select! {
                biased;
                done = &mut task.0 => done.ok().flatten(),
                () = gone.cancelled() => None,
            };
            let lost =
                || WireError::new(ErrorCode::Unavailable, format!("{to} gave up the request; try again"));
            let frame = frame.ok_or_else(lost)?;
            let header = frame.first_chunk::<HEADER_BYTES>().copied().map(Header::decode).ok_or_else(lost)?;
            let len = reply_len(header)?;
            let body = frame.get(HEADER_BYTES..HEADER_BYTES + len).ok_or_else(lost)?;
            reply_body(header, body.to_vec())
        })
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.servers().values().map(|dispatch| &dispatch.own)).finish()
    }
}
