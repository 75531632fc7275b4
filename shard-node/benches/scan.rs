//! Exact scan of a million codes against the read bandwidth of the same memory in the same run.
//!
//! Owns the measurement and its table; it must not know the store or the network.
//!
//! `cargo bench -p sextant-shard --bench scan -- [--rows N] [--bits B] [--json FILE]`
//!
//! One thread. Every round measures the plain read and each instruction set in turn, so that what else the machine
//! does falls on all of them alike; medians of 15 rounds are shown, and in `best` the quickest, which is what a busy
//! machine would do if it were idle. `read` adds up every word; `scan` is the whole
//! search (top 10 of 100 candidates); `hamming, L2` is the kernel alone over 128 KiB of rows again and again.
//! Without `--bench` (as `cargo test` runs it) it only checks itself on a few rows.

use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sextant_kernels::{Isa, Kernels};
use sextant_shard::arena::Arena;
use sextant_shard::scan::{ScanQuery, top_k};

const ROUNDS: usize = 15;
const K: usize = 10;
const OVERSAMPLE: usize = 10;

/// Bytes of rows that the cache-resident measurement reads again and again, and how often.
const CACHED_BYTES: usize = 128 << 10;
const CACHED_PASSES: usize = 400;

struct Options {
    rows: usize,
    bits: usize,
    json: Option<String>,
    rounds: usize,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self { rows: 1_000_000, bits: 2_048, json: None, rounds: ROUNDS };
        let mut measure = false;
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--bench" => measure = true,
                "--rows" => options.rows = value()?.parse().context("--rows needs a number")?,
                "--bits" => options.bits = value()?.parse().context("--bits needs a number")?,
                "--json" => options.json = Some(value()?),
                _ => bail!("{arg} is not known: use --rows N, --bits B, --json FILE"),
            }
        }
        ensure!(options.rows > 0, "--rows must be at least 1");
        ensure!(options.bits > 0 && options.bits.is_multiple_of(64), "--bits must be a multiple of 64");
        if !measure {
            options.rows = options.rows.min(3_000);
            options.rounds = 1;
        }
        Ok(options)
    }
}

/// Times of one instruction set, one a round.
struct Measured {
    kernels: Kernels,
    scan: Vec<Duration>,
    cached: Vec<Duration>,
    cached_bytes: usize,
}

fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let words = options.bits / 64;
    let mut noise = Noise(7);
    let arena = fill(&options, &mut noise)?;
    let code: Vec<u64> = (0..words).map(|_| noise.next()).collect();
    let weights: Vec<i16> = weights_of(&code, &mut noise);
    let query = ScanQuery { code: &code, weights: &weights, k: K, oversample: OVERSAMPLE };

    let mut read = Vec::new();
    let mut measured: Vec<Measured> = Isa::ALL
        .into_iter()
        .filter_map(Kernels::with)
        .map(|kernels| Measured { kernels, scan: Vec::new(), cached: Vec::new(), cached_bytes: 0 })
        .collect();

    let mut answer = None;
    for _ in 0..options.rounds {
        read.push(timed(|| read_all(&arena)).0);
        for isa in &mut measured {
            let (took, scan) = timed(|| top_k(isa.kernels, &arena, &query, &mut |_| true));
            let scan = scan?;
            isa.scan.push(took);
            let first = answer.get_or_insert_with(|| scan.clone());
            ensure!(*first == scan, "{} gives another answer", isa.kernels.isa().name());
            let (took, bytes) = timed(|| cached_pass(isa.kernels, &arena, &code));
            isa.cached.push(took);
            isa.cached_bytes = bytes?;
        }
    }
    report(&options, &mut read, &mut measured)
}

/// An arena of random codes.
fn fill(options: &Options, noise: &mut Noise) -> Result<Arena> {
    let words = options.bits / 64;
    let mut arena = Arena::new(words)?;
    let mut code = vec![0; words];
    for row in 0..options.rows {
        code.fill_with(|| noise.next());
        arena.push(u32::try_from(row)?, &code)?;
    }
    Ok(arena)
}

