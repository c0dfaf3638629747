//! Opening one vault: its parts, and their threads.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::App;
use super::documents::follow_documents;
use crate::access::policy::AgentRegistry;
use crate::access::request::{Owner, PendingEvents, Request, Role, Workspace, WorkspaceParts};
use crate::access::rules::{Principal, Turn};
use crate::base::clock::Clock;
use crate::base::config::{Config, Switches};
use crate::base::fs::FsError;
use crate::base::path::VaultPath;
use crate::base::state::{ChangeTable, State};
use crate::index::engine::{Engine, EngineError};
use crate::index::local::{LocalEngine, Settings};
use crate::index::sync::{BatchRecords, Shared, SyncOptions, Syncer};
use crate::memory::capture::{self, AtRest, Capture};
use crate::memory::context::{ContextCache, FrozenContexts};
use crate::memory::extraction::{Extraction, extract};
use crate::memory::items::{EntryStore, FactStore, FactsParts};
use crate::memory::profile::keep_profile;
use crate::memory::session_export::keep_sessions;
use crate::memory::summaries::SummariesParts;
use crate::memory::trace_files::TraceFiles;
use crate::memory::traces::tidy_traces;
use crate::models::{LoadEmbedder, ModelChoice, ModelConfig, ModelInUse};
use crate::vault::attachments::AttachmentReader;
use crate::vault::backup::{Trust, back_up};
use crate::vault::disk::{CookieFolder, Files, Globs, Home, Lock, NoteRules, Outside, OutsideError, RulesError, globs};
use crate::vault::forgotten::ForgottenTexts;
use crate::vault::notes::{finish_open_purges, finish_purges};

/// Minimum age of an unfinished file that nobody will finish.
const LEFT_FOR_GOOD: Duration = Duration::from_secs(3600);

