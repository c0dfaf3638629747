//! Requests to one endpoint: each on a thread of its own, within limits of time, and none where it would come to nothing.

use std::collections::HashMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::breaker::Breaker;
use super::super::{ModelError, ModelErrorKind, ModelTrouble};
use super::client::EndpointClient;

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
    breaker: Mutex<Breaker>,
    /// Why the last request had no answer. A refusal stays: nothing is sent after it.
    failure: Mutex<Option<EndpointFailure>>,
    waiting: Mutex<WaitingCalls>,
}

/// What the endpoint did, as the end of a sentence, and whether it may do better another time.
#[derive(Debug, Clone)]
struct EndpointFailure {
    is_refusal: bool,
    problem: String,
}

/// Who waits.
#[derive(Default)]
struct WaitingCalls {
    is_stopped: bool,
    next: u64,
    /// Tells one who waits that it was stopped.
    stops: HashMap<u64, Box<dyn FnOnce() + Send>>,
}

impl EndpointCalls {
    pub(in crate::models) fn new(client: EndpointClient) -> Self {
        Self {
            client: Arc::new(client),
            breaker: Mutex::default(),
            failure: Mutex::default(),
            waiting: Mutex::default(),
        }
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
        if let Some(refusal) = self.failure().clone().filter(|failure| failure.is_refusal) {
            return Err(self.client.failed(ModelErrorKind::Refused, refusal.problem));
        }
        self.breaker().enter(now).map_err(|left| self.is_left_alone(left))?;
        let client = Arc::clone(&self.client);
        let reply = self.wait_for(move || send(&client, left));
        match reply.as_ref().map_err(ModelError::kind) {
            // Whoever was in a hurry says nothing of the endpoint.
            Err(ModelErrorKind::Transient) if left < hurry && now.elapsed() >= left => {
                self.breaker().left();
                return Err(ModelError::TimedOut);
            }
            Err(ModelErrorKind::Transient) => self.breaker().failed(Instant::now()),
            Err(ModelErrorKind::Stopped) => self.breaker().left(),
            Ok(_) | Err(ModelErrorKind::Permanent | ModelErrorKind::Refused) => self.breaker().answered(),
        }
        self.note(reply.as_ref().err());
        reply
    }

    /// Sends a request of which the breaker and the others learn nothing, and waits for its end or a stop.
    ///
    /// # Errors
    /// When it fails, or the endpoint has refused for good, which counts as a stop.
    pub(super) fn ask_apart<T: Send + 'static>(
        &self,
        send: impl FnOnce(&EndpointClient) -> Result<T, ModelError> + Send + 'static,
    ) -> Result<T, ModelError> {
        if self.failure().as_ref().is_some_and(|failure| failure.is_refusal) {
            return Err(ModelError::Stopped);
        }
        let client = Arc::clone(&self.client);
        self.wait_for(move || send(&client))
    }

    /// Makes requests under way, and all later ones, return [`ModelError::Stopped`] at once.
    pub(in crate::models) fn stop(&self) {
        let mut waiting = self.waiting();
        waiting.is_stopped = true;
        waiting.stops.drain().for_each(|(_, stop)| stop());
    }

    /// For how long it is left alone, after it failed too often.
    pub(in crate::models) fn rests(&self) -> Option<Duration> {
        self.breaker().rests(Instant::now())
    }

    /// Why it does not answer.
    pub(in crate::models) fn trouble(&self) -> Option<ModelTrouble> {
        let EndpointFailure { is_refusal, problem } = self.failure().clone()?;
        Some(match is_refusal {
            true => ModelTrouble::Refused(self.client.failed(ModelErrorKind::Refused, problem).to_string()),
            false => ModelTrouble::Passing(self.client.failed(ModelErrorKind::Transient, problem).to_string()),
        })
    }

    /// Keeps in mind how a request ended.
    fn note(&self, error: Option<&ModelError>) {
        let now = match error {
            Some(ModelError::Endpoint { problem, kind, .. }) => match kind {
                ModelErrorKind::Transient => Some(EndpointFailure { is_refusal: false, problem: problem.clone() }),
                ModelErrorKind::Refused => Some(EndpointFailure { is_refusal: true, problem: problem.clone() }),
                ModelErrorKind::Permanent | ModelErrorKind::Stopped => None,
            },
            Some(ModelError::Stopped) => return,
            _ => None,
        };
        let mut failure = self.failure();
        // What was under way when it refused has nothing to add.
        if !failure.as_ref().is_some_and(|failure| failure.is_refusal) {
            *failure = now;
        }
    }

    /// Runs `ask` on a thread of its own, and waits for what it says, or for a stop.
    fn wait_for<T: Send + 'static>(
        &self,
        ask: impl FnOnce() -> Result<T, ModelError> + Send + 'static,
    ) -> Result<T, ModelError> {
        let (sender, replies) = channel();
        let call = {
            let mut waiting = self.waiting();
            if waiting.is_stopped {
                return Err(ModelError::Stopped);
            }
            waiting.next += 1;
            let (call, stopped) = (waiting.next, sender.clone());
            // It may have had its answer a moment ago.
            waiting.stops.insert(call, Box::new(move || _ = stopped.send(Err(ModelError::Stopped))));
            call
        };
        let thread = std::thread::Builder::new().name("endpoint".into()).spawn(move || {
            // Nobody waits any more after a stop.
            let _ = sender.send(ask());
        });
        let reply = match thread {
            Ok(_) => replies.recv().unwrap_or(Err(ModelError::Stopped)),
            Err(error) => Err(self.client.failed(ModelErrorKind::Transient, format!("cannot be asked: {error}"))),
        };
        self.waiting().stops.remove(&call);
        reply
    }

    fn is_left_alone(&self, left: Duration) -> ModelError {
        let seconds = left.as_secs_f64().ceil();
        let problem = format!("failed several times in a row; the next attempt is in {seconds} s");
        let mut error = self.client.failed(ModelErrorKind::Transient, problem);
        if let ModelError::Endpoint { retry_after, .. } = &mut error {
            *retry_after = Some(left);
        }
        error
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self) -> MutexGuard<'_, Option<EndpointFailure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingCalls> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
