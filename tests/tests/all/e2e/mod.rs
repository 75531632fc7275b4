//! The program `sextant` as its users run it: processes, files and streams. What goes on inside is not looked at,
//! save for what the server side has written to disk.

mod api;
mod bad_input;
mod binary;
mod canary;
mod changes;
mod daemon;
mod doctor;
mod inputs;
mod languages;
mod mcp;
mod output;
mod private;
mod ranges;
mod refusals;
mod restart;
mod resume;
mod sandbox;
