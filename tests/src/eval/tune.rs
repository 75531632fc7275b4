//! `sextant-eval tune`: what each rule of the order is worth, and what its constants would be if they were fitted on
//! other repositories than those they are judged on.
//!
//! The cluster and the lexical index are asked once a question; everything after is the product's own order over the
//! same candidates. It knows no repository and no question by name.

use std::io::Write;

use clap::Args;

use sextant_client::agent::{Agent, SearchOptions};
use sextant_client::rank::asked::Shape;
use sextant_client::rank::weights::Weights;
use sextant_client::rank::{Signals, order, signals};

use super::benchmark::{BenchmarkArgs, Repository, from_root, load};
use super::measures::{PLACES, Place, Target, mean, measure};

/// Gain below which a change of a constant is not kept.
const LEAST_GAIN: f64 = 0.0005;
/// Rounds over all constants.
const ROUNDS: usize = 3;

/// What is tuned on.
#[derive(Debug, Args)]
pub struct TuneArgs {
    #[command(flatten)]
    benchmark: BenchmarkArgs,
    /// Parts into which the repositories are dealt for cross-validation; by default each repository alone.
    #[arg(long)]
    folds: Option<usize>,
    /// Only what each rule is worth; no fitting.
    #[arg(long)]
    ablation: bool,
}

/// A question whose candidates are there.
struct Case {
    shape: Shape,
    places: Vec<Place>,
    signals: Vec<Signals>,
    targets: Vec<Target>,
}

type Repo = Vec<Case>;

/// A constant: its name, how it is set, and the values tried.
struct Knob {
    name: &'static str,
    set: fn(&mut Weights, f32),
    values: &'static [f32],
    /// The value at which the rule does nothing.
    off: f32,
}

