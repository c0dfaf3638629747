//! The bulk of a model's texts, handed to its service in batches: they cost less, and are made within a day.
//!
//! They are taken out of the queue, so that what is saved meanwhile has it for itself. A thread for each batch uploads it, looks how it is
//! and fetches its answers; what it brings no answer to waits in the queue again. A record of it is written after the upload and before the
//! batch is begun, so that a start goes on with it, and nothing is paid for twice.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::lane::ModelLane;
use super::shared::BatchState;
use super::worker::{Worker, WorkerMessage};
use crate::base::clock::rfc3339;
use crate::base::fs::{FsError, create_private_dir, write_atomically};
use crate::index::engine::{ContentHash, EngineError, Writer};
use crate::models::{
    BatchClient, BatchFile, BatchLook, BatchOrigin, EmbeddedText, Fingerprint, MOST_TEXTS, ModelError, ModelErrorKind,
    is_id,
};

/// Divisor of the minimum number of texts in a batch, which gives how many of the newest go the usual way: they are looked for first.
const NEWEST_DIVISOR: usize = 10;
/// The pause after the first look, and the longest; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// However soon the service wants to be asked again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

const HOUR_MS: i64 = 3600 * 1000;
/// For how long it is tried to hand a batch over, while that fails in a way that may pass.
const HANDING_OVER_MS: i64 = HOUR_MS;
/// A batch is to be done within 24 hours.
const GIVE_UP_AFTER_MS: i64 = 48 * HOUR_MS;
/// OpenAI keeps the files of a batch for thirty days. Answers are paid for: for so long they are asked for.
const KEPT_FOR_MS: i64 = 30 * 24 * HOUR_MS;

/// Maximum number of embeddings that are reported at a time.
const PORTION: usize = 200;

const FOLDER: &str = "endpoint-batches";
/// A record is at most so large: 10,000 names are a twentieth of it.
const MOST_RECORD_BYTES: u64 = 8 << 20;

/// Numbers the batches.
static BATCHES: AtomicU64 = AtomicU64::new(1);

/// A batch at a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BatchRecord {
    place: BatchOrigin,
    /// The file of requests, as the service calls it.
    file: String,
    /// The batch, as the service calls it; `None` where that is not known yet.
    batch: Option<String>,
    /// Since when, in milliseconds since 1970.
    since_ms: i64,
    /// The texts whose answers are waited for, by name. Where there are none, all that is left to do is to remove its files.
    contents: Vec<String>,
}

impl BatchRecord {
    fn contents(&self) -> Vec<ContentHash> {
        self.contents.iter().filter_map(|content| content.parse().ok()).collect()
    }

    fn is_older_than(&self, age_ms: i64) -> bool {
        Timestamp::now().as_millisecond().saturating_sub(self.since_ms) > age_ms
    }
}

/// What is known of batches under way: each a file in a folder of the index.
#[derive(Debug, Clone)]
pub(crate) struct BatchRecords {
    index: PathBuf,
    /// By the file of requests. Whoever changes one holds the lock until it is written.
    known: Arc<Mutex<BTreeMap<String, BatchRecord>>>,
}

impl BatchRecords {
    /// Those of the index in a folder. What cannot be read is not known, and what no service has any more goes.
    pub(crate) fn of(index: &Path) -> Self {
        let mut known = BTreeMap::new();
        for entry in std::fs::read_dir(index.join(FOLDER)).into_iter().flatten().flatten() {
            match read_record(&entry.path()) {
                Some(record) if record.is_older_than(KEPT_FOR_MS) => drop(std::fs::remove_file(entry.path())),
                Some(record) => drop(known.insert(record.file.clone(), record)),
                None => tracing::warn!("{} cannot be read, and is left as it is", entry.path().display()),
            }
        }
        Self { index: index.to_owned(), known: Arc::new(Mutex::new(known)) }
    }

