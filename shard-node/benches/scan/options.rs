//! Words of the command line.

use anyhow::{Context, Result, bail, ensure};

/// What is measured.
#[derive(Debug)]
pub(crate) struct Options {
    /// Vectors.
    pub(crate) rows: usize,
    /// Bits of a code.
    pub(crate) bits: usize,
    /// Rounds; medians are shown.
    pub(crate) rounds: usize,
    /// Codes, row after row, and queries; random ones where absent.
    pub(crate) files: Option<(String, String)>,
    /// A Python that has the peers, and the script that runs them.
    pub(crate) peers: Option<(String, String)>,
    /// Where to write the table as JSON.
    pub(crate) json: Option<String>,
    /// Whether this is a measurement and no test.
    pub(crate) measure: bool,
}

impl Options {
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            rows: 1_000_000,
            bits: 2_048,
            rounds: 15,
            files: None,
            peers: None,
            json: None,
            measure: false,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--bench" => options.measure = true,
                "--rows" => options.rows = value()?.parse().context("--rows needs a number")?,
                "--bits" => options.bits = value()?.parse().context("--bits needs a number")?,
                "--rounds" => options.rounds = value()?.parse().context("--rounds needs a number")?,
                "--codes" => options.files = Some((value()?, value()?)),
                "--peers" => options.peers = Some((value()?, value()?)),
                "--json" => options.json = Some(value()?),
                _ => bail!(
                    "{arg} is not known: use --rows N, --bits B, --rounds N, --codes CODES QUERIES, \
                     --peers PYTHON SCRIPT, --json FILE"
                ),
            }
        }
        ensure!(options.rows > 0 && options.rounds > 0, "--rows and --rounds must be at least 1");
        ensure!(options.bits > 0 && options.bits.is_multiple_of(64), "--bits must be a multiple of 64");
        if !options.measure {
            (options.rows, options.rounds) = (options.rows.min(3_000), 1);
        }
        Ok(options)
    }
}
