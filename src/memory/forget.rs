//! Forgets what an agent says in words of its own, when it is clear what that is.

use super::candidates::{ForgettablePlace, Meant, meant, places};
use super::choose::chosen;
use super::edit::checked;
use super::read::{find, own_file};
use super::target::{TargetError, forbidden, own_name, writable};
use super::write::{MemoryEdit, changed, file_to_write, refused, rewrite};
use crate::access::WriteMode;
use crate::derive::{ChunkId, Remainder, RemoveError, chunk, without_chunk, without_lines};
use crate::note::Note;
use crate::path::VaultPath;
use crate::request::{MemoryWriter, RequestError, Room, no_chunk, text};
use crate::vault::{Action, CheckpointId};
use crate::wire::{MemoryCandidate, MemoryChange, MemoryForgetParams, MemoryForgotten, citation};

/// Maximum number of candidates that are shown.
const MAX_CANDIDATES: usize = 6;
/// Maximum number of hits that are looked through.
const HITS: usize = 10;

/// Forgets a paragraph, list item or table row of an agent's own memory, when it is clear which one is meant; else says which
/// may be. Where that is not clear, a chat model says it, if the person has named one that may be given private notes, and it is sure. Returns
/// when it can no longer be found.
///
/// # Errors
/// When it may not write, the query is empty, or the disk refuses.
pub(crate) fn forget(writer: &MemoryWriter, params: &MemoryForgetParams) -> Result<MemoryForgotten, RequestError> {
    if writer.mode() == WriteMode::Off {
        return Err(forbidden(TargetError::Mode(writer.mode()).to_string(), "the person says so in your `agent.md`"));
    }
    let query = text("query", &params.query)?;
    let most = match params.limit {
        Some(0) => return Err(RequestError::invalid("`limit` is 0; it takes 1 or more")),
        most => most.unwrap_or(MAX_CANDIDATES).min(MAX_CANDIDATES),
    };
    let places = own_places(writer)?;
    let nearest = near(writer, &query, &places)?;
    let mut forgotten = MemoryForgotten {
        ok: true,
        deleted: Vec::new(),
        candidates: Vec::new(),
        needs_confirmation: false,
        checkpoint_ids: Vec::new(),
        searchable: true,
        chosen_by_model: false,
    };
    let clear = match meant(&query, &places, &nearest, MAX_CANDIDATES) {
        Meant::Perhaps(some) => {
            let perhaps: Vec<&ForgettablePlace> = some.iter().map(|at| &places[*at]).collect();
            let chosen = chosen(writer, &query, &perhaps);
            forgotten.chosen_by_model = chosen.is_some();
            chosen.map_or(Meant::Perhaps(some.clone()), |at| Meant::One(some[at]))
        }
        clear => clear,
    };
    match clear {
        Meant::One(at) if params.dry_run.unwrap_or(false) => forgotten.candidates.push(shown(writer, &places[at])),
        Meant::One(at) => {
            let id = forget_place(writer, &places[at])?;
            let change = changed(writer, "memory_forget", &places[at].path, &id);
            forgotten.searchable = change.searchable;
            forgotten.deleted.push(shown(writer, &places[at]));
            forgotten.checkpoint_ids.push(id.to_string());
        }
        Meant::Perhaps(some) => {
            forgotten.needs_confirmation = !some.is_empty();
            let mut room = Room::of(writer.limits(), 1);
            let candidates = some.into_iter().take(most).map(|at| shown(writer, &places[at]));
            forgotten.candidates.extend(candidates.filter(|candidate| room.take(candidate.text.chars().count())));
        }
    }
    Ok(forgotten)
}

/// Forgets a chunk of a file of an agent's own memory, with what is hidden in it. Returns when it can no longer be found.
///
/// # Errors
/// When it may not write the file, the chunk is not there, or the disk refuses.
pub(super) fn delete_chunk(writer: &MemoryWriter, file: &str, id: ChunkId) -> Result<MemoryChange, RequestError> {
    let path = file_to_write(writer, Some(file))?;
    let checkpoint = rewrite(writer, &path, Action::Forget, 0, |existing| {
        let existing = existing.ok_or_else(|| no_chunk(&id.to_string()))?;
        let note = Note::parse(existing, path.stem());
        let chunks = chunk(&path, &note, existing);
        let chunk = chunks.iter().find(|chunk| chunk.id == id).ok_or_else(|| no_chunk(&id.to_string()))?;
        edit_without(&path, existing, &note, without_chunk(&note, existing, chunk))
    })?;
    Ok(changed(writer, "memory_delete", &path, &checkpoint))
}

