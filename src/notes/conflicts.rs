//! What was changed in two places: which notes, how they differ, and what of them is kept. Nothing is merged by itself.

use std::time::Duration;

use similar::TextDiff;

use crate::engine::Reader;
use crate::note::{CONFLICT_MARKS, has_conflict, sides};
use crate::path::VaultPath;
use crate::request::{Owner, RequestError, note_path};
use crate::vault::{Action, CheckpointId, Files, conflict_copy};
use crate::wire::{ConflictCopy, ConflictParams, ConflictSettled, ConflictView, ConflictsView, KeepParams, KeptSide};

/// Who left conflict markers.
const GIT: &str = "git";

/// Lines around each difference.
const AROUND: usize = 3;

/// After this long a difference is no longer the smallest there is; it stays right.
const SMALLEST: Duration = Duration::from_millis(500);

/// The notes that were changed in two places, by path; `problems` are those of the same state of the index.
pub(crate) fn conflict_copies(reader: &dyn Reader, problems: &[(String, String)]) -> Vec<ConflictCopy> {
    let files = reader.files();
    let copies = files.iter().filter_map(|file| {
        let (of, made_by) = conflict_copy(&file.path, |path| files.at(path).is_some())?;
        let same = files.at(&of).is_some_and(|original| original.hash == file.hash);
        Some(ConflictCopy { path: file.path.to_string(), of, made_by: made_by.into(), same })
    });
    let marked = problems.iter().filter(|(_, reason)| reason.ends_with(CONFLICT_MARKS));
    let marked = marked.map(|(path, _)| marked_note(path));
    let mut all: Vec<ConflictCopy> = copies.chain(marked).collect();
    all.sort_by(|one, two| (&one.path, &one.of).cmp(&(&two.path, &two.of)));
    all
}

fn marked_note(path: &str) -> ConflictCopy {
    ConflictCopy { path: path.to_owned(), of: path.to_owned(), made_by: GIT.into(), same: false }
}

/// The notes that were changed in two places.
///
/// # Errors
/// When the index cannot be read.
pub(crate) fn conflicts(owner: &Owner) -> Result<ConflictsView, RequestError> {
    let now = owner.now()?;
    Ok(ConflictsView { conflicts: conflict_copies(now.reader(), &now.reader().problems()?) })
}

/// Both sides of a conflict, read from the disk.
struct Conflict {
    copy: ConflictCopy,
    path: VaultPath,
    of: VaultPath,
    /// What the note has; `None` where it is gone.
    ours: Option<String>,
    theirs: String,
}

impl Conflict {
    fn is_marked(&self) -> bool {
        self.copy.made_by == GIT
    }
}

/// How the two sides of a conflict differ.
///
/// # Errors
/// When there is no such conflict, or a side cannot be read.
pub(crate) fn conflict(owner: &Owner, params: &ConflictParams) -> Result<ConflictView, RequestError> {
    let found = find(owner, &params.path)?;
    let ours = found.ours.as_deref().unwrap_or_default();
    let (ours_is, theirs_is) = match found.is_marked() {
        true => (format!("{} (ours)", found.of), format!("{} (theirs)", found.of)),
        false => (found.of.to_string(), found.path.to_string()),
    };
    let diff = TextDiff::configure().timeout(SMALLEST).diff_lines(ours, &found.theirs);
    let diff = diff.unified_diff().context_radius(AROUND).header(&ours_is, &theirs_is).to_string();
    Ok(ConflictView { conflict: found.copy, diff })
}

/// Settles a conflict as the person says. Each change can be undone. Returns when the index agrees.
///
/// # Errors
/// When there is no such conflict, a side is not there or has changed since, or the disk refuses.
pub(crate) fn keep(owner: &Owner, params: &KeepParams) -> Result<ConflictSettled, RequestError> {
    let files = owner.workspace().files()?;
    let found = find(owner, &params.path)?;
    let one = files.one_generation();
    let settled = match found.is_marked() {
        true => keep_side(files, &found, params.keep)?,
        false => keep_copy(files, &found, params.keep)?,
    };
    drop(one);
    let changed = [Some(&found.path), Some(&found.of), settled.beside.as_ref()];
    // Each of them is waited for.
    let is_behind = |path: &&VaultPath| owner.workspace().settled_in_time(path).is_none();
    let behind = changed.into_iter().flatten().filter(is_behind).count();
    Ok(ConflictSettled {
        ok: true,
        path: found.of.to_string(),
        beside: settled.beside.map(|path| path.to_string()),
        checkpoint_ids: settled.undo.iter().rev().map(ToString::to_string).collect(),
        searchable: behind == 0,
    })
}

/// What was done.
struct Settled {
    /// In the order in which it was done.
    undo: Vec<CheckpointId>,
    beside: Option<VaultPath>,
}

