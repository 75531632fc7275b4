//! Requests, the replies they name, and the routes they travel on.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{ErrorCode, WireError};
use crate::limits::{MAX_FRAME_BYTES, MAX_PUBLISH_BYTES, MAX_SMALL_BYTES};

macro_rules! routes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $limit:expr;)*) => {
        /// Where a request goes. The numbers are frozen.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Route { $($(#[$doc])* $name = $number,)* }

        impl Route {
            /// Every route.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The route of a number.
            pub const fn from_number(number: u16) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// Largest body of a request, bytes.
            pub const fn max_request_bytes(self) -> u32 {
                match self { $(Self::$name => $limit,)* }
            }

            /// Name for logs and metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

routes! {
    /// Version and organisation key, first on every connection.
    Handshake = 16, MAX_SMALL_BYTES;
    /// Texts to vectors.
    Embed = 32, MAX_FRAME_BYTES;
    /// The models of an embed-node.
    Models = 33, MAX_SMALL_BYTES;
    /// A collection by its name.
    OpenCollection = 48, MAX_SMALL_BYTES;
    /// Collections, groups and counts.
    ClusterStatus = 49, MAX_SMALL_BYTES;
    /// Keys that a collection lacks.
    MissingKeys = 50, MAX_FRAME_BYTES;
    /// Entries of a workspace.
    Publish = 51, MAX_PUBLISH_BYTES;
    /// Entries of a revision to be sealed.
    Stage = 52, MAX_PUBLISH_BYTES;
    /// A revision becomes readable.
    Seal = 53, MAX_SMALL_BYTES;
    /// A branch points at a sealed revision.
    SetBranch = 54, MAX_SMALL_BYTES;
    /// A view that is no longer needed.
    DropView = 55, MAX_SMALL_BYTES;
    /// A question.
    Search = 56, MAX_FRAME_BYTES;
    /// Group-level twin of `MissingKeys`.
    ShardMissingKeys = 80, MAX_FRAME_BYTES;
    /// Group-level twin of `Publish`.
    ShardPublish = 81, MAX_PUBLISH_BYTES;
    /// Group-level twin of `Stage`.
    ShardStage = 82, MAX_PUBLISH_BYTES;
    /// Group-level twin of `Seal`.
    ShardSeal = 83, MAX_SMALL_BYTES;
    /// Group-level twin of `DropView`.
    ShardDropView = 84, MAX_SMALL_BYTES;
    /// Group-level twin of `Search`.
    ShardSearch = 85, MAX_FRAME_BYTES;
    /// Counts of a group.
    ShardStatus = 86, MAX_SMALL_BYTES;
    /// Creates a group's replica on a node.
    ShardOpenGroup = 87, MAX_SMALL_BYTES;
    /// Consensus traffic; the body is opaque here.
    Raft = 112, MAX_FRAME_BYTES;
}

/// A request that knows its route and the type of its reply.
pub trait Request: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Where it goes.
    const ROUTE: Route;
    /// What comes back.
    type Reply: Serialize + DeserializeOwned + Send + 'static;
}

/// MessagePack with field names.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, WireError> {
    rmp_serde::to_vec_named(value).map_err(|error| {
        WireError::new(ErrorCode::Internal, format!("a message could not be encoded: {error}"))
    })
}

/// MessagePack with field names; unknown fields are ignored, missing ones take their defaults where they have one.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, WireError> {
    // The decoder's own words may quote the message, which may hold source text: they are not passed on.
    rmp_serde::from_slice(body).map_err(|_| {
        let name = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
        WireError::new(ErrorCode::BadRequest, format!("the bytes are no {name} message"))
    })
}
