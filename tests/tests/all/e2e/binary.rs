//! Where the program lies: beside this test's own executable. It is built where it is missing or older than its
//! sources, which is never so in a run of the whole workspace's tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The program's executable, fresh.
pub(super) fn sextant() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let this = std::env::current_exe().expect("this executable has a path");
        // target/PROFILE/deps/all-0123456789abcdef
        let folder = this.parent().and_then(Path::parent).expect("it lies in deps");
        let binary = folder.join("sextant");
        if !is_fresh(&binary) {
            build(folder);
        }
        assert!(is_fresh(&binary), "{} is missing or old: run `make test`", binary.display());
        binary
    })
}

/// Whether the executable is there and no source that cargo lists for it is newer.
fn is_fresh(binary: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let Some(built) = changed(binary) else { return false };
    let Ok(list) = std::fs::read_to_string(binary.with_extension("d")) else { return false };
    let sources = list.split_once(": ").map_or("", |(_, sources)| sources);
    // A blank in a path is written `\ `.
    let sources = sources.replace("\\ ", "\0");
    let newest =
        sources.split_whitespace().filter_map(|path| changed(Path::new(&path.replace('\0', " ")))).max();
    newest.unwrap_or(SystemTime::UNIX_EPOCH) <= built
}

fn build(folder: &Path) {
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let mut cargo = Command::new(env!("CARGO"));
    // What cargo told this test of its own package would make build scripts that watch these names run again.
    let own = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    for (name, _) in std::env::vars_os() {
        if own.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes())) {
            cargo.env_remove(name);
        }
    }
    let status = cargo
        .args(["build", "--quiet", "--package", "sextant-client", "--bin", "sextant", "--profile", profile])
        .args(["--features", "failpoints"])
        .arg("--target-dir")
        .arg(folder.parent().expect("a profile's folder lies in the target folder"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo starts");
    assert!(status.success(), "the program does not build: run `make test` and look at the first error");
}
