//! What is printed: paths as seen from where the user stands, and quiet where nobody reads on.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use super::sandbox::{Model, Sandbox, text};

fn two_folders() -> Sandbox {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("src/deep/first.py", "def first():\n    return 'walrus'\n");
    sandbox.write("other/second.py", "def second():\n    return 'narwhal'\n");
    sandbox
}

#[test]
fn paths_lead_from_the_current_folder_to_the_file() {
    let sandbox = two_folders();
    sandbox.index();
    for (folder, path, expected) in [
        (".", ".", "src/deep/first.py:1-2  "),
        ("src/deep", "../..", "first.py:1-2  "),
        ("src/deep", ".", "first.py:1-2  "),
        ("src", "deep", "deep/first.py:1-2  "),
        ("other", "../src", "../src/deep/first.py:1-2  "),
        ("..", "tree", "tree/src/deep/first.py:1-2  "),
    ] {
        let mut command = sandbox.command(&["search", "walrus first", path]);
        command.current_dir(sandbox.tree().join(folder));
        let told = sandbox.finish(command);
        assert!(told.code == Some(0) && told.out.starts_with(expected), "{path} from {folder}: {told:?}");
        assert!(told.out.contains("   1 │ def first():\n   2 │     return 'walrus'\n"), "{told:?}");
        assert!(!told.out.contains('\x1b'), "no colours but on a terminal: {told:?}");
    }
    // A folder below the tree is searched alone, through the tree's index.
    let mut command = sandbox.command(&["search", "--jsonl", "walrus", "."]);
    command.current_dir(sandbox.tree().join("other"));
    let hits = sandbox.finish(command).hits();
    assert_eq!(hits.iter().map(|hit| text(hit, "path")).collect::<Vec<_>>(), ["other/second.py"]);
    assert_eq!(sandbox.status()["trees"].as_array().map(Vec::len), Some(1), "one tree, not one a folder");
}

#[test]
fn a_reader_that_leaves_hears_no_complaint() {
    let sandbox = two_folders();
    for n in 0..300 {
        let line = format!("value = 'a long enough line of text, number {n}'\n");
        sandbox.write(&format!("many/file{n}.py"), line.repeat(20));
    }
    sandbox.index();
    for form in [&["--jsonl"][..], &["--json"], &[]] {
        // After one line, and at once.
        for lines in [1, 0] {
            let words = [&["search", "long line", "-k", "10000"], form].concat();
            let mut command = sandbox.command(&words);
            let mut child =
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
            let mut reader = BufReader::with_capacity(64, child.stdout.take().expect("a pipe"));
            for _ in 0..lines {
                let mut line = Vec::new();
                reader.read_until(b'\n', &mut line).expect("a line");
                assert!(!line.is_empty());
            }
            drop(reader);
            let mut err = String::new();
            child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
            let status = child.wait().expect("it ends");
            assert_eq!((status.code(), err.as_str()), (Some(0), ""), "{words:?}");
        }
    }
}

#[test]
fn commands_at_the_same_time_wait_for_each_other() {
    let sandbox = two_folders();
    let running: Vec<_> =
        (0..3).map(|_| sandbox.start(sandbox.command(&["search", "--jsonl", "walrus"]))).collect();
    for told in running.into_iter().map(super::sandbox::Running::wait) {
        assert_eq!(told.code, Some(0), "{told:?}");
        assert_eq!(text(&told.hits()[0], "path"), "src/deep/first.py");
    }
}
