//! One function a subject. Each looks and changes nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Check;
use crate::config::{Backend, Config};
use crate::daemon::program::{Program, settings};
use crate::daemon::{address, find};
use crate::data_dir;

/// Free bytes below which an index soon fails, and below which it may.
const DISK_BAD_BYTES: u64 = 64 << 20;
const DISK_DOUBTFUL_BYTES: u64 = 1 << 30;
/// Folders that the system lets one user watch, at least; a large checkout has this many.
const WATCHES: u64 = 65_536;
/// How far the clock may stand behind the newest file of the data folder.
const CLOCK_SLACK: Duration = Duration::from_hours(1);

/// Everything that does not ask a daemon. Blocks: it loads the model.
pub(super) fn of_machine(config: &Config) -> Vec<Check> {
    let mut checks = vec![version()];
    checks.extend(model(config));
    checks.push(data_folder(config));
    checks.push(disk(config));
    checks.extend(private(config));
    checks.push(socket(config));
    checks.push(watches());
    checks.push(clock(config));
    checks
}

fn version() -> Check {
    let this = Program::this();
    Check::good(
        "version",
        format!("sextant {}, {} bytes, built {} ms after 1970", this.version, this.bytes, this.built_ms),
    )
}

/// The library, then the model by it: a model is known to work only once it has worked.
fn model(config: &Config) -> Vec<Check> {
    const REPAIR: &str = "run deploy/setup.sh, or name it in the configuration";
    if config.backend == Backend::Fake {
        return vec![Check::good("model", "none: the backend is `fake`, for tests alone")];
    }
    let library = if config.onnxruntime.is_file() {
        Check::good("library", config.onnxruntime.display().to_string())
    } else {
        Check::bad("library", format!("{}: there is no such file", config.onnxruntime.display()), REPAIR)
    };
    let missing = ["model.toml", "model.onnx", "tokenizer.json"]
        .into_iter()
        .map(|name| config.model.join(name))
        .find(|file| !file.is_file());
    let model = match missing {
        Some(file) => Check::bad("model", format!("{}: there is no such file", file.display()), REPAIR),
        None if library.repair.is_some() => {
            Check::doubtful("model", "cannot be tried without the library", "repair the library first")
        }
        None => match crate::embedded::try_model(config) {
            Ok(name) => Check::good("model", format!("{name} in {}", config.model.display())),
            Err(error) => {
                Check::bad("model", error.to_string(), "run deploy/setup.sh, which makes both anew")
            }
        },
    };
    vec![library, model]
}

fn data_folder(config: &Config) -> Check {
    let dir = &config.data_dir;
    match fs::metadata(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let parent = existing(dir);
            if writable(&parent) {
                return Check::good("data", format!("{}: not there yet", dir.display()));
            }
            let found = format!("{} cannot be made: {} may not be written", dir.display(), parent.display());
            Check::bad("data", found, "make it writable, or set SEXTANT_DATA_DIR")
        }
        Err(error) => Check::bad("data", format!("{}: {error}", dir.display()), "set SEXTANT_DATA_DIR"),
        Ok(found) if !found.is_dir() => Check::bad(
            "data",
            format!("{} is no folder", dir.display()),
            "move it away, or set SEXTANT_DATA_DIR",
        ),
        Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => Check::bad(
            "data",
            format!("{} belongs to user {}", dir.display(), found.uid()),
            "run as that user, or set SEXTANT_DATA_DIR",
        ),
        Ok(_) if !writable(dir) => Check::bad(
            "data",
            format!("{} may not be written", dir.display()),
            format!("chmod u+rwx {}, or remount it, or set SEXTANT_DATA_DIR", dir.display()),
        ),
        Ok(_) => Check::good("data", dir.display().to_string()),
    }
}

/// The nearest folder above that is there.
fn existing(path: &Path) -> PathBuf {
    path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/")).to_owned()
}

