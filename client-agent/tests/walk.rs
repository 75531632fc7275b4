//! The walk against git itself: `git ls-files -co --exclude-standard`, minus what is no regular file, is the oracle.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use sextant_client::walk::{Root, SkipReason, WalkError, WalkOptions, WalkOutcome, WalkWarning, walk};
use tempfile::TempDir;

fn git(dir: &Path, args: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"])
        .args(["-c", "protocol.file.allow=always", "-c", "core.autocrlf=false"])
        .args(args)
        .output()
        .expect("git runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?} in {}: {stderr}", dir.display());
    output.stdout
}

/// True where no part of `path` is a symlink and the last is a regular file.
fn is_plain_file(root: &Path, path: &Path) -> bool {
    let mut at = root.to_path_buf();
    let parts: Vec<_> = path.components().collect();
    parts.iter().enumerate().all(|(index, part)| {
        at.push(part);
        at.symlink_metadata().is_ok_and(
            |meta| {
                if index + 1 == parts.len() { meta.is_file() } else { meta.is_dir() }
            },
        )
    })
}

fn oracle(root: &Path) -> Vec<String> {
    let listed = git(root, &["ls-files", "-co", "--exclude-standard", "-z"]);
    let mut paths: Vec<String> = listed
        .split(|&byte| byte == 0)
        .filter(|path| !path.is_empty() && is_plain_file(root, Path::new(OsStr::from_bytes(path))))
        .filter_map(|path| String::from_utf8(path.to_vec()).ok())
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

fn outcome(root: &Path) -> WalkOutcome {
    walk(root, &WalkOptions::default()).expect("the walk succeeds")
}

fn paths(root: &Path) -> Vec<String> {
    outcome(root).files.into_iter().map(|file| file.path).collect()
}

fn skipped(root: &Path) -> Vec<(String, &'static str)> {
    outcome(root).skipped.into_iter().map(|skip| (skip.path, skip.reason.code())).collect()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("create folder");
    std::fs::write(path, text).expect("write file");
}

/// A temporary folder with files whose text is their own name, then rule files.
fn tree(files: &[&str], rules: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().expect("temporary folder");
    for file in files {
        write(dir.path(), file, file);
    }
    for (path, text) in rules {
        write(dir.path(), path, text);
    }
    dir
}

fn repository(files: &[&str], rules: &[(&str, &str)]) -> TempDir {
    let dir = tree(files, rules);
    git(dir.path(), &["init", "-q"]);
    dir
}

#[test]
fn nested_rules_negations_and_escapes() {
    let files = [
        "out/A.java",
        "keep/out/B.java",
        "Cache/x.cs",
        "docs/Cache.cs",
        "docs/Cache/y.cs",
        "a/skip.py",
        "a/m/n/skip.py",
        "a/b/B.java",
        "a/b/B.py",
        "a/b/c/In.java",
        "lib/gen/G.kt",
        "lib/gen/Keep.kt",
        "logs/x.log",
        "logs/y.log",
        "vital.log",
        "#hash.js",
        "!bang.js",
        "trail.js",
        "trail.js ",
        "sp ace/s.go",
        "{a,b}.rs",
        "a.rs",
        "[.rs",
        "back\\slash.rs",
        "deep/er/est/z.tmp",
        "foo1bar",
        "foo/bar",
    ];
    let rules = [
        (
            ".gitignore",
            "out/\n!/keep/out/\n/Cache/\n*.log\n!vital.log\nlib/gen/*\n!lib/gen/Keep.kt\na/**/skip.py\n\
             \\#hash.js\n\\!bang.js\ntrail.js   \nsp\\ ace/\n{a,b}.rs\n[.rs\n# note\n\n**/est\nfoo**bar\n!\n/\n",
        ),
        ("a/b/.gitignore", "*\n!.gitignore\n!*.java\n"),
        ("logs/.gitignore", "!x.log\n"),
        ("a/.gitignore", "c/\n!c/In.java"),
    ];
    let dir = repository(&files, &rules);
    let found = paths(dir.path());
    assert_eq!(found, oracle(dir.path()));
    assert!(found.contains(&"a.rs".to_owned()), "braces are plain text in a rule");
    // From a folder below the top the same rules hold, and paths begin there.
    for below in ["a", "a/b", "lib/gen", "lib", "out", "docs", "deep/er/est"] {
        assert_eq!(paths(&dir.path().join(below)), oracle(&dir.path().join(below)), "from {below}");
    }
    // Without a repository the rules in the tree still count.
    std::fs::remove_dir_all(dir.path().join(".git")).expect("remove");
    assert_eq!(paths(dir.path()), found);
}

#[test]
fn marks_and_line_ends_of_rule_files() {
    for text in [
        "\u{feff}secret/\nout/\n",
        "secret/\r\nout/\r\n",
        "secret/\r\nout/\r",
        "secret/ \nout/",
        "\r\n\r\nsecret\\\r\n",
    ] {
        let dir = repository(&["secret/s.py", "out/o.py", "k.py", "secret\\"], &[(".gitignore", text)]);
        assert_eq!(paths(dir.path()), oracle(dir.path()), "{text:?}");
    }
    let dir = repository(&["secret/s.py", "k.py"], &[(".gitignore", "\u{feff}secret/\r\n")]);
    assert_eq!(paths(dir.path()), [".gitignore", "k.py"]);
}

#[test]
fn tracked_files_count_though_ignored() {
    let files = ["gen/a.rs", "gen/b.rs", "gen/sub/c.rs", "x.log", "gone.rs", "turned.rs", "was/file.rs"];
    let dir = repository(&files, &[(".gitignore", "gen/\n*.log\n")]);
    git(
        dir.path(),
        &["add", "-f", "gen/a.rs", "gen/sub/c.rs", "x.log", "gone.rs", "turned.rs", "was/file.rs"],
    );
    std::fs::remove_file(dir.path().join("gone.rs")).expect("remove");
    std::fs::remove_file(dir.path().join("turned.rs")).expect("remove");
    write(dir.path(), "turned.rs/inner.rs", "");
    std::fs::remove_dir_all(dir.path().join("was")).expect("remove");
    std::os::unix::fs::symlink("gen", dir.path().join("was")).expect("link");
    write(dir.path(), "gen/file.rs", "");
    let expected = [".gitignore", "gen/a.rs", "gen/sub/c.rs", "turned.rs/inner.rs", "x.log"];
    assert_eq!(paths(dir.path()), expected);
    assert_eq!(paths(dir.path()), oracle(dir.path()));
    assert_eq!(paths(&dir.path().join("gen")), oracle(&dir.path().join("gen")));
    assert_eq!(skipped(dir.path()), [("was".to_owned(), "symlink")]);
    for version in ["2", "3", "4"] {
        git(dir.path(), &["update-index", "--index-version", version]);
        assert_eq!(paths(dir.path()), expected, "index version {version}");
    }
    git(dir.path(), &["update-index", "--split-index"]);
    git(dir.path(), &["add", "-f", "gen/b.rs"]);
    assert_eq!(paths(dir.path()), oracle(dir.path()), "split index");
    // Our own rules are above git's, for tracked files too.
    write(dir.path(), ".sextantignore", "gen/sub/\n*.log\n");
    let expected = [".gitignore", ".sextantignore", "gen/a.rs", "gen/b.rs", "turned.rs/inner.rs"];
    assert_eq!(paths(dir.path()), expected);
    assert!(paths(&dir.path().join("gen/sub")).is_empty());
}

#[test]
fn a_conflicted_path_counts_once() {
    let dir = repository(&["a.rs"], &[]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "base"]);
    git(dir.path(), &["checkout", "-qb", "other"]);
    write(dir.path(), "a.rs", "other");
    git(dir.path(), &["commit", "-qam", "other"]);
    git(dir.path(), &["checkout", "-q", "-"]);
    write(dir.path(), "a.rs", "ours");
    git(dir.path(), &["commit", "-qam", "ours"]);
    let merge =
        Command::new("git").current_dir(dir.path()).args(["merge", "-q", "other"]).output().expect("git");
    assert!(!merge.status.success());
    assert_eq!(paths(dir.path()), ["a.rs"]);
}

