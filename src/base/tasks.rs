//! Work in the background. A task says what it does, and when it is due next; that it is stopped, woken or panics is seen to here.
//!
//! Each has a thread of its own, so that one that waits for a model or for git holds up no other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::base::fs::FsError;

/// When a task is tried again that has panicked, whoever wakes it.
const RETRY_DELAY: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 60 });

/// Wakes a task, and tells it that it is stopped.
#[derive(Clone, Default)]
pub(crate) struct TaskSignal(Arc<(Mutex<Signalled>, Condvar)>);

#[derive(Default)]
struct Signalled {
    is_stopped: bool,
    is_woken: bool,
}

impl TaskSignal {
    /// Whether the task is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Makes the task due now. While it is at work, it is once more.
    pub(crate) fn wake(&self) {
        self.lock().is_woken = true;
        self.0.1.notify_all();
    }

    /// Waits for so long, or until the task is stopped or woken; says whether it was.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let mut signalled = self.wait(time, |signalled| signalled.is_stopped || signalled.is_woken);
        std::mem::take(&mut signalled.is_woken) || signalled.is_stopped
    }

    fn wait(&self, time: Duration, until: impl Fn(&Signalled) -> bool) -> MutexGuard<'_, Signalled> {
        let waited = self.0.1.wait_timeout_while(self.lock(), time, |signalled| !until(signalled));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until the task was not woken for so long, or for `most`; says whether it is stopped.
    pub(crate) fn wait_quiet(&self, quiet: Duration, most: Duration) -> bool {
        let since = Instant::now();
        while !self.is_stopped() && since.elapsed() < most && self.pause(quiet) {}
        self.is_stopped()
    }

    /// Ends the task.
    pub(crate) fn stop(&self) {
        self.lock().is_stopped = true;
        self.0.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Signalled> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task, until it is dropped: then it is stopped, and waited for. `S` is what it shows of itself.
pub(crate) struct Task<S = ()> {
    signal: TaskSignal,
    state: Arc<Mutex<S>>,
    thread: Option<JoinHandle<()>>,
    at_stop: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl<S: Clone + Default + Send + 'static> Task<S> {
    /// Starts a task. `step` does what is due, and says when it is due next, if at all; when it is woken, it is due before.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(
        name: &'static str,
        signal: TaskSignal,
        mut step: impl FnMut(&TaskSignal, &Mutex<S>) -> Option<Duration> + Send + 'static,
    ) -> Result<Self, FsError> {
        let state = Arc::<Mutex<S>>::default();
        let (signalled, shown) = (signal.clone(), Arc::clone(&state));
        let run = move || {
            while !signalled.is_stopped() {
                // Why it panicked is in the log.
                match catch_unwind(AssertUnwindSafe(|| step(&signalled, &shown))) {
                    Ok(Some(next)) => _ = signalled.pause(next),
                    Ok(None) => return,
                    Err(_) => {
                        tracing::error!("the task `{name}` failed, and is tried again in a minute; please report this");
                        drop(signalled.wait(RETRY_DELAY, |signalled| signalled.is_stopped));
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        let failed = |source| FsError { operation: "start a thread for", path: name.into(), source };
        Ok(Self { signal, state, thread: Some(thread.map_err(failed)?), at_stop: None })
    }

    /// Does this before it is waited for: what it is waiting for itself is called off.
    #[must_use]
    pub(crate) fn at_stop(mut self, call_off: impl FnOnce() + Send + Sync + 'static) -> Self {
        self.at_stop = Some(Box::new(call_off));
        self
    }

    /// What it has shown last.
    pub(crate) fn state(&self) -> S {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes it due now.
    #[cfg(test)]
    pub(crate) fn wake(&self) {
        self.signal.wake();
    }
}

impl<S> Drop for Task<S> {
    fn drop(&mut self) {
        self.signal.stop();
        if let Some(call_off) = self.at_stop.take() {
            call_off();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_task_is_due_when_it_said_and_when_it_is_woken_until_it_is_stopped() {
        let (steps, stepped) = channel();
        let mut pauses = [Duration::ZERO, LONG, LONG].into_iter();
        let task = Task::start("test", TaskSignal::default(), move |_, shown: &Mutex<usize>| {
            *shown.lock().unwrap() += 1;
            steps.send(()).unwrap();
            pauses.next()
        });
        let task = task.unwrap();
        stepped.recv().unwrap();
        stepped.recv().unwrap();
        task.wake();
        stepped.recv().unwrap();
        assert_eq!(task.state(), 3);
        drop(task);
        assert!(stepped.recv().is_err(), "it has ended");
    }

    #[test]
    fn a_task_that_is_woken_while_it_works_or_has_panicked_goes_on() {
        let (steps, stepped) = channel();
        let mut count = 0;
        let task = Task::<()>::start("test", TaskSignal::default(), move |signal, _| {
            count += 1;
            steps.send(count).unwrap();
            signal.wake();
            assert!(count > 1, "this is no failure of the test");
            (count < 3).then_some(LONG)
        });
        assert_eq!(stepped.iter().collect::<Vec<_>>(), [1, 2, 3]);
        drop(task);
    }
}
