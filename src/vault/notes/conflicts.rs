//! What was changed in two places: which notes, how they differ, and what of them is kept. Nothing is merged by itself.

use std::fs;
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use similar::TextDiff;

use crate::access::request::{Owner, RequestError, Workspace, note_path};
use crate::base::path::VaultPath;
use crate::serve::wire::{
    ConflictChoice, ConflictCopy, ConflictParams, ConflictResolved, ConflictView, ConflictsView, KeepParams,
};
use crate::text::note::{CONFLICT_MARKS, has_conflict, sides};
use crate::vault::disk::{
    Action, CheckpointId, FoundNote, NoteRules, ReadError, Scan, conflict_copy, file_of, is_markdown, numbered,
};

/// Maximum size of two files that are compared, in bytes; longer ones are taken to differ.
const MAX_COMPARED_BYTES: u64 = 64 << 20;
/// Who left conflict markers.
const GIT: &str = "git";

/// Lines around each difference.
const AROUND: usize = 3;

/// After this long a difference is no longer the smallest there is; it stays right.
const SMALLEST: Duration = Duration::from_millis(500);

/// Why a copy is listed and not settled here.
const NO_NOTE: &str = "it is not a note: resolve it in a file manager";

/// How many times as long as a look takes the next one is put off, where what was seen lately will do.
const PAUSES_FOR_LOOKS: u32 = 10;

/// The files that were changed in two places, by path, as they are now; `lately`, for whoever asks again and again, the copies as they were a
/// moment ago. `problems` are those of the index.
pub(crate) fn conflict_copies(workspace: &Workspace, problems: &[(String, String)], lately: bool) -> Vec<ConflictCopy> {
    // Not held while the vault is walked.
    let seen = || workspace.conflicts_seen.lock().unwrap_or_else(PoisonError::into_inner);
    let known = seen().clone().filter(|(at, took, _)| lately && at.elapsed() < *took * (PAUSES_FOR_LOOKS + 1));
    let copies = known.map(|(.., copies)| copies).unwrap_or_else(|| {
        let at = Instant::now();
        let copies = workspace.rules().map(|rules| found(workspace.home.root(), &rules)).unwrap_or_default();
        *seen() = Some((at, at.elapsed(), copies.clone()));
        copies
    });
    let marked = problems.iter().filter(|(_, reason)| reason.ends_with(CONFLICT_MARKS));
    let marked = marked.map(|(path, _)| marked_note(path));
    let mut all: Vec<ConflictCopy> = copies.into_iter().chain(marked).collect();
    all.sort_by(|one, two| (&one.path, &one.of).cmp(&(&two.path, &two.of)));
    all
}

/// The copies on disk.
fn found(root: &Path, rules: &NoteRules) -> Vec<ConflictCopy> {
    let scan = Scan::of(root, rules, NoteRules::takes_conflict_copy, None);
    let is_there = |path: &str| VaultPath::new(path).is_ok_and(|path| file_of(root, rules, &path).is_some());
    let bytes = |path: &VaultPath| fs::read(rules.outside().on_disk(root, path)).ok();
    let copy = |file: FoundNote| {
        let (of, made_by) = conflict_copy(&file.path, is_there)?;
        let by_hand = (!is_markdown(file.path.as_str())).then(|| NO_NOTE.to_owned());
        let original = VaultPath::new(of.as_str()).ok().filter(|_| by_hand.is_none());
        let same = original.is_some_and(|of| {
            let is_as_long = file_of(root, rules, &of)
                .is_some_and(|meta| meta.len() == file.stamp.size && meta.len() <= MAX_COMPARED_BYTES);
            is_as_long && bytes(&file.path).is_some_and(|bytes_of_copy| bytes(&of) == Some(bytes_of_copy))
        });
        Some(ConflictCopy { path: file.path.to_string(), of, made_by: made_by.into(), same, by_hand })
    };
    scan.files.into_iter().filter_map(copy).collect()
}

fn marked_note(path: &str) -> ConflictCopy {
    ConflictCopy { path: path.to_owned(), of: path.to_owned(), made_by: GIT.into(), same: false, by_hand: None }
}

/// The files that were changed in two places.
///
/// # Errors
/// When the index cannot be read.
pub(crate) fn conflicts(owner: &Owner) -> Result<ConflictsView, RequestError> {
    let problems = owner.now()?.reader().problems()?;
    Ok(ConflictsView { conflicts: conflict_copies(owner.workspace(), &problems, false) })
}

