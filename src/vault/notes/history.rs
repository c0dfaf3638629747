//! What was changed, how to have it back, and what stays forgotten, as the person sees them.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::access::request::{Edge, Owner, RequestError, parse, rfc3339, within};
use crate::access::rules::Scope;
use crate::base::path::VaultPath;
use crate::base::state::{ChangeLine, Digest, ForgottenKind, ImportTable, StateError, Tombstone};
use crate::serve::wire::{
    BackAgain, ChangeView, ChangesParams, ChangesView, CheckpointView, CheckpointsParams, CheckpointsView, Done,
    ForgottenView, RestoreParams, Restored, TombstoneView,
};
use crate::text::derive::facts::FactsFile;
use crate::text::derive::generated::GeneratedNote;
use crate::vault::disk::{Action, Checkpoint, CheckpointId, WriteError};
use crate::vault::forgotten::{FactToWrite, ForgottenLookup};

/// Maximum number of things left out that are shown.
const MAX_LEFT_OUT: usize = 1000;
/// Time limit of the scan of the notes for what is back.
const SCAN_LIMIT: Duration = Duration::from_secs(10);
/// Default number of changes that are shown.
const CHANGES: usize = 100;
/// Maximum number of changes that are shown.
const MAX_CHANGES: usize = 10_000;

/// What was forgotten for good, what was left out because of it, and what is back.
///
/// # Errors
/// When the state cannot be read.
pub(crate) fn forgotten(owner: &Owner) -> Result<ForgottenView, RequestError> {
    let forgotten = &owner.workspace().forgotten;
    let (back, complete) = forgotten_back(owner, SCAN_LIMIT)?;
    Ok(ForgottenView {
        forgotten: forgotten.tombstones.all()?.all.iter().map(tombstone).collect(),
        left_out: forgotten.left_out.newest(MAX_LEFT_OUT)?,
        back,
        complete,
    })
}

/// Lets come back what was forgotten. What was left out meanwhile stays so.
///
/// # Errors
/// When nothing of that name was forgotten, or the state cannot be written.
pub(crate) fn lift(owner: &Owner, id: i64) -> Result<Done, RequestError> {
    if owner.workspace().forgotten.tombstones.remove(id)? {
        return Ok(Done { ok: true });
    }
    Err(RequestError::not_found(format!("no purged text has the number {id}")))
}

/// What was forgotten and stands in notes again, as far as they could be looked over within `patience`, and whether all were. The person
/// may write anything again; it is pointed out.
///
/// # Errors
/// When the state or the index cannot be read.
pub(crate) fn forgotten_back(owner: &Owner, patience: Duration) -> Result<(Vec<BackAgain>, bool), RequestError> {
    let (workspace, until) = (owner.workspace(), Instant::now() + patience);
    let forgotten = &workspace.forgotten;
    let known = forgotten.look()?;
    if known.is_empty() {
        return Ok((Vec::new(), true));
    }
    let scope = owner.now()?;
    let (mut back, mut complete) = (Vec::new(), true);
    for file in scope.files() {
        let in_time = Instant::now() < until;
        let find = || match workspace.source(&file.path) {
            Ok(source) => lines_back(owner, &known, &file.path, &source.text),
            Err(_) => Vec::new(),
        };
        let Some(lines) = forgotten.lines_of(&known, &file.path, &file.hash, in_time, find) else {
            complete = false;
            continue;
        };
        let found = |(line, tombstone)| BackAgain { path: file.path.to_string(), line, tombstone };
        back.extend(lines.into_iter().map(found));
    }
    back.sort_by(|one, two| (&one.path, one.line).cmp(&(&two.path, two.line)));
    Ok((back, complete))
}

/// The lines of a note that were forgotten. A fact is known by its name and value, however short that is.
fn lines_back(owner: &Owner, known: &ForgottenLookup<'_>, path: &VaultPath, text: &str) -> Vec<(usize, i64)> {
    let mut lines = known.lines(text);
    if let Some(scope) = owner.workspace().fact_store.scope_of(path).map(|scope| scope.to_string()) {
        for fact in FactsFile::read(text).facts() {
            let to_write = |value| FactToWrite { namespace: &fact.namespace, key: &fact.key, value };
            let mut values = fact.retracted.iter().chain([&fact.text]).filter(|value| !value.is_empty());
            let found = values.find_map(|value| known.in_fact(&scope, to_write(value), &Scope::Everything));
            lines.extend(found.map(|tombstone| (fact.line, tombstone)));
        }
        lines.sort_unstable();
        lines.dedup_by_key(|(line, _)| *line);
    }
    lines
}

