//! The local API, version 1: HTTP with JSON over the daemon's Unix socket.
//!
//! The command line, the MCP server, and later editors and pages use this and nothing else. `wire` has the values,
//! `routes` the table of what can be called and the handlers, `describe` the OpenAPI document made of both, `client` the
//! other side. Must not know how a daemon is found or started.

pub mod client;
pub mod describe;
pub mod problem;
pub mod routes;
pub mod stream;
pub mod wire;

pub use client::{ApiClient, ApiError};
pub use routes::{Desk, router};
