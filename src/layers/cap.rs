//! At most so many active entries: what goes over that is archived, chosen by use, confidence and age.

use super::{LayerWriter, Layers, LayersError};
use crate::derive::chunk;
use crate::derive::entries::{EntryStatus, MemoryEntry, MemoryHolder};
use crate::note::Note;
use crate::state::UsageTable;
use crate::vault::{Action, CheckpointId, Files, read};

impl Layers {
    /// Archives active entries beyond `max`, where 0 means no limit; gives their names, and what undoes it.
    ///
    /// # Errors
    /// When a file cannot be read or changed.
    pub(crate) fn keep_to_cap(
        &self,
        files: &Files,
        holder: &MemoryHolder,
        max: usize,
        usage: &UsageTable,
    ) -> Result<(Vec<String>, Vec<CheckpointId>), LayersError> {
        let book = self.entries(holder)?;
        let active: Vec<&MemoryEntry> =
            book.entries().iter().filter(|entry| entry.status == EntryStatus::Active).collect();
        if max == 0 || active.len() <= max {
            return Ok((Vec::new(), Vec::new()));
        }
        let used = self.uses(holder, usage);
        // What stands first is oldest, unless it says since when it is so.
        let key = |at: &usize| {
            let entry = active[*at];
            let was_used = used.iter().any(|(first, last)| *first <= entry.line_end && entry.line_start <= *last);
            let since = entry.window.from.as_ref().and_then(|from| from.ms).unwrap_or(0);
            (was_used, (entry.confidence * 1000.0) as i64, since, *at)
        };
        let mut order: Vec<usize> = (0..active.len()).collect();
        order.sort_by_cached_key(key);
        let goes: Vec<String> = order[..active.len() - max].iter().map(|at| active[*at].id.clone()).collect();
        let writer = LayerWriter { files, act: Action::Edit.done_by("max_entries"), is_program: true };
        let done = self.archive_entries(&writer, holder, &goes)?;
        Ok((goes, done))
    }

    /// The lines of the passages that were ever given, to the person or to the agent whose memory it is.
    fn uses(&self, holder: &MemoryHolder, usage: &UsageTable) -> Vec<(usize, usize)> {
        let read = || {
            let path = self.entries(holder).ok()?.path.clone()?;
            let text = read(&self.root, &path, self.max_file_bytes).ok()?.text;
            let chunks = chunk(&path, &Note::parse(&text, path.stem()), &text);
            let names: Vec<u64> = chunks.iter().map(|chunk| chunk.id.to_bits()).collect();
            let readers = match holder {
                MemoryHolder::Person => vec![""],
                MemoryHolder::Agent(slug) => vec!["", slug.as_str()],
            };
            let mut lines = Vec::new();
            for reader in readers {
                let counts = usage.of(reader, &names).ok()?;
                let used = chunks.iter().zip(counts).filter(|(_, given)| given.count > 0);
                lines.extend(used.map(|(chunk, _)| chunk.lines));
            }
            Some(lines)
        };
        read().unwrap_or_default()
    }
}
