//! How the rows of the table are brought about. Each gives what the program said to the command that counts.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::super::sandbox::{Sandbox, Told, assets, wait_until};

pub(super) fn beside(sandbox: &Sandbox, name: &str, bytes: &[u8]) -> Told {
    sandbox.write(name, bytes);
    sandbox.run(&["index"])
}

pub(super) fn odd_name(sandbox: &Sandbox) -> Told {
    let name = OsStr::from_bytes(b"caf\xe9.py");
    fs::write(sandbox.tree().join(name), "x = 1\n").expect("written");
    sandbox.run(&["index"])
}

pub(super) fn empty_folder(sandbox: &Sandbox) -> Told {
    fs::create_dir(sandbox.tree().join("empty")).expect("made");
    sandbox.run(&["index", "empty"])
}

/// The folder goes while the index runs; nothing of it may come to harm, and it is refused by name afterwards.
pub(super) fn vanishing_folder(sandbox: &Sandbox) -> Told {
    for n in 0..600 {
        sandbox.write(&format!("brief/{n}.py"), format!("def brief{n}():\n    return {n}\n"));
    }
    let mut command = sandbox.command(&["index", "brief"]);
    // Between the walk and the first look at a file.
    let held = sandbox.path("held");
    command.env("FAILPOINTS", format!("sync-walked-hold=return({})", held.display()));
    let index = sandbox.start(command);
    wait_until("the folder has been walked", || held.exists());
    fs::remove_dir_all(sandbox.tree().join("brief")).expect("removed");
    fs::remove_file(&held).expect("let go");
    let told = index.wait();
    let after = sandbox.run(&["index", "brief"]);
    assert!(after.code == Some(2) && after.err.contains("check the spelling"), "{after:?}");
    told
}

/// The program without the rights that root has over files of others, so that modes count.
fn humble(sandbox: &Sandbox, words: &[&str]) -> Told {
    let plain = sandbox.command(words);
    if sandbox.tree().metadata().expect("a folder").uid() != 0 {
        return sandbox.finish(plain);
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(plain.get_program()).args(plain.get_args());
    command.env_clear().current_dir(sandbox.tree());
    for (name, value) in plain.get_envs() {
        command.env(name, value.expect("set"));
    }
    sandbox.finish(command)
}

fn mode(sandbox: &Sandbox, path: &str, mode: u32) {
    fs::set_permissions(sandbox.path(path), fs::Permissions::from_mode(mode)).expect("a mode is set");
}

pub(super) fn unreadable_file(sandbox: &Sandbox) -> Told {
    sandbox.write("secret.py", "x = 1\n");
    mode(sandbox, "tree/secret.py", 0);
    humble(sandbox, &["index"])
}

pub(super) fn read_only_checkout(sandbox: &Sandbox) -> Told {
    mode(sandbox, "tree/good.py", 0o444);
    mode(sandbox, "tree", 0o555);
    let told = humble(sandbox, &["index"]);
    mode(sandbox, "tree", 0o755);
    told
}

pub(super) fn read_only_data(sandbox: &Sandbox) -> Told {
    fs::create_dir(sandbox.data()).expect("made");
    mode(sandbox, "data", 0o555);
    let told = humble(sandbox, &["index"]);
    mode(sandbox, "data", 0o755);
    told
}

/// A file system of a few kilobytes, seen by this command and its daemon alone.
pub(super) fn full_disk(sandbox: &Sandbox) -> Told {
    fs::create_dir(sandbox.data()).expect("made");
    let plain = sandbox.command(&["index"]);
    let script = "mount -t tmpfs -o size=64k tmpfs \"$SEXTANT_DATA_DIR\" || exit 99; \"$0\" index; code=$?; \
                  \"$0\" daemon stop >/dev/null 2>&1; exit $code";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(plain.get_program());
    command.env_clear().current_dir(sandbox.tree());
    for (name, value) in plain.get_envs() {
        command.env(name, value.expect("set"));
    }
    sandbox.finish(command)
}

pub(super) fn data_is_a_file(sandbox: &Sandbox) -> Told {
    fs::write(sandbox.data(), "a file").expect("written");
    let told = sandbox.run(&["index"]);
    assert_eq!(fs::read(sandbox.data()).expect("still there"), b"a file");
    told
}

/// Indexes, ends the daemon, spoils something, and indexes again.
fn spoilt(sandbox: &Sandbox, spoil: impl FnOnce()) -> Told {
    sandbox.index();
    sandbox.stop();
    spoil();
    sandbox.run(&["index"])
}

pub(super) fn newer_data(sandbox: &Sandbox) -> Told {
    spoilt(sandbox, || {
        let db = redb::Database::open(sandbox.data().join("client/manifest.redb")).expect("a manifest");
        let write = db.begin_write().expect("begun");
        let formats = redb::TableDefinition::<&str, u32>::new("format");
        write.open_table(formats).expect("a table").insert("manifest", 99).expect("inserted");
        write.commit().expect("committed");
    })
}

pub(super) fn damaged(sandbox: &Sandbox, file: &str) -> Told {
    spoilt(sandbox, || fs::write(sandbox.data().join(file), b"garbage").expect("written"))
}

pub(super) fn open_key(sandbox: &Sandbox) -> Told {
    spoilt(sandbox, || mode(sandbox, "data/client/org.key", 0o644))
}

pub(super) fn without(sandbox: &Sandbox, name: &str) -> Told {
    let path = sandbox.data().join(name);
    spoilt(sandbox, || {
        let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        gone.expect("removed");
    })
}

pub(super) fn second_daemon(sandbox: &Sandbox) -> Told {
    sandbox.index();
    let first = sandbox.daemon();
    let told = sandbox.run(&["daemon", "run"]);
    assert!(first.is_some() && sandbox.daemon() == first, "the first one is not disturbed");
    told
}

pub(super) fn taken_port(sandbox: &Sandbox) -> Told {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = taken.local_addr().expect("an address");
    sandbox.configure(&format!("backend = \"fake\"\nmetrics_addr = \"{addr}\"\n"));
    let told = sandbox.run(&["index"]);
    sandbox.configure("backend = \"fake\"\n");
    assert_eq!(sandbox.index()["files"], 1, "and works without");
    told
}

pub(super) fn killed_daemon(sandbox: &Sandbox) -> Told {
    let mut command = sandbox.command(&["index"]);
    command.env("FAILPOINTS", "sync-published=return");
    let told = sandbox.finish(command);
    assert_eq!(sandbox.index()["files"], 1, "and the next command goes on");
    told
}

pub(super) fn clock_back(sandbox: &Sandbox) -> Told {
    sandbox.index();
    let tomorrow = SystemTime::now() + Duration::from_hours(24);
    for path in [sandbox.tree().join("good.py"), sandbox.data().join("client/manifest.redb")] {
        fs::File::options().write(true).open(path).expect("opened").set_modified(tomorrow).expect("dated");
    }
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1);
    sandbox.run(&["index"])
}

