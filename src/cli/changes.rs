//! What is saved, changed, undone and forgotten: `vault save`, `annotate`, `log`, `undo`, `forget`, `forgotten` and `conflicts`.

use std::io::{self, IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde_json::{Map, Value};

use super::backend::{Backend, home};
use super::note_named::{CommandTarget, NameFit, NoteNames, file_named, path_named};
use super::terminal::{
    DIM, Out, Outcome, PLAIN, TITLE, answer, bytes, count, is_in_json, list, remark, remark_behind, remark_none,
    remark_undo, say, stderr, stdout, typed,
};
use crate::base::clock::{local, local_time};
use crate::serve::api::endpoints;
use crate::serve::wire::{
    AnnotateParams, ChangesParams, CheckpointsParams, ConflictChoice, ConflictParams, DerivedNote, ForgetParams,
    Forgotten, ForgottenView, KeepParams, RestoreParams, SaveParams,
};

/// List the changes this program made to your notes, newest first.
///
/// One line per change: when, who (you, an agent, a program that sends events, retention), what, and where. The log holds no text, so it
/// outlives forgotten notes; for a purged note it names only the folder. It keeps the last 100,000 changes. It does not list what you
/// change in an editor.
#[derive(Debug, Args)]
pub(super) struct LogCommand {
    #[command(flatten)]
    which: ChangesParams,
}

impl LogCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let path = match self.which.path {
            Some(path) if !path.ends_with('/') => Some(path_named(&path, &home(vault)?)?),
            path => path,
        };
        let params = ChangesParams { path, ..self.which };
        let found = Backend::without_model(vault)?.ask(&endpoints::forgotten::CHANGES, &params)?;
        list(&found, &found.changes, "nothing was changed", |change, out| {
            let lines = match (change.line_start, change.line_end) {
                (Some(first), Some(last)) if first == last => format!(":{first}"),
                (Some(first), Some(last)) => format!(":{first}-{last}"),
                _ => String::new(),
            };
            let (when, what) = (local(&change.at), format!("{:<7}", change.what));
            let (place, by) = (format!("{}{lines}", change.path), format!("by {}", change.by));
            let undo = change.checkpoint_id.as_ref().map(|id| format!("vault undo {id}")).unwrap_or_default();
            out.row(&[(PLAIN, &when), (PLAIN, &what), (TITLE, &place), (PLAIN, &by), (DIM, &undo)]);
        })
    }
}

/// Undo a change of this program, so that the note is again as before; or a whole import. Without an ID, the last one.
///
/// vault keeps what each change replaced for 30 days and up to 1 GB; `--list` shows the changes, newest first. The ID of an import undoes the
/// whole import. You can undo this command too. It overwrites later edits only with --force, and keeps them even then.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault undo\n  vault undo --list notes/plan.md\n  vault undo 20261121T140047817-64df"
)]
pub(super) struct UndoCommand {
    /// The changes to undo.
    ids: Vec<String>,
    /// List what can be undone, and undo nothing; of one note if you name it.
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["ids", "force"])]
    list: Option<String>,
    #[command(flatten)]
    how: RestoreParams,
}

impl UndoCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        if let Some(path) = &self.list {
            let path = Some(path.as_str()).filter(|path| !path.is_empty());
            let path = path.map(|path| path_named(path, &home(vault)?)).transpose()?;
            let found =
                Backend::without_model(vault)?.ask(&endpoints::writes::CHECKPOINTS, &CheckpointsParams { path })?;
            return list(&found, &found.checkpoints, "there is nothing to undo", |checkpoint, out| {
                let before = || checkpoint.bytes.map_or_else(|| "was not there".into(), bytes);
                let size = checkpoint.files.map_or_else(before, |files| count(files, "file"));
                let action = format!("{:<7}", checkpoint.action);
                let by = checkpoint.by.as_ref().map(|by| format!("by {by}")).unwrap_or_default();
                let (id, path) = (&checkpoint.id, &checkpoint.path);
                out.row(&[(TITLE, id), (PLAIN, &action), (PLAIN, path), (DIM, &size), (PLAIN, &by)]);
            });
        }
        let mut backend = Backend::caught_up(vault)?;
        let mut ids = self.ids.clone();
        if ids.is_empty() {
            let found = backend.ask(&endpoints::writes::CHECKPOINTS, &CheckpointsParams::default())?;
            let Some(last) = found.checkpoints.first() else { bail!("there is nothing to undo") };
            if !is_in_json() {
                let by = last.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
                say!("the last change is of {}{by}: {} {}", local(&last.at), last.action, last.path);
            }
            ids.push(last.id.clone());
        }
        let mut undo = Vec::new();
        let done = ids.iter().try_for_each(|id| self.restore(id, &mut backend, &mut undo));
        // What came before a failure is done.
        if !undo.is_empty() {
            undo.reverse();
            say!("to undo: vault undo {}", undo.join(" "));
        }
        done.map(|()| Outcome::Done)
    }

    /// Undoes one change, and notes what undoes that, unless it is told as JSON.
    fn restore(&self, id: &str, backend: &mut Backend, undo: &mut Vec<String>) -> anyhow::Result<()> {
        let restored = backend.ask_of(&endpoints::writes::RESTORE, id, &self.how)?;
        if is_in_json() {
            stdout().json(&restored);
            return Ok(());
        }
        remark_behind(restored.searchable);
        match restored.files {
            Some(files) => {
                say!("{id} is undone: {} as before it; to get it back, import it again", count(files, "file"));
            }
            None => {
                if restored.forgotten_before {
                    remark!(
                        "vault: {} contains permanently forgotten text; `vault forgotten list` names the lines",
                        restored.path
                    );
                }
                say!("{} is as it was", restored.path);
                undo.push(restored.checkpoint_id);
            }
        }
        Ok(())
    }
}

