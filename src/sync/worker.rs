//! The writer thread: one loop over signals, commands, files to read and texts to embed.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use globset::GlobSet;

use super::dispatch::{BATCH, Dispatcher, Embedded, IN_FLIGHT};
use super::plan::plan;
use super::prepare::{Outcome, prepare};
use super::shared::{ModelStatus, Phase, Shared};
use crate::config::IndexConfig;
use crate::embed::{EmbedError, Embedder};
use crate::index::catalog::CatalogError;
use crate::index::keyword::Stemming;
use crate::index::vectors::Graph;
use crate::index::{ContentHash, FileEntry, IndexError, Settings, Store};
use crate::path::VaultPath;
use crate::vault::{Change, Debounce, Rules, Signal, Watcher, Watching, scan};

/// Loads the model; called once, on a thread of its own.
pub type LoadModel = Box<dyn FnOnce() -> Result<Arc<dyn Embedder>, EmbedError> + Send>;

/// What the writer needs.
pub struct Options {
    /// The vault's root.
    pub root: PathBuf,
    /// Where the stores are.
    pub folder: PathBuf,
    /// `[index]`.
    pub index: IndexConfig,
    /// What shapes the stores.
    pub settings: Settings,
    /// What belongs to the vault.
    pub rules: Rules,
    /// Notes that no agent sees, by `[access] private`.
    pub private: GlobSet,
    /// The model, if there is to be one.
    pub model: Option<LoadModel>,
    /// Whether to watch for changes, or to compare with the disk once.
    pub watch: bool,
}

/// A reindex was refused.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct ReindexError(String);

enum Message {
    Signal(Signal),
    Embedded(Embedded),
    Model(Result<Arc<dyn Embedder>, EmbedError>),
    Graph(Option<Graph>),
    Reindex { full: bool, done: Sender<Result<(), ReindexError>> },
    Stop,
}

/// The handle of the writer thread. Dropping it stops the thread and closes the stores.
pub struct Syncer {
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
}

impl Syncer {
    /// Starts the writer thread.
    pub fn start(options: Options) -> Self {
        let (messages, receiver) = channel();
        let shared = Arc::new(Shared::default());
        let stop = Arc::new(AtomicBool::new(false));
        let worker = (messages.clone(), Arc::clone(&shared), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let (messages, shared, stop) = worker;
            run(options, messages, &receiver, &shared, &stop);
            shared.update(|progress| progress.phase = Phase::Stopped);
        });
        Self { messages, thread: Some(thread), shared, stop }
    }

    /// What the writer shows.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Compares every file with the index, whatever its stamp says, or with `full` builds everything from nothing. Returns
    /// when the files are queued; the progress tells how far it is.
    ///
    /// # Errors
    /// When the stores refuse.
    pub fn reindex(&self, full: bool) -> Result<(), ReindexError> {
        let (done, wait) = channel();
        let gone = || ReindexError("the indexer has stopped".into());
        self.messages.send(Message::Reindex { full, done }).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.messages.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Opens the stores; what is damaged, foreign or of another format is removed and built anew. Gives the reason when so.
///
/// # Errors
/// When the disk refuses, or another process writes to them.
pub fn open_store(folder: &Path, settings: &Settings) -> Result<(Store, Option<String>), IndexError> {
    let error = match Store::open(folder, settings.clone()) {
        Ok(store) => return Ok((store, None)),
        Err(error) => error,
    };
    use rusqlite_code::is_damage;
    match &error {
        IndexError::Catalog(CatalogError::Sqlite(sqlite)) if !is_damage(sqlite) => return Err(error),
        IndexError::Fs(_) | IndexError::Vector(_) => return Err(error),
        IndexError::Keyword(_) => Store::erase(&folder.join("tantivy"))?,
        IndexError::Catalog(_) | IndexError::Stale(_) => Store::erase(folder)?,
    }
    let reason = error.to_string();
    tracing::warn!("the index is rebuilt: {reason}");
    let store = match Store::open(folder, settings.clone()) {
        Ok(store) => store,
        Err(_) => {
            Store::erase(folder)?;
            Store::open(folder, settings.clone())?
        }
    };
    Ok((store, Some(reason)))
}

mod rusqlite_code {
    /// Whether SQLite complains of the file's content, not of the disk or of rights.
    pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
        use rusqlite::ErrorCode::*;
        match error.sqlite_error_code() {
            Some(code) => !matches!(
                code,
                CannotOpen | ReadOnly | DiskFull | PermissionDenied | DatabaseBusy | DatabaseLocked | OutOfMemory
            ),
            None => true,
        }
    }
}

