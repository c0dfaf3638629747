//! When a model that failed is asked again, and which texts are to blame.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::index::engine::ContentHash;

/// The pauses after the first failures in a row.
const FIRST: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// The one after those; then each is twice as long.
const NEXT: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(3600);

/// Number of times that a text has failed alone, when others were answered, after which it is what is wrong.
const FAILED_ALONE: u32 = 2;

/// The pause after so many failures in a row.
pub(super) fn pause(failures: u32) -> Duration {
    let first = failures.checked_sub(1).and_then(|at| FIRST.get(at as usize));
    first.copied().unwrap_or_else(|| NEXT.saturating_mul(1 << failures.saturating_sub(4).min(16)).min(LONGEST))
}

/// Failures that may pass, of requests with texts. The time is passed in.
#[derive(Debug, Default)]
pub(super) struct Retry {
    /// In a row.
    failures: u32,
    /// When the last of them was. What was sent before failed for the same reason.
    last: Option<Instant>,
    /// Nothing is sent before.
    until: Option<Instant>,
    /// Nothing is sent any more.
    is_over: bool,
    /// Texts that had failed alone when others were answered, and how often that was.
    alone: HashMap<ContentHash, u32>,
    /// Texts that failed alone, and wait until it is known who is to blame.
    held: Vec<ContentHash>,
}

/// What becomes of texts that were held.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Released {
    /// They are tried again.
    pub again: Vec<ContentHash>,
    /// The model works, and not for them.
    pub given_up: Vec<ContentHash>,
}

impl Retry {
    /// Counts a request that failed, of those that were sent `sent`; `asked` is the pause that the model asked for.
    pub(super) fn failed(&mut self, sent: Instant, now: Instant, asked: Option<Duration>) {
        if self.last.is_none_or(|last| sent > last) {
            self.failures += 1;
            self.last = Some(now);
        }
        let pause = pause(self.failures).max(asked.unwrap_or_default());
        self.until = self.until.max(Some(now + pause));
    }

    /// Keeps a text that failed alone from the others. That is no fault of its own yet: all may fail now.
    pub(super) fn hold(&mut self, text: ContentHash) {
        if !self.held.contains(&text) {
            self.held.push(text);
        }
    }

    /// The model has answered, with vectors for `done`: says what becomes of the texts that are held.
    pub(super) fn answered(&mut self, done: &[ContentHash]) -> Released {
        (self.failures, self.last, self.until) = (0, None, None);
        for text in done {
            self.alone.remove(text);
        }
        let mut released = Released::default();
        for text in std::mem::take(&mut self.held) {
            let count = self.alone.entry(text).or_default();
            *count += 1;
            if *count >= FAILED_ALONE {
                self.alone.remove(&text);
                released.given_up.push(text);
            } else {
                released.again.push(text);
            }
        }
        released
    }

    /// Takes the texts that are held, where nothing else is left to try.
    pub(super) fn take_held(&mut self) -> Vec<ContentHash> {
        std::mem::take(&mut self.held)
    }

    /// Sends nothing any more.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// Whether nothing is sent any more.
    pub(super) fn has_ended(&self) -> bool {
        self.is_over
    }

    /// Whether a request may be sent.
    pub(super) fn may_send(&self, now: Instant) -> bool {
        !self.is_over && self.until.is_none_or(|until| until <= now)
    }

    /// When one may be, where none may now.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| *until > now && !self.is_over)
    }

    /// How many may be under way, of `usual`: one tries for all.
    pub(super) fn in_flight(&self, usual: usize) -> usize {
        if self.failures > 0 { 1 } else { usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: u8) -> ContentHash {
        ContentHash::from_bytes([number; 16])
    }

    #[test]
    fn pauses_are_1_2_4_seconds_and_then_a_minute_to_an_hour() {
        let seconds: Vec<u64> = (1..13).map(|failures| pause(failures).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
        assert_eq!(pause(u32::MAX), LONGEST);
    }

    #[test]
    fn requests_that_fail_together_count_once() {
        let (mut retry, start) = (Retry::default(), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        for sent in [0, 1, 2] {
            retry.failed(at(sent), at(10 + sent), None);
        }
        assert!(!retry.may_send(at(1000)) && retry.may_send(at(1013)), "the pause is of one failure");
        assert_eq!((retry.in_flight(3), retry.due(at(1000)), retry.due(at(1013))), (1, Some(at(1012)), None));
        retry.failed(at(1013), at(1020), None);
        assert!(!retry.may_send(at(3019)) && retry.may_send(at(3020)));
        retry.failed(at(3020), at(3020), Some(Duration::from_secs(100)));
        assert!(!retry.may_send(at(103_019)), "as long as it was asked for");
        assert_eq!(retry.answered(&[]), Released::default());
        assert!(retry.may_send(at(3021)));
        retry.end();
        assert!(!retry.may_send(at(9_999_999)) && retry.due(at(3021)).is_none());
    }

    #[test]
    fn a_text_is_given_up_when_it_alone_fails_and_not_when_all_do() {
        let (mut retry, now) = (Retry::default(), Instant::now());
        // Everything fails for hours.
        for number in 0..9 {
            retry.failed(now, now, None);
            retry.hold(text(number));
        }
        let released = retry.answered(&[]);
        assert_eq!((released.again.len(), released.given_up.len()), (9, 0));
        // One of them again, and others do not.
        retry.hold(text(3));
        assert_eq!(retry.answered(&[]), Released { again: Vec::new(), given_up: vec![text(3)] });
        // It gets its chances anew.
        retry.hold(text(3));
        assert_eq!(retry.answered(&[]).again, [text(3)]);
    }

    #[test]
    fn texts_that_fail_alone_all_through_an_outage_are_not_to_blame() {
        let (mut retry, now) = (Retry::default(), Instant::now());
        // Several rounds, in each of which all texts fail, one after the other.
        for _ in 0..5 {
            for number in 0..2 {
                retry.failed(now, now, None);
                retry.hold(text(number));
            }
            assert_eq!(retry.take_held(), [text(0), text(1)]);
        }
        retry.hold(text(0));
        let released = retry.answered(&[text(1)]);
        assert_eq!(released, Released { again: vec![text(0)], given_up: Vec::new() }, "nothing else was answered");
        // It is embedded, so that its next outage is its first.
        assert_eq!(retry.answered(&[text(0)]), Released::default());
        retry.hold(text(0));
        assert_eq!(retry.answered(&[text(1)]).again, [text(0)]);
    }
}
