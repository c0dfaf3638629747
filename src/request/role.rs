//! Who asks, as the use cases need it. A use case takes the role that it is for, so that it cannot be called for anybody else.

use std::ops::Deref;
use std::time::Duration;

use super::{ReadScope, Request, RequestError};
use crate::access::{Principal, Scope, WriteMode};

/// What a request has to be for some use cases.
pub trait Role: Sized {
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
    slug: String,
    /// What it may write.
    pub mode: WriteMode,
    /// What it may read: its own memory, and that of agents which share theirs with it.
    pub scope: Scope,
}

/// A program that says what happens, or the person's own processes. It reads nothing.
pub struct EventSender {
    /// What its token was made for; empty for the person.
    pub name: String,
}

/// A token of a program that sends events shows nothing else.
const SENDS_ONLY: &str = "this token may only send events";

impl Role for Viewer {
    fn of(request: Request) -> Result<Self, RequestError> {
        match request.principal() {
            Principal::Owner | Principal::Agent(_) => Ok(Self(request)),
            Principal::Capture(_) => Err(RequestError::forbidden(SENDS_ONLY)),
        }
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
            Principal::Owner | Principal::Capture(_) => None,
        }
    }

    /// The same request, to be taken for something else.
    pub fn request(&self) -> Request {
        self.0.clone()
    }

    /// The person, if it is the person.
    pub fn owner(&self) -> Option<Owner> {
        matches!(self.principal(), Principal::Owner).then(|| Owner(self.clone()))
    }

    /// Another one who reads, in place of this.
    ///
    /// # Errors
    /// When that one reads nothing.
    pub fn as_agent(&self, caller: crate::access::Caller) -> Result<Self, RequestError> {
        Self::of(self.by(Principal::Agent(caller)))
    }
}

impl Role for Owner {
    fn of(request: Request) -> Result<Self, RequestError> {
        match request.principal() {
            Principal::Owner => Ok(Self(Viewer(request))),
            Principal::Agent(_) | Principal::Capture(_) => {
                Err(RequestError::forbidden("only the vault's owner may do this"))
            }
        }
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
        match request.principal() {
            Principal::Agent(caller) => {
                let (slug, mode) = (caller.slug.clone(), caller.policy.write_mode);
                let scope = request.own_scope();
                Ok(Self { request, slug, mode, scope })
            }
            Principal::Owner => {
                let hint = "ask with an agent's token; over the Unix socket, `X-Vault-Agent: NAME` steps down to one";
                let message = "this is for agents, each of which has a memory of its own";
                Err(RequestError { hint: Some(hint.into()), ..RequestError::forbidden(message) })
            }
            Principal::Capture(_) => Err(RequestError::forbidden(SENDS_ONLY)),
        }
    }
}

impl Deref for MemoryWriter {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

impl MemoryWriter {
    /// The agent's folder.
    pub(crate) fn slug(&self) -> &str {
        &self.slug
    }

    /// What of the agents' memory it sees now.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub(crate) fn own_memory(&self) -> Result<ReadScope, RequestError> {
        self.latest(&self.scope)
    }

    /// How long a change waits for the index, so that its answer comes before the agent's time is over.
    pub(crate) fn patience(&self) -> Duration {
        let patience = self.limits().map_or(Duration::ZERO, |limits| limits.timeout / 2);
        self.turn().left().map_or(patience, |left| patience.min(left))
    }
}

impl Role for EventSender {
    fn of(request: Request) -> Result<Self, RequestError> {
        match request.principal {
            Principal::Owner => Ok(Self { name: String::new() }),
            Principal::Capture(name) => Ok(Self { name }),
            Principal::Agent(_) => Err(RequestError::forbidden("agents send no events; a capture token does")),
        }
    }
}
