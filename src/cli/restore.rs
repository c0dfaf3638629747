//! `vault restore`

use std::path::Path;

use clap::Args;

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{count, remark, remark_behind, say, stdout};
use crate::api::endpoints;
use crate::wire::RestoreParams;

/// Undo a change: the note is again what it was before. Of an import, all that it made.
///
/// `vault checkpoints` lists the changes. This is a change too, and can be undone. What was written since is not overwritten
/// without --force, and is kept even then.
#[derive(Debug, Args)]
pub(super) struct RestoreCommand {
    /// The checkpoint's name; of several, each is undone.
    #[arg(required = true)]
    ids: Vec<String>,
    /// Also over what was written since.
    #[arg(long)]
    force: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl RestoreCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        let mut undo = Vec::new();
        let done = self.ids.iter().try_for_each(|id| self.restore(id, &mut backend, &mut undo));
        // What came before a failure is done.
        if !undo.is_empty() {
            undo.reverse();
            say!("to undo: vault restore {}", undo.join(" "))?;
        }
        done.map(|()| Outcome::Done)
    }

    /// Undoes one change, and notes what undoes that, unless it is told as JSON.
    fn restore(&self, id: &str, backend: &mut Backend, undo: &mut Vec<String>) -> anyhow::Result<()> {
        let restored = backend.ask_of(&endpoints::writes::RESTORE, id, &RestoreParams { force: self.force })?;
        if self.json {
            return Ok(stdout().json(&restored)?);
        }
        remark_behind(restored.searchable);
        match restored.files {
            Some(files) => {
                say!("{id} is undone: {} as before it; to have it again, import it again", count(files, "file"))?;
            }
            None => {
                if restored.forgotten_before {
                    remark!(
                        "vault: {} says what you forgot for good; `vault forgotten list` names the lines",
                        restored.path
                    );
                }
                say!("{} is as it was", restored.path)?;
                undo.push(restored.checkpoint_id);
            }
        }
        Ok(())
    }
}
