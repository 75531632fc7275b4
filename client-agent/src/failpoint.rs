//! Named places where a test can end the process as a power cut would: `FAILPOINTS="sync-published=2*off->return"` ends
//! it the third time it comes by. Without the feature `failpoints` nothing of it is in the program.

/// Ends the process here, if a test says so.
pub(crate) fn at(name: &str) {
    let _ = name;
    fail::fail_point!(name, |_| std::process::abort());
}

/// Holds the process up here, if a test says so: `FAILPOINTS="sync-walked-hold=return(FILE)"` makes the file and goes on
/// once it is gone.
pub(crate) fn hold(name: &str) {
    let _ = name;
    fail::fail_point!(name, |file| {
        let file = file.unwrap_or_default();
        let made = std::fs::write(&file, "");
        while made.is_ok() && std::path::Path::new(&file).exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
}

/// Reads what the tests say from the environment. Once a process.
pub fn arm() {
    #[cfg(feature = "failpoints")]
    std::mem::forget(fail::FailScenario::setup());
}