    /// Those of which this is so.
    fn which(&self, is_so: impl Fn(&BatchRecord) -> bool) -> Vec<BatchRecord> {
        self.known().values().filter(|record| is_so(record)).cloned().collect()
    }

    /// Writes a record, unless it is too late for it by then. Says whether it was.
    fn put(&self, record: &BatchRecord, is_late: impl Fn() -> bool) -> Result<bool, FsError> {
        let mut known = self.known();
        if is_late() {
            return Ok(false);
        }
        self.write(record)?;
        known.insert(record.file.clone(), record.clone());
        Ok(true)
    }

    /// Changes a record that is there, and gives it. Where it cannot be written, the next start knows it as it was.
    fn change(&self, file: &str, change: impl FnOnce(&mut BatchRecord)) -> Option<BatchRecord> {
        let mut known = self.known();
        let record = known.get_mut(file)?;
        change(record);
        if let Err(error) = self.write(record) {
            tracing::warn!("what is known of a batch could not be written: {error}");
        }
        Some(record.clone())
    }

    /// Leaves nothing of texts in the records: not even their names. Where such a text stands in a note still, the next start has it
    /// embedded as others are.
    pub(super) fn forget(&self, contents: &[ContentHash]) {
        let gone: HashSet<String> = contents.iter().map(ContentHash::to_string).collect();
        for record in self.which(|record| record.contents.iter().any(|content| gone.contains(content))) {
            self.change(&record.file, |record| record.contents.retain(|content| !gone.contains(content)));
        }
    }

    fn remove(&self, file: &str) {
        if self.known().remove(file).is_some() {
            let _ = std::fs::remove_file(self.path(file));
        }
    }

    fn write(&self, record: &BatchRecord) -> Result<(), FsError> {
        // Nothing is made where the index is not.
        if self.index.is_dir() {
            create_private_dir(&self.index.join(FOLDER))?;
        }
        write_atomically(&self.path(&record.file), &serde_json::to_vec(record).unwrap_or_default(), 0o600)
    }

    /// What the service calls it may be no name for a file.
    fn path(&self, file: &str) -> PathBuf {
        let name = blake3::hash(file.as_bytes()).to_hex();
        self.index.join(FOLDER).join(format!("{}.json", &name[..16]))
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, BatchRecord>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a record. An index may have come from anywhere, so that nothing of it is put into an address unless it is an id.
fn read_record(path: &Path) -> Option<BatchRecord> {
    if !path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() <= MOST_RECORD_BYTES) {
        return None;
    }
    let record: BatchRecord = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let has_good_ids = is_id(&record.file) && record.batch.as_deref().is_none_or(is_id);
    has_good_ids.then_some(record)
}

/// The batches of one model.
pub(super) struct Batches {
    client: Arc<BatchClient>,
    records: BatchRecords,
    messages: Sender<WorkerMessage>,
    under_way: Vec<BatchUnderWay>,
    /// What went wrong with one since the start.
    problem: Option<String>,
    /// Whether no more are handed over until the next start.
    is_over: bool,
}

struct BatchUnderWay {
    number: u64,
    contents: HashSet<ContentHash>,
    since: Timestamp,
    /// `None` while it is handed over.
    status: Option<String>,
    /// Why its answers are not there yet, though it has ended.
    trouble: Option<String>,
    /// Its end stops the thread.
    _stop: Sender<()>,
}

impl Batches {
    /// What hands over a model's texts in batches. Goes on with those of before.
    pub(super) fn start(client: Arc<BatchClient>, records: BatchRecords, messages: Sender<WorkerMessage>) -> Self {
        let mut batches = Self { client, records, messages, under_way: Vec::new(), problem: None, is_over: false };
        for record in batches.records.which(|record| batches.follows(record)) {
            batches.follow(BatchStart::Known(record));
        }
        batches
    }

