//! Opening one vault: its parts, and their threads.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::App;
use crate::access::policy::AgentRegistry;
use crate::access::request::{Owner, Request, Role, Workspace, WorkspaceParts};
use crate::access::rules::{Principal, Turn};
use crate::base::clock::Clock;
use crate::base::config::{Config, Switches};
use crate::base::fs::FsError;
use crate::base::state::ChangeTable;
use crate::base::tasks::{Task, TaskSignal};
use crate::index::engine::{Engine, EngineError};
use crate::index::local::{LocalEngine, Settings};
use crate::index::sync::{BatchRecords, Shared, SyncOptions, Syncer};
use crate::memory::capture::{self, Capture};
use crate::memory::context::FrozenContexts;
use crate::memory::extraction::{Extraction, extract};
use crate::memory::items::{EntryStore, FactStore, FactsParts};
use crate::memory::profile::keep_profile;
use crate::memory::session_export::keep_sessions;
use crate::memory::summaries::keep_summaries;
use crate::memory::trace_files::TraceFiles;
use crate::memory::traces::tidy_traces;
use crate::models::{LoadEmbedder, ModelChoice, ModelInUse};
use crate::serve::qmd::{IndexPaths, QmdCollections, QmdDocuments, QmdError};
use crate::vault::attachments::AttachmentReader;
use crate::vault::backup::{Trust, back_up};
use crate::vault::disk::{CookieFolder, Files, Home, Lock, NoteRules, Outside, RulesError, globs};
use crate::vault::forgotten::ForgottenTexts;
use crate::vault::notes::{finish_open_purges, finish_purges};

/// Minimum age of an unfinished file that nobody will finish.
const LEFT_FOR_GOOD: Duration = Duration::from_secs(3600);

