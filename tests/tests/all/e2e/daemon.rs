//! The daemon as its users notice it, or rather do not: found, shared, stopped, replaced, and gone when idle.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use serde_json::Value;

use super::sandbox::{Model, Running, Sandbox, is_alive, number, signal, text, wait_until};

fn one_file() -> Sandbox {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("a.py", "def alpaca():\n    return 1\n");
    sandbox
}

/// A tree that takes a while: enough for several publishes.
fn large(sandbox: &Sandbox, folder: &str, files: usize) {
    for n in 0..files {
        let line = |l: usize| format!("    total += step{n}[{l}] * scale\n");
        let lines: String = (0..60).map(line).collect();
        sandbox.write(
            &format!("{folder}/file{n}.py"),
            format!("def quokka{n}(scale):\n{lines}    return total\n"),
        );
    }
}

fn state(sandbox: &Sandbox) -> Value {
    let told = sandbox.run(&["daemon", "status", "--json"]);
    serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{error}: {told:?}"))
}

#[test]
fn the_first_command_starts_it_and_the_next_ones_find_it() {
    let sandbox = one_file();
    let told = sandbox.run(&["daemon", "status"]);
    assert_eq!((told.code, told.out.as_str()), (Some(1), "no daemon runs; the next command starts one\n"));
    sandbox.index();
    let pid = sandbox.daemon().expect("it has written itself down");
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1);
    let state = state(&sandbox);
    assert_eq!(number(&state, "pid"), u64::from(pid));
    assert_eq!(PathBuf::from(text(&state, "data_dir")), sandbox.data());
    assert!(PathBuf::from(text(&state, "log")).is_file(), "{state}");
    let told = sandbox.run(&["daemon", "start"]);
    assert_eq!((told.code, told.out), (Some(0), format!("the daemon runs, process {pid}\n")));
    let told = sandbox.run(&["daemon", "stop"]);
    assert_eq!((told.code, told.out), (Some(0), format!("the daemon has ended, process {pid}\n")));
    assert!(sandbox.daemon().is_none() && !is_alive(pid));
    assert!(!PathBuf::from(text(&state, "socket")).exists());
    let told = sandbox.run(&["daemon", "stop"]);
    assert_eq!((told.code, told.out.as_str()), (Some(0), "no daemon runs\n"));
}

#[test]
fn many_that_start_it_at_once_share_one() {
    let sandbox = one_file();
    let running: Vec<_> = (0..6).map(|_| sandbox.start(sandbox.command(&["daemon", "start"]))).collect();
    let said: Vec<_> = running.into_iter().map(Running::wait).collect();
    let pid = sandbox.daemon().expect("it runs");
    for told in said {
        assert_eq!(
            (told.code, told.out.clone()),
            (Some(0), format!("the daemon runs, process {pid}\n")),
            "{told:?}"
        );
    }
}

#[test]
fn what_a_killed_one_left_behind_is_in_nobodys_way() {
    let sandbox = one_file();
    sandbox.index();
    let socket = PathBuf::from(text(&state(&sandbox), "socket"));
    let old = sandbox.daemon().expect("it runs");
    assert!(sandbox.kill_daemon() && socket.exists() && sandbox.daemon() == Some(old));
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1);
    assert_ne!(sandbox.daemon(), Some(old));
    // A socket of somebody who accepts and says nothing sensible is no daemon either.
    sandbox.stop();
    fs::write(sandbox.data().join("daemon.json"), "{\"socket\":\"").expect("written");
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1);
    sandbox.stop();
    let deaf = UnixListener::bind(&socket).expect("bound");
    drop(deaf);
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1);
}

