//! What was changed, undone and forgotten: `vault log`, `checkpoints`, `restore`, `forget` and `forgotten`.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::bail;
use clap::{Args, Subcommand};

use super::backend::{Backend, home};
use super::exit::Outcome;
use super::note_named::{CommandTarget, NameFit, NoteNames, path_named};
use super::terminal::{DIM, Out, PLAIN, TITLE, answer, bytes, count, remark, remark_behind, say, stderr, stdout};
use crate::base::clock::local;
use crate::serve::api::endpoints;
use crate::serve::wire::{
    ChangesParams, CheckpointsParams, DerivedNote, ForgetParams, Forgotten, ForgottenView, RestoreParams,
};

/// List what this program changed of your notes, newest first.
///
/// A line a change: when, who (you, an agent, a program that sends events, retention), what, and where. It holds no text, so it outlives
/// what was forgotten; of a note that was purged it names the folder alone. The last 100,000 changes are kept. What you change with
/// an editor is not in it.
#[derive(Debug, Args)]
pub(super) struct LogCommand {
    /// Maximum number of changes.
    #[arg(long, short = 'n', default_value_t = 100)]
    limit: usize,
    /// Only those of this note, or of a folder that ends in `/`.
    #[arg(long)]
    path: Option<String>,
    /// Only those from then on: a date (2026-01-05), yesterday, a time or how long ago (7d).
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl LogCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let path = match self.path {
            Some(path) if !path.ends_with('/') => Some(path_named(&path, &home(vault)?)?),
            path => path,
        };
        let params = ChangesParams { limit: Some(self.limit), path, since: self.since };
        let found = Backend::without_model(vault)?.ask(&endpoints::forgotten::CHANGES, &params)?;
        answer(self.json, &found, !found.changes.is_empty(), |out| {
            for change in &found.changes {
                let lines = match (change.line_start, change.line_end) {
                    (Some(first), Some(last)) if first == last => format!(":{first}"),
                    (Some(first), Some(last)) => format!(":{first}-{last}"),
                    _ => String::new(),
                };
                let (when, what) = (local(&change.at), format!("{:<7}", change.what));
                let (place, by) = (format!("{}{lines}", change.path), format!("by {}", change.by));
                let undo = change.checkpoint_id.as_ref().map(|id| format!("vault restore {id}")).unwrap_or_default();
                out.row(&[(PLAIN, &when), (PLAIN, &what), (TITLE, &place), (PLAIN, &by), (DIM, &undo)])?;
            }
            if found.changes.is_empty() {
                remark!("vault: nothing was changed");
            }
            Ok(())
        })
    }
}

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
        let found = Backend::without_model(vault)?.ask(&endpoints::writes::CHECKPOINTS, &CheckpointsParams { path })?;
        answer(self.json, &found, !found.checkpoints.is_empty(), |out| {
            for checkpoint in &found.checkpoints {
                let before = || checkpoint.bytes.map_or_else(|| "was not there".into(), bytes);
                let size = checkpoint.files.map_or_else(before, |files| count(files, "file"));
                let action = format!("{:<7}", checkpoint.action);
                let by = checkpoint.by.as_ref().map(|by| format!("by {by}")).unwrap_or_default();
                let (id, path) = (&checkpoint.id, &checkpoint.path);
                out.row(&[(TITLE, id), (PLAIN, &action), (PLAIN, path), (DIM, &size), (PLAIN, &by)])?;
            }
            if found.checkpoints.is_empty() {
                remark!("vault: there is nothing to undo");
            }
            Ok(())
        })
    }
}

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
        let mut backend = Backend::caught_up(vault)?;
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
        let mut backend = Backend::caught_up(vault)?;
        (params.purge, params.dry_run) = (self.purge, true);
        let found = backend.ask(&endpoints::writes::FORGET, &params)?;
        if self.dry_run {
            return answer(self.json, &found, true, |out| Ok(show(&found, out)?));
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
        answer(self.json, &forgotten, true, |out| {
            remark_behind(forgotten.searchable);
            Ok(tell(&forgotten, out)?)
        })
    }
}

/// What would go.
fn show(found: &Forgotten, out: &mut Out) -> io::Result<()> {
    let what = if found.whole { "all of" } else { "this in" };
    writeln!(out, "{what} {}:\n", found.path)?;
    for line in found.content.lines() {
        writeln!(out, "    {line}")?;
    }
    if found.derived.is_empty() {
        return Ok(());
    }
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

fn tell(forgotten: &Forgotten, out: &mut Out) -> io::Result<()> {
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
                count(purged.trashed, "copy"),
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

/// See what was forgotten for good and stays so, or let it come back.
///
/// `vault forget --purge` keeps digests of the words of what it removes, by a key of this vault alone, and never the text. What a program
/// or an agent brings later is held against them, and left out where it says the same.
#[derive(Debug, Args)]
pub(super) struct ForgottenCommand {
    #[command(subcommand)]
    action: ForgottenAction,
}

#[derive(Debug, Subcommand)]
enum ForgottenAction {
    /// List what was forgotten: when, and in which note, or in which folder where the note is gone; what was left out because of it; and
    /// what stands in notes again, which stays.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let something come back that was forgotten.
    Lift {
        /// Its number, as `vault forgotten list` has it.
        id: i64,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

impl ForgottenCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::without_model(vault)?;
        match self.action {
            ForgottenAction::List { json } => {
                backend.catch_up(false)?;
                let found = backend.ask(&endpoints::forgotten::FORGOTTEN, &())?;
                answer(json, &found, !found.forgotten.is_empty(), |out| Ok(show_forgotten(&found, out)?))
            }
            ForgottenAction::Lift { id, json } => {
                let lifted = backend.ask_of(&endpoints::forgotten::LIFT, &id.to_string(), &())?;
                answer(json, &lifted, true, |out| Ok(writeln!(out, "{id} may come back")?))
            }
        }
    }
}

fn show_forgotten(found: &ForgottenView, out: &mut Out) -> io::Result<()> {
    if found.forgotten.is_empty() {
        remark!("vault: nothing was forgotten for good");
    }
    for tombstone in &found.forgotten {
        let parts = [(tombstone.texts, "text"), (tombstone.sentences, "sentence"), (tombstone.facts, "fact")];
        let parts: Vec<String> =
            parts.iter().filter(|(number, _)| *number > 0).map(|(number, of)| count(*number, of)).collect();
        let (id, at) = (tombstone.id.to_string(), local(&tombstone.at));
        out.row(&[(TITLE, &id), (PLAIN, &at), (PLAIN, &tombstone.place), (DIM, &parts.join(", "))])?;
    }
    if !found.left_out.is_empty() {
        writeln!(out, "\nLeft out since:")?;
    }
    for left in &found.left_out {
        let how = if left.whole { "all of it" } else { "a part" };
        writeln!(
            out,
            "{}  {}, for {}: {how}, as {} is forgotten",
            local(&left.at),
            left.by,
            left.into,
            left.tombstone
        )?;
    }
    if !found.back.is_empty() {
        writeln!(out, "\nIn notes again, where it stays:")?;
    }
    for back in &found.back {
        writeln!(out, "{}:{}  forgotten {}", back.path, back.line, back.tombstone)?;
    }
    Ok(())
}
