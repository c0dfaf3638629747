//! Lines of notes as who asks sees them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::block::MemoryLine;
use super::cache::{LookedFiles, stamp};
use super::said::{without_marks, without_sources};
use super::then::{EntriesThen, lines_of, text_at};
use super::trust::is_planted;
use crate::access::is_agents;
use crate::derive::entries::{EntryShelf, MemoryEntry, MemoryHolder, is_trace_of};
use crate::derive::generated::is_generated;
use crate::derive::{USER_FILE, UserPage};
use crate::engine::FileEntry;
use crate::layers::entries_path;
use crate::note::{BlockKind, Note};
use crate::path::VaultPath;
use crate::request::{ReadScope, RequestError, Viewer, gives_history, with_sources};
use crate::wire::citation;

/// What of the vault who asks sees: the person's memory, and for an agent its own.
pub(super) struct LineSight {
    viewer: Viewer,
    pub(super) given: ReadScope,
    pub(super) own: Option<ReadScope>,
    /// Notes that have changed since then are left out, but for what is known to have stood there.
    pub(super) as_of: Option<i64>,
    looked: RefCell<LookedFiles>,
    /// What was looked up by its path already: what is not there takes a look at all that is.
    shown: RefCell<HashMap<String, bool>>,
}

/// A page as it is, and which of its lines it had at the moment that is asked about.
struct SeenPage {
    path: VaultPath,
    text: String,
    /// `None` where it has not changed since.
    then: Option<HashSet<String>>,
}

impl SeenPage {
    /// Whether a line stood there then.
    fn had(&self, line: &str) -> bool {
        self.then.as_ref().is_none_or(|then| then.contains(line.trim()))
    }
}

/// Where a person writes about themselves.
pub(super) const ABOUT: &str = "profile/";
/// What the person says in any case.
pub(super) const OVERRIDES: &str = "profile/overrides.md";
/// The page of who the person is.
pub(super) const PROFILE: &str = "profile/profile.md";
/// The page of what is known of the person.
const ENTRIES_OF_PERSON: &str = "memories/user.md";
/// Maximum length of a line of a page of memory, in characters; what is longer is a document.
const MAX_LINE_CHARS: usize = 2_000;

impl LineSight {
    pub(super) fn of(viewer: &Viewer, as_of: Option<i64>) -> Result<Self, RequestError> {
        let given = viewer.read_scope()?;
        let own = viewer.memory_of_its_own()?;
        Ok(Self { viewer: viewer.clone(), given, own, as_of, looked: RefCell::default(), shown: RefCell::default() })
    }

    /// What is seen, first of the person's memory.
    pub(super) fn scopes(&self) -> Vec<&ReadScope> {
        std::iter::once(&self.given).chain(&self.own).collect()
    }

