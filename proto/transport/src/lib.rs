//! Requests over QUIC with mutual TLS: routes, deadlines, limits, connection reuse; and an in-memory carrier for tests.
//!
//! What this room must not know: what any request means. It sees routes, roles, lengths and bytes; it never logs a body.
//!
//! On the wire a connection speaks ALPN `sextant/1`; its first stream is the handshake of `sextant_proto::handshake`;
//! after that every bidirectional stream is one request: [`prelude`], frame, end. The reply is one frame.

pub mod authority;
mod client;
mod dial;
mod dispatch;
mod error;
mod identity;
mod memory;
pub mod org_key;
pub mod prelude;
mod routes;
mod server;
mod stream;
mod tls;

pub use authority::Authority;
pub use client::{Client, ClientOptions, Endpoint};
pub use error::TransportError;
pub use identity::Identity;
pub use memory::Network;
pub use org_key::OrgKey;
pub use routes::{CallContext, Routes};
pub use server::{Server, ServerOptions};

#[cfg(test)]
mod tests;
