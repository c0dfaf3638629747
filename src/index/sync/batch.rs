//! The bulk of a model's texts, handed to its service in batches: they cost less, and are made within a day.
//!
//! They are taken out of the queue, so that what is saved meanwhile has it for itself. A thread for each batch uploads it, looks how it is
//! and fetches its answers; what it brings no answer to waits in the queue again. All that it changes here it has the writer change, and it
//! ends when the writer does not know its batch any more. A record of it is written after the upload and before the batch is begun, so that
//! a start goes on with it, and nothing is paid for twice.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
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
    BatchClient, BatchLook, BatchOrigin, EmbeddedText, Fingerprint, MOST_TEXTS, ModelError, ModelErrorKind, is_id,
};

/// Divisor of the minimum number of texts in a batch, which gives how many of the newest go the usual way: they are looked for first.
const NEWEST_DIVISOR: usize = 10;
/// The pause between two looks or tries, where the service does not say.
const PAUSE: Duration = Duration::from_secs(60);
/// However soon the service wants to be asked again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
/// How often it is tried to hand a batch over, while that fails in a way that may pass: an hour at most.
const HANDING_OVER_TRIES: u32 = 5;

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
    fn contents(&self) -> HashSet<ContentHash> {
        self.contents.iter().filter_map(|content| content.parse().ok()).collect()
    }
}

/// What is known of batches under way: each a file in a folder of the index, which the writer thread alone changes.
#[derive(Debug, Clone)]
pub(crate) struct BatchRecords {
    index: PathBuf,
}

impl BatchRecords {
    /// Those of the index in a folder.
    pub(crate) fn of(index: &Path) -> Self {
        Self { index: index.to_owned() }
    }

    /// All of them. What cannot be read is not known, and left as it is.
    fn all(&self) -> Vec<BatchRecord> {
        let files = std::fs::read_dir(self.index.join(FOLDER)).into_iter().flatten().flatten();
        files.filter_map(|file| read_record(&file.path())).collect()
    }

    /// Changes a record that is there. Where it cannot be written, the next start knows it as it was.
    fn change(&self, file: &str, change: impl FnOnce(&mut BatchRecord)) {
        let Some(mut record) = read_record(&self.path(file)) else { return };
        change(&mut record);
        if let Err(error) = self.write(&record) {
            tracing::warn!("what is known of a batch could not be written: {error}");
        }
    }

    /// Leaves nothing of texts in the records: not even their names. Where such a text stands in a note still, the next start has it
    /// embedded as others are.
    pub(super) fn forget(&self, contents: &[ContentHash]) {
        let gone: HashSet<String> = contents.iter().map(ContentHash::to_string).collect();
        for record in self.all() {
            if record.contents.iter().any(|content| gone.contains(content)) {
                self.change(&record.file, |record| record.contents.retain(|content| !gone.contains(content)));
            }
        }
    }

