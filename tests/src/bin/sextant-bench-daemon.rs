//! Measures what an idle daemon costs, and how soon it answers.

use clap::Parser;

use sextant_tests::bench_daemon::{Args, run};

fn main() -> anyhow::Result<()> {
    run(&Args::parse())
}
