//! What any engine may fail with.

use std::error::Error;

use super::damage::Damage;

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
