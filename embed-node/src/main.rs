//! The embed-node process: settings file → service → server.
fn main() {}
