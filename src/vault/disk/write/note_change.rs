//! Notes each change in the log of changes: which, by whom and where; no text.

use jiff::Timestamp;

use super::checkpoint::{Act, CheckpointId};
use super::files::Files;
use crate::base::path::VaultPath;
use crate::base::state::ChangeLine;

impl Files {
    /// Notes a change that was made. It is written in a moment, and no change waits for it or fails with it.
    pub(super) fn note(
        &self,
        path: &VaultPath,
        act: &Act<'_>,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
        checkpoint: Option<&CheckpointId>,
    ) {
        self.note_as(act.action.name(), path, act, before, after, checkpoint);
    }

    pub(super) fn note_as(
        &self,
        what: &str,
        path: &VaultPath,
        act: &Act<'_>,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
        checkpoint: Option<&CheckpointId>,
    ) {
        let Some(log) = &self.log else { return };
        let appends = before.zip(after).is_some_and(|(before, after)| after.starts_with(before));
        log.add(ChangeLine {
            at: Timestamp::now(),
            by: act.who(),
            what: if appends && what == "edit" { "append".into() } else { what.to_owned() },
            path: path.to_string(),
            lines: after.and_then(|after| changed_lines(before.unwrap_or_default(), after)),
            before: before.and_then(|bytes| log.digest(bytes)),
            after: after.and_then(|bytes| log.digest(bytes)),
            checkpoint: checkpoint.map(ToString::to_string),
        });
    }
}

/// The first and the last line, from 1, of a text that are others than before; where lines only went, the one that came up.
fn changed_lines(before: &[u8], after: &[u8]) -> Option<(u32, u32)> {
    if before == after || after.is_empty() {
        return None;
    }
    let same = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let most = before.len().min(after.len()) - same;
    let tail = before.iter().rev().zip(after.iter().rev()).take(most).take_while(|(one, other)| one == other).count();
    let lines_in = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u32;
    let first = lines_in(&after[..same]) + 1;
    let new = &after[same..after.len() - tail];
    let last = first + lines_in(new.strip_suffix(b"\n").unwrap_or(new));
    Some((first, last))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::state::{ChangeFilter, ChangeTable, State};
    use crate::vault::disk::write::tests::{path, vault};
    use crate::vault::disk::{Action, Outside};

    #[test]
    fn lines_are_those_that_are_others_now() {
        for (before, after, lines) in [
            ("", "one\ntwo\n", Some((1, 2))),
            ("one\n", "one\ntwo\n", Some((2, 2))),
            ("one\ntwo\nthree\n", "one\n2\nthree\n", Some((2, 2))),
            ("one\ntwo\nthree\n", "one\nthree\n", Some((2, 2))),
            ("one\n", "one\n", None),
            ("one\n", "", None),
        ] {
            assert_eq!(changed_lines(before.as_bytes(), after.as_bytes()), lines, "{before:?} {after:?}");
        }
    }

    #[test]
    fn every_change_is_noted_once() {
        let (folder, files) = vault();
        let log = Arc::new(ChangeTable::new(&State::in_folder(folder.path())));
        drop(files);
        let state = folder.path().join(".vault/state");
        let files = Files::new(folder.path().to_owned(), &state, Outside::default()).logged(Arc::clone(&log));
        let note = path("notes/a.md");
        let one = files.create(&note, "one\n").unwrap();
        let two = files.extend(&note, Some(one), "one\ntwo\n", Action::Edit.done_by("program x")).unwrap();
        files.replace(&note, two, "1\ntwo\n", Action::Edit.by("ada")).unwrap();
        let trashed = files.trash(&note, blake3::hash(b"1\ntwo\n")).unwrap();
        files.restore(&trashed, false).unwrap();
        assert!(files.replace(&note, one, "lost", Action::Edit).is_err());
        files.purge(&note).unwrap();
        let mut lines = log.newest(&ChangeFilter { limit: 99, ..ChangeFilter::default() }).unwrap();
        lines.reverse();
        let said: Vec<String> = lines
            .iter()
            .map(|line| format!("{} {} {:?} {}", line.by, line.what, line.lines, line.checkpoint.is_some()))
            .collect();
        assert_eq!(
            said,
            [
                "owner create Some((1, 1)) false", "program x append Some((2, 2)) false",
                "agent ada edit Some((1, 1)) true", "owner trash None true", "owner restore Some((1, 2)) true",
                "owner purge None false",
            ]
        );
        assert_eq!((lines[1].before, lines[2].before), (lines[0].after, lines[1].after));
        assert_eq!(lines[4].after, lines[2].after);
        assert!(lines[0].before.is_none() && lines[3].after.is_none());
    }
}
