//! `sextant mcp` with the protocol's official Python client, in a virtual environment that is made where it is missing:
//! beside model and library, with every package pinned by its hash.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::sandbox::{Model, Sandbox, assets};

/// Makes the environment once for all checkouts; its Python.
fn python() -> PathBuf {
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp/requirements.txt");
    let hash = blake3::hash(&std::fs::read(&requirements).expect("the pins")).to_hex();
    let folder = assets().join(format!("mcp-client-{}", &hash[..12]));
    let python = folder.join("bin/python");
    if folder.join(".complete").is_file() {
        return python;
    }
    // Made beside its place and moved, for several may make it at once; a venv's programs find it by `pyvenv.cfg`.
    let fresh = tempfile::Builder::new().prefix(".mcp-client").tempdir_in(assets()).expect("a folder");
    let run = |command: &mut Command| {
        let output = command.output().expect("Python starts");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(fresh.path()));
    run(Command::new(fresh.path().join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r"])
        .arg(&requirements));
    std::fs::write(fresh.path().join(".complete"), "").expect("written");
    if std::fs::rename(fresh.path(), &folder).is_ok() {
        // Moved: there is nothing left to remove.
        let _ = fresh.keep();
    }
    assert!(folder.join(".complete").is_file(), "{} could not be made", folder.display());
    python
}

#[test]
fn the_official_client_searches_and_is_told_what_it_does_wrong() {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("src/alpaca.py", "def alpaca():\n    return 'wool'\n");
    sandbox.write("docs/bison.py", "def bison():\n    return 'herd'\n");
    let plain = sandbox.command(&["mcp"]);
    let mut command = Command::new(python());
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp/client.py")).arg(super::binary::sextant());
    command.arg(sandbox.tree()).current_dir(sandbox.tree()).env_clear();
    for (name, value) in plain.get_envs() {
        command.env(name, value.expect("set"));
    }
    let told = sandbox.finish(command);
    assert_eq!((told.code, told.out.lines().last()), (Some(0), Some("all is well")), "{told:?}");
}
