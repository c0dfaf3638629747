//! What a request to forget means: a note, a chunk or lines of it, and what is left without them.

use crate::derive::{ChunkId, Remainder, RemoveError, chunk, without_chunk, without_lines};
use crate::engine::FileEntry;
use crate::note::Note;
use crate::path::VaultPath;
use crate::request::{ErrorKind, Owner, RequestError, Workspace, no_chunk, note_path};
use crate::wire::ForgetParams;

/// The first and the last line.
type LineSpan = (usize, usize);

/// What of a note is to go.
pub(super) enum ForgottenPart {
    Whole,
    Chunk(ChunkId),
    Lines(usize, usize),
}

/// What is to go, as it was found.
pub(super) struct Target {
    pub(super) path: VaultPath,
    pub(super) part: ForgottenPart,
    /// BLAKE3 of the note as the caller knows it.
    pub(super) seen: Option<[u8; 32]>,
}

/// Finds what a request means.
///
/// # Errors
/// When its parameters make no sense, or there is no such chunk or note.
pub(super) fn target(owner: &Owner, params: &ForgetParams) -> Result<Target, RequestError> {
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
        None => Err(no_chunk(hash)),
    }
}

/// The text without a part, and the lines of that; no error when the part is not in it.
pub(super) fn remainder(
    path: &VaultPath,
    text: &str,
    part: ForgottenPart,
) -> Result<(Remainder, Option<LineSpan>), Option<RemoveError>> {
    let note = Note::of(path, text);
    match part {
        ForgottenPart::Lines(first, last) => Ok((without_lines(&note, text, first, last)?, Some((first, last)))),
        ForgottenPart::Chunk(id) => {
            let chunks = chunk(path, &note, text);
            let chunk = chunks.iter().find(|chunk| chunk.id == id).ok_or(None)?;
            Ok((without_chunk(&note, text, chunk)?, Some(chunk.lines)))
        }
        ForgottenPart::Whole => Ok((Remainder { text: None, removed: vec![text.to_owned()] }, None)),
    }
}

pub(super) fn refused(path: &VaultPath, error: RemoveError) -> RequestError {
    let kind = match error {
        RemoveError::Nothing | RemoveError::Outside => ErrorKind::Invalid,
        RemoveError::Entangled | RemoveError::KeepsPrivate => ErrorKind::Conflict,
    };
    RequestError { kind, message: format!("`{path}`: {error}"), hint: None }
}