#[test]
fn info_exclude_and_configured_excludes() {
    let dir = repository(&["local.py", "swap.tmp", "keep.tmp", "a.py"], &[(".gitignore", "!keep.tmp\n")]);
    write(dir.path(), ".git/info/exclude", "local.py\n");
    write(dir.path(), ".git/personal", "*.tmp\n");
    git(dir.path(), &["config", "core.excludesFile", ".git/personal"]);
    assert_eq!(paths(dir.path()), oracle(dir.path()));
    assert_eq!(paths(dir.path()), [".gitignore", "a.py", "keep.tmp"]);
}

#[test]
fn case_folds_where_git_says_so() {
    let dir =
        repository(&["Build/x.rs", "A.LOG", "Src/T.rs", "b.rs"], &[(".gitignore", "build/\n*.log\nsrc\n")]);
    assert_eq!(paths(dir.path()), oracle(dir.path()));
    git(dir.path(), &["config", "core.ignoreCase", "true"]);
    assert_eq!(paths(dir.path()), oracle(dir.path()));
    assert_eq!(paths(dir.path()), [".gitignore", "b.rs"]);
}

#[test]
fn linked_worktrees_share_excludes_and_are_not_entered() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let main = dir.path().join("main");
    write(&main, "a.py", "");
    git(&main, &["init", "-q"]);
    git(&main, &["add", "."]);
    git(&main, &["commit", "-qm", "one"]);
    write(&main, ".git/info/exclude", "local_only.py\n");
    git(&main, &["worktree", "add", "-q", "../linked"]);
    git(&main, &["worktree", "add", "-q", ".agent/inner", "-b", "inner"]);
    let linked = dir.path().join("linked");
    write(&linked, "local_only.py", "");
    write(&linked, "b.py", "");
    assert_eq!(paths(&linked), ["a.py", "b.py"]);
    assert_eq!(paths(&linked), oracle(&linked));
    assert_eq!(paths(&main), ["a.py"]);
    assert_eq!(skipped(&main), [(".agent/inner".to_owned(), "nested-repository")]);
    assert_eq!(paths(&main.join(".agent/inner")), ["a.py"]);
}

