//! Keys of a group's rows, without the prefix (group, incarnation) that consensus adds. Numbers are big-endian, so
//! that the order of the keys is the order of the numbers.
//!
//! | tag | rest of the key | row |
//! |---|---|---|
//! | `n` | collection | [`CollectionRow`](super::rows::CollectionRow) |
//! | `g` | collection, generation | [`GenerationRow`](super::rows::GenerationRow) |
//! | `c` | collection, generation, vector | role of the publisher, code |
//! | `k` | collection, generation, `ChunkKey` | vector |
//! | `f` | collection, file version | [`FileRow`](super::rows::FileRow) |
//! | `i` | collection, identity of a file version | file version |
//! | `v` | collection, view | [`ViewRow`](super::rows::ViewRow) |
//! | `p` | collection, view, path | file version |

use sextant_proto::ids::{ChunkKey, CollectionId, GenerationId};
use sextant_proto::view::View;

/// Every collection's row.
pub const COLLECTIONS: u8 = b'n';
/// Every generation's row.
pub const GENERATIONS: u8 = b'g';
/// Every code.
pub const CODES: u8 = b'c';
/// Every file version.
pub const FILES: u8 = b'f';
/// Every view.
pub const VIEWS: u8 = b'v';

const KEYS: u8 = b'k';
const IDENTITIES: u8 = b'i';
const PATHS: u8 = b'p';

/// Key of a view among its collection's: without the sequence, since a workspace is one view that moves on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewKey([u8; 33]);

impl ViewKey {
    /// The key of `view`.
    pub fn of(view: View) -> Self {
        let mut bytes = [0u8; 33];
        match view {
            View::Revision(id) => {
                bytes[0] = 1;
                bytes[1..].copy_from_slice(&id.0);
            }
            View::Workspace { id, .. } => {
                bytes[0] = 2;
                bytes[1..17].copy_from_slice(&id.0);
            }
        }
        Self(bytes)
    }

    /// The key of its bytes.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

fn start(tag: u8, collection: CollectionId) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    key.push(tag);
    key.extend_from_slice(&collection.0.to_be_bytes());
    key
}

fn start_generation(tag: u8, collection: CollectionId, generation: GenerationId) -> Vec<u8> {
    let mut key = start(tag, collection);
    key.extend_from_slice(&generation.0.to_be_bytes());
    key
}

/// Row of a collection.
pub fn collection(id: CollectionId) -> Vec<u8> {
    start(COLLECTIONS, id)
}

/// Row of a generation.
pub fn generation(collection: CollectionId, generation: GenerationId) -> Vec<u8> {
    start_generation(GENERATIONS, collection, generation)
}

/// Codes of a generation, in the order of their vectors.
pub fn codes(collection: CollectionId, generation: GenerationId) -> Vec<u8> {
    start_generation(CODES, collection, generation)
}

/// Row of a code.
pub fn code(collection: CollectionId, generation: GenerationId, vector: u32) -> Vec<u8> {
    let mut key = codes(collection, generation);
    key.extend_from_slice(&vector.to_be_bytes());
    key
}

/// Row of a chunk key.
pub fn chunk_key(collection: CollectionId, generation: GenerationId, chunk: &ChunkKey) -> Vec<u8> {
    let mut key = start_generation(KEYS, collection, generation);
    key.extend_from_slice(&chunk.0);
    key
}

/// Row of a file version.
pub fn file(collection: CollectionId, file: u32) -> Vec<u8> {
    let mut key = start(FILES, collection);
    key.extend_from_slice(&file.to_be_bytes());
    key
}

/// Row that finds an equal file version.
pub fn identity(collection: CollectionId, identity: &[u8; 32]) -> Vec<u8> {
    let mut key = start(IDENTITIES, collection);
    key.extend_from_slice(identity);
    key
}

/// Row of a view.
pub fn view(collection: CollectionId, view: ViewKey) -> Vec<u8> {
    let mut key = start(VIEWS, collection);
    key.extend_from_slice(&view.0);
    key
}

/// All paths of a view.
pub fn paths(collection: CollectionId, view: ViewKey) -> Vec<u8> {
    let mut key = start(PATHS, collection);
    key.extend_from_slice(&view.0);
    key
}

/// Row of a path in a view.
pub fn path(collection: CollectionId, view: ViewKey, path: &str) -> Vec<u8> {
    let mut key = paths(collection, view);
    key.extend_from_slice(path.as_bytes());
    key
}

/// Collection of a key of any table.
pub fn collection_of(key: &[u8]) -> Option<CollectionId> {
    key.get(1..9)?.try_into().ok().map(|bytes| CollectionId(u64::from_be_bytes(bytes)))
}

/// Generation of a key of the tables `g` and `c`.
pub fn generation_of(key: &[u8]) -> Option<GenerationId> {
    key.get(9..13)?.try_into().ok().map(|bytes| GenerationId(u32::from_be_bytes(bytes)))
}

/// The number that ends a key of the tables `c` and `f`.
pub fn number_of(key: &[u8]) -> Option<u32> {
    key.last_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
}

/// View of a key of the table `v`.
pub fn view_of(key: &[u8]) -> Option<ViewKey> {
    key.get(9..42).and_then(ViewKey::from_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sextant_proto::ids::{RevisionId, Sequence, WorkspaceId};

    #[test]
    fn keys_sort_by_their_numbers_and_give_their_parts_back() {
        let (collection, generation) = (CollectionId(7), GenerationId(3));
        let mut keys: Vec<_> = [300, 2, 70_000].map(|vector| code(collection, generation, vector)).to_vec();
        keys.sort();
        assert_eq!(
            keys.iter().map(|key| number_of(key)).collect::<Vec<_>>(),
            [Some(2), Some(300), Some(70_000)]
        );
        assert_eq!(collection_of(&keys[0]), Some(collection));
        assert_eq!(generation_of(&keys[0]), Some(generation));
    }

    #[test]
    fn a_workspace_is_one_view_and_never_a_revision() {
        let id = WorkspaceId([9; 16]);
        let at = |sequence| ViewKey::of(View::Workspace { id, sequence: Sequence(sequence) });
        assert_eq!(at(1), at(2));
        assert_ne!(at(1), ViewKey::of(View::Revision(RevisionId([9; 32]))));
        assert_eq!(view_of(&view(CollectionId(1), at(1))), Some(at(1)));
    }

    /// The bytes of version 1. A change here is a change of the format.
    #[test]
    fn the_layout_is_frozen() {
        let hex =
            |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        assert_eq!(
            hex(code(CollectionId(1), GenerationId(2), 3)),
            "63000000000000000100000002".to_owned() + "00000003"
        );
        assert_eq!(hex(file(CollectionId(1), 258)), "66000000000000000100000102");
        let view_key = ViewKey::of(View::Workspace { id: WorkspaceId([1; 16]), sequence: Sequence(5) });
        let expected =
            "70".to_owned() + "0000000000000001" + "02" + &"01".repeat(16) + &"00".repeat(16) + "612f62";
        assert_eq!(hex(path(CollectionId(1), view_key, "a/b")), expected);
    }
}
