//! `vault conflicts`

use std::io::Write;
use std::path::Path;

use clap::{Args, Subcommand};

use super::backend::{Backend, home};
use super::exit::Outcome;
use super::note_named::file_named;
use super::terminal::{DIM, TITLE, answer, remark, remark_behind};
use crate::serve::api::endpoints;
use crate::serve::wire::{ConflictChoice, ConflictParams, ConflictSide, KeepParams};

/// List files that were changed in two places, and resolve each conflict.
///
/// A sync service leaves a copy beside a note (`Plan.sync-conflict-….md`, `Plan (conflicted copy ….md)`) or another file, and a git merge
/// leaves conflict markers in a note. vault merges nothing by itself: look at the difference, and keep one side or both. You can undo this.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault conflicts\n  vault conflicts show notes/plan.md\n  vault conflicts keep notes/plan.md --ours"
)]
pub(super) struct ConflictsCommand {
    #[command(subcommand)]
    action: Option<ConflictsAction>,
}

#[derive(Debug, Subcommand)]
enum ConflictsAction {
    /// Show how the two sides differ: `-` is the file, or the part above `=======`; `+` is the copy, or the part below. For files that are
    /// not text, shows the size of each side and when it was changed.
    Show {
        /// The copy, or the file that has one copy or conflict markers.
        path: String,
    },
    /// Keep one side, or both. The other is moved to `.trash/`, and `vault restore` undoes this.
    Keep {
        /// The copy, or the file that has one copy or conflict markers.
        path: String,
        #[command(flatten)]
        side: SideArgs,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct SideArgs {
    /// Keep the file as it is; with conflict markers, the part above `=======`.
    #[arg(long)]
    ours: bool,
    /// Keep the copy instead of the file; with conflict markers, the part below `=======`.
    #[arg(long)]
    theirs: bool,
    /// Keep both: the copy becomes a separate file; with conflict markers, one part after the other.
    #[arg(long)]
    both: bool,
}

impl SideArgs {
    fn side(&self) -> ConflictChoice {
        match (self.ours, self.theirs) {
            (true, _) => ConflictChoice::Ours,
            (false, true) => ConflictChoice::Theirs,
            (false, false) => ConflictChoice::Both,
        }
    }
}

impl ConflictsCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        match self.action {
            None => list(&mut Backend::reading(vault)?),
            Some(ConflictsAction::Show { path }) => {
                let params = ConflictParams { path: file_named(&path, &home(vault)?)? };
                show(&mut Backend::caught_up(vault)?, &params)
            }
            Some(ConflictsAction::Keep { path, side }) => {
                let params = KeepParams { path: file_named(&path, &home(vault)?)?, keep: side.side() };
                keep(&mut Backend::caught_up(vault)?, &params)
            }
        }
    }
}

fn list(backend: &mut Backend) -> anyhow::Result<Outcome> {
    let found = backend.ask(&endpoints::conflicts::CONFLICTS, &())?;
    answer(&found, !found.conflicts.is_empty(), |out| {
        for copy in &found.conflicts {
            out.row(&[(TITLE, &copy.path), (DIM, &about(copy))])?;
        }
        match found.conflicts.is_empty() {
            true => remark!("vault: no file was changed in two places"),
            false => remark!(
                "vault: `vault conflicts show PATH` shows the difference, `vault conflicts keep PATH --ours`, `--theirs` or `--both` settles it"
            ),
        }
        Ok(())
    })
}

/// What is said of a conflict behind its path.
pub(super) fn about(copy: &crate::serve::wire::ConflictCopy) -> String {
    match (copy.path == copy.of, copy.same) {
        (true, _) => format!("conflict markers of {}", copy.made_by),
        (false, true) => format!("of {}, by {}; it says the same", copy.of, copy.made_by),
        (false, false) => match &copy.by_hand {
            Some(why) => format!("of {}, by {}; {why}", copy.of, copy.made_by),
            None => format!("of {}, by {}", copy.of, copy.made_by),
        },
    }
}

/// How one side of a conflict is that is no text.
fn described(path: &str, side: Option<&ConflictSide>) -> String {
    match side {
        Some(ConflictSide { bytes, updated_at }) => format!("{path}  {bytes} bytes, changed {updated_at}\n"),
        None => format!("{path}  does not exist\n"),
    }
}

fn show(backend: &mut Backend, params: &ConflictParams) -> anyhow::Result<Outcome> {
    let found = backend.ask(&endpoints::conflicts::DIFFERENCE, params)?;
    answer(&found, true, |out| {
        if found.theirs.is_some() {
            let (ours, theirs) = (found.ours.as_ref(), found.theirs.as_ref());
            out.write_all(described(&found.conflict.of, ours).as_bytes())?;
            out.write_all(described(&found.conflict.path, theirs).as_bytes())?;
            if found.conflict.same {
                remark!("vault: both sides are the same, to the byte");
            }
        } else if found.diff.is_empty() {
            remark!(
                "vault: both sides have the same text; `vault conflicts keep {} --ours` moves the copy to .trash/",
                found.conflict.path
            );
        } else {
            out.write_all(found.diff.as_bytes())?;
        }
        Ok(())
    })
}

fn keep(backend: &mut Backend, params: &KeepParams) -> anyhow::Result<Outcome> {
    let settled = backend.ask(&endpoints::conflicts::KEEP, params)?;
    let done = answer(&settled, true, |out| {
        let beside = settled.beside.as_ref().map(|beside| format!(", and {beside} beside it")).unwrap_or_default();
        writeln!(out, "{} is kept{beside}", settled.path)?;
        Ok(writeln!(out, "to undo: vault restore {}", settled.checkpoint_ids.join(" "))?)
    });
    remark_behind(settled.searchable);
    done
}
