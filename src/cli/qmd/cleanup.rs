//! `qmd cleanup`

use clap::Args;

use super::index::QmdIndex;
use crate::cli::outcome::Outcome;
use crate::cli::terminal::say;
use crate::qmd::{DatabaseHealth, IndexPlace, QmdError};

/// Whether anything is dropped.
#[derive(Debug, Args)]
pub(super) struct QmdCleanupArgs {
    /// Say what would be dropped, and drop nothing.
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl QmdCleanupArgs {
    /// Drops what is left of collections and indexes that there are no more, and of files that are gone.
    pub(super) fn run(self, place: IndexPlace) -> anyhow::Result<Outcome> {
        if self.dry_run {
            let would = would_do(place)?;
            say!("Dry run — no changes made.\n\n{would}")?;
            return Ok(Outcome::Done);
        }
        let mut documents = QmdIndex::open(place)?.documents;
        documents.check()?;
        let removed = documents.clean_up()?;
        documents.shrink()?;
        say!("✓ Removed {removed} documents that are gone\n✓ Database vacuumed")?;
        Ok(Outcome::Done)
    }
}

/// What a clean-up would do. To open a database that is not whole would change it.
fn would_do(place: IndexPlace) -> anyhow::Result<String> {
    let file = place.database.display();
    Ok(match DatabaseHealth::of(&place.database) {
        DatabaseHealth::Whole { .. } => {
            let stale = QmdIndex::open(place)?.documents.count_stale()?;
            format!("Would remove {stale} documents that are gone\nWould vacuum the database")
        }
        DatabaseHealth::Missing => format!("Would make {file}, which is not there"),
        DatabaseHealth::CutOff => format!("Would first finish a transaction of {file} that was cut off"),
        DatabaseHealth::Foreign => format!("Would set {file} aside, which is another program's, and make one anew"),
        DatabaseHealth::Damaged(why) => format!("Would set {file} aside, which is damaged, and make it anew: {why}"),
        DatabaseHealth::Closed(why) => return Err(QmdError::Collection(format!("cannot use {file}: {why}")).into()),
    })
}