    /// Whether texts are being handed over.
    pub(super) fn hands_over(&self) -> bool {
        self.under_way.iter().any(|batch| batch.status.is_none())
    }

    pub(super) fn is_any_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Whether a text is in one.
    pub(super) fn has(&self, content: &ContentHash) -> bool {
        self.under_way.iter().any(|batch| batch.contents.contains(content))
    }

    /// Whether many texts are to go into the next one, once this is handed over: each by itself they would cost twice as much. The newest
    /// wait with them, for an hour at most where the service refuses.
    pub(super) fn keeps_bulk(&self, store: &dyn Writer, model: &Fingerprint) -> bool {
        let left = store.pending(model).saturating_sub(self.waiting(store, model));
        self.hands_over() && !self.is_over && self.client.from.is_some_and(|from| left > from)
    }

    /// How many of the texts that wait are in one.
    pub(super) fn waiting(&self, store: &dyn Writer, model: &Fingerprint) -> usize {
        self.under_way.iter().map(|batch| store.pending_among(model, &batch.contents)).sum()
    }

    /// Whether a record is of a batch that it goes on with.
    fn follows(&self, record: &BatchRecord) -> bool {
        self.client.from.is_some() && self.client.place == record.place
    }

    /// Hands over what waits, one file after the other, if it is many.
    pub(super) fn feed(&mut self, store: &mut dyn Writer, model: &Fingerprint) -> Result<(), EngineError> {
        let Some(from) = self.client.from.filter(|_| !self.is_over && !self.hands_over()) else { return Ok(()) };
        if store.pending(model).saturating_sub(self.waiting(store, model)) <= from {
            return Ok(());
        }
        let mut texts = store.take_bulk(model, from / NEWEST_DIVISOR, MOST_TEXTS)?;
        texts.retain(|text| !self.has(&text.content));
        let texts: Vec<_> = texts.into_iter().map(|text| (text.content, text.document)).collect();
        let file = self.client.file(&texts);
        // What there was no room for.
        let others: Vec<ContentHash> = texts[file.contents.len()..].iter().map(|(content, _)| *content).collect();
        store.requeue(model, &others);
        if !file.contents.is_empty() {
            tracing::info!("{} texts are handed over as a batch", file.contents.len());
            self.follow(BatchStart::New(Arc::new(file)));
        }
        Ok(())
    }

    /// Has a thread look after a batch.
    fn follow(&mut self, start: BatchStart) {
        let (contents, since, status) = match &start {
            BatchStart::New(file) => (file.contents.iter().copied().collect(), None, None),
            BatchStart::Known(record) => (
                record.contents().into_iter().collect(),
                Timestamp::from_millisecond(record.since_ms).ok(),
                record.batch.as_ref().map(|_| "unknown".to_owned()),
            ),
        };
        let (stop, stopped) = channel();
        let run = BatchRun {
            client: Arc::clone(&self.client),
            records: self.records.clone(),
            number: BATCHES.fetch_add(1, Ordering::Relaxed),
            messages: self.messages.clone(),
            stop: stopped,
        };
        let since = since.unwrap_or_else(Timestamp::now);
        self.under_way.push(BatchUnderWay { number: run.number, contents, since, status, trouble: None, _stop: stop });
        std::thread::spawn(move || run.run(start));
    }

    /// Takes note of what became of a batch. Its embeddings are in the store when it ends.
    fn take(&mut self, batch: u64, event: BatchEvent, store: &mut dyn Writer, model: &Fingerprint) {
        let Some(at) = self.under_way.iter().position(|under_way| under_way.number == batch) else { return };
        let end = match event {
            BatchEvent::Status(status) => return self.under_way[at].status = Some(status),
            BatchEvent::Trouble(trouble) => return self.under_way[at].trouble = Some(trouble),
            BatchEvent::Embedded(_) => return,
            BatchEvent::Ended(end) => end,
        };
        let contents: Vec<ContentHash> = self.under_way.remove(at).contents.into_iter().collect();
        match &end.problem {
            Some(problem) => {
                tracing::warn!("a batch came to no good end, and its texts are embedded as others are: {problem}");
                self.problem = Some(problem.clone());
            }
            None => tracing::info!("a batch of {} texts is done", contents.len()),
        }
        // Those that have no answer; the others do not wait any more.
        store.requeue(model, &contents);
        self.is_over |= end.is_bad;
        let record = end.file.and_then(|file| self.records.change(&file, |record| record.contents.clear()));
        if let Some(record) = record {
            self.clear(record, end.leftovers);
        }
    }

