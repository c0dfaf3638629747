//! The sessions of an entry whose files are gone: what comes in a file that is new may be one of them, at another place.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::imports::SessionTranscript;
use crate::state::{Digest, SessionNote, SessionSource, SessionTable, StateError};
use crate::vault::slug;

/// Length of the date with which the name of a note begins, and of the hyphen behind it.
const DATE_LENGTH: usize = 11;

/// Those whose files were not found.
#[derive(Debug, Default)]
pub(super) struct GoneSessions {
    /// By how many turns they had and what those were.
    by_turns: HashMap<(usize, Digest), Vec<Digest>>,
    counts: BTreeSet<usize>,
    /// By how their files were: their bytes, and when they were changed.
    by_stamp: HashMap<(u64, i64), Vec<Digest>>,
    /// Those that were found elsewhere.
    moved: HashSet<Digest>,
}

impl GoneSessions {
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
pub(super) fn is_note_of(path: &str, id: &str) -> bool {
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
