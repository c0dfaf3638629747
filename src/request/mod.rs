//! What one request may do, made once and passed to every use case: who asks, what its page says, one state of the index and what
//! of it is seen, limits, until when it is waited for.
//!
//! What a use case needs of who asks is in its type: [`Owner`], [`Viewer`], [`MemoryWriter`], [`EventSender`]. Nobody makes one
//! but [`Role::of`], which refuses everybody else.

mod checks;
mod error;
mod find;
mod limits;
mod read_scope;
mod rights;
mod role;
mod room;
mod settle;
mod time;
mod workspace;

use std::sync::{Arc, OnceLock};

pub(crate) use checks::{limit, named, note_path, query_text, text};
pub use error::{ErrorKind, RequestError};
pub(crate) use find::Given;
pub(crate) use limits::AgentLimits;
pub(crate) use read_scope::{ReadScope, no_chunk, share};
pub(crate) use role::{EventSender, MemoryWriter};
pub use role::{Owner, Role, Viewer};
pub(crate) use room::{Room, frontmatter_chars};
pub(crate) use time::{Edge, day_of, now, parse, rfc3339};
pub(crate) use workspace::{PendingEvents, Workspace};

use crate::access::{Principal, Scope, Turn};
use crate::engine::Reader;
use crate::policy::LogEntry;
use crate::search::Visible;

/// One request.
#[derive(Clone)]
pub struct Request {
    workspace: Arc<Workspace>,
    principal: Principal,
    turn: Turn,
    limits: Option<AgentLimits>,
    pinned: OnceLock<ReadScope>,
}

impl Request {
    /// A request of somebody, who waits for it until `turn` is over.
    pub fn new(workspace: Arc<Workspace>, principal: Principal, turn: Turn) -> Self {
        let limits = AgentLimits::of(&workspace.config.agents, &principal);
        Self { workspace, principal, turn, limits, pinned: OnceLock::new() }
    }

    /// The same vault, asked by somebody else while whoever asked waits.
    #[must_use]
    pub fn by(&self, principal: Principal) -> Self {
        Self::new(Arc::clone(&self.workspace), principal, self.turn.clone())
    }

    /// The vault that is asked.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// Who asks.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Until when it is waited for, and whether it may still change something.
    pub fn turn(&self) -> &Turn {
        &self.turn
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
        if let Some(pinned) = self.pinned.get() {
            return Ok(pinned.clone());
        }
        let made = self.latest(&self.scope())?;
        Ok(self.pinned.get_or_init(|| made).clone())
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

    /// What is seen of the newest state of the index, in a scope of its own: for who has just written, and waits for the index.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub fn latest(&self, scope: &Scope) -> Result<ReadScope, RequestError> {
        let reader: Arc<dyn Reader> = self.workspace.reader()?;
        let visible = Visible::of(scope, reader.files());
        let (workspace, turn) = (Arc::clone(&self.workspace), self.turn.clone());
        Ok(ReadScope { workspace, reader, visible, limits: self.limits, turn })
    }

    /// Logs what an agent asked, and which places it was given. What the person asks is nobody's business.
    pub fn log(&self, what: &str, query: &str, given: Vec<String>) {
        let Principal::Agent(caller) = &self.principal else { return };
        let refused = given.is_empty().then(|| self.refusal()).flatten();
        self.workspace.agents.log().add(&caller.slug, &LogEntry { refused, ..LogEntry::now(what, query, given) });
    }

    /// Logs what an agent did with its own memory.
    pub fn log_own(&self, what: &str, query: &str, given: Vec<String>) {
        let Principal::Agent(caller) = &self.principal else { return };
        self.workspace.agents.log().add(&caller.slug, &LogEntry::now(what, query, given));
    }
}
