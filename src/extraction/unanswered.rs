//! What becomes of a job that was not answered: tried again, put off or put aside.

use std::time::Duration;

use super::ask::Unasked;
use super::lane::{CHECK_INTERVAL, DAY_USED_UP, Extraction, ExtractionRest, SETTLE_DELAY};
use crate::state::{Job, MOST_ATTEMPTS, MOST_DELAY_MS, StateError};

impl Extraction {
    /// What is read is not what its job says: that follows in a moment, and then it is another job.
    pub(super) fn has_changed(&self, kind: &str, job: &Job) -> Result<ExtractionRest, StateError> {
        let later = self.now() + SETTLE_DELAY.as_millis() as i64;
        self.jobs.put_off(kind, job.key, later, false, "it has just changed")?;
        Ok(ExtractionRest::None)
    }

    /// What becomes of a job that was not answered.
    pub(super) fn unasked(&self, kind: &str, job: &Job, unasked: Unasked) -> Result<ExtractionRest, StateError> {
        let now = self.now();
        match unasked {
            Unasked::State(error) => {
                self.jobs.put_off(kind, job.key, now, false, "the state cannot be written")?;
                Err(error)
            }
            Unasked::Full(until) => {
                let later = until.max(now + 1_000);
                let [calls, tokens] = self.calls.totals(now)?.day;
                let memory = &self.workspace.config().memory;
                if calls < memory.calls_per_day && tokens < memory.tokens_per_day {
                    // Others that are smaller may go before.
                    self.jobs.put_off(kind, job.key, later, false, DAY_USED_UP)?;
                    return Ok(ExtractionRest::None);
                }
                self.jobs.put_off(kind, job.key, now, false, DAY_USED_UP)?;
                let left = Duration::from_millis(later.saturating_sub(now).max(1_000) as u64);
                Ok(self.waits_for(DAY_USED_UP.into(), left.min(CHECK_INTERVAL)))
            }
            Unasked::Changed => self.has_changed(kind, job),
            Unasked::Stopped => {
                self.jobs.put_off(kind, job.key, now, false, "the program ends")?;
                Ok(ExtractionRest::For(CHECK_INTERVAL))
            }
            Unasked::Refused(reason) => {
                self.jobs.put_off(kind, job.key, now, false, &reason)?;
                tracing::warn!("conversations are not read: {reason}");
                self.state_mut().stopped = Some(reason);
                Ok(ExtractionRest::For(CHECK_INTERVAL))
            }
            Unasked::Lasting(reason) => {
                self.jobs.bury(kind, job.key, false, &reason)?;
                Ok(ExtractionRest::None)
            }
            Unasked::Passing(reason, after) => {
                self.fails(kind, job, &reason, after)?;
                self.state_mut().waits = Some(reason);
                Ok(ExtractionRest::None)
            }
        }
    }

    /// A job failed in a way that may pass: it is tried again after 1, 2 and 4 s, then put aside.
    pub(super) fn fails(&self, kind: &str, job: &Job, reason: &str, after: Option<Duration>) -> Result<(), StateError> {
        if job.attempts >= MOST_ATTEMPTS {
            return self.jobs.bury(kind, job.key, true, reason);
        }
        let wait = Duration::from_secs(1 << job.attempts.saturating_sub(1)).max(after.unwrap_or_default());
        let wait = wait.min(Duration::from_millis(MOST_DELAY_MS as u64));
        self.jobs.put_off(kind, job.key, self.now() + wait.as_millis() as i64, true, reason)
    }
}
