//! One vault, opened: its parts and their threads, the requests that are made of it, and how it is.

#[cfg(test)]
mod tests;

use std::io::Read;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::access::agents;
use crate::access::policy::{AgentRegistry, agent_file};
use crate::access::request::{EventSender, Owner, Request, RequestError, Role, Viewer, Workspace, WorkspaceParts};
use crate::access::rules::{Principal, Turn};
use crate::base::clock::Clock;
use crate::base::config::{Config, Switches};
use crate::base::fs::{FsError, folder_bytes};
use crate::base::state::ChangeTable;
use crate::base::tasks::{Task, TaskSignal};
use crate::index::engine::{Engine, EngineError, Reader};
use crate::index::local::{LocalEngine, Settings};
use crate::index::sync::{ModelStatus, Shared, SyncOptions, Syncer};
use crate::memory::capture::{self, Capture};
use crate::memory::entries;
use crate::memory::extraction::{Extraction, extract};
use crate::memory::facts::keep_facts;
use crate::memory::items::{EntryStore, FactStore};
use crate::memory::profile::keep_profile;
use crate::memory::session_export::keep_sessions;
use crate::memory::summaries::keep_summaries;
use crate::memory::trace_files::TraceFiles;
use crate::memory::traces::tidy_traces;
use crate::models::{ChatModel, ChatUsage, LoadEmbedder, ModelChoice, ModelInUse, ModelTrouble, UpstreamClient};
use crate::serve::jobs::{phase, to_embed};
use crate::serve::push::keep_pushed;
use crate::serve::qmd::{IndexPaths, QmdDocuments};
use crate::serve::wire::{
    Backup, ChatState, Dropped, EventsAccepted, FactsState, ImportParams, ImportTaken, LibrarianParams, LibrarianView,
    Model, ProcessingView, RemoteState, SessionsState, Skipped, Status, SummariesState, TurnsIngested, TurnsParams,
};
use crate::text::note::{CONFLICT_MARKS, Note};
use crate::vault::attachments::AttachmentReader;
use crate::vault::backup::{Trust, back_up};
use crate::vault::disk::{CookieFolder, Files, Home, Lock, NoteRules, Outside, RulesError, globs};
use crate::vault::forgotten::ForgottenTexts;
use crate::vault::notes::{self, finish_open_purges, finish_purges};

/// One vault, opened, until it is dropped.
pub struct App {
    /// Ends first: it may be asking a model.
    worker: Option<Task>,
    /// The model of the memory: what it does and costs.
    pub(crate) extraction: Arc<Extraction>,
    /// All of them end before all else that they work with.
    summaries: Option<Task<SummariesState>>,
    facts: Option<Task<FactsState>>,
    sessions: Option<Task<SessionsState>>,
    remote: Option<Task<RemoteState>>,
    _tasks: Vec<Task>,
    capture: Option<Arc<Capture>>,
    workspace: Arc<Workspace>,
    /// Opened when it is asked first.
    upstream: OnceLock<Result<Arc<UpstreamClient>, String>>,
    /// Ends last: it may wait for git.
    backup: Option<Task<Backup>>,
    /// Where a daemon that has this vault listens over TCP.
    pub(crate) address: OnceLock<SocketAddr>,
}

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

