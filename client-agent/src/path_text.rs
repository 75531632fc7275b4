//! Paths in JSON. A path is bytes; one that is UTF-8 is a string, any other an object with its bytes in hexadecimal.
//!
//! Must not touch files.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path as JSON has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PathText {
    /// A path that is UTF-8.
    Text(String),
    /// Any other path.
    Bytes {
        /// Its bytes, two hexadecimal digits each.
        hex: String,
    },
}

impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        if let Some(text) = path.to_str() {
            return Self::Text(text.to_owned());
        }
        let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
        let bytes = path.as_os_str().as_bytes().iter();
        Self::Bytes { hex: bytes.flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect() }
    }
}

impl TryFrom<PathText> for PathBuf {
    type Error = &'static str;

    fn try_from(text: PathText) -> Result<Self, Self::Error> {
        match text {
            PathText::Text(text) => Ok(text.into()),
            PathText::Bytes { hex } => {
                const PROBLEM: &str = "`hex` of a path holds other than pairs of hexadecimal digits";
                let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(PROBLEM);
                let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
                if !rest.is_empty() {
                    return Err(PROBLEM);
                }
                let byte = |pair: &[u8; 2]| Ok((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
                let bytes: Result<Vec<u8>, Self::Error> = pairs.iter().map(byte).collect();
                Ok(OsString::from_vec(bytes?).into())
            }
        }
    }
}

/// For serde's `with`.
pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    PathText::from(path).serialize(to)
}

/// For serde's `with`.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    PathBuf::try_from(PathText::deserialize(from)?).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_path_is_refused() {
        for hex in ["f", "fg", "+1", "f\u{e9}"] {
            let text = PathText::Bytes { hex: hex.into() };
            assert!(PathBuf::try_from(text).is_err(), "{hex}");
        }
        let text = serde_json::to_string(&PathText::from(Path::new("/a b"))).expect("serialise");
        assert_eq!(text, "\"/a b\"");
    }

    proptest! {
        #[test]
        fn every_path_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let path = PathBuf::from(OsString::from_vec(bytes));
            let json = serde_json::to_string(&PathText::from(path.as_path())).expect("serialise");
            let text: PathText = serde_json::from_str(&json).expect("parse");
            prop_assert_eq!(PathBuf::try_from(text), Ok(path));
        }
    }
}
