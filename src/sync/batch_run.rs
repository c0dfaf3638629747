//! One batch on its way, on a thread of its own: handed over, looked after, fetched.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use jiff::Timestamp;

use crate::engine::ContentHash;
use crate::models::{
    BatchEmbedder, BatchFile, BatchLook, BatchRecord, BatchRecords, BatchStatus, EmbeddedText, ModelError,
    ModelErrorKind,
};

/// The pause after the first look, and the longest; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// However soon the service wants to be asked again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// Maximum number of tries of what fails in a way that may pass, while it is handed over. Answers are paid for: they are fetched for as
/// long as the service has them.
const MOST_TRIES: u32 = 5;
/// Maximum number of refusals in a row; then a batch is not looked after any more.
const MOST_REFUSALS: u32 = 3;
/// A batch is to be done within 24 hours.
const GIVE_UP_AFTER_MS: i64 = 48 * 3600 * 1000;

/// Maximum number of embeddings that are reported at a time.
const PORTION: usize = 200;

/// What became of a batch.
pub(super) struct BatchReport {
    /// The number of the model.
    pub(super) model: u64,
    /// The number of the batch.
    pub(super) batch: u64,
    pub(super) event: BatchEvent,
}

pub(super) enum BatchEvent {
    /// It is handed over, and is like that.
    Status(BatchStatus),
    /// It has ended, and its answers cannot be fetched for this reason; that is tried again.
    Trouble(String),
    Embedded(Vec<(ContentHash, EmbeddedText)>),
    Ended(BatchEnd),
}

/// How a batch ended.
#[derive(Default)]
pub(super) struct BatchEnd {
    /// The file of requests, where it was handed over.
    pub(super) file: Option<String>,
    /// The other files at the service; `None` where the batch itself may go on there.
    pub(super) leftovers: Option<Vec<String>>,
    /// What went wrong.
    pub(super) problem: Option<String>,
    /// Whether it is better to hand over no more.
    pub(super) is_bad: bool,
}

/// What a batch begins with.
pub(super) enum BatchStart {
    New(BatchFile),
    /// One of before the start.
    Known(BatchRecord),
}

/// A batch on its way.
pub(super) struct BatchRun {
    pub(super) service: Arc<dyn BatchEmbedder>,
    pub(super) records: BatchRecords,
    pub(super) report: Box<dyn Fn(BatchEvent) + Send>,
    /// Ends when nobody wants it any more here; it goes on at the service.
    pub(super) stop: Receiver<()>,
}

/// Why a batch is not looked after any more.
enum Break {
    /// Nobody waits for it here.
    Stopped,
    Problem(String),
}

impl BatchRun {
    /// Looks after a batch to its end.
    pub(super) fn run(self, start: BatchStart) {
        let mut end = BatchEnd::default();
        match self.follow(start, &mut end) {
            Err(Break::Stopped) => return,
            Err(Break::Problem(problem)) => (end.problem, end.is_bad) = (Some(problem), true),
            Ok(()) => {}
        }
        (self.report)(BatchEvent::Ended(end));
    }

    fn follow(&self, start: BatchStart, end: &mut BatchEnd) -> Result<(), Break> {
        let (record, is_known) = match start {
            BatchStart::Known(record) => (record, true),
            BatchStart::New(file) => (self.hand_over(file)?, false),
        };
        end.file = Some(record.file.clone());
        let batch = match record.batch.clone() {
            Some(batch) => batch,
            None => self.begin(&record, is_known)?,
        };
        let look = self.wait_for_end(&batch, record.since_ms)?;
        end.leftovers = Some([&look.output, &look.errors].into_iter().flatten().cloned().collect());
        let (whole, mut left) = (record.contents().len(), record.contents().into_iter().collect());
        if let Some(output) = &look.output {
            self.fetch(output, &record, &mut left)?;
        }
        let said = look.errors.as_ref().filter(|_| !left.is_empty()).and_then(|file| self.service.complaint(file));
        end.problem = problem(&look, left.len(), whole, said);
        end.is_bad = look.status != BatchStatus::Completed || left.len() * 2 > whole;
        Ok(())
    }

    /// Uploads the file of requests, and writes down that it is there.
    fn hand_over(&self, file: BatchFile) -> Result<BatchRecord, Break> {
        let file = Arc::new(file);
        let uploaded = self.try_often("handed over", |_| self.service.upload(&file))?;
        let now = Timestamp::now().as_millisecond();
        let record = BatchRecord::new(self.service.place().clone(), uploaded, now, &file.contents);
        match self.records.put(record.clone(), || self.is_stopped()) {
            Ok(true) => Ok(record),
            // Whoever comes next does not know of it.
            Ok(false) => {
                self.service.discard(&record.file);
                Err(Break::Stopped)
            }
            // What is not written down may be paid for twice.
            Err(error) => {
                self.service.discard(&record.file);
                Err(Break::Problem(format!("it could not be written down: {error}")))
            }
        }
    }

    /// Begins a batch with a file that is uploaded. One that is known from before may have been begun by a request whose answer never came.
    fn begin(&self, record: &BatchRecord, is_known: bool) -> Result<String, Break> {
        let begin = |tries| self.service.begin(&record.file, is_known || tries > 0, &self.records.turn);
        let batch = self.try_often("begun", begin)?;
        self.records.change(&record.file, |record| record.batch = Some(batch.clone()));
        Ok(batch)
    }