    /// Leaves nothing of a batch at the service, and then no record of it.
    fn clear(&self, record: BatchRecord, leftovers: Option<Vec<String>>) {
        let (client, records) = (Arc::clone(&self.client), self.records.clone());
        std::thread::spawn(move || {
            // Else the next start does it.
            if client.clear(&record.file, record.batch.as_deref(), leftovers) {
                records.remove(&record.file);
            }
        });
    }
}

/// What became of a batch.
pub(super) enum BatchEvent {
    /// It is handed over, and is like that.
    Status(String),
    /// It has ended, and its answers cannot be fetched for this reason; that is tried again.
    Trouble(String),
    Embedded(Vec<(ContentHash, EmbeddedText)>),
    Ended(BatchEnd),
}

/// How a batch ended.
#[derive(Default)]
pub(super) struct BatchEnd {
    /// The file of requests, where it was handed over.
    file: Option<String>,
    /// The other files at the service; `None` where the batch itself may go on there.
    leftovers: Option<Vec<String>>,
    /// What went wrong.
    problem: Option<String>,
    /// Whether it is better to hand over no more.
    is_bad: bool,
}

/// What a batch begins with.
enum BatchStart {
    New(Arc<BatchFile>),
    /// One of before the start.
    Known(BatchRecord),
}

/// A batch on its way, on a thread of its own.
struct BatchRun {
    client: Arc<BatchClient>,
    records: BatchRecords,
    number: u64,
    messages: Sender<WorkerMessage>,
    /// Ends when nobody wants it any more here; it goes on at the service.
    stop: Receiver<()>,
}

/// Why a batch is not looked after any more.
enum Break {
    /// Nobody waits for it here.
    Stopped,
    Problem(String),
}

impl BatchRun {
    /// Looks after a batch to its end.
    fn run(self, start: BatchStart) {
        let mut end = BatchEnd::default();
        match self.follow(start, &mut end) {
            Err(Break::Stopped) => return,
            Err(Break::Problem(problem)) => (end.problem, end.is_bad) = (Some(problem), true),
            Ok(()) => {}
        }
        self.report(BatchEvent::Ended(end));
    }

    fn report(&self, event: BatchEvent) {
        let batch = self.number;
        let _ = self.messages.send(WorkerMessage::to_do(move |worker| worker.take_batch(batch, event)));
    }

    fn follow(&self, start: BatchStart, end: &mut BatchEnd) -> Result<(), Break> {
        let now = Timestamp::now().as_millisecond();
        let (record, mut may_be_begun) = match start {
            BatchStart::Known(record) => (record, true),
            BatchStart::New(file) => (self.upload(&file, now)?, false),
        };
        end.file = Some(record.file.clone());
        let asked = record.contents();
        if asked.is_empty() {
            return Ok(());
        }
        let batch = match &record.batch {
            Some(batch) => batch.clone(),
            // A request whose answer never came may have begun it.
            None => {
                let mut begin = || self.client.begin(&record.file, std::mem::replace(&mut may_be_begun, true));
                let batch = self.persist("begun", now + HANDING_OVER_MS, &mut begin)?;
                self.records.change(&record.file, |record| record.batch = Some(batch.clone()));
                batch
            }
        };
        let look = self.wait_for_end(&batch, &record)?;
        end.leftovers = Some([&look.output, &look.errors].into_iter().flatten().cloned().collect());
        let mut left: HashSet<ContentHash> = asked.iter().copied().collect();
        if let Some(output) = &look.output {
            let is_there =
                self.persist("fetched", record.since_ms.saturating_add(KEPT_FOR_MS), || self.fetch(output, &mut left))?;
            if !is_there {
                return Err(Break::Problem("the service no longer has its answers".into()));
            }
        }
        let said = look.errors.as_ref().filter(|_| !left.is_empty()).and_then(|file| self.client.complaint(file));
        end.problem = problem(&look, left.len(), asked.len(), said);
        end.is_bad = look.status != "completed" || left.len() * 2 > asked.len();
        Ok(())
    }

