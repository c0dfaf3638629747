//! Whether a request may still change something.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

const OPEN: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

/// A request's turn to change something, which whoever waits for the answer may give up. It is one or the other: what was given up
/// changes nothing any more, and what is being changed is waited for. So nobody is told that nothing came of a change.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    stage: Arc<AtomicU8>,
    until: Option<Instant>,
}

/// It says nothing of who asks.
impl PartialEq for Turn {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Turn {}

impl Turn {
    /// A turn that is waited for until then.
    pub fn until(until: Instant) -> Self {
        Self { stage: Arc::default(), until: Some(until) }
    }

    /// Until when it is waited for; `None` where nobody minds.
    pub fn until_when(&self) -> Option<Instant> {
        self.until
    }

    /// How long it is waited for still; `None` where nobody minds.
    pub fn left(&self) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// Whether nobody waits any more, so that no more is to be done.
    pub fn is_over(&self) -> bool {
        match self.stage.load(Ordering::SeqCst) {
            OPEN => self.until.is_some_and(|until| until <= Instant::now()),
            stage => stage == GIVEN_UP,
        }
    }

    /// Begins to change something; false when that was given up, and nothing may be changed.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.go(OPEN, BEGUN) || self.stage.load(Ordering::SeqCst) == BEGUN
    }

    /// Says that nothing was changed after all.
    pub fn rest(&self) {
        self.go(BEGUN, OPEN);
    }

    /// Waits no more; false while something is being changed, or was.
    #[must_use]
    pub fn give_up(&self) -> bool {
        self.go(OPEN, GIVEN_UP)
    }

    fn go(&self, from: u8, to: u8) -> bool {
        self.stage.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_up_changes_nothing_and_what_has_begun_is_waited_for() {
        let turn = Turn::until(Instant::now());
        assert_eq!(turn.left(), Some(Duration::ZERO));
        assert!(turn.begin() && turn.begin() && !turn.give_up());
        turn.rest();
        assert!(turn.clone().give_up() && !turn.begin());
        assert_eq!(Turn::default().left(), None);
    }
}
