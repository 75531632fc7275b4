//! No file names a folder of the machine that it happened to be written on.

use super::{Finding, Workspace};

/// The rule's name.
pub const RULE: &str = "paths";

/// First folders of absolute paths that exist on some machines only. Without slashes, so that this file passes.
const REFUSED: &[&str] = &["work", "root", "Users"];

/// Checks every text file, comments and strings included.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let sources = workspace.sources.iter().map(|source| (&source.path, &source.text));
    let texts = workspace.texts.iter().map(|text| (&text.path, &text.text));
    let mut findings = Vec::new();
    for (path, text) in sources.chain(texts) {
        for (row, line) in text.lines().enumerate() {
            if let Some(folder) = REFUSED.iter().find(|folder| names_folder(line, folder)) {
                findings.push(Finding {
                    rule: RULE,
                    place: format!("{path}:{}", row + 1),
                    what: format!(
                        "an absolute path below a folder `{folder}` of one machine; say it relatively"
                    ),
                });
            }
        }
    }
    findings
}

/// Whether an absolute path below `folder` stands in the line. A slash that continues a relative path, a variable
/// (`$x/…`), a pattern or an address does not begin one.
fn names_folder(line: &str, folder: &str) -> bool {
    let wanted = format!("/{folder}/");
    line.match_indices(&wanted).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "_-.~*/})$".contains(c)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_paths_count() {
        for (line, expected) in [
            (concat!("see /t", "mp/main"), true),
            (concat!("\"/t", "mp/main\""), true),
            (concat!("/t", "mp/x"), true),
            ("xtmp/main", false),
            ("src/tmp/main", false),
            ("$base/tmp/main", false),
            ("https://host/tmp/main", false),
            ("/tmpfs/main", false),
        ] {
            assert_eq!(names_folder(line, "tmp"), expected, "{line}");
        }
    }
}