    /// Uploads the file of requests, and writes down that it is there.
    fn upload(&self, file: &Arc<BatchFile>, now: i64) -> Result<BatchRecord, Break> {
        let uploaded = self.persist("handed over", now + HANDING_OVER_MS, || self.client.upload(file))?;
        let contents = file.contents.iter().map(ContentHash::to_string).collect();
        let place = self.client.place.clone();
        let record = BatchRecord { place, file: uploaded, batch: None, since_ms: now, contents };
        let written = self.records.put(&record, || self.is_stopped());
        if let Ok(true) = written {
            return Ok(record);
        }
        // Whoever comes next does not know of it, and would have it paid for twice.
        self.client.discard(&record.file);
        Err(written.map_or_else(|error| Break::Problem(format!("it could not be saved: {error}")), |_| Break::Stopped))
    }

    fn wait_for_end(&self, batch: &str, record: &BatchRecord) -> Result<BatchLook, Break> {
        let mut looks = 0;
        loop {
            let look =
                self.persist("looked after", record.since_ms.saturating_add(KEPT_FOR_MS), || self.client.look(batch))?;
            if look.has_ended() {
                return Ok(look);
            }
            if record.is_older_than(GIVE_UP_AFTER_MS) {
                return Err(Break::Problem("it did not end within two days".into()));
            }
            self.report(BatchEvent::Status(look.status));
            self.pause(looks, look.pause)?;
            looks += 1;
        }
    }

    /// Fetches answers, and reports them. Says whether the service has them.
    fn fetch(&self, output: &str, left: &mut HashSet<ContentHash>) -> Result<bool, ModelError> {
        let mut portion = Vec::new();
        let fetched = self.client.fetch(output, left, &mut |content, embedding| {
            portion.push((content, embedding));
            if portion.len() >= PORTION {
                self.report(BatchEvent::Embedded(std::mem::take(&mut portion)));
            }
            !self.is_stopped()
        });
        self.report(BatchEvent::Embedded(portion));
        if let Err(error) = &fetched {
            self.report(BatchEvent::Trouble(error.to_string()));
        }
        if self.is_stopped() { Err(ModelError::Stopped) } else { fetched }
    }

