//! A whole note, to be read.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::error::ServiceError;
use super::reach::Limits;
use super::start::Service;
use super::time::rfc3339;
use super::views::AnnotationView;
use crate::access::Principal;
use crate::derive::ChunkId;
use crate::engine::{FileEntry, Reader};
use crate::note::{Node, Note};
use crate::path::VaultPath;
use crate::vault::ReadError;

/// Which note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NoteParams {
    /// Its path in the vault.
    pub path: String,
    /// Of a note that is too long for `body` (1 MB), the part around this line is given, from 1; its beginning when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1)]
    pub line: Option<usize>,
}

impl NoteParams {
    /// The note with a path.
    pub fn of(path: impl Into<String>) -> Self {
        Self { path: path.into(), line: None }
    }
}

/// A note as it is on disk, with its passages as they are indexed.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct NoteView {
    /// Its path in the vault.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its collection.
    pub collection: String,
    /// The note's name: it changes when the note does.
    pub hash: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its frontmatter.
    pub metadata: Value,
    /// When it was made, as RFC 3339.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// Opens it in Obsidian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obsidian_url: Option<String>,
    /// Its whole text, frontmatter included.
    pub text: String,
    /// Its body as nodes: a text, or `{tag, attrs?, line_start?, line_end?, children}`. Raw HTML is text.
    #[schema(value_type = Vec<Value>)]
    pub body: Vec<Node>,
    /// Whether `body` is only a part of a very long note; for an agent also whether `text` is cut, and `body` is empty.
    pub cut: bool,
    /// Its passages, in the order of the text.
    pub chunks: Vec<PassageSpan>,
    /// What was written about its passages.
    pub annotations: Vec<AnnotationView>,
}

impl NoteView {
    /// The same with so many characters of the text at most, for whom there are limits. What does not fit is also left out of the
    /// body.
    #[must_use]
    pub fn within(mut self, limits: Option<Limits>) -> Self {
        let end = limits.and_then(|limits| self.text.char_indices().nth(limits.max_injected_chars));
        if let Some((end, _)) = end {
            self.text.truncate(end);
            self.body.clear();
            self.cut = true;
        }
        self
    }
}

/// Where a passage of a note is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PassageSpan {
    /// The passage's name.
    pub hash: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// The headings it stands under, outermost first.
    pub heading_path: Vec<String>,
}

impl Service {
    /// A whole note, as it is on disk.
    ///
    /// # Errors
    /// When no note in the principal's scope has the path, or it cannot be read.
    pub fn note(&self, principal: &Principal, params: &NoteParams) -> Result<NoteView, ServiceError> {
        let found = self.note_of(principal, params);
        let remarks = |note: &NoteView| note.annotations.iter().map(|remark| remark.path.clone()).collect::<Vec<_>>();
        let given = found.as_ref().map(|note| [vec![note.path.clone()], remarks(note)].concat());
        self.log_read(principal, "note", &params.path, given.unwrap_or_default());
        found
    }

    fn note_of(&self, principal: &Principal, params: &NoteParams) -> Result<NoteView, ServiceError> {
        let path = VaultPath::new(params.path.as_str())
            .map_err(|error| ServiceError::invalid(format!("`path` names no note: {error}")))?;
        let around = params.line.unwrap_or(1);
        if around == 0 {
            return Err(ServiceError::invalid("`line` is 0; lines are counted from 1"));
        }
        let absent = || ServiceError::not_found(format!("there is no note at {path}"));
        let reach = self.reach(principal)?;
        let file = reach.file(path.as_str()).ok_or_else(absent)?;
        if reach.is_agents() && !self.is_as_indexed(&reach, file) {
            return Err(absent());
        }
        let source = match self.source(&file.path) {
            Ok(source) => source,
            Err(ReadError::Gone) => return Err(absent()),
            Err(error @ ReadError::Changing) => {
                return Err(ServiceError::unavailable(format!("{path}: {error}"), "try again in a moment"));
            }
            Err(ReadError::Unfit(reason)) => return Err(ServiceError::internal(format!("{path}: {reason}"))),
        };
        let note = Note::parse(&source.text, file.path.stem());
        // The file may say since it was indexed that it is private.
        if reach.is_agents() && source.stamp != file.stamp {
            return Err(absent());
        }
        let names = Names::of(reach.files());
        // A link to a note that may have become private leads nowhere.
        let leads = |path: &String| reach.file(path).is_some_and(|file| self.is_as_indexed(&reach, file));
        let settled = |path: &String| !reach.is_agents() || leads(path);
        let tree = note.tree(&source.text, around, |target| names.resolve(target, &file.path).filter(settled));
        Ok(NoteView {
            path: file.path.to_string(),
            collection: file.path.collection().to_owned(),
            hash: ChunkId::of_note(&file.path, source.hash.as_bytes()).to_string(),
            tags: note.tags,
            metadata: Value::Object(note.metadata),
            created_at: rfc3339(note.created.map_or(file.created_ms, |time| time.as_millisecond())),
            updated_at: rfc3339(note.updated.map_or(file.updated_ms, |time| time.as_millisecond())),
            obsidian_url: self.obsidian_url(&reach, &file.path),
            body: tree.nodes,
            cut: tree.cut,
            chunks: self.passages(reach.snapshot.as_ref(), file)?,
            annotations: self.annotations_in(&reach, file.path.as_str())?,
            title: note.title,
            text: source.text,
        })
    }

    fn passages(&self, snapshot: &dyn Reader, file: &FileEntry) -> Result<Vec<PassageSpan>, ServiceError> {
        let mut passages = Vec::with_capacity(file.chunks.len());
        for entry in &file.chunks {
            match snapshot.chunk(entry.row) {
                Ok(chunk) => passages.extend(chunk.map(|chunk| PassageSpan {
                    hash: chunk.id.to_string(),
                    line_start: chunk.lines.0,
                    line_end: chunk.lines.1,
                    heading_path: chunk.heading_path,
                })),
                // The note can be read all the same.
                Err(error) if error.is_damage() => drop(self.damaged(error)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(passages)
    }
}

/// The notes that links may mean, by their names in lower case: as Obsidian, a link names a note by its path, by the end of
/// it, or by its name alone.
struct Names<'a> {
    by_stem: HashMap<String, Vec<&'a VaultPath>>,
}

impl<'a> Names<'a> {
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
