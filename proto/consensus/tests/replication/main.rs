//! Groups of one and of three in one process, over a carrier made of function calls: elections, restarts, losses,
//! snapshots, refusals.
#![allow(clippy::unwrap_used, reason = "tests")]

mod alone;
mod faults;
mod ledger;
mod mesh;
mod three;
