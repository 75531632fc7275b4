//! Scans of a million codes against the read limit of the same memory, and against other programs, in the same run.
//!
//! Owns the measurement and its table; it must not know the store or the network.
//!
//! `cargo bench -p sextant-shard --bench scan -- [FLAGS]`, see `options.rs`; `make bench-scan` brings codes and peers.
//!
//! Every round measures everything in turn, so that what else the machine does falls on all alike; medians are shown, and
//! in `best` the quickest. `read` is a plain stream of the widest loads over the very planes that are scanned. Without
//! `--bench` (as `cargo test` runs it) it only checks itself on a few rows.

mod data;
mod options;
mod peers;
mod table;

use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use sextant_kernels::{Isa, Kernels};
use sextant_shard::arena::{Arena, Snapshot};
use sextant_shard::scan::{BatchEntry, Control, Depth, Scan, ScanQuery, top_k, top_k_batch, top_k_selected};

use crate::data::{Data, QUERIES};
use crate::options::Options;
use crate::peers::Peers;
use crate::table::{Line, Table};

/// Standard errors of the pruned scans that are measured.
const Z: [f32; 4] = [2.0, 2.25, 2.5, 3.0];
const K: [usize; 2] = [10, 100];

/// Seconds of a line of the table, one a round.
type Times = HashMap<String, Vec<f64>>;

fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let data = Data::open(&options)?;
    let started = Instant::now();
    let mut arena = Arena::new(data.words)?;
    for (id, code) in data.codes.chunks_exact(data.words).enumerate() {
        arena.push(u32::try_from(id)?, code)?;
    }
    let load_s = started.elapsed().as_secs_f64();
    let mut bench =
        Bench { options: &options, data: &data, arena: &arena, rows: arena.snapshot(), times: Times::new() };
    let mut peers = Peers::start(&options)?;
    for round in 0..options.rounds {
        bench.round(round)?;
        if let Some(peers) = &mut peers {
            for name in ["faiss-10", "faiss-100", "faiss-batch", "usearch-10"] {
                let seconds = peers.seconds(name, round % QUERIES)?;
                bench.note(name.to_owned(), seconds);
            }
        }
    }
    let recall = bench.recall()?;
    let table = Table {
        rows: options.rows,
        bits: options.bits,
        rounds: options.rounds,
        real: options.files.is_some(),
        load_s,
        arena_bytes: arena.bytes(),
        lines: bench.lines(),
        recall,
    };
    table.print(&mut std::io::stdout().lock())?;
    table.write_json(options.json.as_deref())
}

struct Bench<'a> {
    options: &'a Options,
    data: &'a Data,
    arena: &'a Arena,
    rows: Snapshot,
    times: Times,
}

