//! A purge: one job, with a journal of its steps. What goes is remembered as forgotten before anything is written, so that a kill in between
//! brings nothing back; then each part goes out of its file and out of all that is kept of that file, then out of what else has the text,
//! then out of the index. Until the note's own text is removed a purge can be taken back; later the next start goes on with it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::annotations::annotations;
use super::forget::{ForgetStep, SourceLines, is_of};
use super::removal::{LineSpan, Removal};
use super::suggestions::purge_suggestions;
use crate::access::request::{ErrorKind, Owner, Request, RequestError, Role, Workspace, note_path};
use crate::access::rules::{Principal, Scope, Turn, is_agents, own_file};
use crate::base::config::StemmerLanguage;
use crate::base::fs::{FsError, crash};
use crate::base::path::VaultPath;
use crate::base::state::{OpenPurge, OpenPurgeTable, SessionTable, StateError};
use crate::base::tasks::{Task, TaskSignal};
use crate::index::engine::ContentHash;
use crate::memory::generated_files::summary_path;
use crate::memory::items::ItemError;
use crate::memory::trace_files::{MatchedTraces, TraceShare};
use crate::serve::wire::PurgedView;
use crate::text::derive::words::plain_words;
use crate::text::derive::{CommonWords, plain, said};
use crate::text::note::summary_of;
use crate::vault::disk::{Checkpoint, Files, Purged, WriteError, commits_of};
use crate::vault::forgotten::{ForgottenNote, TextPart, folder_of, parts_of};

/// A word that more than this share of everyday texts has says nothing of what was forgotten.
const EVERYDAY: f64 = 0.02;
/// Maximum time that a purge waits for captured events to be in their files.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest time between two looks whether the index has all files, where nothing is heard of it.
const LOOK_EVERY: Duration = Duration::from_secs(300);
/// Collections of which each file may have had what another has.
const MEMORY: [&str; 3] = ["memories", "profile", "summaries"];
/// What a purge says where the index does not follow yet, or somebody reads it as it was before.
const IN_THE_INDEX: &str =
    "the index files still have the text until the index has caught up and running searches have ended";

/// What is remembered of something that goes for good: where it was, and what is known again.
pub(super) struct NewTombstone {
    pub(super) place: ForgottenNote,
    pub(super) parts: Vec<TextPart>,
}

impl NewTombstone {
    /// Of something that is there still, and was `made_of` what goes.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub(super) fn of(owner: &Owner, removal: &Removal, made_of: Option<SourceLines<'_>>) -> Result<Self, RequestError> {
        let place = owner.forgotten_place(&removal.path, &removal.had, removal.left.is_none())?;
        Ok(Self { place, parts: parts_of(&removal.said(made_of)) })
    }
}

/// A purge that is under way.
pub(super) struct Purge<'a> {
    owner: &'a Owner,
    files: &'a Files,
    /// Its row in the journal.
    row: i64,
    /// What lifts what was remembered.
    tombstones: Vec<i64>,
    gone: Vec<NewTombstone>,
    /// Where it was: what histories name no more.
    places: Vec<(VaultPath, Option<LineSpan>)>,
    /// The names of the embeddings that were of it.
    embedded: Vec<ContentHash>,
    /// What was dropped of the note, and where the text may be found all the same.
    pub(super) view: PurgedView,
    /// Whether each step could be done; else the next start goes through them again.
    is_done: bool,
}

impl<'a> Purge<'a> {
    fn of(owner: &'a Owner, files: &'a Files, row: i64) -> Self {
        let (view, is_done) = (PurgedView::default(), true);
        let (tombstones, gone, places, embedded) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { owner, files, row, tombstones, gone, places, embedded, view, is_done }
    }

