//! What one request may do, made once and passed to every use case: who asks, what its page says, one state of the index and what
//! of it is seen, limits, until when it is waited for.
//!
//! What a use case needs of who asks is in its type: [`Owner`], [`Viewer`], [`MemoryWriter`], [`EventSender`]. Only this module
//! makes one, and refuses everybody else.

mod checks;
mod error;
mod find;
mod graph;
mod read_scope;
mod role;
mod workspace;

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

pub(crate) use checks::{
    Budget, Edge, MAX_CONTEXT, MAY_LACK_THE_NEWEST, MeaningAlike, agent_limits, day_of, frontmatter_chars, limit,
    memory_scopes, note_path, now, parse, parse_last, query_text, rfc3339, source_place, tags, text, validity, within,
};
pub use error::{ErrorKind, RequestError};
pub(crate) use find::{Given, ORDER_KEPT, hit_view};
pub(crate) use graph::{LinkTargets, line_text};
pub use graph::{graph, key_relations};
pub(crate) use read_scope::{
    ReadScope, SPEAKING_TOOLS, Visibility, chunk_view, no_chunk, read_seen, share, trust_of_note, trust_of_place,
};
pub use role::{Editor, Owner, Reader, Role, Viewer};
pub(crate) use role::{EventSender, MemoryWriter, SeenByAgent};
pub(crate) use workspace::{SweepPending, Workspace, WorkspaceParts};

use crate::access::rules::{Member, Principal, Scope, Turn};
use crate::base::config::AgentLimits;
use crate::base::state::LogEntry;
use crate::index::engine::Reader as IndexReader;
use crate::vault::disk::{Act, Action};

/// One request.
#[derive(Clone)]
pub struct Request {
    workspace: Arc<Workspace>,
    principal: Principal,
    turn: Turn,
    limits: Option<AgentLimits>,
    /// When it was made.
    at: Timestamp,
    reader: OnceLock<Arc<dyn IndexReader>>,
    scope: OnceLock<ReadScope>,
    /// Whether the person asks in the place of an agent.
    is_tried: bool,
}

impl Request {
    /// A request of somebody, who waits for it until `turn` is over.
    pub fn new(workspace: Arc<Workspace>, principal: Principal, turn: Turn) -> Self {
        let limits = agent_limits(&workspace.config.agents, &principal);
        let (reader, scope) = (OnceLock::new(), OnceLock::new());
        Self { workspace, principal, turn, limits, at: Timestamp::now(), reader, scope, is_tried: false }
    }

    /// The same request as somebody else would make it, held to the same state of the index.
    fn by(&self, principal: Principal) -> Self {
        let reader = self.reader.clone();
        let is_tried = self.is_tried || matches!(self.principal, Principal::Owner(_));
        Self { reader, at: self.at, is_tried, ..Self::new(Arc::clone(&self.workspace), principal, self.turn.clone()) }
    }

    /// The vault that is asked.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// Who asks.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// A change that it asks for, which says who of several people it was.
    pub(crate) fn act(&self, action: Action) -> Act<'_> {
        match &self.principal {
            Principal::Owner(Some(name)) | Principal::Member(Member { name, .. }) => action.of_person(name),
            _ => action.into(),
        }
    }

    /// Until when it is waited for, and whether it may still change something.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// When it was made.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// How much is given; all where there are none.
    pub fn limits(&self) -> Option<AgentLimits> {
        self.limits
    }

    /// What of the person's memory is seen of the state of the index to which this request is held.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub fn read_scope(&self) -> Result<ReadScope, RequestError> {
        if let Some(scope) = self.scope.get() {
            return Ok(scope.clone());
        }
        let scope = self.seen(&self.reading_rights())?;
        Ok(self.scope.get_or_init(|| scope).clone())
    }

    /// The same, less what has changed since it was indexed: an agent is told of it when it has been read again, as it may have
    /// become private. Looks at every file; searches look at those they give alone.
    ///
    /// # Errors
    /// When the index is not open yet, or nobody waits any more.
    pub fn settled_scope(&self) -> Result<ReadScope, RequestError> {
        let mut scope = self.read_scope()?;
        scope.settle()?;
        Ok(scope)
    }

    /// What rights show of the state of the index to which this request is held.
    fn seen(&self, rights: &Scope) -> Result<ReadScope, RequestError> {
        let reader = match self.reader.get() {
            Some(reader) => Arc::clone(reader),
            None => {
                let newest = self.workspace.reader()?;
                Arc::clone(self.reader.get_or_init(|| newest))
            }
        };
        Ok(self.scope_of(reader, rights))
    }

    /// What rights show of the newest state of the index: for who has just written, and waits for the index.
    fn seen_now(&self, rights: &Scope) -> Result<ReadScope, RequestError> {
        Ok(self.scope_of(self.workspace.reader()?, rights))
    }

    /// Logs what an agent asked, and which places it was given. What the person asks is nobody's business.
    pub fn log(&self, what: &str, query: &str, given: Vec<String>) {
        self.log_entry(LogEntry::now(what, query, given));
    }

    /// Logs an answer, given the places of which it has something; gives it on.
    pub(crate) fn logged<T>(
        &self,
        what: &str,
        query: &str,
        answer: Result<T, RequestError>,
        given: impl FnOnce(&T) -> Vec<String>,
    ) -> Result<T, RequestError> {
        self.log(what, query, answer.as_ref().map(given).unwrap_or_default());
        answer
    }

    /// The same, with what the answer was made of.
    pub(crate) fn log_receipt(&self, what: &str, query: &str, given: Vec<String>, receipt: String) {
        self.log_entry(LogEntry { receipt: Some(receipt), ..LogEntry::now(what, query, given) });
    }

    fn log_entry(&self, entry: LogEntry) {
        let Principal::Agent(caller) = &self.principal else { return };
        let refused = entry.given.is_empty().then(|| self.refusal()).flatten();
        let entry = LogEntry { refused, ..entry };
        self.workspace.agents.log().add(&caller.slug, entry);
    }
}