/// Replaces the text of a note with conflict markers by what is kept of it.
fn keep_side(files: &Files, found: &Conflict, keep: KeptSide) -> Result<Settled, RequestError> {
    let (bytes, before) = files.read(&found.of)?.ok_or_else(|| gone(&found.of))?;
    let text = String::from_utf8(bytes).map_err(|_| no_text(&found.of))?;
    let sides = sides(&text).ok_or_else(|| no_conflict(found.of.as_str()))?;
    let kept = match keep {
        KeptSide::Ours => sides.ours,
        KeptSide::Theirs => sides.theirs,
        KeptSide::Both => sides.both,
    };
    Ok(Settled { undo: vec![files.replace(&found.of, before, &kept, Action::Edit)?], beside: None })
}

/// Keeps of a note and its copy what is to be kept. The copy goes last, so that a kill on the way loses neither.
fn keep_copy(files: &Files, found: &Conflict, keep: KeptSide) -> Result<Settled, RequestError> {
    let (bytes, before) = files.read(&found.path)?.ok_or_else(|| gone(&found.path))?;
    let ours = files.read(&found.of)?;
    let theirs = String::from_utf8(bytes).map_err(|_| no_text(&found.path))?;
    let mut settled = Settled { undo: Vec::new(), beside: None };
    match (keep, ours) {
        (KeptSide::Ours, None) => {
            let hint = Some("the copy is all there is of it: keep `theirs`".to_owned());
            return Err(RequestError { hint, ..gone(&found.of) });
        }
        (KeptSide::Ours, Some(_)) => {}
        (KeptSide::Theirs, Some((ours, seen))) => {
            if ours != theirs.as_bytes() {
                settled.undo.push(files.replace(&found.of, seen, &theirs, Action::Edit)?);
            }
        }
        (KeptSide::Theirs | KeptSide::Both, None) => {
            settled.undo.push(files.create_for(&found.of, &theirs, Action::Create.into())?);
        }
        (KeptSide::Both, Some(_)) => {
            let beside = beside(files, &found.of)?;
            settled.undo.push(files.create_for(&beside, &theirs, Action::Create.into())?);
            settled.beside = Some(beside);
        }
    }
    settled.undo.push(files.trash(&found.path, before)?);
    Ok(settled)
}

/// A free name beside a note, as people number them: `Plan 2.md`.
fn beside(files: &Files, path: &VaultPath) -> Result<VaultPath, RequestError> {
    let text = path.as_str();
    let (stem, extension) = text.rsplit_once('.').unwrap_or((text, "md"));
    for at in 2.. {
        let name = note_path(&format!("{stem} {at}.{extension}"))?;
        if files.read(&name)?.is_none() {
            return Ok(name);
        }
    }
    unreachable!("numbers do not end")
}

/// The conflict that a path names: a copy, a note with conflict markers, or the note of one copy.
fn find(owner: &Owner, path: &str) -> Result<Conflict, RequestError> {
    let path = note_path(path)?;
    let now = owner.now()?;
    let files = now.reader().files();
    let workspace = owner.workspace();
    let read = |path: &VaultPath| workspace.source(path).ok().map(|source| source.text);
    if let Some((of, made_by)) = conflict_copy(&path, |path| files.at(path).is_some()) {
        let copy = ConflictCopy { path: path.to_string(), of: of.clone(), made_by: made_by.into(), same: false };
        let of = note_path(&of)?;
        let theirs = read(&path).ok_or_else(|| gone(&path))?;
        let ours = read(&of);
        let copy = ConflictCopy { same: ours.as_ref() == Some(&theirs), ..copy };
        return Ok(Conflict { copy, path, of, ours, theirs });
    }
    let text = read(&path).filter(|text| has_conflict(text));
    if let Some(sides) = text.as_deref().and_then(sides) {
        let copy = marked_note(path.as_str());
        return Ok(Conflict { copy, of: path.clone(), path, ours: Some(sides.ours), theirs: sides.theirs });
    }
    let copies: Vec<ConflictCopy> =
        conflict_copies(now.reader(), &[]).into_iter().filter(|copy| path.same_as(&copy.of)).collect();
    match copies.as_slice() {
        [] => Err(no_conflict(path.as_str())),
        [copy] => find(owner, &copy.path),
        several => {
            let names: Vec<String> = several.iter().map(|copy| format!("`{}`", copy.path)).collect();
            Err(RequestError::invalid(format!("`{path}` has several copies; name one of them: {}", names.join(", "))))
        }
    }
}

fn gone(path: &VaultPath) -> RequestError {
    RequestError::not_found(format!("`{path}` is not there"))
}

fn no_text(path: &VaultPath) -> RequestError {
    RequestError::invalid(format!("`{path}` is not UTF-8, so it is not written; settle it in an editor"))
}

fn no_conflict(path: &str) -> RequestError {
    RequestError {
        hint: Some("`vault conflicts` lists those there are".into()),
        ..RequestError::not_found(format!("`{path}` is no conflict copy, has none, and has no conflict markers"))
    }
}
