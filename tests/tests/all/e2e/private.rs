//! What lies where: secrets are their owner's alone, and the searched tree is only read.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::sandbox::{Model, Sandbox};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode() & 0o777
}

#[test]
fn keys_and_folders_are_their_owners_alone() {
    // Also where the user made the data folder, open to all.
    for made_before in [false, true] {
        let sandbox = Sandbox::new(Model::Fake);
        sandbox.write("a.py", "def alpaca():\n    return 1\n");
        let data = sandbox.data();
        if made_before {
            fs::create_dir(&data).expect("made");
            fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("opened");
        }
        sandbox.index();
        let run = sandbox.path("run/sextant");
        let socket =
            fs::read_dir(&run).expect("a folder").next().expect("a socket").expect("an entry").path();
        assert_eq!((mode(&run), mode(&socket)), (0o700, 0o600));
        assert_eq!(mode(&data.join("logs/daemon.log")), 0o600);
        for key in ["client/org.key", "org/ca.key"] {
            assert_eq!(mode(&data.join(key)), 0o600, "{key}");
        }
        for folder in ["client", "org", "shard", "coordinator", "logs"] {
            assert_eq!(mode(&data.join(folder)), 0o700, "{folder}, made before: {made_before}");
        }
        assert_eq!(mode(&data), if made_before { 0o755 } else { 0o700 });
    }
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("a.py", "def alpaca():\n    return 1\n");
    sandbox.index();
    for key in ["client/org.key", "org/ca.key"] {
        sandbox.stop();
        let path = sandbox.data().join(key);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("opened");
        let told = sandbox.run(&["search", "alpaca"]);
        assert_eq!((told.code, told.out.as_str()), (Some(2), ""), "{told:?}");
        assert!(
            told.err.contains(key) && told.err.contains("600") && told.err.lines().count() == 1,
            "{told:?}"
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("closed");
    }
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1, "repaired as the message says");
}

/// Path, inode, size and change times of everything below a folder.
fn listing(folder: &Path) -> Vec<(String, u64, u64, i64, i64)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let own = (folder.clone(), folder.symlink_metadata().expect("a folder"));
        let entries = fs::read_dir(&folder).expect("a folder").map(|entry| {
            let entry = entry.expect("an entry");
            (entry.path(), entry.metadata().expect("metadata"))
        });
        for (path, metadata) in std::iter::once(own).chain(entries) {
            if metadata.is_dir() && path != folder {
                folders.push(path.clone());
            }
            let times = (metadata.ctime(), metadata.ctime_nsec());
            all.push((path.display().to_string(), metadata.ino(), metadata.size(), times.0, times.1));
        }
    }
    all.sort();
    all
}

#[test]
fn nothing_is_written_into_the_tree() {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("a.py", "def alpaca():\n    return 1\n");
    sandbox.write("deep/er/b.py", "def bison():\n    return 2\n");
    let git = std::process::Command::new("git").arg("init").arg("-q").current_dir(sandbox.tree()).status();
    assert!(git.expect("git starts").success());
    let before = listing(&sandbox.tree());
    assert!(before.len() > 10, "{before:?}");
    sandbox.index();
    sandbox.search(&["alpaca"]);
    sandbox.search(&["alpaca", "deep"]);
    sandbox.status();
    assert_eq!(listing(&sandbox.tree()), before);
    let mut rest: Vec<_> = fs::read_dir(sandbox.path("home")).expect("home").collect();
    assert!(rest.pop().is_none(), "nor is anything else at home, for the data folder was named");
}
