//! At most so many active entries: what goes over that is archived, chosen by use, confidence and age.

use super::{LayerWriter, Layers};
use crate::derive::chunk;
use crate::derive::entries::{EntryStatus, MemoryEntry, MemoryHolder, entry_key};
use crate::items::ItemError;
use crate::note::Note;
use crate::path::VaultPath;
use crate::state::UsageTable;
use crate::vault::{Action, CheckpointId, Files, read};

/// How an entry was given to anybody so far: what was of less use goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EntryUse {
    Never,
    /// In a passage that a search found.
    InPassage,
    /// In a context: itself, or a line of the profile that was made of it.
    Itself,
}

impl Layers {
    /// Archives active entries beyond `max`, where 0 means no limit; gives their names, and what undoes it. Those that were `added` now could
    /// not be given yet, and go no sooner than what was.
    ///
    /// # Errors
    /// When a file cannot be read or changed.
    pub(crate) fn keep_to_cap(
        &self,
        files: &Files,
        holder: &MemoryHolder,
        added: &[String],
        max: usize,
        usage: &UsageTable,
    ) -> Result<(Vec<String>, Vec<CheckpointId>), ItemError> {
        let book = self.entries(holder)?;
        let active: Vec<&MemoryEntry> =
            book.entries().iter().filter(|entry| entry.status == EntryStatus::Active).collect();
        if max == 0 || active.len() <= max {
            return Ok((Vec::new(), Vec::new()));
        }
        let uses = book.path.as_ref().and_then(|path| self.uses(path, &active, usage));
        // What stands first is oldest, unless it says since when it is so.
        let key = |at: &usize| {
            let entry = active[*at];
            let used = match &uses {
                _ if added.contains(&entry.id) => EntryUse::Itself,
                Some(uses) => uses[*at],
                None => EntryUse::Never,
            };
            let since = entry.window.from.as_ref().and_then(|from| from.ms).unwrap_or(0);
            (used, (entry.confidence * 1000.0) as i64, since, *at)
        };
        let mut order: Vec<usize> = (0..active.len()).collect();
        order.sort_by_cached_key(key);
        let goes: Vec<String> = order[..active.len() - max].iter().map(|at| active[*at].id.clone()).collect();
        let writer = LayerWriter { files, act: Action::Edit.done_by("max_entries"), is_program: true };
        let done = self.archive_entries(&writer, holder, &goes)?;
        Ok((goes, done))
    }

    /// How each of these entries of a file was given so far; `None` where that cannot be read, which keeps no entry from being added.
    fn uses(&self, path: &VaultPath, entries: &[&MemoryEntry], usage: &UsageTable) -> Option<Vec<EntryUse>> {
        let keys: Vec<u64> = entries.iter().map(|entry| entry_key(path, &entry.id)).collect();
        let given = usage.given_to_anybody(&keys).ok()?;
        let passages = self.passages_given(path, usage).unwrap_or_default();
        let in_passage = |entry: &MemoryEntry| {
            passages.iter().any(|(first, last)| *first <= entry.line_end && entry.line_start <= *last)
        };
        let how = |(entry, given): (&&MemoryEntry, bool)| match given {
            true => EntryUse::Itself,
            false if in_passage(entry) => EntryUse::InPassage,
            false => EntryUse::Never,
        };
        Some(entries.iter().zip(given).map(how).collect())
    }

    /// The lines of the passages of a file that were ever given.
    fn passages_given(&self, path: &VaultPath, usage: &UsageTable) -> Option<Vec<(usize, usize)>> {
        let text = read(&self.store.root, path, self.store.max_file_bytes).ok()?.text;
        let chunks = chunk(path, &Note::parse(&text, path.stem()), &text);
        let names: Vec<u64> = chunks.iter().map(|chunk| chunk.id.to_bits()).collect();
        let given = usage.given_to_anybody(&names).ok()?;
        Some(chunks.iter().zip(given).filter(|(_, given)| *given).map(|(chunk, _)| chunk.lines).collect())
    }
}