/// Remove a passage, some lines, or a whole note.
///
/// You can undo this: a whole note is moved to .trash/, and `vault undo` brings everything back. --purge removes permanently: it
/// also deletes the note's checkpoints, its copies in .trash/ and its text in the index, and says where the text may remain, as in
/// the history of git. The text then stays forgotten: if a program or an agent brings it back later, vault leaves it out (`vault
/// forgotten list`). Remarks and summaries made from the removed text, by their frontmatter, are listed, and removed too if you say so.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault forget notes/keys.md\n  vault forget notes/keys.md:3-5 --dry-run\n  vault forget 1a9d82b2d24c0240"
)]
pub(super) struct ForgetCommand {
    /// HASH, PATH, PATH:LINE or PATH:LINE-LINE, as search prints them; the note's NAME, NAME#HEADING or [[LINK]]; fact:NAMESPACE/KEY for
    /// a fact with its whole history.
    what: String,
    #[command(flatten)]
    how: ForgetParams,
    /// Keep the notes made from it, and do not ask.
    #[arg(long)]
    keep_derived: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

impl ForgetCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut params = self.how;
        let (dry_run, derived) = (params.dry_run, params.derived);
        match self.what.strip_prefix("fact:") {
            Some(name) => params.fact = Some(name.to_owned()),
            None => {
                params.scope = None;
                match NoteNames::of(&home(vault)?)?.target(&self.what, NameFit::Exact)? {
                    CommandTarget::Hash(hash) => params.hash = Some(hash),
                    CommandTarget::Note(path, lines) => {
                        params.path = Some(path.into());
                        (params.line_start, params.line_end) = lines.unzip();
                    }
                }
            }
        }
        let mut backend = Backend::caught_up(vault)?;
        (params.dry_run, params.derived) = (true, false);
        let found = backend.ask(&endpoints::writes::FORGET, &params)?;
        if dry_run {
            return answer(&found, true, |out| show(&found, out));
        }
        if !self.yes {
            if std::io::stdin().is_terminal() {
                show(&found, &mut stderr());
                if !agreed(if params.purge { "Remove it permanently?" } else { "Remove it?" })? {
                    remark!("vault: nothing was changed");
                    return Ok(Outcome::Done);
                }
            } else if params.purge {
                bail!("--purge cannot be undone and needs your confirmation; add --yes");
            }
        }
        params.derived = derived;
        if !found.derived.is_empty() && !derived && !self.keep_derived && !self.yes && io::stdin().is_terminal() {
            params.derived = agreed("Remove them too?")?;
        }
        params.dry_run = false;
        params.seen = Some(found.seen).filter(|seen| !seen.is_empty());
        let forgotten = backend.ask(&endpoints::writes::FORGET, &params)?;
        answer(&forgotten, true, |out| {
            remark_behind(forgotten.searchable);
            tell(&forgotten, out);
        })
    }
}