#[test]
fn submodules_and_broken_repositories_below() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let (sub, sup) = (dir.path().join("sub"), dir.path().join("sup"));
    for root in [&sub, &sup] {
        write(root, "M.kt", "");
        git(root, &["init", "-q"]);
        git(root, &["add", "."]);
        git(root, &["commit", "-qm", "one"]);
    }
    git(&sup, &["submodule", "--quiet", "add", "../sub", "vendor/sub"]);
    git(&sup, &["commit", "-qam", "sub"]);
    write(&sup, "vendor/broken/.git", "gitdir: ../../nowhere\n");
    write(&sup, "vendor/broken/B.kt", "");
    std::fs::create_dir_all(sup.join("vendor/empty/.git")).expect("create");
    write(&sup, "vendor/empty/E.kt", "");
    write(&sup, "vendor/nested/N.kt", "");
    git(&sup.join("vendor/nested"), &["init", "-q"]);
    let expected = [".gitmodules", "M.kt", "vendor/broken/B.kt", "vendor/empty/E.kt"];
    assert_eq!(paths(&sup), expected);
    assert_eq!(paths(&sup), oracle(&sup));
    let nested = ("vendor/nested".to_owned(), "nested-repository");
    assert_eq!(skipped(&sup), [nested.clone(), ("vendor/sub".to_owned(), "submodule")]);
    assert_eq!(paths(&sup.join("vendor/sub")), ["M.kt"]);
    // A clone without its submodules has an empty folder there.
    let bare = dir.path().join("clone");
    git(dir.path(), &["clone", "-q", "sup", "clone"]);
    assert_eq!(paths(&bare), [".gitmodules", "M.kt"]);
    assert_eq!(skipped(&bare), [("vendor/sub".to_owned(), "submodule")]);
    // A folder with tracked files is ours even where someone ran `git init` in it.
    git(&sup, &["add", "vendor/empty/E.kt"]);
    std::fs::remove_dir(sup.join("vendor/empty/.git")).expect("remove");
    git(&sup.join("vendor/empty"), &["init", "-q"]);
    assert_eq!(paths(&sup), oracle(&sup));
    assert!(paths(&sup).contains(&"vendor/empty/E.kt".to_owned()));
}

