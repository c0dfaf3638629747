//! Checks all stores against their checksums while nothing else is to do, and has mended what is damaged.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::shared::Verified;
use super::worker::{Next, Worker, WorkerMessage};
use crate::engine::{Damage, EmbeddingId, EngineError, Findings};

/// Delay until the first check after the start; it comes at once when the stores were not closed.
const FIRST_DELAY: Duration = Duration::from_secs(60);
/// A search that meets damage has everything checked, but not more often than this: what a check does not find, the next one
/// does not find either.
const SUSPECT_EVERY: Duration = Duration::from_secs(60);
/// Rest after a step, as a multiple of the time it took: in the background a check works for a tenth of the time.
const REST_FACTOR: u32 = 9;
/// Interval at which it is checked whether the writer has work.
const BUSY_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of embeddings that are dropped at a time.
const DROP: usize = 500;

/// Counts the checks of this process, to tell a report on stores that are closed since.
static RUNS: AtomicU64 = AtomicU64::new(1);

/// How a check is steered from outside.
#[derive(Debug, Default)]
struct CheckControl {
    stop: AtomicBool,
    /// Somebody waits for the result.
    urgent: AtomicBool,
    /// The writer has work, which comes first.
    busy: AtomicBool,
}

impl CheckControl {
    /// Called after a step that took `worked`: rests, and says whether to go on.
    fn go_on(&self, worked: Duration) -> bool {
        let rested = Instant::now();
        while !self.stop.load(Ordering::Relaxed) && !self.urgent.load(Ordering::Relaxed) {
            let left = (worked * REST_FACTOR).saturating_sub(rested.elapsed());
            match self.busy.load(Ordering::Relaxed) {
                true => std::thread::sleep(BUSY_CHECK_INTERVAL),
                false if left.is_zero() => break,
                false => std::thread::sleep(left.min(BUSY_CHECK_INTERVAL)),
            }
        }
        !self.stop.load(Ordering::Relaxed)
    }
}

/// What a check came to, and which check it was.
pub(super) struct VerifyReport {
    run: u64,
    took: Duration,
    result: Result<Option<Findings>, EngineError>,
}

/// The checks of one worker.
pub(super) struct Verifying {
    next: Option<Instant>,
    running: Option<(JoinHandle<()>, Arc<CheckControl>)>,
    /// The number of the check that runs, or ran last.
    run: u64,
    waiting: Vec<Sender<Verified>>,
    last: Option<Instant>,
    /// Embeddings that nothing uses, still to be dropped.
    unused: Vec<EmbeddingId>,
}

impl Verifying {
    pub(super) fn new(every_hours: u64, suspicious: bool) -> Self {
        let after = if suspicious { Duration::ZERO } else { FIRST_DELAY };
        let next = (every_hours > 0).then(|| Instant::now() + after);
        Self { next, running: None, run: 0, waiting: Vec::new(), last: None, unused: Vec::new() }
    }

    /// When a check is due, while none runs.
    fn due(&self) -> Option<Instant> {
        self.next.filter(|_| self.running.is_none())
    }

    /// Says whether the writer has work.
    pub(super) fn set_busy(&self, busy: bool) {
        if let Some((_, control)) = &self.running {
            control.busy.store(busy, Ordering::Relaxed);
        }
    }

    /// Those who wait for a result that does not come.
    pub(super) fn take_waiting(&mut self) -> Vec<Sender<Verified>> {
        std::mem::take(&mut self.waiting)
    }

    /// Ends a check under way.
    pub(super) fn stop(&mut self) {
        if let Some((thread, control)) = self.running.take() {
            control.stop.store(true, Ordering::Relaxed);
            let _ = thread.join();
        }
    }
}

