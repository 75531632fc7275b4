//! Unsafe code lives in the kernels alone, where every block has its proof and its parity test.

use super::{Finding, Workspace};

/// The rule's name.
pub const RULE: &str = "unsafe";

const KERNELS: &str = "shard-node/kernels/";

/// Checks for the keyword outside the kernels; tests and examples are no exception.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let outside = workspace.sources.iter().filter(|source| !source.path.starts_with(KERNELS));
    outside
        .filter_map(|source| {
            let (line, _) = source.code.words().find(|(_, word)| *word == "unsafe")?;
            Some(Finding {
                rule: RULE,
                place: format!("{}:{line}", source.path),
                what: format!("unsafe code outside {KERNELS}; move it there or do without"),
            })
        })
        .collect()
}
