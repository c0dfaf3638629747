//! Who asks, as the use cases need it. A use case takes the role that it is for, so that it cannot be called for anybody else.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use super::checks::quota;
use super::{ReadScope, Request, RequestError, Workspace};
use crate::access::rules::{Caller, Member, MemoryMode, Policy, Principal, Scope};
use crate::base::state::LogEntry;
use crate::vault::disk::{Act, Action};

/// What a request has to be for some use cases.
pub trait Role: Sized {
    /// Whether somebody may be it at all, before anything else of a request is looked at: the person and agents.
    ///
    /// # Errors
    /// When not.
    fn admits(principal: &Principal) -> Result<(), RequestError> {
        match principal {
            Principal::Owner(_) | Principal::Agent(_) => Ok(()),
            Principal::Member(_) => Err(only_owner()),
            // A token of a program that sends events shows nothing else.
            Principal::Capture(_) => Err(RequestError::forbidden("this token may only send events")),
        }
    }

    /// Takes a request for what it is.
    ///
    /// # Errors
    /// When who asks is somebody else.
    fn of(request: Request) -> Result<Self, RequestError>;
}

/// The person, or an agent: who may read what the request's scope has.
#[derive(Clone)]
pub struct Viewer(Request);

/// The person, who sees and may change everything.
#[derive(Clone)]
pub struct Owner(Viewer);

/// An agent, with the memory that it keeps for itself.
pub(crate) struct MemoryWriter {
    request: Request,
    /// The agent's folder.
    pub(crate) slug: String,
    /// What it may write.
    pub(crate) mode: MemoryMode,
    /// What its page says.
    pub(crate) policy: Arc<Policy>,
    /// What of the agents' memory it may read, its own first.
    pub(crate) rights: Scope,
}

/// A program that says what happens, or the person's own processes. It reads nothing.
pub struct EventSender {
    request: Request,
    /// What its token was made for; empty for the person.
    pub name: String,
}

impl Role for Viewer {
    fn of(request: Request) -> Result<Self, RequestError> {
        Self::admits(request.principal()).map(|()| Self(request))
    }
}

impl Deref for Viewer {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.0
    }
}

impl Viewer {
    /// The agent's folder, if it is an agent.
    pub fn agent(&self) -> Option<&str> {
        match self.principal() {
            Principal::Agent(caller) => Some(&caller.slug),
            Principal::Owner(_) | Principal::Member(_) | Principal::Capture(_) => None,
        }
    }

    /// The person, if it is the person.
    pub fn owner(&self) -> Option<Owner> {
        matches!(self.principal(), Principal::Owner(_)).then(|| Owner(self.clone()))
    }

    /// The same request for the memory that an agent keeps for itself.
    ///
    /// # Errors
    /// When it is no agent's.
    pub(crate) fn memory_writer(&self) -> Result<MemoryWriter, RequestError> {
        MemoryWriter::of(self.0.clone())
    }

    /// Who asks as an agent: for the person any agent, for an agent itself.
    ///
    /// # Errors
    /// When the agent may not read the person's memory. Whether there is such an agent is not told.
    pub fn as_agent(&self, named: Option<&str>) -> Result<Self, RequestError> {
        let named = named.filter(|name| !name.is_empty());
        let caller = match (self.principal(), named) {
            (Principal::Owner(_), None) => {
                return Err(RequestError::forbidden("`agent_name` is required"));
            }
            (Principal::Owner(_), Some(name)) => self.workspace().agents.named(name),
            (Principal::Agent(caller), named) => {
                Some(caller.clone()).filter(|own| named.is_none_or(|name| name == own.slug))
            }
            (Principal::Capture(_) | Principal::Member(_), _) => None,
        };
        let caller = caller.filter(|caller| caller.policy.grant.is_some());
        let caller = caller.ok_or_else(|| RequestError::forbidden("this agent may not read the user's memory"))?;
        Self::of(self.by(Principal::Agent(caller)))
    }
}

/// Whoever reads notes: besides those of [`Viewer`] people who are not the owner.
#[derive(Clone)]
pub struct Reader(Viewer);

