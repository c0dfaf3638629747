//! Requests to one endpoint: each on a thread of its own, within limits of time, and none where it would come to nothing: a circuit breaker keeps a
//! service that fails from being asked again and again.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::{ModelError, ModelErrorKind, ModelTrouble};
use super::client::EndpointClient;

/// How often one who waits looks whether it was stopped.
const STOP_CHECK: Duration = Duration::from_millis(20);

/// How long a request may take.
#[derive(Debug, Clone, Copy)]
pub(in crate::models) struct Patience {
    /// In all, whoever waits.
    pub(in crate::models) timeout: Duration,
    /// Until when somebody waits.
    pub(in crate::models) deadline: Option<Instant>,
    /// Whoever waits less long than this is in a hurry, and learns nothing of the endpoint by not waiting.
    pub(in crate::models) hurry: Duration,
}

/// Asks an endpoint.
///
/// A request under way cannot be ended, so each has a thread of its own, and who waits for it can stop doing so.
pub(in crate::models) struct EndpointCalls {
    pub(in crate::models) client: Arc<EndpointClient>,
    state: Mutex<CallsState>,
}

#[derive(Default)]
struct CallsState {
    breaker: Breaker,
    /// Why the last request had no answer: what the endpoint did, as the end of a sentence. A refusal stays: nothing is sent after it.
    failure: Option<(ModelErrorKind, String)>,
    is_stopped: bool,
}

impl EndpointCalls {
    pub(in crate::models) fn new(client: EndpointClient) -> Self {
        Self { client: Arc::new(client), state: Mutex::default() }
    }

    /// Sends one request, and waits for its end, the deadline or a stop. `send` is told how long it may take.
    ///
    /// # Errors
    /// When it fails, the time is over, or it is not sent at all.
    pub(in crate::models) fn ask<T: Send + 'static>(
        &self,
        Patience { timeout, deadline, hurry }: Patience,
        send: impl FnOnce(&EndpointClient, Duration) -> Result<T, ModelError> + Send + 'static,
    ) -> Result<T, ModelError> {
        let now = Instant::now();
        let left = deadline.map_or(timeout, |deadline| deadline.saturating_duration_since(now).min(timeout));
        if left.is_zero() {
            return Err(ModelError::TimedOut);
        }
        {
            let state = self.state();
            if let Some((kind @ ModelErrorKind::Refused, problem)) = &state.failure {
                return Err(self.client.failed(*kind, problem));
            }
            if let Some(left) = state.breaker.rests(now) {
                return Err(self.is_left_alone(left));
            }
        }
        let client = Arc::clone(&self.client);
        let reply = self.wait_for(move || send(&client, left));
        let mut state = self.state();
        match reply.as_ref().map_err(ModelError::kind) {
            // Whoever was in a hurry says nothing of the endpoint.
            Err(ModelErrorKind::Transient) if left < hurry && now.elapsed() >= left => {
                return Err(ModelError::TimedOut);
            }
            Err(ModelErrorKind::Transient) => state.breaker.failed(Instant::now()),
            Err(ModelErrorKind::Stopped) => {}
            Ok(_) | Err(ModelErrorKind::Permanent | ModelErrorKind::Refused) => state.breaker.answered(),
        }
        state.note(reply.as_ref().err());
        reply
    }

    /// Makes requests under way, and all later ones, return [`ModelError::Stopped`] at once.
    pub(in crate::models) fn stop(&self) {
        self.state().is_stopped = true;
    }

    /// For how long it is left alone, after it failed too often.
    pub(in crate::models) fn rests(&self) -> Option<Duration> {
        self.state().breaker.rests(Instant::now())
    }

    /// Why it does not answer.
    pub(in crate::models) fn trouble(&self) -> Option<ModelTrouble> {
        let (kind, problem) = self.state().failure.clone()?;
        let reason = self.client.failed(kind, problem).to_string();
        Some(if kind == ModelErrorKind::Refused {
            ModelTrouble::Refused(reason)
        } else {
            ModelTrouble::Passing(reason)
        })
    }

    /// Runs `ask` on a thread of its own, and waits for what it says, or for a stop.
    fn wait_for<T: Send + 'static>(
        &self,
        ask: impl FnOnce() -> Result<T, ModelError> + Send + 'static,
    ) -> Result<T, ModelError> {
        if self.state().is_stopped {
            return Err(ModelError::Stopped);
        }
        let (sender, replies) = channel();
        let thread = std::thread::Builder::new().name("endpoint".into()).spawn(move || {
            // Nobody waits any more after a stop.
            let _ = sender.send(ask());
        });
        thread.map_err(|error| self.client.failed(ModelErrorKind::Transient, format!("cannot be asked: {error}")))?;
        loop {
            match replies.recv_timeout(STOP_CHECK) {
                Ok(reply) => return reply,
                Err(RecvTimeoutError::Timeout) if !self.state().is_stopped => {}
                Err(_) => return Err(ModelError::Stopped),
            }
        }
    }

    fn is_left_alone(&self, left: Duration) -> ModelError {
        let seconds = left.as_secs_f64().ceil();
        let problem = format!("failed several times in a row; the next attempt is in {seconds} s");
        self.client.failed_for(ModelErrorKind::Transient, problem, Some(left))
    }

    fn state(&self) -> MutexGuard<'_, CallsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallsState {
    /// Keeps in mind how a request ended.
    fn note(&mut self, error: Option<&ModelError>) {
        use ModelErrorKind::{Refused, Transient};
        // What was under way when it refused has nothing to add.
        if matches!(self.failure, Some((Refused, _))) {
            return;
        }
        match error {
            Some(ModelError::Endpoint { problem, kind: kind @ (Transient | Refused), .. }) => {
                self.failure = Some((*kind, problem.clone()));
            }
            Some(ModelError::Stopped) => {}
            _ => self.failure = None,
        }
    }
}

/// Maximum number of failures in a row; then nobody is let through.
const MOST_FAILURES: u32 = 5;
/// For how long; then it is tried again.
const OPEN_FOR: Duration = Duration::from_secs(60);

/// A circuit breaker. It counts what may pass by itself alone: who was refused was answered.
///
/// The time is passed in.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    /// When the last of too many failures was.
    opened: Option<Instant>,
}

impl Breaker {
    /// For how long nobody is let through.
    pub(super) fn rests(&self, now: Instant) -> Option<Duration> {
        (self.opened? + OPEN_FOR).checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// It was answered, whatever the answer.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// It failed in a way that may pass.
    pub(super) fn failed(&mut self, now: Instant) {
        self.failures += 1;
        if self.failures >= MOST_FAILURES {
            self.opened = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_five_failures_it_is_closed_for_a_minute() {
        let (mut breaker, start) = (Breaker::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        for _ in 0..5 {
            assert_eq!(breaker.rests(start), None, "four are not enough");
            breaker.failed(start);
        }
        assert_eq!((breaker.rests(at(20)), breaker.rests(at(60))), (Some(Duration::from_secs(40)), None));
        breaker.failed(at(61));
        assert_eq!(breaker.rests(at(62)), Some(Duration::from_secs(59)), "it failed: another minute");
        breaker.answered();
        for _ in 0..4 {
            breaker.failed(at(122));
            assert_eq!(breaker.rests(at(122)), None, "it begins anew");
        }
    }

    #[test]
    fn failures_between_answers_do_not_add_up() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..20 {
            breaker.failed(now);
            breaker.answered();
        }
        assert_eq!(breaker.rests(now), None);
    }
}
