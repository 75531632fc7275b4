//! Owns the rule which paths hold test code, over all languages. Must not know file contents.

/// Folders whose files are tests.
const FOLDERS: &[&str] =
    &["test", "tests", "testing", "__tests__", "spec", "specs", "e2e", "testdata", "androidTest"];
/// What a file name's stem (up to the first dot for these) begins or ends with.
const STEM_PREFIXES: &[&str] = &["test_"];
const STEM_SUFFIXES: &[&str] = &["_test", "_tests", "_spec", "Test", "Tests", "TestCase", "Spec"];
/// Dotted parts before the extension.
const DOTTED: &[&str] = &["test", "spec", "e2e", "cy"];

/// Whether a relative path with `/` names test code.
pub(super) fn is_test_path(path: &str) -> bool {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let in_folder =
        folders.split('/').any(|f| FOLDERS.contains(&f) || f.ends_with(".Tests") || f.ends_with("Tests"));
    let mut parts = file.split('.');
    let stem = parts.next().unwrap_or_default();
    let dotted = parts.any(|part| DOTTED.contains(&part));
    in_folder
        || dotted
        || matches!(stem, "tests" | "conftest")
        || STEM_PREFIXES.iter().any(|p| stem.starts_with(p))
        || STEM_SUFFIXES.iter().any(|s| stem.len() > s.len() && stem.ends_with(s))
}

#[cfg(test)]
mod tests {
    use super::is_test_path;

    #[test]
    fn folders_stems_and_dotted_parts_mark_tests() {
        for path in [
            "tests/a.rs",
            "src/test/java/A.java",
            "web/__tests__/a.js",
            "a/test_x.py",
            "a/x_test.go",
            "src/x.test.ts",
            "src/x.spec.tsx",
            "src/FooTest.kt",
            "App.Tests/Foo.cs",
            "src/queue/tests.rs",
        ] {
            assert!(is_test_path(path), "{path}");
        }
        for path in [
            "src/latest.rs",
            "src/contest/a.go",
            "src/Test.kt",
            "attest.py",
            "src/testimony.rs",
            "spectrum/a.js",
        ] {
            assert!(!is_test_path(path), "{path}");
        }
    }
}