/// Who edits notes as a person does: the owner, and people whom the owner lets.
#[derive(Clone)]
pub struct Editor(Viewer);

impl Role for Reader {
    fn admits(principal: &Principal) -> Result<(), RequestError> {
        match principal {
            Principal::Member(_) => Ok(()),
            Principal::Owner(_) | Principal::Agent(_) | Principal::Capture(_) => Viewer::admits(principal),
        }
    }

    fn of(request: Request) -> Result<Self, RequestError> {
        Self::admits(request.principal()).map(|()| Self(Viewer(request)))
    }
}

impl Deref for Reader {
    type Target = Viewer;

    fn deref(&self) -> &Viewer {
        &self.0
    }
}

impl Role for Editor {
    fn admits(principal: &Principal) -> Result<(), RequestError> {
        match principal {
            Principal::Member(member) if !member.policy.write_collections.is_empty() => Ok(()),
            Principal::Owner(_) | Principal::Member(_) | Principal::Agent(_) | Principal::Capture(_) => {
                Owner::admits(principal)
            }
        }
    }

    fn of(request: Request) -> Result<Self, RequestError> {
        Self::admits(request.principal()).map(|()| Self(Viewer(request)))
    }
}

impl Deref for Editor {
    type Target = Viewer;

    fn deref(&self) -> &Viewer {
        &self.0
    }
}

impl Editor {
    /// Who it is, if not the owner.
    pub(crate) fn member(&self) -> Option<&Member> {
        match self.principal() {
            Principal::Member(member) => Some(member),
            Principal::Owner(_) | Principal::Agent(_) | Principal::Capture(_) => None,
        }
    }
}

fn only_owner() -> RequestError {
    RequestError::forbidden("only the vault's owner may do this")
}

/// What an agent sees, as the person is shown it.
pub struct SeenByAgent {
    /// Of the person's memory.
    pub given: ReadScope,
    /// Of the agents' own.
    pub own: ReadScope,
    /// Whether `[scope]` lets it read in its session.
    pub session_is_open: bool,
}

impl Owner {
    /// What is seen of the newest state of the index: for who has just written, and for who waits for the index and is not to hold
    /// on to an older one meanwhile.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub fn now(&self) -> Result<ReadScope, RequestError> {
        self.seen_now(&Scope::Everything)
    }

    /// What of the newest state of the index may be sent to a model: where that leaves this machine, nothing private.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub(crate) fn for_model(&self, takes_private: bool) -> Result<ReadScope, RequestError> {
        let rights = if takes_private { Scope::Everything } else { Scope::Public };
        self.seen_now(&rights)
    }

    /// What an agent sees of the state of the index to which this request is held.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub fn as_seen_by(&self, caller: Caller) -> Result<SeenByAgent, RequestError> {
        // The agent's request is held to the same state as this one.
        self.read_scope()?;
        let asking = self.by(Principal::Agent(caller));
        let (given, own) = (asking.read_scope()?, asking.seen(&asking.own_rights(true))?);
        Ok(SeenByAgent { given, own, session_is_open: asking.is_of_open_session() })
    }

    /// Somebody else who reads, held to the same state of the index as this request.
    ///
    /// # Errors
    /// When the index is not open yet, or they may not read.
    pub(crate) fn seen_as(&self, principal: Principal) -> Result<Reader, RequestError> {
        self.read_scope()?;
        Reader::of(self.by(principal))
    }

    /// What an agent may read now, to be held against what was forgotten; at least what it keeps itself. `None` where there is no such agent.
    pub(crate) fn reach_of(&self, slug: &str) -> Option<Scope> {
        let agents = &self.workspace().agents;
        agents.page(slug)?;
        let rights = agents.named(slug).map(|caller| self.by(Principal::Agent(caller)).own_rights(true));
        let is_open = |rights: &Scope| matches!(rights, Scope::Own { .. });
        rights.filter(is_open).or_else(|| Some(Scope::Own { slugs: vec![slug.to_owned()], given: None }))
    }
}

impl Role for Owner {
    fn admits(principal: &Principal) -> Result<(), RequestError> {
        match principal {
            Principal::Agent(_) => Err(only_owner()),
            Principal::Owner(_) | Principal::Member(_) | Principal::Capture(_) => Viewer::admits(principal),
        }
    }

