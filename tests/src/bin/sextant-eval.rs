//! `sextant-eval`: words → measurement → table on standard output.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sextant_tests::eval::chunks::{self, ChunksArgs};
use sextant_tests::eval::demo::{self, DemoArgs};
use sextant_tests::eval::retrieval::{self, RetrievalArgs};
use sextant_tests::eval::tune::{self, TuneArgs};

/// Measures Sextant on real repositories.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Asks the questions of a benchmark and prints NDCG@10, MRR@10 and recall@10.
    Retrieval(RetrievalArgs),
    /// Tells what each rule of the order is worth, and fits its constants with cross-validation.
    Tune(TuneArgs),
    /// Judges how real files are cut: what was torn, what changes with an edit; fails where a rule is broken.
    Chunks(ChunksArgs),
    /// Indexes a folder, asks prepared questions and times both; fails where too few find their file.
    Demo(DemoArgs),
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout();
    let good = match Cli::parse().command {
        Command::Retrieval(args) => retrieval::run(&args, &mut out).await.map(|()| true)?,
        Command::Tune(args) => tune::run(&args, &mut out).await.map(|()| true)?,
        Command::Chunks(args) => chunks::run(&args, &mut out)?,
        Command::Demo(args) => demo::run(&args, &mut out).await?,
    };
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
