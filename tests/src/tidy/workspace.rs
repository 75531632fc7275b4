//! The workspace as values: packages from `cargo metadata`, files from the folder. Knows no rule.
//! Files that git ignores (build output above all) are not part of it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use ignore::WalkBuilder;

use super::code::Code;

/// A file larger than this is data, not text that anyone keeps tidy.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Everything that the rules look at.
#[derive(Debug)]
pub struct Workspace {
    /// The members, sorted by name.
    pub packages: Vec<Package>,
    /// The Rust sources, sorted by path.
    pub sources: Vec<Source>,
    /// Every other text file, sorted by path.
    pub texts: Vec<Text>,
}

/// A member of the workspace.
#[derive(Debug)]
pub struct Package {
    /// Its name in its manifest.
    pub name: String,
    /// Its dependencies of every kind (normal, build, dev).
    pub dependencies: Vec<Dependency>,
}

/// A dependency as a manifest states it.
#[derive(Debug)]
pub struct Dependency {
    /// The name of the package depended upon, not the name that it is used by.
    pub package: String,
    /// Whether only a feature brings it in.
    pub optional: bool,
}

/// A Rust source file.
#[derive(Debug)]
pub struct Source {
    /// Path relative to the root, with `/` between the parts.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// The text without comments and literals.
    pub code: Code,
}

/// A text file that is not Rust.
#[derive(Debug)]
pub struct Text {
    /// Path relative to the root, with `/` between the parts.
    pub path: String,
    /// The whole text.
    pub text: String,
}

impl Workspace {
    /// Reads the workspace whose manifest lies in `root`; runs `cargo metadata` without resolving dependencies, so
    /// it needs neither network nor lock file.
    pub fn load(root: &Path) -> Result<Self> {
        let manifest = root.join("Cargo.toml");
        let metadata = MetadataCommand::new()
            .manifest_path(&manifest)
            .no_deps()
            .exec()
            .with_context(|| format!("cargo metadata failed on {}", manifest.display()))?;
        let mut packages: Vec<_> = metadata
            .packages
            .iter()
            .map(|package| Package {
                name: package.name.to_string(),
                dependencies: package
                    .dependencies
                    .iter()
                    .map(|dependency| Dependency {
                        package: dependency.name.clone(),
                        optional: dependency.optional,
                    })
                    .collect(),
            })
            .collect();
        packages.sort_by(|a, b| a.name.cmp(&b.name));

        let mut workspace = Self { packages, sources: Vec::new(), texts: Vec::new() };
        workspace.read_files(root)?;
        Ok(workspace)
    }

    fn read_files(&mut self, root: &Path) -> Result<()> {
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .require_git(false)
            .parents(false)
            .git_global(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .sort_by_file_name(Ord::cmp)
            .build();
        for entry in walk {
            let entry = entry.with_context(|| format!("walking {} failed", root.display()))?;
            // A file can vanish between the walk and the look, as an editor's do; then it is not part of the tree.
            let Ok(meta) = entry.metadata() else { continue };
            if !meta.is_file() || meta.len() > MAX_FILE_BYTES {
                continue;
            }
            let Ok(bytes) = fs::read(entry.path()) else { continue };
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let relative = entry.path().strip_prefix(root).context("the walk left its root")?;
            let path: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
            let path = path.join("/");
            if relative.extension().is_some_and(|extension| extension == "rs") {
                self.sources.push(Source { path, code: Code::of(&text), text });
            } else {
                self.texts.push(Text { path, text });
            }
        }
        self.sources.retain(|source| !is_fixture(&source.path));
        Ok(())
    }
}

/// Fixtures are input of tests, written by and for nobody: no rule holds in them.
fn is_fixture(path: &str) -> bool {
    path.split('/').any(|part| part == "fixtures")
}
