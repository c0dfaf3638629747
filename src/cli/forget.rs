//! `vault forget`

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::bail;
use clap::Args;

use super::backend::{Backend, home};
use super::get::{CommandTarget, place};
use super::outcome::Outcome;
use super::output::{count, remark_behind};
use super::terminal::{Out, remark, stderr, stdout};
use crate::wire::{ForgetParams, Forgotten};

/// Remove a passage, some lines, or a whole note.
///
/// What goes can be had again: a note that is removed whole is moved to .trash/, and `vault restore` undoes it all. With
/// --purge it cannot: checkpoints of the note, its copies in .trash/ and what the index kept of the text go as well, and it is
/// said where the text may be found all the same, as in the history of git.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault forget notes/keys.md\n  vault forget notes/keys.md:3-5 --dry-run\n  vault forget 1a9d82b2d24c0240"
)]
pub(super) struct ForgetCommand {
    /// HASH, PATH, PATH:LINE or PATH:LINE-LINE, as searches name them.
    what: String,
    /// Show what would go, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Leave nothing that could bring it back.
    #[arg(long)]
    purge: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ForgetCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut params = match place(&self.what, &home(vault)?)? {
            CommandTarget::Hash(hash) => ForgetParams { hash: Some(hash), ..ForgetParams::default() },
            CommandTarget::Note(path, lines) => ForgetParams {
                path: Some(path.into()),
                line_start: lines.map(|(first, _)| first),
                line_end: lines.map(|(_, last)| last),
                ..ForgetParams::default()
            },
        };
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        (params.purge, params.dry_run) = (self.purge, true);
        let found = backend.forget(&params)?;
        if self.dry_run {
            match self.json {
                true => stdout().json(&found)?,
                false => show(&found, &mut stdout())?,
            }
            return Ok(Outcome::Done);
        }
        if !self.yes {
            if std::io::stdin().is_terminal() {
                show(&found, &mut stderr())?;
                if !agreed(if self.purge { "Remove it for good?" } else { "Remove it?" })? {
                    remark!("vault: nothing was changed");
                    return Ok(Outcome::Done);
                }
            } else if self.purge {
                bail!("--purge cannot be undone, and nobody is there to be asked; add --yes");
            }
        }
        params.dry_run = false;
        params.seen = Some(found.seen).filter(|seen| !seen.is_empty());
        let forgotten = backend.forget(&params)?;
        if self.json {
            stdout().json(&forgotten)?;
        } else {
            remark_behind(forgotten.searchable);
            tell(&forgotten)?;
        }
        Ok(Outcome::Done)
    }
}

/// What would go.
fn show(found: &Forgotten, out: &mut Out) -> io::Result<()> {
    let what = if found.whole { "all of" } else { "this in" };
    writeln!(out, "{what} {}:\n", found.path)?;
    for line in found.content.lines() {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

fn agreed(question: &str) -> io::Result<bool> {
    write!(stderr(), "\n{question} [y/N] ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn tell(forgotten: &Forgotten) -> io::Result<()> {
    let mut out = stdout();
    let path = &forgotten.path;
    match (&forgotten.checkpoint_id, &forgotten.purged) {
        (Some(id), _) => {
            let what = if forgotten.whole { "moved to .trash/" } else { "without it now" };
            writeln!(out, "{path} is {what}\nto undo: vault restore {id}")
        }
        (None, None) => writeln!(out, "{path}"),
        (None, Some(purged)) => {
            writeln!(
                out,
                "{path}: removed for good, with {}, {} in .trash/ and {}",
                count(purged.checkpoints, "checkpoint"),
                count(purged.trashed, "copy").replace("copys", "copies"),
                count(purged.embeddings, "embedding"),
            )?;
            purged.remains.iter().try_for_each(|remains| writeln!(out, "- {remains}"))
        }
    }
}
