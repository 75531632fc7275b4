//! The closed set of typed handlers of a server.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use sextant_proto::access::{Peer, Role};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::message::{Request, Route, decode, encode};
use tokio::time::Instant;

use crate::error::TransportError;

/// What a handler knows about the call besides the request.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Who calls, as the certificate says.
    pub peer: Peer,
    /// When the caller stops waiting; the handler's future is dropped then.
    pub deadline: Instant,
    /// Where the request went.
    pub route: Route,
    /// Where it came from; `None` in memory.
    pub remote: Option<SocketAddr>,
}

impl CallContext {
    /// What is left until the deadline; give it to the calls that serve this one.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

type Handler =
    Arc<dyn Fn(CallContext, Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, WireError>> + Send + Sync>;

#[derive(Clone)]
struct Entry {
    allowed: Box<[Role]>,
    handler: Handler,
}

/// Handlers by route, each with the roles that may use it.
#[derive(Clone, Default)]
pub struct Routes {
    entries: BTreeMap<Route, Entry>,
    duplicate: Option<Route>,
}

impl Routes {
    /// No handler.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the handler of `R`'s route for callers of the `allowed` roles; others are answered `Forbidden`.
    ///
    /// The future is dropped when the caller gives up, when its deadline passes, or when its connection is lost.
    /// A second handler for a route is an error of [`Server::bind`](crate::Server::bind).
    #[must_use]
    pub fn on<R, F, Fut>(self, allowed: &[Role], handler: F) -> Self
    where
        R: Request,
        F: Fn(CallContext, R) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R::Reply, WireError>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let erased: Handler = Arc::new(move |context, body| {
            let handler = Arc::clone(&handler);
            Box::pin(async move {
                // The decoder's own words may quote the body, which may be text: only the route is told.
                let request: R = decode(&body).map_err(|_| {
                    let message = format!("the body of a {} request does not decode", R::ROUTE.name());
                    WireError::new(ErrorCode::BadRequest, message)
                })?;
                drop(body);
                encode(&handler(context, request).await?)
            })
        });
        self.insert(R::ROUTE, Entry { allowed: allowed.into(), handler: erased })
    }

    /// The handlers of both.
    #[must_use]
    pub fn merge(mut self, other: Routes) -> Self {
        self.duplicate = self.duplicate.or(other.duplicate);
        other.entries.into_iter().fold(self, |routes, (route, entry)| routes.insert(route, entry))
    }

    fn insert(mut self, route: Route, entry: Entry) -> Self {
        if self.entries.insert(route, entry).is_some() || route == Route::Handshake {
            self.duplicate.get_or_insert(route);
        }
        self
    }

    /// An error where a route was registered twice.
    pub fn validate(&self) -> Result<(), TransportError> {
        self.duplicate.map_or(Ok(()), |route| Err(TransportError::DuplicateRoute(route)))
    }

    /// The future that answers, or why there is none.
    pub(crate) fn start(
        &self,
        context: CallContext,
        body: Vec<u8>,
    ) -> Result<BoxFuture<'static, Result<Vec<u8>, WireError>>, WireError> {
        let route = context.route;
        self.check(route, context.peer.role)?;
        self.entries.get(&route).map(|entry| (entry.handler)(context, body)).ok_or_else(|| not_served(route))
    }

    /// Whether callers of `role` may use `route` here; asked before a body is read.
    pub(crate) fn check(&self, route: Route, role: Role) -> Result<(), WireError> {
        let entry = self.entries.get(&route).ok_or_else(|| not_served(route))?;
        if entry.allowed.contains(&role) {
            return Ok(());
        }
        let message = format!("a {} certificate may not use route {}", role.name(), route.name());
        Err(WireError::new(ErrorCode::Forbidden, message))
    }
}

fn not_served(route: Route) -> WireError {
    WireError::new(ErrorCode::UnknownRoute, format!("this node does not serve route {}", route.name()))
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries.iter().map(|(route, entry)| (route, &entry.allowed))).finish()
    }
}