/// The vault could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A glob of the configuration cannot be read.
    #[error(transparent)]
    NoteRules(#[from] RulesError),
    /// A thread cannot be started.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A folder elsewhere cannot be a collection.
    #[error(transparent)]
    Outside(#[from] OutsideError),
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
        let model = ModelChoice::of(&ModelConfig::of(&config), home.root(), &home.index_dir(&config.index.dir));
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
        crate::base::fs::remove_unfinished_since(home.root(), LEFT_FOR_GOOD);
        let options = SyncOptions {
            lock: Arc::clone(&lock),
            root: home.root().to_owned(),
            engine,
            index: config.index.clone(),
            rules: NoteRules::new(home.root(), &config.index.exclude)?
                .with_outside(outside.clone())
                .with_attachments(config.index.attachments),
            attachments: Arc::clone(&attachments),
            model,
            in_use: ModelInUse::of(&index_dir),
            batches: BatchRecords::of(&index_dir),
            watch,
            clock,
            // Beside the index: on a disk of this machine, where no sync service and no git looks, and never in a vault that may
            // only be read.
            cookies: Arc::new(CookieFolder::new(index_dir.join("cookies"))),
        };
        let syncer = Syncer::start(options);
        let shared = Arc::clone(syncer.shared());
        let state = home.state();
        let forgotten = Arc::new(ForgottenTexts::new(&state));
        let changes = Arc::new(ChangeTable::new(&state));
        let files = Files::new(home.root().to_owned(), &home.state_dir(), outside.clone());
        let files = Arc::new(files.logged(Arc::clone(&changes)));
        let switches = Arc::new(Switches::new(home.root(), &config));
        let agents = Arc::new(AgentRegistry::new(home.root().to_owned(), &state).with_folders_of(&config));
        let backup = config.backup.interval().filter(|_| watch);
        let private = globs("access.private", &config.access.private)?;
        let capture =
            watch.then(|| start_capture(&home, &state, &files, &switches, &forgotten, &shared, private)).transpose()?;
        let capture = capture.map(Arc::new);
        let pending: Arc<dyn PendingEvents> = match &capture {
            Some(capture) => Arc::clone(capture) as Arc<dyn PendingEvents>,
            None => Arc::new(AtRest { state: Arc::clone(&state), switches: Arc::clone(&switches) }),
        };
        let backup = backup.map(|every| back_up(home.root().to_owned(), Trust::of(&home), every)).transpose()?;
        let fact_store = Arc::new(fact_store(&home, &config, &state));
        let entry_store = Arc::new(EntryStore::new(home.root().to_owned(), config.index.max_file_bytes));
        let traces = Arc::new(TraceFiles::new(home.root(), MAX_TRACE_BYTES_PER_DAY));
        let noticed = watch.then(|| {
            let (fact_store, files) = (Arc::clone(&fact_store), Arc::clone(&files));
            FactsParts { fact_store, files, shared: Arc::clone(&shared), lock: Arc::clone(&lock) }.start()
        });
        let noticed = noticed.transpose()?;
        let summaries = (watch && config.memory.enabled).then(|| {
            let parts = SummariesParts {
                root: home.root().to_owned(),
                config: config.clone(),
                files: Arc::clone(&files),
                forgotten: Arc::clone(&forgotten),
                shared: Arc::clone(&shared),
                lock: Arc::clone(&lock),
                clock: summaries_clock,
            };
            parts.start()
        });
        let summaries = summaries.transpose()?;
        let workspace = Workspace::new(WorkspaceParts {
            pending: Some(pending),
            switches,
            shared,
            files: Some(files),
            home,
            config,
            index_dir,
            syncer: Some(syncer),
            lock: Some(lock),
            outside,
            state,
            forgotten,
            changes,
            agents,
            fact_store,
            entry_store,
            traces,
            attachments,
        });
        let workspace = Arc::new(workspace);
        // Before anybody makes anything of what was to go.
        let request = Request::new(Arc::clone(&workspace), Principal::Owner, Turn::default());
        let open = Owner::of(request).iter().flat_map(finish_purges).collect::<Vec<_>>();
        let is_kept = watch && workspace.config().memory.enabled;
        let tasks = [
            is_kept.then(|| keep_profile(&workspace)).transpose()?,
            (!open.is_empty()).then(|| finish_open_purges(&workspace, open)).transpose()?,
            watch.then(|| tidy_traces(&workspace)).transpose()?,
            if watch { follow_documents(workspace.home().root(), workspace.shared())? } else { None },
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
        let index_dir = home.index_dir(&config.index.dir);
        let outside = Outside::new(home.root(), &config.collections)?;
        let shared = Arc::new(Shared::default());
        shared.publish(local(&home, &config)?.read()?);
        let switches = Arc::new(Switches::new(home.root(), &config));
        let state = home.state();
        let agents = Arc::new(AgentRegistry::new(home.root().to_owned(), &state).with_folders_of(&config));
        let fact_store = Arc::new(fact_store(&home, &config, &state));
        let entry_store = Arc::new(EntryStore::new(home.root().to_owned(), config.index.max_file_bytes));
        let traces = Arc::new(TraceFiles::new(home.root(), MAX_TRACE_BYTES_PER_DAY));
        let attachments = Arc::new(AttachmentReader::looking_at(&index_dir));
        let workspace = Workspace::new(WorkspaceParts {
            pending: None,
            switches,
            shared,
            home,
            config,
            index_dir,
            syncer: None,
            lock: None,
            files: None,
            outside,
            forgotten: Arc::new(ForgottenTexts::new(&state)),
            changes: Arc::new(ChangeTable::new(&state)),
            state,
            agents,
            fact_store,
            entry_store,
            traces,
            attachments,
        });
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
            contexts: ContextCache::default(),
            frozen: FrozenContexts::default(),
            upstream: OnceLock::new(),
            address: OnceLock::new(),
        }
    }
}

fn start_capture(
    home: &Home,
    state: &Arc<State>,
    files: &Arc<Files>,
    switches: &Arc<Switches>,
    forgotten: &Arc<ForgottenTexts>,
    shared: &Arc<Shared>,
    by_place: Globs,
) -> Result<Capture, FsError> {
    let (shared, hidden) = (Arc::clone(shared), Arc::clone(shared));
    let titled = move |title: &str| {
        let snapshot = shared.snapshot();
        let files = snapshot.iter().flat_map(|snapshot| snapshot.files().iter());
        let notes = files.filter(|file| file.path.collection() == "notes" && file.title == title);
        notes.map(|file| file.path.clone()).collect()
    };
    let private = move |found: &mut dyn FnMut(&VaultPath, &str) -> bool| {
        let Some(snapshot) = hidden.snapshot() else { return false };
        let mut files = snapshot.files().facets().private().iter().filter_map(|id| snapshot.files().get(id));
        files.any(|file| found(&file.path, &file.title))
    };
    Capture::start(capture::Options {
        root: home.root().to_owned(),
        state: Arc::clone(state),
        files: Arc::clone(files),
        switches: Arc::clone(switches),
        forgotten: Arc::clone(forgotten),
        find_note: Box::new(titled),
        find_private: Box::new(private),
        private: by_place,
    })
}

/// Maximum number of bytes of its work that an agent may send in a day.
const MAX_TRACE_BYTES_PER_DAY: u64 = 10_000_000_000;

/// The facts of a vault.
fn fact_store(home: &Home, config: &Config, state: &Arc<State>) -> FactStore {
    FactStore::new(home.root().to_owned(), config.facts.history, config.index.max_file_bytes, Some(state))
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