#[test]
fn links_and_special_files_are_listed_never_followed() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().expect("temporary folder");
    write(dir.path(), "outside/o.py", "OUTSIDE");
    let root = dir.path().join("root");
    write(&root, "d/real.py", "real");
    std::fs::create_dir_all(root.join("d/e")).expect("create");
    write(&root, ".gitignore", "node_modules/\nignored_link\n");
    let links = [
        ("self", "."),
        ("d/e/up", "../.."),
        ("d2", "d"),
        ("link.py", "d/real.py"),
        ("dangling.py", "nowhere"),
        ("out", "../outside"),
        ("etc", "/etc"),
        ("node_modules", "../outside"),
        ("loopa", "loopb"),
        ("loopb", "loopa"),
        ("ignored_link", "d"),
    ];
    for (name, target) in links {
        symlink(target, root.join(name)).expect("link");
    }
    let fifo = root.join("pipe.py");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o644.into(), 0).expect("mkfifo");
    let _socket = std::os::unix::net::UnixListener::bind(root.join("sock.py")).expect("socket");
    assert_eq!(paths(&root), [".gitignore", "d/real.py"]);
    let listed = skipped(&root);
    let link = |name: &str| (name.to_owned(), "symlink");
    let special = |name: &str| (name.to_owned(), "special");
    assert_eq!(
        listed,
        [
            link("d/e/up"),
            link("d2"),
            link("dangling.py"),
            link("etc"),
            link("link.py"),
            link("loopa"),
            link("loopb"),
            link("node_modules"),
            link("out"),
            special("pipe.py"),
            link("self"),
            special("sock.py"),
        ]
    );
    // The root itself may be named through a link.
    symlink("root", dir.path().join("way")).expect("link");
    assert_eq!(paths(&dir.path().join("way")), paths(&root));
    // A rule file that is a link does not count, as in git.
    git(&root, &["init", "-q"]);
    write(dir.path(), "rules", "*.py\n");
    symlink("../../rules", root.join("d/.gitignore")).expect("link");
    assert_eq!(paths(&root), [".gitignore", "d/real.py"]);
    assert_eq!(paths(&root), oracle(&root));
}

#[test]
fn only_our_and_gits_ignore_files_count() {
    let foreign = [
        (".prettierignore", "*\n!docs/**\n"),
        (".dockerignore", "**\n"),
        (".npmignore", "*\n"),
        (".ignore", "*\n"),
        (".rgignore", "*\n"),
    ];
    let dir = repository(&["src/a.ts", "b.ts"], &foreign);
    assert_eq!(paths(dir.path()), oracle(dir.path()));
    assert_eq!(paths(dir.path()).len(), 7);
    let dir =
        repository(&["pkg/deep/x.go", "pkg/deep/x.txt", "o/o.go"], &[(".gitignore", "*\n!*/\n!*.go\n")]);
    assert_eq!(paths(dir.path()), ["o/o.go", "pkg/deep/x.go"]);
    // Rules of a folder above do not leak in where there is no repository.
    let dir = tree(&["sub/a.go"], &[(".gitignore", "*.go\n"), (".sextantignore", "*\n")]);
    assert_eq!(paths(&dir.path().join("sub")), ["a.go"]);
    // Ours: nested, negated, from the top down to a root below it.
    let ours = [(".sextantignore", "*.sql\n!keep.sql\n"), ("db/.sextantignore", "keep.sql\n")];
    let dir = repository(&["a.sql", "keep.sql", "db/keep.sql", "db/b.rs"], &ours);
    assert_eq!(paths(dir.path()), [".sextantignore", "db/.sextantignore", "db/b.rs", "keep.sql"]);
    assert_eq!(paths(&dir.path().join("db")), [".sextantignore", "b.rs"]);
}

#[test]
fn sizes_names_and_stats() {
    let dir = repository(&["fits.rs", "über/naïve.rs", "new\nl.rs"], &[]);
    let cap = 10;
    write(dir.path(), "exact.rs", "0123456789");
    write(dir.path(), "big.rs", "0123456789a");
    let odd = [
        dir.path().join(OsStr::from_bytes(b"odd\xff.rs")),
        dir.path().join(OsStr::from_bytes(b"dir\xfe/in.rs")),
    ];
    for path in &odd {
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("create");
        std::fs::write(path, "x").expect("write");
    }
    let options = WalkOptions { size_cap_bytes: cap, ..WalkOptions::default() };
    let got = walk(dir.path(), &options).expect("walk");
    let names: Vec<_> = got.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, ["exact.rs", "fits.rs", "new\nl.rs"]);
    let reasons: Vec<_> = got.skipped.iter().map(|skip| (skip.path.as_str(), skip.reason.clone())).collect();
    assert_eq!(
        reasons,
        [
            ("big.rs", SkipReason::TooLarge { size: 11, cap }),
            ("dir\u{fffd}", SkipReason::NameNotUtf8),
            ("odd\u{fffd}.rs", SkipReason::NameNotUtf8),
            ("über/naïve.rs", SkipReason::TooLarge { size: 15, cap }),
        ]
    );
    use std::os::unix::fs::MetadataExt;
    let meta = dir.path().join("exact.rs").metadata().expect("stat");
    let stat = got.files[0].stat;
    assert_eq!((stat.size, stat.inode, stat.device), (meta.len(), meta.ino(), meta.dev()));
    assert_eq!(stat.mtime_ns, meta.mtime() * 1_000_000_000 + meta.mtime_nsec());
    assert_eq!(stat.ctime_ns, meta.ctime() * 1_000_000_000 + meta.ctime_nsec());
}