/// Time limit of the scan of the notes for what was forgotten and is back; the next status continues it.
const SCAN_LIMIT: Duration = Duration::from_millis(50);

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
            watch,
            clock,
            // Beside the index: on a disk of this machine, where no sync service and no git looks, and never in a vault that may
            // only be read.
            cookies: Arc::new(CookieFolder::new(index_dir.join("cookies"))),
        };
        let syncer = Syncer::start(options, model);
        let (root, state) = (home.root().to_owned(), home.state());
        let changes = Arc::new(ChangeTable::new(&state));
        let files = Files::new(root.clone(), &home.state_dir(), outside.clone()).logged(Arc::clone(&changes));
        let fact_store = FactStore::new(root.clone(), config.facts.history, config.index.max_file_bytes, Some(&state));
        let parts = WorkspaceParts {
            files: Arc::new(files),
            lock,
            switches: Arc::new(Switches::new(&root, &config)),
            index_dir,
            forgotten: Arc::new(ForgottenTexts::new(&state)),
            changes,
            agents: Arc::new(AgentRegistry::new(root.clone(), &state).with_folders_of(&config)),
            fact_store: Arc::new(fact_store),
            entry_store: Arc::new(EntryStore::new(root.clone(), config.index.max_file_bytes)),
            traces: Arc::new(TraceFiles::new(&root)),
            state,
            outside,
            shared: Arc::clone(syncer.shared()),
            syncer,
            attachments,
            home,
            config,
        };
        let WorkspaceParts { home, config, files, .. } = &parts;
        let private = globs("access.private", &config.access.private)?;
        let capture = watch.then(|| Capture::start(&parts, files, private)).transpose()?.map(Arc::new);
        let pending = capture::pending(capture.clone(), &parts);
        let backup = config.backup.interval().filter(|_| watch);
        let backup = backup.map(|every| back_up(root, Trust::of(home), every)).transpose()?;
        let workspace = Arc::new(Workspace::new(parts, pending));
        // Before anybody makes anything of what was to go.
        let request = Request::new(Arc::clone(&workspace), Principal::Owner(None), Turn::default());
        let open = Owner::of(request).iter().flat_map(finish_purges).collect::<Vec<_>>();
        let facts = watch.then(|| keep_facts(&workspace)).transpose()?;
        let is_kept = watch && workspace.config.memory.enabled;
        let summaries = is_kept.then(|| keep_summaries(&workspace, summaries_clock)).transpose()?;
        let tasks = [
            is_kept.then(|| keep_profile(&workspace)).transpose()?,
            (!open.is_empty()).then(|| finish_open_purges(&workspace, open)).transpose()?,
            watch.then(|| tidy_traces(&workspace)).transpose()?,
            if watch { follow_documents(workspace.home.root(), &workspace.shared)? } else { None },
        ];
        let sessions = watch.then(|| keep_sessions(&workspace)).transpose()?.flatten();
        let remote = if watch { keep_pushed(&workspace)? } else { None };
        let extraction = Arc::new(Extraction::new(Arc::clone(&workspace), Clock::default()));
        let worker = is_kept.then(|| extract(&extraction)).transpose()?;
        Ok(Self {
            summaries,
            worker,
            facts,
            sessions,
            remote,
            _tasks: tasks.into_iter().flatten().collect(),
            capture,
            backup,
            workspace,
            extraction,
            upstream: OnceLock::new(),
            address: OnceLock::new(),
        })
    }

    /// A request of somebody, who waits for it until `turn` is over.
    pub fn request(&self, principal: Principal, turn: Turn) -> Request {
        Request::new(Arc::clone(&self.workspace), principal, turn)
    }

    /// A request of the person, made by one of the person's own processes.
    ///
    /// # Panics
    /// Never: the person is the owner.
    pub fn owner(&self) -> Owner {
        Owner::of(self.request(Principal::Owner(None), Turn::default())).expect("the person is the owner")
    }

    /// Takes one event or an array of them. When it returns those accepted are safe on disk; none is when one is not right.
    ///
    /// # Errors
    /// When an event is not right, or none can be kept now.
    pub fn accept(&self, sender: &EventSender, events: Value) -> Result<EventsAccepted, RequestError> {
        let elsewhere = || RequestError::unavailable("no daemon serves this vault", "start `vault serve`");
        capture::accept(self.capture.as_ref().ok_or_else(elsewhere)?, sender, events)
    }

    /// Takes what is imported: when it returns that is safe on disk.
    ///
    /// # Errors
    /// When something of it is not right, or none can be kept now.
    pub fn import(&self, owner: &Owner, params: ImportParams) -> Result<ImportTaken, RequestError> {
        let elsewhere = || RequestError::unavailable("another process is writing this vault", "try again in a moment");
        capture::import(self.capture.as_ref().ok_or_else(elsewhere)?, owner, params)
    }

    /// Takes a file that the person drops on the page.
    ///
    /// # Errors
    /// When its kind is not known, or it cannot be kept now.
    pub(crate) fn take_drop(&self, owner: &Owner, name: &str, from: &mut dyn Read) -> Result<Dropped, RequestError> {
        let elsewhere = || RequestError::unavailable("another process is writing this vault", "try again in a moment");
        capture::dropped(self.capture.as_ref().ok_or_else(elsewhere)?, owner, name, from)
    }

    /// Has the summaries looked at now: to them the time is another.
    #[cfg(test)]
    pub(crate) fn look_at_summaries(&self) {
        self.summaries.iter().for_each(Task::wake);
    }

    /// Takes turns of a conversation. When it returns they are safe on disk.
    ///
    /// # Errors
    /// When a turn is not right, or none can be kept now.
    pub fn ingest(&self, sender: &EventSender, params: &TurnsParams) -> Result<TurnsIngested, RequestError> {
        let events = capture::turns(params, jiff::Timestamp::now())?;
        if events.as_array().is_some_and(|events| !events.is_empty()) {
            self.accept(sender, events)?;
        }
        Ok(TurnsIngested { status: "ok".to_owned(), turns_ingested: params.turns.len() })
    }

    /// Where requests to chat models are passed on.
    ///
    /// # Errors
    /// Why it cannot be asked, for the person.
    pub(crate) fn upstream(&self) -> Result<Arc<UpstreamClient>, String> {
        let config = &self.config.upstream;
        let open = || {
            let timeout = std::time::Duration::from_millis(config.timeout_ms);
            let client = UpstreamClient::open(&config.endpoint, &config.api_key_env, timeout);
            client.map(Arc::new).map_err(|error| error.to_string())
        };
        self.upstream.get_or_init(open).clone()
    }

    /// Whether the agent that asks is called so: by its folder, or by the title of its page.
    pub(crate) fn is_called(&self, viewer: &Viewer, name: &str) -> bool {
        let Some(slug) = viewer.agent() else { return false };
        let title = || {
            let source = self.workspace.source(&agent_file(slug)?).ok()?;
            Some(Note::parse(&source.text, slug).title)
        };
        name == slug || title().is_some_and(|title| title == name)
    }

    /// Has conversations read that wait, at once: by the thread that does so, or where there is none before this returns.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn sync_memory(&self, owner: &Owner) -> Result<ProcessingView, RequestError> {
        self.extraction.sync(owner, self.worker.is_none())
    }

    /// Switches the librarian of an agent on or off, or has it read what waits.
    ///
    /// # Errors
    /// When there is no such agent, when the model is another than that of `[memory]`, or the agent's page cannot be written.
    pub fn change_librarian(
        &self,
        owner: &Owner,
        slug: &str,
        params: &LibrarianParams,
    ) -> Result<LibrarianView, RequestError> {
        let view = self.extraction.librarian_view(owner, slug)?;
        if params.model.as_ref().is_some_and(|model| Some(model) != view.model.as_ref()) {
            let message = "all agents use the `model` of `[memory]` in memory.toml: set it there";
            return Err(RequestError::invalid(message));
        }
        agents::set_librarian(owner, slug, params)?;
        if params.run == Some(true) {
            self.extraction.run_librarian(owner)?;
        }
        self.extraction.librarian_view(owner, slug)
    }

    /// Turns to another model while the vault is served. The one there was serves until its vectors are there, and stays where it cannot
    /// be loaded.
    pub fn replace_model(&self, load: LoadEmbedder) {
        self.workspace.syncer.replace_model(load.into());
    }

    /// How the vault and its index are.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn status(&self, owner: &Owner) -> Result<Status, RequestError> {
        let workspace = owner.workspace();
        let progress = workspace.shared.progress_as_met();
        let snapshot = workspace.shared.snapshot();
        let snapshot = snapshot.as_deref();
        let problems = match snapshot {
            // Whatever is wrong with the index, its status can be had.
            Some(snapshot) => match snapshot.problems() {
                Err(error) if error.is_damage() => {
                    workspace.damaged(error);
                    Vec::new()
                }
                problems => problems?,
            },
            None => Vec::new(),
        };
        let (embedded, embeddable) = snapshot.map_or((0, 0), |snapshot| snapshot.embedded(None));
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").into(),
            vault: workspace.home.root().display().to_string(),
            address: self.address.get().map(ToString::to_string),
            phase: phase(progress.phase).into(),
            caught_up: progress.caught_up,
            files: snapshot.map_or(0, |snapshot| snapshot.files().len()),
            chunks: snapshot.map_or(0, |snapshot| snapshot.statistics(None).chunks as usize),
            embedded,
            embeddable,
            withheld: snapshot.map_or(0, |snapshot| withheld(&progress.model, snapshot)),
            pending_files: progress.pending_files,
            pending_embeddings: to_embed(&progress, snapshot),
            files_done: progress.files_done,
            embeddings_done: progress.embeddings_done,
            model: Model::with_others(progress.model, progress.next, progress.kept_vectors),
            chat: workspace.chat.model().map(chat),
            processing: self.extraction.processing_state(owner).ok(),
            watching: progress.watch,
            index_bytes: folder_bytes(&workspace.index_dir),
            index_dir: workspace.index_dir.display().to_string(),
            text_bytes: snapshot.map_or(0, |snapshot| snapshot.files().iter().map(|file| file.stamp.size).sum()),
            conflict_copies: notes::conflict_copies(workspace, &problems, true),
            problems: problems
                .into_iter()
                .filter(|(_, reason)| !reason.ends_with(CONFLICT_MARKS))
                .map(|(path, reason)| Skipped { path, reason })
                .chain(entries::problems(owner))
                .collect(),
            forgotten_back: notes::forgotten_back(owner, SCAN_LIMIT).map(|(back, _)| back).unwrap_or_default(),
            config_failure: workspace.switches.failure(),
            config_waits: workspace.switches.wait_for_a_restart(),
            failure: progress.failure.or_else(|| workspace.state.trouble()),
            rebuilt: progress.rebuilt,
            verified: progress.verified,
            capture: self.capture.as_deref().map(Capture::state),
            facts: self.facts.as_ref().map(Task::state),
            summaries: self.summaries.as_ref().map(Task::state),
            sessions: self.sessions.as_ref().map(Task::state),
            remote: self.remote.as_ref().map(Task::state),
            backup: self.backup.as_ref().map(Task::state),
        })
    }
}

