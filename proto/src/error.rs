//! The closed set of errors that cross the wire.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;

/// What went wrong, as a number that never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "u16", into = "u16")]
pub enum ErrorCode {
    /// The request breaks a rule of the protocol; sending it again changes nothing.
    BadRequest,
    /// No handler has this route.
    UnknownRoute,
    /// The other side speaks another version.
    VersionMismatch,
    /// The client holds another organisation's key.
    WrongOrgKey,
    /// The certificate's role may not use this route, or the principal lacks the right.
    Forbidden,
    /// The thing asked for does not exist, or may not be seen.
    NotFound,
    /// The request used an old slot map.
    StaleMap,
    /// The replica has not applied what the session token asks for.
    Behind,
    /// A queue is full; retry after the time given.
    Overloaded,
    /// File versions name vectors that the group does not hold; the detail lists the keys.
    MissingKeys,
    /// The node is not the leader; the detail names it where known.
    NotLeader,
    /// A sequence is older than the view's, or leaves a gap.
    OutOfSequence,
    /// The time given by the caller has passed.
    DeadlineExceeded,
    /// A length is over its limit.
    TooLarge,
    /// The disk is full; reads go on.
    DiskFull,
    /// The model gave a value that is not finite, or another failure of inference.
    Inference,
    /// The other side cannot be reached.
    Unavailable,
    /// The node is shutting down.
    ShuttingDown,
    /// A defect of the server, with its own log line.
    Internal,
    /// A code of a later version.
    Unknown(u16),
}

impl From<ErrorCode> for u16 {
    fn from(code: ErrorCode) -> u16 {
        match code {
            ErrorCode::BadRequest => 1,
            ErrorCode::UnknownRoute => 2,
            ErrorCode::VersionMismatch => 3,
            ErrorCode::WrongOrgKey => 4,
            ErrorCode::Forbidden => 5,
            ErrorCode::NotFound => 6,
            ErrorCode::StaleMap => 7,
            ErrorCode::Behind => 8,
            ErrorCode::Overloaded => 9,
            ErrorCode::MissingKeys => 10,
            ErrorCode::NotLeader => 11,
            ErrorCode::OutOfSequence => 12,
            ErrorCode::DeadlineExceeded => 13,
            ErrorCode::TooLarge => 14,
            ErrorCode::DiskFull => 15,
            ErrorCode::Inference => 16,
            ErrorCode::Unavailable => 17,
            ErrorCode::ShuttingDown => 18,
            ErrorCode::Internal => 19,
            ErrorCode::Unknown(code) => code,
        }
    }
}

impl From<u16> for ErrorCode {
    fn from(code: u16) -> Self {
        use ErrorCode as E;
        let known = [
            E::BadRequest,
            E::UnknownRoute,
            E::VersionMismatch,
            E::WrongOrgKey,
            E::Forbidden,
            E::NotFound,
            E::StaleMap,
            E::Behind,
            E::Overloaded,
            E::MissingKeys,
            E::NotLeader,
            E::OutOfSequence,
            E::DeadlineExceeded,
            E::TooLarge,
            E::DiskFull,
            E::Inference,
            E::Unavailable,
            E::ShuttingDown,
            E::Internal,
        ];
        known.into_iter().find(|known| u16::from(*known) == code).unwrap_or(E::Unknown(code))
    }
}

impl ErrorCode {
    /// Label for metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::UnknownRoute => "unknown_route",
            Self::VersionMismatch => "version_mismatch",
            Self::WrongOrgKey => "wrong_org_key",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::StaleMap => "stale_map",
            Self::Behind => "behind",
            Self::Overloaded => "overloaded",
            Self::MissingKeys => "missing_keys",
            Self::NotLeader => "not_leader",
            Self::OutOfSequence => "out_of_sequence",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::TooLarge => "too_large",
            Self::DiskFull => "disk_full",
            Self::Inference => "inference",
            Self::Unavailable => "unavailable",
            Self::ShuttingDown => "shutting_down",
            Self::Internal => "internal",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// An error as it crosses the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireError {
    /// What went wrong.
    pub code: ErrorCode,
    /// What was tried and what to do; never holds source or query text.
    pub message: String,
    /// For `Overloaded`: milliseconds to wait before the next try.
    #[serde(default)]
    pub retry_after_ms: Option<u32>,
    /// For `NotLeader`: the leader.
    #[serde(default)]
    pub leader: Option<NodeId>,
    /// For `MissingKeys`: 32 bytes a key.
    #[serde(default, with = "serde_bytes")]
    pub keys: Vec<u8>,
}

impl WireError {
    /// An error without details.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_after_ms: None, leader: None, keys: Vec::new() }
    }

    /// A full queue.
    pub fn overloaded(message: impl Into<String>, retry_after_ms: u32) -> Self {
        Self { retry_after_ms: Some(retry_after_ms), ..Self::new(ErrorCode::Overloaded, message) }
    }

    /// Whether the same request may succeed when sent again.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.code,
            ErrorCode::Overloaded
                | ErrorCode::NotLeader
                | ErrorCode::Behind
                | ErrorCode::Unavailable
                | ErrorCode::ShuttingDown
        )
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code.label())
    }
}

impl std::error::Error for WireError {}
