//! The authority: folders and modes, certificates it issues, damaged files.

use std::os::unix::fs::PermissionsExt;

use super::*;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_folder_and_its_files_are_their_owners_alone() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("deep/ca");
    let made = Authority::create(&dir, "acme").unwrap();
    made.load_or_issue(Role::Client, "alice@example.org", 7).unwrap();
    assert_eq!(mode(&dir), 0o700);
    let names: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for path in names {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert!(matches!(Authority::create(&dir, "acme"), Err(TransportError::Exists(_))));
    let drafts = std::fs::read_dir(dir.parent().unwrap()).unwrap().count();
    assert_eq!(drafts, 1, "a draft was left behind");
}

#[test]
fn an_opened_authority_issues_what_the_created_one_would() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("ca");
    Authority::open_or_create(&dir, "acme").unwrap();
    let again = Authority::open_or_create(&dir, "other").unwrap();
    assert_eq!(again.org(), "acme");
    let identity = again.issue(Role::Embed, "gpu-1", 1).unwrap();
    assert_eq!(identity.peer().to_string(), "spiffe://acme/embed/gpu-1");
    assert!(again.is_fresh(&identity));
    assert!(!format!("{identity:?}{again:?}").to_lowercase().contains("private"));
}

#[test]
fn kept_leaves_are_used_until_a_third_of_their_time_is_left() {
    let parent = tempfile::tempdir().unwrap();
    let authority = Authority::create(&parent.path().join("ca"), "acme").unwrap();
    let first = authority.load_or_issue(Role::Ci, "runner", 7).unwrap();
    let same = authority.load_or_issue(Role::Ci, "runner", 7).unwrap();
    assert_eq!(first.chain(), same.chain());
    let now = SystemTime::now();
    for (from, to) in [(now - DAY * 9, now - DAY), (now - DAY * 9, now + DAY), (now + DAY, now + DAY * 9)] {
        let (chain, key) = authority.sign(Role::Ci, "runner", from, to).unwrap();
        files::replace_secret(&authority.dir.join("ci-runner.crt"), chain.pem().as_bytes()).unwrap();
        files::replace_secret(&authority.dir.join("ci-runner.key"), key.serialize_pem().as_bytes()).unwrap();
        let next = authority.load_or_issue(Role::Ci, "runner", 7).unwrap();
        assert_ne!(next.chain(), vec![chain.der().clone()]);
        assert!(authority.is_fresh(&next));
    }
    // Torn between its two files, or damaged: issued again.
    std::fs::write(authority.dir.join("ci-runner.key"), "junk").unwrap();
    assert!(authority.is_fresh(&authority.load_or_issue(Role::Ci, "runner", 7).unwrap()));
    // A key that others could read is told, not replaced.
    std::fs::set_permissions(authority.dir.join("ci-runner.key"), std::fs::Permissions::from_mode(0o644))
        .unwrap();
    let error = authority.load_or_issue(Role::Ci, "runner", 7).unwrap_err();
    assert!(matches!(error, TransportError::Exposed { mode: 0o644, .. }), "{error}");
}

#[test]
fn damage_names_the_file_and_the_repair() {
    let parent = tempfile::tempdir().unwrap();
    let other = Authority::create(&parent.path().join("other"), "acme").unwrap();
    let other_key = std::fs::read(other.dir.join(KEY_FILE)).unwrap();
    for (number, (file, bytes)) in
        [(ROOT_FILE, b"junk".to_vec()), (ROOT_FILE, vec![0xff; 9]), (KEY_FILE, vec![]), (KEY_FILE, other_key)]
            .into_iter()
            .enumerate()
    {
        let dir = parent.path().join(number.to_string());
        Authority::create(&dir, "acme").unwrap();
        std::fs::write(dir.join(file), bytes).unwrap();
        let error = Authority::open(&dir).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains("restore"), "{error}");
    }
    let error = Authority::open(&parent.path().join("nowhere")).unwrap_err();
    assert!(matches!(error, TransportError::File { .. }), "{error}");
}

#[test]
fn names_that_leave_the_uri_or_the_folder_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let authority = Authority::create(&parent.path().join("ca"), "acme").unwrap();
    for name in ["", ".", "..", "../x", "a/b", "a b", "ü", &"x".repeat(129)] {
        let issued = authority.issue(Role::Client, name, 1);
        assert!(matches!(issued, Err(TransportError::Name { .. })), "{name:?}");
        assert!(Authority::create(&parent.path().join("new"), name).is_err());
    }
}
