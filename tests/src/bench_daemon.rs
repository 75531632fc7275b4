//! What a daemon costs while nobody asks, and how soon it answers: memory, CPU, start to first answer.
//!
//! Runs the program beside this one with the real model, in folders of its own. Prints a table; `--json` writes the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use serde_json::{Value, json};

/// Ticks of `/proc/PID/stat` in a second: a constant of Linux for programs.
const TICKS_A_SECOND: f64 = 100.0;
/// Seconds after which the daemon of this measurement rests.
const REST_AFTER_S: u64 = 5;

/// Arguments of the measurement.
#[derive(Debug, Parser)]
pub struct Args {
    /// Seconds of idling that are watched.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Starts that are timed.
    #[arg(long, default_value_t = 11)]
    starts: usize,
    /// The folder that is indexed; this repository's client unless given.
    #[arg(long)]
    repo: Option<PathBuf>,
    /// Writes the figures here.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// The program with a data folder of its own.
struct Bench {
    program: PathBuf,
    folder: tempfile::TempDir,
    repo: PathBuf,
}

impl Bench {
    fn new(program: &Path, repo: &Path, config: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("config.toml"), config)?;
        Ok(Self { program: program.into(), folder, repo: repo.into() })
    }

    fn run(&self, words: &[&str]) -> Result<String> {
        let output = Command::new(&self.program)
            .args(words)
            .env("SEXTANT_CONFIG", self.folder.path().join("config.toml"))
            .env("SEXTANT_DATA_DIR", self.folder.path().join("data"))
            .current_dir(&self.repo)
            .stdin(Stdio::null())
            .output()?;
        if output.status.code() == Some(2) {
            bail!("{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn state(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.run(&["daemon", "status", "--json"])?)?)
    }

    /// Resident megabytes (10^6 bytes), and how much of it is memory of its own rather than mapped files.
    fn memory(&self) -> Result<(f64, f64)> {
        let pid = self.pid()?;
        let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let field = |name: &str| -> Result<f64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).context("a field of /proc")?;
            Ok(line.trim().trim_end_matches(" kB").trim().parse::<f64>()? * 1024.0 / 1e6)
        };
        Ok((field("VmRSS:")?, field("RssAnon:")?))
    }

    fn pid(&self) -> Result<u64> {
        self.state()?["pid"].as_u64().context("a daemon runs")
    }

    /// CPU seconds used so far.
    fn cpu_s(pid: u64) -> Result<f64> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let fields: Vec<&str> = text.rsplit(')').next().context("fields")?.split_whitespace().collect();
        let ticks = |at: usize| -> Result<f64> { Ok(fields.get(at).context("a field")?.parse()?) };
        Ok((ticks(11)? + ticks(12)?) / TICKS_A_SECOND)
    }

    /// Per cent of one core over a time.
    fn cpu_percent(&self, time: Duration) -> Result<f64> {
        let pid = self.pid()?;
        let before = Self::cpu_s(pid)?;
        sleep(time);
        Ok((Self::cpu_s(pid)? - before) / time.as_secs_f64() * 100.0)
    }

    fn until_at_rest(&self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(REST_AFTER_S * 10);
        while self.state()?["open"] != false {
            if Instant::now() > deadline {
                bail!("the daemon does not come to rest");
            }
            sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // There is none where this fails.
        let _ = self.run(&["daemon", "stop"]);
    }
}

/// Measures and prints.
pub fn run(args: &Args) -> Result<()> {
    let program = std::env::current_exe()?.with_file_name("sextant");
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client-agent");
    let repo = args.repo.clone().unwrap_or(client).canonicalize()?;
    let mut rows: Vec<(String, f64, &str, &str)> = Vec::new();

    let rest = format!("rest_after_s = {REST_AFTER_S}\n");
    let bench = Bench::new(&program, &repo, &rest)?;
    #[allow(clippy::print_stdout, reason = "the table is what this is run for")]
    let print = |line: &str| println!("{line}");
    print(bench.run(&["index"])?.trim_end());
    let (resident, own) = bench.memory()?;
    rows.push(("memory after the index, model loaded".into(), resident, "MB", ""));
    rows.push(("  of it not mapped from files".into(), own, "MB", ""));
    rows.push(("CPU while open and idle, 4 s".into(), bench.cpu_percent(Duration::from_secs(4))?, "%", ""));
    bench.until_at_rest()?;
    let (resident, own) = bench.memory()?;
    rows.push(("memory at rest, model unloaded".into(), resident, "MB", "≤ 60"));
    rows.push(("  of it not mapped from files".into(), own, "MB", ""));
    let idle = Duration::from_secs(args.seconds);
    rows.push((format!("CPU at rest, {} s", args.seconds), bench.cpu_percent(idle)?, "%", "0"));
    let asked = Instant::now();
    bench.run(&["search", "where is a path resolved", "--no-refresh"])?;
    rows.push(("first answer of a daemon at rest".into(), asked.elapsed().as_secs_f64() * 1e3, "ms", ""));
    let mut times = Vec::new();
    for _ in 0..args.starts {
        bench.run(&["daemon", "stop"])?;
        let started = Instant::now();
        bench.run(&["search", "where is a path resolved"])?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    rows.push(("no daemon to first answer, median".into(), times[times.len() / 2], "ms", "≤ 500"));
    rows.push(("no daemon to first answer, slowest".into(), times[times.len() - 1], "ms", ""));
    drop(bench);

    // The same work without a model tells what is there beside it.
    let bench = Bench::new(&program, &repo, &format!("{rest}backend = \"fake\"\n"))?;
    bench.run(&["index"])?;
    let (resident, own) = bench.memory()?;
    rows.push(("memory after the index, no model".into(), resident, "MB", "≤ 60"));
    rows.push(("  of it not mapped from files".into(), own, "MB", ""));
    drop(bench);

    for (what, figure, unit, target) in &rows {
        print(&format!("{what:<40} {figure:>9.2} {unit:<3} {target}"));
    }
    if let Some(file) = &args.json {
        let figures: Vec<Value> = rows
            .iter()
            .map(|(what, figure, unit, target)| {
                json!({ "what": what.trim(), "figure": figure, "unit": unit, "target": target })
            })
            .collect();
        fs::write(file, serde_json::to_vec_pretty(&figures)?)?;
    }
    Ok(())
}