    /// Writes down what goes, and with it what else, as the next start is to read it, and remembers each as forgotten.
    ///
    /// # Errors
    /// When the state cannot be written: then nothing of it is.
    pub(super) fn begin(
        owner: &'a Owner,
        root: &Removal,
        remembered: &NewTombstone,
        steps: &mut [ForgetStep],
    ) -> Result<Self, RequestError> {
        let workspace = owner.workspace();
        let mut going: Vec<&mut ForgetStep> = steps.iter_mut().filter(|step| step.goes()).collect();
        let with = serde_json::to_string(&going).map_err(|error| RequestError::internal(error.to_string()))?;
        let (path, whole) = (root.path.as_str(), root.left.is_none());
        let table = OpenPurgeTable::new(&workspace.state);
        let row = table.open(path, root.lines, whole, &remembered.place.readers, &with)?;
        let mut purge = Self::of(owner, workspace.files()?, row);
        purge.view.tombstone = purge.remember(root, remembered, None)?;
        for (at, step) in going.iter_mut().enumerate() {
            if let (Some(removal), Some(remembered)) = (&step.removal, &step.remembered) {
                step.tombstone = purge.remember(removal, remembered, Some(at))?;
            }
        }
        Ok(purge)
    }

    /// Remembers something as forgotten: the note, or the step at a place of the journal. Where that fails all is taken back.
    fn remember(
        &mut self,
        removal: &Removal,
        NewTombstone { place, parts }: &NewTombstone,
        at: Option<usize>,
    ) -> Result<Option<i64>, RequestError> {
        let forgotten = &self.owner.workspace().forgotten;
        let (scope, facts) = removal.facts.as_ref().map(|facts| facts.named()).unwrap_or_default();
        let remembered = forgotten.remember(place, parts, &scope, &facts, Some((self.row, at)));
        let tombstone = remembered.inspect_err(|_| self.take_back())?;
        self.tombstones.extend(tombstone);
        Ok(tombstone)
    }

    /// Takes it back: nothing was removed.
    fn take_back(&self) {
        take_back(self.owner.workspace(), self.row, &self.tombstones);
    }

    /// Takes something out of its file, and out of all that is kept of that file. The first is the note itself.
    ///
    /// # Errors
    /// When it cannot go out of its file: then nothing of it has. Of the note itself all is taken back.
    pub(super) fn take(&mut self, removal: &Removal, remembered: NewTombstone) -> Result<(), RequestError> {
        let (is_first, workspace) = (self.gone.is_empty(), self.owner.workspace());
        crash::point("tombstone-kept");
        let embedded = contents_of(workspace, removal);
        let removed = removal.remove(self.owner, true, || {
            if is_first && let Err(error) = OpenPurgeTable::new(&workspace.state).removed(self.row) {
                tracing::warn!("it is not noted how far a purge is: {error}");
            }
        });
        let (_, in_history) = removed.inspect_err(|_| {
            if is_first {
                self.take_back()
            }
        })?;
        crash::point("purge-removed");
        self.embedded.extend(embedded);
        let path = &removal.path;
        // While the text is still known to whoever would have to finish this. What cannot be dropped now is looked for again at the end.
        if let Err(error) = purge_suggestions(workspace, self.files, path, &remembered.parts) {
            self.failed(format!("suggestions of agents may have the text: {}", error.message));
        }
        let elsewhere = drop_kept_elsewhere(workspace, self.files, &remembered.parts).unwrap_or_default();
        let summary = summary_path(path).filter(|summary| matches!(self.files.read(summary), Ok(None)));
        // Who keeps summaries may have taken it away before.
        let purged = summary.map_or(Ok(Purged::default()), |summary| self.files.purge(&summary));
        let purged = purged.and_then(|_| self.files.purge(path)).unwrap_or_else(|error| {
            self.failed(format!("old versions of `{path}` may have the text: {error}"));
            Purged::default()
        });
        let kept_text = workspace.forget_attachment(path);
        crash::point("purge-emptied");
        if removal.entry.is_some() {
            crash::point("entry-purged");
        }
        let logs = clear_logs(workspace, self.files, (path, removal.left.is_none()), &remembered);
        if is_first {
            (self.view.checkpoints, self.view.trashed) = (purged.checkpoints + elsewhere, purged.trashed);
            let in_trash = purged.left.iter().map(|path| {
                format!("`{path}` may be a copy of the note, and stays; check it, and remove it yourself if it is")
            });
            self.view.remains.extend(in_trash.chain(kept_text));
        } else if removal.title_says() {
            self.view.remains.push(in_title(path));
        }
        self.view.remains.extend(in_history.as_ref().map(in_history_of).into_iter().chain(logs));
        self.places.push((path.clone(), removal.lines));
        self.gone.push(remembered);
        Ok(())
    }

