//! The loop of the writer thread, over signals, commands, files to read and texts to embed.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::embedding::PUBLISH_EVERY;
use super::fresh::Barrier;
use super::lane::ModelLane;
use super::reading::{Backlog, Large};
use super::shared::{Phase, Shared};
use super::syncer::{RefusedError, SyncOptions};
use super::verify::{Erasing, Verifying};
use super::watching::{RescanSchedule, missing, shown_now};
use crate::base::fs::crash;
use crate::index::engine::{Damage, EngineError, Writer};
use crate::models::{ChosenModel, ModelError};
use crate::vault::disk::{Debounce, Signal};

/// What is done on the thread.
type Work = Box<dyn FnOnce(&mut Worker<'_>) -> Result<(), EngineError> + Send>;

/// What the thread is told.
pub(super) enum WorkerMessage {
    /// To do something; nothing comes of it while the stores are closed.
    Do(Work),
    Model {
        /// Counts the models that were asked for.
        asked: u64,
        /// Whether it is the one whose vectors served last, where another is to.
        is_former: bool,
        loaded: Result<ChosenModel, ModelError>,
    },
    Stop,
}

impl WorkerMessage {
    pub(super) fn to_do(work: impl FnOnce(&mut Worker<'_>) -> Result<(), EngineError> + Send + 'static) -> Self {
        Self::Do(Box::new(work))
    }
}

/// Why the loop ended.
pub(super) enum Next {
    Stop,
    /// Everything is to be built from nothing.
    Rebuild,
    /// The stores are no longer those that are open.
    Reopen,
    /// The stores are closed and made fit to be opened again.
    Heal(Damage),
}

/// The writer: the stores, and what is still to be done to them.
pub(super) struct Worker<'a> {
    pub(super) options: &'a SyncOptions,
    pub(super) store: Box<dyn Writer>,
    pub(super) shared: &'a Arc<Shared>,
    pub(super) messages: &'a Sender<WorkerMessage>,
    pub(super) debounce: Debounce,
    /// What searches wait for.
    pub(super) awaited: Vec<Barrier>,
    pub(super) backlog: Backlog,
    pub(super) large: Large,
    /// Files of the next batch at most.
    pub(super) batch_files: usize,
    pub(super) rescans: RescanSchedule,
    /// The model whose vectors are searched.
    pub(super) serving: Option<ModelLane>,
    /// The one that takes its place when its own are there.
    pub(super) filling: Option<ModelLane>,
    /// Whether it is written which model's vectors serve, this one's or that of another.
    pub(super) knows_in_use: bool,
    /// Whether many texts were embedded since memory was last given back.
    pub(super) bulk: bool,
    /// Whether the whole vault has been looked at since the start.
    pub(super) scanned: bool,
    /// Built from nothing: searches go on in the index that was, until this one has all the words.
    pub(super) rebuilding: bool,
    /// Embeddings that are kept and not yet published.
    pub(super) unpublished: usize,
    pub(super) published: Instant,
    pub(super) next: Option<Next>,
    pub(super) verifying: Verifying,
    /// What of something deleted is to go from the files of the stores when there is time.
    pub(super) erasing: Erasing,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        options: &'a SyncOptions,
        store: Box<dyn Writer>,
        messages: &'a Sender<WorkerMessage>,
        shared: &'a Arc<Shared>,
        healed: bool,
    ) -> Self {
        // What was healed was found by a check, or at once after a start.
        let is_doubtful = (store.was_unclean() && !healed) || store.is_foreign();
        let mut worker = Self {
            debounce: Debounce::new(Duration::from_millis(options.index.debounce_ms)),
            options,
            shared,
            messages,
            awaited: Vec::new(),
            backlog: Backlog::default(),
            large: Large::default(),
            batch_files: super::reading::FIRST_BATCH,
            rescans: RescanSchedule::new(options),
            serving: None,
            filling: None,
            knows_in_use: !options.in_use.is_absent(),
            bulk: false,
            scanned: false,
            rebuilding: store.files().is_empty() && shared.snapshot().is_some(),
            verifying: Verifying::default(),
            store,
            unpublished: 0,
            published: Instant::now(),
            next: None,
            erasing: Erasing::Done,
        };
        if is_doubtful {
            worker.verify(None);
        }
        worker
    }

    pub(super) fn finish(mut self) -> Box<dyn Writer> {
        self.verifying.stop();
        // Who waits for a check gets that of the stores as they are opened next, if they are.
        for done in self.verifying.waiting.drain(..) {
            let _ = self.messages.send(WorkerMessage::to_do(|worker| {
                worker.verify(Some(done));
                Ok(())
            }));
        }
        (self.serving, self.filling) = (None, None);
        self.store
    }

    pub(super) fn publish(&mut self) -> Result<(), EngineError> {
        if self.rebuilding {
            return Ok(());
        }
        let reader = self.store.publish()?;
        crash::point("publishing");
        self.shared.publish(reader);
        self.store.tidy(false)?;
        (self.unpublished, self.published) = (0, Instant::now());
        Ok(())
    }

    /// Whether nothing is left to do before the next message.
    fn is_idle(&self) -> bool {
        self.debounce.is_empty() && self.large.is_empty() && self.unpublished == 0 && self.in_flight() == 0
    }

    pub(super) fn pending_files(&self) -> usize {
        self.backlog.len() + self.large.len() + self.debounce.len()
    }

    pub(super) fn report(&self) {
        let (pending_files, embedding) = (self.pending_files(), self.waiting() > 0);
        self.show_models();
        self.shared.update(|progress| {
            progress.pending_files = pending_files;
            progress.phase = match (pending_files, embedding) {
                (0, false) => Phase::Idle,
                (0, true) => Phase::Embedding,
                _ => Phase::Indexing,
            };
        });
    }

    /// The loop. What a person waits for comes first: signals, then files, the large ones in turns with the others, then embeddings.
    pub(super) fn work(&mut self, receiver: &Receiver<WorkerMessage>) -> Result<Next, EngineError> {
        if self.options.watch {
            // The watcher comes before the scan, so that no change falls between them.
            self.watch();
        }
        loop {
            self.serve_awaited();
            while self.next.is_none()
                && let Ok(message) = receiver.try_recv()
            {
                self.handle(message)?;
            }
            if let Some(next) = self.next.take() {
                return Ok(next);
            }
            let now = Instant::now();
            self.check_place(now);
            if self.next.is_some() {
                continue;
            }
            if self.rescans.is_missing() {
                self.report();
                self.wait(receiver, self.rescans.next())?;
                continue;
            }
            self.rescan_if_due(now)?;
            let due = self.debounce.take_due(now);
            if !due.is_empty() {
                self.look_at(&due)?;
            }
            if !self.backlog.is_empty() {
                self.read_batch()?;
                // Beside the others, so that a large file that was made private is not shown until all of them are read.
                self.read_next_large();
                self.report();
                continue;
            }
            self.read_next_large();
            self.catch_up()?;
            self.serve_awaited();
            self.embed()?;
            self.report();
            let mut until = self.rescans.next();
            if let Some(due) = self.debounce.next_due() {
                until = until.min(due);
            }
            if self.unpublished > 0 {
                until = until.min(self.published + PUBLISH_EVERY);
            }
            if let Some(due) = self.lanes().filter_map(|lane| lane.retry.due(now)).min() {
                until = until.min(due);
            }
            if self.is_idle() {
                if self.store.tidy(true)? {
                    self.publish()?;
                }
                until = self.erase_when_idle(until)?;
            }
            self.wait(receiver, until)?;
        }
    }

    /// Once nothing waits to be read: says so, if everything has been looked at. A vault that went away meanwhile took what
    /// waits with it.
    fn catch_up(&mut self) -> Result<(), EngineError> {
        if !self.scanned || !self.large.is_empty() || self.rescans.is_missing() || self.rescans.distrusts_events() {
            return Ok(());
        }
        if std::mem::take(&mut self.rebuilding) {
            self.publish()?;
        }
        // What a rescan finds missing is removed from the index after a moment.
        let is_settled = self.debounce.is_empty();
        self.shared.update(|progress| {
            (progress.caught_up, progress.mending) = (true, false);
            if is_settled && progress.watch.lost_at.is_some() {
                progress.watch.recovered_at.get_or_insert_with(shown_now);
            }
        });
        if is_settled {
            self.store.settle()?;
        }
        Ok(())
    }

    /// Waits for a message until then, and does what it says.
    fn wait(&mut self, receiver: &Receiver<WorkerMessage>, until: Instant) -> Result<(), EngineError> {
        match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(message) => self.handle(message)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.next = Some(Next::Stop),
        }
        Ok(())
    }

    pub(super) fn handle(&mut self, message: WorkerMessage) -> Result<(), EngineError> {
        match message {
            WorkerMessage::Do(work) => work(self)?,
            WorkerMessage::Model { asked, .. } if !self.shared.is_newest_model(asked) => {}
            WorkerMessage::Model { loaded: Ok(model), is_former: true, .. } => self.take_former(model)?,
            WorkerMessage::Model { loaded: Ok(model), .. } => {
                self.shared.set_coming(None);
                self.take_model(model)?;
            }
            WorkerMessage::Model { loaded: Err(error), .. } => {
                self.shared.show_unloaded(&error, self.serving.is_some());
                self.show_models();
            }
            WorkerMessage::Stop => self.next = Some(Next::Stop),
        }
        Ok(())
    }

    /// Takes hints of whoever knows of changes without a watcher.
    pub(super) fn notice(&mut self, signals: Vec<Signal>) -> Result<(), EngineError> {
        signals.into_iter().try_for_each(|signal| self.signal(signal))?;
        // What waits to be looked at is pending; where everything is to be compared, nothing else says so.
        let lost = self.rescans.distrusts_events();
        self.shared.update(|progress| progress.caught_up &= !lost);
        self.report();
        Ok(())
    }

    /// Compares every file with the index, or has everything built from nothing.
    pub(super) fn reindex(&mut self, full: bool) -> Result<Result<(), RefusedError>, EngineError> {
        if self.rescans.is_missing() {
            return Ok(Err(RefusedError(missing(self.options))));
        }
        // Whoever asked waits for the progress to start anew.
        self.shared.update(|progress| (progress.caught_up, progress.files_done) = (false, 0));
        if full {
            self.options.attachments.retain([].into_iter());
            self.shared.update(|progress| progress.embeddings_done = 0);
            self.next = Some(Next::Rebuild);
        } else {
            self.store.prune_vectors(true)?;
            self.count_kept()?;
            self.look(true)?;
            self.report();
        }
        Ok(Ok(()))
    }
}