fn run(
    options: Options,
    messages: Sender<Message>,
    receiver: &Receiver<Message>,
    shared: &Arc<Shared>,
    stop: &Arc<AtomicBool>,
) {
    let mut options = options;
    if let Some(load) = options.model.take() {
        shared.update(|progress| progress.model = ModelStatus::Loading);
        let messages = messages.clone();
        std::thread::spawn(move || {
            let _ = messages.send(Message::Model(load()));
        });
    }
    let mut embedder = None;
    while !stop.load(Ordering::Relaxed) {
        let opened = open_store(&options.folder, &options.settings).and_then(|(store, rebuilt)| {
            let mut worker = Worker::new(&options, store, &messages, shared, stop);
            worker.publish()?;
            shared.update(|progress| {
                progress.failure = None;
                progress.rebuilt = rebuilt;
            });
            if let Some(embedder) = embedder.take() {
                worker.use_model(embedder)?;
            }
            let result = worker.work(receiver);
            embedder = worker.embedder.take();
            let store = worker.finish();
            match result {
                Ok(Next::Rebuild) => store.discard(),
                Ok(Next::Stop) => store.close(),
                Err(error) => Err(error),
            }
        });
        if let Err(error) = opened {
            tracing::error!("indexing stopped and will be tried again: {error}");
            shared.update(|progress| {
                progress.phase = Phase::Failing;
                progress.failure = Some(error.to_string());
            });
            wait_or_stop(receiver, stop, &mut embedder);
        }
    }
}

/// After a failure of the disk, the pause before the next try.
const RETRY: Duration = Duration::from_secs(3);

