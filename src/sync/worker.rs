//! The loop of the writer thread, over signals, commands, files to read and texts to embed.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::dispatch::{Dispatcher, Embedded};
use super::embedding::PUBLISH_EVERY;
use super::shared::{ModelStatus, Phase, Shared, Verified};
use super::syncer::{Options, RefusedError};
use super::verify::{Report, Verifying};
use crate::embed::{EmbedError, Embedder};
use crate::index::vectors::Graph;
use crate::index::{ContentHash, Damage, IndexError, Store};
use crate::path::VaultPath;
use crate::vault::{Change, Debounce, Signal, Watcher, Watching};

/// What the thread is told.
pub(super) enum Message {
    Signal(Signal),
    Embedded(Embedded),
    Model(Result<Arc<dyn Embedder>, EmbedError>),
    Graph(Option<Graph>),
    Reindex {
        full: bool,
        done: Sender<Result<(), RefusedError>>,
    },
    /// Check all stores now. Nobody waits when a search has met damage.
    Verify {
        done: Option<Sender<Verified>>,
    },
    Verified(Report),
    Stop,
}

/// Why the loop ended.
pub(super) enum Next {
    Stop,
    Rebuild,
    /// The stores are closed and made fit to be opened again.
    Heal(Damage),
}

/// The writer: the stores, and what is still to be done to them.
pub(super) struct Worker<'a> {
    pub(super) options: &'a Options,
    pub(super) store: Store,
    pub(super) shared: &'a Arc<Shared>,
    pub(super) messages: &'a Sender<Message>,
    pub(super) debounce: Debounce,
    /// Files to read: those the watcher named at the front, those of a bulk import behind.
    pub(super) backlog: VecDeque<VaultPath>,
    pub(super) queued: HashSet<VaultPath>,
    pub(super) watcher: Option<Watcher>,
    pub(super) next_scan: Instant,
    pub(super) embedder: Option<Arc<dyn Embedder>>,
    pub(super) dispatcher: Option<Dispatcher>,
    /// Whether many texts were embedded since memory was last given back.
    pub(super) bulk: bool,
    /// Whether the whole vault has been looked at since the start.
    pub(super) scanned: bool,
    /// The thread that builds a graph, and how to stop it.
    pub(super) graph_builder: Option<(JoinHandle<()>, Arc<AtomicBool>)>,
    /// Built from nothing: searches go on in the index that was, until this one has all the words.
    pub(super) rebuilding: bool,
    /// Texts that the model failed on; tried again at the next scan.
    pub(super) failed: Vec<ContentHash>,
    /// Embeddings that are kept and not yet published.
    pub(super) unpublished: usize,
    pub(super) published: Instant,
    pub(super) next: Option<Next>,
    pub(super) verifying: Verifying,
}

/// While there is work, the catalog's log is emptied when it is longer than this.
const MAX_LOG_BYTES: u64 = 4_000_000;
/// While there is none. Emptying it syncs the disk, which one saved note is not worth.
const MAX_IDLE_LOG_BYTES: u64 = 500_000;

impl<'a> Worker<'a> {
    pub(super) fn new(
        options: &'a Options,
        store: Store,
        messages: &'a Sender<Message>,
        shared: &'a Arc<Shared>,
    ) -> Self {
        Self {
            debounce: Debounce::new(Duration::from_millis(options.index.debounce_ms)),
            options,
            shared,
            messages,
            backlog: VecDeque::new(),
            queued: HashSet::new(),
            watcher: None,
            next_scan: Instant::now(),
            embedder: None,
            dispatcher: None,
            bulk: false,
            scanned: false,
            graph_builder: None,
            rebuilding: store.files().is_empty() && shared.snapshot().is_some(),
            verifying: Verifying::new(options.index.verify_hours, store.was_unclean()),
            store,
            failed: Vec::new(),
            unpublished: 0,
            published: Instant::now(),
            next: None,
        }
    }

    pub(super) fn finish(mut self) -> Store {
        self.verifying.stop();
        self.dispatcher = None;
        if let Some((thread, stop)) = self.graph_builder.take() {
            // It saves into the folder of the stores, which may be about to go.
            stop.store(true, Ordering::Relaxed);
            let _ = thread.join();
        }
        self.store
    }

    pub(super) fn publish(&mut self) -> Result<(), IndexError> {
        if self.rebuilding {
            return Ok(());
        }
        let snapshot = self.store.snapshot()?;
        self.shared.publish(Arc::clone(&snapshot));
        self.store.trim_log(&snapshot, MAX_LOG_BYTES)?;
        (self.unpublished, self.published) = (0, Instant::now());
        Ok(())
    }

    /// Whether nothing is left to do before the next message.
    fn is_idle(&self) -> bool {
        self.debounce.is_empty()
            && self.unpublished == 0
            && self.dispatcher.as_ref().is_none_or(|dispatcher| dispatcher.in_flight == 0)
    }

