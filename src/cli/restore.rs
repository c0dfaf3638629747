//! `vault restore`

use std::path::Path;

use clap::Args;

use super::backend::Backend;
use super::outcome::Outcome;
use super::output::{count, remark_behind};
use super::terminal::{remark, say, stdout};
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
        for id in &self.ids {
            let restored = backend.restore(id, RestoreParams { force: self.force })?;
            if self.json {
                stdout().json(&restored)?;
            } else if let Some(files) = restored.files {
                remark_behind(restored.searchable);
                say!("{id} is undone: {} as before it; to have it again, import it again", count(files, "file"))?;
            } else {
                remark_behind(restored.searchable);
                if restored.forgotten_before {
                    remark!(
                        "vault: {} says what you forgot for good; `vault forgotten list` names the lines",
                        restored.path
                    );
                }
                say!("{} is as it was\nto undo: vault restore {}", restored.path, restored.checkpoint_id)?;
            }
        }
        Ok(Outcome::Done)
    }
}