    /// A number that is another when something that is seen has changed, and only then.
    pub(super) fn fingerprint(&self) -> u64 {
        if !self.given.is_agents() {
            return self.given.reader().generation();
        }
        let of = |file: &Arc<FileEntry>| {
            let (head, _) = file.hash.split_at(8);
            let hash = head.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
            hash ^ u64::from(file.id).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        self.scopes().into_iter().flat_map(ReadScope::files).fold(0, |sum, file| sum ^ of(file))
    }

    /// The files that were looked at, as they are.
    pub(super) fn looked(&self) -> LookedFiles {
        self.looked.borrow().clone()
    }

    /// Notes what a file is like on disk, before it is read.
    pub(super) fn look_at(&self, path: &VaultPath) {
        let now = || stamp(self.given.workspace(), path);
        self.looked.borrow_mut().entry(path.clone()).or_insert_with(now);
    }

    /// Notes that a file is given, or decides what is, as it was indexed, and so all that it was made of: where one of them is another by
    /// now, it may be private. Only of what is seen; of what is hidden nobody learns when it changes.
    pub(super) fn look_at_indexed(&self, scope: &ReadScope, path: &str) {
        let files = scope.reader().files();
        let Some(file) = files.at(path) else { return };
        with_sources(files, file).into_iter().for_each(|file| self.look_at_alone(file));
    }

    fn look_at_alone(&self, file: &FileEntry) {
        self.looked.borrow_mut().entry(file.path.clone()).or_insert(Some(file.stamp));
    }

    /// The file at a path, if it is seen as a whole and may be given.
    pub(super) fn file_as_now(&self, path: &str) -> Option<&Arc<FileEntry>> {
        let seen = |scope: &&ReadScope| {
            scope.file(path).is_some_and(|file| {
                self.look_at_indexed(scope, file.path.as_str());
                scope.gives(file)
            })
        };
        let scope = self.scopes().into_iter().find(seen)?;
        scope.file(path)
    }

    /// The same, if it has not changed since the moment that is asked about.
    pub(super) fn file(&self, path: &str) -> Option<&Arc<FileEntry>> {
        self.file_as_now(path).filter(|file| self.is_of_then(file))
    }

    /// Whether who asks may read a file of a history of facts.
    pub(super) fn gives_history(&self, path: &VaultPath) -> bool {
        gives_history(&self.viewer, path)
    }

    /// The agent that asks.
    pub(super) fn agent(&self) -> Option<&str> {
        self.viewer.agent()
    }

    /// Whether a place is seen: `notes/a.md#L3`.
    pub(super) fn shows(&self, place: &str) -> bool {
        if !self.given.is_agents() {
            return true;
        }
        let path = place.split('#').next().unwrap_or_default();
        // What it has told itself.
        if self.viewer.agent().is_some_and(|own| is_trace_of(path, own)) {
            return true;
        }
        if let Some(shown) = self.shown.borrow().get(path) {
            return *shown;
        }
        // Of the page of entries each line is seen by its own sources, which are named beside it.
        let page = || self.file_by_itself(path).inspect(|file| self.look_at_alone(file));
        let is_page = || path == ENTRIES_OF_PERSON && page().is_some();
        let shown = is_page() || self.file(path).is_some();
        self.shown.borrow_mut().insert(path.to_owned(), shown);
        shown
    }

    /// Whether a file is seen by what it is itself.
    pub(super) fn sees(&self, path: &str) -> bool {
        let files = self.given.reader().files();
        files.at(path).is_some_and(|file| self.viewer.sees_by_itself(files, file, is_agents(path)))
    }

    /// Whether a file is on disk as it was indexed.
    pub(super) fn is_as_indexed(&self, path: &str) -> bool {
        self.given.reader().files().at(path).is_some_and(|file| self.given.workspace().has_stamp(file))
    }

    /// Whether a file has not changed since the moment that is asked about.
    pub(super) fn is_of_then(&self, file: &FileEntry) -> bool {
        self.as_of.is_none_or(|as_of| file.updated_ms <= as_of)
    }

    /// The file at a path, if it is seen by what it is itself, and is on disk as it was indexed.
    fn file_by_itself(&self, path: &str) -> Option<&Arc<FileEntry>> {
        let files = self.given.reader().files();
        let file = files.at(path)?;
        let is_seen =
            || self.viewer.sees_by_itself(files, file, is_agents(path)) && self.given.workspace().has_stamp(file);
        (!self.given.is_agents() || is_seen()).then_some(file)
    }

    /// A page whose lines are shown each by its own sources.
    fn page(&self, path: &str) -> Option<SeenPage> {
        if let Ok(path) = VaultPath::new(path) {
            // One that is not there yet counts as soon as it is.
            self.look_at(&path);
        }
        let file = self.file_by_itself(path)?;
        let then = match self.as_of.filter(|_| !self.is_of_then(file)) {
            Some(at) => Some(lines_of(&text_at(self.given.workspace(), &file.path, at)?)),
            None => None,
        };
        let source = self.given.workspace().source(&file.path).ok()?;
        let is_as_seen = !self.given.is_agents() || source.stamp == file.stamp;
        is_as_seen.then(|| SeenPage { path: file.path.clone(), text: source.text, then })
    }

    /// The lines of a page that say something, but for those whose sources are not seen. Of what was made a line without a source is for
    /// the person alone.
    pub(super) fn lines(&self, path: &str) -> Vec<MemoryLine> {
        self.cited_lines(path).into_iter().map(|(line, _)| line).collect()
    }

    /// The same, each with the places that it names as its sources.
    pub(super) fn cited_lines(&self, path: &str) -> Vec<(MemoryLine, Vec<String>)> {
        let Some(page) = self.page(path) else { return Vec::new() };
        let SeenPage { path, text, .. } = &page;
        let note = Note::parse(text, path.stem());
        if self.given.is_agents() && note.is_private() {
            return Vec::new();
        }
        let needs_source = self.given.is_agents() && path.as_str() == PROFILE && is_generated(&note.metadata);
        let mut lines = Vec::new();
        let said = |kind: BlockKind| {
            !matches!(kind, BlockKind::Heading(_) | BlockKind::Comment | BlockKind::Rule | BlockKind::Other)
        };
        for block in note.blocks.iter().filter(|block| said(block.kind)) {
            let (first, last) =
                (note.lines.line_of(block.span.start), note.lines.line_of(block.span.end.saturating_sub(1)));
            for number in first..=last {
                let line = note.lines.span(number);
                let span = line.start.max(block.span.start)..line.end.min(block.span.end);
                let (said, _) = without_sources(without_marks(&note.visible(text, span)));
                // Those that a comment hides count too.
                let (_, sources) = without_sources(&text[line]);
                let is_shown = sources.iter().all(|source| self.shows(source)) && !(needs_source && sources.is_empty());
                if said.is_empty() || !is_shown || !page.had(&text[note.lines.span(number)]) {
                    continue;
                }
                let text = said.chars().take(MAX_LINE_CHARS).collect();
                let line = MemoryLine::new(text, citation(path.as_str(), number as u32, number as u32));
                lines.push((line, sources.into_iter().map(str::to_owned).collect()));
            }
        }
        lines
    }

    /// The entries of a memory that count at a moment, with their places, but for those whose sources are not seen.
    pub(super) fn entries(&self, holder: &MemoryHolder, at: i64) -> Vec<(MemoryEntry, String)> {
        let Ok(path) = entries_path(holder, EntryShelf::Known) else { return Vec::new() };
        self.look_at(&path);
        let Ok(book) = self.given.workspace().layers().entries(holder) else { return Vec::new() };
        if self.given.is_agents() {
            // What was read has to be what was seen.
            let seen = self.file_by_itself(path.as_str());
            if seen.is_none_or(|file| Some(file.stamp) != book.stamp) {
                return Vec::new();
            }
        }
        let at = self.as_of.unwrap_or(at);
        let file = self.given.reader().files().at(path.as_str());
        let is_old = file.map_or(self.as_of.is_none(), |file| self.is_of_then(file));
        let then = (!is_old).then(|| EntriesThen::of(self.given.workspace(), &path, at));
        let counts = |entry: &&MemoryEntry| {
            let counted = then.as_ref().map_or_else(|| entry.counts_at(at), |then| then.counted(&book, entry));
            counted && entry.sources.iter().all(|source| self.shows(source))
        };
        let place = |entry: &MemoryEntry| citation(path.as_str(), entry.line_start as u32, entry.line_end as u32);
        book.entries().iter().filter(counts).map(|entry| (entry.clone(), place(entry))).collect()
    }

    /// What the person writes about themselves in `profile/`, beside what is said in any case and the page that is made.
    pub(super) fn about(&self) -> Vec<MemoryLine> {
        let is_about = |path: &&str| path.starts_with(ABOUT) && ![OVERRIDES, PROFILE].contains(path);
        let mut paths: Vec<&str> = self.given.files().map(|file| file.path.as_str()).filter(is_about).collect();
        paths.sort_unstable();
        let files = self.given.reader().files();
        paths.retain(|path| self.file_as_now(path).is_some_and(|file| !is_planted(files, file)));
        paths.into_iter().flat_map(|path| self.lines(path)).collect()
    }

    /// What the person is called, as `USER.md` says.
    pub(super) fn user_name(&self) -> Option<String> {
        let page = self.page(USER_FILE)?;
        UserPage::read(&Note::parse(&page.text, page.path.stem()).metadata).name
    }

    /// What `USER.md` says of the person.
    pub(super) fn user(&self) -> Vec<MemoryLine> {
        let Some(page) = self.page(USER_FILE) else { return Vec::new() };
        let SeenPage { path, text, .. } = &page;
        let note = Note::parse(text, path.stem());
        if self.given.is_agents() && note.is_private() {
            return Vec::new();
        }
        let line_of = |key: &str| {
            text.lines().position(|line| line.trim_start().starts_with(&format!("{key}:"))).map_or(1, |at| at + 1)
                as u32
        };
        let was_told = |key: &str| page.had(text.lines().nth(line_of(key) as usize - 1).unwrap_or_default());
        let told = UserPage::read(&note.metadata).told().into_iter().filter(|(key, _)| was_told(key));
        let told = told.map(|(key, text)| MemoryLine::new(text, citation(path.as_str(), line_of(key), line_of(key))));
        let mut lines: Vec<MemoryLine> = told.collect();
        lines.extend(self.lines(USER_FILE));
        lines
    }
}
