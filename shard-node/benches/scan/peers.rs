//! Other programs that scan the same codes, asked in turn with ours: a Python process that reads a peer's name and a
//! query's number a line, and answers with seconds.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::data::QUERIES;
use crate::options::Options;

pub(crate) struct Peers {
    process: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peers {
    /// Starts them, where the options name them; they need the codes in files.
    pub(crate) fn start(options: &Options) -> Result<Option<Self>> {
        let (Some((python, script)), Some((codes, queries))) = (&options.peers, &options.files) else {
            return Ok(None);
        };
        let mut process = Command::new(python)
            .args([script.as_str(), codes, queries])
            .args([options.rows, options.bits, QUERIES].map(|number| number.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{python} {script} cannot be started"))?;
        let (Some(ask), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            bail!("{script} has no pipes");
        };
        let mut peers = Self { process, ask, answers: BufReader::new(answers) };
        peers.line()?;
        Ok(Some(peers))
    }

    /// Seconds a query of peer `name`.
    pub(crate) fn seconds(&mut self, name: &str, query: usize) -> Result<f64> {
        writeln!(self.ask, "{name} {query}")?;
        self.line()?.trim().parse().context("the peers' answer is no number")
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            bail!("the peers' process ended; see what it said above");
        }
        Ok(line)
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
