//! Progress on standard error: bars on a terminal, only notes elsewhere, nothing when told to be quiet.
//!
//! Must not know what is being done; it hears numbers. Called from several threads.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{
    HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};

use crate::cli::print;
use crate::report::Progress;

/// Work that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(400);
const FILES: &str = "files  [{bar:28}] {human_pos}/{human_len}";
const CHUNKS: &str = "chunks [{bar:28}] {human_pos}/{human_len}  {speed}";

/// Progress of one command. The bars go when it is dropped.
pub(super) struct Bars {
    how: How,
    since: Instant,
    screen: MultiProgress,
    files: OnceLock<ProgressBar>,
    chunks: OnceLock<ProgressBar>,
}

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Bars,
    Notes,
    Nothing,
}

impl Bars {
    /// Progress of this process.
    pub(super) fn new(quiet: bool) -> Self {
        let how = choose(quiet, std::io::stderr().is_terminal());
        Self {
            how,
            since: Instant::now(),
            screen: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
            files: OnceLock::new(),
            chunks: OnceLock::new(),
        }
    }

    fn show(&self, bar: &OnceLock<ProgressBar>, template: &str, done: u64, total: u64) {
        if self.how != How::Bars || (bar.get().is_none() && self.since.elapsed() < PATIENCE) {
            return;
        }
        let bar = bar.get_or_init(|| {
            let bar = self.screen.add(ProgressBar::new(total));
            // A template that cannot be read leaves the default one.
            if let Ok(style) = ProgressStyle::with_template(template) {
                let since = Instant::now();
                let tell = move |state: &ProgressState, out: &mut dyn Write| {
                    let fresh = state.pos().saturating_sub(done);
                    let left = state.len().unwrap_or(0).saturating_sub(state.pos());
                    // The terminal is gone where this fails.
                    let _ = out.write_str(&speed(fresh, since.elapsed(), left));
                };
                bar.set_style(style.with_key("speed", tell).progress_chars("=> "));
            }
            bar
        });
        bar.set_length(total);
        bar.set_position(done);
    }
}

/// Speed and time left after `fresh` steps in `time`. What was done before the bar was shown says nothing of either.
fn speed(fresh: u64, time: Duration, left: u64) -> String {
    let rate = fresh as f64 / time.as_secs_f64();
    if fresh == 0 || !rate.is_finite() {
        return "…".to_owned();
    }
    let seconds = (left as f64 / rate).ceil();
    format!("{rate:.0}/s, {} left", HumanDuration(Duration::from_secs(seconds as u64)))
}

fn choose(quiet: bool, terminal: bool) -> How {
    match (quiet, terminal) {
        (true, _) => How::Nothing,
        (false, true) => How::Bars,
        (false, false) => How::Notes,
    }
}

impl Progress for Bars {
    fn files(&self, done: u64, total: u64) {
        self.show(&self.files, FILES, done, total);
    }

    fn chunks(&self, done: u64, total: u64) {
        self.show(&self.chunks, CHUNKS, done, total);
    }

    fn note(&self, line: &str) {
        match self.how {
            How::Bars => self.screen.suspend(|| print::note(line)),
            How::Notes => print::note(line),
            How::Nothing => {}
        }
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        for bar in [&self.files, &self.chunks].into_iter().filter_map(OnceLock::get) {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_for_terminals_and_quiet_is_quiet() {
        assert_eq!(choose(false, true), How::Bars);
        assert_eq!(choose(false, false), How::Notes);
        assert_eq!(choose(true, true), How::Nothing);
        assert_eq!(choose(true, false), How::Nothing);
    }

    #[test]
    fn the_templates_can_be_read() {
        for template in [FILES, CHUNKS] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn the_speed_is_that_of_the_fresh_steps() {
        assert_eq!(speed(300, Duration::from_secs(3), 1_000), "100/s, 10 seconds left");
        assert_eq!(speed(0, Duration::from_secs(3), 1_000), "…");
        assert_eq!(speed(3, Duration::ZERO, 1_000), "…");
        assert_eq!(speed(1, Duration::from_secs(9), 0), "0/s, 0 seconds left");
    }

    #[test]
    fn several_threads_may_report() {
        let mut bars = Bars::new(true);
        bars.how = How::Bars;
        bars.since -= PATIENCE;
        let bars = &bars;
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                scope.spawn(move || (0..100).for_each(|n| bars.chunks(n * thread, 400)));
            }
        });
        assert!(bars.files.get().is_none());
        assert_eq!(bars.chunks.get().and_then(ProgressBar::length), Some(400));
    }
}