fn wait_or_stop(receiver: &Receiver<Message>, stop: &AtomicBool, embedder: &mut Option<Arc<dyn Embedder>>) {
    let until = Instant::now() + RETRY;
    while let Some(left) = until.checked_duration_since(Instant::now())
        && !stop.load(Ordering::Relaxed)
    {
        match receiver.recv_timeout(left) {
            Ok(Message::Model(Ok(loaded))) => *embedder = Some(loaded),
            Ok(Message::Reindex { done, .. }) => {
                let _ = done.send(Err(ReindexError("the index cannot be written; `vault status` says why".into())));
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

enum Next {
    Stop,
    Rebuild,
}

struct Worker<'a> {
    options: &'a Options,
    store: Store,
    shared: &'a Arc<Shared>,
    messages: &'a Sender<Message>,
    stop: &'a Arc<AtomicBool>,
    debounce: Debounce,
    /// Files to read: those the watcher named at the front, those of a bulk import behind.
    backlog: VecDeque<VaultPath>,
    queued: HashSet<VaultPath>,
    watcher: Option<Watcher>,
    next_scan: Instant,
    embedder: Option<Arc<dyn Embedder>>,
    dispatcher: Option<Dispatcher>,
    building_graph: bool,
    /// Built from nothing: searches go on in the index that was, until this one has all the words.
    rebuilding: bool,
    /// Texts that the model failed on; tried again at the next scan.
    failed: Vec<ContentHash>,
    /// Embeddings that are kept and not yet published.
    unpublished: usize,
    published: Instant,
    next: Option<Next>,
}

/// A batch closes after so much reading, so that a note just saved does not wait behind a bulk import.
const BATCH_TIME: Duration = Duration::from_millis(100);
/// While many texts are being embedded, a state is published so often.
const PUBLISH_EVERY: Duration = Duration::from_millis(250);

impl<'a> Worker<'a> {
    fn new(
        options: &'a Options,
        store: Store,
        messages: &'a Sender<Message>,
        shared: &'a Arc<Shared>,
        stop: &'a Arc<AtomicBool>,
    ) -> Self {
        Self {
            debounce: Debounce::new(Duration::from_millis(options.index.debounce_ms)),
            options,
            shared,
            messages,
            stop,
            backlog: VecDeque::new(),
            queued: HashSet::new(),
            watcher: None,
            next_scan: Instant::now(),
            embedder: None,
            dispatcher: None,
            building_graph: false,
            rebuilding: store.files().is_empty() && shared.snapshot().is_some(),
            store,
            failed: Vec::new(),
            unpublished: 0,
            published: Instant::now(),
            next: None,
        }
    }

    fn finish(mut self) -> Store {
        self.dispatcher = None;
        self.store
    }

    fn publish(&mut self) -> Result<(), IndexError> {
        if self.rebuilding {
            return Ok(());
        }
        let snapshot = self.store.snapshot()?;
        self.shared.publish(Arc::clone(&snapshot));
        self.store.trim_log(&snapshot)?;
        (self.unpublished, self.published) = (0, Instant::now());
        Ok(())
    }

    fn report(&self) {
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
    fn work(&mut self, receiver: &Receiver<Message>) -> Result<Next, IndexError> {
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
                self.look(None, false)?;
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
            self.shared.update(|progress| progress.caught_up = true);
            self.embed()?;
            self.report();
            let mut until = self.next_scan;
            if let Some(due) = self.debounce.next_due() {
                until = until.min(due);
            }
            if self.unpublished > 0 {
                until = until.min(self.published + PUBLISH_EVERY);
            }
            match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message) => self.handle(message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Next::Stop),
            }
        }
    }

    fn handle(&mut self, message: Message) -> Result<(), IndexError> {
        match message {
            Message::Signal(signal) => self.signal(signal),
            Message::Embedded(embedded) => self.keep(embedded)?,
            Message::Model(Ok(embedder)) => self.use_model(embedder)?,
            Message::Model(Err(error)) => {
                tracing::warn!("search is by keyword alone: {error}");
                self.shared.update(|progress| progress.model = ModelStatus::Failed(error.to_string()));
            }
            Message::Graph(graph) => {
                self.building_graph = false;
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
            Message::Stop => self.next = Some(Next::Stop),
        }
        Ok(())
    }

    fn watch(&mut self) {
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

    fn signal(&mut self, signal: Signal) {
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

    /// Compares places (the whole vault when `None`) with the index, and queues what has changed.
    fn look(&mut self, places: Option<&[VaultPath]>, distrust: bool) -> Result<(), IndexError> {
        let (root, rules) = (&self.options.root, &self.options.rules);
        if places.is_none() && !root.is_dir() {
            // The vault is unmounted or moved: what it holds is unknown, not gone.
            let failure = format!("the vault's folder {} is not there", root.display());
            self.shared.update(|progress| progress.failure = Some(failure));
            return Ok(());
        }
        if places.is_none() {
            self.shared.update(|progress| progress.failure = None);
        }
        let mut all = crate::vault::Scan::default();
        match places {
            None => all = scan(root, rules, None),
            Some(places) => {
                for place in places {
                    let found = scan(root, rules, Some(place));
                    all.files.extend(found.files);
                    all.skipped.extend(found.skipped);
                    all.unreadable.extend(found.unreadable);
                }
            }
        }
        let made = match places {
            None => plan(self.store.files().iter(), &all, distrust),
            Some(places)
                if places.iter().all(|place| {
                    self.store.file(place).is_some() || all.files.iter().any(|found| found.path == *place)
                }) =>
            {
                plan(places.iter().filter_map(|place| self.store.file(place)), &all, distrust)
            }
            Some(places) => {
                let below = |path: &VaultPath| {
                    places.iter().any(|place| {
                        path.as_str()
                            .strip_prefix(place.as_str())
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    })
                };
                plan(self.store.files().iter().filter(|file| below(&file.path)), &all, distrust)
            }
        };
        let skipped: Vec<(String, String)> =
            all.skipped.into_iter().map(|skipped| (skipped.path, skipped.reason)).collect();
        self.store.set_skipped(places, &skipped)?;
        if !made.remove.is_empty() {
            self.store.apply(Vec::new(), &made.remove)?;
            self.publish()?;
        }
        // Named by the watcher: before the bulk. By a scan: behind it.
        let fresh: Vec<VaultPath> =
            made.read.into_iter().filter(|path| places.is_some() || self.queued.insert(path.clone())).collect();
        if places.is_some() {
            for path in fresh.into_iter().rev() {
                self.queued.insert(path.clone());
                self.backlog.push_front(path);
            }
        } else {
            self.backlog.extend(fresh);
        }
        Ok(())
    }

    /// Reads files of the backlog on all cores until the batch's time is over, and applies what has changed.
    fn read_batch(&mut self) -> Result<(), IndexError> {
        let deadline = Instant::now() + BATCH_TIME;
        let with_entry = |path: &VaultPath| (path.clone(), self.store.file(path).cloned());
        let paths: Vec<(VaultPath, Option<Arc<FileEntry>>)> = self.backlog.iter().take(4096).map(with_entry).collect();
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(Vec::new());
        let (root, max_bytes) = (&self.options.root, self.options.index.max_file_bytes);
        let (private, stemmer) = (&self.options.private, self.store.stemmer());
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(paths.len());
        std::thread::scope(|scope| {
            let work = || {
                let mut stemming = Stemming::new(stemmer);
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((path, known)) = paths.get(at).filter(|_| at == 0 || Instant::now() < deadline) else {
                        break;
                    };
                    let outcome = prepare(root, path.clone(), known.as_deref(), max_bytes, private, &mut stemming);
                    outcomes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, outcome));
                }
            };
            (1..threads).for_each(|_| {
                scope.spawn(work);
            });
            work();
        });
        let mut outcomes = outcomes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        // The order in which files get their rows must not depend on which thread was faster.
        outcomes.sort_by_key(|(at, _)| *at);
        let done = outcomes.len();
        let read: HashSet<usize> = outcomes.iter().map(|(at, _)| *at).collect();
        let left: Vec<VaultPath> =
            paths.into_iter().enumerate().filter(|(at, _)| !read.contains(at)).map(|(_, (path, _))| path).collect();
        self.backlog.drain(..done + left.len());
        left.into_iter().rev().for_each(|path| self.backlog.push_front(path));
        self.take(outcomes.into_iter().map(|(_, outcome)| outcome).collect())?;
        self.shared.update(|progress| progress.files_done += done);
        Ok(())
    }

    fn take(&mut self, outcomes: Vec<Outcome>) -> Result<(), IndexError> {
        let (mut updates, mut removed, mut touched, mut unfit) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for outcome in outcomes {
            match outcome {
                Outcome::Changed(update) => {
                    self.queued.remove(&update.path);
                    updates.push(*update);
                }
                Outcome::Unchanged(path, stamp, read_ns) => {
                    self.queued.remove(&path);
                    touched.push((path, stamp, read_ns));
                }
                Outcome::Gone(path) => {
                    self.queued.remove(&path);
                    removed.push(path);
                }
                Outcome::Changing(path) => {
                    self.queued.remove(&path);
                    self.debounce.note(path, Change::Written, Instant::now());
                }
                Outcome::Unfit(path, reason) => {
                    self.queued.remove(&path);
                    unfit.push((path.to_string(), reason));
                    removed.push(path);
                }
            }
        }
        // The same path twice in one batch: the watcher named it while it was in the bulk. One reading is enough.
        let mut seen = HashSet::new();
        updates.retain(|update| seen.insert(update.path.clone()));
        removed.retain(|path| self.store.file(path).is_some());
        if !unfit.is_empty() {
            let places: Vec<VaultPath> =
                unfit.iter().filter_map(|(path, _)| VaultPath::new(path.clone()).ok()).collect();
            self.store.set_skipped(Some(&places), &unfit)?;
        }
        if !touched.is_empty() {
            self.store.touch(&touched)?;
        }
        let changed = !(updates.is_empty() && removed.is_empty());
        self.store.apply(updates, &removed)?;
        if changed {
            self.publish()?;
        }
        Ok(())
    }

    fn use_model(&mut self, embedder: Arc<dyn Embedder>) -> Result<(), IndexError> {
        self.store.use_model(embedder.as_ref())?;
        let messages = self.messages.clone();
        self.dispatcher = Some(Dispatcher::start(Arc::clone(&embedder), move |embedded| {
            let _ = messages.send(Message::Embedded(embedded));
        }));
        self.publish()?;
        self.shared.set_embedder(Some(Arc::clone(&embedder)));
        let model = ModelStatus::Ready { name: embedder.name().to_owned(), dimension: embedder.dimension() };
        let pending_embeddings = self.store.pending();
        self.shared.update(|progress| (progress.model, progress.pending_embeddings) = (model, pending_embeddings));
        self.embedder = Some(embedder);
        Ok(())
    }

    /// Keeps the embedder busy, publishes what it has done, and has a graph built when one is due.
    fn embed(&mut self) -> Result<(), IndexError> {
        if let Some(dispatcher) = &mut self.dispatcher {
            while dispatcher.in_flight < IN_FLIGHT {
                let pending = self.store.take_pending(BATCH)?;
                if pending.is_empty() {
                    break;
                }
                dispatcher.send(pending);
            }
            let idle = dispatcher.in_flight == 0;
            if self.unpublished > 0
                && (idle || self.store.pending() < BATCH || self.published.elapsed() >= PUBLISH_EVERY)
            {
                self.publish()?;
            }
            if idle {
                self.build_graph();
            }
        }
        Ok(())
    }

    fn keep(&mut self, embedded: Embedded) -> Result<(), IndexError> {
        if let Some(dispatcher) = &mut self.dispatcher {
            dispatcher.in_flight = dispatcher.in_flight.saturating_sub(1);
        }
        match embedded.result {
            Ok(vectors) => {
                let count = vectors.len();
                self.store.embedded(embedded.contents.into_iter().zip(vectors).collect())?;
                self.unpublished += count;
                self.shared.update(|progress| progress.embeddings_done += count);
            }
            Err(EmbedError::Stopped) => {}
            Err(error) => {
                tracing::warn!("{} texts could not be embedded: {error}", embedded.contents.len());
                self.shared.update(|progress| progress.failure = Some(error.to_string()));
                self.failed.extend(embedded.contents);
            }
        }
        Ok(())
    }

    fn build_graph(&mut self) {
        let Some(vectors) = self.store.wants_graph().filter(|_| !self.building_graph) else { return };
        self.building_graph = true;
        let (messages, stop, folder) = (self.messages.clone(), Arc::clone(self.stop), self.store.graph_folder());
        std::thread::spawn(move || {
            let graph = vectors.build_graph(&stop);
            if let Some(graph) = &graph
                && let Err(error) = graph.save(&folder)
            {
                tracing::warn!("the graph could not be saved, the next start builds it again: {error}");
            }
            let _ = messages.send(Message::Graph(graph));
        });
    }
}
