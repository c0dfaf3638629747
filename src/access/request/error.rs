//! The one error of all use cases, which becomes an HTTP status or an exit code.

use crate::access::rules::Principal;
use crate::base::fs::FsError;
use crate::base::state::StateError;
use crate::index::engine::EngineError;
use crate::index::sync::RefusedError;
use crate::memory::generated_files::GeneratedError;
use crate::memory::items::ItemError;
use crate::memory::trace_files::TraceFilesError;
use crate::serve::wire::NoteNow;
use crate::text::derive::ItemEditError;
use crate::vault::disk::WriteError;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller asked for something that makes no sense.
    Invalid,
    /// The caller may not do it, whatever it is about.
    Forbidden,
    /// What was asked for is not there, or not for the caller.
    NotFound,
    /// It would undo what somebody else did, or is there already.
    Conflict,
    /// It is to be made, and is there already.
    Exists,
    /// The caller has had as much as it may have. Later it may have more.
    TooMuch,
    /// The index is not open yet, or cannot be written. Later it may be.
    Unavailable,
    /// Our fault.
    Internal,
}

impl ErrorKind {
    /// Each with its word for programs and its HTTP status.
    const ALL: [(Self, &str, u16); 8] = [
        (Self::Invalid, "invalid", 400),
        (Self::Forbidden, "forbidden", 403),
        (Self::NotFound, "not_found", 404),
        (Self::Conflict, "conflict", 409),
        (Self::Exists, "exists", 409),
        (Self::TooMuch, "too_much", 429),
        (Self::Unavailable, "unavailable", 503),
        (Self::Internal, "internal", 500),
    ];

    /// The HTTP status.
    pub fn status(self) -> u16 {
        Self::ALL[self as usize].2
    }

    /// The exit code of a command that fails so: 1 says that nothing was found, 2 that something went wrong.
    pub fn exit_code(self) -> u8 {
        if self == Self::NotFound { 1 } else { 2 }
    }

    /// The kind that a [code](Self::code) names.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known, _)| *known == code).map(|(kind, ..)| kind)
    }

    /// A word for programs.
    pub fn code(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// A request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// What the note says that was to be written over.
    pub now: Option<Box<NoteNow>>,
}

impl RequestError {
    /// The caller's mistake: which parameter, and what it takes.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Invalid, message: message.into(), hint: None, now: None }
    }

    /// The caller may not do it.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Forbidden, message: message.into(), hint: None, now: None }
    }

    /// The same with what to do next.
    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// An agent may not write so, as the person says.
    pub(crate) fn kept_by_person(message: impl Into<String>) -> Self {
        Self::forbidden(message).hint("the owner set this in `agent.md` or `memory.toml`")
    }

    /// What was asked for is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::NotFound, message: message.into(), hint: None, now: None }
    }

    /// There is no such note, as far as is seen, by whatever it was named.
    pub fn no_note(named: impl std::fmt::Display) -> Self {
        Self::not_found(format!("there is no note `{named}`"))
    }

    /// The same as who is not the person is told: what is wrong with the disk or the index names places that are nobody else's business.
    #[must_use]
    pub fn told_to(self, principal: &Principal) -> Self {
        match (principal, self.kind) {
            (Principal::Owner(_), _) => self,
            (_, ErrorKind::Unavailable) => Self::unavailable("the vault cannot answer now", "try again in a moment"),
            (_, ErrorKind::Internal) => Self::internal("the server failed"),
            (Principal::Agent(_) | Principal::Member(_) | Principal::Capture(_), _) => self,
        }
    }

    /// It would undo what somebody else did, or is there already.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Conflict, message: message.into(), hint: None, now: None }
    }

    pub(crate) fn unavailable(message: impl Into<String>, hint: &str) -> Self {
        Self { kind: ErrorKind::Unavailable, message: message.into(), hint: None, now: None }.hint(hint)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Internal, message: message.into(), hint: None, now: None }
    }
}

impl From<EngineError> for RequestError {
    fn from(error: EngineError) -> Self {
        match error.is_abandoned() {
            true => Self::unavailable(error.to_string(), "ask for less"),
            false => Self::internal(error.to_string()),
        }
    }
}

impl From<WriteError> for RequestError {
    fn from(error: WriteError) -> Self {
        let message = error.to_string();
        match error {
            WriteError::Refused { .. } => Self::invalid(message),
            WriteError::Exists(_) | WriteError::Changed(_) => Self::conflict(message),
            WriteError::Gone(_) | WriteError::NoCheckpoint(_) => Self::not_found(message),
            WriteError::TooMuch(_) => Self { kind: ErrorKind::TooMuch, message, hint: None, now: None }
                .hint("try again tomorrow, or ask the owner to raise `max_written_bytes_per_day` in the `limits` of your page"),
            WriteError::Fs(_) => Self::unavailable(message, "nothing was written; make sure that the disk is writable"),
        }
    }
}

impl From<ItemError> for RequestError {
    fn from(error: ItemError) -> Self {
        let message = error.to_string();
        match error {
            ItemError::Write(error) => error.into(),
            ItemError::Scope(_) => Self::invalid(message),
            ItemError::Edit { source: ItemEditError::Absent("entry"), .. } => Self::not_found(message),
            ItemError::Edit { source: ItemEditError::Empty | ItemEditError::Long, .. } => Self::invalid(message),
            ItemError::Edit { .. } | ItemError::Other { .. } => Self::conflict(message),
            ItemError::Loss { lost, .. } => {
                let shown = lost.iter().take(10).map(|text| format!("- {text}")).collect::<Vec<_>>().join("\n");
                Self::conflict(message).hint(format!("these would be dropped:\n{shown}"))
            }
            ItemError::Read { .. } => Self::unavailable(message, "the next request reads the file again"),
        }
    }
}

impl From<GeneratedError> for RequestError {
    fn from(error: GeneratedError) -> Self {
        match error {
            GeneratedError::Write(error) => error.into(),
            GeneratedError::State(error) => error.into(),
            GeneratedError::Refused(message) => Self::conflict(message),
        }
    }
}

impl From<FsError> for RequestError {
    fn from(error: FsError) -> Self {
        StateError::from(error).into()
    }
}

impl From<StateError> for RequestError {
    fn from(error: StateError) -> Self {
        Self::unavailable(error.to_string(), "make sure that the vault's `.vault/state` is writable, and try again")
    }
}

impl From<RefusedError> for RequestError {
    fn from(error: RefusedError) -> Self {
        Self::unavailable(error.to_string(), "`vault status` says why")
    }
}

impl From<TraceFilesError> for RequestError {
    fn from(error: TraceFilesError) -> Self {
        let message = error.to_string();
        match error {
            TraceFilesError::GivenUp => Self::unavailable(message, "ask for less"),
            TraceFilesError::Away | TraceFilesError::Disk(_) => {
                Self::unavailable(message, "nothing was stored; send it again later")
            }
        }
    }
}
