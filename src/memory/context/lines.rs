//! The lines of notes that a context may have, and what stood there at a moment in the past, as far as the files tell it, and still stands
//! there: nothing is given that is gone or was hidden since.

use std::collections::HashSet;
use std::sync::Arc;

use super::block::MemoryLine;
use super::passages::{without_marks, without_sources};
use crate::access::request::{ReadScope, RequestError, SPEAKING_TOOLS, Viewer, Visibility, Workspace, trust_of_note};
use crate::base::config::MemoryScope;
use crate::base::path::VaultPath;
use crate::index::engine::{FileEntry, FileTable};
use crate::memory::items::entries_path;
use crate::serve::wire::{HitView, citation};
use crate::text::derive::entries::{EntriesFile, EntryFileKind, MemoryEntry, TrustLevel};
use crate::text::derive::generated::is_generated;
use crate::text::derive::words::is_word;
use crate::text::derive::{CONVERSATIONS, Label, Speakers, USER_FILE, UserPage, goes_on_and_begins};
use crate::text::note::{BlockKind, Note};

/// The lines of notes that a context may have.
pub(super) struct NoteLines {
    pub(super) visibility: Visibility,
    /// Notes that have changed since then are left out, but for what is known to have stood there.
    pub(super) as_of: Option<i64>,
}

/// A page as it is, and which of its lines it had at the moment that is asked about.
struct SeenPage {
    path: VaultPath,
    text: String,
    note: Note,
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

impl NoteLines {
    pub(super) fn of(viewer: &Viewer, as_of: Option<i64>) -> Result<Self, RequestError> {
        Ok(Self { visibility: Visibility::of(viewer)?, as_of })
    }

    /// The owner's memory.
    pub(super) fn given(&self) -> &ReadScope {
        &self.visibility.given
    }

    /// The file at a path, if it is seen as a whole.
    pub(super) fn file_as_now(&self, path: &str) -> Option<&Arc<FileEntry>> {
        self.visibility.file(path).map(|(_, file)| file)
    }

    /// The same, if it has not changed since the moment that is asked about.
    pub(super) fn file(&self, path: &str) -> Option<&Arc<FileEntry>> {
        self.file_as_now(path).filter(|file| self.is_of_then(file))
    }

    /// Whether a line may be given that was derived from a place: `notes/a.md#L3`.
    pub(super) fn shows(&self, place: &str) -> bool {
        // Of the page of entries each line is seen by its own sources, which are named beside it.
        let page = |path: &str| path == ENTRIES_OF_PERSON && self.file_by_itself(path).is_some();
        self.visibility.sees_source_where(place, |path| page(path) || self.file(path).is_some())
    }

    /// Whether a file has not changed since the moment that is asked about.
    pub(super) fn is_of_then(&self, file: &FileEntry) -> bool {
        self.as_of.is_none_or(|as_of| file.updated_ms <= as_of)
    }

    /// The file at a path, if it is seen by what it is itself, and is on disk as it was indexed.
    fn file_by_itself(&self, path: &str) -> Option<&Arc<FileEntry>> {
        self.visibility
            .file_by_itself(path)
            .filter(|file| !self.visibility.is_agents() || self.given().workspace().has_stamp(file))
    }

    /// A page whose lines are shown each by its own sources.
    fn page(&self, path: &str) -> Option<SeenPage> {
        let file = self.file_by_itself(path)?;
        let then = match self.as_of.filter(|_| !self.is_of_then(file)) {
            Some(at) => {
                let had = text_at(self.given().workspace(), &file.path, at)?;
                Some(had.lines().map(|line| line.trim().to_owned()).collect())
            }
            None => None,
        };
        let source = self.given().workspace().source(&file.path).ok()?;
        let note = Note::parse(&source.text, file.path.stem());
        let is_seen = !self.visibility.is_agents() || source.stamp == file.stamp && !note.is_private();
        is_seen.then(|| SeenPage { path: file.path.clone(), text: source.text, note, then })
    }