#[test]
fn an_index_of_one_tree_holds_up_no_search_of_another() {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("small/a.py", "def alpaca():\n    return 1\n");
    large(&sandbox, "large", 600);
    let small = sandbox.tree().join("small");
    let told = sandbox.run(&["index", "small"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let mut index = sandbox.start(sandbox.command(&["index", "--json", "large"]));
    wait_until("the index is under way", || number(&state(&sandbox), "requests") > 0);
    let mut meanwhile = 0;
    while index.ended().is_none() {
        let mut command = sandbox.command(&["search", "--jsonl", "alpaca"]);
        command.current_dir(&small);
        let told = sandbox.finish(command);
        assert_eq!((told.code, told.hits().len()), (Some(0), 1), "{told:?}");
        meanwhile += u32::from(index.ended().is_none());
    }
    assert!(meanwhile >= 2, "only {meanwhile} searches were answered while the index ran");
    assert_eq!(index.wait().code, Some(0));
}

#[test]
fn two_indexes_of_a_tree_and_a_search_of_it_embed_everything_once() {
    let sandbox = Sandbox::new(Model::Fake);
    large(&sandbox, "src", 300);
    let start = || sandbox.start(sandbox.command(&["index", "--json"]));
    let both: Vec<_> = [start(), start()].into_iter().map(Running::wait).collect();
    let reports: Vec<Value> = both
        .iter()
        .map(|told| serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{told:?}")))
        .collect();
    assert_eq!(reports[0]["chunks"], reports[1]["chunks"]);
    let embedded: u64 = reports.iter().map(|report| number(report, "embedded")).sum();
    assert_eq!(embedded, number(&reports[0], "chunks"), "{reports:?}");
}

#[test]
fn an_index_that_nobody_waits_for_stops_and_goes_on_with_the_next_command() {
    let sandbox = Sandbox::new(Model::Fake);
    large(&sandbox, "src", 1_000);
    sandbox.run(&["daemon", "start"]);
    let index = sandbox.start(sandbox.command(&["index"]));
    wait_until("the index is under way", || number(&state(&sandbox), "requests") > 0);
    assert!(index.kill(), "it was under way");
    wait_until("the daemon notices", || number(&state(&sandbox), "requests") == 0);
    let report = sandbox.index();
    assert_eq!(number(&report, "files"), 1_000);
    assert_eq!(number(&report, "embedded") + number(&report, "reused"), number(&report, "chunks"));
}

#[test]
fn stop_lets_what_is_under_way_finish() {
    let sandbox = Sandbox::new(Model::Fake);
    large(&sandbox, "src", 500);
    sandbox.run(&["daemon", "start"]);
    let index = sandbox.start(sandbox.command(&["index", "--json"]));
    wait_until("the index is under way", || number(&state(&sandbox), "requests") > 0);
    let stop = sandbox.start(sandbox.command(&["daemon", "stop"]));
    // A command that comes now gets a daemon of its own as soon as the old one is through.
    let next = sandbox.start(sandbox.command(&["index", "--json"]));
    let told = index.wait();
    assert_eq!(told.code, Some(0), "{told:?}");
    assert_eq!(stop.wait().code, Some(0));
    let told = next.wait();
    let report: Value = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{told:?}"));
    assert_eq!((number(&report, "files"), number(&report, "embedded")), (500, 0), "{told:?}");
}

#[test]
fn a_newer_build_and_other_settings_take_over_and_an_older_build_does_not() {
    let sandbox = one_file();
    sandbox.index();
    let first = sandbox.daemon().expect("it runs");
    sandbox.configure("backend = \"fake\"\nembed_sessions = 3\n");
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1);
    let second = sandbox.daemon().expect("it runs");
    assert!(first != second && !is_alive(first), "other settings take over");
    // The same program built later, and one built earlier.
    let copy = sandbox.path("newer-sextant");
    fs::copy(super::binary::sextant(), &copy).expect("copied");
    let run_copy = || {
        let plain = sandbox.command(&["search", "--jsonl", "alpaca"]);
        let mut command = std::process::Command::new(&copy);
        command.args(plain.get_args()).env_clear().current_dir(sandbox.tree());
        for (name, value) in plain.get_envs() {
            command.env(name, value.expect("set"));
        }
        sandbox.finish(command)
    };
    let told = run_copy();
    assert_eq!((told.code, told.hits().len()), (Some(0), 1), "{told:?}");
    let third = sandbox.daemon().expect("it runs");
    assert!(third != second && !is_alive(second), "a newer build takes over");
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1);
    assert_eq!(sandbox.daemon(), Some(third), "the older build uses the newer one");
    // By `touch`: a program that runs cannot be opened for writing.
    let dated = std::process::Command::new("touch").args(["-d", "@0"]).arg(&copy).status();
    assert!(dated.is_ok_and(|status| status.success()), "dated back");
    assert_eq!(run_copy().code, Some(0));
    assert_eq!(sandbox.daemon(), Some(third), "and is not thrown out by it");
}

#[test]
fn it_rests_and_goes_when_nobody_asks() {
    let sandbox = one_file();
    fs::write(sandbox.path("config.toml"), "backend = \"fake\"\nrest_after_s = 1\nexit_after_s = 4\n")
        .expect("written");
    sandbox.index();
    let pid = sandbox.daemon().expect("it runs");
    wait_until("stores and model are closed", || state(&sandbox)["open"] == false);
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1, "and opened again on demand");
    assert_eq!(sandbox.daemon(), Some(pid));
    wait_until("it has gone", || sandbox.daemon().is_none() && !is_alive(pid));
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1);
}

#[test]
fn a_closed_terminal_does_not_end_it_and_a_supervisor_does() {
    let sandbox = one_file();
    sandbox.index();
    let pid = sandbox.daemon().expect("it runs");
    assert!(signal("-HUP", pid));
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1);
    assert_eq!(sandbox.daemon(), Some(pid));
    assert!(signal("-TERM", pid));
    wait_until("it has gone", || !is_alive(pid));
    assert_eq!(sandbox.daemon(), None);
    // In the foreground, as a supervisor runs it.
    let mut foreground = sandbox.start(sandbox.command(&["daemon", "run"]));
    wait_until("it is up", || sandbox.daemon().is_some());
    let pid = sandbox.daemon().expect("it runs");
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1);
    assert!(foreground.ended().is_none() && sandbox.daemon() == Some(pid));
    assert!(signal("-INT", pid));
    assert_eq!(foreground.wait().code, Some(0));
}
