//! The state machine of a group: commands change rows and, once these are on disk, the memory that reads use.
//!
//! Deterministic: no clock, no randomness, no network. What is refused is refused with a reply, equally everywhere.

mod batch;
mod command;
mod machine;
mod memory;

pub use command::{Answer, Command};
pub use machine::GroupMachine;
pub use memory::{CollectionMemory, GenerationMemory, Memory, ViewMemory};

#[cfg(test)]
mod tests;