impl Bench<'_> {
    fn note(&mut self, name: String, seconds: f64) {
        self.times.entry(name).or_default().push(seconds);
    }

    fn timed<T>(&mut self, name: &str, work: impl FnOnce(&Self) -> T) -> T {
        let started = Instant::now();
        let made = black_box(work(self));
        let seconds = started.elapsed().as_secs_f64();
        self.note(name.to_owned(), seconds);
        made
    }

    fn query(&self, round: usize, k: usize, depth: Depth) -> Asked {
        let code = self.data.query(round).to_vec();
        let weight = |bit: usize| if (code[bit / 64] >> (bit % 64)) & 1 == 1 { 100 } else { -100 };
        let weights = (0..code.len() * 64).map(weight).collect();
        Asked { code, weights, k, depth }
    }

    fn scan(&self, kernels: Kernels, asked: &Asked, threads: usize) -> Result<Scan> {
        let control = Control { threads, ..Control::ALONE };
        Ok(top_k(kernels, &self.rows, &asked.query(), &|_| true, control)?)
    }

    fn round(&mut self, round: usize) -> Result<()> {
        let kernels = Kernels::detect();
        self.timed("read", |bench| read(kernels, &bench.rows, 1));
        self.timed("read, 2 threads", |bench| read(kernels, &bench.rows, 2));
        let exact = self.query(round, 10, Depth::Exact);
        let first = self.timed("exact k=10", |bench| bench.scan(kernels, &exact, 1))?;
        let second = self.timed("exact k=10, 2 threads", |bench| bench.scan(kernels, &exact, 2))?;
        ensure!(first.hits == second.hits, "two threads give another answer");
        for k in K {
            for z in Z {
                let pruned = self.query(round, k, Depth::Pruned { z });
                self.timed(&format!("pruned k={k} z={z}"), |bench| bench.scan(kernels, &pruned, 1))?;
            }
        }
        for isa in [Isa::Portable, Isa::Avx2] {
            if let Some(forced) = Kernels::with(isa) {
                let scan = self
                    .timed(&format!("exact k=10, {}", isa.name()), |bench| bench.scan(forced, &exact, 1))?;
                ensure!(scan.hits == first.hits, "{} gives another answer", isa.name());
            }
        }
        self.filters(round)?;
        // Expensive and steady: a third of the rounds will do.
        if round.is_multiple_of(3) {
            self.batches()?;
        }
        Ok(())
    }

    /// What filters cost: tested inside the scan, and by scanning the selected alone.
    fn filters(&mut self, round: usize) -> Result<()> {
        let kernels = Kernels::detect();
        let asked = self.query(round, 10, Depth::Pruned { z: Depth::DEFAULT_Z });
        // Some function of the id that has nothing to do with the code.
        let share =
            |id: u32, permille: u32| id.wrapping_mul(0x9e37_79b1) >> 16 <= (65_535 / 1_000) * permille;
        for permille in [500, 100, 10] {
            self.timed(&format!("filter {}%, pruned k=10", f64::from(permille) / 10.0), |bench| {
                top_k(kernels, &bench.rows, &asked.query(), &|id| share(id, permille), Control::ALONE)
            })?;
        }
        for permille in [50, 20, 10, 5] {
            let ids = (0..self.arena.len() as u32).filter(|id| share(*id, permille));
            let rows: Vec<u32> = ids.filter_map(|id| self.arena.row(id)).collect();
            self.timed(&format!("selected {}%, k=10", f64::from(permille) / 10.0), |bench| {
                top_k_selected(kernels, &bench.rows, &asked.query(), &rows, Control::ALONE)
            })?;
        }
        Ok(())
    }

    fn batches(&mut self) -> Result<()> {
        let kernels = Kernels::detect();
        for (name, depth) in [("exact", Depth::Exact), ("pruned", Depth::Pruned { z: Depth::DEFAULT_Z })] {
            let asked: Vec<Asked> = (0..QUERIES).map(|query| self.query(query, 10, depth)).collect();
            let entries: Vec<BatchEntry<'_>> =
                asked.iter().map(|asked| BatchEntry { query: asked.query(), filter: &|_| true }).collect();
            for threads in [1, 2] {
                let control = Control { threads, ..Control::ALONE };
                let started = Instant::now();
                black_box(top_k_batch(kernels, &self.rows, &entries, control)?);
                let seconds = started.elapsed().as_secs_f64() / QUERIES as f64;
                self.note(format!("batch of {QUERIES}, {name} k=10, threads {threads}, a query"), seconds);
            }
        }
        Ok(())
    }

    /// Share of the exact answer that each pruned scan found, and of the bytes that it read.
    fn recall(&self) -> Result<Vec<(String, f64, f64)>> {
        let kernels = Kernels::detect();
        let mut table = Vec::new();
        for k in K {
            let exact: Vec<Scan> = (0..QUERIES)
                .map(|query| self.scan(kernels, &self.query(query, k, Depth::Exact), 1))
                .collect::<Result<_>>()?;
            for z in Z {
                let (mut found, mut all, mut bytes, mut whole) = (0, 0, 0, 0);
                for (query, exact) in exact.iter().enumerate() {
                    let scan = self.scan(kernels, &self.query(query, k, Depth::Pruned { z }), 1)?;
                    let ids: HashSet<u32> = scan.hits.iter().map(|hit| hit.vector_id).collect();
                    found += exact.hits.iter().filter(|hit| ids.contains(&hit.vector_id)).count();
                    all += exact.hits.len();
                    bytes += scan.stats.bytes;
                    whole += exact.stats.bytes;
                }
                table.push((format!("k={k} z={z}"), found as f64 / all as f64, bytes as f64 / whole as f64));
            }
        }
        Ok(table)
    }

    fn lines(&mut self) -> Vec<Line> {
        let times = std::mem::take(&mut self.times);
        let mut lines: Vec<Line> = times.into_iter().map(|(name, seconds)| Line::of(name, seconds)).collect();
        lines.sort_by(|a, b| a.name.cmp(&b.name));
        if !self.options.measure {
            lines.truncate(3);
        }
        lines
    }
}

/// A query that owns its parts.
struct Asked {
    code: Vec<u64>,
    weights: Vec<i16>,
    k: usize,
    depth: Depth,
}

impl Asked {
    fn query(&self) -> ScanQuery<'_> {
        ScanQuery { code: &self.code, weights: &self.weights, k: self.k, oversample: 1, depth: self.depth }
    }
}

/// Reads every word of both planes once, segments in turn by `threads`.
fn read(kernels: Kernels, rows: &Snapshot, threads: usize) -> u64 {
    let part = |thread: usize| {
        rows.segments().iter().skip(thread).step_by(threads).fold(0, |all, segment| {
            let planes = segment.planes(0, segment.used() / 8 * 8);
            all | kernels.read(planes.prefix) | kernels.read(planes.rest)
        })
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || part(thread))).collect();
        others.into_iter().fold(part(0), |all, other| all | other.join().unwrap_or_default())
    })
}
