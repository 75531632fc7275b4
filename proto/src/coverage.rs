//! The coverage receipt: which groups an answer comes from, and what it lacks.

use serde::{Deserialize, Serialize};

use crate::error::ErrorCode;
use crate::ids::GroupId;

/// A group that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The group.
    pub group: GroupId,
    /// Why.
    pub code: ErrorCode,
}

/// What an answer was made from. A partial answer names what is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Groups that were asked.
    pub asked: u32,
    /// Groups that answered.
    pub answered: u32,
    /// Groups that did not.
    pub missing: Vec<Missing>,
    /// Log entries by which answering replicas were behind what their leaders had committed, the most of any group.
    pub behind: u64,
    /// Vectors that were compared.
    pub scanned: u64,
}

impl Coverage {
    /// Whether every group answered.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.asked == self.answered
    }

    /// Adds what another receipt covers.
    pub fn merge(&mut self, other: Self) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.missing.extend(other.missing);
        self.behind = self.behind.max(other.behind);
        self.scanned += other.scanned;
    }
}
