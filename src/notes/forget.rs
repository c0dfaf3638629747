//! Removes a chunk or a note, so that it can be undone, or with `purge` so that it cannot.

use std::time::Duration;

use blake3::Hash;

use super::annotations::annotations;
use crate::derive::{ChunkId, Remainder, RemoveError, chunk, without_chunk, without_lines};
use crate::engine::{ContentHash, FileEntry};
use crate::note::Note;
use crate::path::VaultPath;
use crate::request::{ErrorKind, Owner, RequestError, Workspace, note_path};
use crate::vault::{Action, Files, Purged, WriteError, commits_of};
use crate::wire::{ForgetParams, Forgotten, PurgedView};

/// Maximum time that a purge waits for captured events to be in their files.
const PATIENCE: Duration = Duration::from_secs(1);

/// What of a note is to go.
enum ForgottenPart {
    Whole,
    Chunk(ChunkId),
    Lines(usize, usize),
}

/// What is to go, as it was found.
struct Target {
    path: VaultPath,
    part: ForgottenPart,
    /// BLAKE3 of the note as the caller knows it.
    seen: Option<[u8; 32]>,
}

/// Removes a chunk, lines or a whole note. Returns when none of it can be found.
///
/// # Errors
/// When a parameter makes no sense, there is no such chunk or note, it has changed since, or the disk refuses.
pub fn forget(owner: &Owner, params: &ForgetParams) -> Result<Forgotten, RequestError> {
    let workspace = owner.workspace();
    let files = workspace.files()?;
    let Target { path, part, seen } = target(owner, params)?;
    let Some((bytes, hash)) = files.read(&path)? else {
        return purge_gone(owner, files, &path, params);
    };
    let name = ChunkId::of_note(&path, hash.as_bytes()).to_string();
    let changed = || RequestError::from(WriteError::Changed(path.clone()));
    if seen.is_some_and(|seen| seen != *hash.as_bytes()) || params.seen.as_ref().is_some_and(|seen| *seen != name) {
        return Err(changed());
    }
    let left = match part {
        ForgottenPart::Whole => Remainder { text: None, removed: vec![String::from_utf8_lossy(&bytes).into_owned()] },
        part => {
            let text = String::from_utf8(bytes)
                .map_err(|_| RequestError::invalid(format!("`{path}` is not text; only all of it can go")))?;
            remainder(&path, &text, part).map_err(|error| match error {
                Some(error) => refused(&path, error),
                None => changed(),
            })?
        }
    };
    let mut forgotten = Forgotten {
        ok: true,
        path: path.to_string(),
        checkpoint_id: None,
        whole: left.text.is_none(),
        content: if params.dry_run { left.removed.join("\n\n") } else { String::new() },
        seen: name,
        searchable: true,
        purged: None,
    };
    if params.dry_run {
        return Ok(forgotten);
    }
    let embedded = contents_of(workspace, &path, hash);
    let other_names = other_names(&path.on_disk(workspace.home().root()));
    let id = match &left.text {
        None => files.trash(&path, hash)?,
        Some(text) => files.replace(&path, hash, text, Action::Forget)?,
    };
    let purged = match params.purge {
        true => Some(files.purge(&path)?),
        false => None,
    };
    forgotten.searchable = workspace.settled_in_time(&path).is_some();
    let Some(purged) = purged else {
        forgotten.checkpoint_id = Some(id.to_string());
        return Ok(forgotten);
    };
    let commits = commits_of(workspace.home().root(), &path).filter(|commits| *commits > 0);
    // The note is gone: what is left is told, and no error.
    let (embeddings, kept) = match workspace.forget_embeddings(embedded) {
        Ok(count) => (count, None),
        Err(error) => (0, Some(format!("the embeddings of the text are still in the index: {error}"))),
    };
    forgotten.purged = Some(PurgedView {
        checkpoints: purged.checkpoints,
        trashed: purged.trashed,
        embeddings,
        commits,
        remains: in_trash(&purged)
            .chain(kept)
            .chain(clear_pending(workspace))
            .chain(remains(owner, &path, forgotten.whole, commits, other_names))
            .collect(),
    });
    Ok(forgotten)
}

