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
use sextant_client::chunk::chunk_file;
use sextant_client::chunk::embed_input::{embed_input, source_text};
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
/// Texts that go to it in one request; few, so that the last request leaves no session idle for long.
const TEXTS_A_REQUEST: usize = 8;

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
    // Before and after, so that a machine that grows slower or faster meanwhile does not decide the comparison.
    let sample = spread(texts(&agent, &args.repo)?, RATE_TEXTS);
    let before = own_rate(&agent, &sample).await?;
    let report = agent.index(&args.repo, &Silent).await?;
    let rate = report.embedded as f64 / report.seconds;
    let after = own_rate(&agent, &sample).await?;
    let own = f64::midpoint(before, after);
    writeln!(
        out,
        "{} files, {} chunks, {} of them embedded in {:.1} s",
        report.files, report.chunks, report.embedded, report.seconds
    )?;
    writeln!(
        out,
        "{rate:.1} chunks/s; the embedder alone {before:.1} before and {after:.1} after: {:.0} % of it (target 85 %)\n",
        100.0 * rate / own
    )?;

    let options = SearchOptions { limit: LIMIT, snippets: false, refresh: false, ..SearchOptions::default() };
    let (mut first, mut near) = (0, 0);
    let (mut ranks, mut hit_ranks) = (Vec::new(), Vec::new());
    writeln!(out, "rank of the right file among files, and of its first hit among hits; question")?;
    for entry in &questions {
        let answer = agent.search(&entry.question, &args.repo, &options, &Silent).await?;
        let mut seen = HashSet::new();
        let files: Vec<&str> =
            answer.hits.iter().map(|hit| hit.path.as_str()).filter(|path| seen.insert(*path)).collect();
        let is_right = |path: &str| entry.files.iter().any(|right| right == path);
        let rank = files.iter().position(|path| is_right(path)).map(|at| at + 1);
        let hit_rank = answer.hits.iter().position(|hit| is_right(&hit.path)).map(|at| at + 1);
        first += usize::from(rank == Some(1));
        near += usize::from(rank.is_some_and(|rank| rank <= NEAR));
        let shown = |rank: Option<usize>| rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
        let (file, hit) = (shown(rank), shown(hit_rank));
        writeln!(out, "{file:>4} {hit:>4}  {} → {}", entry.question, entry.files.join(", "))?;
        ranks.push(rank);
        hit_ranks.push(hit_rank);
    }
    let count = questions.len();
    let least = (LEAST_NEAR * count as f64).ceil() as usize;
    writeln!(out, "{first} of {count} first, {near} among the first {NEAR} (asked: {least})\n")?;

    let stages = times(&agent, &args.repo, &questions).await?;
    writeln!(out, "{:<28} {:>9} {:>9}", format!("{TIMED} questions, ten hits each"), "p50 ms", "p95 ms")?;
    let mut times = serde_json::Map::new();
    for (name, seconds) in stages {
        let [p50, p95] = [0.5, 0.95].map(|q| 1e3 * quantile(&seconds, q));
        writeln!(out, "{name:<28} {p50:>9.2} {p95:>9.2}")?;
        times.insert(name.to_owned(), json!([p50, p95]));
    }
    let table = json!({
        "files": report.files, "chunks": report.chunks, "embedded": report.embedded, "truncated": report.truncated,
        "seconds": report.seconds, "chunks_per_second": rate, "embedder_chunks_per_second": [before, after],
        "ranks": ranks, "hit_ranks": hit_ranks, "first": first, "near": near, "p50_p95_ms": times,
    });
    super::write_json(args.json.as_deref(), &table)?;
    agent.close().await;
    Ok(near >= least)
}

/// Chunks a second where the embed-node has nothing to wait for: texts of the same chunks, every session busy.
async fn own_rate(agent: &Agent, sample: &[String]) -> anyhow::Result<f64> {
    let requests = sample.chunks(TEXTS_A_REQUEST).map(|texts| EmbedRequest {
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

/// At most `count` of `all`, evenly spread over the whole, in order.
fn spread<T>(all: Vec<T>, count: usize) -> Vec<T> {
    let total = all.len();
    let kept = count.min(total);
    // The k-th is kept where k·kept/total passes a whole number.
    let is_kept = |at: usize| (at + 1) * kept / total > at * kept / total;
    all.into_iter().enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, one)| one).collect()
}

fn texts(agent: &Agent, repo: &Path) -> anyhow::Result<Vec<String>> {
    let mut texts = Vec::new();
    for file in walk(repo, &WalkOptions::default())?.files {
        let bytes = std::fs::read(repo.join(&file.path))?;
        if classify(&bytes).is_ok() {
            let chunked = chunk_file(&file.path, &bytes, &agent.budget());
            texts.extend(
                chunked.chunks.iter().map(|chunk| embed_input(&file.path, &source_text(&bytes, chunk))),
            );
        }
    }
    Ok(texts)
}

/// Seconds of each question by stage, each list sorted. "Without the model" is a whole search less the time until its
/// query vector was there.
async fn times(
    agent: &Agent,
    repo: &Path,
    questions: &[Question],
) -> anyhow::Result<[(&'static str, Vec<f64>); 6]> {
    let options = SearchOptions { refresh: false, ..SearchOptions::default() };
    let mut stages = [
        ("with the model", Vec::new()),
        ("without the model", Vec::new()),
        ("  coordinator and scan", Vec::new()),
        ("  words and order", Vec::new()),
        ("  snippets", Vec::new()),
        ("  collection, manifest", Vec::new()),
    ];
    for question in questions.iter().cycle().take(TIMED) {
        let started = Instant::now();
        let answer = agent.search(&question.question, repo, &options, &Silent).await?;
        let whole = started.elapsed().as_secs_f64();
        let timing = answer.timing;
        let without = whole - timing.embed;
        let rest = without - timing.cluster - timing.rank - timing.snippets;
        let seconds = [whole, without, timing.cluster, timing.rank, timing.snippets, rest];
        for ((_, list), seconds) in stages.iter_mut().zip(seconds) {
            list.push(seconds);
        }
    }
    for (_, list) in &mut stages {
        list.sort_by(f64::total_cmp);
    }
    Ok(stages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_the_whole() {
        assert_eq!(spread((0..10).collect(), 5), [1, 3, 5, 7, 9]);
        assert_eq!(spread((0..3).collect(), 5), [0, 1, 2]);
        assert_eq!(spread((0..1810).collect::<Vec<_>>(), 400).len(), 400);
        assert!(spread(Vec::<u8>::new(), 5).is_empty());
    }
}
