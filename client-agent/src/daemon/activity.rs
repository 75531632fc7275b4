//! Who is being served, and since when nobody is.
//!
//! Must not know what for.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// What goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Requests under way.
    pub requests: usize,
    /// When the number last changed.
    pub since: Instant,
}

impl State {
    /// When nobody will have been served for `time`; `None` while somebody is.
    pub fn idle_at(&self, time: Duration) -> Option<Instant> {
        (self.requests == 0).then(|| self.since + time)
    }
}

/// Counts requests.
#[derive(Debug, Clone)]
pub struct Activity {
    state: Arc<watch::Sender<State>>,
}

/// A request under way, until it is dropped.
#[derive(Debug)]
pub struct Busy {
    state: Arc<watch::Sender<State>>,
}

impl Default for Activity {
    fn default() -> Self {
        let state = State { requests: 0, since: Instant::now() };
        Self { state: Arc::new(watch::Sender::new(state)) }
    }
}

impl Activity {
    /// A request begins.
    pub fn begin(&self) -> Busy {
        self.state
            .send_modify(|state| *state = State { requests: state.requests + 1, since: Instant::now() });
        Busy { state: Arc::clone(&self.state) }
    }

    /// What goes on now, and a way to hear of changes.
    pub fn watch(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.state.send_modify(|state| {
            *state = State { requests: state.requests.saturating_sub(1), since: Instant::now() };
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_is_when_the_last_one_left() {
        let activity = Activity::default();
        let watch = activity.watch();
        let (a, b) = (activity.begin(), activity.begin());
        drop(a);
        assert_eq!(watch.borrow().idle_at(Duration::ZERO), None);
        drop(b);
        let state = *watch.borrow();
        assert_eq!(state.requests, 0);
        assert_eq!(state.idle_at(Duration::from_secs(9)), Some(state.since + Duration::from_secs(9)));
    }
}
