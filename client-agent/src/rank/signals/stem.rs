//! The words of the question occur in the file's name.

use std::collections::HashMap;

use super::coverage;

/// File names that say where, not what: the folder speaks for them.
const INDEX_NAMES: &[&str] = &["mod", "index", "__init__", "lib", "main"];

/// 0 to 1: how much of the question the name of the file covers.
pub(in crate::rank) fn stem(terms: &[String], idf: &HashMap<String, f32>, path: &str) -> f32 {
    coverage(terms, idf, stem_of(path))
}

/// The file's name without its extensions, or its folder's where the name is that of an index.
fn stem_of(path: &str) -> &str {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or(path);
    let stem = file.split('.').find(|part| !part.is_empty()).unwrap_or(file);
    if INDEX_NAMES.contains(&stem) { parts.find(|part| *part != "src").unwrap_or(stem) } else { stem }
}

#[cfg(test)]
mod tests {
    use super::stem_of;

    #[test]
    fn index_files_take_the_name_of_their_folder() {
        assert_eq!(stem_of("a/router.rs"), "router");
        assert_eq!(stem_of("a/routing/mod.rs"), "routing");
        assert_eq!(stem_of("axum/src/lib.rs"), "axum");
        assert_eq!(stem_of("lib.rs"), "lib");
        assert_eq!(stem_of(".gitignore"), "gitignore");
        assert_eq!(stem_of("x/types.d.ts"), "types");
    }
}