fn target(owner: &Owner, params: &ForgetParams) -> Result<Target, RequestError> {
    let lines = match (params.line_start, params.line_end) {
        (None, None) => None,
        (Some(first), last) if first > 0 && last.unwrap_or(first) >= first => Some((first, last.unwrap_or(first))),
        _ => return Err(RequestError::invalid("`line_start` and `line_end` are lines of the note, from 1")),
    };
    match (&params.hash, &params.path, lines) {
        (Some(hash), None, None) => named(owner, hash),
        (None, Some(path), lines) => {
            let path = note_path(path)?;
            let Some((first, last)) = lines else { return Ok(Target { path, part: ForgottenPart::Whole, seen: None }) };
            // Lines are those of the note as the index, and so a search, has told of it.
            let seen = match &params.seen {
                Some(_) => None,
                None => owner.now()?.reader().files().at(path.as_str()).map(|file| file.hash),
            };
            if seen.is_none() && params.seen.is_none() && !params.dry_run && is_there(owner.workspace(), &path) {
                let message = format!("`{path}` is not indexed, so its lines may be others than you have seen");
                let hint = Some("send `seen`, which a `dry_run` gives".into());
                return Err(RequestError { hint, ..RequestError::conflict(message) });
            }
            Ok(Target { path, part: ForgottenPart::Lines(first, last), seen })
        }
        _ => Err(RequestError::invalid("give `hash`, or `path` with or without lines")),
    }
}

fn is_there(workspace: &Workspace, path: &VaultPath) -> bool {
    path.on_disk(workspace.home().root()).is_file()
}

/// The chunk, or the note, that a hash names.
fn named(owner: &Owner, hash: &str) -> Result<Target, RequestError> {
    let id: ChunkId =
        hash.parse().map_err(|error| RequestError::invalid(format!("`{hash}` is not a hash: {error}")))?;
    let scope = owner.now()?;
    let target = |file: &FileEntry, part| Target { path: file.path.clone(), part, seen: Some(file.hash) };
    if let Some((file, _)) = scope.chunk_of(id)? {
        return Ok(target(file, ForgottenPart::Chunk(id)));
    }
    match scope.note_of(id) {
        Some(file) => Ok(target(file, ForgottenPart::Whole)),
        None => {
            let message = format!("no passage or note has the hash {hash}; it changes when the text does");
            Err(RequestError::not_found(message))
        }
    }
}

/// A note that is gone already may have left traces.
fn purge_gone(
    owner: &Owner,
    files: &Files,
    path: &VaultPath,
    params: &ForgetParams,
) -> Result<Forgotten, RequestError> {
    let gone = || RequestError::from(WriteError::Gone(path.clone()));
    if !params.purge || params.path.is_none() || params.line_start.is_some() {
        return Err(gone());
    }
    let mut forgotten = Forgotten {
        ok: true,
        path: path.to_string(),
        checkpoint_id: None,
        whole: true,
        content: String::new(),
        seen: String::new(),
        searchable: true,
        purged: None,
    };
    if params.dry_run {
        return Ok(forgotten);
    }
    let purged = files.purge(path)?;
    let commits = commits_of(owner.workspace().home().root(), path).filter(|commits| *commits > 0);
    if purged == Purged::default() && commits.is_none() {
        return Err(gone());
    }
    forgotten.purged = Some(PurgedView {
        checkpoints: purged.checkpoints,
        trashed: purged.trashed,
        embeddings: 0,
        commits,
        remains: in_trash(&purged)
            .chain(clear_pending(owner.workspace()))
            .chain(remains(owner, path, true, commits, 0))
            .collect(),
    });
    Ok(forgotten)
}