/// Both sides of a conflict, read from the disk.
struct Conflict {
    copy: ConflictCopy,
    path: VaultPath,
    /// The same as the path where one note has both sides, between conflict markers.
    of: VaultPath,
    /// What the note says; `None` where it is gone.
    ours: Option<String>,
    theirs: String,
}

/// How the two sides of a conflict differ.
///
/// # Errors
/// When there is no such conflict, or a side cannot be read.
pub(crate) fn conflict(owner: &Owner, params: &ConflictParams) -> Result<ConflictView, RequestError> {
    let found = find(owner, &params.path)?;
    let (ours_is, theirs_is) = match found.path == found.of {
        true => (format!("{} (ours)", found.of), format!("{} (theirs)", found.of)),
        false => (found.of.to_string(), found.path.to_string()),
    };
    let ours = found.ours.as_deref().unwrap_or_default();
    let diff = TextDiff::configure().timeout(SMALLEST).diff_lines(ours, &found.theirs);
    let diff = diff.unified_diff().context_radius(AROUND).header(&ours_is, &theirs_is).to_string();
    Ok(ConflictView { conflict: found.copy, diff })
}

/// Settles a conflict as the person says. Each change can be undone. Returns when the index agrees.
///
/// # Errors
/// When there is no such conflict, a side is not there or has changed since, or the disk refuses.
pub(crate) fn keep(owner: &Owner, params: &KeepParams) -> Result<ConflictResolved, RequestError> {
    let files = owner.workspace().files()?;
    let found = find(owner, &params.path)?;
    let one = files.one_generation();
    let (undo, beside) = match found.path == found.of {
        true => (keep_side(owner, &found, params.keep)?, None),
        false => keep_copy(owner, &found, params.keep)?,
    };
    drop(one);
    let changed = [Some(&found.path), Some(&found.of), beside.as_ref()];
    // Each of them is waited for.
    let rules = owner.workspace().rules();
    let is_searched = |path: &&VaultPath| rules.as_ref().is_some_and(|rules| rules.takes(path));
    let is_behind = |path: &&VaultPath| is_searched(path) && owner.workspace().settled_in_time(path).is_none();
    let behind = changed.into_iter().flatten().filter(is_behind).count();
    Ok(ConflictResolved {
        ok: true,
        path: found.of.to_string(),
        beside: beside.map(|path| path.to_string()),
        checkpoint_ids: undo.iter().rev().map(ToString::to_string).collect(),
        searchable: behind == 0,
    })
}

/// Replaces the text of a note with conflict markers by what is kept of it; gives what undoes that.
fn keep_side(owner: &Owner, found: &Conflict, keep: ConflictChoice) -> Result<Vec<CheckpointId>, RequestError> {
    let files = owner.workspace().files()?;
    let (bytes, before) = files.read(&found.of)?.ok_or_else(|| gone(&found.of))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let of = &found.of;
        RequestError::invalid(format!("`{of}` is not UTF-8, so the program does not write it; resolve it in an editor"))
    })?;
    let sides = sides(&text).ok_or_else(|| no_conflict(found.of.as_str()))?;
    let kept = match keep {
        ConflictChoice::Ours => sides.ours,
        ConflictChoice::Theirs => sides.theirs,
        ConflictChoice::Both => sides.both,
    };
    Ok(vec![files.replace(&found.of, before, &kept, owner.act(Action::Edit))?])
}

/// Keeps of a note and its copy what is to be kept, each whole and as it is. The copy goes last, so that a kill on the way loses neither.
/// Gives what undoes each step, in their order, and where the copy is beside the note, if both are kept.
fn keep_copy(
    owner: &Owner,
    found: &Conflict,
    keep: ConflictChoice,
) -> Result<(Vec<CheckpointId>, Option<VaultPath>), RequestError> {
    let files = owner.workspace().files()?;
    let (theirs, before) = files.read(&found.path)?.ok_or_else(|| gone(&found.path))?;
    let ours = files.read(&found.of)?;
    let (mut undo, mut kept_beside) = (Vec::new(), None);
    match (keep, ours) {
        (ConflictChoice::Ours, None) => {
            return Err(gone(&found.of).hint("only the copy exists: keep `theirs`"));
        }
        (ConflictChoice::Ours, Some(_)) => {}
        (ConflictChoice::Theirs, Some((ours, seen))) => {
            if ours != theirs {
                undo.push(files.replace(&found.of, seen, &theirs, owner.act(Action::Edit))?);
            }
        }
        (ConflictChoice::Theirs | ConflictChoice::Both, None) => {
            undo.push(files.replace(&found.of, None, &theirs, owner.act(Action::Create))?);
        }
        (ConflictChoice::Both, Some(_)) => {
            // As people number them: `Plan 2.md`.
            let is_free = |name: &VaultPath| !matches!(files.read(name), Ok(Some(_)));
            let beside = numbered(found.of.as_str(), ' ').skip(1).find(is_free).expect("numbers do not end");
            undo.push(files.replace(&beside, None, &theirs, owner.act(Action::Create))?);
            kept_beside = Some(beside);
        }
    }
    undo.push(files.trash(&found.path, before, owner.act(Action::Trash))?);
    Ok((undo, kept_beside))
}