    pub(super) fn report(&self) {
        let (pending_files, pending_embeddings) = (self.backlog.len() + self.debounce.len(), self.store.pending());
        let embedding = self.dispatcher.is_some() && pending_embeddings > 0;
        self.shared.update(|progress| {
            progress.pending_files = pending_files;
            progress.pending_embeddings = pending_embeddings;
            progress.phase = match (pending_files, embedding) {
                (0, false) => Phase::Idle,
                (0, true) => Phase::Embedding,
                _ => Phase::Indexing,
            };
        });
    }

    /// The loop. What a person waits for comes first: signals, then files, then embeddings.
    pub(super) fn work(&mut self, receiver: &Receiver<Message>) -> Result<Next, IndexError> {
        if self.options.watch {
            // The watcher comes before the scan, so that no change falls between them.
            self.watch();
        }
        loop {
            while let Ok(message) = receiver.try_recv() {
                self.handle(message)?;
            }
            if let Some(next) = self.next.take() {
                return Ok(next);
            }
            let now = Instant::now();
            if now >= self.next_scan {
                self.next_scan = now + Duration::from_secs(self.options.index.reconcile_seconds);
                self.store.requeue(&std::mem::take(&mut self.failed));
                self.look(None, self.store.is_foreign())?;
            }
            let due = self.debounce.take_due(now);
            if !due.is_empty() {
                self.look(Some(&due), false)?;
            }
            if !self.backlog.is_empty() {
                self.read_batch()?;
                self.report();
                continue;
            }
            if std::mem::take(&mut self.rebuilding) {
                self.publish()?;
            }
            self.shared.update(|progress| (progress.caught_up, progress.mending) = (true, false));
            self.store.settle()?;
            self.embed()?;
            self.report();
            let mut until = self.next_scan;
            if let Some(due) = self.debounce.next_due() {
                until = until.min(due);
            }
            if self.unpublished > 0 {
                until = until.min(self.published + PUBLISH_EVERY);
            }
            if self.is_idle() {
                if let Some(published) = self.shared.snapshot() {
                    self.store.trim_log(&published, MAX_IDLE_LOG_BYTES)?;
                }
                until = self.verify_when_idle(until)?;
            }
            self.verifying.set_busy(false);
            let message = receiver.recv_timeout(until.saturating_duration_since(Instant::now()));
            self.verifying.set_busy(true);
            match message {
                Ok(message) => self.handle(message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Next::Stop),
            }
        }
    }

    pub(super) fn handle(&mut self, message: Message) -> Result<(), IndexError> {
        match message {
            Message::Signal(signal) => self.signal(signal),
            Message::Embedded(embedded) => self.keep(embedded)?,
            Message::Model(Ok(embedder)) => self.use_model(embedder)?,
            Message::Model(Err(error)) => {
                tracing::warn!("search is by keyword alone: {error}");
                self.shared.update(|progress| progress.model = ModelStatus::Failed(error.to_string()));
            }
            Message::Graph(graph) => {
                self.graph_builder = None;
                if let Some(graph) = graph {
                    self.store.use_graph(Arc::new(graph));
                    self.publish()?;
                }
            }
            Message::Reindex { full, done } => {
                // Whoever asked waits for the progress to start anew.
                self.shared.update(|progress| (progress.caught_up, progress.files_done) = (false, 0));
                if full {
                    self.shared.update(|progress| progress.embeddings_done = 0);
                    self.next = Some(Next::Rebuild);
                } else {
                    self.store.prune_vectors()?;
                    self.look(None, true)?;
                    self.report();
                }
                let _ = done.send(Ok(()));
            }
            Message::Verify { done } => self.verify(done),
            Message::Verified(report) => self.verified(report)?,
            Message::Stop => self.next = Some(Next::Stop),
        }
        Ok(())
    }

    pub(super) fn watch(&mut self) {
        let messages = self.messages.clone();
        let signal = move |signal| {
            let _ = messages.send(Message::Signal(signal));
        };
        let poll = Duration::from_secs(self.options.index.poll_seconds);
        let rules = Arc::new(self.options.rules.clone());
        let watching = match Watcher::start(&self.options.root, rules, self.options.index.watch, poll, signal) {
            Ok(watcher) => {
                let watching = match watcher.watching() {
                    Watching::Events => "events".to_owned(),
                    Watching::Polling(reason) => format!("polling: {reason}"),
                };
                self.watcher = Some(watcher);
                watching
            }
            Err(error) => {
                tracing::warn!("changes are noticed by rescans alone: {error}");
                format!("rescans alone: {error}")
            }
        };
        self.shared.update(|progress| progress.watching = watching);
    }

    pub(super) fn signal(&mut self, signal: Signal) {
        let now = Instant::now();
        match signal {
            Signal::Changed(path, change) => self.debounce.note(path, change, now),
            Signal::Rescan => self.next_scan = now,
            Signal::Folder(folder) => {
                // Watch it before it is listed, so that nothing made in it meanwhile is missed.
                if let Some(watcher) = &mut self.watcher
                    && let Err(error) = watcher.cover(Some(&folder))
                {
                    let reason = format!("events for {folder} cannot be had ({error}); rescans find its changes");
                    tracing::warn!("{reason}");
                    self.shared.update(|progress| progress.watching = reason);
                }
                self.debounce.note(folder, Change::Closed, now);
            }
        }
    }
}