/// The names of the embeddings of a note's chunks, as indexed.
fn contents_of(workspace: &Workspace, path: &VaultPath, hash: Hash) -> Vec<ContentHash> {
    let snapshot = workspace.shared().snapshot();
    let file = snapshot
        .as_ref()
        .and_then(|snapshot| snapshot.files().iter().find(|file| file.path == *path && file.hash == *hash.as_bytes()));
    file.map(|file| file.chunks.iter().filter_map(|chunk| chunk.content).collect()).unwrap_or_default()
}

/// Leaves nothing of what was captured but in its files; gives what keeps it from that.
fn clear_pending(workspace: &Workspace) -> impl Iterator<Item = String> {
    let aside = workspace.state().put_aside().map(|aside| {
        format!("{}, which could not be read, may have the text; remove it if you need nothing of it", aside.display())
    });
    let queue = match workspace.sweep_pending(PATIENCE) {
        Ok(0) => None,
        Ok(1) => Some("1 captured event waits to be written; if it has the text, that comes back with it".into()),
        Ok(waiting) => Some(format!(
            "{waiting} captured events wait to be written; if one of them has the text, that comes back with it"
        )),
        Err(error) => {
            Some(format!("the queue of captured events may have the text until the daemon can write it again: {error}"))
        }
    };
    queue.into_iter().chain(aside)
}

/// Where a text that was purged may be found all the same.
fn remains(owner: &Owner, path: &VaultPath, whole: bool, commits: Option<usize>, other_names: u64) -> Vec<String> {
    let mut remains = Vec::new();
    if let Some(commits) = commits {
        let how = match whole {
            true => format!("`git filter-repo --invert-paths --path '{path}'`"),
            false => "`git filter-repo --replace-text FILE`, with the text in FILE,".into(),
        };
        let times = if commits == 1 { "1 commit".into() } else { format!("{commits} commits") };
        remains.push(format!(
            "git has the note in {times}. {how} writes them anew; every clone and remote keeps what it has"
        ));
    }
    if other_names > 0 {
        remains.push(format!("the file has {other_names} more names (hard links), and is as it was under those"));
    }
    // As it is now, without what went.
    let scope = owner.now();
    if let Ok(annotations) = scope.and_then(|scope| annotations(&scope, path.as_str())) {
        let quoting = annotations.iter().filter(|annotation| !annotation.found);
        remains.extend(quoting.map(|annotation| format!("`{}` quotes it", annotation.path)));
    }
    remains.push(
        "the files of the index may hold traces until they are written over; `vault reindex --full` makes them anew"
            .into(),
    );
    remains
}

/// The text without a part; no error when the part is not in it.
fn remainder(path: &VaultPath, text: &str, part: ForgottenPart) -> Result<Remainder, Option<RemoveError>> {
    let note = Note::parse(text, path.stem());
    match part {
        ForgottenPart::Lines(first, last) => Ok(without_lines(&note, text, first, last)?),
        ForgottenPart::Chunk(id) => {
            let chunks = chunk(path, &note, text);
            let chunk = chunks.iter().find(|chunk| chunk.id == id).ok_or(None)?;
            Ok(without_chunk(&note, text, chunk)?)
        }
        ForgottenPart::Whole => Ok(Remainder { text: None, removed: vec![text.to_owned()] }),
    }
}

fn refused(path: &VaultPath, error: RemoveError) -> RequestError {
    let kind = match error {
        RemoveError::Nothing | RemoveError::Outside => ErrorKind::Invalid,
        RemoveError::Entangled | RemoveError::KeepsPrivate => ErrorKind::Conflict,
    };
    RequestError { kind, message: format!("`{path}`: {error}"), hint: None }
}

/// What the trash has of a note's name that nobody knows to be of the note.
fn in_trash(purged: &Purged) -> impl Iterator<Item = String> {
    purged.left.iter().map(|path| {
        format!(
            "`{path}` is not known to be a copy of the note, and stays; look into it, and remove it yourself if it is"
        )
    })
}

/// How many other names a file has.
fn other_names(path: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    path.symlink_metadata().map_or(0, |meta| meta.nlink().saturating_sub(1))
}
