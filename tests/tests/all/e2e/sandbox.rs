//! A user of their own: home, configuration, data folder and a tree, all in a temporary folder, and runs of the program
//! in it. Must not know what a test is about.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use tempfile::TempDir;

use super::binary;

/// No command of a test takes longer, also on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
/// Pause between two looks at what a test waits for.
const POLL: Duration = Duration::from_millis(5);

/// What makes the vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Model {
    /// The one that users have.
    Real,
    /// Hashes of words: a text is near the texts that it shares words with.
    Fake,
}

/// Seconds after which a daemon ends that no test has stopped: the second net.
const EXIT_AFTER_S: u32 = 300;

/// A user of their own. All goes when it is dropped, the daemon first.
pub(super) struct Sandbox {
    _folder: TempDir,
    root: PathBuf,
    runs: AtomicU32,
}

/// How a command ended and what it said.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Sandbox {
    pub(super) fn new(model: Model) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it is there");
        let sandbox = Self { _folder: folder, root, runs: AtomicU32::new(0) };
        for name in ["home", "tree", "said", "run"] {
            fs::create_dir(sandbox.path(name)).expect("folders are made");
        }
        sandbox.configure(match model {
            Model::Fake => "backend = \"fake\"\n",
            Model::Real => {
                let found = assets().join("models/all-MiniLM-L6-v2/model.onnx").is_file();
                assert!(found, "no model in {}: run deploy/setup.sh", assets().display());
                ""
            }
        });
        sandbox
    }

    /// A path beside the tree and the data folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The folder that is indexed.
    pub(super) fn tree(&self) -> PathBuf {
        self.path("tree")
    }

    /// The data folder.
    pub(super) fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Replaces the configuration file.
    pub(super) fn configure(&self, text: &str) {
        let text = format!("{text}exit_after_s = {EXIT_AFTER_S}\n");
        fs::write(self.path("config.toml"), text).expect("the configuration is written");
    }

    /// The daemon's process, where one has written itself down.
    pub(super) fn daemon(&self) -> Option<u32> {
        let record: Value = serde_json::from_slice(&fs::read(self.data().join("daemon.json")).ok()?).ok()?;
        record["pid"].as_u64().map(|pid| pid as u32)
    }

    /// Ends the daemon, so that its files are nobody's.
    pub(super) fn stop(&self) {
        let told = self.run(&["daemon", "stop"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        // One that was killed leaves its record; the next daemon writes its own over it.
        assert!(self.daemon().is_none_or(|pid| !is_alive(pid)), "it runs on");
    }

    /// Ends the daemon as a power cut would. False: none ran.
    pub(super) fn kill_daemon(&self) -> bool {
        self.daemon().is_some_and(|pid| {
            let killed = signal("-KILL", pid);
            wait_until("a killed daemon is gone", || !is_alive(pid));
            killed
        })
    }

    /// What the daemon has logged, older files first.
    pub(super) fn log(&self) -> String {
        let mut files = files_below(&self.data().join("logs"));
        files.reverse();
        files.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect()
    }

    /// Writes a file of the tree.
    pub(super) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.tree().join(path);
        fs::create_dir_all(path.parent().expect("a folder above")).expect("folders are made");
        fs::write(path, bytes).expect("a file is written");
    }

    /// Bytes of a file of the tree.
    pub(super) fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.tree().join(path)).expect("the file can be read")
    }

    /// The program in the tree's folder, nothing of the surroundings known to it.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(binary::sextant());
        command
            .args(words)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SEXTANT_CONFIG", self.path("config.toml"))
            .env("SEXTANT_DATA_DIR", self.data())
            .env("SEXTANT_ASSETS", assets())
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .current_dir(self.tree())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program in the tree's folder to its end.
    pub(super) fn run(&self, words: &[&str]) -> Told {
        self.finish(self.command(words))
    }

    /// Runs a command to its end.
    pub(super) fn finish(&self, command: Command) -> Told {
        self.start(command).wait()
    }

    /// Starts a command. What it says goes into files, so that no pipe can fill.
    pub(super) fn start(&self, mut command: Command) -> Running {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let said = |stream: &str| self.path(&format!("said/{run}.{stream}"));
        let (out, err) = (said("out"), said("err"));
        let create = |path: &Path| File::create(path).expect("a file for what it says");
        let child = command.stdout(create(&out)).stderr(create(&err)).spawn().expect("the program starts");
        Running { child, out, err }
    }

    /// Waits until no file was changed just now: one that is indexed within the file system's clock's grain of its change
    /// is read again by the next index, and would be counted then.
    pub(super) fn settle(&self) {
        let grain = Duration::from_millis(30);
        let fresh = |path: &PathBuf| {
            let changed = path.symlink_metadata().map(|found| (found.ctime(), found.ctime_nsec()));
            let changed = changed.map_or(Duration::ZERO, |(s, ns)| Duration::new(s as u64, ns as u32));
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
            now.checked_sub(changed).is_some_and(|age| age < grain)
        };
        let mut last: Vec<PathBuf> = paths_below(&self.tree()).into_iter().filter(fresh).collect();
        wait_until("the tree is quiet", || {
            last.retain(fresh);
            last.is_empty()
        });
    }

    /// Indexes the tree once it is quiet; the report of `--json`.
    pub(super) fn index(&self) -> Value {
        self.settle();
        let told = self.run(&["index", "--json"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        serde_json::from_str(&told.out).expect("a report in JSON")
    }

    /// Searches the tree; the hits of `--jsonl`. Exit codes 0 and 1 are as the hits are.
    pub(super) fn search(&self, words: &[&str]) -> Vec<Value> {
        let told = self.run(&[&["search", "--jsonl"], words].concat());
        let hits = told.hits();
        assert_eq!(told.code, Some(i32::from(hits.is_empty())), "{told:?}");
        hits
    }

    /// The status of `--json`.
    pub(super) fn status(&self) -> Value {
        let told = self.run(&["status", "--json"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        serde_json::from_str(&told.out).expect("a status in JSON")
    }

    /// Every chunk that can be found, in the order of path and range. Asks no look for changes.
    pub(super) fn chunks(&self) -> Vec<Value> {
        let mut hits = self.search(&["anything at all", "-k", "10000", "--no-refresh"]);
        hits.sort_by_key(|hit| (text(hit, "path").to_owned(), number(hit, "start_byte")));
        hits
    }

    /// Every path that can be found, once, in order.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<_> = self.chunks().iter().map(|hit| text(hit, "path").to_owned()).collect();
        paths.dedup();
        paths
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let Some(pid) = self.daemon() else { return };
        signal("-TERM", pid);
        let deadline = Instant::now() + Duration::from_secs(20);
        while is_alive(pid) && Instant::now() < deadline {
            thread::sleep(POLL);
        }
        if is_alive(pid) {
            signal("-KILL", pid);
        }
    }
}

/// Sends a signal to a process that a test started. False: there is none.
pub(super) fn signal(name: &str, pid: u32) -> bool {
    let sent = Command::new("kill").args([name, &pid.to_string()]).stderr(Stdio::null()).status();
    sent.is_ok_and(|status| status.success())
}

/// Whether a process runs; one that has ended and waits for its parent does not.
pub(super) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

/// A command under way. One that is dropped is killed.
pub(super) struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Running {
    /// Waits for its end.
    pub(super) fn wait(mut self) -> Told {
        let mut ended = None;
        wait_until("a command ends", || {
            ended = self.ended();
            ended.is_some()
        });
        let said = |path: &Path| String::from_utf8_lossy(&fs::read(path).expect("what it said")).into_owned();
        Told { code: ended.and_then(|status| status.code()), out: said(&self.out), err: said(&self.err) }
    }

    /// How it ended, where it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be asked")
    }

    /// Ends it as a power cut would. False: it had ended before.
    pub(super) fn kill(mut self) -> bool {
        use std::os::unix::process::ExitStatusExt;
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a child ends").signal() == Some(9)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended where this fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Told {
    /// The lines of `--jsonl`.
    pub(super) fn hits(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.out.lines().map(parse).collect()
    }
}

/// Looks until `done`, and fails when it takes too long.
pub(super) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        thread::sleep(POLL);
    }
}

