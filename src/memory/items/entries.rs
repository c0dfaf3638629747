//! Entries: the files of each memory, and proposals: what a model, a program or an agent would have remembered, inert until accepted.

#[cfg(test)]
mod tests;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::store::{ItemError, ItemStore, edit, names_in, source};
use crate::access::rules::Scope;
use crate::base::config::{MemoryConfig, MemoryScope};
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::index::engine::FileTable;
use crate::text::derive::ItemEditError;
use crate::text::derive::entries::{
    EntriesFile, EntryEdit, EntryFileKind, EntryStatus, Likeness, MemoryEntry, Verdict, edited, lost_entries, made_id,
    one_line, verify, with_sources,
};
use crate::text::note::{Note, with_property};
use crate::vault::disk::{Act, Action, CheckpointId, Files, NoteEdit, Stamp};
use crate::vault::forgotten::ForgottenLookup;

/// The entries of a vault.
#[derive(Debug)]
pub(crate) struct EntryStore {
    store: ItemStore<EntriesSnapshot>,
    /// One proposal at a time, from the look for what is the same until it waits.
    proposing: Mutex<()>,
}

impl EntryStore {
    /// The entries of the vault at `root`.
    pub(crate) fn new(root: PathBuf, max_file_bytes: u64) -> Self {
        Self { store: ItemStore::new(root, max_file_bytes), proposing: Mutex::default() }
    }