fn tombstone(tombstone: &Tombstone) -> TombstoneView {
    let count = |kind: ForgottenKind| tombstone.digests.iter().filter(|(of, _)| *of == kind).count();
    TombstoneView {
        id: tombstone.id,
        at: rfc3339(tombstone.at.as_millisecond()),
        place: tombstone.place.clone(),
        texts: count(ForgottenKind::Text),
        sentences: count(ForgottenKind::Sentence),
        facts: count(ForgottenKind::Fact),
    }
}

/// What the program changed, newest first.
///
/// # Errors
/// When a parameter makes no sense, or the state cannot be read.
pub(crate) fn changes(owner: &Owner, params: &ChangesParams) -> Result<ChangesView, RequestError> {
    let limit = within("limit", params.limit, 1..=MAX_CHANGES)?.unwrap_or(CHANGES);
    let since = params.since.as_deref().map(|since| parse("since", since, Edge::Start, owner.at())).transpose()?;
    let workspace = owner.workspace();
    let lines = workspace.changes.newest(params.path.as_deref(), since, limit)?;
    let undoable: HashSet<String> = match workspace.files() {
        Ok(files) => files.checkpoints()?.into_iter().map(|checkpoint| checkpoint.id.to_string()).collect(),
        // Another process has them.
        Err(_) => HashSet::new(),
    };
    Ok(ChangesView { changes: lines.into_iter().map(|line| change(line, &undoable)).collect() })
}

fn change(line: ChangeLine, undoable: &HashSet<String>) -> ChangeView {
    let hex = |digest: Digest| digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    ChangeView {
        at: rfc3339(line.at.as_millisecond()),
        by: line.by,
        what: line.what,
        path: line.path,
        line_start: line.lines.map(|(first, _)| first),
        line_end: line.lines.map(|(_, last)| last),
        before: line.before.map(hex),
        after: line.after.map(hex),
        checkpoint_id: line.checkpoint.filter(|id| undoable.contains(id)),
    }
}

/// What the names of imports begin with.
const IMPORT: &str = "import-";
/// Timeout of waiting for an import that is on its way into its files.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(20);

/// The changes that can be undone, newest first.
///
/// # Errors
/// When they cannot be listed.
pub(crate) fn checkpoints(owner: &Owner, params: &CheckpointsParams) -> Result<CheckpointsView, RequestError> {
    let of = |checkpoint: &Checkpoint| params.path.as_ref().is_none_or(|path| checkpoint.path.same_as(path));
    let mut checkpoints: Vec<CheckpointView> =
        owner.workspace().files()?.checkpoints()?.into_iter().filter(of).map(view).collect();
    if params.path.is_none() {
        let imports = ImportTable::new(&owner.workspace().state).all().map_err(unreadable)?;
        checkpoints.extend(imports.into_iter().map(|import| CheckpointView {
            id: format!("{IMPORT}{}", import.id),
            at: import.at.to_string(),
            path: format!("{} {}", import.kind, import.source),
            action: "import".into(),
            by: None,
            bytes: None,
            files: Some(import.files),
        }));
        checkpoints.sort_by(|one, other| other.at.cmp(&one.at));
    }
    Ok(CheckpointsView { checkpoints })
}

/// Makes a note again what it was before a change. Returns when the index agrees.
///
/// # Errors
/// When there is no such checkpoint, the note has changed since and `force` is not said (unless a page was made where one was cleared), or the
/// disk refuses.
pub fn restore(owner: &Owner, id: &str, params: RestoreParams) -> Result<Restored, RequestError> {
    if let Some(import) = id.strip_prefix(IMPORT).and_then(|import| import.parse().ok()) {
        return restore_import(owner, id, import, params.force);
    }
    let id: CheckpointId = id.parse().map_err(|error| RequestError::invalid(format!("`{id}`: {error}")))?;
    // A page that was made anew since the one before it was cleared says nothing that would not be made again.
    let is_made = |text: &[u8]| GeneratedNote::read(&String::from_utf8_lossy(text)).is_some_and(|note| !note.is_edited);
    let may_replace = |checkpoint: &Checkpoint, had: &[u8], has: &[u8]| {
        params.force || (checkpoint.action == Action::Trash && is_made(had) && is_made(has))
    };
    let files = owner.workspace().files()?;
    let restored = files.restore(&id, owner.act(Action::Restore), may_replace, |_, _| None);
    let (path, undo) = restored.map_err(|error| match error {
        error @ WriteError::Changed(_) => RequestError::from(error)
            .hint("`--force`, or `force` over HTTP, restores it anyway, and keeps the present content"),
        error => error.into(),
    })?;
    let is_searched = owner.workspace().rules().is_some_and(|rules| rules.takes(&path));
    let searchable = !is_searched || owner.workspace().settled_in_time(&path).is_some();
    let known = owner.workspace().forgotten.look()?;
    let source = owner.workspace().source(&path).ok();
    let forgotten_before = source.is_some_and(|source| !lines_back(owner, &known, &path, &source.text).is_empty());
    let (path, checkpoint_id) = (path.to_string(), undo.to_string());
    Ok(Restored { ok: true, path, checkpoint_id, searchable, forgotten_before, files: None })
}

