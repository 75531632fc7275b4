//! Which tree a path belongs to, and which collection a tree is.

use std::path::{Path, PathBuf};

/// A path of the user's within a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Root of the tree, without symlinks.
    pub root: PathBuf,
    /// Where in it the user looks, `/` between its parts; empty: everywhere.
    pub prefix: String,
}

/// Finds the tree of `path`: the nearest known tree that holds it, else the folder itself.
///
/// # Errors
/// Where the path does not exist, or a part of it cannot be read.
pub fn resolve(path: &Path, known: &[PathBuf]) -> std::io::Result<Place> {
    let path = path.canonicalize()?;
    let holder = known.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len());
    let root = holder.cloned().unwrap_or_else(|| path.clone());
    let below = path.strip_prefix(&root).unwrap_or(Path::new(""));
    let prefix =
        below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
    Ok(Place { root, prefix })
}

/// Name of a tree's collection: its normalised git remote where the tree is a checkout of one, else a name of its own
/// made of the folder's name and `salt` (a keyed hash of the path, so that servers learn no local path).
pub fn collection_name(root: &Path, salt: &str) -> String {
    if let Some(remote) = git_remote(root).as_deref().and_then(normalise_remote) {
        return remote;
    }
    let name = root.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
    let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
    format!("local/{name}-{salt}")
}

fn git_remote(root: &Path) -> Option<String> {
    // Only the root of a checkout: paths of a subfolder are not those of the repository.
    root.join(".git").exists().then_some(())?;
    let repository = gix::open(root).ok()?;
    let config = repository.config_snapshot();
    config.string("remote.origin.url").map(|url| url.to_string())
}

/// `host/path` of a remote: without scheme, user, password, port and `.git`; `None` for a path on this machine.
pub fn normalise_remote(url: &str) -> Option<String> {
    let url = url.trim();
    let rest = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.to_owned(),
        // `user@host:path`, but not `C:\path` nor `./path`.
        None => {
            let (host, path) = url.split_once(':')?;
            if host.contains('/') || host.len() < 2 || path.starts_with('\\') {
                return None;
            }
            format!("{host}/{path}")
        }
    };
    let (authority, path) = rest.split_once('/')?;
    let host = authority.rsplit('@').next()?.split(':').next()?.to_ascii_lowercase();
    let path = path.trim_matches('/').trim_end_matches(".git").trim_end_matches('/');
    if host.is_empty() || path.is_empty() || path.chars().any(char::is_control) {
        return None;
    }
    Some(format!("{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_one_name_however_its_remote_is_written() {
        for url in [
            "https://example.org/team/app.git",
            "https://user:secret@example.org/team/app",
            "ssh://git@EXAMPLE.org:2222/team/app.git/",
            "git@example.org:team/app.git",
            "example.org:team/app",
        ] {
            assert_eq!(normalise_remote(url).as_deref(), Some("example.org/team/app"), "{url}");
        }
        for local in ["/srv/git/app.git", "./app", "../x:y", "file:///srv/app", "C:\\repos\\app", ""] {
            assert_eq!(normalise_remote(local), None, "{local}");
        }
    }

    #[test]
    fn the_nearest_known_tree_holds_a_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b/c")).unwrap();
        let known = [root.join("a"), root.join("a/b")];
        let place = resolve(&root.join("a/b/c"), &known).unwrap();
        assert_eq!(place, Place { root: root.join("a/b"), prefix: "c".into() });
        assert_eq!(resolve(&root, &known).unwrap(), Place { root: root.clone(), prefix: String::new() });
        assert!(resolve(&root.join("nowhere"), &known).is_err());
    }
}