    /// What a memory knows: active entries and superseded ones; none where there is no file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn entries(&self, holder: &MemoryScope) -> Result<Arc<EntriesSnapshot>, ItemError> {
        self.book(holder, EntryFileKind::Known)
    }

    /// What was proposed for it.
    ///
    /// # Errors
    /// As [`EntryStore::entries`].
    pub(crate) fn pending(&self, holder: &MemoryScope) -> Result<Arc<EntriesSnapshot>, ItemError> {
        self.book(holder, EntryFileKind::Pending)
    }

    /// What was set aside or rejected.
    ///
    /// # Errors
    /// As [`EntryStore::entries`].
    pub(crate) fn archive(&self, holder: &MemoryScope) -> Result<Arc<EntriesSnapshot>, ItemError> {
        self.book(holder, EntryFileKind::Archive)
    }

    /// One file of a memory, as it is on disk now.
    ///
    /// # Errors
    /// As [`EntryStore::entries`].
    pub(crate) fn book(&self, holder: &MemoryScope, shelf: EntryFileKind) -> Result<Arc<EntriesSnapshot>, ItemError> {
        let path = entries_path(holder, shelf)?;
        let ItemStore { root, max_file_bytes, .. } = &self.store;
        self.store.get(&path, &[], |_| {
            let source = source(root, &path, *max_file_bytes)?;
            let stamp = source.as_ref().map(|source| source.stamp);
            let file = source.map(|source| EntriesFile::read(&source.text, shelf)).unwrap_or_default();
            Ok(EntriesSnapshot { path: path.clone(), file, stamp })
        })
    }

    /// A name for a new entry of that text.
    ///
    /// # Errors
    /// As [`EntryStore::entries`].
    pub(crate) fn new_id(&self, holder: &MemoryScope, text: &str) -> Result<String, ItemError> {
        let (known, archive) = (self.entries(holder)?, self.archive(holder)?);
        Ok(made_id(text, |id| known.is_taken(id) || archive.is_taken(id)))
    }

    /// The memories that have a file of entries: the person's first.
    pub(crate) fn holders(&self) -> Vec<MemoryScope> {
        let mut slugs = names_in(&self.store.root, "agents");
        slugs.sort_unstable();
        let holders = std::iter::once(MemoryScope::User).chain(slugs.into_iter().map(MemoryScope::Agent));
        let is_there = |path: VaultPath| path.on_disk(&self.store.root).is_file();
        let has_any = |holder: &MemoryScope| {
            EntryFileKind::ALL.into_iter().any(|shelf| entries_path(holder, shelf).is_ok_and(is_there))
        };
        holders.filter(has_any).collect()
    }

    /// Makes changes to one file, all or none of them; gives what undoes that, and the names of what was added, in the order of the edits.
    ///
    /// # Errors
    /// When the file cannot be changed so, a program would drop too much, or the disk refuses.
    pub(crate) fn change(
        &self,
        writer: &EntryWriter<'_>,
        holder: &MemoryScope,
        shelf: EntryFileKind,
        edits: &[EntryEdit],
    ) -> Result<(Option<CheckpointId>, Vec<String>), ItemError> {
        let mut added = Vec::new();
        let moved =
            edits.iter().filter_map(|edit| if let EntryEdit::Move(entry) = edit { Some(&*entry.id) } else { None });
        let checkpoint = self.write(writer, (holder, shelf), &moved.collect::<Vec<_>>(), |text| {
            let (now, names) = edited(text, shelf, edits)?;
            added = names;
            Ok(now)
        })?;
        Ok((checkpoint, added))
    }

    /// Writes another text in the place of a whole file; gives what undoes that.
    ///
    /// # Errors
    /// As [`EntryStore::change`].
    pub(crate) fn rewrite(
        &self,
        writer: &EntryWriter<'_>,
        holder: &MemoryScope,
        shelf: EntryFileKind,
        text: &str,
    ) -> Result<Option<CheckpointId>, ItemError> {
        self.write(writer, (holder, shelf), &[], |_| Ok(text.to_owned()))
    }

    /// Works out what a file says after a change, and writes that over what it said. What was `moved` to another file is not lost.
    fn write(
        &self,
        writer: &EntryWriter<'_>,
        (holder, shelf): (&MemoryScope, EntryFileKind),
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

/// The entries of one file.
#[derive(Debug)]
pub(crate) struct EntriesSnapshot {
    /// The file.
    pub(crate) path: VaultPath,
    /// What it says.
    pub(crate) file: EntriesFile,
    /// The stamp of the file that was read; `None` where there is none.
    pub(crate) stamp: Option<Stamp>,
}

impl Deref for EntriesSnapshot {
    type Target = EntriesFile;

    fn deref(&self) -> &EntriesFile {
        &self.file
    }
}

/// The file of a memory's entries.
///
/// # Errors
/// When an agent's folder is none.
pub(crate) fn entries_path(holder: &MemoryScope, shelf: EntryFileKind) -> Result<VaultPath, ItemError> {
    let path = match holder {
        MemoryScope::Agent(slug) if !slug.contains('/') => holder.folder() + shelf.names().1,
        MemoryScope::User => shelf.names().0.to_owned(),
        other => return Err(ItemError::Scope(other.clone())),
    };
    VaultPath::new(path).map_err(|_| ItemError::Scope(holder.clone()))
}

/// When it is to be asked whether an entry is still true, and since when that is known, in milliseconds since 1970.
pub(crate) fn due_of(entry: &MemoryEntry, files: &FileTable) -> Option<(i64, Option<i64>)> {
    let learned = entry.source_paths().filter_map(|path| Some(files.at(path)?.created_ms)).max();
    entry.window.due(learned, entry.kind.months())
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

impl EntryStore {
    /// Archives active entries beyond `max`, where 0 means no limit; gives their names, and what undoes it. The less sure go first, then the
    /// older, and those that were `added` now last.
    ///
    /// # Errors
    /// When a file cannot be read or changed.
    pub(crate) fn keep_to_cap(
        &self,
        files: &Files,
        holder: &MemoryScope,
        added: &[String],
        max: usize,
    ) -> Result<(Vec<String>, Vec<CheckpointId>), ItemError> {
        let book = self.entries(holder)?;
        let mut active: Vec<&MemoryEntry> = book.active().collect();
        if max == 0 || active.len() <= max {
            return Ok((Vec::new(), Vec::new()));
        }
        // What stands first is oldest, unless it says since when it is so.
        active.sort_by_cached_key(|entry| {
            let sureness = (entry.confidence * 1000.0) as i64;
            (added.contains(&entry.id), sureness, entry.window.begin().unwrap_or(0))
        });
        let goes: Vec<String> = active[..active.len() - max].iter().map(|entry| entry.id.clone()).collect();
        // What they took the place of goes with them: else that would count again, and there would be as many.
        let mut all = goes.clone();
        for at in 0.. {
            let Some(id) = all.get(at).cloned() else { break };
            let is_loser = |entry: &&MemoryEntry| entry.status == EntryStatus::Superseded(id.clone());
            all.extend(book.entries.iter().filter(is_loser).map(|entry| entry.id.clone()));
        }
        let writer = EntryWriter { files, act: Action::Edit.done_by("max_entries"), is_program: true };
        let done = self.set_aside(&writer, holder, EntryFileKind::Known, &all, None)?;
        Ok((goes, done))
    }
}

/// Why an entry that was removed stands in the archive: extraction does not propose it again. Anybody else may.
pub(crate) const REMOVED: &str = "removed";

/// What a proposal is held to.
pub(crate) struct ProposeRules<'a> {
    /// `[memory]`.
    pub(crate) config: &'a MemoryConfig,
    /// What was forgotten for good, held until all is written.
    pub(crate) forgotten: &'a ForgottenLookup<'a>,
    /// Whose tombstones count.
    pub(crate) reach: &'a Scope,
    /// How alike two texts are, where a model that was measured is at work.
    pub(crate) likeness: Box<Likeness<'a>>,
}

impl ProposeRules<'_> {
    /// What a new entry is to those that count.
    pub(crate) fn verdict(&self, entry: &MemoryEntry, known: &[&MemoryEntry]) -> Verdict {
        verify(entry, known, |new, known| Some((self.likeness)(new, known)? >= self.config.duplicate_meaning))
    }
}