    /// Takes what went out of the histories of facts, the checkpoints of other files and the traces of agents.
    pub(super) fn clear(&mut self) {
        let workspace = self.owner.workspace();
        let is_meant = |source: &str| self.places.iter().any(|(path, lines)| is_of(source, path, *lines));
        let left = workspace.fact_store.hide_sources(self.files, is_meant);
        self.view.remains.extend(left.iter().map(in_history_of));
        let parts: Vec<TextPart> = self.gone.iter().flat_map(|gone| gone.parts.iter().cloned()).collect();
        match drop_kept_elsewhere(workspace, self.files, &parts) {
            Ok(dropped) => self.view.checkpoints += dropped,
            Err(error) => self.view.remains.push(format!("checkpoints of other files may have the text: {error}")),
        }
        crash::point("purge-cleared");
        match swept_traces(self.owner, &self.gone.iter().collect::<Vec<_>>(), true) {
            Ok(swept) => self.view.traces += swept.events,
            Err(error) => self.failed(format!("the traces of agents may have the text: {}", error.message)),
        }
    }

    /// Leaves nothing of what went in the files of the index; it is finished then. Where that cannot be, the next start goes on with it.
    pub(super) fn erase(&mut self, is_searchable: bool) {
        let workspace = self.owner.workspace();
        let remains = match workspace.syncer.erase(std::mem::take(&mut self.embedded)) {
            Ok((embeddings, is_erased)) => {
                self.view.embeddings = embeddings;
                (!is_erased).then(|| IN_THE_INDEX.into())
            }
            Err(error) => Some(format!("the index files may have the text: {error}")),
        };
        let table = OpenPurgeTable::new(&workspace.state);
        let noted = match (self.is_done, &remains) {
            (false, _) => Ok(()),
            (true, None) => table.close(self.row),
            (true, Some(_)) => table.leave_to_index(self.row),
        };
        if let Err(error) = noted {
            tracing::warn!("the next start goes through a purge again that is finished: {error}");
        }
        self.view.remains.extend(remains.or_else(|| (!is_searchable).then(|| IN_THE_INDEX.into())));
    }

    /// Whether nothing was kept of a note that is gone either. Then the purge is over.
    pub(super) fn is_of_nothing(&mut self) -> bool {
        let PurgedView { checkpoints, trashed, traces, remains, .. } = &self.view;
        if checkpoints + trashed + traces > 0 || self.view.commits.is_some() || !remains.is_empty() {
            return false;
        }
        self.take_back();
        true
    }

    /// Looks where the text may be found all the same, once the index agrees; `copies` are those of a sync service that say something else.
    pub(super) fn look_for_remains(&mut self, root: &Removal, copies: &[VaultPath]) {
        let workspace = self.owner.workspace();
        let (path, left) = (&root.path, root.left.as_deref());
        let remains = &mut self.view.remains;
        remains.extend(clear_pending(workspace, self.view.tombstone));
        remains.extend(root.title_says().then(|| in_title(path)));
        if left.and_then(summary_of).is_some() {
            remains.push(format!("the `summary` of `{path}` may say it; edit it yourself"));
        }
        remains.extend(copies.iter().map(|copy| {
            format!(
                "`{copy}` is a copy made by a sync service, and may have the text; see `vault conflicts show {copy}`"
            )
        }));
        if let Some(commits) = self.view.commits {
            let how = match left {
                None => format!("`git filter-repo --invert-paths --path '{path}'`"),
                Some(_) => "`git filter-repo --replace-text FILE`, with the text in FILE,".into(),
            };
            let times = if commits == 1 { "1 commit".into() } else { format!("{commits} commits") };
            remains.push(format!(
                "git has the note in {times}. {how} rewrites them; clones and remotes keep their copies"
            ));
        }
        remains.extend(self.files.held_notes().iter().map(|path| {
            format!(
                "another program has `{path}` open for writing; its old content stays in `.vault/state/unfinished` until some time after the program closes it, and may have the text"
            )
        }));
        // As it is now, without what went.
        if let Ok(annotations) = self.owner.now().and_then(|scope| annotations(&scope, path.as_str())) {
            let quoting = annotations.iter().filter(|annotation| !annotation.found);
            remains.extend(quoting.map(|annotation| format!("`{}` quotes it", annotation.path)));
        }
    }

