//! Writes a remark on a chunk, as a note that links to it.

use serde_json::{Map, Value, json};

use super::annotations::{ANNOTATIONS, KEY};
use crate::attachments::page_of;
use crate::derive::ChunkId;
use crate::engine::{ChunkText, FileEntry, Reader};
use crate::note::{Note, compose};
use crate::redact::redact;
use crate::request::{Owner, ReadScope, RequestError, no_chunk, note_path, now, text};
use crate::vault::{Action, ReadError, WriteError, free_name};
use crate::wire::{AnnotateParams, Annotated, passage_citation};

/// Maximum number of characters of what a remark is called after.
const MAX_SUBJECT_CHARS: usize = 80;

/// Writes a remark on a chunk into `annotations/`. It is private when the chunk's note is. Returns when it can be found.
///
/// # Errors
/// When a parameter makes no sense, there is no such chunk, or the disk refuses.
pub fn annotate(owner: &Owner, params: &AnnotateParams) -> Result<Annotated, RequestError> {
    let workspace = owner.workspace();
    let files = workspace.files()?;
    let mut remark = text("note", &params.note)?;
    if workspace.redacts() {
        remark = redact(&remark).into_owned();
    }
    let scope = owner.now()?;
    let (file, chunk) = chunk_of(&scope, params)?;
    let subject = chunk.heading_path.iter().rev().find(|heading| !heading.trim().is_empty());
    let subject: String = subject.unwrap_or(&file.title).chars().filter(|c| !c.is_control()).collect();
    let title = format!("On: {}", cut(subject.trim()));
    let link = wikilink(scope.reader(), file, chunk.heading_path.last().map_or("", String::as_str));
    let quote = match chunk.text[chunk.body_start..].trim() {
        "" => chunk.text.trim(),
        body => body,
    };
    let mut frontmatter = Map::new();
    frontmatter.insert("title".into(), title.clone().into());
    frontmatter.insert("created".into(), now().into());
    frontmatter.insert("source".into(), link.clone().into());
    frontmatter.insert("tags".into(), file.tags.clone().into());
    if is_private(&scope, file)? {
        frontmatter.insert("private".into(), true.into());
    }
    let (line_start, line_end) = chunk.lines;
    let annotates: Value = json!({
        "path": file.path, "line_start": line_start, "line_end": line_end, "hash": chunk.id.to_string(), "quote": quote,
    });
    frontmatter.insert(KEY.into(), annotates);
    let quoted: Vec<String> = quote.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
    let page = page_of(file.path.as_str(), &chunk.heading_path);
    let place = passage_citation(file.path.as_str(), page, line_start, line_end);
    let body = format!("On {link}, `{place}`:\n\n{}\n\n{}", quoted.join("\n"), remark.trim());
    let note = compose(&frontmatter, &body);
    let create = || {
        let path = free_name(workspace.home().root(), ANNOTATIONS, &title);
        files.create_for(&path, &note, Action::Create.into()).map(|checkpoint| (path, checkpoint))
    };
    let (path, checkpoint) = match create() {
        // Somebody took the name at this very moment.
        Err(WriteError::Exists(_)) => create()?,
        created => created?,
    };
    let found = workspace.settled_in_time(&path).flatten();
    let made = || ChunkId::of_note(&path, blake3::hash(note.as_bytes()).as_bytes());
    Ok(Annotated {
        ok: true,
        hash: found.map_or_else(made, |(name, _)| name).to_string(),
        path: path.to_string(),
        searchable: found.is_some(),
        checkpoint_id: Some(checkpoint.to_string()),
    })
}