impl EntryStore {
    /// Puts proposals where they wait; gives what undoes that, and the tombstones of those that were forgotten for good. What the person has
    /// removed comes back where somebody `claims` it, and not by what a model reads once more.
    ///
    /// # Errors
    /// When a file cannot be read or changed, or somebody edits a line of it in between.
    pub(crate) fn propose(
        &self,
        writer: &EntryWriter<'_>,
        holder: &MemoryScope,
        (proposals, claims): (Vec<MemoryEntry>, bool),
        rules: &ProposeRules<'_>,
    ) -> Result<(Option<CheckpointId>, Vec<i64>), ItemError> {
        let _one = self.proposing.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, archive, waiting) = (self.entries(holder)?, self.archive(holder)?, self.waiting(holder)?);
        let removed = EntryStatus::Rejected(REMOVED.to_owned());
        // What was set aside or rejected, or something else has taken the place of, does not come back by itself.
        let of_archive = archive.entries.iter().filter(|entry| !claims || entry.status != removed);
        let mut there: Vec<MemoryEntry> = known.entries.iter().chain(of_archive).chain(&waiting).cloned().collect();
        let (mut edits, mut forgotten) = (Vec::new(), Vec::new());
        for mut entry in proposals {
            if let Some(left) = rules.forgotten.without(&entry.text, rules.reach) {
                forgotten.push(left.tombstone);
            } else if !matches!(rules.verdict(&entry, &there.iter().collect::<Vec<_>>()), Verdict::Duplicate(_)) {
                let is_taken = |id: &str| there.iter().any(|there| there.id == id) || archive.is_taken(id);
                entry.id = made_id(&entry.text, |id| is_taken(id) || known.is_taken(id));
                entry.status = EntryStatus::Pending;
                edits.push(EntryEdit::Add(entry.clone()));
                there.push(entry);
            }
        }
        let (written, _) = self.change(writer, holder, EntryFileKind::Pending, &edits)?;
        Ok((written, forgotten))
    }

    /// What waits, less what was accepted or rejected and is still in its old place because of a kill.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(crate) fn waiting(&self, holder: &MemoryScope) -> Result<Vec<MemoryEntry>, ItemError> {
        let (known, pending, archive) = (self.entries(holder)?, self.pending(holder)?, self.archive(holder)?);
        let is_decided = |entry: &&MemoryEntry| {
            let same = |other: Option<&MemoryEntry>| other.is_some_and(|other| other.text == entry.text);
            same(known.get(&entry.id))
                || same(archive.get(&entry.id).filter(|other| matches!(other.status, EntryStatus::Rejected(_))))
        };
        Ok(pending.entries.iter().filter(|entry| !is_decided(entry)).cloned().collect())
    }

    /// Accepts proposals; those that are not there any more are left out. What each takes the place of stays, and says so.
    ///
    /// # Errors
    /// When a file cannot be read or changed.
    pub(crate) fn accept(
        &self,
        writer: &EntryWriter<'_>,
        holder: &MemoryScope,
        choices: &[Acceptance],
        rules: &ProposeRules<'_>,
    ) -> Result<Vec<CheckpointId>, ItemError> {
        let (known, pending) = (self.entries(holder)?, self.pending(holder)?);
        let mut active: Vec<MemoryEntry> = known.active().cloned().collect();
        let (mut edits, mut done) = (Vec::new(), Vec::new());
        for choice in choices {
            let Some(waits) = pending.get(&choice.id) else { continue };
            let mut entry = MemoryEntry { status: EntryStatus::Active, ..waits.clone() };
            if let Some(text) = &choice.text {
                // The person's own words.
                entry.text = one_line(text);
            }
            let found = || match rules.verdict(&entry, &active.iter().collect::<Vec<_>>()) {
                Verdict::Supersedes(id) => Some(id),
                _ => None,
            };
            let loser = choice.supersedes.clone().or_else(found);
            edits.push(EntryEdit::Add(entry.clone()));
            if let Some(at) = active.iter().position(|there| Some(&there.id) == loser.as_ref()) {
                let loser = active.remove(at);
                let status = EntryStatus::Superseded(entry.id.clone());
                edits.push(EntryEdit::Change { now: Box::new(MemoryEntry { status, ..loser.clone() }), was: loser });
            }
            active.push(entry);
            done.push(EntryEdit::Move(waits.clone()));
        }
        let (known, _) = self.change(writer, holder, EntryFileKind::Known, &edits)?;
        crash::point("entries-accepted");
        let (pending, _) = self.change(writer, holder, EntryFileKind::Pending, &done)?;
        Ok(pending.into_iter().chain(known).collect())
    }

    /// Puts entries into the archive, then takes them out of their file: a kill in between leaves both, and the old place counts. With a reason
    /// they are rejected, which the next proposals are held against; without one what they took the place of counts again.
    ///
    /// # Errors
    /// When a file cannot be read or changed.
    pub(crate) fn set_aside(
        &self,
        writer: &EntryWriter<'_>,
        holder: &MemoryScope,
        from: EntryFileKind,
        ids: &[String],
        rejected: Option<&str>,
    ) -> Result<Vec<CheckpointId>, ItemError> {
        let book = self.book(holder, from)?;
        let there: Vec<&MemoryEntry> = ids.iter().filter_map(|id| book.get(id)).collect();
        let archive = self.archive(holder)?;
        let add = |entry: &&MemoryEntry| {
            let status = match (rejected, &entry.status) {
                (Some(reason), _) => EntryStatus::Rejected(reason.to_owned()),
                (None, EntryStatus::Active) => EntryStatus::Archived,
                (None, status) => status.clone(),
            };
            let now = MemoryEntry { status, ..(*entry).clone() };
            // It was there before, and came back.
            match archive.get(&entry.id).filter(|before| before.text == now.text) {
                Some(before) => EntryEdit::Change { was: before.clone(), now: Box::new(now) },
                None => EntryEdit::Add(now),
            }
        };
        let adds: Vec<EntryEdit> = there.iter().map(add).collect();
        let moves: Vec<EntryEdit> = there.iter().map(|entry| EntryEdit::Move((*entry).clone())).collect();
        let (archive, _) = self.change(writer, holder, EntryFileKind::Archive, &adds)?;
        crash::point("entries-set-aside");
        let (left, _) = self.change(writer, holder, from, &moves)?;
        Ok(left.into_iter().chain(archive).collect())
    }
}

/// A proposal that is accepted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Acceptance {
    /// Its name.
    pub(crate) id: String,
    /// What it is to say instead.
    pub(crate) text: Option<String>,
    /// The entry whose place it takes; else the one that it refines or corrects, if there is one.
    pub(crate) supersedes: Option<String>,
}

#[cfg(test)]
mod tests_of_paths {
    use super::*;
    use crate::text::derive::entries::shelf_of;

    #[test]
    fn each_memory_has_three_files() {
        for holder in [MemoryScope::User, MemoryScope::Agent("ada".into())] {
            for shelf in EntryFileKind::ALL {
                let path = entries_path(&holder, shelf).unwrap();
                assert_eq!(shelf_of(&path), Some((holder.clone(), shelf)), "{path}");
            }
        }
        assert!(entries_path(&MemoryScope::Agent("../x".into()), EntryFileKind::Known).is_err());
        assert_eq!(shelf_of(&VaultPath::new("agents/ada/memory/entries.md").unwrap()), None);
    }
}
