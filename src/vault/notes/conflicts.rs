//! What was changed in two places: which notes, how they differ, and what of them is kept. Nothing is merged by itself.

use std::fs;
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use similar::TextDiff;

use crate::access::request::{Owner, RequestError, Workspace, note_path, rfc3339};
use crate::base::path::VaultPath;
use crate::serve::wire::{
    ConflictChoice, ConflictCopy, ConflictParams, ConflictResolved, ConflictSide, ConflictView, ConflictsView,
    KeepParams,
};
use crate::text::note::{CONFLICT_MARKS, has_conflict, sides};
use crate::vault::disk::{
    Act, Action, CheckpointId, Files, NoteRules, Scan, Stamp, are_same, conflict_copy, file_of, numbered,
};

/// Who left conflict markers.
const GIT: &str = "git";

/// Lines around each difference.
const AROUND: usize = 3;

/// After this long a difference is no longer the smallest there is; it stays right.
const SMALLEST: Duration = Duration::from_millis(500);

/// Why a copy is listed and not settled here.
const NO_NAME: &str = "its name is not UTF-8: rename it, or resolve it in a file manager";

/// How many times as long as a look takes the next one is put off, where what was seen lately will do.
const PAUSES_FOR_LOOKS: u32 = 10;

/// The files that were changed in two places, by path, as they are now; `lately`, for whoever asks again and again, the copies as they were a
/// moment ago. `problems` are those of the index.
pub(crate) fn conflict_copies(workspace: &Workspace, problems: &[(String, String)], lately: bool) -> Vec<ConflictCopy> {
    let mut seen = workspace.conflicts_seen.lock().unwrap_or_else(PoisonError::into_inner);
    let known = seen.as_ref().filter(|(at, took, _)| lately && at.elapsed() < *took * (PAUSES_FOR_LOOKS + 1));
    let copies = known.map(|(.., copies)| copies.clone()).unwrap_or_else(|| {
        let at = Instant::now();
        let copies = workspace.rules().map(|rules| found(workspace.home.root(), &rules)).unwrap_or_default();
        *seen = Some((at, at.elapsed(), copies.clone()));
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
    let named = scan.files.iter().filter_map(|file| {
        let (of, made_by) = conflict_copy(&file.path, is_there)?;
        let same = VaultPath::new(of.as_str()).is_ok_and(|of| are_same(root, rules, &file.path, &of));
        Some(ConflictCopy { path: file.path.to_string(), of, made_by: made_by.into(), same, by_hand: None })
    });
    let unnamed = scan.unnamed.iter().filter_map(|shown| {
        let path = VaultPath::new(shown.as_str()).ok().filter(|path| rules.takes_conflict_copy(path))?;
        // Whether a file of another such name is there cannot be told by what is shown of it.
        let (of, made_by) = conflict_copy(&path, |_| false)?;
        let by_hand = Some(NO_NAME.to_owned());
        Some(ConflictCopy { path: path.to_string(), of, made_by: made_by.into(), same: false, by_hand })
    });
    named.chain(unnamed).collect()
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
    /// What the file has; `None` where it is gone.
    ours: Option<SideText>,
    theirs: SideText,
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
    let ours = found.ours.as_ref().map_or(Some(""), |ours| ours.text.as_deref());
    let (Some(ours), Some(theirs)) = (ours, found.theirs.text.as_deref()) else {
        let ours = found.ours.as_ref().map(SideText::described);
        let theirs = Some(found.theirs.described());
        return Ok(ConflictView { conflict: found.copy, diff: String::new(), ours, theirs });
    };
    let diff = TextDiff::configure().timeout(SMALLEST).diff_lines(ours, theirs);
    let diff = diff.unified_diff().context_radius(AROUND).header(&ours_is, &theirs_is).to_string();
    Ok(ConflictView { conflict: found.copy, diff, ours: None, theirs: None })
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
        true => (keep_side(files, &found, params.keep)?, None),
        false => keep_copy(files, &found, params.keep)?,
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
fn keep_side(files: &Files, found: &Conflict, keep: ConflictChoice) -> Result<Vec<CheckpointId>, RequestError> {
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
    Ok(vec![files.replace(&found.of, before, &kept, Action::Edit)?])
}

/// Keeps of a file and its copy what is to be kept, each whole and as it is. The copy goes last, so that a kill on the way loses neither.
/// Gives what undoes each step, in their order, and where the copy is beside the file, if both are kept.
fn keep_copy(
    files: &Files,
    found: &Conflict,
    keep: ConflictChoice,
) -> Result<(Vec<CheckpointId>, Option<VaultPath>), RequestError> {
    let (theirs, before) = files.read_whole(&found.path)?.ok_or_else(|| gone(&found.path))?;
    let ours = files.read_whole(&found.of)?;
    // What is no text, and no note, is written for nothing else.
    let is_note = files.check(&found.of).is_ok() && std::str::from_utf8(&theirs).is_ok();
    let act = |action: Action| Act::from(if is_note { action } else { Action::Settle });
    let (mut undo, mut kept_beside) = (Vec::new(), None);
    match (keep, ours) {
        (ConflictChoice::Ours, None) => {
            return Err(gone(&found.of).hint("only the copy exists: keep `theirs`"));
        }
        (ConflictChoice::Ours, Some(_)) => {}
        (ConflictChoice::Theirs, Some((ours, seen))) => {
            if ours != theirs {
                undo.push(files.replace(&found.of, seen, &theirs, act(Action::Edit))?);
            }
        }
        (ConflictChoice::Theirs | ConflictChoice::Both, None) => {
            undo.push(files.replace(&found.of, None, &theirs, act(Action::Create))?);
        }
        (ConflictChoice::Both, Some(_)) => {
            // As people number them: `Plan 2.md`.
            let is_free = |name: &VaultPath| !matches!(files.read_whole(name), Ok(Some(_)));
            let beside = numbered(found.of.as_str(), ' ').skip(1).find(is_free).expect("numbers do not end");
            undo.push(files.replace(&beside, None, &theirs, act(Action::Create))?);
            kept_beside = Some(beside);
        }
    }
    undo.push(files.trash(&found.path, before, act(Action::Trash))?);
    Ok((undo, kept_beside))
}

/// The conflict that a path names: a copy, a note with conflict markers, or the file of one copy.
fn find(owner: &Owner, path: &str) -> Result<Conflict, RequestError> {
    let path = note_path(path)?;
    if path.as_str().contains(char::REPLACEMENT_CHARACTER) {
        return Err(RequestError::invalid(format!("`{path}`: {NO_NAME}")));
    }
    let now = owner.now()?;
    let files = now.reader().files();
    let workspace = owner.workspace();
    let rules = workspace.rules().ok_or_else(|| RequestError::invalid("`index.exclude` has an invalid glob"))?;
    let is_there = |path: &str| {
        let on_disk = || VaultPath::new(path).ok().and_then(|path| file_of(workspace.home.root(), &rules, &path));
        files.at(path).is_some() || on_disk().is_some()
    };
    if let Some((of, made_by)) = conflict_copy(&path, is_there) {
        let theirs = side_of(workspace, &rules, &path).ok_or_else(|| gone(&path))?;
        let ours = side_of(workspace, &rules, &note_path(&of)?);
        let same = ours.as_ref() == Some(&theirs);
        let copy =
            ConflictCopy { path: path.to_string(), of: of.clone(), made_by: made_by.into(), same, by_hand: None };
        return Ok(Conflict { copy, path, of: note_path(&of)?, ours, theirs });
    }
    let text = workspace.source(&path).ok().map(|source| source.text).filter(|text| has_conflict(text));
    if let Some(sides) = text.as_deref().and_then(sides) {
        let copy = marked_note(path.as_str());
        let side = |text: String| SideText { bytes: text.len() as u64, changed_ms: 0, text: Some(text) };
        let (ours, theirs) = (Some(side(sides.ours)), side(sides.theirs));
        return Ok(Conflict { copy, of: path.clone(), path, ours, theirs });
    }
    let copies = conflict_copies(workspace, &[], false).into_iter();
    let copies: Vec<ConflictCopy> = copies.filter(|copy| copy.by_hand.is_none() && path.same_as(&copy.of)).collect();
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

/// Maximum size of a text that is compared line by line, in bytes.
const MAX_TEXT_BYTES: u64 = 8 << 20;

/// What one side has.
#[derive(Debug, PartialEq, Eq)]
struct SideText {
    /// `None` where it is no text.
    text: Option<String>,
    bytes: u64,
    /// In milliseconds since 1970.
    changed_ms: i64,
}

impl SideText {
    /// How long it is, and when it was changed.
    fn described(&self) -> ConflictSide {
        ConflictSide { bytes: self.bytes, updated_at: rfc3339(self.changed_ms) }
    }
}

/// What a file has; `None` where it is not there.
fn side_of(workspace: &Workspace, rules: &NoteRules, path: &VaultPath) -> Option<SideText> {
    let root = workspace.home.root();
    let meta = file_of(root, rules, path)?;
    // A document may look like text, and is not what it says.
    let is_short = meta.len() <= MAX_TEXT_BYTES && path.attachment().is_none();
    let read = is_short.then(|| fs::read(rules.outside().on_disk(root, path)).ok()).flatten();
    let text = read.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|text| !text.contains('\0'));
    Some(SideText { text, bytes: meta.len(), changed_ms: Stamp::of(&meta).mtime_ns / 1_000_000 })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn copies_of_files_of_any_kind_and_name_are_found() {
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
            format!("archive/a.{copy}.pdf"),
            format!("traces/ada/x.{copy}.jsonl"),
            format!(".obsidian/app.{copy}.json"),
        ] {
            fs::write(root.join(name), "files/a.pdf").unwrap();
        }
        let mut latin = b"files/Gr\xfc\xdfe.".to_vec();
        latin.extend(format!("{copy}.md").bytes());
        fs::write(root.join(OsStr::from_bytes(&latin)), "x").unwrap();
        let mut all = found(root, &rules);
        all.sort_by(|one, other| one.path.cmp(&other.path));
        let said: Vec<_> = all.iter().map(|copy| (&*copy.of, copy.same, copy.by_hand.is_none())).collect();
        assert_eq!(
            said,
            [
                ("files/Gr\u{fffd}\u{fffd}e.md", false, false),
                ("files/a.pdf", true, true),
                ("files/gone.bin", false, true),
                ("memory.toml", false, true),
            ]
        );
    }
}
