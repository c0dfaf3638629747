//! Finds and reads what an agent remembers.

use std::time::Instant;

use super::write::folder;
use crate::access::request::{Given, MemoryWriter, RequestError, limit, query_text};
use crate::base::path::VaultPath;
use crate::index::engine::Filter;
use crate::index::search::SearchRequest;
use crate::serve::wire::{
    MemoryFiles, MemoryGetParams, MemorySearchParams, MemoryText, SearchResponse, citation, split_lines,
};
use crate::text::derive::{Chunk, chunk};
use crate::text::note::Note;
use crate::vault::disk::ReadError;

/// Maximum of what one answer takes of a file.
const MAX_TEXT_BYTES: usize = 50 * 1024;
/// Maximum number of times that a file is read which changes as fast as it is read.
const ROUNDS: usize = 4;

/// Finds chunks of an agent's own memory, and of that of agents which share theirs with it.
///
/// # Errors
/// When a parameter makes no sense, or the index is not open yet.
pub(crate) fn search(writer: &MemoryWriter, params: &MemorySearchParams) -> Result<SearchResponse, RequestError> {
    let found = find(writer, &params.query, params.limit)?;
    writer.log_own("memory_search", &params.query, found.citations());
    Ok(found)
}

pub(super) fn find(writer: &MemoryWriter, query: &str, most: Option<usize>) -> Result<SearchResponse, RequestError> {
    let started = Instant::now();
    let config = &writer.workspace().config.search;
    let request = SearchRequest {
        text: query_text("query", query)?.to_owned(),
        mode: config.mode,
        limit: limit(most, config.limit)?,
        filter: Filter::default(),
        parts: Vec::new(),
        at: writer.at(),
        min_relevance: Some(0.0),
        context: Some(0),
        turn: writer.turn().clone(),
    };
    // What the person writes into it counts at once, too.
    writer.make_fresh();
    writer.await_model(config.mode, config);
    writer.own_memory()?.find(request, config, Given { highlights: false, times: 1, timeout: None }, started)
}

/// The files of an agent's own memory, by their paths.
///
/// # Errors
/// When the index is not open yet.
pub(crate) fn list(writer: &MemoryWriter) -> Result<MemoryFiles, RequestError> {
    writer.make_fresh();
    let scope = writer.own_memory()?;
    // What was changed since may be private by now.
    let files = scope.files().filter(|file| scope.is_as_indexed(file));
    let mut files: Vec<String> = files.map(|file| file.path.to_string()).collect();
    files.sort();
    let mut room = scope.room();
    files.retain(|path| room.take(path.chars().count()));
    writer.log_own("memory_list", "", files.clone());
    Ok(MemoryFiles { files })
}

/// A chunk, lines or a whole file of an agent's own memory, as it is on disk.
///
/// # Errors
/// When its memory has no such chunk or file.
pub(crate) fn get(writer: &MemoryWriter, params: &MemoryGetParams) -> Result<MemoryText, RequestError> {
    let (asked, found) = match (&params.hash, &params.path) {
        (Some(hash), None) if params.line.is_none() && params.lines.is_none() => (hash, own_chunk(writer, hash)),
        (None, Some(path)) => (path, own_lines(writer, path, params.line, params.lines)),
        _ => return Err(RequestError::invalid("give `hash`, or `path` with or without `line` and `lines`")),
    };
    let given = found.iter().map(|found| found.citation.clone()).collect();
    writer.log_own("memory_get", asked, given);
    found
}

fn own_lines(
    writer: &MemoryWriter,
    path: &str,
    line: Option<u32>,
    lines: Option<u32>,
) -> Result<MemoryText, RequestError> {
    let (path, line, lines) = match lines_in(path) {
        (path, first, most) if line.is_none() => (path, first, lines.or(most)),
        _ => (path, line, lines),
    };
    if line == Some(0) || lines == Some(0) {
        return Err(RequestError::invalid("`line` and `lines` count from 1"));
    }
    let absent = || RequestError::not_found(format!("your memory has no file `{path}`"));
    let (path, text) = own_file(writer, path)?.ok_or_else(absent)?;
    let most = most_bytes(writer);
    let part = lines_of(&path, &text, line, lines, most);
    part.ok_or_else(|| RequestError::not_found(format!("`{path}` has fewer lines")))
}

