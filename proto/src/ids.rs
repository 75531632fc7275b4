//! Newtypes for every identifier. An id never changes its meaning and is never an alias of an integer or a string.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A text that is not the hexadecimal form of the id it was parsed as.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is written as {hex_digits} hexadecimal digits; got {got:?}")]
pub struct ParseIdError {
    /// Name of the id type.
    pub what: &'static str,
    /// Digits that the id has.
    pub hex_digits: usize,
    /// Start of the text that was given.
    pub got: String,
}

struct BytesVisitor<const N: usize>;

impl<'de, const N: usize> de::Visitor<'de> for BytesVisitor<N> {
    type Value = [u8; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{N} bytes")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        bytes.try_into().map_err(|_| E::invalid_length(bytes.len(), &self))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut out = [0u8; N];
        for (at, byte) in out.iter_mut().enumerate() {
            *byte = seq.next_element()?.ok_or_else(|| de::Error::invalid_length(at, &BytesVisitor::<N>))?;
        }
        Ok(out)
    }
}

macro_rules! byte_id {
    ($(#[$doc:meta])* $name:ident, $len:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $len]);

        impl $name {
            /// Length in bytes.
            pub const LEN: usize = $len;

            /// The id's bytes.
            pub const fn as_bytes(&self) -> &[u8; $len] {
                &self.0
            }

            /// The id held by `bytes`, or `None` where the length is not [`Self::LEN`].
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let wrong = || ParseIdError {
                    what: stringify!($name),
                    hex_digits: 2 * $len,
                    got: text.chars().take(80).collect(),
                };
                if text.len() != 2 * $len || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
                    return Err(wrong());
                }
                let mut out = [0u8; $len];
                for (at, byte) in out.iter_mut().enumerate() {
                    *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
                }
                Ok(Self(out))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_bytes(BytesVisitor::<$len>).map(Self)
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $int);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

byte_id!(
    /// Keyed hash of a file's bytes.
    BlobId,
    32
);
byte_id!(
    /// Keyed hash of (model fingerprint, embed input): the identity of a vector.
    ChunkKey,
    32
);
byte_id!(
    /// Keyed hash of a sealed state: generation, chunker version, walk settings, sorted (path, [`BlobId`]).
    RevisionId,
    32
);
byte_id!(
    /// Keyed hash of a chunk's raw bytes; the client verifies a snippet by it.
    TextHash,
    16
);
byte_id!(
    /// Hash over everything of a model that changes its output.
    ModelFingerprint,
    32
);
byte_id!(
    /// Identity of a checkout on one machine.
    WorkspaceId,
    16
);
byte_id!(
    /// Hash that names an organisation key without revealing it.
    OrgKeyId,
    32
);
byte_id!(
    /// Digest over the logical rows of one slot.
    SlotDigest,
    32
);
number_id!(
    /// A repository under one identity; given out by the coordinator.
    CollectionId,
    u64
);
number_id!(
    /// A Raft group.
    GroupId,
    u64
);
number_id!(
    /// A member of the cluster; never given out twice.
    NodeId,
    u64
);
number_id!(
    /// Counts the installs of a group's data on one node; part of every key.
    Incarnation,
    u64
);
number_id!(
    /// A generation of a collection: model fingerprint, code width and rotation, key id.
    GenerationId,
    u32
);
number_id!(
    /// Position of a publish in its workspace's order.
    Sequence,
    u64
);
number_id!(
    /// Position in a group's replicated log.
    LogIndex,
    u64
);
number_id!(
    /// Version of the chunker that made a file's chunk list.
    ChunkerVersion,
    u32
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_forms_round_trip_and_reject_others() {
        let id = TextHash(std::array::from_fn(|i| i as u8 * 17));
        assert_eq!(id.to_string().parse::<TextHash>(), Ok(id));
        for bad in ["", "00", "zz112233445566778899aabbccddeeff", "é0112233445566778899aabbccddeef"] {
            assert!(bad.parse::<TextHash>().is_err(), "{bad}");
        }
    }
}
