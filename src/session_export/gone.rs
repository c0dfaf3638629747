//! The sessions of an entry whose files are gone: what comes in a file that is new may be one of them, at another place.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::imports::SessionTranscript;
use crate::state::{Digest, SessionSource, SessionTable, StateError};
use crate::vault::slug;

/// Length of the date with which the name of a note begins, and of the hyphen behind it.
const DATE_LENGTH: usize = 11;

/// Those whose files were not found.
#[derive(Debug, Default)]
pub(super) struct GoneSessions {
    /// By how many turns they had and what those were.
    by_turns: HashMap<(usize, Digest), Vec<Digest>>,
    counts: BTreeSet<usize>,
    /// How their files were.
    stamps: HashSet<(u64, i64)>,
    /// Those that were found elsewhere.
    moved: HashSet<Digest>,
}

impl GoneSessions {
    /// Of those files of an entry that are known, the ones that are gone.
    pub(super) fn of<'s>(sources: impl Iterator<Item = (&'s Digest, &'s SessionSource)>) -> Self {
        let mut gone = Self::default();
        // Of one that was purged it is not known what was said in it.
        for (key, source) in sources.filter(|(_, source)| source.turns > 0 && source.digest != Digest::default()) {
            let turns = usize::try_from(source.turns).unwrap_or(usize::MAX);
            gone.by_turns.entry((turns, source.digest)).or_default().push(*key);
            gone.counts.insert(turns);
            gone.stamps.insert((source.size, source.mtime_ns));
        }
        gone
    }

    /// Whether a file is as one was that is gone: it may be that one.
    pub(super) fn has_stamp(&self, size: u64, mtime_ns: i64) -> bool {
        self.stamps.contains(&(size, mtime_ns))
    }

    /// Whether one of them was found elsewhere.
    pub(super) fn has_moved(&self, key: &Digest) -> bool {
        self.moved.contains(key)
    }

    /// The one that a session of a file that is new goes on with: of the same name, with the same turns at its beginning.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub(super) fn take(
        &mut self,
        transcript: &SessionTranscript,
        table: &SessionTable,
    ) -> Result<Option<(Digest, SessionSource)>, StateError> {
        if self.counts.is_empty() {
            return Ok(None);
        }
        for had in transcript.digests(&self.counts).into_iter().rev() {
            for key in self.by_turns.get(&had).into_iter().flatten() {
                let Some(source) = table.source(key)?.filter(|_| !self.moved.contains(key)) else { continue };
                if table.all_notes(key)?.iter().any(|(_, note)| is_note_of(&note.path, &transcript.id)) {
                    self.moved.insert(*key);
                    return Ok(Some((*key, source)));
                }
            }
        }
        Ok(None)
    }
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