/// What would go.
fn show(found: &Forgotten, out: &mut Out) {
    let what = if found.whole { "all of" } else { "this in" };
    writeln!(out, "{what} {}:\n", found.path);
    for line in found.content.lines() {
        writeln!(out, "    {line}");
    }
    out.section("\nMade from it:", &found.derived, |derived, out| writeln!(out, "- {}", called(derived)));
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
pub(super) fn agreed(question: &str) -> anyhow::Result<bool> {
    let answer = typed(&mut stderr(), &format!("\n{question} [y/N] "))?.unwrap_or_default();
    Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}

fn tell(forgotten: &Forgotten, out: &mut Out) {
    let path = &forgotten.path;
    // The note went before what was made of it.
    let undo = forgotten.derived.iter().filter(|derived| derived.kept_because.is_none()).rev();
    let undo = undo.filter_map(|derived| derived.checkpoint_id.as_deref());
    let undo: Vec<&str> = undo.chain(forgotten.checkpoint_id.as_deref()).collect();
    for derived in &forgotten.derived {
        let path = called(derived);
        match (&derived.kept_because, &derived.checkpoint_id) {
            (Some(why), _) => remark!("vault: {path} was made from it, and stays: {why}"),
            (None, _) if !derived.gone => {
                remark!("vault: {path} was made from it, and stays; --derived removes it too")
            }
            (None, Some(_)) => {
                let what = if derived.fact.is_some() { "is removed" } else { "is moved to .trash/" };
                writeln!(out, "{path}, made from it, {what}")
            }
            (None, None) if derived.summary => writeln!(out, "{path}, made from it, is removed too"),
            (None, None) => writeln!(out, "{path}, made from it, is removed permanently"),
        }
    }
    match (&forgotten.checkpoint_id, &forgotten.purged) {
        (Some(_), _) => {
            let what = if forgotten.whole { "moved to .trash/" } else { "without it now" };
            writeln!(out, "{path} is {what}\nto undo: vault undo {}", undo.join(" "))
        }
        (None, None) => writeln!(out, "{path}"),
        (None, Some(purged)) => {
            writeln!(
                out,
                "{path} is removed permanently, with {}, {} in .trash/ and {}",
                count(purged.checkpoints, "checkpoint"),
                count(purged.trashed, "copy"),
                count(purged.embeddings, "embedding"),
            );
            if purged.traces > 0 {
                writeln!(out, "{} of agents' traces contained it, and no longer do", count(purged.traces, "event"));
            }
            if let Some(id) = purged.tombstone {
                writeln!(out, "it stays forgotten: `vault forgotten lift {id}` lets it come back");
            }
            purged.remains.iter().for_each(|remains| writeln!(out, "- {remains}"));
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum ForgottenCommand {
    /// List what was forgotten: when, and in which note, or in which folder if the note is gone; what was left out because of it; and
    /// what is in notes again, where it stays.
    List,
    /// Let something forgotten come back.
    Lift {
        /// Its number, as in `vault forgotten list`.
        id: i64,
    },
}

impl ForgottenCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::without_model(vault)?;
        match self {
            Self::List => {
                backend.catch_up(false)?;
                let found = backend.ask(&endpoints::forgotten::FORGOTTEN, &())?;
                answer(&found, !found.forgotten.is_empty(), |out| show_forgotten(&found, out))
            }
            Self::Lift { id } => {
                let lifted = backend.ask_of(&endpoints::forgotten::LIFT, &id.to_string(), &())?;
                answer(&lifted, true, |out| writeln!(out, "{id} may come back"))
            }
        }
    }
}

fn show_forgotten(found: &ForgottenView, out: &mut Out) {
    remark_none(!found.forgotten.is_empty(), "nothing is permanently forgotten");
    for tombstone in &found.forgotten {
        let parts = [(tombstone.texts, "text"), (tombstone.sentences, "sentence"), (tombstone.facts, "fact")];
        let parts: Vec<String> =
            parts.iter().filter(|(number, _)| *number > 0).map(|(number, of)| count(*number, of)).collect();
        let (id, at) = (tombstone.id.to_string(), local(&tombstone.at));
        out.row(&[(TITLE, &id), (PLAIN, &at), (PLAIN, &tombstone.place), (DIM, &parts.join(", "))]);
    }
    out.section("\nLeft out since:", &found.left_out, |left, out| {
        let how = if left.whole { "all of it" } else { "a part" };
        let at = local_time(left.at);
        writeln!(out, "{at}  {}, for {}: {how}, as {} is forgotten", left.by, left.into, left.tombstone);
    });
    out.section("\nIn notes again, where it stays:", &found.back, |back, out| {
        writeln!(out, "{}:{}  forgotten {}", back.path, back.line, back.tombstone);
    });
}

/// Save a text as a note: from the arguments, or from standard input.
///
/// You can find it as soon as the command ends. Saving the same text again adds nothing. A note with the same title in `notes`
/// gets the new text; `vault undo` brings back the old one.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault save \"The spare key is with Maya\"\n  xclip -o | vault save --title \"From the web\" --tag reading"
)]
pub(super) struct SaveCommand {
    /// The text. Without one, or with -, it is read from standard input.
    text: Vec<String>,
    #[command(flatten)]
    note: SaveParams,
    /// Another frontmatter property; may be given more than once.
    #[arg(long = "meta", value_name = "KEY=VALUE")]
    metadata: Vec<String>,
}

