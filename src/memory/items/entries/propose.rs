//! Proposals: what a model, a program or an agent would have remembered. Inert until accepted.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use super::{EntryStore, EntryWriter};
use crate::access::rules::Scope;
use crate::base::config::{MemoryConfig, MemoryScope};
use crate::base::path::VaultPath;
use crate::memory::items::ItemError;
use crate::text::derive::entries::{
    EntryEdit, EntryFileKind, EntryStatus, Likeness, MemoryEntry, TrustLevel, Verdict, made_id, source_path, traced,
    verify,
};
use crate::vault::disk::CheckpointId;
use crate::vault::forgotten::ForgottenLookup;

/// From such a confidence on what a line says word for word may be accepted by itself.
const SURE: f64 = 0.9;
/// Why an entry that was removed stands in the archive: extraction does not propose it again. Anybody else may.
pub(crate) const REMOVED: &str = "removed";

/// What is proposed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EntryProposal {
    /// The entry.
    pub(crate) entry: MemoryEntry,
    /// How it is known that its sources say it.
    pub(crate) evidence: Evidence,
}

/// How it is known that the sources of a proposal say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// By the word of who proposes it: it waits for the person, whatever `[memory] accept` says.
    Claimed,
    /// Its lines were read, and it quotes them.
    Checked,
    /// And it is, word for word, all that one line says.
    Quoted,
}

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

/// What became of proposals. Of the others, each waits, or was left out.
#[derive(Debug, Default)]
pub(crate) struct Proposed {
    /// The names of those that count from now on.
    pub(crate) accepted: Vec<String>,
    /// The tombstones of those that were forgotten for good.
    pub(crate) forgotten: Vec<i64>,
    /// What undoes the changes, the last first.
    pub(crate) checkpoints: Vec<CheckpointId>,
}

impl EntryStore {
    /// Puts proposals where they wait; those that may be are accepted by themselves.
    ///
    /// # Errors
    /// When a file cannot be read or changed, or somebody edits a line of it in between.
    pub(crate) fn propose(
        &self,
        writer: &EntryWriter<'_>,
        holder: &MemoryScope,
        proposals: Vec<EntryProposal>,
        rules: &ProposeRules<'_>,
    ) -> Result<Proposed, ItemError> {
        let _one = self.proposing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Proposed::default();
        let (known, mut waiting) = (self.entries(holder)?, self.waiting(holder)?);
        let archive = self.archive(holder)?;
        let removed = EntryStatus::Rejected(REMOVED.to_owned());
        let mut active: Vec<MemoryEntry> = known.active().cloned().collect();
        let mut edits = Vec::new();
        for EntryProposal { mut entry, evidence } in proposals {
            if let Some(left) = rules.forgotten.without(&entry.text, rules.reach) {
                all.forgotten.push(left.tombstone);
                continue;
            }
            entry.status = EntryStatus::Pending;
            // What was set aside or rejected, or something else has taken the place of, does not come back by itself.
            let is_claimed = evidence == Evidence::Claimed;
            let of_archive = archive.entries.iter().filter(|entry| !is_claimed || entry.status != removed);
            let superseded = known.entries.iter().filter(|entry| matches!(entry.status, EntryStatus::Superseded(_)));
            let there: Vec<&MemoryEntry> = active.iter().chain(of_archive).chain(superseded).collect();
            if matches!(rules.verdict(&entry, &there), Verdict::Duplicate(_)) {
                continue;
            }
            let may = |entry: &MemoryEntry| {
                !is_claimed
                    && rules.config.accept.contains(&entry.kind)
                    && entry.trust >= TrustLevel::Agent
                    && rules.verdict(entry, &active.iter().collect::<Vec<_>>()) == Verdict::New
            };
            if let Verdict::Duplicate(id) = rules.verdict(&entry, &waiting.iter().collect::<Vec<_>>()) {
                let Some(there) = waiting.iter_mut().find(|there| there.id == id) else { continue };
                let before = there.clone();
                // A conversation that was renamed is no second one.
                there.sources.retain(|source| self.is_source_there(source));
                for source in &entry.sources {
                    if !there.sources.contains(source) {
                        there.sources.push(source.clone());
                    }
                }
                there.trust = there.trust.min(entry.trust);
                let sources = there.sources.iter().filter(|source| self.is_source_there(source));
                let sessions: BTreeSet<&str> = sources.map(|source| source_path(source)).collect();
                if sessions.len() >= 2 && may(there) {
                    active.push(MemoryEntry { status: EntryStatus::Active, ..there.clone() });
                    all.accepted.push(id);
                }
                if *there != before {
                    edits.push(EntryEdit::Change { was: before, now: Box::new(there.clone()) });
                }
                continue;
            }
            let is_taken = |id: &str| {
                waiting.iter().chain(&active).any(|there| there.id == id) || archive.is_taken(id) || known.is_taken(id)
            };
            entry.id = made_id(&entry.text, is_taken);
            edits.push(EntryEdit::Add(entry.clone()));
            if evidence == Evidence::Quoted && entry.confidence >= SURE && may(&entry) {
                all.accepted.push(entry.id.clone());
                active.push(MemoryEntry { status: EntryStatus::Active, ..entry });
            } else {
                waiting.push(entry);
            }
        }
        let (written, _) = self.change(writer, holder, EntryFileKind::Pending, &edits)?;
        all.checkpoints.extend(written);
        if !all.accepted.is_empty() {
            let choice = |id: &String| Acceptance { id: id.clone(), text: None, supersedes: None };
            let choices: Vec<Acceptance> = all.accepted.iter().map(choice).collect();
            all.checkpoints.extend(self.accept(writer, holder, &choices, rules)?);
        }
        all.checkpoints.reverse();
        Ok(all)
    }

    /// Whether a source is there: an event of an agent, or a file.
    fn is_source_there(&self, source: &str) -> bool {
        let is_file = |path: VaultPath| path.on_disk(&self.store.root).is_file();
        traced(source).is_some() || VaultPath::new(source_path(source)).is_ok_and(is_file)
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
                entry.text = crate::text::derive::entries::one_line(text);
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
