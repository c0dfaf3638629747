//! What is known of a change to a file: a checkpoint, without what the file had; and why a file was not changed.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::base::fs::FsError;
use crate::base::path::VaultPath;

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It was made.
    Create,
    /// Its text was changed.
    Edit,
    /// A part of it was removed.
    Forget,
    /// It was moved to `.trash/`.
    Trash,
    /// It was brought back.
    Restore,
    /// A side of a conflict was kept whole, of a file of any kind, or that was undone.
    Settle,
}

impl Action {
    /// The action as an agent asked for it.
    pub fn by(self, agent: &str) -> Act<'_> {
        Act { by: Some(agent), ..self.into() }
    }

    /// The action as the log of changes and the list of checkpoints name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Edit => "edit",
            Self::Forget => "forget",
            Self::Trash => "trash",
            Self::Restore => "restore",
            Self::Settle => "settle",
        }
    }

    /// The action as something else than the person or an agent does it: `program browser`, `retention`.
    pub fn done_by(self, what: &str) -> Act<'_> {
        Act { program: Some(what), ..self.into() }
    }
}

/// What is to be done to a file, and who asked for it.
#[derive(Debug, Clone, Copy)]
pub struct Act<'a> {
    pub(super) action: Action,
    /// The agent; the person and their programs have no name here.
    pub(super) by: Option<&'a str>,
    /// What does it, if neither the person nor an agent, as the log of changes says it.
    pub(super) program: Option<&'a str>,
    pub(super) written: u64,
    pub(super) quota: Option<Quota>,
}

impl From<Action> for Act<'_> {
    fn from(action: Action) -> Self {
        Self { action, by: None, program: None, written: 0, quota: None }
    }
}

impl Act<'_> {
    /// Who it is, as the log of changes says it.
    pub(super) fn who(&self) -> String {
        match (self.by, self.program) {
            (Some(agent), _) => format!("agent {agent}"),
            (None, Some(program)) => program.to_owned(),
            (None, None) => "owner".into(),
        }
    }

    /// The same for an agent that brings `written` bytes and may have so much.
    #[must_use]
    pub fn within(self, quota: Quota, written: u64) -> Self {
        Self { written, quota: Some(quota), ..self }
    }
}

/// A file as it was before a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its name.
    pub id: CheckpointId,
    /// When the change was made.
    pub at: Timestamp,
    /// The file.
    pub path: VaultPath,
    /// The change.
    pub action: Action,
    /// The agent that asked for it; `None` when it was the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How many bytes the file had; `None` when it was not there.
    pub bytes: Option<u64>,
    /// BLAKE3 of the file as it was, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<String>,
    /// In checkpoints of older versions, the one of the same file whose content comes before what this one holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<CheckpointId>,
    /// When the file was changed before, in milliseconds since 1970; `None` when it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) changed_ms: Option<i64>,
    /// How many bytes an agent brought.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) written: u64,
    /// The file's permission bits.
    pub(super) mode: Option<u32>,
    /// BLAKE3 of the file after the change, in hexadecimal; `None` when it is gone.
    pub(super) after: Option<String>,
    /// Where it was moved to.
    pub(super) trashed: Option<VaultPath>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Checkpoint {
    /// Whether it is of a file that was moved to the trash.
    pub(crate) fn is_of_trash(&self) -> bool {
        self.trashed.is_some()
    }

    /// Whether the file, as its hash says, is what it was before the change.
    pub(crate) fn is_undone_by(&self, now: &blake3::Hash) -> bool {
        self.before.as_deref() == Some(now.to_hex().as_str())
    }
}

/// The name of a checkpoint: when it was made, to the millisecond in UTC, and four digits that tell it from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr)]
pub struct CheckpointId(String);

impl CheckpointId {
    pub(super) fn new(at: Timestamp, salt: blake3::Hash) -> Self {
        Self(format!("{}-{}", at.strftime("%Y%m%dT%H%M%S%3f"), &salt.to_hex()[..4]))
    }
}

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CheckpointId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let pattern = b"dddddddd\x54ddddddddd-xxxx";
        let fits = text.len() == pattern.len()
            && text.bytes().zip(pattern).all(|(byte, kind)| match kind {
                b'd' => byte.is_ascii_digit(),
                b'x' => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
                other => byte == *other,
            });
        if fits { Ok(Self(text.to_owned())) } else { Err("a checkpoint's name looks like 20260105T183000123-a1b2") }
    }
}

/// How much one agent gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Checkpoints. When there are more, its oldest go.
    pub checkpoints: usize,
    /// Their bytes on disk, likewise.
    pub checkpoint_bytes: u64,
    /// Bytes that it writes within 24 hours.
    pub written_bytes_per_day: u64,
}

/// Why a note was not written. Whatever it is, the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No note may be there.
    #[error("`{path}` cannot be written: {reason}")]
    Refused {
        /// Where.
        path: String,
        /// Why, as the end of a sentence.
        reason: &'static str,
    },
    /// There is something already.
    #[error("`{0}` already exists")]
    Exists(VaultPath),
    /// There is nothing.
    #[error("there is no note `{0}`")]
    Gone(VaultPath),
    /// Somebody else has changed it since it was read.
    #[error("`{0}` has changed since; nothing was written")]
    Changed(VaultPath),
    /// No checkpoint has this name.
    #[error("there is no checkpoint {0}; `vault undo --list` lists them all")]
    NoCheckpoint(CheckpointId),
    /// An agent has written as much as it may.
    #[error("the limit of {0} bytes per day is reached; nothing was written")]
    TooMuch(u64),
    /// The disk refused.
    #[error(transparent)]
    Fs(#[from] FsError),
}