fn writable(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

fn disk(config: &Config) -> Check {
    let place = existing(&config.data_dir);
    let room = match rustix::fs::statvfs(&place) {
        Ok(room) => room,
        Err(error) => {
            return Check::doubtful("disk", format!("{}: {error}", place.display()), "set SEXTANT_DATA_DIR");
        }
    };
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    let found = format!("{} free at {}", indicatif::BinaryBytes(free), place.display());
    let repair = "free some space, or set SEXTANT_DATA_DIR to a folder on another disk";
    match free {
        ..DISK_BAD_BYTES => Check::bad("disk", found, repair),
        DISK_BAD_BYTES..DISK_DOUBTFUL_BYTES => Check::doubtful("disk", found, repair),
        _ => Check::good("disk", found),
    }
}

/// Secrets and folders that nobody else may read.
fn private(config: &Config) -> Vec<Check> {
    let mut wrong = Vec::new();
    for name in ["client", "org", "shard", "coordinator", "logs", "client/org.key", "org/ca.key"] {
        let path = config.data_dir.join(name);
        if let Ok(found) = fs::metadata(&path)
            && found.mode() & 0o077 != 0
        {
            let mode = if found.is_dir() { "700" } else { "600" };
            wrong.push(Check::bad(
                "permissions",
                format!("{} can be read by others", path.display()),
                format!("chmod {mode} {}", path.display()),
            ));
        }
    }
    if wrong.is_empty() {
        wrong.push(Check::good("permissions", "keys and stores are their owner's alone"));
    }
    wrong
}

fn socket(config: &Config) -> Check {
    match address::planned(&config.data_dir) {
        Ok(path) => Check::good("socket", path.display().to_string()),
        Err(error) => Check::bad("socket", error.to_string(), "remove that folder, or set XDG_RUNTIME_DIR"),
    }
}

fn watches() -> Check {
    let file = "/proc/sys/fs/inotify/max_user_watches";
    let limit = fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<u64>().ok());
    match limit {
        Some(limit) if limit >= WATCHES => Check::good("watches", format!("{limit} folders may be watched")),
        Some(limit) => Check::doubtful(
            "watches",
            format!("only {limit} folders may be watched"),
            format!("sysctl fs.inotify.max_user_watches={}", WATCHES * 8),
        ),
        None => Check::good("watches", "this system has no such limit"),
    }
}

fn clock(config: &Config) -> Check {
    let now = SystemTime::now();
    let newest = ["client/manifest.redb", "org/ca.crt", "logs/daemon.log", data_dir::LOCK]
        .into_iter()
        .filter_map(|name| fs::metadata(config.data_dir.join(name)).ok()?.modified().ok())
        .max();
    match newest.and_then(|newest| newest.duration_since(now).ok()) {
        Some(ahead) if ahead > CLOCK_SLACK => Check::doubtful(
            "clock",
            format!("the data folder was written {} s ahead of this clock", ahead.as_secs()),
            "set the clock; until then files may be read again that have not changed, which costs time alone",
        ),
        _ => Check::good("clock", "not behind the data folder"),
    }
}

/// The lock, and what the running daemon says.
pub(super) async fn daemon(config: &Config) -> Vec<Check> {
    let running = match find(config).await {
        Ok(running) => running,
        Err(error) => return vec![Check::bad("daemon", error.to_string(), "sextant daemon stop")],
    };
    let holder = data_dir::holder(&config.data_dir);
    let Some((_, running)) = running else {
        return vec![match holder {
            Ok(None) => Check::good("daemon", "none runs; the next command starts one"),
            Ok(Some(Some(pid))) => Check::bad(
                "lock",
                format!("process {pid} holds the data folder and does not answer"),
                format!("wait for it to end, or kill {pid}"),
            ),
            Ok(Some(None)) => {
                Check::bad("lock", "somebody holds the data folder and does not answer", "wait for it to end")
            }
            Err(error) => Check::bad("lock", error.to_string(), "make the data folder readable for you"),
        }];
    };
    let this = Program::this();
    let found = format!("process {}, sextant {}", running.pid, running.program.version);
    let differs = if this.supersedes(&running.program) {
        Some("it is older than this program")
    } else if running.settings != settings(config) {
        Some("it has other settings than this command")
    } else {
        None
    };
    vec![match differs {
        Some(why) => Check::doubtful(
            "daemon",
            format!("{found}: {why}"),
            "nothing: the next command waits for it to finish and takes over",
        ),
        None => Check::good("daemon", found),
    }]
}
