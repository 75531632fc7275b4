//! The daemon: one background process a data folder, which keeps the agent at hand and serves the local API.
//!
//! `reach` is the client's side (find it, start it, hand over from an older one), `serve` the process itself. Must not
//! know what requests mean; that is the API's part.

pub mod activity;
pub mod address;
pub mod keeper;
pub mod listener;
pub mod log;
pub mod program;
pub mod reach;
pub mod serve;

pub use address::Record;
pub use program::Program;
pub use reach::{ReachError, find, reach, stop};
pub use serve::{ServeError, serve};