    /// Tries what may fail in a way that passes, until a moment.
    fn persist<T>(
        &self,
        what: &str,
        until_ms: i64,
        mut one: impl FnMut() -> Result<T, ModelError>,
    ) -> Result<T, Break> {
        let mut tries = 0;
        loop {
            let error = match one() {
                Ok(done) => return Ok(done),
                Err(error) if error.kind() == ModelErrorKind::Stopped => return Err(Break::Stopped),
                Err(error) => error,
            };
            if error.kind() != ModelErrorKind::Transient || Timestamp::now().as_millisecond() > until_ms {
                return Err(Break::Problem(format!("it could not be {what}: {error}")));
            }
            tracing::info!("a batch could not be {what}, and that is tried again: {error}");
            self.pause(tries, error.retry_after())?;
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
    match look.status.as_str() {
        "completed" if left == 0 => None,
        "completed" => Some(format!("{left} of {whole} texts have no usable answer{said}")),
        status => Some(format!("it ended as {status}, with {left} of {whole} texts left{said}")),
    }
}

impl Worker<'_> {
    pub(super) fn hands_over(&self) -> bool {
        self.batches().any(Batches::hands_over)
    }

    fn batches(&self) -> impl Iterator<Item = &Batches> {
        self.lanes().filter_map(|lane| lane.batches.as_ref())
    }

    /// Takes what became of a batch.
    pub(super) fn take_batch(&mut self, batch: u64, mut event: BatchEvent) -> Result<(), EngineError> {
        let mut lanes = self.serving.iter_mut().chain(&mut self.filling);
        let is_of = |batches: &Batches| batches.under_way.iter().any(|under_way| under_way.number == batch);
        let Some(lane) = lanes.find(|lane| lane.batches.as_ref().is_some_and(is_of)) else { return Ok(()) };
        let (number, model) = (lane.number, lane.model.embedder.fingerprint());
        let mut count = 0;
        if let BatchEvent::Embedded(embeddings) = &mut event {
            count = embeddings.len();
            self.store.embedded(model, std::mem::take(embeddings))?;
        }
        if let Some(batches) = &mut lane.batches {
            batches.take(batch, event, self.store.as_mut(), model);
        }
        self.count_made(number, count);
        self.show_models();
        Ok(())
    }

    /// Ends the batches of models that are not at work any more, once it is known which are. Only the service of one that is gets to know of
    /// it: a record may have come from anywhere, and does not say where a key may go.
    pub(super) fn end_batches_of_others(&self) {
        if self.shared.coming().is_some() {
            return;
        }
        let is_followed = |record: &BatchRecord| self.batches().any(|batches| batches.follows(record));
        for at_hand in self.batches() {
            let BatchOrigin { endpoint, api_key_env, .. } = &at_hand.client.place;
            let is_there = |place: &BatchOrigin| (endpoint, api_key_env) == (&place.endpoint, &place.api_key_env);
            for record in self.options.batches.which(|record| is_there(&record.place) && !is_followed(record)) {
                tracing::info!("a batch of a model that is not in use any more is ended");
                self.options.batches.remove(&record.file);
                at_hand.clear(record, None);
            }
        }
    }

    /// How the batches are, and how many of the texts that wait for the model that serves are in them.
    pub(super) fn batch_progress(&self) -> (Option<BatchState>, usize) {
        let under_way = || self.batches().flat_map(|batches| &batches.under_way);
        let first = under_way().min_by_key(|batch| batch.since);
        let problem = self.batches().find_map(|batches| batches.problem.clone());
        if first.is_none() && problem.is_none() {
            return (None, 0);
        }
        let status = first.map_or(Some("ended".to_owned()), |first| first.status.clone());
        let in_batches = |lane: &ModelLane| lane.in_batches(self.store.as_ref());
        let progress = BatchState {
            texts: self.lanes().map(in_batches).sum(),
            since: first.map(|batch| rfc3339(batch.since.as_millisecond())),
            state: status.filter(|_| !self.hands_over()).unwrap_or_else(|| "handing_over".to_owned()),
            trouble: under_way().find_map(|batch| batch.trouble.clone()),
            problem,
        };
        let hands_over = |lane: &&ModelLane| lane.batches.as_ref().is_some_and(Batches::hands_over);
        let in_batches = self.serving.as_ref().filter(|lane| !hands_over(lane)).map_or(0, in_batches);
        (Some(progress), in_batches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::chance::proptest_config;
    use crate::models::tests::bent::bent;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(proptest_config(500))]
        #[test]
        fn whatever_a_record_says_what_is_believed_of_it_are_ids(
            text in bent(&[
                r#"{"place":{"fingerprint":"f","endpoint":"a","api_key_env":""},"file":"file-1","batch":"batch-1","since_ms":9223372036854775807,"contents":["01010101010101010101010101010101"]}"#,
                r#"{"place":{"fingerprint":"f","endpoint":"a","api_key_env":""},"file":"file-1","batch":null,"since_ms":-9223372036854775808,"contents":[]}"#,
            ]),
        ) {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join(FOLDER)).unwrap();
            std::fs::write(folder.path().join(FOLDER).join("a.json"), text).unwrap();
            for record in BatchRecords::of(folder.path()).which(|_| true) {
                prop_assert!(is_id(&record.file) && record.batch.iter().all(|batch| is_id(batch)));
                let _ = record.contents();
            }
        }
    }

