//! Client agent: walks a checkout, cuts it into chunks, publishes codes and coordinates, asks questions.

pub mod chunk;
pub mod snippet;
pub mod walk;