/// The vault could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A glob of the configuration cannot be read, or a folder elsewhere cannot be a collection.
    #[error(transparent)]
    NoteRules(#[from] RulesError),
    /// A thread cannot be started.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The index cannot be read.
    #[error("the index cannot be read: {0}")]
    Index(#[from] EngineError),
}

impl App {
    /// Starts to index the vault; with `watch` until it is dropped, else once.
    ///
    /// # Errors
    /// When the configuration has a glob that cannot be read.
    pub fn start(home: Home, config: Config, lock: Lock, watch: bool) -> Result<Self, StartError> {
        let model = ModelChoice::of(&config.embed, home.root(), &home.index_dir(&config.index.dir));
        let engine = local(&home, &config)?;
        Self::with_engine(home, config, lock, watch, model, Clock::default(), Box::new(engine))
    }

    /// The same with a model of the caller's, whatever `[embed]` says.
    ///
    /// # Errors
    /// When the configuration has a glob that cannot be read.
    pub fn with_model(
        home: Home,
        config: Config,
        lock: Lock,
        watch: bool,
        model: Option<LoadEmbedder>,
    ) -> Result<Self, StartError> {
        Self::with_clock(home, config, lock, watch, model, Clock::default())
    }

    /// The same with a clock of the caller's for the times at which files are read.
    ///
    /// # Errors
    /// When the configuration has a glob that cannot be read.
    pub fn with_clock(
        home: Home,
        config: Config,
        lock: Lock,
        watch: bool,
        model: Option<LoadEmbedder>,
        clock: Clock,
    ) -> Result<Self, StartError> {
        let engine = local(&home, &config)?;
        Self::with_engine(home, config, lock, watch, model.map(ModelChoice::from), clock, Box::new(engine))
    }

    /// The same with an engine of the caller's.
    pub(super) fn with_engine(
        home: Home,
        config: Config,
        lock: Lock,
        watch: bool,
        model: Option<ModelChoice>,
        clock: Clock,
        engine: Box<dyn Engine>,
    ) -> Result<Self, StartError> {
        let index_dir = home.index_dir(&config.index.dir);
        let outside = Outside::new(home.root(), &config.collections)?;
        let lock = Arc::new(lock);
        let attachments = Arc::new(AttachmentReader::keeping(&index_dir));
        let summaries_clock = clock.clone();
        // Who writes `memory.toml` may have been killed.
        crate::base::fs::remove_unfinished(home.root(), LEFT_FOR_GOOD);
        let options = SyncOptions {
            lock: Arc::clone(&lock),
            root: home.root().to_owned(),
            engine,
            index: config.index.clone(),
            rules: NoteRules::new(home.root(), &config.index.exclude)?.with(&outside, config.index.attachments),
            attachments: Arc::clone(&attachments),
            in_use: ModelInUse::of(&index_dir),
            batches: BatchRecords::of(&index_dir),
            watch,
            clock,
            // Beside the index: on a disk of this machine, where no sync service and no git looks, and never in a vault that may
            // only be read.
            cookies: Arc::new(CookieFolder::new(index_dir.join("cookies"))),
        };
        let syncer = Syncer::start(options, model);
        let parts = read_parts(home, config, outside, Arc::clone(syncer.shared()), attachments);
        let (home, config) = (&parts.home, &parts.config);
        let files = Files::new(home.root().to_owned(), &home.state_dir(), parts.outside.clone());
        let files = Arc::new(files.logged(Arc::clone(&parts.changes)));
        let private = globs("access.private", &config.access.private)?;
        let capture = watch.then(|| Capture::start(&parts, &files, private)).transpose()?.map(Arc::new);
        let pending = capture::pending(capture.clone(), &parts);
        let backup = config.backup.interval().filter(|_| watch);
        let backup = backup.map(|every| back_up(home.root().to_owned(), Trust::of(home), every)).transpose()?;
        let noticed = watch.then(|| {
            let (fact_store, files) = (Arc::clone(&parts.fact_store), Arc::clone(&files));
            FactsParts { fact_store, files, shared: Arc::clone(&parts.shared), lock: Arc::clone(&lock) }.start()
        });
        let noticed = noticed.transpose()?;
        let workspace = Workspace::new(WorkspaceParts {
            pending: Some(pending),
            files: Some(files),
            syncer: Some(syncer),
            lock: Some(lock),
            ..parts
        });
        let workspace = Arc::new(workspace);
        // Before anybody makes anything of what was to go.
        let request = Request::new(Arc::clone(&workspace), Principal::Owner, Turn::default());
        let open = Owner::of(request).iter().flat_map(finish_purges).collect::<Vec<_>>();
        let is_kept = watch && workspace.config.memory.enabled;
        let summaries = is_kept.then(|| keep_summaries(&workspace, summaries_clock)).transpose()?;
        let tasks = [
            is_kept.then(|| keep_profile(&workspace)).transpose()?,
            (!open.is_empty()).then(|| finish_open_purges(&workspace, open)).transpose()?,
            watch.then(|| tidy_traces(&workspace)).transpose()?,
            if watch { follow_documents(workspace.home.root(), &workspace.shared)? } else { None },
        ];
        let sessions = watch.then(|| keep_sessions(&workspace)).transpose()?.flatten();
        let extraction = Arc::new(Extraction::new(Arc::clone(&workspace), Clock::default()));
        let worker = is_kept.then(|| extract(&extraction)).transpose()?;
        Ok(Self {
            summaries,
            worker,
            fact_store: noticed,
            sessions,
            _tasks: tasks.into_iter().flatten().collect(),
            capture,
            backup,
            ..Self::of(workspace, extraction)
        })
    }

    /// Answers from an index that another process writes, as it is now, by keyword alone.
    ///
    /// # Errors
    /// When there is none yet, or it cannot be read.
    pub fn read_only(home: Home, config: Config) -> Result<Self, StartError> {
        let outside = Outside::new(home.root(), &config.collections)?;
        let shared = Arc::new(Shared::default());
        shared.publish(local(&home, &config)?.read()?);
        let attachments = Arc::new(AttachmentReader::looking_at(&home.index_dir(&config.index.dir)));
        let workspace = Workspace::new(read_parts(home, config, outside, shared, attachments));
        let workspace = Arc::new(workspace);
        let extraction = Arc::new(Extraction::new(Arc::clone(&workspace), Clock::default()));
        Ok(Self::of(workspace, extraction))
    }

    /// Its parts, without those that have threads.
    fn of(workspace: Arc<Workspace>, extraction: Arc<Extraction>) -> Self {
        Self {
            summaries: None,
            worker: None,
            extraction,
            fact_store: None,
            sessions: None,
            _tasks: Vec::new(),
            capture: None,
            backup: None,
            workspace,
            frozen: FrozenContexts::default(),
            upstream: OnceLock::new(),
            address: OnceLock::new(),
        }
    }
}

/// The parts of whoever reads a vault; who writes it has more.
fn read_parts(
    home: Home,
    config: Config,
    outside: Outside,
    shared: Arc<Shared>,
    attachments: Arc<AttachmentReader>,
) -> WorkspaceParts {
    let (root, state, facts) = (home.root().to_owned(), home.state(), config.facts.history);
    let fact_store = FactStore::new(root.clone(), facts, config.index.max_file_bytes, Some(&state));
    WorkspaceParts {
        pending: None,
        files: None,
        syncer: None,
        lock: None,
        switches: Arc::new(Switches::new(&root, &config)),
        index_dir: home.index_dir(&config.index.dir),
        forgotten: Arc::new(ForgottenTexts::new(&state)),
        changes: Arc::new(ChangeTable::new(&state)),
        agents: Arc::new(AgentRegistry::new(root.clone(), &state).with_folders_of(&config)),
        fact_store: Arc::new(fact_store),
        entry_store: Arc::new(EntryStore::new(root.clone(), config.index.max_file_bytes)),
        traces: Arc::new(TraceFiles::new(&root)),
        state,
        outside,
        shared,
        attachments,
        home,
        config,
    }
}

/// The engine of this process, for a vault.
fn local(home: &Home, config: &Config) -> Result<LocalEngine, RulesError> {
    let settings = Settings {
        place: home.place(),
        stemmer: config.search.stemmer,
        graph_threshold: config.index.graph_threshold,
        private: globs("access.private", &config.access.private)?,
    };
    Ok(LocalEngine::new(home.index_dir(&config.index.dir), settings))
}

/// Between two looks at all files; looking takes a tenth of the time at most.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSES_FOR_LOOKS: u32 = 10;

/// Interval at which all files are looked at when nothing has changed.
const RECHECK_INTERVAL: Duration = Duration::from_secs(3600);

/// Interval at which it is looked whether the database is still the one in its place, and at which a look that failed is tried again.
const LOOK_FOR_DATABASE: Duration = Duration::from_secs(2);

/// Compares the documents with the files after each change of the index, until what this gives is dropped: a note that was made private or
/// removed leaves the table by itself. `None` where the vault is no such index.
///
/// # Errors
/// When the thread cannot be started.
fn follow_documents(root: &Path, shared: &Arc<Shared>) -> Result<Option<Task>, FsError> {
    let Some(place) = IndexPaths::of_folder(root) else { return Ok(None) };
    let (shared, signal) = (Arc::clone(shared), TaskSignal::default());
    shared.wakes(&signal);
    let mut followed = None;
    let task = Task::start("documents", signal, move |_, _| {
        if followed.is_none() {
            followed = FollowedDocuments::open(&place).unwrap_or_else(|error| {
                tracing::warn!("the documents of {} are looked at by commands alone: {error}", place.folder.display());
                None
            });
        }
        followed.as_mut().map(|followed| followed.step(&shared))
    });
    task.map(Some)
}

struct FollowedDocuments {
    documents: QmdDocuments,
    folder: String,
    /// The generation of the index that they were compared with last.
    looked: Option<u64>,
    /// When that was.
    at: Instant,
    /// When they may be looked at again.
    not_before: Instant,
    failure: Option<String>,
}

impl FollowedDocuments {
    /// Opens the documents; `None` where there are no collections: whoever changes those has the index closed first.
    fn open(place: &IndexPaths) -> Result<Option<Self>, QmdError> {
        let Some(collections) = QmdCollections::load(place)? else { return Ok(None) };
        let (documents, now) = (QmdDocuments::open(place, &collections)?, Instant::now());
        let folder = place.folder.display().to_string();
        Ok(Some(Self { documents, folder, looked: None, at: now, not_before: now, failure: None }))
    }

    /// Looks at all files where something may have changed; says after what time to be called again.
    fn step(&mut self, shared: &Shared) -> Duration {
        let begun = Instant::now();
        if begun < self.not_before {
            return self.not_before - begun;
        }
        // What is published from here on is looked at once more. No state is held: the stores may be closed meanwhile.
        let generation = shared.snapshot().map(|snapshot| snapshot.generation());
        // One that was put in its place, or is to be made anew, has not all documents.
        let is_due = generation != self.looked
            || self.failure.is_some()
            || self.documents.is_replaced()
            || begun.duration_since(self.at) >= RECHECK_INTERVAL;
        if generation.is_some() && is_due {
            let failure = self.documents.refresh().err().map(|error| error.to_string());
            if let Some(failure) = failure.as_ref().filter(|failure| self.failure.as_ref() != Some(failure)) {
                tracing::warn!("the documents of {} are looked at again later: {failure}", self.folder);
            }
            (self.looked, self.at, self.failure) = (generation, begun, failure);
            self.not_before = Instant::now() + PAUSE.max(begun.elapsed() * PAUSES_FOR_LOOKS);
        }
        LOOK_FOR_DATABASE
    }
}