    fn remove(&self, file: &str) {
        let _ = std::fs::remove_file(self.path(file));
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
    /// What went wrong with one since the start. No more are handed over then.
    problem: Option<String>,
}

struct BatchUnderWay {
    number: u64,
    contents: HashSet<ContentHash>,
    since_ms: i64,
    /// `None` while it is handed over.
    status: Option<String>,
    /// Why its answers are not there yet, though it has ended.
    trouble: Option<String>,
}

impl Batches {
    /// What hands over a model's texts in batches. Goes on with those of before.
    pub(super) fn start(client: Arc<BatchClient>, records: BatchRecords, messages: Sender<WorkerMessage>) -> Self {
        let mut batches = Self { client, records, messages, under_way: Vec::new(), problem: None };
        for record in batches.records.all() {
            if batches.follows(&record) {
                batches.look_after(record, None);
            }
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

    /// How many of the texts that wait are in one.
    pub(super) fn waiting(&self, store: &dyn Writer, model: &Fingerprint) -> usize {
        self.under_way.iter().map(|batch| store.pending_among(model, &batch.contents)).sum()
    }

    /// Whether a record is of a batch that it goes on with.
    fn follows(&self, record: &BatchRecord) -> bool {
        self.client.from.is_some() && self.client.place == record.place
    }

    /// Hands over what waits, if it is many: each by itself they would cost twice as much.
    pub(super) fn feed(&mut self, store: &mut dyn Writer, model: &Fingerprint) -> Result<(), EngineError> {
        let Some(from) = self.client.from.filter(|_| self.problem.is_none()) else { return Ok(()) };
        if store.pending(model).saturating_sub(self.waiting(store, model)) <= from {
            return Ok(());
        }
        let mut texts = store.take_bulk(model, from / NEWEST_DIVISOR, MOST_TEXTS)?;
        texts.retain(|text| !self.has(&text.content));
        if texts.is_empty() {
            return Ok(());
        }
        tracing::info!("{} texts are handed over as a batch", texts.len());
        let texts: Vec<_> = texts.into_iter().map(|text| (text.content, text.document)).collect();
        let record = BatchRecord {
            place: self.client.place.clone(),
            file: String::new(),
            batch: None,
            since_ms: Timestamp::now().as_millisecond(),
            contents: texts.iter().map(|(content, _)| content.to_string()).collect(),
        };
        self.look_after(record, Some(self.client.file(&texts)));
        Ok(())
    }

    /// Has a thread look after a batch, of which a new one has a file of requests still to be uploaded.
    fn look_after(&mut self, record: BatchRecord, form: Option<Vec<u8>>) {
        let number = BATCHES.fetch_add(1, Ordering::Relaxed);
        self.under_way.push(BatchUnderWay {
            number,
            contents: record.contents(),
            since_ms: record.since_ms,
            status: record.batch.as_ref().map(|_| "unknown".to_owned()),
            trouble: None,
        });
        let (client, records, messages) = (Arc::clone(&self.client), self.records.clone(), self.messages.clone());
        let run = BatchRun { client, records, number, messages, record, ended: None };
        std::thread::spawn(move || run.run(form));
    }
}

/// A batch that is under way, as the writer has it.
struct BatchAt<'a> {
    batches: &'a mut Batches,
    at: usize,
    store: &'a mut dyn Writer,
    model: &'a Fingerprint,
}

impl BatchAt<'_> {
    /// Takes note of the end of a batch, and what went wrong. Its embeddings are in the store by then.
    fn end(self, file: &str, problem: Option<String>) {
        let contents: Vec<ContentHash> = self.batches.under_way.remove(self.at).contents.into_iter().collect();
        match &problem {
            Some(problem) => {
                tracing::warn!("a batch came to no good end, and its texts are embedded as others are: {problem}");
            }
            None => tracing::info!("a batch of {} texts is done", contents.len()),
        }
        // Those that have no answer; the others do not wait any more.
        self.store.requeue(self.model, &contents);
        self.batches.problem = problem.or(self.batches.problem.take());
        // A start after this has only its files to remove.
        self.batches.records.change(file, |record| record.contents.clear());
    }
}

/// A batch on its way, on a thread of its own.
struct BatchRun {
    client: Arc<BatchClient>,
    records: BatchRecords,
    number: u64,
    messages: Sender<WorkerMessage>,
    record: BatchRecord,
    /// The batch as it ended.
    ended: Option<BatchLook>,
}

/// Why a batch is not looked after any more.
enum Break {
    /// Nobody waits for it here; it goes on at the service.
    Stopped,
    Problem(String),
}

impl BatchRun {
    /// Looks after a batch to its end, and leaves nothing of it at the service, and then no record of it.
    fn run(mut self, form: Option<Vec<u8>>) {
        let problem = match self.look_after(form) {
            Err(Break::Stopped) => return,
            Err(Break::Problem(problem)) => Some(problem),
            Ok(()) => None,
        };
        let BatchRecord { file, batch, .. } = self.record.clone();
        let ended = self.ask({
            let file = file.clone();
            move |batch| {
                batch.end(&file, problem);
                Ok(())
            }
        });
        if ended.is_ok() && !file.is_empty() {
            self.client.clear(&file, batch.as_deref(), self.ended);
            self.records.remove(&file);
        }
    }

    /// Has the writer do something with the batch, as long as it is under way there.
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(BatchAt<'_>) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, Break> {
        let (number, (done, wait)) = (self.number, channel());
        let told = self.messages.send(WorkerMessage::to_do(move |worker| {
            worker.with_batch(number, |batch| {
                let _ = done.send(work(batch)?);
                Ok(())
            })
        }));
        told.ok().and_then(|()| wait.recv().ok()).ok_or(Break::Stopped)
    }

