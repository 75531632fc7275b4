//! Files of a retrieval benchmark: questions a repository, and the right answers beside them.
//! It must not know the product beyond where a question is asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use sextant_client::agent::Agent;
use sextant_client::report::Silent;

use super::measures::Target;

/// Where the benchmark is.
#[derive(Debug, Args)]
pub struct BenchmarkArgs {
    /// Folder with one subfolder a repository.
    #[arg(long)]
    pub repos: PathBuf,
    /// The questions, one JSON object a line: repo, root, query_id, query.
    #[arg(long)]
    pub queries: PathBuf,
    /// Folder of the right answers, NAME.json a repository; default: `annotations` beside the questions.
    #[arg(long)]
    pub annotations: Option<PathBuf>,
    /// Only this repository.
    #[arg(long)]
    pub only: Option<String>,
    /// Keeps the index here, for a second run.
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
}

/// A question with its right answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its id.
    pub id: String,
    /// The words.
    pub words: String,
    /// What kind of question it is, where the annotations say so.
    pub category: String,
    /// Language of the repository.
    pub language: String,
    /// The part of the repository that is indexed and asked about.
    pub root: String,
    /// Right answers.
    pub targets: Vec<Target>,
}

/// A repository that is there, with its questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Its name.
    pub name: String,
    /// The folder that is indexed.
    pub folder: PathBuf,
    /// What is asked.
    pub questions: Vec<Question>,
}

impl Repository {
    /// Brings its index up to date; returns its chunks.
    pub async fn index(&self, agent: &Agent) -> anyhow::Result<u64> {
        Ok(agent.index(&self.folder, &Silent).await?.chunks)
    }
}

/// The repositories that are there, by name; the names of those that are not.
pub fn load(args: &BenchmarkArgs) -> anyhow::Result<(Vec<Repository>, Vec<String>)> {
    let beside = args.queries.parent().unwrap_or(Path::new(".")).join("annotations");
    let annotations = args.annotations.as_deref().unwrap_or(&beside);
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (name, queries) in queries(&args.queries, args.only.as_deref())? {
        let Some(first) = queries.first().filter(|_| args.repos.join(&name).is_dir()) else {
            missing.push(name);
            continue;
        };
        let folder = folder(&args.repos, first);
        let questions = right_answers(&annotations.join(format!("{name}.json")), queries)?;
        found.push(Repository { name, folder, questions });
    }
    if found.is_empty() {
        bail!("{} holds none of the repositories that the questions are about", args.repos.display());
    }
    Ok((found, missing))
}

#[derive(Debug, Clone, Deserialize)]
struct Query {
    repo: String,
    #[serde(default)]
    root: Option<String>,
    #[serde(rename = "query_id")]
    id: String,
    #[serde(rename = "query")]
    words: String,
    #[serde(default)]
    language: String,
}

#[derive(Debug, Deserialize)]
struct Annotation {
    query: String,
    #[serde(default)]
    category: String,
    #[serde(default)]
    relevant: Vec<Value>,
    #[serde(default)]
    secondary: Vec<Value>,
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

/// A path below the part of a repository that is asked about, from the repository's root.
pub fn from_root(root: &str, path: &str) -> String {
    match root.trim_start_matches("./").trim_end_matches('/') {
        "" | "." => path.to_owned(),
        below => format!("{below}/{path}"),
    }
}

/// Each query with its targets; a query's number is its place in the annotations.
fn right_answers(file: &Path, queries: Vec<Query>) -> anyhow::Result<Vec<Question>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let annotations: Vec<Annotation> =
        serde_json::from_str(&text).with_context(|| file.display().to_string())?;
    queries
        .into_iter()
        .map(|query| {
            let number = query.id.rsplit(':').next().and_then(|number| number.parse::<usize>().ok());
            let annotation =
                number.and_then(|number| annotations.get(number)).filter(|found| found.query == query.words);
            let annotation =
                annotation.with_context(|| format!("{} does not hold {}", file.display(), query.id))?;
            Ok(Question {
                targets: annotation.relevant.iter().chain(&annotation.secondary).filter_map(target).collect(),
                id: query.id,
                words: query.words,
                category: annotation.category.clone(),
                language: query.language,
                root: query.root.unwrap_or_default(),
            })
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
        let mut all = queries(&asked, None)?;
        assert_eq!(all.keys().collect::<Vec<_>>(), ["a", "b"]);
        let of = |repo: &str, all: &mut BTreeMap<String, Vec<Query>>| {
            all.remove(repo).context("no such repository")
        };
        let answers = right_answers(&right, of("a", &mut all)?)?;
        let lines = |at: usize| answers[at].targets.iter().map(|target| target.lines).collect::<Vec<_>>();
        assert_eq!((lines(0), lines(1)), (vec![None], vec![None, Some((3, 9))]));
        assert_eq!((answers[1].targets[0].path.as_str(), answers[1].words.as_str()), ("src/a/x.go", "three"));
        // Answers of another question, or none, are a mistake in the files and never a score.
        assert!(right_answers(&right, of("b", &mut all)?).is_err());
        assert!(queries(&asked, Some("c")).is_err());
        Ok(())
    }

    #[test]
    fn paths_of_hits_start_at_the_repository() {
        assert_eq!(from_root("src/a", "x/y.go"), "src/a/x/y.go");
        assert_eq!(from_root("./src/a/", "y.go"), "src/a/y.go");
        for root in ["", ".", "./"] {
            assert_eq!(from_root(root, "y.go"), "y.go");
        }
    }
}