    fn record(endpoint: &str, file: &str) -> BatchRecord {
        let place = BatchOrigin { fingerprint: "f".into(), endpoint: endpoint.into(), api_key_env: String::new() };
        let contents = [1, 2].map(|number| ContentHash::from_bytes([number; 16]).to_string()).to_vec();
        BatchRecord { place, file: file.into(), batch: None, since_ms: Timestamp::now().as_millisecond(), contents }
    }

    #[test]
    fn what_is_under_way_is_known_after_a_start() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (record("a", "file:1"), record("b", "file-2"));
        let records = BatchRecords::of(folder.path());
        assert!(records.put(&one, || false).unwrap() && records.put(&other, || false).unwrap());
        assert!(!records.put(&record("c", "file-3"), || true).unwrap());
        records.change("file:1", |record| record.batch = Some("batch-1".into()));
        records.forget(&[ContentHash::from_bytes([2; 16])]);
        std::fs::write(folder.path().join(FOLDER).join("torn.json"), "{").unwrap();
        let again = BatchRecords::of(folder.path());
        let found = again.which(|record| record.place == one.place);
        assert_eq!((found.len(), found[0].batch.as_deref()), (1, Some("batch-1")));
        assert_eq!(found[0].contents(), [ContentHash::from_bytes([1; 16])], "what was forgotten has no name there");
        // No service has anything of it any more.
        again.change("file-2", |record| record.since_ms -= KEPT_FOR_MS + 1);
        assert_eq!(BatchRecords::of(folder.path()).which(|_| true), found);
        again.remove("file:1");
        for entry in std::fs::read_dir(folder.path().join(FOLDER)).unwrap() {
            assert_eq!(entry.unwrap().file_name(), "torn.json");
        }
        let gone = folder.path().join("gone");
        assert!(BatchRecords::of(&gone).put(&one, || false).is_err() && !gone.exists());
    }

    #[test]
    fn a_record_whose_ids_lead_elsewhere_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let good = BatchRecord { batch: Some("b".into()), ..record("a", "f") };
        let is_known = |record: &BatchRecord| {
            BatchRecords::of(folder.path()).put(record, || false).unwrap();
            let known = BatchRecords::of(folder.path()).which(|_| true).len() == 1;
            std::fs::remove_dir_all(folder.path().join(FOLDER)).unwrap();
            known
        };
        assert!(is_known(&good));
        for bad in ["../embeddings", "a/b", "", "a?b"] {
            assert!(!is_known(&BatchRecord { file: bad.into(), ..good.clone() }), "{bad}");
            assert!(!is_known(&BatchRecord { batch: Some(bad.into()), ..good.clone() }), "{bad}");
        }
    }

    #[test]
    fn pauses_grow_from_one_minute_to_ten_or_are_what_was_asked_for() {
        let seconds: Vec<u64> = (0..6).map(|before| pause(before, None).as_secs()).collect();
        assert_eq!(seconds, [60, 120, 240, 480, 600, 600]);
        assert_eq!(pause(u32::MAX, None), LONGEST_PAUSE);
        assert_eq!(pause(3, Some(Duration::from_secs(7))).as_secs(), 7);
        assert_eq!(pause(0, Some(Duration::ZERO)), SHORTEST_PAUSE, "nobody is asked without end");
    }
}
