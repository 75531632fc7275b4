//! Reads preludes and frames off a QUIC stream; every length is compared with its limit before memory is taken for it.

use quinn::{ReadError, ReadExactError, RecvStream};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::frame::{HEADER_BYTES, Header, REPLY_ERROR, REPLY_OK};
use sextant_proto::limits::MAX_FRAME_BYTES;
use sextant_proto::message::decode;

use crate::dispatch::Broken;

/// Taken at once for a body; the rest as it arrives, so that a length alone costs the receiver nothing.
const FIRST_BYTES: usize = 64 << 10;

impl From<ReadError> for Broken {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::ConnectionLost(error) => Self::Gone(Some(error)),
            _ => Self::Gone(None),
        }
    }
}

fn invalid(message: &str) -> Broken {
    Broken::Refused(WireError::new(ErrorCode::BadRequest, message))
}

/// Exactly `N` bytes.
pub(crate) async fn read_array<const N: usize>(recv: &mut RecvStream) -> Result<[u8; N], Broken> {
    let mut bytes = [0; N];
    match recv.read_exact(&mut bytes).await {
        Ok(()) => Ok(bytes),
        Err(ReadExactError::FinishedEarly(_)) => Err(invalid("the stream ended inside of a header")),
        Err(ReadExactError::ReadError(error)) => Err(error.into()),
    }
}

/// A body of `len` bytes, which the caller has checked against its limit, and the end of the stream.
pub(crate) async fn read_body(recv: &mut RecvStream, len: usize) -> Result<Vec<u8>, Broken> {
    let mut body = Vec::with_capacity(len.min(FIRST_BYTES));
    while let Some(chunk) = recv.read_chunk(usize::MAX, true).await? {
        if chunk.bytes.len() > len - body.len() {
            return Err(invalid("the stream goes on behind its frame"));
        }
        body.extend_from_slice(&chunk.bytes);
    }
    if body.len() == len { Ok(body) } else { Err(invalid("the stream ended inside of a body")) }
}

/// The body of a reply, or the error that it holds.
pub(crate) async fn read_reply(recv: &mut RecvStream) -> Result<Vec<u8>, Broken> {
    let header = Header::decode(read_array::<HEADER_BYTES>(recv).await?);
    let len = reply_len(header)?;
    let body = read_body(recv, len).await?;
    Ok(reply_body(header, body)?)
}

/// Length of a reply's body, checked.
pub(crate) fn reply_len(header: Header) -> Result<usize, WireError> {
    if header.body_len > MAX_FRAME_BYTES {
        let message = format!("a reply of {} bytes; the limit is {MAX_FRAME_BYTES}", header.body_len);
        return Err(WireError::new(ErrorCode::TooLarge, message));
    }
    Ok(header.body_len as usize)
}

/// The answer or the error in a reply.
pub(crate) fn reply_body(header: Header, body: Vec<u8>) -> Result<Vec<u8>, WireError> {
    match header.route {
        REPLY_OK => Ok(body),
        REPLY_ERROR => Err(decode::<WireError>(&body).unwrap_or_else(|_| {
            WireError::new(ErrorCode::Internal, "the other side sent an error that does not decode")
        })),
        other => Err(WireError::new(
            ErrorCode::BadRequest,
            format!("a reply with number {other} is not known here"),
        )),
    }
}
