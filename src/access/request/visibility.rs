//! What a request may see: a file, a line of it, and what was derived from others; and by whose word at most something is known that was
//! learned from a note.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{ReadScope, RequestError, Viewer};
use crate::access::rules::{Principal, Subject, is_agents};
use crate::base::path::VaultPath;
use crate::index::engine::{FileEntry, FileTable};
use crate::index::search::has_by_itself;
use crate::text::derive::Label;
use crate::text::derive::entries::{TrustLevel, is_trace_of, source_path};
use crate::text::note::Note;

/// What a request may see of the owner's memory and, for an agent, of its own.
///
/// A derived line is seen where all of its sources are.
pub(crate) struct Visibility {
    /// Who asks.
    pub(crate) viewer: Viewer,
    /// The owner's memory.
    pub(crate) given: ReadScope,
    /// An agent's own memory, without what others share with it.
    pub(crate) own: Option<ReadScope>,
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

/// What a note says of itself that is of others, and how far it is trusted then.
const SAID: [(&str, TrustLevel); 4] = [
    ("web", TrustLevel::Web),
    ("untrusted", TrustLevel::Web),
    ("tool", TrustLevel::Tool),
    ("agent", TrustLevel::Agent),
];

/// Collections of what programs noted, in which nobody said anything, and how far each is trusted.
const NOTED: [(&str, TrustLevel); 5] = [
    ("bookmarks", TrustLevel::Web),
    ("snippets", TrustLevel::Tool),
    ("searches", TrustLevel::Tool),
    ("files", TrustLevel::Tool),
    ("agent-activity", TrustLevel::Tool),
];
/// Speakers of conversations that are no people and no models.
pub(crate) const SPEAKING_TOOLS: [&str; 3] = ["tool", "system", "function"];
/// Where the digests of days and weeks are.
const DIGESTS: [&str; 2] = ["summaries/days/", "summaries/weeks/"];

/// How far a place may be trusted, `notes/api.md#L12`: as the least trusted of its note and of all that this was made of. A document is of
/// others, and what a program captured of the web or of other programs. Of what is not indexed nothing is known against it.
///
/// Hidden notes count as well: nobody but the person is told.
pub(crate) fn trust_of_place(files: &FileTable, place: &str) -> TrustLevel {
    files.at(source_path(place)).map_or(TrustLevel::Person, |file| trust_of_note(files, file))
}

/// The same of a note. A digest says of what programs noted how much there is, and nothing of what it says.
pub(crate) fn trust_of_note(files: &FileTable, file: &FileEntry) -> TrustLevel {
    let is_digest = DIGESTS.iter().any(|folder| file.path.as_str().starts_with(folder));
    let trust = |file: &FileEntry| match captured(file) {
        Some(_) if is_digest => said(file).unwrap_or(TrustLevel::Person),
        captured => said(file).or(captured).unwrap_or_else(|| by_kind(file)),
    };
    with_sources(files, file).into_iter().map(trust).min().unwrap_or(TrustLevel::Person)
}

/// Whether others may have put into a note what it says: it is of the web or of tools, was captured and nobody vouches for it, or a tool
/// speaks in it.
pub(super) fn may_be_planted(files: &FileTable, file: &FileEntry) -> bool {
    let by_tool = || SPEAKING_TOOLS.iter().any(|term| file.is_labelled(Label::of_speaker(term)));
    let is_captured = || file.is_labelled(Label::of_capture()) && said(file) != Some(TrustLevel::Person);
    trust_of_note(files, file) <= TrustLevel::Tool || is_captured() || by_tool()
}

/// A file, and all that it was made of, as far as that is indexed.
pub(crate) fn with_sources<'f>(files: &'f FileTable, file: &'f FileEntry) -> Vec<&'f FileEntry> {
    let (mut all, mut known) = (vec![file], HashSet::from([file.id]));
    let mut at = 0;
    while let Some(file) = all.get(at).copied() {
        let sources = file.sources.iter().filter_map(|source| files.at(source)).map(AsRef::as_ref);
        all.extend(sources.filter(|source| known.insert(source.id)));
        at += 1;
    }
    all
}

/// How far a file is trusted by what it is.
fn by_kind(file: &FileEntry) -> TrustLevel {
    if file.path.is_document() { TrustLevel::Web } else { TrustLevel::Person }
}

/// How far a file says that it is to be trusted.
fn said(file: &FileEntry) -> Option<TrustLevel> {
    let says = |value: &str| file.is_labelled(Label::of_property("trust", Some(value)));
    let less = SAID.into_iter().filter(|(word, _)| says(word)).map(|(_, trust)| trust).min();
    less.or_else(|| says("person").then_some(TrustLevel::Person))
}

/// How far what a program captured is trusted: a page of the web as such, wherever the person has moved it.
fn captured(file: &FileEntry) -> Option<TrustLevel> {
    let noted = || NOTED.into_iter().find(|(collection, _)| *collection == file.path.collection());
    if !file.is_labelled(Label::of_capture()) {
        return None;
    }
    match file.is_labelled(Label::of_property("url", None)) {
        true => Some(TrustLevel::Web),
        false => noted().map(|(_, trust)| trust),
    }
}
