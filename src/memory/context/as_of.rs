//! What stood in the files at a moment in the past, as far as they tell it, and still stands there: nothing is given that is gone or was hidden
//! since.

use std::collections::HashSet;

use super::block::MemoryLine;
use super::likeness::QuestionWords;
use super::lines::{NoteLines, is_planted};
use crate::access::request::Workspace;
use crate::base::config::MemoryScope;
use crate::base::path::VaultPath;
use crate::memory::items::EntriesSnapshot;
use crate::serve::wire::citation;
use crate::text::derive::entries::{EntriesFile, EntryFileKind, EntryStatus, MemoryEntry};
use crate::text::derive::facts::{FactState, full_name, windows};

/// The text of a file that has changed since a moment, as it was then: the first change that the program made after it kept that, where the file
/// was not touched in between.
pub(super) fn text_at(workspace: &Workspace, path: &VaultPath, at: i64) -> Option<String> {
    let had = workspace.files().ok()?.content_at(path, at).ok()??;
    String::from_utf8(had).ok()
}

/// The lines of a text, each without the blanks around it.
pub(super) fn lines_of(text: &str) -> HashSet<String> {
    text.lines().map(|line| line.trim().to_owned()).collect()
}

/// Entries of a file as they were.
pub(super) struct EntriesAsOf {
    at: i64,
    /// The file then; `None` where nobody knows what it said.
    file: Option<EntriesFile>,
}

impl EntriesAsOf {
    /// Those of a file that has changed since.
    pub(super) fn of(workspace: &Workspace, path: &VaultPath, at: i64) -> Self {
        Self { at, file: text_at(workspace, path, at).map(|text| EntriesFile::read(&text, EntryFileKind::Known)) }
    }

    /// Whether an entry that stands in the file now counted then. Where nobody knows what the file said, by what the entry says of itself, and who
    /// took its place.
    pub(super) fn counted(&self, book: &EntriesSnapshot, entry: &MemoryEntry) -> bool {
        if let Some(file) = &self.file {
            let was = file.get(&entry.id).filter(|was| was.text == entry.text);
            return was.is_some_and(|was| was.counts_at(self.at));
        }
        let status = match &entry.status {
            EntryStatus::Superseded(by) if book.get(by).is_some_and(|winner| self.began_later(winner)) => {
                EntryStatus::Active
            }
            status => status.clone(),
        };
        let has_begun = entry.window.from.is_some() && entry.window.phase(self.at) == FactState::Current;
        has_begun && status == EntryStatus::Active
    }

    fn began_later(&self, entry: &MemoryEntry) -> bool {
        entry.window.begin().is_some_and(|from| from > self.at)
    }
}

/// Maximum number of facts of then that are given for a question.
const MAX_FACTS: usize = 10;

/// Facts as they were known then, of files that have changed since: those that share words with a question, the likest first. The histories tell
/// them; a file that has not changed is found as any note is.
pub(super) fn facts_of(notes: &NoteLines, query: &str, at: i64) -> Vec<MemoryLine> {
    let workspace = notes.given().workspace();
    let mut words = QuestionWords::of(query, workspace.config.search.stemmer);
    let fact_store = &workspace.fact_store;
    let mut found = Vec::new();
    let own = notes.visibility.viewer().agent().map(|slug| MemoryScope::Agent(slug.to_owned()));
    for scope in std::iter::once(MemoryScope::User).chain(own) {
        let Ok(path) = fact_store.path(&scope) else { continue };
        let Some(file) = notes.file_as_now(path.as_str()) else { continue };
        if notes.is_of_then(file) || is_planted(notes.given().reader().files(), file) {
            continue;
        }
        let Ok(book) = fact_store.book(&scope) else { continue };
        // What was read has to be what was seen.
        if notes.visibility.is_agents() && book.stamp != Some(file.stamp) {
            continue;
        }
        book.history_paths().for_each(|path| notes.look_at(&path));
        if !book.history_paths().all(|path| notes.visibility.sees_history(&path)) {
            continue;
        }
        for (namespace, key) in book.history.names() {
            let known = book.history.of(namespace, key).filter(|change| change.learned <= at);
            let windows = windows(known);
            let Some(window) = windows.iter().find(|window| window.holds(at)) else { continue };
            let text = format!("{}: {}", full_name(namespace, key), window.text);
            let likeness = words.in_text(&text.replace(['_', '/', '-', '.'], " "));
            if likeness > 0 {
                let line = book.facts.get(namespace, key).map_or(1, |fact| fact.line as u32);
                found.push((likeness, MemoryLine::new(text, citation(path.as_str(), line, line))));
            }
        }
    }
    found.sort_by(|(one, a), (two, b)| two.cmp(one).then_with(|| a.text.cmp(&b.text)));
    found.truncate(MAX_FACTS);
    found.into_iter().map(|(_, line)| line).collect()
}