#[test]
fn the_root_is_checked_and_emptiness_is_said() {
    let dir = tree(&["file.rs"], &[]);
    let options = WalkOptions::default();
    let missing = walk(&dir.path().join("none"), &options);
    assert!(matches!(missing, Err(WalkError::RootMissing { .. })), "{missing:?}");
    for path in ["file.rs", "file.rs/x"] {
        let file = walk(&dir.path().join(path), &options);
        assert!(matches!(file, Err(WalkError::RootNotFolder { .. })), "{file:?}");
    }
    let dir = repository(&[], &[]);
    let inside = walk(&dir.path().join(".git/info"), &options);
    assert!(matches!(inside, Err(WalkError::RootInsideGit { .. })), "{inside:?}");
    assert!(matches!(outcome(dir.path()).warnings[..], [WalkWarning::NoFiles { .. }]));
    let dir = repository(&["a.rs"], &[(".git/HEAD", "nonsense")]);
    assert!(outcome(dir.path()).warnings.is_empty(), "`git init` repaired it");
}

#[test]
fn broken_git_metadata_is_a_warning() {
    let dir = repository(&["a.rs", "b.log"], &[(".gitignore", "*.log\n")]);
    git(dir.path(), &["add", "a.rs"]);
    std::fs::write(dir.path().join(".git/index"), "torn").expect("write");
    let got = outcome(dir.path());
    assert!(matches!(got.warnings[..], [WalkWarning::IndexUnreadable { .. }]), "{:?}", got.warnings);
    assert_eq!(got.files.len(), 2);
    std::fs::remove_dir_all(dir.path().join(".git")).expect("remove");
    std::fs::write(dir.path().join(".git"), "gitdir: /nowhere/at/all\n").expect("write");
    let got = outcome(dir.path());
    assert!(matches!(got.warnings[..], [WalkWarning::GitUnusable { .. }]), "{:?}", got.warnings);
    assert_eq!(got.files.len(), 2);
}

#[test]
fn folders_may_vanish_and_change_while_walked() {
    let dir = tree(&["stay/a.rs"], &[]);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let deadline = std::time::Instant::now() + std::time::Duration::from_millis(300);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let folder = dir.path().join(format!("come{}", round % 3));
                let _ = std::fs::create_dir_all(folder.join("x/y"));
                let _ = std::fs::write(folder.join("x/y/z.rs"), "z");
                let _ = std::fs::remove_dir_all(folder.join("x"));
                let _ = std::os::unix::fs::symlink("..", folder.join("x"));
                let _ = std::fs::remove_dir_all(&folder);
                round += 1;
            }
        });
        while std::time::Instant::now() < deadline {
            let got = walk(dir.path(), &WalkOptions::default());
            let stays = got.as_ref().is_ok_and(|got| got.files.iter().any(|file| file.path == "stay/a.rs"));
            if !stays {
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            assert!(stays, "{got:?}");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn many_threads_and_one_agree() {
    let dir = tempfile::tempdir().expect("temporary folder");
    for a in 0..40 {
        for b in 0..5 {
            write(dir.path(), &format!("d{a}/e{b}/f{}.rs", a * b), "x");
        }
        write(dir.path(), &format!("d{a}/.gitignore"), &format!("e{}\n", a % 5));
    }
    git(dir.path(), &["init", "-q"]);
    let one = walk(dir.path(), &WalkOptions { threads: 1, ..WalkOptions::default() }).expect("walk");
    let many = walk(dir.path(), &WalkOptions { threads: 7, ..WalkOptions::default() }).expect("walk");
    assert_eq!(one.files, many.files);
    assert_eq!(one.files.len(), 40 * 4 + 40);
    assert_eq!(paths(dir.path()), oracle(dir.path()));
}

#[test]
fn a_walked_file_is_opened_only_if_it_is_still_one() {
    let dir = tree(&["a/b.rs"], &[]);
    let root = Root::open(dir.path()).expect("open");
    assert!(root.open_file("a/b.rs").is_ok());
    std::fs::rename(dir.path().join("a"), dir.path().join("c")).expect("rename");
    std::os::unix::fs::symlink("c", dir.path().join("a")).expect("link");
    let refused = root.open_file("a/b.rs").expect_err("a link is on the way");
    assert_eq!(refused.skip_reason(), Some(SkipReason::Symlink));
}

/// Names that rules can hit, among them some that look like rule syntax.
fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a", "b", "ab", "x.rs", "y.rs", "build", "B", "#h", "!n", "s p", "t ", "[a]", "{a,b}", "a\\b",
    ])
}