fn own_chunk(writer: &MemoryWriter, hash: &str) -> Result<MemoryText, RequestError> {
    let chunk = writer.own_memory()?.chunk(hash)?;
    let lines = (chunk.line_start as usize, chunk.line_end as usize);
    Ok(part_of(&chunk.path, &chunk.content, lines, Some(chunk.hash), most_bytes(writer)))
}

/// A file of the memory and what it says now; nothing where it is none, or is kept from the agent.
pub(super) fn own_file(writer: &MemoryWriter, path: &str) -> Result<Option<(VaultPath, String)>, RequestError> {
    let whole = if path.starts_with("agents/") { path.to_owned() } else { folder(&writer.slug) + path };
    for _ in 0..ROUNDS {
        let scope = writer.own_memory()?;
        let Some(file) = scope.file(&whole) else { return Ok(None) };
        // A folder on the way may have become a link since.
        if !scope.workspace().is_in_place(&file.path) {
            return Ok(None);
        }
        if scope.is_as_indexed(file) {
            match scope.workspace().source(&file.path) {
                Ok(source) if Note::of(&file.path, &source.text).is_private() => return Ok(None),
                Ok(source) => return Ok(Some((file.path.clone(), source.text))),
                Err(ReadError::Changing) => {}
                Err(_) => return Ok(None),
            }
        }
        // It was written to just now: what it says counts once it is indexed.
        scope.workspace().settled_within(&file.path, writer.patience() / 2)?;
    }
    Ok(None)
}

/// `memory/notes.md:42` is line 42 of `memory/notes.md`, and `memory/notes.md#L3-L5` are three lines of it.
fn lines_in(path: &str) -> (&str, Option<u32>, Option<u32>) {
    match split_lines(path) {
        (path, Some((first, last))) if last.unwrap_or(first) < u32::MAX as usize => {
            (path, Some(first as u32), last.map(|last| (last + 1).saturating_sub(first) as u32))
        }
        _ => (path, None, None),
    }
}

/// How much of a file one answer gives.
fn most_bytes(writer: &MemoryWriter) -> usize {
    writer.limits().map_or(MAX_TEXT_BYTES, |limits| limits.max_injected_chars.min(MAX_TEXT_BYTES))
}

/// A part of a file, as much of it as one answer gives.
fn part_of(path: &str, text: &str, lines: (usize, usize), hash: Option<String>, most: usize) -> MemoryText {
    let shown = text.floor_char_boundary(most);
    let (line_start, line_end) = (lines.0 as u32, lines.1 as u32);
    MemoryText {
        path: path.to_owned(),
        text: text[..shown].to_owned(),
        line_start,
        line_end,
        citation: citation(path, line_start, line_end),
        hash,
        cut: shown < text.len(),
    }
}

/// Lines of a file, of at most so many bytes; the chunk at `line` where it is not said how many. Nothing where there are none.
fn lines_of(path: &VaultPath, text: &str, line: Option<u32>, lines: Option<u32>, most: usize) -> Option<MemoryText> {
    let note = Note::parse(text, path.stem());
    if let (Some(line), None) = (line, lines) {
        let chunks = chunk(path, &note, text);
        let at = |chunk: &&Chunk| (chunk.lines.0..=chunk.lines.1).contains(&(line as usize));
        if let Some(passage) = chunks.iter().find(at) {
            return Some(part_of(path.as_str(), &passage.text, passage.lines, Some(passage.id.to_string()), most));
        }
    }
    // The empty line after the last line's end is none that people count.
    let count = note.lines.count() - usize::from(note.lines.count() > 1 && text.ends_with(['\n', '\r']));
    let first = line.unwrap_or(1) as usize;
    let wanted = if line.is_some() { lines.unwrap_or(1) } else { lines.unwrap_or(u32::MAX) };
    let last = first.saturating_add(wanted as usize - 1).min(count);
    if first > count {
        return None;
    }
    let start = note.lines.span(first).start;
    let whole = |last: &usize| note.lines.span(*last).end - start <= most;
    let fits = (first..=last).rev().find(whole).unwrap_or(first);
    let part = part_of(path.as_str(), &text[start..note.lines.span(fits).end], (first, fits), None, most);
    Some(MemoryText { cut: part.cut || fits < last, ..part })
}
