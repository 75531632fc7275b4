//! The words of the question occur in the folders above the file.

use std::collections::HashMap;

use super::coverage;

/// 0 to 1: how much of the question the folders cover together.
pub(in crate::rank) fn folder(terms: &[String], idf: &HashMap<String, f32>, path: &str) -> f32 {
    path.rsplit_once('/').map_or(0.0, |(folders, _)| coverage(terms, idf, folders))
}
