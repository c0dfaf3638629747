//! What a request may see: a file, a line of it, and what was derived from others.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::{ReadScope, RequestError, Viewer};
use crate::access::rules::{Principal, Subject, is_agents};
use crate::base::path::VaultPath;
use crate::index::engine::FileEntry;
use crate::index::search::has_by_itself;
use crate::text::derive::entries::{is_trace_of, source_path};
use crate::text::note::Note;

/// What a request may see of the owner's memory and, for an agent, of its own.
///
/// A derived line is seen where all of its sources are.
pub(crate) struct Visibility {
    viewer: Viewer,
    given: ReadScope,
    own: Option<ReadScope>,
    /// Sources that were looked up.
    known: RefCell<HashMap<String, bool>>,
}

impl Visibility {
    /// # Errors
    /// When the index is not open yet.
    pub(crate) fn of(viewer: &Viewer) -> Result<Self, RequestError> {
        let (given, own) = (viewer.read_scope()?, viewer.memory_of_its_own()?);
        Ok(Self { viewer: viewer.clone(), given, own, known: RefCell::default() })
    }

    /// Who asks.
    pub(crate) fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// The owner's memory.
    pub(crate) fn given(&self) -> &ReadScope {
        &self.given
    }

    /// An agent's own memory, without what others share with it.
    pub(crate) fn own(&self) -> Option<&ReadScope> {
        self.own.as_ref()
    }

    /// Both, the owner's first.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &ReadScope> {
        std::iter::once(&self.given).chain(&self.own)
    }

    /// Whether an agent asks, who must not distinguish a hidden place from a missing one.
    pub(crate) fn is_agents(&self) -> bool {
        self.given.is_agents()
    }

    /// The file at a path, where it is seen as a whole and, for an agent, is on disk as it was indexed; with the scope that has it.
    pub(crate) fn file(&self, path: &str) -> Option<(&ReadScope, &Arc<FileEntry>)> {
        self.scopes().find_map(|scope| Some((scope, scope.file(path).filter(|file| scope.gives(file))?)))
    }

    /// The file at a path, where it is seen by its own place, tags and frontmatter: then each of its lines is seen where the line's own
    /// sources are.
    pub(crate) fn file_by_itself(&self, path: &str) -> Option<&Arc<FileEntry>> {
        let is_own = is_agents(path);
        let scope = self.own.as_ref().filter(|_| is_own).unwrap_or(&self.given);
        let files = scope.reader().files();
        let rights = || if is_own { self.viewer.rights_to_its_own() } else { self.viewer.reading_rights() };
        files.at(path).filter(|file| !self.is_agents() || has_by_itself(&rights(), files, file.id))
    }

    /// Whether a place that something was derived from is seen: `notes/a.md#L3`, or a trace that the agent sent itself.
    pub(crate) fn sees_source(&self, place: &str) -> bool {
        self.sees_source_where(place, |path| self.file(path).is_some())
    }

    /// The same where `is_seen` says of a path whether it is; it is asked once for each.
    pub(crate) fn sees_source_where(&self, place: &str, is_seen: impl FnOnce(&str) -> bool) -> bool {
        if !self.is_agents() || self.viewer.agent().is_some_and(|own| is_trace_of(place, own)) {
            return true;
        }
        let path = source_path(place);
        if let Some(known) = self.known.borrow().get(path) {
            return *known;
        }
        let is_seen = is_seen(path);
        self.known.borrow_mut().insert(path.to_owned(), is_seen);
        is_seen
    }

    /// Whether a line that was derived from these places is seen: where all of them are.
    pub(crate) fn sees_derived(&self, sources: &[String]) -> bool {
        sources.iter().all(|source| self.sees_source(source))
    }

    /// Whether a history of facts is seen, by its place and its frontmatter: it is in no index.
    pub(crate) fn sees_history(&self, path: &VaultPath) -> bool {
        let (workspace, Principal::Agent(caller)) = (self.viewer.workspace(), self.viewer.principal()) else {
            return true;
        };
        if !workspace.on_disk(path).exists() {
            return true;
        }
        let Ok(source) = workspace.source(path) else { return false };
        let note = Note::parse(head(&source.text), path.stem());
        let private = note.is_private() || workspace.is_private(path);
        let subject = Subject { path: path.as_str(), tags: &note.tags, doubtful: &note.doubtful, private };
        match (is_agents(path.as_str()), &caller.policy.grant) {
            (true, _) => !private,
            (false, grant) => grant.as_ref().is_some_and(|grant| grant.refusal(&subject).is_none()),
        }
    }
}

/// Maximum length of the head in which a history without frontmatter is looked at, in characters.
const MAX_HEAD_CHARS: usize = 4096;

/// The frontmatter of a history, or its first lines: the rest is the program's.
fn head(text: &str) -> &str {
    let closed = text.find("\n---\n").filter(|_| text.starts_with("---")).map(|at| at + "\n---\n".len());
    let first = || text.char_indices().map(|(at, _)| at).nth(MAX_HEAD_CHARS).unwrap_or(text.len());
    &text[..closed.unwrap_or_else(first)]
}
