//! The words of the question occur in the names that the chunk declares.

use std::collections::HashMap;

use super::coverage;
use crate::lexical::Name;

/// 0 to 1: the best coverage of the question by one declared top-level name.
pub(in crate::rank) fn declared(terms: &[String], idf: &HashMap<String, f32>, names: &[Name]) -> f32 {
    let top = names.iter().filter(|name| !name.nested);
    top.map(|name| coverage(terms, idf, &name.name)).fold(0.0, f32::max)
}
