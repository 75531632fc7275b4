//! The organisation key: 32 random bytes that clients alone hold. Servers know its id.

use std::fmt;
use std::path::Path;

use sextant_proto::ids::OrgKeyId;

use crate::authority::files;
use crate::error::TransportError;

/// What [`OrgKey::id`] hashes; a change would make every cluster refuse its clients.
const ID_TEXT: &[u8] = b"sextant organisation key id, version 1";
const REPAIR: &str =
    "restore it from a backup, or join again with a current join string (a new key means a new index)";

/// The key of every keyed hash that a client makes.
#[derive(Clone, PartialEq, Eq)]
pub struct OrgKey([u8; 32]);

impl OrgKey {
    /// Takes the bytes of a key.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A new key.
    pub fn generate() -> Result<Self, TransportError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| TransportError::Random(error.to_string()))?;
        Ok(Self(bytes))
    }

    /// Reads the key file; it must be 32 bytes and its owner's alone.
    pub fn load(path: &Path) -> Result<Self, TransportError> {
        let bytes = files::read_secret(path)?;
        <[u8; 32]>::try_from(bytes.as_slice()).map(Self).map_err(|_| TransportError::Damaged {
            path: path.into(),
            reason: format!("an organisation key has 32 bytes, this file {}", bytes.len()),
            repair: REPAIR,
        })
    }

    /// Reads the key file, or makes it (mode 0600) where there is none. Two that race end with the same key.
    pub fn load_or_create(path: &Path) -> Result<Self, TransportError> {
        if !path.exists() {
            match files::create_secret(path, &Self::generate()?.0) {
                Ok(()) | Err(TransportError::Exists(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Self::load(path)
    }

    /// The bytes, for `blake3::keyed_hash`.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// What servers may know: the keyed hash of a fixed text.
    pub fn id(&self) -> OrgKeyId {
        OrgKeyId(*blake3::keyed_hash(&self.0, ID_TEXT).as_bytes())
    }
}

impl fmt::Debug for OrgKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OrgKey(hidden, {})", &self.id().to_string()[..8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_frozen_and_debug_hides_the_key() {
        let key = OrgKey::from_bytes([7; 32]);
        assert_eq!(key.id().to_string(), "df8215c83ff21692ba99728c186d9b1f5d10abad05ccf1c9f492fcf0de449f41");
        assert!(!format!("{key:?}").contains("7, 7"));
        assert!(!format!("{key:?}").contains("0707"));
    }

    #[test]
    fn a_file_of_another_length_names_itself_and_the_repair() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("org.key");
        let made = OrgKey::load_or_create(&path).unwrap();
        assert_eq!(OrgKey::load_or_create(&path).unwrap(), made);
        std::fs::write(&path, b"short").unwrap();
        let error = OrgKey::load(&path).unwrap_err().to_string();
        assert!(error.contains("org.key") && error.contains("backup"), "{error}");
    }
}
