//! What every long-lived process does around its work: configuration, log, metrics, signals; bind → serve → drain.
//!
//! Used by mains and tests only; no library of a node may depend on it. It must not know what a process serves.

pub mod catalogue;
pub mod config;
mod error;
pub mod exporter;
pub mod log;
pub mod run;

pub use catalogue::describe;
pub use config::load;
pub use error::DaemonError;
pub use exporter::serve_metrics;
pub use log::{LogOptions, start_log};
pub use run::{Signals, run};
