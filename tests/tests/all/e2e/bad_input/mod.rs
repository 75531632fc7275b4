//! Bad input, one row each (`rows`): what a user does, what is seen, what helps. The tests run every row against the
//! program; docs/troubleshooting.md is written from the same table, and a test holds it in step.

mod acts;
mod rows;

use std::fmt::Write;
use std::path::Path;

use super::sandbox::{Model, Sandbox, Told};
use rows::ROWS;

/// How a row ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Code 2, nothing on standard output, one clear message.
    Refused,
    /// Code 0; the file is listed as skipped, the rest is indexed.
    Skipped,
    /// Code 0, as if nothing were wrong; a warning where there is something to say.
    Works,
    /// Code 1: nothing was found.
    Nothing,
}

/// One bad input.
struct Row {
    /// What the user does or has.
    case: &'static str,
    outcome: Outcome,
    /// What the message holds, whole or in part, or what stands in the list of skipped files.
    says: &'static [&'static str],
    /// What helps; empty where nothing has to be done.
    repair: &'static str,
    /// Does it.
    act: fn(&Sandbox) -> Told,
}

/// A sandbox with one good file.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("good.py", "def alpaca():\n    return 1\n");
    sandbox
}

#[test]
fn every_bad_input_ends_as_the_table_says() {
    let mut wrong = Vec::new();
    for row in ROWS {
        let sandbox = sandbox();
        let told = (row.act)(&sandbox);
        let said = format!("{}{}", told.out, told.err);
        let mut fail =
            |what: &str| wrong.push(format!("{}: {what}: {said:.900} (code {:?})", row.case, told.code));
        let code = match row.outcome {
            Outcome::Refused => 2,
            Outcome::Skipped | Outcome::Works => 0,
            Outcome::Nothing => 1,
        };
        if told.code != Some(code) {
            fail("the code is another");
        }
        if row.outcome == Outcome::Refused && !(told.out.is_empty() && told.err.starts_with("sextant: ")) {
            fail("a refusal is one message on standard error");
        }
        // The parser of the command line adds how it is used; every other message is one line.
        if row.outcome == Outcome::Refused && told.err.lines().count() > 1 && !told.err.contains("--help") {
            fail("more than one line");
        }
        for part in row.says {
            if !said.contains(part) {
                fail(&format!("does not say {part:?}"));
            }
        }
        for word in ["panicked", "RUST_BACKTRACE", "Error {", "unwrap"] {
            if said.contains(word) || sandbox.data().join("logs").is_dir() && sandbox.log().contains(word) {
                fail(&format!("says {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), ROWS.len(), wrong.join("\n"));
}

/// The page that the table makes.
fn page() -> String {
    let mut out = String::from(
        "# Troubleshooting\n\nEvery row is run against the program by `tests/tests/all/e2e/bad_input`, from which this page \
         is written (`make docs`). `sextant doctor` looks for most causes by itself and names the daemon's log.\n",
    );
    for (outcome, heading) in [
        (Outcome::Refused, "Refused: exit code 2, one message, nothing changed"),
        (Outcome::Skipped, "Listed as skipped: the rest is indexed, exit code 0"),
        (Outcome::Works, "Works: exit code 0"),
        (Outcome::Nothing, "Finds nothing: exit code 1"),
    ] {
        let rows: Vec<&Row> = ROWS.iter().filter(|row| row.outcome == outcome).collect();
        if rows.is_empty() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ =
            write!(out, "\n## {heading}\n\n| what is the matter | it says | what to do |\n|---|---|---|\n");
        for row in rows {
            let says: Vec<String> = row.says.iter().map(|part| format!("`{part}`")).collect();
            let repair = if row.repair.is_empty() { "nothing" } else { row.repair };
            let _ = writeln!(out, "| {} | {} | {repair} |", row.case, says.join(" … "));
        }
    }
    out
}

#[test]
fn the_page_is_what_the_table_makes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/troubleshooting.md");
    let page = page();
    if std::env::var_os("SEXTANT_WRITE_DOCS").is_some() {
        std::fs::write(&file, &page).expect("written");
    }
    let held = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(held == page, "docs/troubleshooting.md is not what the table makes; `make docs` writes it");
}
