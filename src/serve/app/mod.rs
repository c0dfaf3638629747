//! One vault, opened: its parts and their threads, and the requests that are made of it.

mod open;
mod status;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

pub(crate) use open::StartError;

use crate::access::agents;
use crate::access::policy::agent_file;
use crate::access::request::{EventSender, Owner, Request, RequestError, Role, Viewer, Workspace};
use crate::access::rules::{Principal, Turn};
use crate::base::tasks::Task;
use crate::memory::capture::{self, Capture};
use crate::memory::context::FrozenContexts;
use crate::memory::extraction::Extraction;
use crate::memory::items::FactsSeen;
use crate::models::{LoadEmbedder, UpstreamClient};
use crate::serve::wire::{
    Backup, EventsAccepted, ImportParams, ImportTaken, LibrarianParams, LibrarianView, ProcessingView, SessionsState,
    SummariesState, TurnsIngested, TurnsParams,
};
use crate::text::note::Note;

/// One vault, opened, until it is dropped.
pub struct App {
    /// Ends first: it may be asking a model.
    worker: Option<Task>,
    /// The model of the memory: what it does and costs.
    pub(crate) extraction: Arc<Extraction>,
    /// All of them end before all else that they work with.
    summaries: Option<Task<SummariesState>>,
    fact_store: Option<Task<FactsSeen>>,
    sessions: Option<Task<SessionsState>>,
    _tasks: Vec<Task>,
    capture: Option<Arc<Capture>>,
    workspace: Arc<Workspace>,
    /// What sessions were given with their first requests.
    pub(crate) frozen: FrozenContexts,
    /// Opened when it is asked first.
    upstream: OnceLock<Result<Arc<UpstreamClient>, String>>,
    /// Ends last: it may wait for git.
    backup: Option<Task<Backup>>,
    /// Where a daemon that has this vault listens over TCP.
    pub(crate) address: OnceLock<SocketAddr>,
}

impl App {
    /// A request of somebody, who waits for it until `turn` is over.
    pub fn request(&self, principal: Principal, turn: Turn) -> Request {
        Request::new(Arc::clone(&self.workspace), principal, turn)
    }

    /// A request of the person, made by one of the person's own processes.
    ///
    /// # Panics
    /// Never: the person is the owner.
    pub fn owner(&self) -> Owner {
        Owner::of(self.request(Principal::Owner, Turn::default())).expect("the person is the owner")
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
        self.workspace.replace_model(load.into());
    }
}

/// What its requests work with.
impl Deref for App {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.workspace
    }
}
