//! The program `sextant` as its users run it: processes, files and streams. What goes on inside is not looked at,
//! save for what the server side has written to disk.

mod binary;
mod canary;
mod changes;
mod inputs;
mod languages;
mod output;
mod private;
mod ranges;
mod refusals;
mod restart;
mod sandbox;
