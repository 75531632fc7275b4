//! Progress on standard error: bars on a terminal, only notes elsewhere, nothing when told to be quiet.
//!
//! Must not know what is being done; it hears numbers. Called from several threads.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::print;
use crate::report::Progress;

/// Work that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(400);
const FILES: &str = "files  [{bar:28}] {human_pos}/{human_len}";
const CHUNKS: &str = "chunks [{bar:28}] {human_pos}/{human_len}  {per_sec:.1}  {eta} left";

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
                bar.set_style(style.progress_chars("=> "));
            }
            // What was there before the bar says nothing of the speed from here on.
            bar.set_position(done);
            bar.reset_eta();
            bar
        });
        bar.set_length(total);
        bar.set_position(done);
    }
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