    /// Counts the commits of git that have changed a note.
    pub(super) fn count_commits(&mut self, path: &VaultPath) {
        let root = self.owner.workspace().home.root();
        self.view.commits = commits_of(root, path).filter(|commits| *commits > 0);
    }

    /// What could not be done, and is done at the next start.
    pub(super) fn failed(&mut self, why: String) {
        self.is_done = false;
        self.view.remains.push(why);
    }
}

/// Does what is left of the purges during which the program was killed, before the index is open and anybody makes anything of what was to go;
/// gives those of which nothing but the index is left. One that had removed nothing of the note itself is taken back.
pub(crate) fn finish_purges(owner: &Owner) -> Vec<i64> {
    let Ok(files) = owner.workspace().files() else { return Vec::new() };
    let mut open = OpenPurgeTable::new(&owner.workspace().state).all().unwrap_or_else(|error| {
        tracing::warn!("whether a purge was cut short cannot be told: {error}");
        Vec::new()
    });
    open.retain(|purge| {
        let finished = finish(owner, files, purge);
        finished.unwrap_or_else(|error| {
            tracing::warn!("a purge that was cut short cannot be finished: {}", error.message);
            false
        })
    });
    open.into_iter().map(|purge| purge.id).collect()
}

/// Starts the task that erases the rest of them from the index, once that is whole.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn finish_open_purges(workspace: &Arc<Workspace>, open: Vec<i64>) -> Result<Task, FsError> {
    let (vault, signal) = (Arc::clone(workspace), TaskSignal::default());
    vault.shared.wakes(&signal);
    Task::start("purges", signal, move |_, _| {
        if !vault.shared.progress().caught_up {
            return Some(LOOK_EVERY);
        }
        let request = Request::new(Arc::clone(&vault), Principal::Owner(None), Turn::default());
        let (Ok(owner), Ok(files)) = (Owner::of(request), vault.files()) else { return None };
        for row in &open {
            let mut purge = Purge::of(&owner, files, *row);
            purge.erase(true);
            purge.view.remains.iter().for_each(|left| tracing::warn!("of what was purged: {left}"));
        }
        tracing::info!("what was purged before the last stop is finished");
        None
    })
}

