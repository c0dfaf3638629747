//! Which notes a session of a file goes on in: those that it has, those of a session that the file had before, or new ones. And the sessions of an
//! entry whose files are gone: what comes in a file that is new may be one of them, at another place.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::note::{NotExported, SOURCE, SessionWriter, begun, parts};
use crate::base::path::VaultPath;
use crate::base::state::{Digest, SessionNote, SessionSource, SessionTable, StateError};
use crate::memory::imports::{SessionTranscript, SourceKind};
use crate::text::note::{Note, written};
use crate::vault::disk::slug;

/// Where a session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionResume {
    /// In the notes that were made since its file was begun so often.
    Notes(u32),
    /// Those say all of it already, and more.
    Said(u32),
}

impl SessionWriter<'_> {
    /// Where the session goes on. `prefix` is the digest of as many bytes of the file as were read last.
    pub(super) fn place(
        &self,
        before: Option<&SessionSource>,
        prefix: Option<Digest>,
    ) -> Result<SessionResume, NotExported> {
        let Some(before) = before.filter(|before| before.turns > 0) else {
            return Ok(SessionResume::Notes(before.map_or(0, |before| before.generation)));
        };
        let (now, had, last) = (self.transcript.turns.len(), before.turns as usize, before.generation);
        // What was purged is known by its number alone.
        let is_unknown = before.digest == Digest::default();
        let is_longer = now >= had && (is_unknown || self.transcript.digest(had) == before.digest);
        // It has less than those still, as when it was put back.
        if is_longer && (now as u64) < self.kept_in(last)? && self.is_said_in(last)? {
            return Ok(SessionResume::Said(last));
        }
        if is_longer || prefix == Some(before.content) && before.length > 0 {
            return Ok(SessionResume::Notes(last));
        }
        if now < had && self.is_said_in(last)? {
            return Ok(SessionResume::Said(last));
        }
        // Somebody has changed a line of it: it is the same session, and its notes follow it.
        if self.says_most_of(last)? || had == 1 && self.is_only_turn_of(last)? {
            return Ok(SessionResume::Notes(last));
        }
        // A file that was put back, after it had another session.
        let all = self.table.all_notes(self.key)?;
        let generations: BTreeSet<u32> = all.iter().map(|(generation, _)| *generation).collect();
        for generation in generations.iter().rev().copied().filter(|generation| *generation != last) {
            if (now as u64) < self.kept_in(generation)? && self.is_said_in(generation)? {
                return Ok(SessionResume::Said(generation));
            }
            if self.says_most_of(generation)? {
                return Ok(SessionResume::Notes(generation));
            }
        }
        if self.was_taken_away(last)? {
            return Ok(SessionResume::Notes(last));
        }
        Ok(SessionResume::Notes(generations.last().copied().unwrap_or(last).max(last) + 1))
    }

    /// How many turns the notes of a session have.
    fn kept_in(&self, generation: u32) -> Result<u64, NotExported> {
        Ok(self.table.notes(self.key, generation)?.iter().map(|note| note.turns).sum())
    }

    fn text_of(&self, note: &SessionNote) -> Result<Option<String>, NotExported> {
        let Ok(path) = VaultPath::new(note.path.clone()) else { return Ok(None) };
        Ok(self.files.read(&path)?.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Whether what is kept of a session begins with all that it has now.
    fn is_said_in(&self, generation: u32) -> Result<bool, NotExported> {
        let notes = self.table.notes(self.key, generation)?;
        for (at, part) in parts(&self.transcript.turns).into_iter().enumerate() {
            let note = notes.iter().find(|note| note.part as usize == at);
            let Some(there) = note.map(|note| self.text_of(note)).transpose()?.flatten() else { return Ok(false) };
            if !there.contains(self.said(&part, part.clone()).trim()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether at least half of what is kept of a session is said in it still.
    fn says_most_of(&self, generation: u32) -> Result<bool, NotExported> {
        let all = 0..self.transcript.turns.len();
        let now = self.said(&all, all.clone());
        let now: HashSet<&str> = now.lines().collect();
        let (mut all, mut still) = (0, 0);
        for note in self.table.notes(self.key, generation)? {
            let Some(text) = self.text_of(&note)? else { continue };
            // What is before the heading it says of itself.
            let said = text.split_once("\n# ").and_then(|(_, rest)| rest.split_once('\n')).map_or("", |(_, said)| said);
            for line in said.lines().filter(|line| !line.trim().is_empty()) {
                all += 1;
                still += usize::from(now.contains(line));
            }
        }
        Ok(all > 0 && still * 2 >= all)
    }

    /// Whether programs give the name of the session to no other. Moltis has one by the chat, and `/clear` begins the next in its file.
    fn has_own_name(&self) -> bool {
        self.transcript.kind != SourceKind::Moltis
    }

    /// Whether the only turn that is kept is the first of this session, rewritten. Where somebody has edited the note, what comes gets a
    /// note of its own: beside the words of the person it could not be told from them.
    fn is_only_turn_of(&self, generation: u32) -> Result<bool, NotExported> {
        let [note] = &self.table.notes(self.key, generation)?[..] else { return Ok(false) };
        let Some(there) = self.text_of(note)? else { return Ok(false) };
        if note.turns != 1 || note.is_edited || blake3::hash(there.as_bytes()).to_hex().as_str() != note.after {
            return Ok(false);
        }
        let note = Note::parse(&there, "");
        let says = |key: &str, value: &str| note.metadata.get(key).and_then(serde_json::Value::as_str) == Some(value);
        let since = written(&begun(self.transcript, &(0..self.transcript.turns.len())));
        let is_same = says("source", SOURCE) && says("session", &self.transcript.name());
        Ok(is_same && (self.has_own_name() || says("created", &since)))
    }

    /// Whether somebody has taken the notes of this very session away, or forgotten one for good: however its file is changed they stay away.
    fn was_taken_away(&self, generation: u32) -> Result<bool, NotExported> {
        let notes = self.table.notes(self.key, generation)?;
        if !self.has_own_name() || notes.iter().any(|note| note.path.is_empty()) {
            return Ok(self.has_own_name());
        }
        let mut is_away = notes.iter().any(|note| is_note_of(&note.path, &self.transcript.id));
        for note in &notes {
            is_away = is_away && !note.after.is_empty() && self.text_of(note)?.is_none();
        }
        Ok(is_away)
    }
}

/// Length of the date with which the name of a note begins, and of the hyphen behind it.
const DATE_LENGTH: usize = 11;

/// Those whose files were not found.
#[derive(Debug, Default)]
pub(super) struct MissingSessions {
    /// By how many turns they had and what those were.
    by_turns: HashMap<(usize, Digest), Vec<Digest>>,
    counts: BTreeSet<usize>,
    /// By how their files were: their bytes, and when they were changed.
    by_stamp: HashMap<(u64, i64), Vec<Digest>>,
    /// Those that were found elsewhere.
    moved: HashSet<Digest>,
}

impl MissingSessions {
    /// Of those files of an entry that are known, the ones that are gone.
    pub(super) fn of<'s>(sources: impl Iterator<Item = (&'s Digest, &'s SessionSource)>) -> Self {
        let mut gone = Self::default();
        for (key, source) in sources.filter(|(_, source)| source.turns > 0) {
            gone.by_stamp.entry((source.size, source.mtime_ns)).or_default().push(*key);
            // Of one that was purged it is not known what was said in it.
            if source.digest == Digest::default() {
                continue;
            }
            let turns = usize::try_from(source.turns).unwrap_or(usize::MAX);
            gone.by_turns.entry((turns, source.digest)).or_default().push(*key);
            gone.counts.insert(turns);
        }
        gone
    }

    /// Whether a file is as one was that is gone: it may be that one.
    pub(super) fn has_stamp(&self, size: u64, mtime_ns: i64) -> bool {
        self.by_stamp.contains_key(&(size, mtime_ns))
    }

    /// Whether one of them was found elsewhere.
    pub(super) fn has_moved(&self, key: &Digest) -> bool {
        self.moved.contains(key)
    }

    /// The one that a session of a file that is new goes on with: of the same name, with the same turns at its beginning, or purged and
    /// with the same stamp.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub(super) fn take(
        &mut self,
        transcript: &SessionTranscript,
        stamp: (u64, i64),
        table: &SessionTable,
    ) -> Result<Option<(Digest, SessionSource)>, StateError> {
        let had = match self.counts.is_empty() {
            true => Vec::new(),
            false => transcript.digests(&self.counts),
        };
        let by_turns = had.iter().rev().filter_map(|had| self.by_turns.get(had)).flatten().map(|key| (key, true));
        let by_stamp = self.by_stamp.get(&stamp).into_iter().flatten().map(|key| (key, false));
        let mut found = None;
        for (key, says_the_same) in by_turns.chain(by_stamp) {
            let Some(source) = table.source(key)?.filter(|_| !self.moved.contains(key)) else { continue };
            let is_this = says_the_same || source.digest == Digest::default();
            if is_this && has_notes_of(&table.all_notes(key)?, &source, transcript) {
                found = Some((*key, source));
                break;
            }
        }
        self.moved.extend(found.as_ref().map(|(key, _)| *key));
        Ok(found)
    }
}

/// Whether the notes of a source may be those of a session. Where all were forgotten for good they have no names: then it is one that had
/// begun before the file was changed last.
fn has_notes_of(notes: &[(u32, SessionNote)], source: &SessionSource, transcript: &SessionTranscript) -> bool {
    let had_begun = || {
        let begun = transcript.turns.iter().find_map(|turn| turn.at);
        begun.is_none_or(|begun| begun.as_millisecond() <= source.mtime_ns / 1_000_000)
    };
    notes.iter().any(|(_, note)| is_note_of(&note.path, &transcript.id))
        || !notes.is_empty() && notes.iter().all(|(_, note)| note.path.is_empty()) && had_begun()
}

/// Whether a note has the name that the first part of a session is given.
fn is_note_of(path: &str, id: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let rest = name.strip_suffix(".md").and_then(|name| name.get(DATE_LENGTH..));
    let number = rest.and_then(|name| name.strip_prefix(slug(id).as_str()));
    number.is_some_and(|number| {
        number.is_empty()
            || number
                .strip_prefix('-')
                .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::is_note_of;

    #[test]
    fn a_note_is_known_by_its_name() {
        for (path, id, is) in [
            ("conversations/2026-01-05-s1.md", "s1", true),
            ("conversations/2026-01-05-s1-2.md", "s1", true),
            ("conversations/2026-01-05-s10.md", "s1", false),
            ("conversations/2026-01-05-s1-part-2.md", "s1", false),
            ("conversations/2026-01-05-s1-.md", "s1", false),
            ("conversations/s1.md", "s1", false),
            ("", "s1", false),
        ] {
            assert_eq!(is_note_of(path, id), is, "{path}");
        }
    }
}
