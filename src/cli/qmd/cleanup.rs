//! `qmd cleanup`

use clap::Args;

use super::index::QmdIndex;
use crate::cli::outcome::Outcome;
use crate::cli::terminal::say;

/// Whether anything is dropped.
#[derive(Debug, Args)]
pub(super) struct QmdCleanupArgs {
    /// Say what would be dropped, and drop nothing.
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl QmdCleanupArgs {
    /// Drops what is left of collections and indexes that there are no more, and of files that are gone.
    pub(super) fn run(self, index: &mut QmdIndex) -> anyhow::Result<Outcome> {
        if self.dry_run {
            let stale = index.documents.count_stale()?;
            say!("Dry run — no changes made.\n")?;
            say!("Would remove {stale} documents that are gone\nWould vacuum the database")?;
            return Ok(Outcome::Done);
        }
        index.documents.check()?;
        let removed = index.documents.count_stale()?;
        index.documents.refresh()?;
        index.documents.shrink()?;
        say!("✓ Removed {removed} documents that are gone\n✓ Database vacuumed")?;
        Ok(Outcome::Done)
    }
}