/// A field that is text.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("no text `{field}` in {value}"))
}

/// A field that is a whole number.
pub(super) fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("no number `{field}` in {value}"))
}

/// Line, from 1, of the byte at `at`.
pub(super) fn line_at(bytes: &[u8], at: usize) -> u64 {
    bytes[..at].split(|byte| *byte == b'\n').count() as u64
}

/// Reasons of the skipped files of an index's report, by path.
pub(super) fn skipped(report: &Value) -> Vec<(&str, &str)> {
    let list = report["skipped"].as_array().expect("a list of skipped files");
    list.iter().map(|file| (text(file, "path"), text(file, "reason"))).collect()
}

/// Everything below a folder that is no folder; no link is followed.
fn paths_below(folder: &Path) -> Vec<PathBuf> {
    let (mut paths, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder { &mut folders } else { &mut paths }.push(entry.path());
        }
    }
    paths
}

/// Every file below a folder with its bytes, in the order of their paths.
pub(super) fn files_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder can be listed") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).expect("a file can be read");
                files.push((path, bytes));
            }
        }
    }
    files.sort();
    files
}

/// Where set-up has put model and library.
pub(super) fn assets() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set("SEXTANT_ASSETS")
        .or_else(|| Some(cache()?.join("sextant")))
        .expect("HOME or SEXTANT_ASSETS is set: run deploy/setup.sh")
}
