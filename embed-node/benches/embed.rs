//! The embedder's own rate, and what a question waits while the index lane is full. Prints a table; `--json FILE` too.
//!
//! `cargo bench -p sextant-embed --bench embed [-- FLAGS]`; flags: `--device cpu|cuda|tensorrt`,
//! `--library FILE`, `--batch TEXTS`, `--codes FILE`, `--json FILE`. Needs what `deploy/setup.sh` makes.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use anyhow::Context;
use sextant_embed::settings::Device;
use sextant_embed::{EmbedService, NodeSettings};
use sextant_proto::code::CodeSpec;
use sextant_proto::embed::{EmbedRequest, Lane};
use sextant_proto::ids::ModelFingerprint;

/// Questions timed in each state of the index lane.
const QUESTIONS: usize = 100;
/// Texts of a request of the index lane, and requests that keep it full.
const TEXTS: usize = 16;
const WRITERS: usize = 8;

fn request(model: ModelFingerprint, lane: Lane, texts: Vec<String>) -> EmbedRequest {
    EmbedRequest { lane, model, code: CodeSpec::default(), texts }
}

/// A text of about 200 tokens that no other number gives.
fn text(number: u64) -> String {
    let line = |line: u32| format!("let value_{number}_{line} = compute(input, {line})?;");
    (0..22).map(line).collect::<Vec<_>>().join("\n")
}

async fn questions(service: &EmbedService, model: ModelFingerprint) -> anyhow::Result<[f64; 2]> {
    let mut times = Vec::with_capacity(QUESTIONS);
    for number in 0..QUESTIONS {
        let started = Instant::now();
        service.embed(request(model, Lane::Query, vec![format!("where is value {number} computed")])).await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok([times[QUESTIONS / 2 - 1], times[QUESTIONS * 95 / 100 - 1]])
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let after = |flag: &str| words.iter().position(|word| word == flag).and_then(|at| words.get(at + 1));
    let device = match after("--device").map(String::as_str) {
        None | Some("cpu") => Device::Cpu,
        Some("cuda") => Device::Cuda,
        Some("tensorrt") => Device::TensorRt,
        Some(other) => anyhow::bail!("--device {other}: it is cpu, cuda or tensorrt"),
    };
    let mut settings = NodeSettings { device, ..NodeSettings::default() };
    if let Some(library) = after("--library") {
        settings.library = library.into();
    }
    settings.max_batch_texts =
        after("--batch").map(|most| most.parse()).transpose().context("--batch is a number")?;
    let service = Arc::new(EmbedService::open(&settings)?);
    let model = service.models().models.first().context("a model")?.fingerprint;

    if let Some(file) = after("--codes") {
        // To be compared with those of another device.
        let reply = service.embed(request(model, Lane::Index, (0..256).map(text).collect())).await?;
        std::fs::write(file, reply.codes)?;
    }
    let idle = questions(&service, model).await?;
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let started = Instant::now();
    let writers: Vec<_> = (0..WRITERS as u64)
        .map(|writer| {
            let (service, stop, done) = (Arc::clone(&service), Arc::clone(&stop), Arc::clone(&done));
            tokio::spawn(async move {
                let mut next = writer * 1_000_000;
                while !stop.load(Ordering::Relaxed) {
                    let texts = (next..next + TEXTS as u64).map(text).collect();
                    service.embed(request(model, Lane::Index, texts)).await?;
                    next += TEXTS as u64;
                    done.fetch_add(TEXTS as u64, Ordering::Relaxed);
                }
                Ok::<_, sextant_proto::error::WireError>(())
            })
        })
        .collect();
    while done.load(Ordering::Relaxed) < (WRITERS * TEXTS) as u64 {
        tokio::task::yield_now().await;
    }
    let full = questions(&service, model).await?;
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await??;
    }
    let rate = done.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64();

    let mut out = std::io::stdout().lock();
    writeln!(out, "{:<28} {:>9} {:>9}", format!("{QUESTIONS} questions"), "p50 ms", "p95 ms")?;
    writeln!(out, "{:<28} {:>9.2} {:>9.2}", "index lane idle", idle[0], idle[1])?;
    writeln!(out, "{:<28} {:>9.2} {:>9.2}", "index lane full", full[0], full[1])?;
    writeln!(out, "index lane: {rate:.1} texts/s of about 200 tokens beside the questions")?;
    if let Some(file) = after("--json") {
        let value = serde_json::json!({"idle_ms": idle, "full_ms": full, "texts_per_second": rate});
        std::fs::write(file, serde_json::to_string_pretty(&value)?)?;
    }
    Ok(())
}
