//! What was measured, for people and as JSON.

use std::io::Write;

use anyhow::{Context, Result};

/// One thing that was timed.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) median_s: f64,
    pub(crate) best_s: f64,
}

impl Line {
    pub(crate) fn of(name: String, mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        Self { name, median_s: seconds[seconds.len() / 2], best_s: seconds[0] }
    }
}

pub(crate) struct Table {
    pub(crate) rows: usize,
    pub(crate) bits: usize,
    pub(crate) rounds: usize,
    pub(crate) real: bool,
    pub(crate) load_s: f64,
    pub(crate) arena_bytes: usize,
    pub(crate) lines: Vec<Line>,
    /// Which scan, its recall, its share of the bytes.
    pub(crate) recall: Vec<(String, f64, f64)>,
}

impl Table {
    /// The read limit that a line is held against: that of as many threads.
    fn limit(&self, name: &str) -> (f64, f64) {
        let two = name.contains("2 threads") || name.contains("threads 2");
        let limit = if two { "read, 2 threads" } else { "read" };
        self.lines
            .iter()
            .find(|line| line.name == limit)
            .map_or((f64::NAN, f64::NAN), |line| (line.median_s, line.best_s))
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> Result<()> {
        let kind = if self.real { "from files" } else { "random" };
        let code_bytes = self.rows * self.bits / 8;
        writeln!(
            out,
            "{} codes of {} bits, {kind}, medians of {} rounds",
            self.rows, self.bits, self.rounds
        )?;
        writeln!(
            out,
            "arena: {:.3} x the bytes of its codes, filled in {:.2} s",
            self.arena_bytes as f64 / code_bytes as f64,
            self.load_s
        )?;
        writeln!(out, "{:<44} {:>9} {:>8} {:>9} {:>8}", "", "ms", "/ read", "best ms", "/ read")?;
        for line in &self.lines {
            let (median, best) = self.limit(&line.name);
            writeln!(
                out,
                "{:<44} {:>9.3} {:>8.3} {:>9.3} {:>8.3}",
                line.name,
                line.median_s * 1e3,
                line.median_s / median,
                line.best_s * 1e3,
                line.best_s / best
            )?;
        }
        writeln!(out, "{:<44} {:>9} {:>8}", "pruned against exact", "recall", "of bytes")?;
        for (name, recall, bytes) in &self.recall {
            writeln!(out, "{name:<44} {recall:>9.4} {bytes:>8.3}")?;
        }
        Ok(())
    }

    pub(crate) fn write_json(&self, file: Option<&str>) -> Result<()> {
        let Some(file) = file else { return Ok(()) };
        let lines: Vec<String> = self
            .lines
            .iter()
            .map(|line| {
                let (median, best) = (line.median_s * 1e3, line.best_s * 1e3);
                format!("{{\"name\":\"{}\",\"median_ms\":{median:.4},\"best_ms\":{best:.4}}}", line.name)
            })
            .collect();
        let recall: Vec<String> = self
            .recall
            .iter()
            .map(|(name, recall, bytes)| {
                format!("{{\"name\":\"{name}\",\"recall\":{recall:.5},\"of_bytes\":{bytes:.4}}}")
            })
            .collect();
        let json = format!(
            "{{\"rows\":{},\"bits\":{},\"rounds\":{},\"load_s\":{:.3},\"arena_bytes\":{},\"lines\":[{}],\"recall\":[{}]}}\n",
            self.rows,
            self.bits,
            self.rounds,
            self.load_s,
            self.arena_bytes,
            lines.join(","),
            recall.join(",")
        );
        std::fs::write(file, json).with_context(|| format!("cannot write the results to {file}"))
    }
}