/// Goes on with a purge; says whether nothing but the index is left.
fn finish(owner: &Owner, files: &Files, open: &OpenPurge) -> Result<bool, RequestError> {
    let workspace = owner.workspace();
    let Ok(path) = VaultPath::new(open.path.as_str()) else { return Ok(true) };
    let _one = files.one_generation();
    let mut going: Result<Vec<ForgetStep>, RequestError> = serde_json::from_str(&open.going_with)
        .map_err(|error| RequestError::internal(format!("the list of what is deleted with `{path}`: {error}")));
    let lost = files.removed_since(&path, open.at, |had| workspace.text_of(&path, had))?;
    if !open.removed && lost.is_none() && files.read(&path)?.is_some() {
        let of_going = going.iter().flatten().filter_map(|step| step.tombstone);
        take_back(workspace, open.id, &open.tombstone.into_iter().chain(of_going).collect::<Vec<_>>());
        return Ok(false);
    }
    let mut purge = Purge::of(owner, files, open.id);
    let (had, left, removed) = lost.unwrap_or_default();
    let left = (!open.gone).then(|| left.unwrap_or_default());
    let root = Removal::gone_from(owner, path.clone(), open.lines, had, left, vec![removed]);
    // Who else could read it nobody knows any more.
    let remembered = |path: &VaultPath, readers: &[String], said: &[String]| NewTombstone {
        place: ForgottenNote {
            path: path.clone(),
            tags: Vec::new(),
            private: true,
            derived: true,
            readers: readers.to_vec(),
            gone: open.gone,
        },
        parts: parts_of(said),
    };
    purge.take(&root, remembered(&path, &open.readers, &root.said(None)))?;
    for step in going.iter_mut().flatten() {
        step.made_of = Some((root.path.clone(), root.lines));
        let name = &step.derived.path;
        let path = note_path(name.split_once("#^").map_or(name.as_str(), |(path, _)| path))?;
        let lost = files.removed_since(&path, open.at, |had| workspace.text_of(&path, had))?;
        let removal = Removal::again(owner, step, true).or_else(|error| match &lost {
            // It went before, and what is kept of its file may have it still.
            Some((had, left, removed)) => {
                Ok(Removal::gone_from(owner, path.clone(), None, had.clone(), left.clone(), vec![removed.clone()]))
            }
            None => Err(error),
        });
        let taken = removal.and_then(|removal| {
            let lost = lost.into_iter().map(|(_, _, removed)| removed);
            let said: Vec<String> = removal.said(step.place()).into_iter().chain(lost).collect();
            purge.take(&removal, remembered(&path, &[], &said))
        });
        match taken {
            // What is not there has gone before.
            Err(error) if error.kind != ErrorKind::NotFound => {
                let why = format!("`{name}`: {}", error.message);
                if matches!(error.kind, ErrorKind::Conflict | ErrorKind::Invalid) {
                    // It went before, with all that was kept of it, or somebody has changed it since.
                    purge.view.remains.push(why);
                    lift(workspace, step.tombstone);
                } else {
                    purge.failed(why);
                }
            }
            _ => {}
        }
    }
    purge.clear();
    purge.view.remains.iter().for_each(|left| tracing::warn!("of what was purged: {left}"));
    going?;
    if purge.is_done {
        OpenPurgeTable::new(&workspace.state).leave_to_index(open.id)?;
    }
    Ok(purge.is_done)
}

fn in_title(path: &VaultPath) -> String {
    format!("the title in the frontmatter of `{path}` has a part of the text; edit it yourself")
}

/// Takes a purge back by which nothing was removed, with its tombstones.
fn take_back(workspace: &Workspace, row: i64, tombstones: &[i64]) {
    // Without its row nobody would know the tombstones.
    tombstones.iter().for_each(|id| lift(workspace, Some(*id)));
    if let Err(error) = OpenPurgeTable::new(&workspace.state).close(row) {
        tracing::warn!("the next start goes through a purge again that was taken back: {error}");
    }
}

/// Lifts what stays after all.
pub(super) fn lift(workspace: &Workspace, tombstone: Option<i64>) {
    if let Some(id) = tombstone
        && let Err(error) = workspace.forgotten.tombstones.remove(id)
    {
        tracing::warn!("what was not removed counts as forgotten; `vault forgotten lift {id}` lifts it: {error}");
    }
}

/// Takes what went, and the name of a note that is `gone`, out of the program's own logs; gives what keeps it from that.
fn clear_logs(
    workspace: &Workspace,
    files: &Files,
    (path, gone): (&VaultPath, bool),
    remembered: &NewTombstone,
) -> Vec<String> {
    let folder = folder_of(path);
    let tells = TellingWords::of(remembered.parts.iter().map(|part| &part.words));
    let log = workspace.agents.log();
    let instead = gone.then_some(folder.as_str());
    let mut failures = Vec::new();
    let mut note = |what: &str, done: Result<(), StateError>| {
        failures.extend(done.err().map(|error| format!("{what} may name it: {error}")));
    };
    note("the log of what agents read", log.forget(path.as_str(), instead, |query| tells.are_in(query)));
    note("the list of imports", SessionTable::new(&workspace.state).purge_file(path.as_str(), gone));
    if gone {
        note("the log of changes", files.hide_in_log(path, &folder));
        note("the list of purged texts", workspace.forgotten.gone(path, &remembered.place.readers));
    }
    failures
}

/// The words of texts, by which another text is known to be about the same.
pub(super) struct TellingWords {
    words: HashSet<String>,
    common: &'static CommonWords,
}