    fn wait_for_end(&self, batch: &str, since_ms: i64) -> Result<BatchLook, Break> {
        let (mut looks, mut refusals) = (0, 0);
        loop {
            let asked = match self.service.look(batch) {
                Ok(look) if look.status.has_ended() => return Ok(look),
                // Only a service that answers says that it has not ended.
                Ok(_) if Timestamp::now().as_millisecond() - since_ms > GIVE_UP_AFTER_MS => {
                    return Err(Break::Problem("it did not end within two days".into()));
                }
                Ok(look) => {
                    refusals = 0;
                    (self.report)(BatchEvent::Status(look.status));
                    look.pause
                }
                Err(error) if error.kind() == ModelErrorKind::Stopped => return Err(Break::Stopped),
                Err(error) => {
                    refusals = if error.kind() == ModelErrorKind::Transient { 0 } else { refusals + 1 };
                    if refusals >= MOST_REFUSALS {
                        return Err(Break::Problem(format!("it cannot be looked after: {error}")));
                    }
                    tracing::info!("how a batch is could not be had, and is asked again: {error}");
                    error.retry_after()
                }
            };
            self.pause(looks, asked)?;
            looks += 1;
        }
    }

    /// Fetches answers, for as long as the service has them: they are paid for.
    fn fetch(&self, output: &str, record: &BatchRecord, left: &mut HashSet<ContentHash>) -> Result<(), Break> {
        let mut tries = 0;
        loop {
            let mut portion = Vec::new();
            let fetched = self.service.fetch(output, left, &mut |content, embedding| {
                portion.push((content, embedding));
                if portion.len() >= PORTION {
                    (self.report)(BatchEvent::Embedded(std::mem::take(&mut portion)));
                }
                !self.is_stopped()
            });
            (self.report)(BatchEvent::Embedded(portion));
            let error = match fetched {
                _ if self.is_stopped() => return Err(Break::Stopped),
                Ok(true) => return Ok(()),
                Ok(false) => return Err(Break::Problem("the service does not have its answers any more".into())),
                Err(error) if error.kind() == ModelErrorKind::Stopped => return Err(Break::Stopped),
                Err(error) => error,
            };
            if record.is_over(Timestamp::now().as_millisecond()) {
                return Err(Break::Problem(format!("its answers could not be fetched in thirty days: {error}")));
            }
            tracing::info!("the answers of a batch could not be fetched, and are asked for again: {error}");
            (self.report)(BatchEvent::Trouble(error.to_string()));
            self.pause(tries, error.retry_after())?;
            tries = tries.saturating_add(1);
        }
    }

    /// Tries what may fail in a way that passes. It is told how often it was tried.
    fn try_often<T>(&self, what: &str, one: impl Fn(u32) -> Result<T, ModelError>) -> Result<T, Break> {
        let mut tries = 0;
        loop {
            match one(tries) {
                Ok(done) => return Ok(done),
                Err(error) if error.kind() == ModelErrorKind::Stopped => return Err(Break::Stopped),
                Err(error) if error.kind() != ModelErrorKind::Transient || tries + 1 == MOST_TRIES => {
                    return Err(Break::Problem(format!("it could not be {what}: {error}")));
                }
                Err(error) => self.pause(tries, error.retry_after())?,
            }
            tries += 1;
        }
    }

    fn pause(&self, before: u32, asked: Option<Duration>) -> Result<(), Break> {
        match self.stop.recv_timeout(pause(before, asked)) {
            Err(RecvTimeoutError::Timeout) => Ok(()),
            _ => Err(Break::Stopped),
        }
    }

    fn is_stopped(&self) -> bool {
        !matches!(self.stop.try_recv(), Err(TryRecvError::Empty))
    }
}

/// How long to wait after so many pauses before; `asked` is what the service asked for.
fn pause(before: u32, asked: Option<Duration>) -> Duration {
    let usual = || FIRST_PAUSE.saturating_mul(1 << before.min(8)).min(LONGEST_PAUSE);
    asked.map_or_else(usual, |asked| asked.max(SHORTEST_PAUSE))
}

/// What is wrong with a batch that has ended.
fn problem(look: &BatchLook, left: usize, whole: usize, said: Option<String>) -> Option<String> {
    let said = look.problem.clone().or(said).map(|said| format!(": {said}")).unwrap_or_default();
    match look.status {
        BatchStatus::Completed if left == 0 => None,
        BatchStatus::Completed => Some(format!("{left} of {whole} texts have no good answer{said}")),
        status => Some(format!("it ended as {}, with {left} of {whole} texts left{said}", status.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_one_minute_to_ten_or_are_what_was_asked_for() {
        let seconds: Vec<u64> = (0..6).map(|before| pause(before, None).as_secs()).collect();
        assert_eq!(seconds, [60, 120, 240, 480, 600, 600]);
        assert_eq!(pause(u32::MAX, None), LONGEST_PAUSE);
        assert_eq!(pause(3, Some(Duration::from_secs(7))).as_secs(), 7);
        assert_eq!(pause(0, Some(Duration::ZERO)), SHORTEST_PAUSE, "nobody is asked without end");
    }
}
