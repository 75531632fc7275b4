//! First exchange on a connection: do both sides speak the same version and belong to the same organisation key?

use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, WireError};
use crate::ids::OrgKeyId;
use crate::message::{Request, Route};

/// Application protocol of TLS.
pub const ALPN: &[u8] = b"sextant/1";
/// Version of messages and frames.
pub const PROTOCOL_VERSION: u32 = 1;

/// Sent by the side that connects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    /// Highest version it speaks.
    pub version: u32,
    /// Version of the program, for people.
    #[serde(default)]
    pub program: String,
    /// Hash of the organisation key; servers between themselves send none.
    #[serde(default)]
    pub org_key: Option<OrgKeyId>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeReply {
    /// Version that both speak.
    pub version: u32,
    /// Version of the program, for people.
    #[serde(default)]
    pub program: String,
}

impl Request for Handshake {
    const ROUTE: Route = Route::Handshake;
    type Reply = HandshakeReply;
}

impl Handshake {
    /// Decides a handshake: `expected` is the organisation key id that this side knows, if any.
    pub fn answer(&self, expected: Option<OrgKeyId>) -> Result<HandshakeReply, WireError> {
        if self.version != PROTOCOL_VERSION {
            return Err(WireError::new(
                ErrorCode::VersionMismatch,
                format!(
                    "this side speaks version {PROTOCOL_VERSION}, the other {}; update the older one",
                    self.version
                ),
            ));
        }
        if let (Some(expected), Some(theirs)) = (expected, self.org_key)
            && expected != theirs
        {
            return Err(WireError::new(
                ErrorCode::WrongOrgKey,
                "the organisation key is not this cluster's; join again with a current join string",
            ));
        }
        Ok(HandshakeReply { version: PROTOCOL_VERSION, program: env!("CARGO_PKG_VERSION").into() })
    }
}
