//! The program as a shell sees it: exit codes, and what goes to which stream. Only what needs no index.

use std::process::{Command, Output, Stdio};

/// Runs `sextant` in an environment of its own.
fn sextant(words: &[&str], environment: &[(&str, &str)]) -> Output {
    let home = tempfile::tempdir().expect("temporary folder");
    command(home.path()).args(words).envs(environment.iter().copied()).output().expect("sextant starts")
}

fn command(home: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sextant"));
    command.env_clear().env("HOME", home).current_dir(home).stdin(Stdio::null());
    command
}

/// Exit code, standard output, standard error.
fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn version_and_help_go_to_standard_output() {
    for (words, part) in [
        (vec!["--version"], concat!("sextant ", env!("CARGO_PKG_VERSION"), "\n")),
        (vec!["--help"], "Examples:\n  sextant search \""),
        (vec!["search", "--help"], "--no-refresh"),
        (vec!["index", "--help"], "--json"),
        (vec!["status", "--help"], "--json"),
    ] {
        let (code, out, err) = told(&sextant(&words, &[]));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{words:?}");
        assert!(out.contains(part), "{words:?}: {out}");
    }
}

#[test]
fn mistakes_are_told_on_standard_error_with_code_2() {
    let long = "x".repeat((64 << 10) + 1);
    for (words, part) in [
        (vec!["search", ""], "sextant: the query is empty"),
        (vec!["search", " \t"], "sextant: the query is empty"),
        (vec!["search", &long], "sextant: the query has 65537 bytes"),
        (
            vec!["search", "q", "-k", "0"],
            "sextant: invalid value '0' for '--limit <N>': 0 is not in 1..=10000",
        ),
        (vec!["search", "q", "-k", "10001"], "10001 is not in 1..=10000"),
        (vec!["search", "q", "--json", "--jsonl"], "cannot be used with"),
        (vec!["search"], "sextant: the following required arguments"),
        (vec!["serach", "q"], "a similar subcommand exists: 'search'"),
        (vec!["status", "--config", "none.toml"], "sextant: cannot read the configuration"),
    ] {
        let (code, out, err) = told(&sextant(&words, &[]));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{part}");
        assert!(err.contains(part) && err.len() < 2_000, "{part}: {err:.400}");
    }
}

#[test]
fn nothing_to_do_shows_the_help_as_a_mistake() {
    let (code, out, err) = told(&sextant(&[], &[]));
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("Usage: sextant"), "{err}");
}

#[test]
fn a_wrong_environment_is_told() {
    let (code, out, err) = told(&sextant(&["status"], &[("SEXTANT_LOG", "loud")]));
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.starts_with("sextant: the value of `log` is `loud`"), "{err}");
}

#[test]
fn a_wrong_key_is_told_with_its_file() {
    let home = tempfile::tempdir().expect("temporary folder");
    let folder = home.path().join(".config/sextant");
    std::fs::create_dir_all(&folder).expect("create");
    std::fs::write(folder.join("config.toml"), "data-dir = \"x\"\n").expect("write");
    let (code, _, err) = told(&command(home.path()).arg("status").output().expect("sextant starts"));
    assert_eq!(code, Some(2));
    assert!(
        err.contains(".config/sextant/config.toml: there is no key `data-dir`; did you mean `data_dir`?"),
        "{err}"
    );
}

#[test]
fn a_reader_that_left_is_no_error() {
    let home = tempfile::tempdir().expect("temporary folder");
    let (reader, writer) = std::io::pipe().expect("pipe");
    drop(reader);
    let output = command(home.path()).arg("--help").stdout(writer).output().expect("sextant starts");
    let (code, _, err) = told(&output);
    assert_eq!((code, err.as_str()), (Some(0), ""));
}
