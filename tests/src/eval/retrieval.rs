//! `sextant-eval retrieval`: indexes each repository, asks its questions, writes the hits and prints the measures.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use sextant_client::agent::{Agent, SearchOptions};
use sextant_client::report::Silent;

use super::benchmark::{BenchmarkArgs, Question, Repository, from_root, load};
use super::measures::{Measures, PLACES, Place, mean, measure};

/// Hits written for each question.
const LIMIT: u32 = 50;

/// What is measured.
#[derive(Debug, Args)]
pub struct RetrievalArgs {
    #[command(flatten)]
    benchmark: BenchmarkArgs,
    /// Where to write the hits, one JSON object a question.
    #[arg(long)]
    hits: PathBuf,
    /// Writes the table as JSON too.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Runs the measurement and prints it.
pub async fn run(args: &RetrievalArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let (repositories, missing) = load(&args.benchmark)?;
    for name in missing {
        writeln!(out, "{name:<12} is not in {}", args.benchmark.repos.display())?;
    }
    let (agent, _guard) = super::agent(args.benchmark.data_dir.as_deref()).await?;
    let mut hits = std::fs::File::create(&args.hits).with_context(|| args.hits.display().to_string())?;
    let mut rows: Vec<(String, usize, Measures)> = Vec::new();
    let mut by_category: BTreeMap<String, Vec<Measures>> = BTreeMap::new();
    let mut by_language: BTreeMap<String, Vec<Measures>> = BTreeMap::new();
    writeln!(
        out,
        "{:<12} {:>7} {:>7} {:>8} {:>7} {:>9}",
        "repository", "chunks", "queries", "NDCG@10", "MRR@10", "recall@10"
    )?;
    for repository in &repositories {
        let chunks = repository.index(&agent).await?;
        let mut measured = Vec::new();
        for question in &repository.questions {
            let places = ask(&agent, repository, question).await?;
            let results: Vec<Value> = places
                .iter()
                .map(|place| json!({"path": place.path, "start_line": place.lines.0, "end_line": place.lines.1}))
                .collect();
            let line = json!({"repo": repository.name, "query_id": question.id, "results": results});
            writeln!(hits, "{line}")?;
            let measures = measure(&places, &question.targets);
            by_category.entry(question.category.clone()).or_default().push(measures);
            by_language.entry(question.language.clone()).or_default().push(measures);
            measured.push(measures);
        }
        let of_repo = mean(&measured);
        print(out, &repository.name, &chunks.to_string(), measured.len(), of_repo)?;
        rows.push((repository.name.clone(), measured.len(), of_repo));
    }
    let count = rows.iter().map(|(_, count, _)| count).sum();
    let all = mean(&rows.iter().map(|(.., measures)| *measures).collect::<Vec<_>>());
    print(out, "mean", "", count, all)?;
    let row = |name: &str, count: usize, m: Measures| json!({"repo": name, "queries": count, "ndcg@10": m.ndcg, "mrr@10": m.mrr, "recall@10": m.recall});
    let table: Vec<Value> = rows.iter().map(|(name, count, m)| row(name, *count, *m)).collect();
    let mut groups = serde_json::Map::new();
    for (name, groups_of) in [("category", by_category), ("language", by_language)] {
        writeln!(out, "by {name}, mean over questions")?;
        let mut of_group = Vec::new();
        for (group, measured) in groups_of {
            print(out, &group, "", measured.len(), mean(&measured))?;
            of_group.push(row(&group, measured.len(), mean(&measured)));
        }
        groups.insert(name.into(), of_group.into());
    }
    super::write_json(
        args.json.as_deref(),
        &json!({"places": PLACES, "repositories": table, "mean": row("mean", count, all), "groups": groups}),
    )?;
    agent.close().await;
    Ok(())
}

fn print(out: &mut dyn Write, name: &str, chunks: &str, count: usize, m: Measures) -> std::io::Result<()> {
    writeln!(out, "{name:<12} {chunks:>7} {count:>7} {:>8.3} {:>7.3} {:>9.3}", m.ndcg, m.mrr, m.recall)
}

async fn ask(agent: &Agent, repository: &Repository, question: &Question) -> anyhow::Result<Vec<Place>> {
    let options = SearchOptions { limit: LIMIT, snippets: false, refresh: false, ..SearchOptions::default() };
    let answer = agent.search(&question.words, &repository.folder, &options, &Silent).await?;
    let place = |path: &str, lines| Place { path: from_root(&question.root, path), lines };
    Ok(answer.hits.iter().map(|hit| place(&hit.path, (hit.start_line, hit.end_line))).collect())
}