    /// The lines of a page that say something, but for those whose sources are not seen. Of what was made a line without a source is for
    /// the person alone.
    pub(super) fn lines(&self, path: &str) -> Vec<MemoryLine> {
        let Some(page) = self.page(path) else { return Vec::new() };
        let SeenPage { path, text, note, .. } = &page;
        let needs_source = self.visibility.is_agents() && path.as_str() == PROFILE && is_generated(&note.metadata);
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
                lines.push(MemoryLine::new(text, citation(path.as_str(), number as u32, number as u32)));
            }
        }
        lines
    }

    /// The entries of a memory that count at a moment, with their places, but for those whose sources are not seen.
    pub(super) fn entries(&self, holder: &MemoryScope, at: i64) -> Vec<(MemoryEntry, String)> {
        let Ok(path) = entries_path(holder, EntryFileKind::Known) else { return Vec::new() };
        let Ok(book) = self.given().workspace().entry_store.entries(holder) else { return Vec::new() };
        if self.visibility.is_agents() {
            // What was read has to be what was seen.
            let seen = self.file_by_itself(path.as_str());
            if seen.is_none_or(|file| Some(file.stamp) != book.stamp) {
                return Vec::new();
            }
        }
        let at = self.as_of.unwrap_or(at);
        let file = self.given().reader().files().at(path.as_str());
        let is_old = file.map_or(self.as_of.is_none(), |file| self.is_of_then(file));
        let then = (!is_old).then(|| {
            let had = text_at(self.given().workspace(), &path, at).unwrap_or_default();
            EntriesFile::read(&had, EntryFileKind::Known)
        });
        let counts = |entry: &&MemoryEntry| {
            let counted = match &then {
                Some(then) => then.get(&entry.id).is_some_and(|was| was.text == entry.text && was.counts_at(at)),
                None => entry.counts_at(at),
            };
            counted && entry.sources.iter().all(|source| self.shows(source))
        };
        let place = |entry: &MemoryEntry| citation(path.as_str(), entry.line_start as u32, entry.line_end as u32);
        book.entries.iter().filter(counts).map(|entry| (entry.clone(), place(entry))).collect()
    }

    /// What the person writes about themselves in `profile/`, beside what is said in any case and the page that is made.
    pub(super) fn about(&self) -> Vec<MemoryLine> {
        let is_about = |path: &&str| path.starts_with(ABOUT) && ![OVERRIDES, PROFILE].contains(path);
        let mut paths: Vec<&str> = self.given().files().map(|file| file.path.as_str()).filter(is_about).collect();
        paths.sort_unstable();
        let files = self.given().reader().files();
        paths.retain(|path| self.file_as_now(path).is_some_and(|file| !is_planted(files, file)));
        paths.into_iter().flat_map(|path| self.lines(path)).collect()
    }

    /// What the person is called, as `USER.md` says.
    pub(super) fn user_name(&self) -> Option<String> {
        UserPage::read(&self.page(USER_FILE)?.note.metadata).name
    }

    /// What `USER.md` says of the person.
    pub(super) fn user(&self) -> Vec<MemoryLine> {
        let Some(page) = self.page(USER_FILE) else { return Vec::new() };
        let SeenPage { path, text, note, .. } = &page;
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

/// Minimum length of a name, in letters: shorter ones are words of any text.
const MIN_LETTERS: usize = 4;
/// Maximum length of a name, in words.
const MAX_WORDS: usize = 4;
/// Maximum number of words of a question that are looked at.
const MAX_LOOKED: usize = 200;

/// The longest run of words that a note which is seen is called, if any. A name of one word has to begin as names do, unless the script has
/// no capitals: `notes`, `plan` and `ideas` are words before they are titles.
pub(super) fn named(query: &str, notes: &NoteLines) -> Option<String> {
    let scopes: Vec<&ReadScope> = notes.visibility.scopes().collect();
    let runs = query.split(|character: char| !is_word(character) && !matches!(character, '\'' | '-' | '_'));
    let words: Vec<&str> = runs.filter(|run| !run.is_empty()).take(MAX_LOOKED).collect();
    for length in (1..=MAX_WORDS.min(words.len())).rev() {
        for run in words.windows(length) {
            let name = run.join(" ");
            let letters = name.chars().filter(|character| is_word(*character)).count();
            let begins = name.chars().next().is_some_and(|first| !first.is_lowercase());
            if letters < MIN_LETTERS || (length == 1 && !begins) {
                continue;
            }
            if is_known(&name, &scopes) {
                return Some(name);
            }
        }
    }
    None
}

/// Whether a note that is given is called so.
pub(super) fn is_known(name: &str, scopes: &[&ReadScope]) -> bool {
    let Some(label) = Label::of_name(name) else { return false };
    scopes.iter().any(|scope| {
        let files = scope.reader().files();
        let called = files.facets().labelled(label);
        called.iter().filter_map(|id| files.get(id)).any(|file| scope.has(file) && scope.gives(file))
    })
}

/// Maximum number of chunks of a turn that are looked at to find who speaks. Of a longer turn it is not known.
const MAX_TURN_CHUNKS: usize = 1_000;

/// Whether a note, or one that it was made of, is of the web or of tools, was noted by a program, or is a document: most are of others.
pub(super) fn is_planted(files: &FileTable, file: &FileEntry) -> bool {
    trust_of_note(files, file) <= TrustLevel::Tool
}

/// Whether a hit may be given to who did not ask for it.
pub(super) fn is_trusted(scope: &ReadScope, hit: &HitView) -> bool {
    let files = scope.reader().files();
    let Some(file) = files.at(&hit.chunk.path) else { return false };
    !(is_planted(files, file) || is_of_a_tool(scope, file, hit))
}

/// Whether a tool or a program speaks in the passage of a hit. Where that cannot be told, one does.
fn is_of_a_tool(scope: &ReadScope, file: &FileEntry, hit: &HitView) -> bool {
    if hit.chunk.collection != CONVERSATIONS
        || !SPEAKING_TOOLS.iter().any(|term| file.is_labelled(Label::of_speaker(term)))
    {
        return false;
    }
    speakers(scope, file, hit).is_none_or(|terms| terms.iter().any(|term| SPEAKING_TOOLS.contains(&term.as_str())))
}

/// Who speaks in the passage of a hit, as terms. A long turn is several chunks, of which only the first says whose it is.
fn speakers(scope: &ReadScope, file: &FileEntry, hit: &HitView) -> Option<Vec<String>> {
    let body = |at: usize| {
        let chunk = scope.reader().chunk(file.chunks.get(at)?.row).ok()??;
        Some(chunk.text.get(chunk.body_start..)?.to_owned())
    };
    let own = file.chunks.iter().position(|chunk| chunk.id.to_string() == hit.chunk.hash)?;
    let (before, after) = file.chunks.split_at(own);
    // A passage may be given with what stands around it.
    let first = before.partition_point(|chunk| chunk.line < hit.chunk.line_start);
    let end = own + after.partition_point(|chunk| chunk.line <= hit.chunk.line_end).max(1);
    let (mut terms, mut speakers) = (Vec::new(), Speakers::of(CONVERSATIONS));
    if goes_on_and_begins(&body(first)?).0 {
        for (looked, at) in (0..first).rev().enumerate() {
            let text = body(at)?;
            if goes_on_and_begins(&text).1 {
                speakers.next(&text);
                break;
            }
            if looked >= MAX_TURN_CHUNKS {
                return None;
            }
        }
    }
    for at in first..end {
        terms.extend(speakers.next(&body(at)?));
    }
    Some(terms)
}

/// The text of a file that has changed since a moment, as it was then: the first change that the program made after it kept that, where the file
/// was not touched in between.
fn text_at(workspace: &Workspace, path: &VaultPath, at: i64) -> Option<String> {
    let had = workspace.files().ok()?.content_at(path, at).ok()??;
    String::from_utf8(had).ok()
}