    fn change(&self, change: impl FnOnce(&mut BatchUnderWay) + Send + 'static) -> Result<(), Break> {
        self.ask(|batch| {
            change(&mut batch.batches.under_way[batch.at]);
            Ok(())
        })
    }

    fn look_after(&mut self, form: Option<Vec<u8>>) -> Result<(), Break> {
        if let Some(form) = form {
            self.record.file = self.persist("handed over", HANDING_OVER_TRIES, || self.client.upload(&form))?;
            let record = self.record.clone();
            let written = self.ask(move |batch| Ok(batch.batches.records.write(&record)));
            let unwritten = |error| Break::Problem(format!("it could not be saved: {error}"));
            if let Err(failed) = written.and_then(|written| written.map_err(unwritten)) {
                // Whoever comes next does not know of it, and would have it paid for twice.
                self.client.remove(&std::mem::take(&mut self.record.file));
                return Err(failed);
            }
        }
        if self.record.contents.is_empty() {
            return Ok(());
        }
        if self.record.batch.is_none() {
            let batch = self.persist("begun", HANDING_OVER_TRIES, || self.client.begin(&self.record.file))?;
            self.record.batch = Some(batch.clone());
            let file = self.record.file.clone();
            self.ask(move |at| {
                at.batches.records.change(&file, |record| record.batch = Some(batch));
                Ok(())
            })?;
        }
        let look = self.wait_for_end()?;
        self.ended = Some(look.clone());
        let mut left = self.record.contents();
        if let Some(output) = &look.output {
            self.persist("fetched", u32::MAX, || self.fetch(output, &mut left))?;
        }
        problem(&look, left.len(), self.record.contents.len()).map_or(Ok(()), |problem| Err(Break::Problem(problem)))
    }

    fn wait_for_end(&self) -> Result<BatchLook, Break> {
        let batch = self.record.batch.as_deref().unwrap_or_default();
        loop {
            let look = self.persist("looked after", u32::MAX, || self.client.look(batch))?;
            if look.has_ended() {
                return Ok(look);
            }
            self.change(move |batch| batch.status = Some(look.status))?;
            pause(look.pause);
        }
    }

    /// Fetches answers, and has the writer keep them.
    fn fetch(&self, output: &str, left: &mut HashSet<ContentHash>) -> Result<(), ModelError> {
        let keep = |portion: Vec<(ContentHash, EmbeddedText)>| {
            self.ask(move |batch| batch.store.embedded(batch.model, portion))
        };
        let mut portion = Vec::new();
        let fetched = self.client.fetch(output, left, &mut |content, embedding| {
            portion.push((content, embedding));
            portion.len() < PORTION || keep(std::mem::take(&mut portion)).is_ok()
        });
        keep(portion).map_err(|_| ModelError::Stopped)?;
        if let Err(error) = &fetched {
            let trouble = error.to_string();
            let _ = self.change(|batch| batch.trouble = Some(trouble));
        }
        fetched
    }

