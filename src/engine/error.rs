//! What any engine may fail with.

use std::error::Error;

/// An engine failed.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct EngineError {
    source: Box<dyn Error + Send + Sync>,
    is_damage: bool,
}

impl EngineError {
    /// The content of a store is at fault: it is checked and mended, and nothing of it is shown.
    pub fn damage(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into(), is_damage: true }
    }

    /// Something else is: the disk, rights, another process.
    pub fn other(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into(), is_damage: false }
    }

    /// Whether the content of a store is at fault.
    pub fn is_damage(&self) -> bool {
        self.is_damage
    }
}