/// Undoes all that an import made: what it made goes to the trash, what it changed is as it was before. Nothing is done where one of its
/// files has changed since, unless `force` is said.
fn restore_import(owner: &Owner, id: &str, import: i64, force: bool) -> Result<Restored, RequestError> {
    let workspace = owner.workspace();
    let files = workspace.files()?;
    let waiting =
        workspace.sweep_pending(SETTLE_TIMEOUT).map_err(|error| RequestError::unavailable(error, "try again"))?;
    if waiting > 0 {
        let message = format!("{waiting} events are still waiting to be written");
        return Err(RequestError::unavailable(message, "nothing was undone: try again in a moment"));
    }
    let imports = ImportTable::new(&workspace.state);
    let made = imports.files(import).map_err(unreadable)?;
    if made.is_empty() {
        return Err(RequestError::not_found(format!("there is no import {import}, or it changed no files")));
    }
    let mut there = Vec::new();
    for file in &made {
        let Ok(path) = VaultPath::try_from(file.path.clone()) else { continue };
        let checkpoint: Option<CheckpointId> =
            file.checkpoint.as_deref().and_then(|checkpoint| checkpoint.parse().ok());
        let Some((_, now)) = files.read(&path)? else { continue };
        match checkpoint.as_ref().map(|checkpoint| files.checkpoint(checkpoint)).transpose() {
            Err(WriteError::NoCheckpoint(_)) if force => continue,
            Err(WriteError::NoCheckpoint(_)) => {
                let message =
                    format!("the content of `{path}` before the import is no longer stored; nothing was undone");
                let hint = "`--force`, or `force` over HTTP, skips this file and undoes the rest";
                return Err(RequestError::conflict(message).hint(hint));
            }
            // It is as it was before: somebody has undone that, or an undo was cut short.
            Ok(Some(found)) if found.is_undone_by(&now) => continue,
            found => drop(found?),
        }
        if now.to_hex().as_str() != file.after && !force {
            let message = format!("`{path}` has changed since the import; nothing was undone");
            let hint = "`--force`, or `force` over HTTP, undoes it anyway, and keeps the present content";
            return Err(RequestError::conflict(message).hint(hint));
        }
        there.push((path, now, checkpoint));
    }
    let mut last = None;
    for (path, now, checkpoint) in &there {
        match checkpoint {
            None => drop(files.trash(path, *now, Action::Trash.done_by(id))?),
            Some(checkpoint) => {
                drop(files.restore(checkpoint, Action::Restore.done_by(id), |_, _, _| true, |_, _| None)?)
            }
        }
        last = Some(path);
    }
    imports.forget(import).map_err(unreadable)?;
    let searchable = last.is_none_or(|path| workspace.settled_in_time(path).is_some());
    let (path, checkpoint_id, files) = (id.to_owned(), id.to_owned(), Some(there.len()));
    Ok(Restored { ok: true, path, checkpoint_id, searchable, forgotten_before: false, files })
}

fn unreadable(error: StateError) -> RequestError {
    RequestError::unavailable(error.to_string(), "try again in a moment")
}

fn view(checkpoint: Checkpoint) -> CheckpointView {
    CheckpointView {
        id: checkpoint.id.to_string(),
        at: checkpoint.last_at().to_string(),
        path: checkpoint.path.to_string(),
        action: checkpoint.action.name().into(),
        by: checkpoint.by.or(checkpoint.person),
        bytes: checkpoint.bytes,
        files: None,
    }
}