/// Weights whose signs are the code's bits.
fn weights_of(code: &[u64], noise: &mut Noise) -> Vec<i16> {
    let weight = |bit: usize| {
        let size = (noise.next() & 0x3fff) as i16;
        if (code[bit / 64] >> (bit % 64)) & 1 == 1 { size } else { -size }
    };
    (0..code.len() * 64).map(weight).collect()
}

/// Reads every word of the arena once.
fn read_all(arena: &Arena) -> u64 {
    arena
        .segments()
        .map(|segment| segment.codes.iter().fold(0_u64, |sum, &word| sum.wrapping_add(word)))
        .fold(0, u64::wrapping_add)
}

/// Distances of the same few rows again and again; says how many bytes of rows that was.
fn cached_pass(kernels: Kernels, arena: &Arena, code: &[u64]) -> Result<usize> {
    let Some(segment) = arena.segments().next() else { return Ok(0) };
    let rows = (CACHED_BYTES / 8 / code.len()).clamp(1, segment.codes.len() / code.len());
    let block = &segment.codes[..rows * code.len()];
    let mut distances = vec![0; rows];
    for _ in 0..CACHED_PASSES {
        kernels.hamming_rows(black_box(code), block, &mut distances)?;
        black_box(&mut distances);
    }
    Ok(size_of_val(block) * CACHED_PASSES)
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = black_box(work());
    (start.elapsed(), result)
}

/// Median and least, in seconds.
fn summary(times: &mut [Duration]) -> (f64, f64) {
    times.sort_unstable();
    (times[times.len() / 2].as_secs_f64(), times[0].as_secs_f64())
}

fn report(options: &Options, read: &mut [Duration], measured: &mut [Measured]) -> Result<()> {
    let bytes = (options.rows * options.bits / 8) as f64;
    let (read_s, read_best_s) = summary(read);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} codes of {} bits, median of {} rounds", options.rows, options.bits, options.rounds)?;
    writeln!(
        out,
        "{:<8} {:>9} {:>9} {:>8} {:>8} {:>17}",
        "", "ms", "best ms", "GB/s", "of read", "hamming L2, GB/s"
    )?;
    let (ms, best_ms) = (read_s * 1e3, read_best_s * 1e3);
    writeln!(out, "{:<8} {ms:>9.2} {best_ms:>9.2} {:>8.2}", "read", bytes / read_s / 1e9)?;
    let mut rows = Vec::new();
    for isa in measured {
        let name = isa.kernels.isa().name();
        let (scan_s, scan_best_s) = summary(&mut isa.scan);
        let cached_gb_s = isa.cached_bytes as f64 / summary(&mut isa.cached).0 / 1e9;
        let (gb_s, share) = (bytes / scan_s / 1e9, read_s / scan_s);
        let (ms, best_ms) = (scan_s * 1e3, scan_best_s * 1e3);
        let percent = share * 100.0;
        writeln!(out, "{name:<8} {ms:>9.2} {best_ms:>9.2} {gb_s:>8.2} {percent:>7.0}% {cached_gb_s:>17.1}")?;
        rows.push(format!(
            "{{\"isa\":\"{name}\",\"scan_ms\":{ms:.4},\"scan_best_ms\":{best_ms:.4},\"gb_s\":{gb_s:.4},\
             \"of_read\":{share:.4},\"cached_gb_s\":{cached_gb_s:.4}}}"
        ));
    }
    if let Some(file) = &options.json {
        let json = format!(
            "{{\"rows\":{},\"bits\":{},\"rounds\":{},\"read_ms\":{ms:.4},\"read_best_ms\":{best_ms:.4},\
             \"read_gb_s\":{:.4},\"isas\":[{}]}}",
            options.rows,
            options.bits,
            options.rounds,
            bytes / read_s / 1e9,
            rows.join(",")
        );
        std::fs::write(file, json + "\n").with_context(|| format!("cannot write the results to {file}"))?;
    }
    Ok(())
}

/// SplitMix64: the same codes in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