/// The chunk that is meant, and its note.
fn chunk_of<'a>(scope: &'a ReadScope, params: &AnnotateParams) -> Result<(&'a FileEntry, ChunkText), RequestError> {
    let snapshot = &scope.reader();
    let rows: Vec<u64> = match (&params.hash, &params.path, params.line) {
        (Some(hash), None, None) => {
            let id: ChunkId =
                hash.parse().map_err(|error| RequestError::invalid(format!("`hash`: `{hash}`: {error}")))?;
            let rows = snapshot.rows_of(id).map_err(|error| scope.workspace().damaged(error))?;
            let first = scope.note_of(id).and_then(|file| file.chunks.first()).map(|chunk| chunk.row);
            rows.into_iter().chain(first).collect()
        }
        (None, Some(path), line) => {
            let path = note_path(path)?;
            let file = snapshot.files().iter().find(|file| file.path.same_as(path.as_str()));
            let file = file.ok_or_else(|| RequestError::no_note(&path))?;
            let before = |line: u32| file.chunks.iter().rev().find(|chunk| chunk.line <= line);
            let chunk = line.map_or(file.chunks.first(), before);
            chunk.map(|chunk| chunk.row).into_iter().collect()
        }
        _ => return Err(RequestError::invalid("give `hash`, or `path` with or without `line`")),
    };
    for row in rows {
        let chunk = snapshot.chunk(row).map_err(|error| scope.workspace().damaged(error))?;
        let Some(chunk) = chunk.filter(|chunk| params.line.is_none_or(|line| line <= chunk.lines.1)) else {
            continue;
        };
        if let Some(file) = snapshot.files().get(chunk.file) {
            return Ok((file, chunk));
        }
    }
    Err(match (&params.hash, params.line) {
        (Some(hash), _) => no_chunk(hash),
        (None, Some(line)) => RequestError::not_found(format!("there is no passage at line {line}")),
        (None, None) => RequestError::not_found("the note has no passage"),
    })
}

/// Whether a note is private, as indexed or as it is on the disk by now.
fn is_private(scope: &ReadScope, file: &FileEntry) -> Result<bool, RequestError> {
    if file.private {
        return Ok(true);
    }
    match scope.workspace().source(&file.path) {
        Ok(source) => Ok(Note::of(&file.path, &source.text).is_private()),
        Err(ReadError::Gone) => Err(WriteError::Gone(file.path.clone()).into()),
        // In doubt it is.
        Err(ReadError::Changing | ReadError::Unfit(_)) => Ok(true),
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_SUBJECT_CHARS {
        return text.to_owned();
    }
    let start: String = text.chars().take(MAX_SUBJECT_CHARS).collect();
    let words = start.rsplit_once(' ').map_or(start.as_str(), |(words, _)| words);
    format!("{}…", words.trim_end())
}

/// A link to a heading of a note: by the note's name where no other has it, else by its path. What would end a link is left
/// out of the heading, as Obsidian does.
fn wikilink(snapshot: &dyn Reader, file: &FileEntry, heading: &str) -> String {
    let ends = |c: char| matches!(c, '[' | ']' | '|' | '#' | '^' | '%' | ':' | '\\') || c.is_control();
    let stem = file.path.stem();
    let others =
        snapshot.files().iter().any(|other| other.id != file.id && other.path.stem().eq_ignore_ascii_case(stem));
    // An attachment is meant by its whole name.
    let by_path = others || file.path.is_document();
    let target = if by_path { file.path.as_str().strip_suffix(".md").unwrap_or(file.path.as_str()) } else { stem };
    if target.contains(ends) {
        return format!("[{}](<{}>)", stem.replace(ends, " "), file.path.as_str().replace(['<', '>', '\n'], " "));
    }
    if file.path.is_document() {
        let page = page_of(file.path.as_str(), &[heading.to_owned()]);
        return page.map_or_else(|| format!("[[{target}]]"), |page| format!("[[{target}#page={page}]]"));
    }
    let heading = heading.replace(ends, " ").split_whitespace().collect::<Vec<_>>().join(" ");
    if heading.is_empty() { format!("[[{target}]]") } else { format!("[[{target}#{heading}]]") }
}