/// The conflict that a path names: a copy, a note with conflict markers, or the note of one copy.
fn find(owner: &Owner, path: &str) -> Result<Conflict, RequestError> {
    let path = note_path(path)?;
    let now = owner.now()?;
    let files = now.reader().files();
    let workspace = owner.workspace();
    let rules = workspace.rules().ok_or_else(|| RequestError::invalid("`index.exclude` has an invalid glob"))?;
    let is_there = |path: &str| {
        let on_disk = || VaultPath::new(path).ok().and_then(|path| file_of(workspace.home.root(), &rules, &path));
        files.at(path).is_some() || on_disk().is_some()
    };
    if let Some((of, made_by)) = conflict_copy(&path, is_there) {
        if !is_markdown(path.as_str()) {
            return Err(RequestError::invalid(format!("`{path}`: {NO_NOTE}")));
        }
        let (theirs, ours) = (text_of(workspace, &path)?, text_of(workspace, &note_path(&of)?)?);
        let theirs = theirs.ok_or_else(|| gone(&path))?;
        let same = ours.as_ref() == Some(&theirs);
        let copy =
            ConflictCopy { path: path.to_string(), of: of.clone(), made_by: made_by.into(), same, by_hand: None };
        return Ok(Conflict { copy, path, of: note_path(&of)?, ours, theirs });
    }
    let text = workspace.source(&path).ok().map(|source| source.text).filter(|text| has_conflict(text));
    if let Some(sides) = text.as_deref().and_then(sides) {
        let copy = marked_note(path.as_str());
        return Ok(Conflict { copy, of: path.clone(), path, ours: Some(sides.ours), theirs: sides.theirs });
    }
    let copies = conflict_copies(workspace, &[], false).into_iter();
    let copies: Vec<ConflictCopy> = copies.filter(|copy| path.same_as(&copy.of)).collect();
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
    RequestError::not_found(format!("`{path}` does not exist"))
}

fn no_conflict(path: &str) -> RequestError {
    let message = format!("`{path}` is not a conflict copy, and has neither a copy nor conflict markers");
    RequestError::not_found(message).hint("`vault conflicts` lists all conflicts")
}

/// What a note says; `None` where it is not there.
fn text_of(workspace: &Workspace, path: &VaultPath) -> Result<Option<String>, RequestError> {
    match workspace.source(path) {
        Ok(source) => Ok(Some(source.text)),
        Err(ReadError::Gone) => Ok(None),
        Err(error) => Err(RequestError::invalid(format!("`{path}`: {error}; resolve it in a file manager"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_files_of_any_kind_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let rules = NoteRules::new(root, &["archive/**".into()]).unwrap();
        fs::create_dir_all(root.join("files")).unwrap();
        fs::create_dir_all(root.join("archive")).unwrap();
        fs::create_dir_all(root.join("traces/ada")).unwrap();
        fs::create_dir_all(root.join(".obsidian")).unwrap();
        let copy = "sync-conflict-20260105-183012-ABC2DEF";
        for name in ["memory.toml", "files/a.pdf", "files/b.bin", "files/Plan-DESKTOP-4F2K9QX.pdf"] {
            fs::write(root.join(name), name).unwrap();
        }
        for name in [
            format!("memory.{copy}.toml"),
            format!("files/a.{copy}.pdf"),
            format!("files/gone.{copy}.bin"),
            format!("files/Grüße.{copy}.md"),
            format!("archive/a.{copy}.pdf"),
            format!("traces/ada/x.{copy}.jsonl"),
            format!(".obsidian/app.{copy}.json"),
        ] {
            fs::write(root.join(name), "files/a.pdf").unwrap();
        }
        let mut all = found(root, &rules);
        all.sort_by(|one, other| one.path.cmp(&other.path));
        let said: Vec<_> = all.iter().map(|copy| (&*copy.of, copy.same, copy.by_hand.is_none())).collect();
        assert_eq!(
            said,
            [
                ("files/Grüße.md", false, true),
                ("files/a.pdf", false, false),
                ("files/gone.bin", false, false),
                ("memory.toml", false, false),
            ]
        );
    }
}
