//! Power cuts in the middle of an index: nothing is lost, nothing is counted twice, what was made is not made again.

use std::fs;

use serde_json::Value;

use super::sandbox::{Model, Sandbox, number, text, wait_until};

/// Enough for several publishes.
const FILES: usize = 1_200;

fn tree(sandbox: &Sandbox) {
    for n in 0..FILES {
        let function = |k: u32| {
            let line = |l: u32| format!("    total += step{n}x{k}[{l}] * scale{k}\n");
            let lines: Vec<_> = (0..30).map(line).collect();
            format!("def quokka{n}x{k}(scale{k}):\n    total = {n}\n{}    return total\n\n", lines.concat())
        };
        let functions: Vec<_> = (0..3).map(function).collect();
        sandbox.write(&format!("src/{}/file{n}.py", n % 20), functions.concat());
    }
}

/// Bytes in the write-ahead logs of the shard-node: they grow with every publish.
fn logged(sandbox: &Sandbox) -> u64 {
    let Ok(entries) = fs::read_dir(sandbox.data().join("shard")) else { return 0 };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "log"))
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len())
        .sum()
}

#[test]
fn an_index_that_is_killed_again_and_again_ends_as_an_undisturbed_one() {
    let calm = Sandbox::new(Model::Fake);
    tree(&calm);
    let expected = calm.index();
    assert_eq!((number(&expected, "files"), number(&expected, "reused")), (FILES as u64, 0));

    let struck = Sandbox::new(Model::Fake);
    tree(&struck);
    let mut interrupted = 0;
    // Opening the store begins a new log and drops the old one, so each run gets further than the one before.
    for log_bytes in [1, 100_000, 200_000, 300_000] {
        let mut running = struck.start(struck.command(&["index", "--json"]));
        let mut ended = false;
        wait_until("the index makes progress", || {
            ended = running.ended().is_some();
            ended || logged(&struck) >= log_bytes
        });
        if !ended && struck.kill_daemon() {
            interrupted += 1;
            let told = running.wait();
            assert!(told.code == Some(2) && told.err.contains("run the command again"), "{told:?}");
        }
    }
    assert!(interrupted >= 2, "only {interrupted} runs were killed before their end: the tree is too small");

    let report = struck.index();
    for count in ["files", "chunks"] {
        assert_eq!(report[count], expected[count], "{count}: {report}");
    }
    assert_eq!(number(&report, "embedded") + number(&report, "reused"), number(&report, "chunks"));
    assert!(number(&report, "reused") > 0, "what was published before a kill is not made again: {report}");
    let (calm_status, struck_status) = (calm.status(), struck.status());
    for count in ["vectors", "code_bytes"] {
        assert_eq!(struck_status[count], calm_status[count], "{count}");
    }
    assert_eq!(places(&struck), places(&calm));
    for n in (0..FILES).step_by(131) {
        let hits = struck.search(&[&format!("quokka{n}x1 step{n}x1 scale1"), "-k", "1", "--no-refresh"]);
        assert_eq!(text(&hits[0], "path"), format!("src/{}/file{n}.py", n % 20));
        assert!(text(&hits[0], "snippet").contains(&format!("quokka{n}x1")));
    }
    let again = struck.index();
    assert_eq!((number(&again, "embedded"), number(&again, "files_read")), (0, 0));
}

/// Every chunk's place, in order.
fn places(sandbox: &Sandbox) -> Vec<(String, u64, u64, Value)> {
    let place = |hit: &Value| {
        (
            text(hit, "path").to_owned(),
            number(hit, "start_byte"),
            number(hit, "end_byte"),
            hit["state"].clone(),
        )
    };
    sandbox.chunks().iter().map(place).collect()
}

#[test]
fn a_data_folder_without_its_manifest_is_filled_again_without_the_model() {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("a.py", "def alpaca():\n    return 1\n");
    sandbox.write("b.py", "def bison():\n    return 2\n");
    sandbox.index();
    sandbox.stop();
    fs::remove_file(sandbox.data().join("client/manifest.redb")).expect("removed");
    let report = sandbox.index();
    assert_eq!(
        (number(&report, "chunks"), number(&report, "embedded"), number(&report, "reused")),
        (2, 0, 2)
    );
    assert_eq!(sandbox.paths(), ["a.py", "b.py"]);
}

#[test]
fn servers_that_lost_everything_are_filled_again() {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("a.py", "def alpaca():\n    return 1\n");
    sandbox.index();
    let lose = || {
        sandbox.stop();
        for folder in ["shard", "coordinator"] {
            fs::remove_dir_all(sandbox.data().join(folder)).expect("removed");
        }
    };
    lose();
    let hits = sandbox.search(&["alpaca"]);
    assert_eq!(text(&hits[0], "path"), "a.py");
    assert_eq!(text(&hits[0], "state"), "exact");

    // An index notices by itself: what follows finds a whole view without any repair of its own.
    lose();
    let report = sandbox.index();
    assert_eq!(report["embedded"], 1);
    let hits = sandbox.search(&["alpaca", "--no-refresh"]);
    assert_eq!(text(&hits[0], "path"), "a.py");
}
