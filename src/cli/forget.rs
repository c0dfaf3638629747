//! `vault forget`

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::bail;
use clap::Args;

use super::backend::{Backend, home};
use super::exit::Outcome;
use super::note_named::{CommandTarget, NameFit, NoteNames};
use super::terminal::{Out, count, remark, remark_behind, stderr, stdout};
use crate::api::endpoints;
use crate::wire::{DerivedNote, ForgetParams, Forgotten};

/// Remove a passage, some lines, or a whole note.
///
/// What goes can be had again: a note that is removed whole is moved to .trash/, and `vault restore` undoes it all. With
/// --purge it cannot: checkpoints of the note, its copies in .trash/ and what the index kept of the text go as well, and it is
/// said where the text may be found all the same, as in the history of git. The text stays forgotten then: what a program or an agent
/// brings of it later is left out (`vault forgotten list`). Remarks and summaries that were made of what goes, by their
/// frontmatter, are listed, and go along if you say so.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault forget notes/keys.md\n  vault forget notes/keys.md:3-5 --dry-run\n  vault forget 1a9d82b2d24c0240"
)]
pub(super) struct ForgetCommand {
    /// HASH, PATH, PATH:LINE or PATH:LINE-LINE, as searches name them; the note's NAME, NAME#HEADING or [[LINK]]; fact:NAMESPACE/KEY for a fact, with all that it ever was.
    what: String,
    /// The memory scope of a fact.
    #[arg(long)]
    scope: Option<String>,
    /// Show what would go, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Leave nothing that could bring it back.
    #[arg(long)]
    purge: bool,
    /// Remove the notes that were made of it, too.
    #[arg(long, conflicts_with = "keep_derived")]
    derived: bool,
    /// Keep the notes that were made of it, and do not ask.
    #[arg(long)]
    keep_derived: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ForgetCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        if let Some(name) = self.what.strip_prefix("fact:") {
            let fact =
                ForgetParams { fact: Some(name.to_owned()), scope: self.scope.clone(), ..ForgetParams::default() };
            return self.forget(vault, fact);
        }
        let params = match NoteNames::of(&home(vault)?)?.target(&self.what, NameFit::Exact)? {
            CommandTarget::Hash(hash) => ForgetParams { hash: Some(hash), ..ForgetParams::default() },
            CommandTarget::Note(path, lines) => ForgetParams {
                path: Some(path.into()),
                line_start: lines.map(|(first, _)| first),
                line_end: lines.map(|(_, last)| last),
                ..ForgetParams::default()
            },
        };
        self.forget(vault, params)
    }

    fn forget(self, vault: Option<&Path>, mut params: ForgetParams) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        (params.purge, params.dry_run) = (self.purge, true);
        let found = backend.ask(&endpoints::writes::FORGET, &params)?;
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
        params.derived = self.derived;
        if !found.derived.is_empty() && !self.derived && !self.keep_derived && !self.yes && io::stdin().is_terminal() {
            params.derived = agreed("Remove them, too?")?;
        }
        params.dry_run = false;
        params.seen = Some(found.seen).filter(|seen| !seen.is_empty());
        let forgotten = backend.ask(&endpoints::writes::FORGET, &params)?;
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
    if found.derived.is_empty() { Ok(()) } else { show_derived(found, out) }
}

/// What was made of it.
fn show_derived(found: &Forgotten, out: &mut Out) -> io::Result<()> {
    writeln!(out, "\nMade of it:")?;
    found.derived.iter().try_for_each(|derived| writeln!(out, "- {}", called(derived)))
}

/// What was made of it, by its name.
fn called(derived: &DerivedNote) -> String {
    match &derived.fact {
        Some(name) => format!("the fact {name} in {}", derived.path),
        None if derived.summary => format!("the summary of {}", derived.path),
        None => derived.path.clone(),
    }
}

/// Asks, and says whether the person agrees; nobody there to ask does not.
pub(super) fn agreed(question: &str) -> io::Result<bool> {
    write!(stderr(), "\n{question} [y/N] ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn tell(forgotten: &Forgotten) -> io::Result<()> {
    let mut out = stdout();
    let path = &forgotten.path;
    // The note went before what was made of it.
    let undo = forgotten.derived.iter().filter(|derived| derived.kept_because.is_none()).rev();
    let undo = undo.filter_map(|derived| derived.checkpoint_id.as_deref());
    let undo: Vec<&str> = undo.chain(forgotten.checkpoint_id.as_deref()).collect();
    for derived in &forgotten.derived {
        let path = called(derived);
        match (&derived.kept_because, &derived.checkpoint_id) {
            (Some(why), _) => remark!("vault: {path}, which was made of it, stays: {why}"),
            (None, _) if !derived.gone => remark!("vault: {path} was made of it, and stays; --derived removes it, too"),
            (None, Some(_)) => {
                let what = if derived.fact.is_some() { "is taken out" } else { "is moved to .trash/" };
                writeln!(out, "{path}, which was made of it, {what}")?
            }
            (None, None) if derived.summary => writeln!(out, "{path}, which was made of it, went with it")?,
            (None, None) => writeln!(out, "{path}, which was made of it: removed for good")?,
        }
    }
    match (&forgotten.checkpoint_id, &forgotten.purged) {
        (Some(_), _) => {
            let what = if forgotten.whole { "moved to .trash/" } else { "without it now" };
            writeln!(out, "{path} is {what}\nto undo: vault restore {}", undo.join(" "))
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
            if purged.traces > 0 {
                writeln!(out, "{} of agents' traces said it, and say it no more", count(purged.traces, "event"))?;
            }
            if let Some(id) = purged.tombstone {
                writeln!(out, "it stays forgotten: `vault forgotten lift {id}` lets it come back")?;
            }
            purged.remains.iter().try_for_each(|remains| writeln!(out, "- {remains}"))
        }
    }
}
