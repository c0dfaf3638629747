//! Reading a whole note.

use serde_json::Value;

use super::annotations::{annotations, chars_of};
use crate::access::request::{
    Budget, LinkTargets, ReadScope, RequestError, Viewer, frontmatter_chars, read_seen, rfc3339,
};
use crate::index::engine::FileEntry;
use crate::serve::wire::{NoteParams, NoteView, PassageSpan};
use crate::text::derive::ChunkId;
use crate::text::note::{Node, Note};

/// A whole note, as it is on disk, for who gives parts of it.
///
/// # Errors
/// When no note that is seen has the path, or it cannot be read.
pub(crate) fn whole_note(viewer: &Viewer, params: &NoteParams) -> Result<NoteView, RequestError> {
    logged(viewer, params, note_of(viewer, params))
}

/// The same, of which an agent gets as much as one answer gives.
///
/// # Errors
/// As [`whole_note`].
pub fn note(viewer: &Viewer, params: &NoteParams) -> Result<NoteView, RequestError> {
    let mut found = note_of(viewer, params);
    found.iter_mut().for_each(|note| fit(note, Budget::of(viewer.limits(), 1)));
    logged(viewer, params, found)
}

fn logged(
    viewer: &Viewer,
    params: &NoteParams,
    found: Result<NoteView, RequestError>,
) -> Result<NoteView, RequestError> {
    viewer.logged("note", &params.path, found, |note| {
        let remarks = note.annotations.iter().map(|remark| remark.path.clone());
        std::iter::once(note.path.clone()).chain(remarks).collect()
    })
}

fn note_of(viewer: &Viewer, params: &NoteParams) -> Result<NoteView, RequestError> {
    let around = params.line.unwrap_or(1);
    if around == 0 {
        return Err(RequestError::invalid("`line` is 0; lines are counted from 1"));
    }
    let scope = viewer.read_scope()?;
    let (file, source) = read_seen(&scope, &params.path)?;
    let note = Note::of(&file.path, &source.text);
    let targets = LinkTargets::of(&scope);
    let tree = match file.path.is_document() {
        true => note.plain_tree(&source.text, around),
        // A link to a note that may have become private leads nowhere.
        false => {
            note.tree(&source.text, around, |target| targets.resolve(target, &file.path).map(|to| to.path.to_string()))
        }
    };
    Ok(NoteView {
        path: file.path.to_string(),
        collection: file.path.collection().to_owned(),
        hash: ChunkId::of_note(&file.path, source.hash.as_bytes()).to_string(),
        tags: note.tags,
        metadata: Value::Object(note.metadata),
        created_at: rfc3339(note.created.map_or(file.created_ms, |time| time.as_millisecond())),
        updated_at: rfc3339(note.updated.map_or(file.updated_ms, |time| time.as_millisecond())),
        obsidian_url: scope.obsidian_url(&file.path),
        body: tree.nodes,
        cut: tree.cut,
        chunks: spans(&scope, file)?,
        annotations: annotations(&scope, file.path.as_str())?,
        title: note.title,
        text: source.text,
    })
}

/// Leaves out of a note what an answer has no room for: frontmatter, the end of the text, the body, which is the text once more,
/// and remarks.
fn fit(note: &mut NoteView, mut room: Budget) {
    let names: usize = note.tags.iter().chain([&note.title]).map(|name| name.chars().count()).sum();
    let _ = room.take(names);
    if !room.try_take(frontmatter_chars(&note.metadata)) {
        note.metadata = Value::Object(serde_json::Map::new());
    }
    if room.cut(&mut note.text) || !room.try_take(note.body.iter().map(chars_of_node).sum()) {
        note.body.clear();
        note.cut = true;
    }
    note.chunks.retain(|chunk| room.take(chunk.heading_path.iter().map(|heading| heading.chars().count()).sum()));
    note.annotations.retain(|remark| room.take(chars_of(remark)));
}

fn chars_of_node(node: &Node) -> usize {
    match node {
        Node::Text(text) => text.chars().count(),
        Node::Element(element) => element.children.iter().map(chars_of_node).sum(),
    }
}

fn spans(scope: &ReadScope, file: &FileEntry) -> Result<Vec<PassageSpan>, RequestError> {
    let mut passages = Vec::with_capacity(file.chunks.len());
    for entry in &file.chunks {
        match scope.reader().chunk(entry.row) {
            Ok(chunk) => passages.extend(chunk.map(|chunk| PassageSpan {
                hash: chunk.id.to_string(),
                line_start: chunk.lines.0,
                line_end: chunk.lines.1,
                heading_path: chunk.heading_path,
            })),
            // The note can be read all the same.
            Err(error) if error.is_damage() => drop(scope.workspace().damaged(error)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(passages)
}
