//! Which notes a command is about.

use clap::Args;

/// Narrows searches to some notes.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct NarrowArgs {
    /// Only this collection (a top-level folder).
    #[arg(long)]
    pub(super) collection: Option<String>,
    /// Only notes with this tag, or one below it.
    #[arg(long)]
    pub(super) tag: Option<String>,
    /// Only notes whose path in the vault starts so.
    #[arg(long)]
    pub(super) path: Option<String>,
}