/// All places of the files that the agent may write, in the order of their paths.
fn own_places(writer: &MemoryWriter) -> Result<Vec<ForgettablePlace>, RequestError> {
    let scope = writer.own_memory()?;
    let files = scope.files().map(|file| &file.path);
    // What is seen is neither left out nor kept from the agent.
    let may_write = |path: &&VaultPath| {
        own_name(writer.slug(), path).is_some_and(|file| writable(writer.slug(), writer.mode(), file).is_ok())
    };
    let mut paths: Vec<&VaultPath> = files.filter(may_write).collect();
    paths.sort_unstable();
    let mut found = Vec::new();
    for path in paths {
        if let Some((path, text)) = own_file(writer, path.as_str())? {
            found.extend(places(&path, &Note::parse(&text, path.stem()), &text));
        }
    }
    Ok(found)
}

/// Places in the chunks that a search finds, the best first.
fn near(writer: &MemoryWriter, query: &str, places: &[ForgettablePlace]) -> Result<Vec<usize>, RequestError> {
    let found = find(writer, query, Some(HITS))?;
    let within = |at: &usize, path: &str, first: u32, last: u32| {
        let place = &places[*at];
        place.path.as_str() == path && place.lines.0 <= last as usize && place.lines.1 >= first as usize
    };
    let near = found.results.iter().map(|hit| &hit.chunk).flat_map(|chunk| {
        (0..places.len()).filter(move |at| within(at, &chunk.path, chunk.line_start, chunk.line_end))
    });
    Ok(near.collect())
}

fn forget_place(writer: &MemoryWriter, place: &ForgettablePlace) -> Result<CheckpointId, RequestError> {
    let path = &place.path;
    rewrite(writer, path, Action::Forget, 0, |existing| {
        let changed = || RequestError::conflict(format!("`{path}` has changed since; nothing was written"));
        let existing = existing.ok_or_else(changed)?;
        let note = Note::parse(existing, path.stem());
        let now = places(path, &note, existing);
        let now = now.iter().find(|found| found.hash == place.hash).ok_or_else(changed)?;
        edit_without(path, existing, &note, without_lines(&note, existing, now.lines.0, now.lines.1))
    })
}

/// What becomes of a file that a part goes out of. The last of the text goes, and the frontmatter is the person's.
fn edit_without(
    path: &VaultPath,
    existing: &str,
    note: &Note,
    left: Result<Remainder, RemoveError>,
) -> Result<MemoryEdit, RequestError> {
    let left = left.map_err(|error| RequestError {
        hint: Some("nothing was written".into()),
        ..RequestError::conflict(format!("`{path}`: {error}"))
    })?;
    let left = left.text.unwrap_or_else(|| existing[..note.body.start].to_owned());
    let (left, empty) = checked(existing, note, left).map_err(|error| refused(path, error))?;
    Ok(if empty { MemoryEdit::Gone } else { MemoryEdit::Text(left) })
}

fn shown(writer: &MemoryWriter, place: &ForgettablePlace) -> MemoryCandidate {
    let most = writer.workspace().config().search.max_snippet_chars;
    let most = writer.limits().map_or(most, |limits| most.min(limits.max_snippet_chars));
    let (line_start, line_end) = (place.lines.0 as u32, place.lines.1 as u32);
    let cut = place.text.char_indices().nth(most);
    MemoryCandidate {
        hash: place.hash.to_string(),
        path: place.path.to_string(),
        text: cut.map_or_else(|| place.text.clone(), |(at, _)| format!("{}…", &place.text[..at])),
        line_start,
        line_end,
        citation: citation(place.path.as_str(), line_start, line_end),
    }
}