impl SaveCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let content = text_of(&self.text)?;
        let metadata = self.metadata.iter().map(|pair| match pair.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), Value::from(value))),
            None => bail!("--meta takes KEY=VALUE, and `{pair}` has no ="),
        });
        let metadata: Map<String, Value> = metadata.collect::<anyhow::Result<_>>()?;
        let params = SaveParams { content, metadata: (!metadata.is_empty()).then_some(metadata), ..self.note };
        let saved = Backend::caught_up(vault)?.ask(&endpoints::writes::SAVE, &params)?;
        answer(&saved, true, |out| {
            if saved.redacted {
                remark!("vault: secrets were removed from the text; `[capture] redact = false` keeps them");
            }
            remark_behind(saved.searchable);
            writeln!(out, "{}{}", saved.path, if saved.existing { " (was there before)" } else { "" });
            remark_undo(saved.checkpoint_id.as_deref());
        })
    }
}

/// The text of arguments; that of standard input, where there are none, or `-`.
fn text_of(words: &[String]) -> anyhow::Result<String> {
    if !(words.is_empty() || words == ["-"]) {
        return Ok(words.join(" "));
    }
    if std::io::stdin().is_terminal() {
        remark!("vault: type the text, and end with Ctrl-D");
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("standard input is not UTF-8 text")?;
    Ok(text)
}

/// Write a remark on a passage.
///
/// The remark becomes a note in annotations/. It quotes the passage, links to it, is shown with it, and finds it again when
/// the passage moves. A remark on a private note is private.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vault annotate notes/sourdough.md:19 \"Eleven hours with cold water\"")]
pub(super) struct AnnotateCommand {
    /// HASH, PATH or PATH:LINE, as search prints them; the note's NAME, NAME#HEADING or [[LINK]].
    what: String,
    /// The remark. Without one, or with -, it is read from standard input.
    note: Vec<String>,
}

impl AnnotateCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let target = NoteNames::of(&home(vault)?)?.target(&self.what, NameFit::Exact)?;
        let note = text_of(&self.note)?;
        let params = match target {
            CommandTarget::Hash(hash) => AnnotateParams { hash: Some(hash), note, ..AnnotateParams::default() },
            CommandTarget::Note(path, lines) => {
                let line = lines.map(|(first, _)| u32::try_from(first).unwrap_or(u32::MAX));
                AnnotateParams { path: Some(path.into()), line, note, ..AnnotateParams::default() }
            }
        };
        let annotated = Backend::caught_up(vault)?.ask(&endpoints::writes::ANNOTATE, &params)?;
        answer(&annotated, true, |out| {
            remark_behind(annotated.searchable);
            writeln!(out, "{}", annotated.path);
            remark_undo(annotated.checkpoint_id.as_deref());
        })
    }
}

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
    /// Keep one side, or both. The other is moved to `.trash/`, and `vault undo` undoes this.
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
            None => {
                let found = Backend::caught_up(vault)?.ask(&endpoints::conflicts::CONFLICTS, &())?;
                answer(&found, !found.conflicts.is_empty(), |out| {
                    for copy in &found.conflicts {
                        out.row(&[(TITLE, &copy.path), (DIM, &about(copy))]);
                    }
                    match found.conflicts.is_empty() {
                        true => remark!("vault: no file was changed in two places"),
                        false => remark!(
                            "vault: `vault conflicts show PATH` shows the difference, `vault conflicts keep PATH --ours`, \
                             `--theirs` or `--both` settles it"
                        ),
                    }
                })
            }
            Some(ConflictsAction::Show { path }) => {
                let params = ConflictParams { path: file_named(&path, &home(vault)?)? };
                let found = Backend::caught_up(vault)?.ask(&endpoints::conflicts::DIFFERENCE, &params)?;
                let copy = &found.conflict.path;
                answer(&found, true, |out| {
                    if found.diff.is_empty() {
                        let moves = format!("`vault conflicts keep {copy} --ours` moves the copy to .trash/");
                        remark!("vault: both sides have the same text; {moves}");
                    } else {
                        write!(out, "{}", found.diff);
                    }
                })
            }
            Some(ConflictsAction::Keep { path, side }) => {
                let params = KeepParams { path: file_named(&path, &home(vault)?)?, keep: side.side() };
                let settled = Backend::caught_up(vault)?.ask(&endpoints::conflicts::KEEP, &params)?;
                remark_behind(settled.searchable);
                answer(&settled, true, |out| {
                    let beside = settled.beside.as_ref().map(|beside| format!(", and {beside} beside it"));
                    writeln!(out, "{} is kept{}", settled.path, beside.unwrap_or_default());
                    writeln!(out, "to undo: vault undo {}", settled.checkpoint_ids.join(" "));
                })
            }
        }
    }
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
