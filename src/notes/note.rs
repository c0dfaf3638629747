//! Reading a whole note.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::annotations::{annotations, chars_of};
use crate::derive::ChunkId;
use crate::engine::FileEntry;
use crate::note::{Node, Note};
use crate::path::VaultPath;
use crate::request::{ReadScope, RequestError, Room, Viewer, frontmatter_chars, rfc3339};
use crate::vault::ReadError;
use crate::wire::{NoteParams, NoteView, PassageSpan};

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
    let found = note_of(viewer, params).map(|mut note| {
        fit(&mut note, Room::of(viewer.limits(), 1));
        note
    });
    logged(viewer, params, found)
}

fn logged(
    viewer: &Viewer,
    params: &NoteParams,
    found: Result<NoteView, RequestError>,
) -> Result<NoteView, RequestError> {
    let remarks = |note: &NoteView| note.annotations.iter().map(|remark| remark.path.clone()).collect::<Vec<_>>();
    let given = found.as_ref().map(|note| [vec![note.path.clone()], remarks(note)].concat());
    viewer.log("note", &params.path, given.unwrap_or_default());
    found
}

fn note_of(viewer: &Viewer, params: &NoteParams) -> Result<NoteView, RequestError> {
    let path = VaultPath::new(params.path.as_str())
        .map_err(|error| RequestError::invalid(format!("`path` names no note: {error}")))?;
    let around = params.line.unwrap_or(1);
    if around == 0 {
        return Err(RequestError::invalid("`line` is 0; lines are counted from 1"));
    }
    let absent = || RequestError::not_found(format!("there is no note at {path}"));
    let scope = viewer.read_scope()?;
    scope.go_on()?;
    let file = scope.file(path.as_str()).ok_or_else(absent)?;
    if !scope.gives(file) {
        return Err(absent());
    }
    let source = match scope.workspace().source(&file.path) {
        Ok(source) => source,
        Err(ReadError::Gone) => return Err(absent()),
        Err(error @ ReadError::Changing) => {
            return Err(RequestError::unavailable(format!("{path}: {error}"), "try again in a moment"));
        }
        Err(ReadError::Unfit(reason)) => return Err(RequestError::internal(format!("{path}: {reason}"))),
    };
    let note = Note::parse(&source.text, file.path.stem());
    // The file may say since it was indexed that it is private.
    if scope.is_agents() && source.stamp != file.stamp {
        return Err(absent());
    }
    let names = LinkTargets::of(scope.files());
    // A link to a note that may have become private leads nowhere.
    let leads = |path: &String| !scope.is_agents() || scope.file(path).is_some_and(|file| scope.is_as_indexed(file));
    let tree = note.tree(&source.text, around, |target| names.resolve(target, &file.path).filter(leads));
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
fn fit(note: &mut NoteView, mut room: Room) {
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

/// The notes that links may mean, by their names in lower case: as Obsidian, a link names a note by its path, by the end of
/// it, or by its name alone.
struct LinkTargets<'a> {
    by_stem: HashMap<String, Vec<&'a VaultPath>>,
}

impl<'a> LinkTargets<'a> {
    fn of(files: impl Iterator<Item = &'a Arc<FileEntry>>) -> Self {
        let mut by_stem: HashMap<String, Vec<&VaultPath>> = HashMap::new();
        for file in files {
            by_stem.entry(file.path.stem().to_lowercase()).or_default().push(&file.path);
        }
        Self { by_stem }
    }

    /// The note that a link in the note at `from` means: one beside it first, then the one nearest to the root.
    fn resolve(&self, target: &str, from: &VaultPath) -> Option<String> {
        if target.is_empty() {
            return Some(from.to_string());
        }
        let wanted = normal(target, from);
        let name = wanted.rsplit('/').next().unwrap_or(&wanted);
        let stem = name.strip_suffix(".md").or_else(|| name.strip_suffix(".markdown")).unwrap_or(name);
        let folder = Path::new(from.as_str()).parent();
        let fits = |path: &&&VaultPath| {
            let path = path.as_str().to_lowercase();
            let bare = path.strip_suffix(".md").or_else(|| path.strip_suffix(".markdown")).unwrap_or(&path);
            [&path[..], bare].iter().any(|path| {
                path.strip_suffix(wanted.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('/'))
            })
        };
        let rank = |path: &&&VaultPath| {
            let beside = Path::new(path.as_str()).parent() == folder;
            (!beside, path.as_str().matches('/').count(), path.as_str().to_owned())
        };
        self.by_stem.get(stem)?.iter().filter(fits).min_by_key(rank).map(ToString::to_string)
    }
}

/// A link's target in lower case, with `./` and `../` followed from the folder of the note it stands in.
fn normal(target: &str, from: &VaultPath) -> String {
    let target = target.trim_start_matches('/').to_lowercase();
    if !target.starts_with("./") && !target.starts_with("../") {
        return target;
    }
    let folder = from.as_str().to_lowercase();
    let mut parts: Vec<&str> = folder.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
