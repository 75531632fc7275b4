//! One set of servers and clients for both carriers; each module tests one noun.

mod garbage;
mod life;
mod parity;
mod refusals;

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use sextant_proto::access::{Peer, Role};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::ids::GroupId;
use sextant_proto::raft::{RaftReply, RaftRequest};
use sextant_proto::shard::{ShardStatus, ShardStatusReply};
use sextant_proto::view::GroupMark;
use tempfile::TempDir;
use tokio::sync::{Semaphore, mpsc};

use crate::{Authority, Client, ClientOptions, Endpoint, Identity, Network, Routes, Server, ServerOptions};

pub(super) const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Longer than anything here takes; a test that waits for it fails.
pub(super) const LONG: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Quic,
    Memory,
}

/// An organisation on one carrier.
pub(super) struct Site {
    kind: Kind,
    authority: Authority,
    network: Network,
    _dir: TempDir,
}

impl Site {
    pub(super) fn new(kind: Kind) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let authority = Authority::create(&dir.path().join("ca"), "acme").unwrap();
        Self { kind, authority, network: Network::new(), _dir: dir }
    }

    pub(super) fn identity(&self, role: Role) -> Identity {
        self.authority.issue(role, "tester", 1).unwrap()
    }

    pub(super) fn server_at(&self, addr: SocketAddr, routes: Routes, options: ServerOptions) -> Server {
        match self.kind {
            Kind::Quic => Server::bind(addr, &self.identity(Role::Shard), routes, options).unwrap(),
            Kind::Memory => {
                let peer = Peer { org: "acme".into(), role: Role::Shard, name: "tester".into() };
                Server::in_memory(&self.network, addr, peer, routes, options).unwrap()
            }
        }
    }

    pub(super) fn server(&self, routes: Routes, options: ServerOptions) -> Server {
        self.server_at(ANY, routes, options)
    }

    pub(super) fn client(&self, role: Role, options: ClientOptions) -> Client {
        match self.kind {
            Kind::Quic => Client::new(&self.identity(role), options).unwrap(),
            Kind::Memory => {
                let peer = Peer { org: "acme".into(), role, name: "tester".into() };
                Client::in_memory(&self.network, peer, &options)
            }
        }
    }
}

pub(super) fn endpoint(server: &Server) -> Endpoint {
    Endpoint { addr: server.local_addr(), role: Role::Shard }
}

/// What the handler of a [`RaftRequest`] does, by its kind.
pub(super) mod act {
    pub(crate) const ECHO: u8 = 0;
    pub(crate) const HOLD: u8 = 1;
    pub(crate) const PANIC: u8 = 2;
    pub(crate) const FAIL: u8 = 3;
    pub(crate) const HUGE: u8 = 4;
    pub(crate) const NAME: u8 = 5;
}

pub(super) fn ask(kind: u8, body: &[u8]) -> RaftRequest {
    RaftRequest { group: GroupId(1), kind, body: body.to_vec() }
}

/// What tests see of the handlers.
pub(super) struct Seen {
    /// Handlers that hold end when they get a permit.
    pub(super) release: Semaphore,
    /// One permit a handler that has begun to hold.
    holding: Semaphore,
    dropped: mpsc::UnboundedSender<()>,
}

impl Seen {
    /// Waits until one more handler holds.
    pub(super) async fn held(&self) {
        within("a handler's start", self.holding.acquire()).await.unwrap().forget();
    }
}

struct TellOnDrop(Arc<Seen>);

impl Drop for TellOnDrop {
    fn drop(&mut self) {
        let _ = self.0.dropped.send(());
    }
}

/// Handlers for coordinators and shards; the receiver hears when one that holds has ended.
pub(super) fn routes() -> (Routes, Arc<Seen>, mpsc::UnboundedReceiver<()>) {
    let (dropped, ended) = mpsc::unbounded_channel();
    let seen = Arc::new(Seen { release: Semaphore::new(0), holding: Semaphore::new(0), dropped });
    let handlers = Arc::clone(&seen);
    let routes = Routes::new()
        .on(&[Role::Shard, Role::Coordinator], move |context, request: RaftRequest| {
            let seen = Arc::clone(&handlers);
            async move {
                let body = match request.kind {
                    act::ECHO => request.body,
                    act::HOLD => {
                        let _tell = TellOnDrop(Arc::clone(&seen));
                        seen.holding.add_permits(1);
                        let permit = seen.release.acquire().await;
                        permit.map_err(|_| WireError::new(ErrorCode::Internal, "closed"))?.forget();
                        request.body
                    }
                    act::PANIC => panic!("planted"),
                    act::FAIL => return Err(WireError::new(ErrorCode::Behind, "planted")),
                    act::HUGE => vec![0; 9 << 20],
                    _ => context.peer.to_string().into_bytes(),
                };
                Ok(RaftReply { body })
            }
        })
        .on(&[Role::Client], |_, request: ShardStatus| async move {
            let mark = GroupMark {
                group: request.group,
                incarnation: sextant_proto::ids::Incarnation(1),
                applied: sextant_proto::ids::LogIndex(1),
            };
            Ok(ShardStatusReply { mark, collections: Vec::new() })
        });
    (routes, seen, ended)
}

/// Waits for something that must happen.
pub(super) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.unwrap_or_else(|_| panic!("{what} did not happen in {LONG:?}"))
}

/// Repeats `probe` until it holds.
pub(super) async fn until(what: &str, mut probe: impl FnMut() -> bool) {
    within(what, async {
        while !probe() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
