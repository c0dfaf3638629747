//! `vault checkpoints`

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::backend::{Backend, home};
use super::exit::Outcome;
use super::note_named::path_named;
use super::terminal;
use super::terminal::{DIM, TITLE, remark, stdout};
use crate::api::endpoints;
use crate::wire::CheckpointsParams;

/// List the changes that can be undone, newest first.
///
/// One is kept for each change that the program makes to a note, for 30 days, and 1 GB of them. `vault restore ID` undoes the
/// change; of an import, which has a name of its own, all of it.
#[derive(Debug, Args)]
pub(super) struct CheckpointsCommand {
    /// Only those of this note.
    path: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl CheckpointsCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let path = self.path.map(|path| path_named(&path, &home(vault)?)).transpose()?;
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        let found = backend.ask(&endpoints::writes::CHECKPOINTS, &CheckpointsParams { path })?;
        let outcome = if found.checkpoints.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            stdout().json(&found)?;
            return Ok(outcome);
        }
        let mut out = stdout();
        for checkpoint in &found.checkpoints {
            let files = checkpoint.files.map(|files| terminal::count(files, "file"));
            let before = || checkpoint.bytes.map_or_else(|| "was not there".into(), terminal::bytes);
            let bytes = files.unwrap_or_else(before);
            let by = checkpoint.by.as_ref().map(|by| format!("  by {by}")).unwrap_or_default();
            out.paint(TITLE, &checkpoint.id)?;
            write!(out, "  {:<7}  {}  ", checkpoint.action, checkpoint.path)?;
            out.paint(DIM, &bytes)?;
            writeln!(out, "{by}")?;
        }
        if outcome == Outcome::NothingFound {
            remark!("vault: there is nothing to undo");
        }
        Ok(outcome)
    }
}
