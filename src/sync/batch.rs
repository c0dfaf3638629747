//! The bulk of a model's texts, handed to its service in batches: they cost less, and are made within a day.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};

use jiff::Timestamp;

use super::batch_run::{BatchEnd, BatchEvent, BatchReport, BatchRun, BatchStart};
use crate::engine::{ContentHash, EngineError, Writer};
use crate::models::{BatchEmbedder, BatchPlace, BatchRecord, BatchRecords, BatchStatus, Fingerprint, MOST_TEXTS};

/// Divisor of the minimum number of texts in a batch, which gives how many of the newest go the usual way.
const NEWEST_DIVISOR: usize = 10;

/// Numbers the batches.
static BATCHES: AtomicU64 = AtomicU64::new(1);

/// The batches of one model.
pub(super) struct Batches {
    service: Arc<dyn BatchEmbedder>,
    records: BatchRecords,
    /// The number of the model.
    model: u64,
    report: Arc<dyn Fn(BatchReport) + Send + Sync>,
    /// Set aside, and not handed over yet.
    queued: VecDeque<ContentHash>,
    under_way: Vec<BatchUnderWay>,
    is_resumed: bool,
    /// What went wrong with one.
    problem: Option<String>,
    /// Whether no more are handed over until the next start.
    is_over: bool,
}

struct BatchUnderWay {
    number: u64,
    contents: Vec<ContentHash>,
    since: Timestamp,
    /// `None` while it is handed over.
    status: Option<BatchStatus>,
    /// Why its answers are not there yet, though it has ended.
    trouble: Option<String>,
    /// Its end stops the thread.
    _stop: Sender<()>,
}

impl Batches {
    pub(super) fn new(
        service: Arc<dyn BatchEmbedder>,
        records: BatchRecords,
        model: u64,
        report: Arc<dyn Fn(BatchReport) + Send + Sync>,
    ) -> Self {
        let (queued, under_way) = (VecDeque::new(), Vec::new());
        Self { service, records, model, report, queued, under_way, is_resumed: false, problem: None, is_over: false }
    }

    /// Where they are, and whose.
    pub(super) fn place(&self) -> &BatchPlace {
        self.service.place()
    }

