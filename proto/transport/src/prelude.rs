//! The four bytes before a request's frame: how long the caller still waits.
//!
//! `u32` little-endian, milliseconds from the moment of sending. Relative, because the clocks of two machines differ;
//! the time on the way is not subtracted, the caller's own timer covers it. 0 means that the time has already passed.

use std::time::Duration;

/// Bytes of the prelude.
pub const PRELUDE_BYTES: usize = 4;

/// The prelude of a request whose caller waits `remaining` more; a part of a millisecond counts as a whole one.
pub fn encode(remaining: Duration) -> [u8; PRELUDE_BYTES] {
    let ms = remaining.as_nanos().div_ceil(1_000_000);
    u32::try_from(ms).unwrap_or(u32::MAX).to_le_bytes()
}

/// How long the caller waits.
pub fn decode(bytes: [u8; PRELUDE_BYTES]) -> Duration {
    Duration::from_millis(u64::from(u32::from_le_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_frozen() {
        assert_eq!(encode(Duration::from_millis(0x0102_0304)), [4, 3, 2, 1]);
        assert_eq!(encode(Duration::from_micros(1)), [1, 0, 0, 0]);
        assert_eq!(encode(Duration::ZERO), [0, 0, 0, 0]);
        assert_eq!(encode(Duration::MAX), [255; 4]);
        assert_eq!(decode([0xe8, 3, 0, 0]), Duration::from_secs(1));
    }
}