const SHARES: &[f32] = &[0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0];
const ADDED: &[f32] = &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0];
const KEPT: &[f32] = &[0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

const KNOBS: &[Knob] = &[
    Knob { name: "semantic", set: |w, v| w.semantic = v, values: SHARES, off: 0.0 },
    Knob { name: "semantic, symbol", set: |w, v| w.semantic_symbol = v, values: SHARES, off: 0.0 },
    Knob {
        name: "sure words",
        set: |w, v| w.sure_words = v,
        values: &[0.01, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0],
        off: 0.01,
    },
    Knob { name: "definition", set: |w, v| w.definition = v, values: ADDED, off: 0.0 },
    Knob { name: "declared names", set: |w, v| w.declared = v, values: ADDED, off: 0.0 },
    Knob { name: "file stem", set: |w, v| w.stem = v, values: ADDED, off: 0.0 },
    Knob { name: "folder", set: |w, v| w.folder = v, values: ADDED, off: 0.0 },
    Knob { name: "tests", set: |w, v| w.test = v, values: KEPT, off: 1.0 },
    Knob { name: "examples", set: |w, v| w.example = v, values: KEPT, off: 1.0 },
    Knob { name: "old", set: |w, v| w.old = v, values: KEPT, off: 1.0 },
    Knob { name: "old version", set: |w, v| w.old_version = v, values: KEPT, off: 1.0 },
    Knob { name: "together", set: |w, v| w.together = v, values: ADDED, off: 0.0 },
    Knob { name: "file decay", set: |w, v| w.file_decay = v, values: &[0.5, 0.7, 0.8, 0.9, 1.0], off: 0.0 },
];

/// Runs the measurement and prints it.
pub async fn run(args: &TuneArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let (repositories, _) = load(&args.benchmark)?;
    let (agent, _guard) = super::agent(args.benchmark.data_dir.as_deref()).await?;
    let mut repos = Vec::new();
    for repository in &repositories {
        repository.index(&agent).await?;
        repos.push(cases(&agent, repository).await?);
    }
    agent.close().await;
    let all: Vec<&Repo> = repos.iter().collect();
    let default = Weights::default();
    let whole = score(&all, &default);
    writeln!(out, "NDCG@10 with the constants of the product: {whole:.4}")?;
    writeln!(out, "recall of the candidates: {:.4}\n", recall(&all))?;
    writeln!(out, "{:<18} {:>8} {:>8}", "without", "NDCG@10", "loss")?;
    let without = |name: &str, weights: &Weights, out: &mut dyn Write| {
        let left = score(&all, weights);
        writeln!(out, "{name:<18} {left:>8.4} {:>8.4}", whole - left)
    };
    for knob in KNOBS {
        let mut weights = default.clone();
        (knob.set)(&mut weights, knob.off);
        without(knob.name, &weights, out)?;
    }
    without("words", &Weights { semantic: 1.0, semantic_symbol: 1.0, ..default.clone() }, out)?;
    without("one a file", &Weights { one_a_file: false, ..default.clone() }, out)?;
    if args.ablation {
        return Ok(());
    }

    let fitted = fit(&all);
    writeln!(out, "\nfitted on all, judged on all: {:.4}\n{fitted:?}", score(&all, &fitted))?;
    let folds = args.folds.unwrap_or(repos.len()).clamp(2, repos.len().max(2));
    let mut held_out = Vec::new();
    writeln!(
        out,
        "\n{:<12} {:>8} {:>8}   fitted on the other folds, judged on this",
        "repository", "fitted", "product"
    )?;
    for fold in 0..folds {
        let is_in = |at: usize| at % folds == fold;
        let others: Vec<&Repo> =
            repos.iter().enumerate().filter(|(at, _)| !is_in(*at)).map(|(_, one)| one).collect();
        let weights = fit(&others);
        for (at, repo) in repos.iter().enumerate().filter(|(at, _)| is_in(*at)) {
            let value = score(&[repo], &weights);
            let name = &repositories[at].name;
            writeln!(out, "{name:<12} {value:>8.4} {:>8.4}", score(&[repo], &default))?;
            held_out.push(value);
        }
    }
    let mean = held_out.iter().sum::<f64>() / held_out.len().max(1) as f64;
    writeln!(out, "{folds}-fold cross-validation by repository: {mean:.4}")?;
    Ok(())
}

async fn cases(agent: &Agent, repository: &Repository) -> anyhow::Result<Repo> {
    let options = SearchOptions { refresh: false, ..SearchOptions::default() };
    let mut all = Vec::new();
    for question in &repository.questions {
        let gathered = agent.candidates(&question.words, &repository.folder, &options).await?;
        let place = |path: &str, lines| Place { path: from_root(&question.root, path), lines };
        let hits = gathered.candidates.iter().map(|one| &one.hit);
        all.push(Case {
            shape: gathered.asked.shape,
            places: hits.map(|hit| place(&hit.path, (hit.start_line, hit.end_line))).collect(),
            signals: signals(&gathered.asked, &gathered.words, &gathered.candidates),
            targets: question.targets.clone(),
        });
    }
    Ok(all)
}

/// Mean over repositories of the mean over questions.
fn score(repos: &[&Repo], weights: &Weights) -> f64 {
    let of_case = |case: &Case| {
        let paths: Vec<&str> = case.places.iter().map(|place| place.path.as_str()).collect();
        let order = order(case.shape, &paths, &case.signals, weights);
        let list: Vec<Place> =
            order.into_iter().take(PLACES).map(|(at, _)| case.places[at].clone()).collect();
        measure(&list, &case.targets)
    };
    let of_repo = |repo: &&Repo| mean(&repo.iter().map(of_case).collect::<Vec<_>>());
    mean(&repos.iter().map(of_repo).collect::<Vec<_>>()).ndcg
}

/// Share of targets that any candidate meets, mean over repositories.
fn recall(repos: &[&Repo]) -> f64 {
    let of_case = |case: &Case| {
        let met = |target: &&Target| case.places.iter().any(|place| target.is_met_by(place));
        case.targets.iter().filter(met).count() as f64 / case.targets.len().max(1) as f64
    };
    let of_repo = |repo: &&Repo| repo.iter().map(of_case).sum::<f64>() / repo.len().max(1) as f64;
    repos.iter().map(of_repo).sum::<f64>() / repos.len().max(1) as f64
}

/// Coordinate descent from the constants of the product: each in turn takes the value that is best, where it gains.
fn fit(repos: &[&Repo]) -> Weights {
    let mut best = Weights::default();
    let mut reached = score(repos, &best);
    for _ in 0..ROUNDS {
        let before = reached;
        for knob in KNOBS {
            for value in knob.values {
                let mut tried = best.clone();
                (knob.set)(&mut tried, *value);
                let now = score(repos, &tried);
                if now > reached + LEAST_GAIN {
                    (best, reached) = (tried, now);
                }
            }
        }
        if reached <= before {
            break;
        }
    }
    best
}
