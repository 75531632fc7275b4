//! Power cuts anywhere in an index, again and again: the next command goes on, nothing is made twice, nothing is lost,
//! and the end is that of an undisturbed run.
//!
//! Half of the cuts are at named places in the code, half at random times. `SEXTANT_KILLS` says how many; `make soak`
//! asks for 100.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::sandbox::{Model, Running, Sandbox, number, text, wait_until};

/// Places of `failpoint::at` in the order of an index.
const PLACES: [&str; 7] = [
    "sync-begun",
    "sync-walked",
    "sync-embedded",
    "sync-written-down",
    "sync-published",
    "sync-acknowledged",
    "sync-finishing",
];
/// Kills unless said otherwise.
const KILLS: usize = 20;
/// Files of the tree: several publishes, and short enough for a hundred runs.
const FILES: usize = 400;
/// A random cut comes within this time of the start, milliseconds: about what an undisturbed run takes.
const SPAN_MS: u64 = 600;

fn write(sandbox: &Sandbox, n: usize, word: &str) {
    let function = |k: usize| {
        let lines =
            (0..25).map(|l| format!("    total += {word}{n}x{k}[{l}]")).collect::<Vec<_>>().join("\n") + "\n";
        format!("def {word}{n}x{k}(scale):\n{lines}    return total\n\n")
    };
    sandbox.write(&format!("src/{}/file{n}.py", n % 10), (0..3).map(function).collect::<String>());
}

/// Everything that can be found, with its text: what two equal indexes agree on.
fn contents(sandbox: &Sandbox) -> Vec<(String, u64, u64, String)> {
    let row = |hit: &Value| {
        let place = (number(hit, "start_byte"), number(hit, "end_byte"));
        (text(hit, "path").to_owned(), place.0, place.1, text(hit, "snippet").to_owned())
    };
    sandbox.chunks().iter().map(row).collect()
}

/// The next number of a fixed sequence (xorshift).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn cuts_anywhere_change_nothing_in_the_end() {
    let kills = std::env::var("SEXTANT_KILLS").ok().map_or(KILLS, |text| text.parse().expect("a number"));
    let struck = Sandbox::new(Model::Fake);
    let mut random = 0x5eed_cafe_f00d_u64;
    let (mut done, mut round, mut by_place, mut by_chance) = (0, 0, 0, 0);
    while done < kills {
        // Every round is a new state of the tree: some files change, and one comes and goes.
        let calm = Sandbox::new(Model::Fake);
        for n in 0..FILES {
            let word = if n % 7 == round % 7 { format!("fresh{round}x") } else { "quokka".to_owned() };
            write(&calm, n, &word);
            write(&struck, n, &word);
        }
        if round % 2 == 0 {
            write(&calm, FILES, "visitor");
            write(&struck, FILES, "visitor");
        } else {
            std::fs::remove_file(struck.tree().join(format!("src/{}/file{FILES}.py", FILES % 10)))
                .expect("removed");
        }
        calm.index();
        for cut in 0..PLACES.len() * 2 {
            if done == kills {
                break;
            }
            let killed = if cut % 2 == 0 {
                let place = PLACES[cut / 2];
                let struck_here = cut_at(&struck, place, next(&mut random) % 2);
                by_place += usize::from(struck_here);
                struck_here
            } else {
                let struck_here = cut_after(&struck, Duration::from_millis(next(&mut random) % SPAN_MS));
                by_chance += usize::from(struck_here);
                struck_here
            };
            done += usize::from(killed);
            if !killed {
                // The index is whole already: change something, so that there is something to cut.
                for n in (0..FILES).filter(|n| n % 3 == cut % 3) {
                    write(&calm, n, &format!("again{cut}x{round}x"));
                    write(&struck, n, &format!("again{cut}x{round}x"));
                }
                calm.index();
            }
        }
        let report = struck.index();
        assert_eq!(number(&report, "files") as usize, FILES + usize::from(round % 2 == 0));
        let again = struck.index();
        assert_eq!((number(&again, "embedded"), number(&again, "files_read")), (0, 0), "{again}");
        assert!(contents(&struck) == contents(&calm), "round {round}: not what an undisturbed run ends with");
        assert_eq!(counts(&struck), counts(&calm), "round {round}");
        round += 1;
    }
    println!("{done} cuts, {by_place} at named places, {by_chance} at random, in {round} rounds");
    assert!(by_place > 0 && by_chance > 0);
}

/// Cuts at a place, the `after`th time it is passed. False: the index ended before it.
fn cut_at(sandbox: &Sandbox, place: &str, after: u64) -> bool {
    sandbox.stop();
    let mut command = sandbox.command(&["index"]);
    let skip = if after == 0 { String::new() } else { format!("{after}*off->") };
    command.env("FAILPOINTS", format!("{place}={skip}return"));
    let told = sandbox.finish(command);
    if told.code == Some(0) {
        // The daemon with the armed place must not serve the next command.
        sandbox.stop();
        return false;
    }
    assert!(told.code == Some(2) && told.err.contains("run the command again"), "{place}: {told:?}");
    true
}

/// Cuts some time after the start. False: the index ended before it.
fn cut_after(sandbox: &Sandbox, time: Duration) -> bool {
    let mut running: Running = sandbox.start(sandbox.command(&["index"]));
    wait_until("the daemon is up", || sandbox.daemon().is_some());
    // Not a wait for something: the time itself is what is random here.
    thread::park_timeout(time);
    if running.ended().is_some() {
        return false;
    }
    sandbox.kill_daemon() && running.wait().code == Some(2)
}

/// Files, chunks, and files that changed since.
fn counts(sandbox: &Sandbox) -> Vec<u64> {
    let status = sandbox.status();
    let trees = status["trees"].as_array().expect("trees");
    trees
        .iter()
        .flat_map(|tree| [number(tree, "files"), number(tree, "chunks"), number(tree, "changed")])
        .collect()
}
