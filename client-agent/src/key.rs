//! Keyed hashes: everything that leaves this machine as a hash is made here, with the organisation's key.
//!
//! Each kind has its own key, derived from the organisation's, so a hash of one kind is never one of another. A
//! server that holds no key cannot confirm a guess.

use sextant_proto::ids::{BlobId, ChunkKey, ChunkerVersion, ModelFingerprint, RevisionId, TextHash};
use sextant_transport::OrgKey;

/// Keys of each kind of hash.
#[derive(Clone)]
pub struct Keyring {
    blob: [u8; 32],
    chunk: [u8; 32],
    text: [u8; 32],
    revision: [u8; 32],
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keyring(..)")
    }
}

impl Keyring {
    /// Derives the keys.
    pub fn new(org: &OrgKey) -> Self {
        let derive = |context: &str| blake3::derive_key(context, org.as_bytes());
        Self {
            blob: derive("sextant v1 blob"),
            chunk: derive("sextant v1 chunk"),
            text: derive("sextant v1 text"),
            revision: derive("sextant v1 revision"),
        }
    }

    /// Identity of a file's content.
    pub fn blob(&self, bytes: &[u8]) -> BlobId {
        BlobId(*blake3::keyed_hash(&self.blob, bytes).as_bytes())
    }

    /// Identity of a vector: of the model and the text that goes into it.
    pub fn chunk(&self, model: ModelFingerprint, embed_input: &str) -> ChunkKey {
        let mut hasher = blake3::Hasher::new_keyed(&self.chunk);
        hasher.update(&model.0).update(embed_input.as_bytes());
        ChunkKey(*hasher.finalize().as_bytes())
    }

    /// What a snippet is verified by: the first 16 bytes of the hash of a chunk's raw bytes.
    pub fn text(&self, bytes: &[u8]) -> TextHash {
        let hash = blake3::keyed_hash(&self.text, bytes);
        TextHash(std::array::from_fn(|i| hash.as_bytes()[i]))
    }

    /// Identity of a state: `files` must be sorted by path. Two publishers of the same state get the same id.
    pub fn revision<'a>(
        &self,
        made_with: &sextant_proto::code::Generation,
        chunker: ChunkerVersion,
        walk_settings: &str,
        files: impl Iterator<Item = (&'a str, BlobId)>,
    ) -> RevisionId {
        let mut hasher = blake3::Hasher::new_keyed(&self.revision);
        hasher.update(&made_with.model.0);
        hasher.update(&u32::from(made_with.code.width).to_le_bytes());
        hasher.update(&made_with.code.rotation_seed.unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(&chunker.0.to_le_bytes());
        let mut field = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        field(walk_settings.as_bytes());
        for (path, blob) in files {
            field(path.as_bytes());
            field(&blob.0);
        }
        RevisionId(*hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sextant_proto::code::{CodeSpec, Generation};

    fn ring(byte: u8) -> Keyring {
        Keyring::new(&OrgKey::from_bytes([byte; 32]))
    }

    #[test]
    fn kinds_and_organisations_share_no_hash() {
        let (ours, theirs) = (ring(1), ring(2));
        assert_ne!(ours.blob(b"x"), theirs.blob(b"x"));
        assert_ne!(ours.text(b"x"), theirs.text(b"x"));
        assert_ne!(&ours.blob(b"x").0[..16], &ours.text(b"x").0[..]);
    }

    #[test]
    fn a_revision_depends_on_each_of_its_parts() {
        let ring = ring(1);
        let made_with = Generation { model: ModelFingerprint([3; 32]), code: CodeSpec::default() };
        let id = |settings: &str, files: &[(&str, u8)]| {
            let files = files.iter().map(|(path, byte)| (*path, BlobId([*byte; 32])));
            ring.revision(&made_with, ChunkerVersion(1), settings, files)
        };
        let base = id("s", &[("a", 1), ("b", 2)]);
        assert_eq!(base, id("s", &[("a", 1), ("b", 2)]));
        for other in [id("t", &[("a", 1), ("b", 2)]), id("s", &[("a", 1)]), id("s", &[("a", 2), ("b", 1)])] {
            assert_ne!(base, other);
        }
    }
}
