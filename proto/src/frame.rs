//! Frames: `u32` length, `u16` route, body. Both numbers are little-endian; the length counts the body alone.
//!
//! A reply uses route 0 for success and route 1 for a [`WireError`](crate::error::WireError).

use bytes::{BufMut, Bytes, BytesMut};

use crate::error::{ErrorCode, WireError};
use crate::message::Route;

/// Bytes before the body.
pub const HEADER_BYTES: usize = 6;
/// Route of a reply that holds the answer.
pub const REPLY_OK: u16 = 0;
/// Route of a reply that holds an error.
pub const REPLY_ERROR: u16 = 1;

/// The first six bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the body.
    pub body_len: u32,
    /// Route number.
    pub route: u16,
}

impl Header {
    /// Reads the header; nothing is checked but the number of bytes.
    pub fn decode(bytes: [u8; HEADER_BYTES]) -> Self {
        let [len @ .., low, high] = bytes;
        Self { body_len: u32::from_le_bytes(len), route: u16::from_le_bytes([low, high]) }
    }

    /// The header's bytes.
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.body_len.to_le_bytes());
        bytes[4..].copy_from_slice(&self.route.to_le_bytes());
        bytes
    }

    /// The route of a request and the length of its body, checked against the route's limit before any allocation.
    pub fn request(self) -> Result<(Route, usize), WireError> {
        let route = Route::from_number(self.route).ok_or_else(|| {
            WireError::new(ErrorCode::UnknownRoute, format!("route {} is not known here", self.route))
        })?;
        let limit = route.max_request_bytes();
        if self.body_len > limit {
            return Err(WireError::new(
                ErrorCode::TooLarge,
                format!("a request of {} bytes on route {route:?}, whose limit is {limit}", self.body_len),
            ));
        }
        Ok((route, self.body_len as usize))
    }
}

/// A whole frame.
pub fn encode(route: u16, body: &[u8]) -> Result<Bytes, WireError> {
    let body_len =
        u32::try_from(body.len()).ok().filter(|len| *len <= crate::limits::MAX_FRAME_BYTES).ok_or_else(
            || WireError::new(ErrorCode::TooLarge, format!("a frame body of {} bytes", body.len())),
        )?;
    let mut out = BytesMut::with_capacity(HEADER_BYTES + body.len());
    out.put_slice(&Header { body_len, route }.encode());
    out.put_slice(body);
    Ok(out.freeze())
}