fn pattern_part() -> impl Strategy<Value = String> {
    let parts = [
        "a",
        "b",
        "ab",
        "x.rs",
        "*.rs",
        "build",
        "*",
        "**",
        "?",
        "a*",
        "*b",
        "[ab]",
        "[!a]",
        "[^b]",
        "[a",
        "]",
        "\\a",
        "\\",
        "\\*",
        "{a,b}",
        "a**b",
        "***",
        "[[:alpha:]]",
        "[[:bogus:]]",
        "[a-c]",
        "[]-]",
        "s\\ p",
        "s p",
        "t\\ ",
        "t ",
        "#h",
        "\\#h",
        "!n",
        "\\!n",
        "\\[a\\]",
        "[\\]]",
        "a\\\\b",
        ".",
        "..",
        "",
        "$x",
        "\\$x",
        "??*",
    ];
    prop::sample::select(parts.map(str::to_owned).to_vec())
}

fn rule() -> impl Strategy<Value = String> {
    let body = prop::collection::vec(pattern_part(), 1..4).prop_map(|parts| parts.join("/"));
    let head = prop::sample::select(vec!["", "", "", "!", "!", "/", "!/", "**/", " ", "#"]);
    let tail = prop::sample::select(vec!["", "", "", "/", "/**", "/*", " ", "  ", "\\ ", "\t", "\r", "//"]);
    (head, body, tail).prop_map(|(head, body, tail)| format!("{head}{body}{tail}"))
}

fn rule_file() -> impl Strategy<Value = String> {
    let mark = prop::sample::select(vec!["", "", "", "\u{feff}"]);
    let end = prop::sample::select(vec!["\n", "\n", "\r\n"]);
    (mark, prop::collection::vec(rule(), 1..5), end, any::<bool>()).prop_map(|(mark, rules, end, ended)| {
        format!("{mark}{}{}", rules.join(end), if ended { end } else { "" })
    })
}

fn path(parts: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(name(), parts).prop_map(|parts| parts.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_trees_and_rules_agree_with_git(
        files in prop::collection::btree_set(path(1..5), 1..25),
        rules in prop::collection::vec((path(0..3), rule_file()), 1..4),
        exclude in rule_file(),
        tracked in prop::collection::vec(any::<bool>(), 25),
        fold in prop::bool::weighted(0.2),
    ) {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = dir.path();
        git(root, &["init", "-q"]);
        // Where git ignores case, names that differ in case alone cannot both be there: all are upper case, and
        // meet lower-case rules.
        let cased = |path: &str| if fold { path.to_uppercase() } else { path.to_owned() };
        let files: std::collections::BTreeSet<String> = files.iter().map(|file| cased(file)).collect();
        let put = |path: &Path, text: &str| {
            // A name can be a file here and a folder there: the first one wins.
            let made = path.parent().is_some_and(|parent| std::fs::create_dir_all(parent).is_ok());
            made && !path.exists() && std::fs::write(path, text).is_ok()
        };
        let mut add: Vec<&str> = vec!["add", "-f", "--"];
        for (file, tracked) in files.iter().zip(&tracked) {
            if put(&root.join(file), file) && *tracked {
                add.push(file);
            }
        }
        for (folder, text) in &rules {
            put(&root.join(cased(folder)).join(".gitignore"), text);
        }
        write(root, ".git/info/exclude", &exclude);
        if add.len() > 3 {
            git(root, &[&["--literal-pathspecs"], add.as_slice()].concat());
        }
        if fold {
            git(root, &["config", "core.ignoreCase", "true"]);
        }
        prop_assert_eq!(paths(root), oracle(root));
        let folders: Vec<PathBuf> = files.iter().filter_map(|file| Some(root.join(file).parent()?.to_path_buf())).collect();
        if let Some(folder) = folders.iter().find(|folder| folder.is_dir() && folder.as_path() != root) {
            prop_assert_eq!(paths(folder), oracle(folder), "from {}", folder.display());
        }
    }
}