/// What its requests work with.
impl Deref for App {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.workspace
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
    // The state of the index and the file of the database that were looked at last, when, and what came of it.
    let (mut looked, mut at, mut failure, mut not_before) = (None, Instant::now(), None, Instant::now());
    let task = Task::start("documents", signal, move |_, _| {
        let begun = Instant::now();
        if begun < not_before {
            return Some(not_before - begun);
        }
        // What is published from here on is looked at once more. No state is held: the stores may be closed meanwhile. One that was put in
        // the place of the database, or is to be made anew, has not all documents.
        let generation = shared.snapshot().map(|snapshot| snapshot.generation());
        let is_due = looked != Some((generation, QmdDocuments::database_id(&place)))
            || begun.duration_since(at) >= RECHECK_INTERVAL;
        if generation.is_some() && is_due {
            let refreshed = QmdDocuments::refresh_at(&place).map_err(|error| error.to_string());
            looked = refreshed.as_ref().ok().map(|id| (generation, *id));
            if let Some(why) = refreshed.as_ref().err().filter(|why| failure.as_ref() != Some(*why)) {
                tracing::warn!("the documents of {} are looked at again later: {why}", place.folder.display());
            }
            (at, failure) = (begun, refreshed.err());
            not_before = Instant::now() + PAUSE.max(begun.elapsed() * PAUSES_FOR_LOOKS);
        }
        Some(LOOK_FOR_DATABASE)
    });
    task.map(Some)
}

/// How many chunks the model is not given.
fn withheld(model: &ModelStatus, snapshot: &dyn Reader) -> usize {
    if !matches!(model, ModelStatus::Ready { takes_private: false, .. }) {
        return 0;
    }
    let private = snapshot.files().facets().private().iter().filter_map(|file| snapshot.files().get(file));
    private.flat_map(|file| &file.chunks).filter(|chunk| chunk.content.is_some()).count()
}

fn chat(model: Result<&dyn ChatModel, &str>) -> ChatState {
    let none = ChatState { name: None, trouble: None, answers: 0, prompt_tokens: 0, answer_tokens: 0 };
    match model {
        Err(reason) => ChatState { trouble: Some(reason.to_owned()), ..none },
        Ok(model) => {
            let trouble = model.trouble().map(|trouble| match trouble {
                ModelTrouble::Passing(reason) | ModelTrouble::Refused(reason) => reason,
            });
            let ChatUsage { answers, prompt_tokens, answer_tokens } = model.usage();
            ChatState { name: Some(model.name().to_owned()), trouble, answers, prompt_tokens, answer_tokens }
        }
    }
}