    fn of(request: Request) -> Result<Self, RequestError> {
        Self::admits(request.principal()).map(|()| Self(Viewer(request)))
    }
}

/// What anybody may do who reads, the person may.
impl Deref for Owner {
    type Target = Viewer;

    fn deref(&self) -> &Viewer {
        &self.0
    }
}

impl Role for MemoryWriter {
    fn of(request: Request) -> Result<Self, RequestError> {
        Self::admits(request.principal())?;
        let Principal::Agent(caller) = request.principal() else {
            let hint = "use an agent's token; over the Unix socket, send the header `X-Vault-Agent: NAME`";
            let message = "only agents can do this: each has its own memory";
            return Err(RequestError::forbidden(message).hint(hint));
        };
        let (slug, policy) = (caller.slug.clone(), Arc::clone(&caller.policy));
        let rights = request.own_rights(true);
        Ok(Self { request, slug, mode: policy.write_mode, policy, rights })
    }
}

impl Deref for MemoryWriter {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

impl MemoryWriter {
    /// What of the agents' memory it sees now.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub(crate) fn own_memory(&self) -> Result<ReadScope, RequestError> {
        self.seen_now(&self.rights)
    }

    /// Whether it may not even read its own memory in its session.
    pub(crate) fn is_closed(&self) -> bool {
        !matches!(self.rights, Scope::Own { .. })
    }

    /// Logs what it did with its own memory, for the person to see.
    pub(crate) fn log_own(&self, what: &str, query: &str, given: Vec<String>) {
        self.workspace().agents.log().add(&self.slug, LogEntry::now(what, query, given));
    }

    /// A change of its own that brings so many bytes, within what it may write in a day.
    pub(crate) fn act(&self, action: Action, written: usize) -> Act<'_> {
        let act = action.by(&self.slug);
        self.limits().map_or(act, |limits| act.within(quota(&limits), written as u64))
    }

    /// Begins to write, unless nobody waits for that any more.
    ///
    /// # Errors
    /// When its time is over.
    pub(crate) fn begin(&self) -> Result<(), RequestError> {
        let in_time = self.turn().left().is_none_or(|left| !left.is_zero()) && self.turn().begin();
        let late =
            || RequestError::unavailable("the request took too long", "nothing was written; try again in a moment");
        in_time.then_some(()).ok_or_else(late)
    }

    /// Refuses facts and entries where the person lets it write none.
    ///
    /// # Errors
    /// When its memory is closed, or its `write_mode` has none of `what`.
    pub(crate) fn may_write_items(&self, what: &str) -> Result<(), RequestError> {
        if self.is_closed() {
            return Err(RequestError::kept_by_person("your memory is closed in this session"));
        }
        match self.mode {
            MemoryMode::Hybrid | MemoryMode::SearchOnly => Ok(()),
            MemoryMode::PromptOnly | MemoryMode::Off => {
                Err(RequestError::kept_by_person(format!("your `write_mode` lets you {what}")))
            }
        }
    }

    /// How long a change waits for the index, so that its answer comes before the agent's time is over.
    pub(crate) fn patience(&self) -> Duration {
        let patience = self.limits().map_or(Duration::ZERO, |limits| Duration::from_millis(limits.timeout_ms) / 2);
        self.turn().left().map_or(patience, |left| patience.min(left))
    }
}

impl Role for EventSender {
    fn admits(principal: &Principal) -> Result<(), RequestError> {
        if matches!(principal, Principal::Member(_)) { Err(only_owner()) } else { Ok(()) }
    }

    fn of(request: Request) -> Result<Self, RequestError> {
        let name = match request.principal() {
            Principal::Owner(_) => String::new(),
            Principal::Capture(name) => name.clone(),
            Principal::Agent(_) | Principal::Member(_) => {
                return Err(RequestError::forbidden("agents cannot send events; use a capture token"));
            }
        };
        Ok(Self { request, name })
    }
}

impl EventSender {
    /// The vault that it sends to.
    pub fn workspace(&self) -> &Arc<Workspace> {
        self.request.workspace()
    }
}
