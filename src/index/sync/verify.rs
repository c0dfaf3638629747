//! Checks all stores against their checksums: after an unclean stop, where a search has met damage, and when somebody asks. Has mended
//! what is damaged. Leaves nothing of what was deleted in their files, when somebody says so: what they hold is a copy of notes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use super::shared::Verification;
use super::watching::shown_now;
use super::worker::{Next, Worker, WorkerMessage};
use crate::index::engine::{ContentHash, Damage, EngineError, Findings};

/// A search that meets damage has everything checked, but not more often than this: what a check does not find, the next one
/// does not find either.
const SUSPECT_EVERY: Duration = Duration::from_secs(60);

/// How long a check took, and what it came to.
type VerifyReport = (Duration, Result<Option<Findings>, EngineError>);

/// The checks of one worker.
#[derive(Default)]
pub(super) struct Verifying {
    /// The check that runs, and what stops it.
    running: Option<(JoinHandle<VerifyReport>, Arc<AtomicBool>)>,
    pub(super) waiting: Vec<Sender<Verification>>,
    last: Option<Instant>,
}

impl Verifying {
    /// Ends a check under way.
    pub(super) fn stop(&mut self) {
        if let Some((thread, stop)) = self.running.take() {
            stop.store(true, Ordering::Relaxed);
            let _ = thread.join();
        }
    }
}

impl Worker<'_> {
    /// Checks everything now. With `done` somebody waits for the result; without, the stores were not closed, or a search has met damage.
    pub(super) fn verify(&mut self, done: Option<Sender<Verification>>) {
        if done.is_none() && self.verifying.last.is_some_and(|last| last.elapsed() < SUSPECT_EVERY) {
            return;
        }
        self.verifying.waiting.extend(done);
        if self.verifying.running.is_some() {
            return;
        }
        let (check, messages) = (self.store.check(), self.messages.clone());
        let (stop, is_waited_for) = (Arc::<AtomicBool>::default(), !self.verifying.waiting.is_empty());
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            if !is_waited_for {
                stand_back();
            }
            let started = Instant::now();
            let steps = || check(&mut || !stopped.load(Ordering::Relaxed));
            let result = catch_unwind(AssertUnwindSafe(steps)).unwrap_or(Ok(None));
            let id = std::thread::current().id();
            let _ = messages.send(WorkerMessage::to_do(move |worker| worker.verified(id)));
            (started.elapsed(), result)
        });
        self.verifying.running = Some((thread, stop));
    }

    /// Says what opening the stores, or reading embeddings, has found wrong and mended.
    pub(super) fn say_notices(&mut self) {
        self.store.take_notices().iter().for_each(|notice| self.shared.say_mended(notice));
    }

    /// Takes what the check of a thread came to: says it, and mends what is damaged. One of before the stores were closed tells nothing.
    fn verified(&mut self, id: ThreadId) -> Result<(), EngineError> {
        let running = self.verifying.running.take_if(|(thread, _)| thread.thread().id() == id);
        let Some((thread, _)) = running else { return Ok(()) };
        let (took, result) = thread.join().unwrap_or((Duration::ZERO, Ok(None)));
        self.verifying.last = Some(Instant::now());
        let findings = result.unwrap_or_else(|error| {
            tracing::warn!("the index could not be checked: {error}");
            None
        });
        let Some(findings) = findings else {
            self.verifying.waiting.clear();
            return Ok(());
        };
        let Findings { damage, files, chunks, embeddings } = findings;
        let verified = Verification {
            at: shown_now(),
            took_ms: took.as_millis() as u64,
            files,
            chunks,
            embeddings,
            damage: damage.iter().map(Damage::to_string).collect(),
        };
        self.shared.update(|progress| progress.verified = Some(verified.clone()));
        for damage in damage {
            self.mend(damage)?;
        }
        self.report();
        for done in self.verifying.waiting.drain(..) {
            let _ = done.send(verified.clone());
        }
        // What is made anew next is not written to.
        if self.next.is_none() {
            self.store.prune_vectors(false)?;
        }
        Ok(())
    }

    fn mend(&mut self, damage: Damage) -> Result<(), EngineError> {
        if damage.closes() {
            // The catalog takes the words with it; whatever else ends the work comes first.
            if matches!(self.next, None | Some(Next::Heal(Damage::Words(_)))) {
                self.next = Some(Next::Heal(damage));
            }
            self.shared.update(|progress| progress.caught_up = false);
            return Ok(());
        }
        self.shared.say_mended(&damage.to_string());
        self.store.mend(&damage)
    }
}

/// Lets every other thread of the system go first.
fn stand_back() {
    // On Linux a thread has a priority of its own; elsewhere this would be the whole process's.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 19);
}

/// How often the log is tried to be emptied at once: the searches that are under way take milliseconds.
const TRIES: usize = 50;
/// Time between two tries.
const TRY_INTERVAL: Duration = Duration::from_millis(20);
/// The same where one search takes longer.
const TRY_LATER: Duration = Duration::from_millis(200);

/// What is left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Erasing {
    /// Nothing.
    Done,
    /// A reader of before keeps the log.
    Log,
    /// The index has not followed all changes yet.
    All,
}

impl Worker<'_> {
    /// Leaves nothing of what was deleted, nor of the embeddings of these names; says how many of those there were, and whether the log is empty.
    pub(super) fn erase(&mut self, contents: &[ContentHash]) -> Result<(usize, bool), EngineError> {
        let dropped = self.store.forget(contents)?;
        // Who reads from now on does without what was.
        self.publish()?;
        let mut is_empty = self.store.empty_log()?;
        for _ in 1..TRIES {
            if !is_empty {
                std::thread::sleep(TRY_INTERVAL);
                is_empty = self.store.empty_log()?;
            }
        }
        self.erasing = match (self.scanned && self.pending_files() == 0, is_empty) {
            (false, _) => Erasing::All,
            (true, false) => Erasing::Log,
            (true, true) => Erasing::Done,
        };
        Ok((dropped, is_empty))
    }

    /// Goes on with it where something is left; says until when to wait then.
    pub(super) fn erase_when_idle(&mut self, until: Instant) -> Result<Instant, EngineError> {
        match self.erasing {
            Erasing::Done => return Ok(until),
            Erasing::All => drop(self.erase(&[])?),
            Erasing::Log if self.store.empty_log()? => self.erasing = Erasing::Done,
            Erasing::Log => {}
        }
        Ok(if self.erasing == Erasing::Done { until } else { until.min(Instant::now() + TRY_LATER) })
    }
}
