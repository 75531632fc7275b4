//! `sextant-eval retrieval`: indexes each repository, asks its questions, writes the hits and prints the measures.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use sextant_client::agent::{Agent, SearchOptions};
use sextant_client::report::Silent;

use super::measures::{Measures, PLACES, Place, Target, mean, measure};

/// Hits written for each question.
const LIMIT: u32 = 50;

/// What is measured.
#[derive(Debug, Args)]
pub struct RetrievalArgs {
    /// Folder with one subfolder a repository.
    #[arg(long)]
    repos: PathBuf,
    /// The questions, one JSON object a line: repo, root, query_id, query.
    #[arg(long)]
    queries: PathBuf,
    /// Where to write the hits, one JSON object a question.
    #[arg(long)]
    hits: PathBuf,
    /// Folder of the right answers, NAME.json a repository; default: `annotations` beside the questions.
    #[arg(long)]
    annotations: Option<PathBuf>,
    /// Only this repository.
    #[arg(long)]
    only: Option<String>,
    /// Keeps the index here, for a second run.
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Writes the table as JSON too.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Query {
    repo: String,
    #[serde(default)]
    root: Option<String>,
    #[serde(rename = "query_id")]
    id: String,
    #[serde(rename = "query")]
    words: String,
}

#[derive(Debug, Deserialize)]
struct Annotation {
    query: String,
    #[serde(default)]
    relevant: Vec<Value>,
    #[serde(default)]
    secondary: Vec<Value>,
}

/// Runs the measurement and prints it.
pub async fn run(args: &RetrievalArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let queries = queries(&args.queries, args.only.as_deref())?;
    let beside = args.queries.parent().unwrap_or(Path::new(".")).join("annotations");
    let annotations = args.annotations.as_deref().unwrap_or(&beside);
    let (agent, _guard) = super::agent(args.data_dir.as_deref()).await?;
    let mut hits = std::fs::File::create(&args.hits).with_context(|| args.hits.display().to_string())?;
    let mut rows: Vec<(String, usize, Measures)> = Vec::new();
    writeln!(
        out,
        "{:<12} {:>7} {:>7} {:>8} {:>7} {:>9}",
        "repository", "chunks", "queries", "NDCG@10", "MRR@10", "recall@10"
    )?;
    for (repo, queries) in queries {
        if !args.repos.join(&repo).is_dir() {
            writeln!(out, "{repo:<12} is not in {}", args.repos.display())?;
            continue;
        }
        let chunks = index(&agent, &args.repos, &queries).await?;
        let right = right_answers(&annotations.join(format!("{repo}.json")), &queries)?;
        let mut measured = Vec::new();
        for (query, targets) in queries.iter().zip(&right) {
            let places = ask(&agent, &args.repos, query).await?;
            let results: Vec<Value> = places
                .iter()
                .map(|place| json!({"path": place.path, "start_line": place.lines.0, "end_line": place.lines.1}))
                .collect();
            writeln!(hits, "{}", json!({"repo": repo, "query_id": query.id, "results": results}))?;
            measured.push(measure(&places, targets));
        }
        let of_repo = mean(&measured);
        print(out, &repo, &chunks.to_string(), measured.len(), of_repo)?;
        rows.push((repo, measured.len(), of_repo));
    }
    if rows.is_empty() {
        bail!("{} holds none of the repositories that the questions are about", args.repos.display());
    }
    let count = rows.iter().map(|(_, count, _)| count).sum();
    let all = mean(&rows.iter().map(|(.., measures)| *measures).collect::<Vec<_>>());
    print(out, "mean", "", count, all)?;
    let row = |name: &str, count: usize, m: Measures| json!({"repo": name, "queries": count, "ndcg@10": m.ndcg, "mrr@10": m.mrr, "recall@10": m.recall});
    let table: Vec<Value> = rows.iter().map(|(name, count, m)| row(name, *count, *m)).collect();
    super::write_json(
        args.json.as_deref(),
        &json!({"places": PLACES, "repositories": table, "mean": row("mean", count, all)}),
    )?;
    agent.close().await;
    Ok(())
}

fn print(out: &mut dyn Write, name: &str, chunks: &str, count: usize, m: Measures) -> std::io::Result<()> {
    writeln!(out, "{name:<12} {chunks:>7} {count:>7} {:>8.3} {:>7.3} {:>9.3}", m.ndcg, m.mrr, m.recall)
}

fn queries(file: &Path, only: Option<&str>) -> anyhow::Result<BTreeMap<String, Vec<Query>>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let mut all: BTreeMap<String, Vec<Query>> = BTreeMap::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let query: Query =
            serde_json::from_str(line).with_context(|| format!("{}:{}", file.display(), at + 1))?;
        if only.is_none_or(|only| only == query.repo) {
            all.entry(query.repo.clone()).or_default().push(query);
        }
    }
    if all.is_empty() {
        bail!(
            "{} has no question{}",
            file.display(),
            only.map_or_else(String::new, |only| format!(" for {only}"))
        );
    }
    Ok(all)
}