impl TellingWords {
    pub(super) fn of<'t>(texts: impl IntoIterator<Item = &'t String>) -> Self {
        let words = texts.into_iter().flat_map(|text| plain_words(text, true)).collect();
        Self { words, common: CommonWords::of(StemmerLanguage::English) }
    }

    /// Whether a text has one of them that few others have.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let tells = |word: &String| self.words.contains(word) && self.common.share(word) < EVERYDAY;
        plain_words(text, true).iter().any(tells)
    }
}

/// The events that say what is gone, or what was forgotten before, of each agent as far as it could read that; taken out of them where this
/// `writes`.
///
/// # Errors
/// When the traces cannot be read or written.
pub(super) fn swept_traces(owner: &Owner, gone: &[&NewTombstone], writes: bool) -> Result<MatchedTraces, RequestError> {
    let known = owner.workspace().forgotten.look()?;
    let share_of = |agent: &str| {
        let reach = owner.reach_of(agent);
        let may_know = |gone: &&&NewTombstone| {
            let ForgottenNote { path, readers, .. } = &gone.place;
            reach.is_none() || readers.iter().any(|reader| reader == agent) || own_file(agent, path.as_str()).is_some()
        };
        let parts = gone.iter().filter(may_know).flat_map(|gone| gone.parts.iter().cloned()).collect();
        TraceShare { reach: reach.unwrap_or(Scope::Everything), parts }
    };
    Ok(owner.workspace().traces.sweep(&known, &share_of, writes)?)
}

/// Drops the checkpoints that say one of the parts, of files of the memory, of facts, and of files that have another name by now. Of those
/// that an agent made of its own files none: its undo leaves out what was forgotten, and it would see that one is gone.
fn drop_kept_elsewhere(workspace: &Workspace, files: &Files, parts: &[TextPart]) -> Result<usize, WriteError> {
    if parts.is_empty() {
        return Ok(0);
    }
    let root = workspace.home.root();
    let is_looked_at = |checkpoint: &Checkpoint| match &checkpoint.path {
        path if is_agents(path.as_str()) => checkpoint.by.is_none(),
        path if path.on_disk(root).symlink_metadata().is_err() => !checkpoint.is_of_trash(),
        path => MEMORY.contains(&path.collection()) || workspace.fact_store.scope_of(path).is_some(),
    };
    files.drop_checkpoints(is_looked_at, |_, had| {
        let had = String::from_utf8_lossy(had);
        let (words, without_tags) = (plain(&had), had.contains('<').then(|| said(&had).whole()));
        parts.iter().any(|part| {
            words.contains(&part.words) || without_tags.as_ref().is_some_and(|words| words.contains(&part.words))
        })
    })
}

/// Leaves nothing of what was captured but in its files; gives what keeps it from that.
fn clear_pending(workspace: &Workspace, tombstone: Option<i64>) -> impl Iterator<Item = String> {
    let aside = workspace.state.put_aside().map(|aside| {
        format!("{} could not be read and may have the text; remove it if you do not need it", aside.display())
    });
    let short = tombstone.is_none().then(|| "it is too short to be recognised if it comes back".into());
    let queue = match workspace.sweep_pending(PATIENCE) {
        Ok(0) => None,
        Ok(waiting) => {
            let then = match tombstone {
                Some(_) => "until then the disk has their text; the purged text is then left out",
                None => "if one of them has the text, it comes back",
            };
            Some(format!("captured events still to be written: {waiting}; {then}"))
        }
        Err(error) => {
            Some(format!("the queue of captured events may have the text until the daemon can write it again: {error}"))
        }
    };
    queue.into_iter().chain(aside).chain(short)
}

/// That a history could not be rid of what was purged.
fn in_history_of(error: &ItemError) -> String {
    format!("the history beside the file may name it; purge it again: {error}")
}

/// The names of the embeddings of a note's chunks, as indexed.
fn contents_of(workspace: &Workspace, removal: &Removal) -> Vec<ContentHash> {
    let Some((snapshot, hash)) = workspace.shared.snapshot().zip(removal.hash) else { return Vec::new() };
    let file = snapshot.files().iter().find(|file| file.path == removal.path && file.hash == *hash.as_bytes());
    file.map(|file| file.chunks.iter().filter_map(|chunk| chunk.content).collect()).unwrap_or_default()
}