pub(super) fn stale_socket(sandbox: &Sandbox) -> Told {
    sandbox.index();
    assert!(sandbox.kill_daemon());
    sandbox.run(&["index"])
}

pub(super) fn forced_home(sandbox: &Sandbox) -> Told {
    fs::write(sandbox.path("home/a.py"), "def lama():\n    return 1\n").expect("written");
    sandbox.run(&["index", "--force", "../home"])
}

pub(super) fn missing_model(sandbox: &Sandbox) -> Told {
    sandbox.configure(&format!("model = \"{}\"\n", sandbox.path("missing").display()));
    sandbox.run(&["index"])
}

pub(super) fn missing_library(sandbox: &Sandbox) -> Told {
    sandbox.configure(&format!("onnxruntime = \"{}\"\n", sandbox.path("missing").display()));
    sandbox.run(&["index"])
}

pub(super) fn damaged_library(sandbox: &Sandbox) -> Told {
    let library = sandbox.path("damaged.so");
    fs::write(&library, b"\x7fELF and no more").expect("written");
    sandbox.configure(&format!("onnxruntime = \"{}\"\n", library.display()));
    sandbox.run(&["index"])
}

pub(super) fn damaged_model(sandbox: &Sandbox) -> Told {
    let copy = sandbox.path("model");
    fs::create_dir(&copy).expect("made");
    for entry in fs::read_dir(assets().join("models/all-MiniLM-L6-v2")).expect("a model") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), copy.join(entry.file_name())).expect("copied");
    }
    let graph = fs::File::options().write(true).open(copy.join("model.onnx")).expect("opened");
    graph.set_len(100_000).expect("cut");
    sandbox.configure(&format!("model = \"{}\"\n", copy.display()));
    sandbox.run(&["index"])
}