impl Worker<'_> {
    /// While nothing else is to do: starts a check that is due, and drops embeddings that nothing uses. Says when to be
    /// called again, `until` at the latest.
    pub(super) fn verify_when_idle(&mut self, until: Instant) -> Result<Instant, EngineError> {
        let now = Instant::now();
        if self.verifying.due().is_some_and(|due| due <= now) {
            self.start_check(false);
        }
        let left = self.verifying.unused.len().min(DROP);
        if left > 0 {
            let unused: Vec<EmbeddingId> = self.verifying.unused.drain(..left).collect();
            self.store.drop_unused(&unused)?;
            return Ok(now);
        }
        Ok(self.verifying.due().map_or(until, |due| due.min(until)))
    }

    /// Checks everything now. With `done` somebody waits for the result; without, a search has met damage.
    pub(super) fn verify(&mut self, done: Option<Sender<Verified>>) {
        let lately = |last: Instant| last.elapsed() < SUSPECT_EVERY;
        if done.is_none() && (self.verifying.running.is_some() || self.verifying.last.is_some_and(lately)) {
            return;
        }
        self.verifying.waiting.extend(done);
        self.start_check(true);
    }

    /// Has a check made soon that drops what nothing uses, when that may be much.
    pub(super) fn check_if_many_unused(&mut self) {
        if self.verifying.running.is_none() && self.verifying.unused.is_empty() && self.store.has_many_unused() {
            self.verifying.next = Some(Instant::now());
        }
    }

    fn start_check(&mut self, urgent: bool) {
        if let Some((_, control)) = &self.verifying.running {
            control.urgent.fetch_or(urgent, Ordering::Relaxed);
            return;
        }
        self.verifying.run = RUNS.fetch_add(1, Ordering::Relaxed);
        let (run, check, messages) = (self.verifying.run, self.store.check(), self.messages.clone());
        let control = Arc::new(CheckControl { urgent: urgent.into(), ..CheckControl::default() });
        let steered = Arc::clone(&control);
        let thread = std::thread::spawn(move || {
            if !urgent {
                stand_back();
            }
            let started = Instant::now();
            let mut step = Instant::now();
            let steps = || {
                check(&mut || {
                    let go_on = steered.go_on(step.elapsed());
                    step = Instant::now();
                    go_on
                })
            };
            let result = catch_unwind(AssertUnwindSafe(steps)).unwrap_or(Ok(None));
            let _ = messages.send(WorkerMessage::Verified(VerifyReport { run, took: started.elapsed(), result }));
        });
        self.verifying.running = Some((thread, control));
    }

    /// Says what opening the stores, or reading embeddings, has found wrong and mended.
    pub(super) fn say_notices(&mut self) {
        self.store.take_notices().iter().for_each(|notice| self.shared.say_mended(notice));
    }

    /// Takes what a check came to: says it, and mends what is damaged.
    pub(super) fn verified(&mut self, report: VerifyReport) -> Result<(), EngineError> {
        let VerifyReport { run, took, result } = report;
        if run != self.verifying.run || self.verifying.running.take().is_none() {
            return Ok(());
        }
        let now = Instant::now();
        self.verifying.last = Some(now);
        self.verifying.next = match self.options.index.verify_hours {
            0 => None,
            hours => Some(now + Duration::from_secs(hours * 3600)),
        };
        let findings = result.unwrap_or_else(|error| {
            tracing::warn!("the index could not be checked: {error}");
            None
        });
        let Some(findings) = findings else {
            self.verifying.waiting.clear();
            return Ok(());
        };
        let Findings { damage, files, chunks, embeddings, unused } = findings;
        let verified = Verified {
            at_ms: Timestamp::now().as_millisecond(),
            took_ms: took.as_millis() as u64,
            counts: [files, chunks, embeddings],
            damage: damage.iter().map(Damage::to_string).collect(),
        };
        self.shared.update(|progress| progress.verified = Some(verified.clone()));
        self.verifying.unused = unused;
        for damage in damage {
            self.mend(damage)?;
        }
        self.report();
        for done in self.verifying.waiting.drain(..) {
            let _ = done.send(verified.clone());
        }
        Ok(())
    }

    fn mend(&mut self, damage: Damage) -> Result<(), EngineError> {
        if damage.closes() {
            // Searches until then are answered from what is intact.
            if matches!(damage, Damage::Words(_)) {
                self.shared.publish(self.store.publish_without_words()?);
            }
            // The catalog takes the words with it; whatever else ends the work comes first.
            if matches!(self.next, None | Some(Next::Heal(Damage::Words(_)))) {
                self.next = Some(Next::Heal(damage));
            }
            self.shared.update(|progress| progress.caught_up = false);
            return Ok(());
        }
        self.shared.say_mended(&damage.to_string());
        // A graph that is being built will be saved in its place.
        if self.builder.is_some() && matches!(damage, Damage::Graph(_)) {
            return Ok(());
        }
        self.store.mend(&damage)
    }
}

/// Lets every other thread of the system go first.
fn stand_back() {
    // On Linux a thread has a priority of its own; elsewhere this would be the whole process's.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 19);
}
