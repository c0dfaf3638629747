//! What any engine may fail with.

use std::error::Error;
use std::fmt;

use crate::base::fs::FsError;

/// An engine failed.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct EngineError {
    source: Box<dyn Error + Send + Sync>,
    fault: Fault,
}

/// What is at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    Damage(Damage),
    Abandoned,
    Other,
}

impl EngineError {
    /// The content of a store is at fault: it is checked and mended, and nothing of it is shown.
    pub(crate) fn damaged(source: impl Into<Box<dyn Error + Send + Sync>>, damage: Damage) -> Self {
        Self { source: source.into(), fault: Fault::Damage(damage) }
    }

    /// Something else is: the disk, rights, another process.
    pub fn other(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into(), fault: Fault::Other }
    }

    /// Nothing is: nobody waits for the answer any more, so it is not looked for.
    pub fn abandoned() -> Self {
        Self { source: "the answer took too long".into(), fault: Fault::Abandoned }
    }

    /// What is damaged, when the content of a store is at fault.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        match &self.fault {
            Fault::Damage(damage) => Some(damage),
            Fault::Abandoned | Fault::Other => None,
        }
    }

    /// Whether the content of a store is at fault.
    pub fn is_damage(&self) -> bool {
        self.damage().is_some()
    }

    /// Whether nobody waited for the answer any more.
    pub fn is_abandoned(&self) -> bool {
        self.fault == Fault::Abandoned
    }
}

/// What a store has, where it is not damaged: what is, is as if it were not there, and a check finds it.
pub(crate) fn unless_damaged<T>(found: Result<Option<T>, EngineError>) -> Result<Option<T>, EngineError> {
    found.or_else(|error| if error.is_damage() { Ok(None) } else { Err(error) })
}

impl From<FsError> for EngineError {
    fn from(error: FsError) -> Self {
        Self::other(error)
    }
}

/// What is wrong with a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// The catalog, of which all else is made, for the reason given.
    Catalog(String),
    /// The words, for the reason given.
    Words(String),
    /// Embeddings, by the store's own ids.
    Embeddings(Vec<i64>),
}

impl Damage {
    /// Whether the stores have to be closed to be mended.
    pub(crate) fn closes(&self) -> bool {
        matches!(self, Self::Catalog(_) | Self::Words(_))
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Catalog(reason) => write!(f, "{reason}. It is rebuilt from the notes"),
            Self::Words(reason) => write!(f, "{reason}. It is rebuilt from the catalog"),
            Self::Embeddings(ids) => write!(f, "{} stored embeddings are damaged, and are made again", ids.len()),
        }
    }
}
