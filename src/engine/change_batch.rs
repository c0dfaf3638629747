//! Changes that are brought in together, as data: they may be sent.

use super::update::FileUpdate;
use crate::path::VaultPath;

/// Changes that make one generation of the one before. Readers see all of them or none.
#[derive(Debug)]
pub struct ChangeBatch {
    /// The number of the generation that it makes. Whoever has sent a batch and heard nothing asks for the number that is there.
    pub generation: u64,
    /// Files that are new or have changed, or parts of them, each path once.
    pub updates: Vec<FileUpdate>,
    /// Paths that are gone.
    pub removed: Vec<VaultPath>,
}
