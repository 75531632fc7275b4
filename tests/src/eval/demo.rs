//! `sextant-eval demo`: indexes one folder from nothing, asks prepared questions, and times both.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::json;

use sextant_client::agent::{Agent, SearchOptions};
use sextant_client::chunk::embed_input::{embed_input, source_text};
use sextant_client::chunk::{ChunkBudget, chunk_file};
use sextant_client::report::Silent;
use sextant_client::walk::{WalkOptions, classify, walk};
use sextant_proto::embed::{EmbedRequest, Lane};

use super::measures::quantile;

/// Hits looked through for the right file.
const LIMIT: u32 = 1000;
/// What counts as found.
const NEAR: usize = 5;
/// Share of the questions that must be found.
const LEAST_NEAR: f64 = 0.7;
/// Questions that are timed.
const TIMED: usize = 50;
/// Texts that show the embedder's own rate.
const RATE_TEXTS: usize = 400;

/// What is shown.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// The folder to index.
    #[arg(long)]
    repo: PathBuf,
    /// The questions, one JSON object a line: question, files.
    #[arg(long)]
    questions: PathBuf,
    /// Writes the figures as JSON too.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Question {
    question: String,
    files: Vec<String>,
}

/// Runs the demo; tells whether enough questions found their file.
pub async fn run(args: &DemoArgs, out: &mut dyn Write) -> anyhow::Result<bool> {
    let text =
        std::fs::read_to_string(&args.questions).with_context(|| args.questions.display().to_string())?;
    let questions: Vec<Question> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let (agent, _guard) = super::agent(None).await?;
    let report = agent.index(&args.repo, &Silent).await?;
    let rate = report.embedded as f64 / report.seconds;
    let own = own_rate(&agent, &args.repo).await?;
    writeln!(
        out,
        "{} files, {} chunks, {} of them embedded in {:.1} s",
        report.files, report.chunks, report.embedded, report.seconds
    )?;
    writeln!(
        out,
        "{rate:.1} chunks/s; the embedder alone {own:.1}: {:.0} % of it (target 85 %)\n",
        100.0 * rate / own
    )?;

    let options = SearchOptions { limit: LIMIT, snippets: false, refresh: false, ..SearchOptions::default() };
    let (mut first, mut near) = (0, 0);
    let mut ranks = Vec::new();
    writeln!(out, "rank of the right file, question")?;
    for entry in &questions {
        let answer = agent.search(&entry.question, &args.repo, &options, &Silent).await?;
        let mut seen = HashSet::new();
        let files: Vec<&str> =
            answer.hits.iter().map(|hit| hit.path.as_str()).filter(|path| seen.insert(*path)).collect();
        let rank =
            files.iter().position(|path| entry.files.iter().any(|right| right == path)).map(|at| at + 1);
        first += usize::from(rank == Some(1));
        near += usize::from(rank.is_some_and(|rank| rank <= NEAR));
        let shown = rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
        writeln!(out, "{shown:>4}  {} → {}", entry.question, entry.files.join(", "))?;
        ranks.push(rank);
    }
    let count = questions.len();
    let least = (LEAST_NEAR * count as f64).ceil() as usize;
    writeln!(out, "{first} of {count} first, {near} among the first {NEAR} (asked: {least})\n")?;

    let (with_model, without) = times(&agent, &args.repo, &questions).await?;
    let ms = |sorted: &[f64], q: f64| 1e3 * quantile(sorted, q);
    writeln!(out, "{:<28} {:>9} {:>9}", format!("{TIMED} questions, ten hits each"), "p50 ms", "p95 ms")?;
    writeln!(out, "{:<28} {:>9.2} {:>9.2}", "with the model", ms(&with_model, 0.5), ms(&with_model, 0.95))?;
    writeln!(out, "{:<28} {:>9.2} {:>9.2}", "without the model", ms(&without, 0.5), ms(&without, 0.95))?;
    let table = json!({
        "files": report.files, "chunks": report.chunks, "seconds": report.seconds, "chunks_per_second": rate,
        "embedder_chunks_per_second": own, "ranks": ranks, "first": first, "near": near,
        "with_model_ms": [ms(&with_model, 0.5), ms(&with_model, 0.95)], "without_model_ms": [ms(&without, 0.5), ms(&without, 0.95)],
    });
    super::write_json(args.json.as_deref(), &table)?;
    agent.close().await;
    Ok(near >= least)
}

/// Chunks a second where the embed-node has nothing to wait for: texts of the same chunks, every session busy.
async fn own_rate(agent: &Agent, repo: &Path) -> anyhow::Result<f64> {
    let texts = texts(repo)?;
    let step = (texts.len() / RATE_TEXTS).max(1);
    let sample: Vec<String> = texts.into_iter().step_by(step).take(RATE_TEXTS).collect();
    let requests = sample.chunks(8).map(|texts| EmbedRequest {
        lane: Lane::Index,
        model: agent.model().fingerprint,
        code: agent.code(),
        texts: texts.to_vec(),
    });
    let started = Instant::now();
    let sent =
        stream::iter(requests).map(|request| async move { agent.cluster().embed(&request).await.map(drop) });
    sent.buffer_unordered(agent.model().sessions as usize * 2).try_collect::<Vec<()>>().await?;
    Ok(sample.len() as f64 / started.elapsed().as_secs_f64())
}

fn texts(repo: &Path) -> anyhow::Result<Vec<String>> {
    let mut texts = Vec::new();
    for file in walk(repo, &WalkOptions::default())?.files {
        let bytes = std::fs::read(repo.join(&file.path))?;
        if classify(&bytes).is_ok() {
            let chunked = chunk_file(&file.path, &bytes, &ChunkBudget::default());
            texts.extend(
                chunked.chunks.iter().map(|chunk| embed_input(&file.path, &source_text(&bytes, chunk))),
            );
        }
    }
    Ok(texts)
}

/// Seconds of each question, sorted: all of it, and all but the model.
async fn times(agent: &Agent, repo: &Path, questions: &[Question]) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let options = SearchOptions { refresh: false, ..SearchOptions::default() };
    let (mut whole, mut without) = (Vec::new(), Vec::new());
    for question in questions.iter().cycle().take(TIMED) {
        let started = Instant::now();
        let answer = agent.search(&question.question, repo, &options, &Silent).await?;
        let seconds = started.elapsed().as_secs_f64();
        whole.push(seconds);
        without.push(seconds - answer.timing.embed);
    }
    whole.sort_by(f64::total_cmp);
    without.sort_by(f64::total_cmp);
    Ok((whole, without))
}