fn folder(repos: &Path, query: &Query) -> PathBuf {
    let root = repos.join(&query.repo);
    query.root.as_ref().map_or(root.clone(), |below| root.join(below))
}

async fn index(agent: &Agent, repos: &Path, queries: &[Query]) -> anyhow::Result<u64> {
    let Some(query) = queries.first() else { return Ok(0) };
    Ok(agent.index(&folder(repos, query), &Silent).await?.chunks)
}

async fn ask(agent: &Agent, repos: &Path, query: &Query) -> anyhow::Result<Vec<Place>> {
    let options = SearchOptions { limit: LIMIT, snippets: false, refresh: false, ..SearchOptions::default() };
    let answer = agent.search(&query.words, &folder(repos, query), &options, &Silent).await?;
    Ok(answer
        .hits
        .into_iter()
        .map(|hit| Place { path: from_root(query, &hit.path), lines: (hit.start_line, hit.end_line) })
        .collect())
}

/// A path below the part of a repository that is asked about, from the repository's root.
fn from_root(query: &Query, path: &str) -> String {
    let root = query.root.as_deref().unwrap_or_default();
    match root.trim_start_matches("./").trim_end_matches('/') {
        "" | "." => path.to_owned(),
        below => format!("{below}/{path}"),
    }
}

/// Targets of each query; a query's number is its place in the annotations.
fn right_answers(file: &Path, queries: &[Query]) -> anyhow::Result<Vec<Vec<Target>>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let annotations: Vec<Annotation> =
        serde_json::from_str(&text).with_context(|| file.display().to_string())?;
    queries
        .iter()
        .map(|query| {
            let number = query.id.rsplit(':').next().and_then(|number| number.parse::<usize>().ok());
            let annotation =
                number.and_then(|number| annotations.get(number)).filter(|found| found.query == query.words);
            let annotation =
                annotation.with_context(|| format!("{} does not hold {}", file.display(), query.id))?;
            Ok(annotation.relevant.iter().chain(&annotation.secondary).filter_map(target).collect())
        })
        .collect()
}

fn target(value: &Value) -> Option<Target> {
    let clean = |path: &str| path.trim_start_matches("./").to_owned();
    if let Some(path) = value.as_str() {
        return Some(Target { path: clean(path), lines: None });
    }
    let line = |name: &str| value.get(name)?.as_u64().and_then(|line| u32::try_from(line).ok());
    Some(Target {
        path: clean(value.get("path")?.as_str()?),
        lines: line("start_line").zip(line("end_line")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERIES: &str = r#"{"repo": "b", "root": "./", "query_id": "b:0", "query": "one", "language": "go"}
{"repo": "a", "root": "src/a", "query_id": "a:1", "query": "two"}

{"repo": "a", "root": "src/a", "query_id": "a:0", "query": "three"}
"#;
    const ANNOTATIONS: &str = r#"[
        {"query": "three", "relevant": ["./src/a/x.go"], "secondary": [{"path": "y.go", "start_line": 3, "end_line": 9}]},
        {"query": "two", "relevant": [{"path": "z.go"}]}
    ]"#;

    #[test]
    fn questions_meet_their_answers_by_number() -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        let (asked, right) = (dir.path().join("queries.jsonl"), dir.path().join("a.json"));
        std::fs::write(&asked, QUERIES)?;
        std::fs::write(&right, ANNOTATIONS)?;
        let all = queries(&asked, None)?;
        assert_eq!(all.keys().collect::<Vec<_>>(), ["a", "b"]);
        let targets = right_answers(&right, &all["a"])?;
        let lines = |at: usize| targets[at].iter().map(|target| target.lines).collect::<Vec<_>>();
        assert_eq!((lines(0), lines(1)), (vec![None], vec![None, Some((3, 9))]));
        assert_eq!(targets[1][0].path, "src/a/x.go");
        // Answers of another question, or none, are a mistake in the files and never a score.
        assert!(right_answers(&right, &all["b"]).is_err());
        assert!(queries(&asked, Some("c")).is_err());
        Ok(())
    }

    #[test]
    fn paths_of_hits_start_at_the_repository() {
        let query = |root: Option<&str>| Query {
            repo: "a".into(),
            root: root.map(Into::into),
            id: "a:0".into(),
            words: "w".into(),
        };
        assert_eq!(from_root(&query(Some("src/a")), "x/y.go"), "src/a/x/y.go");
        assert_eq!(from_root(&query(Some("./src/a/")), "y.go"), "src/a/y.go");
        for root in [None, Some(""), Some("."), Some("./")] {
            assert_eq!(from_root(&query(root), "y.go"), "y.go");
        }
    }
}
