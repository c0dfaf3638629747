//! Changing entries: the lines of one file, as one change.

use super::{EntryStore, entries_path};
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::memory::items::ItemError;
use crate::memory::items::store::edit;
use crate::text::derive::ItemEditError;
use crate::text::derive::entries::{
    EntriesFile, EntryEdit, EntryFileKind, MemoryHolder, edited, lost_entries, with_sources,
};
use crate::text::note::{Note, with_property};
use crate::vault::disk::{Act, CheckpointId, Files, NoteEdit};

/// Who changes entries.
#[derive(Clone, Copy)]
pub(crate) struct EntryWriter<'a> {
    /// Who writes the files.
    pub(crate) files: &'a Files,
    /// As whom the file is written.
    pub(crate) act: Act<'a>,
    /// Whether it is no person, so that it may not drop more than a quarter of the entries at once.
    pub(crate) is_program: bool,
}

/// What became of a file of entries.
#[derive(Debug, Default)]
pub(crate) struct EntriesWritten {
    /// Undoes it; `None` where the file says what it said.
    pub(crate) checkpoint: Option<CheckpointId>,
    /// The names of what was added, in the order of the edits.
    pub(crate) added: Vec<String>,
}

impl EntryStore {
    /// Makes changes to one file, all or none of them.
    ///
    /// # Errors
    /// When the file cannot be changed so, a program would drop too much, or the disk refuses.
    pub(crate) fn change(
        &self,
        writer: &EntryWriter<'_>,
        holder: &MemoryHolder,
        shelf: EntryFileKind,
        edits: &[EntryEdit],
    ) -> Result<EntriesWritten, ItemError> {
        let mut added = Vec::new();
        let moved: Vec<&str> = edits
            .iter()
            .filter_map(|edit| match edit {
                EntryEdit::Move(entry) => Some(entry.id.as_str()),
                _ => None,
            })
            .collect();
        let checkpoint = self.write(writer, (holder, shelf), &moved, |text| {
            let (now, names) = edited(text, shelf, edits)?;
            added = names;
            Ok(now)
        })?;
        Ok(EntriesWritten { checkpoint, added })
    }

    /// Writes another text in the place of a whole file.
    ///
    /// # Errors
    /// As [`EntryStore::change`].
    pub(crate) fn rewrite(
        &self,
        writer: &EntryWriter<'_>,
        holder: &MemoryHolder,
        shelf: EntryFileKind,
        text: &str,
    ) -> Result<EntriesWritten, ItemError> {
        let checkpoint = self.write(writer, (holder, shelf), &[], |_| Ok(text.to_owned()))?;
        Ok(EntriesWritten { checkpoint, added: Vec::new() })
    }

    /// Works out what a file says after a change, and writes that over what it said. What was `moved` to another file is not lost.
    fn write(
        &self,
        writer: &EntryWriter<'_>,
        (holder, shelf): (&MemoryHolder, EntryFileKind),
        moved: &[&str],
        mut change: impl FnMut(&str) -> Result<String, ItemEditError>,
    ) -> Result<Option<CheckpointId>, ItemError> {
        let _one = self.store.one_change();
        let path = entries_path(holder, shelf)?;
        let written = edit(writer.files, &path, writer.act, |text| {
            let before = text.unwrap_or(head_of(shelf));
            let now = change(before).map_err(|source| ItemError::edit(&path, source))?;
            if now == before {
                return Ok(NoteEdit::Stays);
            }
            if writer.is_program {
                may_lose(&path, shelf, before, &now, moved)?;
            }
            let now = match shelf {
                EntryFileKind::Known => with_sources(&now, before, shelf),
                EntryFileKind::Pending | EntryFileKind::Archive => kept_private(&now).ok_or(ItemEditError::Frontmatter),
            };
            now.map(NoteEdit::Text).map_err(|source| ItemError::edit(&path, source))
        })?;
        if written.is_some() {
            crash::point("entries-written");
        }
        Ok(written)
    }
}

/// Refuses a change that drops more than a quarter of what a file knows.
fn may_lose(path: &VaultPath, shelf: EntryFileKind, before: &str, now: &str, moved: &[&str]) -> Result<(), ItemError> {
    let (before, now) = (EntriesFile::read(before, shelf), EntriesFile::read(now, shelf));
    let lost = lost_entries(&before, &now).into_iter().filter(|entry| !moved.contains(&entry.id.as_str()));
    let lost: Vec<String> = lost.map(|entry| entry.text.clone()).collect();
    let of = before.entries.len();
    if lost.len() * 4 > of { Err(ItemError::Loss { path: path.clone(), lost, of }) } else { Ok(()) }
}

/// What a new file begins with.
fn head_of(shelf: EntryFileKind) -> &'static str {
    match shelf {
        EntryFileKind::Known => "# Entries\n",
        EntryFileKind::Pending => "---\nprivate: true\n---\n\n# Proposals\n",
        EntryFileKind::Archive => "---\nprivate: true\n---\n\n# Archive\n",
    }
}

/// The text as no agent reads it.
fn kept_private(text: &str) -> Option<String> {
    match Note::parse(text, "").is_private() {
        true => Some(text.to_owned()),
        false => with_property(text, "private", &true.into()),
    }
}
