//! Trees that broke programs of this kind: minified giants, ignore rules in every form, links, pipes and sockets.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use super::sandbox::{Model, Sandbox, skipped, text};

/// Runs git in the tree; what it says.
fn git(sandbox: &Sandbox, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "core.autocrlf=false"])
        .args(words)
        .current_dir(sandbox.tree())
        .env("HOME", sandbox.path("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("plain names")
}

/// What git says belongs to the tree.
fn git_files(sandbox: &Sandbox) -> BTreeSet<String> {
    let listed = git(sandbox, &["ls-files", "-z", "-co", "--exclude-standard"]);
    listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

/// Indexes, and checks that what can be found and what is listed as skipped are together what git lists.
fn check_against_git(sandbox: &Sandbox, expected: &[&str]) {
    let report = sandbox.index();
    let found: BTreeSet<String> = sandbox.paths().into_iter().collect();
    let left_out: BTreeSet<String> = skipped(&report).iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(&found | &left_out, git_files(sandbox), "{report}");
    assert!(found.is_disjoint(&left_out));
    let expected: BTreeSet<String> = expected.iter().map(|path| (*path).to_owned()).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_minified_giant_is_left_out_with_a_reason() {
    let sandbox = Sandbox::new(Model::Fake);
    let statement = "var a=function(b,c){return b?c[0]:d(b,{e:1,f:[2,3]})};";
    let giant = statement.repeat((12 << 20) / statement.len());
    sandbox.write("dist/bundle.min.js", &giant);
    sandbox.write("dist/small.min.js", &giant[..400_000]);
    sandbox.write("ok.js", "export function wombat() {\n  return 'digs';\n}\n");
    let report = sandbox.index();
    let cap = format!("{} bytes, over the cap of 1048576", giant.len());
    let reasons = skipped(&report);
    assert_eq!(reasons[0], ("dist/bundle.min.js", cap.as_str()));
    assert!(
        reasons[1].0 == "dist/small.min.js" && reasons[1].1.starts_with("line 1 has 400000 bytes"),
        "{reasons:?}"
    );
    assert_eq!((reasons.len(), sandbox.paths()), (2, vec!["ok.js".to_owned()]));
    assert!(report["seconds"].as_f64().is_some_and(|seconds| seconds < 10.0), "{report}");
    let told = sandbox.run(&["index", "--verbose"]);
    assert!(told.out.contains(&format!("skipped dist/bundle.min.js: {cap}")), "{told:?}");

    // Read, since the cap admits it, and still left out.
    sandbox.configure("backend = \"fake\"\nmax_file_bytes = 16777216\n");
    let report = sandbox.index();
    assert_eq!(sandbox.paths(), ["ok.js"]);
    assert!(skipped(&report)[0].1.starts_with("line 1 has "), "{report}");
    assert!(report["seconds"].as_f64().is_some_and(|seconds| seconds < 10.0), "{report}");
}

#[test]
fn nested_and_negated_ignore_rules_are_gits() {
    let sandbox = Sandbox::new(Model::Fake);
    git(&sandbox, &["init", "-q"]);
    sandbox.write(
        ".gitignore",
        "*.log\n!keep.log\nbuild/\n!build/inside.py\n/top.py\ndocs/**/draft*\n\\#odd.py\n",
    );
    sandbox.write("src/.gitignore", "!*.log\n/local.py\n");
    sandbox.write("src/deep/.gitignore", "*\n!.gitignore\n!kept.py\n");
    sandbox.write(".git/info/exclude", "secret.py\n");
    let body = "x = 'text of a file'\n";
    for path in [
        "a.log",
        "keep.log",
        "build/inside.py",
        "top.py",
        "src/top.py",
        "docs/a/draft1.py",
        "docs/final.py",
        "#odd.py",
        "src/b.log",
        "src/local.py",
        "src/deep/lost.py",
        "src/deep/kept.py",
        "secret.py",
        "tracked.log",
        "other/build/x.py",
        "other/built.py",
    ] {
        sandbox.write(path, body);
    }
    // A tracked file belongs to the tree whatever the rules say.
    git(&sandbox, &["add", "-f", "tracked.log"]);
    check_against_git(
        &sandbox,
        &[
            ".gitignore",
            "docs/final.py",
            "keep.log",
            "other/built.py",
            "src/.gitignore",
            "src/b.log",
            "src/deep/.gitignore",
            "src/deep/kept.py",
            "src/top.py",
            "tracked.log",
        ],
    );
    // A rule that changes takes files out and brings others in.
    sandbox.write(".gitignore", "*.py\n");
    let report = sandbox.index();
    assert_eq!(skipped(&report), []);
    let found: BTreeSet<String> = sandbox.paths().into_iter().collect();
    assert_eq!(found, git_files(&sandbox));
    assert!(found.contains("a.log") && !found.contains("src/top.py"));
}

#[test]
fn a_mark_and_carriage_returns_in_a_rule_file_are_read_as_git_reads_them() {
    let sandbox = Sandbox::new(Model::Fake);
    git(&sandbox, &["init", "-q"]);
    sandbox.write(".gitignore", "\u{feff}first.py\r\nsecond.py\r\n*.tmp\r\nlast.py");
    for path in ["first.py", "second.py", "last.py", "x.tmp", "kept.py"] {
        sandbox.write(path, "x = 1\n");
    }
    check_against_git(&sandbox, &[".gitignore", "kept.py"]);
}

#[test]
fn foreign_ignore_files_do_not_count_and_ours_does() {
    let sandbox = Sandbox::new(Model::Fake);
    git(&sandbox, &["init", "-q"]);
    for foreign in [".prettierignore", ".dockerignore", ".npmignore", ".eslintignore", ".ignore", ".rgignore"]
    {
        sandbox.write(foreign, "*\n");
    }
    // A neighbour's rules are the neighbour's.
    fs::write(sandbox.path(".gitignore"), "*\n").expect("written");
    sandbox.write("src/a.py", "x = 1\n");
    let foreign = [".dockerignore", ".eslintignore", ".ignore", ".npmignore", ".prettierignore", ".rgignore"];
    check_against_git(&sandbox, &[&foreign[..], &["src/a.py"]].concat());
    sandbox.write(".sextantignore", ".*\n");
    sandbox.index();
    assert_eq!(sandbox.paths(), ["src/a.py"]);
    sandbox.write(".sextantignore", "*\n");
    let told = sandbox.run(&["index"]);
    assert!(told.err.contains("warning") && told.err.contains("no file to index"), "{told:?}");
    assert_eq!(sandbox.run(&["search", "x", "--no-refresh"]).code, Some(1));
}

#[test]
fn links_pipes_and_sockets_neither_lead_out_nor_hang() {
    let sandbox = Sandbox::new(Model::Fake);
    fs::create_dir(sandbox.path("outside")).expect("made");
    fs::write(sandbox.path("outside/o.py"), "def outside():\n    return 'OUTSIDE_CANARY'\n")
        .expect("written");
    sandbox.write("d/real.py", "def real():\n    return 'REAL_TEXT'\n");
    sandbox.write("d/e/kept.py", "y = 2\n");
    sandbox.write(".gitignore", "node_modules/\n");
    let tree = sandbox.tree();
    for (to, at) in [
        (".", "self"),
        ("../..", "d/e/up"),
        ("d", "d2"),
        ("d/real.py", "link.py"),
        ("nowhere", "dangling.py"),
        ("../outside", "out"),
        ("/etc", "etc"),
        ("../outside", "node_modules"),
        ("loopb", "loopa"),
        ("loopa", "loopb"),
        ("../outside/o.py", "o.py"),
    ] {
        symlink(to, tree.join(at)).expect("linked");
    }
    let made = Command::new("mkfifo").arg(tree.join("pipe.py")).status().expect("mkfifo starts");
    assert!(made.success());
    let _socket = UnixListener::bind(tree.join("sock.py")).expect("a socket");

    let report = sandbox.index();
    assert_eq!(sandbox.paths(), [".gitignore", "d/e/kept.py", "d/real.py"], "{report}");
    assert!(report["seconds"].as_f64().is_some_and(|seconds| seconds < 10.0), "{report}");
    let reasons = skipped(&report);
    for (path, reason) in [
        ("link.py", "symbolic link, not followed"),
        ("o.py", "symbolic link, not followed"),
        ("pipe.py", "not a regular file"),
        ("sock.py", "not a regular file"),
    ] {
        assert!(reasons.contains(&(path, reason)), "{path} in {reasons:?}");
    }
    let hits = sandbox.search(&["def outside return OUTSIDE_CANARY", "-k", "100"]);
    assert!(!hits.is_empty());
    assert!(hits.iter().all(|hit| !text(hit, "snippet").contains("OUTSIDE")), "{hits:?}");

    // A file swapped for a link out after it was indexed is not read through it.
    fs::remove_file(tree.join("d/real.py")).expect("removed");
    symlink(sandbox.path("outside/o.py"), tree.join("d/real.py")).expect("linked");
    let told = sandbox.run(&["search", "REAL_TEXT", "--no-refresh", "-k", "100"]);
    assert!(!told.out.contains("OUTSIDE"), "{told:?}");
    assert_eq!(sandbox.index()["files"], 2);
    // The tree itself may be named by a link.
    symlink(&tree, sandbox.path("alias")).expect("linked");
    let told = sandbox.run(&["search", "--jsonl", "y", "../alias"]);
    assert_eq!(
        (told.code, sandbox.status()["trees"].as_array().map(Vec::len)),
        (Some(0), Some(1)),
        "{told:?}"
    );
}
