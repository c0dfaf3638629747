//! What was replaced while somebody had it open for writing.

use std::path::PathBuf;

use blake3::Hash;

use crate::path::VaultPath;

/// A text that lies beside a note until nobody has it open for writing.
#[derive(Debug)]
pub(super) struct HeldText {
    /// The note.
    pub(super) path: VaultPath,
    /// Where it lies.
    pub(super) beside: PathBuf,
    /// What it may be without being anybody's: the note as it was before, and as it was written.
    pub(super) known: [Hash; 2],
}
