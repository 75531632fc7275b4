//! `sextant-eval`: measures the product on real repositories, in this process, with the model that users have.
//!
//! It knows files of questions and of right answers; only `tune` knows the constants of the order.

pub mod benchmark;
pub mod chunks;
pub mod demo;
pub mod measures;
pub mod retrieval;
pub mod tune;

use std::path::Path;

use anyhow::Context;
use sextant_client::agent::Agent;
use sextant_client::config::{Config, RawConfig, Surroundings};
use sextant_client::report::Silent;
use tempfile::TempDir;

/// An agent over `data_dir`, or over a folder that goes with the returned guard.
pub async fn agent(data_dir: Option<&Path>) -> anyhow::Result<(Agent, Option<TempDir>)> {
    let guard = match data_dir {
        Some(_) => None,
        None => Some(tempfile::tempdir().context("a temporary folder for the index")?),
    };
    let dir = data_dir.or(guard.as_ref().map(TempDir::path)).map(Path::to_owned);
    let flags = RawConfig { data_dir: dir, ..RawConfig::default() };
    let config = Config::load(flags, None, &Surroundings::of_process()?)?;
    Ok((Agent::open(&config, &Silent).await?, guard))
}

/// Writes `value` to `file`, where one was named.
pub fn write_json(file: Option<&Path>, value: &serde_json::Value) -> anyhow::Result<()> {
    match file {
        Some(file) => std::fs::write(file, serde_json::to_string_pretty(value)? + "\n")
            .with_context(|| format!("{} cannot be written", file.display())),
        None => Ok(()),
    }
}
