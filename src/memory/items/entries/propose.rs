//! Proposals: what a model, a program or an agent would have remembered. Inert until accepted.

use std::sync::PoisonError;

use super::{EntryStore, EntryWriter};
use crate::access::rules::Scope;
use crate::base::config::{MemoryConfig, MemoryScope};
use crate::memory::items::ItemError;
use crate::text::derive::entries::{
    EntryEdit, EntryFileKind, EntryStatus, Likeness, MemoryEntry, Verdict, made_id, one_line, verify,
};
use crate::vault::disk::CheckpointId;
use crate::vault::forgotten::ForgottenLookup;

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
        let (known, archive, mut waiting) = (self.entries(holder)?, self.archive(holder)?, self.waiting(holder)?);
        let removed = EntryStatus::Rejected(REMOVED.to_owned());
        // What was set aside or rejected, or something else has taken the place of, does not come back by itself.
        let of_archive = archive.entries.iter().filter(|entry| !claims || entry.status != removed);
        let there: Vec<&MemoryEntry> = known.entries.iter().chain(of_archive).collect();
        let (mut edits, mut forgotten) = (Vec::new(), Vec::new());
        for mut entry in proposals {
            if let Some(left) = rules.forgotten.without(&entry.text, rules.reach) {
                forgotten.push(left.tombstone);
                continue;
            }
            if matches!(rules.verdict(&entry, &there), Verdict::Duplicate(_)) {
                continue;
            }
            if let Verdict::Duplicate(id) = rules.verdict(&entry, &waiting.iter().collect::<Vec<_>>()) {
                let Some(there) = waiting.iter_mut().find(|there| there.id == id) else { continue };
                let was = there.clone();
                there.sources.extend(entry.sources.into_iter().filter(|source| !was.sources.contains(source)));
                there.trust = there.trust.min(entry.trust);
                if *there != was {
                    edits.push(EntryEdit::Change { was, now: Box::new(there.clone()) });
                }
                continue;
            }
            let is_taken = |id: &str| {
                waiting.iter().any(|there| there.id == id) || archive.is_taken(id) || known.is_taken(id)
            };
            entry.id = made_id(&entry.text, is_taken);
            entry.status = EntryStatus::Pending;
            edits.push(EntryEdit::Add(entry.clone()));
            waiting.push(entry);
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
        crate::base::fs::crash::point("entries-accepted");
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
        crate::base::fs::crash::point("entries-set-aside");
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
