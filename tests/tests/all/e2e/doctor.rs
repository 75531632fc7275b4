//! `sextant doctor`: every subject is named, what is wrong comes with its repair, and the repair helps.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::sandbox::{Model, Sandbox, text};

/// The exit code, and the findings by subject.
fn examine(sandbox: &Sandbox) -> (Option<i32>, Vec<Value>) {
    let told = sandbox.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{told:?}"));
    assert_eq!(report["healthy"] == true, told.code == Some(0), "{told:?}");
    assert!(text(&report, "log").ends_with("logs/daemon.log"));
    (told.code, report["checks"].as_array().expect("a list").clone())
}

fn health<'a>(checks: &'a [Value], name: &str) -> (&'a str, &'a Value) {
    let check =
        checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {checks:?}"));
    (text(check, "health"), &check["repair"])
}

#[test]
fn a_sound_installation_is_told_so_with_and_without_a_daemon() {
    let sandbox = Sandbox::new(Model::Real);
    sandbox.write("a.py", "def alpaca():\n    return 1\n");
    let (code, checks) = examine(&sandbox);
    assert_eq!(code, Some(0), "{checks:?}");
    assert!(!sandbox.data().exists(), "it changes nothing");
    sandbox.index();
    let (code, checks) = examine(&sandbox);
    assert_eq!(code, Some(0), "{checks:?}");
    let names: Vec<&str> = checks.iter().map(|check| text(check, "name")).collect();
    let all = [
        "version",
        "library",
        "model",
        "data",
        "disk",
        "permissions",
        "socket",
        "watches",
        "clock",
        "daemon",
    ];
    assert_eq!(names, all);
    assert!(checks.iter().all(|check| check["health"] == "good" || check["repair"].is_string()));
}

#[test]
fn what_is_wrong_comes_with_its_repair() {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("a.py", "def alpaca():\n    return 1\n");
    sandbox.index();
    sandbox.stop();
    let key = sandbox.data().join("client/org.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("opened");
    let (code, checks) = examine(&sandbox);
    let (found, repair) = health(&checks, "permissions");
    assert_eq!((code, found, repair), (Some(2), "bad", &Value::from(format!("chmod 600 {}", key.display()))));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("closed");
    assert_eq!(examine(&sandbox).0, Some(0));

    // A clock that stands behind what was written.
    let lock = fs::File::options().write(true).open(sandbox.data().join("lock")).expect("opened");
    let tomorrow = std::time::SystemTime::now() + std::time::Duration::from_hours(24);
    lock.set_modified(tomorrow).expect("dated");
    let (code, checks) = examine(&sandbox);
    assert_eq!((code, health(&checks, "clock").0), (Some(0), "doubtful"));

    // Somebody who holds the lock and does not answer.
    lock.lock().expect("locked");
    let (code, checks) = examine(&sandbox);
    assert_eq!((code, health(&checks, "lock").0), (Some(2), "bad"));
    lock.unlock().expect("unlocked");

    for (key, name) in [("model", "model"), ("onnxruntime", "library")] {
        sandbox.configure(&format!("{key} = \"{}\"\n", sandbox.path("missing").display()));
        let (code, checks) = examine(&sandbox);
        let (found, repair) = health(&checks, name);
        assert_eq!((code, found), (Some(2), "bad"), "{checks:?}");
        assert!(repair.as_str().is_some_and(|repair| repair.contains("setup.sh")), "{repair}");
    }
    sandbox.configure("backend = \"fake\"\n");
    fs::remove_dir_all(sandbox.data()).expect("removed");
    fs::write(sandbox.data(), "a file").expect("written");
    let (code, checks) = examine(&sandbox);
    assert_eq!((code, health(&checks, "data").0), (Some(2), "bad"));
    let told = sandbox.run(&["doctor"]);
    assert!(told.code == Some(2) && told.out.contains("→ move it away"), "{told:?}");
}
