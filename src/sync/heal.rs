//! Keeps a failing disk from having the stores rebuilt without end.

use std::time::{Duration, Instant};

use crate::engine::Damage;

/// After a failure, the pause before the next try.
pub(super) const RETRY: Duration = Duration::from_secs(3);
/// What is damaged again within this time is not damaged by chance.
const SOON: Duration = Duration::from_secs(600);
/// Maximum pause.
const MAX_PAUSE: Duration = Duration::from_secs(600);

/// How often the stores were mended of late.
#[derive(Debug, Default)]
pub(super) struct RepairBackoff {
    catalog: Attempts,
    words: Attempts,
    crashes: Attempts,
}

#[derive(Debug, Default)]
struct Attempts {
    count: u32,
    last: Option<Instant>,
}

impl Attempts {
    /// Counts an attempt, and gives the pause that has to pass before it: none for the first in a while, then ever longer.
    fn next(&mut self, now: Instant) -> Option<Duration> {
        let soon = self.last.is_some_and(|last| now.duration_since(last) < SOON + self.pause().unwrap_or_default());
        self.count = if soon { self.count + 1 } else { 1 };
        self.last = Some(now);
        self.pause()
    }

    fn pause(&self) -> Option<Duration> {
        let doubled = self.count.checked_sub(2)?;
        Some(RETRY.saturating_mul(1 << doubled.min(16)).min(MAX_PAUSE))
    }
}

impl RepairBackoff {
    /// Counts one more time that a store has to be rebuilt. When that was due a short while ago too, gives the pause to make
    /// first.
    pub(super) fn pause(&mut self, damage: &Damage, now: Instant) -> Option<Duration> {
        match damage {
            Damage::Words(_) => self.words.next(now),
            _ => self.catalog.next(now),
        }
    }

    /// Counts an unexpected failure, and gives the pause before the stores are opened again.
    pub(super) fn pause_after_crash(&mut self, now: Instant) -> Duration {
        self.crashes.next(now).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_again_and_again_is_mended_ever_more_seldom() {
        let (mut backoff, mut now) = (RepairBackoff::default(), Instant::now());
        let (catalog, words) = (Damage::Catalog(String::new()), Damage::Words(String::new()));
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let pause = backoff.pause(&catalog, now).unwrap_or_default();
            pauses.push(pause.as_secs());
            now += pause + Duration::from_secs(1);
        }
        assert_eq!(pauses, [0, 3, 6, 12, 24, 48, 96, 192, 384, 600, 600, 600]);
        assert_eq!(backoff.pause(&words, now), None, "each store has its own count");
        assert_eq!(backoff.pause(&catalog, now + SOON + MAX_PAUSE), None, "long ago does not count");
    }
}