    /// Tries what may fail in a way that passes, so often, and as long as somebody wants it.
    fn persist<T>(&self, what: &str, most: u32, mut one: impl FnMut() -> Result<T, ModelError>) -> Result<T, Break> {
        for tries in 1.. {
            self.change(|_| ())?;
            if self.client.is_refused() {
                break;
            }
            let error = match one() {
                Ok(done) => return Ok(done),
                Err(ModelError::Stopped) => break,
                Err(error) => error,
            };
            if error.kind() != ModelErrorKind::Transient || tries > most {
                return Err(Break::Problem(format!("it could not be {what}: {error}")));
            }
            tracing::info!("a batch could not be {what}, and that is tried again: {error}");
            pause(error.retry_after());
        }
        Err(Break::Stopped)
    }
}

/// Waits as long as the service asked for.
fn pause(asked: Option<Duration>) {
    std::thread::sleep(asked.unwrap_or(PAUSE).max(SHORTEST_PAUSE));
}

/// What is wrong with a batch that has ended.
fn problem(look: &BatchLook, left: usize, whole: usize) -> Option<String> {
    let said = look.problem.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
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

    /// Does something with a batch, if it is under way still.
    fn with_batch(
        &mut self,
        number: u64,
        work: impl FnOnce(BatchAt<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        for lane in self.serving.iter_mut().chain(&mut self.filling) {
            let (model, store) = (lane.model.embedder.fingerprint(), self.store.as_mut());
            let Some(batches) = &mut lane.batches else { continue };
            if let Some(at) = batches.under_way.iter().position(|batch| batch.number == number) {
                let before = store.pending(model);
                work(BatchAt { batches, at, store, model })?;
                let (lane, made) = (lane.number, before.saturating_sub(self.store.pending(model)));
                self.count_made(lane, made);
                break;
            }
        }
        Ok(())
    }

    /// Ends the batches of models that are not at work any more, once it is known which are. Only the service of one that is gets to know of
    /// it: a record may have come from anywhere, and does not say where a key may go.
    pub(super) fn end_batches_of_others(&self) {
        if self.shared.coming().is_some() {
            return;
        }
        let is_followed = |record: &BatchRecord| self.batches().any(|batches| batches.follows(record));
        for Batches { client, records, .. } in self.batches() {
            let BatchOrigin { endpoint, api_key_env, .. } = &client.place;
            let is_there = |place: &BatchOrigin| (endpoint, api_key_env) == (&place.endpoint, &place.api_key_env);
            for record in records.all() {
                if is_there(&record.place) && !is_followed(&record) {
                    tracing::info!("a batch of a model that is not in use any more is ended");
                    records.remove(&record.file);
                    let client = Arc::clone(client);
                    std::thread::spawn(move || client.clear(&record.file, record.batch.as_deref(), None));
                }
            }
        }
    }

    /// How the batches are, and how many of the texts that wait for the model that serves are in them.
    pub(super) fn batch_progress(&self) -> (Option<BatchState>, usize) {
        let under_way = || self.batches().flat_map(|batches| &batches.under_way);
        let first = under_way().min_by_key(|batch| batch.since_ms);
        let problem = self.batches().find_map(|batches| batches.problem.clone());
        if first.is_none() && problem.is_none() {
            return (None, 0);
        }
        let status = first.map_or(Some("ended".to_owned()), |first| first.status.clone());
        let in_batches = |lane: &ModelLane| lane.in_batches(self.store.as_ref());
        let progress = BatchState {
            texts: self.lanes().map(in_batches).sum(),
            since: first.map(|batch| rfc3339(batch.since_ms)),
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
            for record in BatchRecords::of(folder.path()).all() {
                prop_assert!(is_id(&record.file) && record.batch.iter().all(|batch| is_id(batch)));
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
        assert!(records.write(&one).is_ok() && records.write(&other).is_ok());
        records.change("file:1", |record| record.batch = Some("batch-1".into()));
        records.forget(&[ContentHash::from_bytes([2; 16])]);
        std::fs::write(folder.path().join(FOLDER).join("torn.json"), "{").unwrap();
        let again = BatchRecords::of(folder.path());
        let found: Vec<_> = again.all().into_iter().filter(|record| record.place == one.place).collect();
        assert_eq!((found.len(), found[0].batch.as_deref()), (1, Some("batch-1")));
        let left = HashSet::from([ContentHash::from_bytes([1; 16])]);
        assert_eq!(found[0].contents(), left, "what was forgotten has no name there");
        again.remove("file:1");
        again.remove("file-2");
        for entry in std::fs::read_dir(folder.path().join(FOLDER)).unwrap() {
            assert_eq!(entry.unwrap().file_name(), "torn.json");
        }
        let gone = folder.path().join("gone");
        assert!(BatchRecords::of(&gone).write(&one).is_err() && !gone.exists());
    }

    #[test]
    fn a_record_whose_ids_lead_elsewhere_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let good = BatchRecord { batch: Some("b".into()), ..record("a", "f") };
        let is_known = |record: &BatchRecord| {
            BatchRecords::of(folder.path()).write(record).unwrap();
            let known = BatchRecords::of(folder.path()).all().len() == 1;
            std::fs::remove_dir_all(folder.path().join(FOLDER)).unwrap();
            known
        };
        assert!(is_known(&good));
        for bad in ["../embeddings", "a/b", "", "a?b"] {
            assert!(!is_known(&BatchRecord { file: bad.into(), ..good.clone() }), "{bad}");
            assert!(!is_known(&BatchRecord { batch: Some(bad.into()), ..good.clone() }), "{bad}");
        }
    }
}
