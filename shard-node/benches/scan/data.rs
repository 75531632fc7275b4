//! Codes and queries to measure with: from files, or random.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result, ensure};

use crate::options::Options;

/// Queries that are asked in turn, so that no lucky one decides.
pub(crate) const QUERIES: usize = 32;

/// Codes row after row, and queries.
pub(crate) struct Data {
    pub(crate) codes: Vec<u64>,
    pub(crate) queries: Vec<u64>,
    pub(crate) words: usize,
}

impl Data {
    pub(crate) fn open(options: &Options) -> Result<Self> {
        let words = options.bits / 64;
        let (codes, queries) = if let Some((codes, queries)) = &options.files {
            (read(codes, options.rows * words)?, read(queries, QUERIES * words)?)
        } else {
            let mut noise = Noise(7);
            let mut many = |count: usize| (0..count).map(|_| noise.next()).collect::<Vec<_>>();
            (many(options.rows * words), many(QUERIES * words))
        };
        Ok(Self { codes, queries, words })
    }

    /// The query of a round.
    pub(crate) fn query(&self, round: usize) -> &[u64] {
        let at = round % QUERIES * self.words;
        &self.queries[at..at + self.words]
    }
}

fn read(file: &str, words: usize) -> Result<Vec<u64>> {
    let mut bytes = vec![0; words * 8];
    let mut from = File::open(file).with_context(|| format!("{file} cannot be opened"))?;
    from.read_exact(&mut bytes)
        .with_context(|| format!("{file} has not the {words} words that were asked for"))?;
    ensure!(!bytes.is_empty(), "{file} is empty");
    Ok(bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// SplitMix64: the same codes in every run.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
