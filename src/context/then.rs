//! What stood in the files at a moment in the past, as far as they tell it, and still stands there: nothing is given that is gone or was hidden
//! since.

use std::collections::HashSet;

use crate::derive::entries::{EntriesFile, EntryShelf, EntryStatus, MemoryEntry};
use crate::derive::facts::FactPhase;
use crate::layers::EntryBook;
use crate::path::VaultPath;
use crate::request::Workspace;

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
pub(super) struct EntriesThen {
    at: i64,
    /// The file then; `None` where nobody knows what it said.
    file: Option<EntriesFile>,
}

impl EntriesThen {
    /// Those of a file that has changed since.
    pub(super) fn of(workspace: &Workspace, path: &VaultPath, at: i64) -> Self {
        Self { at, file: text_at(workspace, path, at).map(|text| EntriesFile::read(&text, EntryShelf::Known)) }
    }

    /// Whether an entry that stands in the file now counted then. Where nobody knows what the file said, by what the entry says of itself, and who
    /// took its place.
    pub(super) fn counted(&self, book: &EntryBook, entry: &MemoryEntry) -> bool {
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
        let has_begun = entry.window.from.is_some() && entry.window.phase(self.at) == FactPhase::Current;
        has_begun && status == EntryStatus::Active
    }

    fn began_later(&self, entry: &MemoryEntry) -> bool {
        entry.window.from.as_ref().and_then(|from| from.ms).is_some_and(|from| from > self.at)
    }
}