    /// Whether none is under way, or to be so.
    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty() && self.under_way.is_empty()
    }

    /// Whether texts are being handed over.
    pub(super) fn hands_over(&self) -> bool {
        !self.queued.is_empty() || self.under_way.iter().any(|batch| batch.status.is_none())
    }

    /// Since when the first is under way, and how it is.
    pub(super) fn first(&self) -> Option<(Timestamp, Option<BatchStatus>)> {
        self.under_way.iter().map(|batch| (batch.since, batch.status)).min_by_key(|(since, _)| *since)
    }

    /// What went wrong with one since the start.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Why the answers of one are not there yet.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.under_way.iter().find_map(|batch| batch.trouble.as_deref())
    }

    /// Sets what is in batches aside in a set of vectors that was opened anew: it is paid for already.
    pub(super) fn set_aside_again(&self, store: &mut dyn Writer, model: &Fingerprint) {
        for batch in &self.under_way {
            store.set_aside(model, &batch.contents);
        }
        store.set_aside(model, &self.queued.iter().copied().collect::<Vec<_>>());
    }

    /// Goes on with the batches of before, and hands over what waits, one file after the other, if it is many.
    pub(super) fn feed(
        &mut self,
        store: &mut dyn Writer,
        model: &Fingerprint,
        may_send: bool,
    ) -> Result<(), EngineError> {
        if !std::mem::replace(&mut self.is_resumed, true) {
            for record in self.records.at(self.service.place()) {
                self.resume(record, store, model);
            }
        }
        if self.is_over || !may_send {
            return Ok(());
        }
        let from = self.service.from();
        if store.pending(model).saturating_sub(store.aside(model)) > from {
            // The newest are what is looked for first.
            self.queued.extend(store.set_bulk_aside(model, from / NEWEST_DIVISOR));
        }
        let is_busy = self.under_way.iter().any(|batch| batch.status.is_none());
        if self.queued.is_empty() || is_busy {
            return Ok(());
        }
        let names: Vec<ContentHash> = self.queued.drain(..self.queued.len().min(MOST_TEXTS)).collect();
        let texts = store.pending_texts(model, &names)?;
        let texts: Vec<_> = texts.into_iter().map(|text| (text.content, text.document)).collect();
        let file = self.service.file(&texts);
        // What is gone since, and what there was no room for.
        let is_in: HashSet<_> = file.contents.iter().collect();
        let others: Vec<ContentHash> = names.into_iter().filter(|name| !is_in.contains(name)).collect();
        store.requeue(model, &others);
        if !file.contents.is_empty() {
            tracing::info!("{} texts are handed over as a batch", file.contents.len());
            self.start(file.contents.clone(), Timestamp::now(), None, BatchStart::New(file));
        }
        Ok(())
    }

    fn resume(&mut self, record: BatchRecord, store: &mut dyn Writer, model: &Fingerprint) {
        if record.leftovers.is_some() {
            return self.clear(record);
        }
        let contents = record.contents();
        store.set_aside(model, &contents);
        let since = Timestamp::from_millisecond(record.since_ms).unwrap_or_else(|_| Timestamp::now());
        let status = record.batch.as_ref().map(|_| BatchStatus::Unknown);
        self.start(contents, since, status, BatchStart::Known(record));
    }

    fn start(&mut self, contents: Vec<ContentHash>, since: Timestamp, status: Option<BatchStatus>, start: BatchStart) {
        let (number, model) = (BATCHES.fetch_add(1, Ordering::Relaxed), self.model);
        let (stop, stopped) = channel();
        let report = Arc::clone(&self.report);
        let run = BatchRun {
            service: Arc::clone(&self.service),
            records: self.records.clone(),
            report: Box::new(move |event| report(BatchReport { model, batch: number, event })),
            stop: stopped,
        };
        std::thread::spawn(move || run.run(start));
        self.under_way.push(BatchUnderWay { number, contents, since, status, trouble: None, _stop: stop });
    }

    /// Takes note of what became of a batch. Its embeddings are in the store when it ends.
    pub(super) fn take(&mut self, batch: u64, event: BatchEvent, store: &mut dyn Writer, model: &Fingerprint) {
        let Some(at) = self.under_way.iter().position(|under_way| under_way.number == batch) else { return };
        match event {
            BatchEvent::Status(status) => self.under_way[at].status = Some(status),
            BatchEvent::Trouble(trouble) => self.under_way[at].trouble = Some(trouble),
            BatchEvent::Embedded(_) => {}
            BatchEvent::Ended(end) => {
                let ended = self.under_way.remove(at);
                self.end(ended, end, store, model);
            }
        }
    }

    fn end(&mut self, ended: BatchUnderWay, end: BatchEnd, store: &mut dyn Writer, model: &Fingerprint) {
        let BatchEnd { file, leftovers, problem, is_bad } = end;
        match &problem {
            Some(problem) => {
                tracing::warn!("a batch came to no good end, and its texts are embedded as others are: {problem}")
            }
            None => tracing::info!("a batch of {} texts is done", ended.contents.len()),
        }
        self.problem = problem.or_else(|| self.problem.take());
        // Those that have no answer; the others do not wait any more.
        store.requeue(model, &ended.contents);
        if is_bad {
            self.is_over = true;
            store.requeue(model, self.queued.make_contiguous());
            self.queued.clear();
        }
        let Some(file) = file else { return };
        if let Some(leftovers) = leftovers {
            self.records.done(&file, leftovers);
        }
        if let Some(record) = self.records.get(&file) {
            self.clear(record);
        }
    }

    /// Leaves nothing of a batch at the service.
    fn clear(&self, record: BatchRecord) {
        let (service, records) = (Arc::clone(&self.service), self.records.clone());
        std::thread::spawn(move || {
            // Else the next start does it.
            if service.clear(&record) {
                records.remove(&record.file);
            }
        });
    }
}
