//! Keeps a service that fails from being asked again and again.

use std::time::{Duration, Instant};

/// Maximum number of failures in a row; then nobody is let through.
const MOST_FAILURES: u32 = 5;
/// For how long; then one may try.
const OPEN_FOR: Duration = Duration::from_secs(60);

/// A circuit breaker. It counts what may pass by itself alone: who was refused was answered.
///
/// The time is passed in.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    /// When the last of too many failures was.
    opened: Option<Instant>,
    /// Since when somebody tries.
    trial: Option<Instant>,
}

impl Breaker {
    /// Lets a call through, or says for how long none is. Who is let through says how it ended.
    pub(super) fn enter(&mut self, now: Instant) -> Result<(), Duration> {
        let Some(opened) = self.opened else { return Ok(()) };
        // A trial that never said how it ended is forgotten after as long.
        let since = self.trial.map_or(opened, |trial| trial.max(opened));
        match (since + OPEN_FOR).checked_duration_since(now).filter(|left| !left.is_zero()) {
            Some(left) => Err(left),
            None => {
                self.trial = Some(now);
                Ok(())
            }
        }
    }

    /// For how long nobody is let through, as far as is known; whoever only looks is no trial.
    pub(super) fn rests(&self, now: Instant) -> Option<Duration> {
        let since = self.opened.map(|opened| self.trial.map_or(opened, |trial| trial.max(opened)))?;
        (since + OPEN_FOR).checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// It was answered, whatever the answer.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// It failed in a way that may pass.
    pub(super) fn failed(&mut self, now: Instant) {
        self.failures += 1;
        self.trial = None;
        if self.failures >= MOST_FAILURES {
            self.opened = Some(now);
        }
    }

    /// Nobody waited for the end.
    pub(super) fn left(&mut self) {
        self.trial = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_five_failures_it_is_closed_for_a_minute_but_for_one_trial() {
        let (mut breaker, start) = (Breaker::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        for _ in 0..4 {
            assert_eq!(breaker.enter(start), Ok(()));
            breaker.failed(start);
        }
        assert_eq!(breaker.enter(start), Ok(()), "four are not enough");
        breaker.failed(start);
        assert_eq!(breaker.enter(at(20)), Err(Duration::from_secs(40)));
        assert_eq!((breaker.rests(at(20)), breaker.rests(at(60))), (Some(Duration::from_secs(40)), None));
        assert_eq!(breaker.enter(at(60)), Ok(()), "one may try");
        assert_eq!(breaker.enter(at(60)), Err(Duration::from_secs(60)), "and no other meanwhile");
        breaker.failed(at(61));
        assert_eq!(breaker.enter(at(62)), Err(Duration::from_secs(59)), "it failed: another minute");
        assert_eq!(breaker.enter(at(121)), Ok(()));
        breaker.answered();
        for _ in 0..4 {
            breaker.failed(at(122));
            assert_eq!(breaker.enter(at(122)), Ok(()), "it begins anew");
        }
    }

    #[test]
    fn a_trial_that_nobody_waited_for_leaves_the_next_its_turn() {
        let (mut breaker, start) = (Breaker::default(), Instant::now());
        (0..5).for_each(|_| breaker.failed(start));
        let later = start + OPEN_FOR;
        assert_eq!(breaker.enter(later), Ok(()));
        breaker.left();
        assert_eq!(breaker.enter(later), Ok(()));
        // One of which nothing was ever heard holds up the others for a minute.
        assert_eq!(breaker.enter(later + OPEN_FOR), Ok(()));
    }

    #[test]
    fn failures_between_answers_do_not_add_up() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..20 {
            breaker.failed(now);
            breaker.answered();
        }
        assert_eq!(breaker.enter(now), Ok(()));
    }
}
