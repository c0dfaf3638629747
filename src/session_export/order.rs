//! Which sessions stay where only so many do. Pure.

use std::cmp::Reverse;
use std::path::Path;

use crate::state::Digest;

/// A session among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RankedSession<'f> {
    /// When its file was changed, in nanoseconds since 1970.
    pub(super) mtime_ns: i64,
    /// Whether it has a note.
    pub(super) is_kept: bool,
    /// Its file; `None` where that is gone.
    pub(super) path: Option<&'f Path>,
    /// The name of the file in the table.
    pub(super) key: Digest,
}

/// Puts those first that changed last. Of those that changed within one tick of the clock the ones that have a note stay, so that none takes
/// the place of another for nothing, and then they go by their names; those whose files are gone come last.
pub(super) fn rank(sessions: &mut [RankedSession<'_>]) {
    sessions.sort_unstable_by_key(|session| {
        let RankedSession { mtime_ns, is_kept, path, key } = *session;
        (Reverse(mtime_ns), !is_kept, path.is_none(), path, key)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_those_that_changed_at_once_the_ones_that_have_a_note_come_first_and_then_by_name() {
        let session = |name: &'static str, mtime_ns, is_kept, key| RankedSession {
            mtime_ns,
            is_kept,
            path: (!name.is_empty()).then_some(Path::new(name)),
            key: [key; 16],
        };
        let ranked = [
            session("z", 9, false, 1),
            session("x", 7, true, 8),
            session("y", 7, true, 2),
            session("", 7, true, 1),
            session("a", 7, false, 9),
            session("b", 7, false, 3),
            session("old", 1, true, 4),
        ];
        for turned in 0..ranked.len() {
            let mut sessions = ranked;
            sessions.rotate_left(turned);
            rank(&mut sessions);
            assert_eq!(sessions, ranked);
        }
    }
}
