//! The one way in which notes are written, each change noted in the log: which note, by whom and where; no text.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use blake3::Hash;
use jiff::Timestamp;
use tempfile::TempDir;

use super::super::read::read_bytes;
use super::checkpoints::{Act, Action, CheckpointId, Checkpoints, MAX_BYTES, WriteError};
use super::exchange::HeldText;
use crate::base::fs::{Context, UNFINISHED, crash, create_dir, create_private_dir, move_new, sync_folder};
use crate::base::path::VaultPath;
use crate::base::state::{ChangeLine, ChangeTable};
use crate::vault::disk::Outside;

/// Interval at which old checkpoints are looked for.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3600);
/// Writes notes of one vault. One write at a time.
#[derive(Debug)]
pub struct Files {
    pub(super) root: PathBuf,
    outside: Outside,
    /// Where files are until they are whole.
    pub(super) unfinished: PathBuf,
    pub(super) checkpoints: Checkpoints,
    pruned: Mutex<Option<Instant>>,
    /// Held while a file is generated of others, and while something is forgotten.
    generating: Mutex<()>,
    /// What was replaced while somebody had it open for writing: whatever they write there is theirs.
    pub(super) held: Mutex<Vec<HeldText>>,
    /// Where each change is noted, if anywhere.
    pub(super) log: Option<Arc<ChangeTable>>,
}

/// What becomes of a note that is edited.
#[derive(Debug)]
pub(crate) enum NoteEdit {
    /// Nothing.
    Stays,
    /// It was read while somebody else wrote it; it is read again.
    Again,
    /// It says this.
    Text(String),
    /// It stays as it is, as [`Files::leave`] has it.
    Left,
    /// It goes to the trash.
    Gone,
}

impl Files {
    /// Writes in the vault at `root`; checkpoints are kept below `state`. Only who has the vault's lock may write.
    pub fn new(root: PathBuf, state: &Path, outside: Outside) -> Self {
        let files = Self {
            root,
            outside,
            unfinished: state.join("unfinished"),
            checkpoints: Checkpoints::new(state.join("checkpoints")),
            pruned: Mutex::default(),
            generating: Mutex::default(),
            held: Mutex::default(),
            log: None,
        };
        files.clear(&files.unfinished);
        if let Err(error) = files.checkpoints.clear_unfinished() {
            tracing::warn!("what a killed write left stays: {error}");
        }
        files
    }

    /// The same, with each change noted in a log.
    #[must_use]
    pub fn logged(self, log: Arc<ChangeTable>) -> Self {
        Self { log: Some(log), ..self }
    }

    /// Says whether a note may be at a path: visible, an `.md` or `.markdown` file, and below no symbolic link.
    ///
    /// # Errors
    /// When none may be there.
    pub fn check(&self, path: &VaultPath) -> Result<(), WriteError> {
        let refuse = |reason| Err(WriteError::Refused { path: path.to_string(), reason });
        if path.attachment().is_some() {
            return refuse("it is an attachment; attachments are read-only");
        }
        if ![".md", ".markdown"].iter().any(|end| path.as_str().ends_with(end)) || path.stem().is_empty() {
            return refuse("the name of a note must end in .md or .markdown");
        }
        self.check_place(path)
    }

    /// The same for a file that is read, trashed and brought back: an attachment may be one, too.
    pub(super) fn check_file(&self, path: &VaultPath) -> Result<(), WriteError> {
        if path.attachment().is_some() { self.check_place(path) } else { self.check(path) }
    }

    fn check_place(&self, path: &VaultPath) -> Result<(), WriteError> {
        let refuse = |reason| Err(WriteError::Refused { path: path.to_string(), reason });
        if self.outside.of(path).is_some() {
            return refuse("it is in a folder of `[[collections]]`, which is read-only");
        }
        for part in path.as_str().split('/') {
            if part.starts_with('.') {
                return refuse("hidden files and folders are not part of the memory");
            }
            if part.len() > 255 || part.chars().any(|c| c.is_control() || c == '\\') {
                return refuse("a name has a control character or a backslash, or over 255 bytes");
            }
        }
        for part in path.and_parents() {
            match self.root.join(part).symlink_metadata() {
                Ok(meta) if meta.is_symlink() => return refuse("it is, or lies below, a symbolic link"),
                Ok(meta) if part != path.as_str() && !meta.is_dir() => {
                    return refuse("a folder in the path is a file");
                }
                Ok(meta) if part == path.as_str() && !meta.is_file() => {
                    return refuse("a folder, or something else that is not a file, has this path");
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What a file has, and the hash to name when it is written over; `None` when it is not there.
    ///
    /// # Errors
    /// When no note may be there, or it cannot be read.
    pub fn read(&self, path: &VaultPath) -> Result<Option<(Vec<u8>, Hash)>, WriteError> {
        self.check_file(path)?;
        let on_disk = path.on_disk(&self.root);
        match read_bytes(&on_disk) {
            Ok(bytes) => {
                let hash = blake3::hash(&bytes);
                Ok(Some((bytes, hash)))
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error).on("read", &on_disk)?,
        }
    }

    /// Makes a new note, without a checkpoint.
    ///
    /// # Errors
    /// [`WriteError::Exists`] when the name is taken; when no note may be there, or the disk refuses.
    pub fn create(&self, path: &VaultPath, text: &str) -> Result<Hash, WriteError> {
        self.extend(path, None, text, Action::Create)
    }

    /// Adds an attachment beside the notes.
    ///
    /// # Errors
    /// As [`Files::create`].
    pub(crate) fn add_attachment(&self, path: &VaultPath, bytes: &[u8]) -> Result<CheckpointId, WriteError> {
        let _one = self.one_at_a_time()?;
        self.check_file(path)?;
        self.write(path, None, bytes, Action::Create.into(), None)
    }

    /// A folder among the program's own for what comes from outside, which goes with the value, or at the next start.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn scratch(&self) -> Result<TempDir, WriteError> {
        create_private_dir(&self.unfinished)?;
        let folder = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.unfinished);
        Ok(folder.on("make a folder in", &self.unfinished)?)
    }

    /// Leaves a note as `before` says, or not there, and gives a checkpoint as for a change: undoing that changes nothing.
    ///
    /// # Errors
    /// As [`Files::replace`].
    pub fn leave(&self, path: &VaultPath, before: Option<Hash>, act: Act<'_>) -> Result<CheckpointId, WriteError> {
        let _one = self.one_at_a_time()?;
        self.check(path)?;
        let had = before.map(|before| self.expect(path, before)).transpose()?;
        if before.is_none() && self.read(path)?.is_some() {
            return Err(WriteError::Exists(path.clone()));
        }
        self.keep(path, act, had.as_deref(), before, None)
    }

    /// Writes over a note that is as `before` says, or makes a new one where that is `None`. What it was is kept, so that this can be undone.
    ///
    /// # Errors
    /// [`WriteError::Changed`], [`WriteError::Gone`] or [`WriteError::Exists`] when it is not so any more; when no note may be there, or the
    /// disk refuses.
    pub fn replace<'a>(
        &self,
        path: &VaultPath,
        before: impl Into<Option<Hash>>,
        text: &(impl AsRef<[u8]> + ?Sized),
        act: impl Into<Act<'a>>,
    ) -> Result<CheckpointId, WriteError> {
        let (_one, act) = (self.one_at_a_time()?, act.into());
        self.check(path)?;
        self.write(path, before.into(), text.as_ref(), act, None)
    }

    /// The same of a path that was checked; a new file gets exactly those permission bits, or those that the umask gives.
    pub(super) fn write(
        &self,
        path: &VaultPath,
        before: Option<Hash>,
        bytes: &[u8],
        act: Act<'_>,
        mode: Option<u32>,
    ) -> Result<CheckpointId, WriteError> {
        let had = before.map(|before| self.expect(path, before)).transpose()?;
        self.change(path, act, had.as_deref(), Some(bytes), None, || match before {
            Some(before) => self.exchange(path, before, bytes),
            None => self.make(path, bytes, mode),
        })
    }

    /// Writes a note that begins with all that was there before, so that nothing needs to be kept; a new one when `before` is
    /// `None`.
    ///
    /// # Errors
    /// As [`Files::replace`].
    pub fn extend<'a>(
        &self,
        path: &VaultPath,
        before: Option<Hash>,
        text: &(impl AsRef<[u8]> + ?Sized),
        act: impl Into<Act<'a>>,
    ) -> Result<Hash, WriteError> {
        let (_one, text, act) = (self.one_at_a_time()?, text.as_ref(), act.into());
        self.check(path)?;
        let had = before.map(|before| self.expect(path, before)).transpose()?;
        match (before, &had) {
            (Some(before), Some(had)) if text.starts_with(had) => self.exchange(path, before, text)?,
            (Some(_), _) => return Err(WriteError::Changed(path.clone())),
            (None, _) => self.make(path, text, None)?,
        }
        let action = if had.is_some() { act.action } else { Action::Create };
        self.note(action.name(), path, &act, had.as_deref(), Some(text), None);
        Ok(blake3::hash(text))
    }

    /// Works out what a note says after a change, and writes that over what it said, as often as somebody else was faster. `act` is told whether
    /// the note is new. Gives what undoes it; `None` where the note stays.
    ///
    /// # Errors
    /// As `edit` and [`Files::replace`].
    pub(crate) fn edit<'a, E: From<WriteError>>(
        &self,
        path: &VaultPath,
        act: impl Fn(bool) -> Act<'a>,
        mut edit: impl FnMut(Option<&[u8]>) -> Result<NoteEdit, E>,
    ) -> Result<Option<CheckpointId>, E> {
        until_written(|| {
            let (bytes, hash) = self.read(path)?.unzip();
            let act = act(hash.is_none());
            let written = match (edit(bytes.as_deref())?, hash) {
                (NoteEdit::Stays, _) => return Ok(Ok(None)),
                (NoteEdit::Again, _) => Err(WriteError::Changed(path.clone())),
                (NoteEdit::Text(text), _) => self.replace(path, hash, &text, act),
                (NoteEdit::Left, _) => self.leave(path, hash, act),
                (NoteEdit::Gone, Some(hash)) => self.trash(path, hash, act),
                (NoteEdit::Gone, None) => Err(WriteError::Gone(path.clone())),
            };
            Ok(written.map(Some))
        })
    }

    /// Takes the turn to generate a file of others, from the look at them until it is written, or to forget something with all that was
    /// made of it: what goes is not written anew, and not kept in a checkpoint of such a file, between the steps of that.
    pub(crate) fn one_generation(&self) -> MutexGuard<'_, ()> {
        self.generating.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the turn to write. From time to time whoever has it drops old checkpoints.
    pub(super) fn one_at_a_time(&self) -> Result<MutexGuard<'_, Option<Instant>>, WriteError> {
        let mut pruned = self.pruned.lock().unwrap_or_else(PoisonError::into_inner);
        if pruned.is_none_or(|pruned| pruned.elapsed() > PRUNE_INTERVAL) {
            *pruned = Some(Instant::now());
            if let Err(error) = self.checkpoints.prune(SystemTime::now(), MAX_BYTES) {
                tracing::warn!("old checkpoints stay: {error}");
            }
        }
        self.look_at_held();
        Ok(pruned)
    }

    pub(super) fn expect(&self, path: &VaultPath, before: Hash) -> Result<Vec<u8>, WriteError> {
        match self.read(path)? {
            None => Err(WriteError::Gone(path.clone())),
            Some((_, hash)) if hash != before => Err(WriteError::Changed(path.clone())),
            Some((bytes, _)) => Ok(bytes),
        }
    }

    fn make(&self, path: &VaultPath, bytes: &[u8], mode: Option<u32>) -> Result<(), WriteError> {
        self.check_place(path)?;
        let on_disk = path.on_disk(&self.root);
        create_dir(on_disk.parent().unwrap_or(&self.root))?;
        self.put(&on_disk, bytes, mode, |beside| move_new(beside, &on_disk).map(|()| on_disk.clone())).map_err(
            |error| match error.source.kind() {
                ErrorKind::AlreadyExists => WriteError::Exists(path.clone()),
                _ => error.into(),
            },
        )?;
        crash::point("note-made");
        Ok(sync_folder(&on_disk)?)
    }

    /// Notes a change that was made. It is written in a moment, and no change waits for it or fails with it.
    pub(super) fn note(
        &self,
        what: &str,
        path: &VaultPath,
        act: &Act<'_>,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
        checkpoint: Option<&CheckpointId>,
    ) {
        let Some(log) = &self.log else { return };
        let appends = !act.typed && before.zip(after).is_some_and(|(before, after)| after.starts_with(before));
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

/// Maximum times that a change is worked out anew because somebody else wrote the file in between. Each time one of them got through.
const TRIES: usize = 100;

/// Works a change out anew as often as somebody else was faster; `attempt` looks at what is there, and writes over it.
///
/// # Errors
/// What keeps it from being worked out, or from being written.
pub(crate) fn until_written<T, E: From<WriteError>>(
    mut attempt: impl FnMut() -> Result<Result<T, WriteError>, E>,
) -> Result<T, E> {
    for _ in 1..TRIES {
        match attempt()? {
            Err(WriteError::Exists(_) | WriteError::Changed(_) | WriteError::Gone(_)) => {}
            written => return Ok(written?),
        }
    }
    Ok(attempt()??)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::vault::disk::Action;
    use crate::vault::disk::write::tests::{path, read, restore, vault};

    #[test]
    fn a_note_grows_without_a_checkpoint() {
        let (_folder, files) = vault();
        let day = path("files/2026-01-05.md");
        let first = files.extend(&day, None, "one\n", Action::Edit).unwrap();
        files.extend(&day, Some(first), "one\ntwo\n", Action::Edit).unwrap();
        assert!(matches!(files.extend(&day, Some(first), "one\nthree\n", Action::Edit), Err(WriteError::Changed(_))));
        assert_eq!(read(&files, day.as_str()).unwrap().0, "one\ntwo\n");
        assert_eq!(files.checkpoints().unwrap(), []);
    }

    #[test]
    fn nothing_is_written_where_no_note_belongs() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (folder, files) = vault();
        let outside = tempfile::tempdir().unwrap();
        symlink(outside.path(), folder.path().join("link")).unwrap();
        symlink(outside.path().join("there.md"), folder.path().join("there.md")).unwrap();
        fs::create_dir(folder.path().join("folder.md")).unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.path().join("fifo.md"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        for bad in [
            "link/a.md", "there.md", "folder.md", "fifo.md", "file/a.md", ".vault/a.md", "notes/.a.md", ".md", "a.txt",
            "a.MD", ".markdown", "a.Markdown", "memory.toml", "a\nb.md", "a\\b.md", ".git/hooks/a.md",
        ] {
            assert!(matches!(files.create(&path(bad), "x"), Err(WriteError::Refused { .. })), "{bad}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);

        let hash = files.create(&path("mine.md"), "one").unwrap();
        let on_disk = folder.path().join("mine.md");
        // Whatever the umask says.
        fs::set_permissions(&on_disk, fs::Permissions::from_mode(0o666)).unwrap();
        let id = files.replace(&path("mine.md"), hash, "two", Action::Edit).unwrap();
        let mode = || fs::metadata(&on_disk).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(), 0o666);
        restore(&files, &id, false).unwrap();
        let id = files.trash(&path("mine.md"), hash, Action::Trash).unwrap();
        restore(&files, &id, false).unwrap();
        assert_eq!(mode(), 0o666);
    }

    #[test]
    fn an_attachment_is_never_written_and_goes_to_the_trash_and_back() {
        let (folder, files) = vault();
        let (pdf, bytes) = (path("files/a.pdf"), [b'%', 0xff, 0]);
        fs::create_dir_all(folder.path().join("files")).unwrap();
        let on_disk = folder.path().join("files/a.pdf");
        let refused = |result: Result<(), WriteError>| {
            assert!(result.unwrap_err().to_string().contains("read-only"));
        };
        refused(files.create(&pdf, "x").map(drop));
        fs::write(&on_disk, bytes).unwrap();
        let hash = files.read(&pdf).unwrap().unwrap().1;
        refused(files.create(&pdf, "x").map(drop));
        refused(files.replace(&pdf, None, "x", Action::Edit.by("ada")).map(drop));
        refused(files.replace(&pdf, hash, "x", Action::Edit).map(drop));
        refused(files.extend(&pdf, Some(hash), "x", Action::Edit).map(drop));
        refused(files.extend(&pdf, None, "x", Action::Edit).map(drop));
        refused(files.leave(&pdf, Some(hash), Action::Edit.into()).map(drop));
        refused(files.create(&path("files/a.png"), "x").map(drop));
        assert_eq!(fs::read(&on_disk).unwrap(), bytes);

        let id = files.trash(&pdf, hash, Action::Trash).unwrap();
        assert!(!on_disk.exists() && folder.path().join(".trash/files/a.pdf").exists());
        fs::write(&on_disk, "another").unwrap();
        refused(restore(&files, &id, true).map(drop));
        let second = files.trash(&pdf, blake3::hash(b"another"), Action::Trash).unwrap();
        assert!(folder.path().join(".trash/files/a 2.pdf").exists(), "it stays what it is");
        restore(&files, &id, true).unwrap();
        assert_eq!(fs::read(&on_disk).unwrap(), bytes);
        files.trash(&pdf, hash, Action::Trash).unwrap();
        let purged = files.purge(&pdf).unwrap();
        assert_eq!((purged.trashed, purged.left.len()), (2, 0));
        assert!(matches!(restore(&files, &second, true), Err(WriteError::NoCheckpoint(_))));
    }
}

#[cfg(test)]
mod tests_of_the_log {
    use std::sync::Arc;

    use super::*;
    use crate::base::state::{ChangeTable, State};
    use crate::vault::disk::write::tests::{path, restore, vault};
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
        let trashed = files.trash(&note, blake3::hash(b"1\ntwo\n"), Action::Trash).unwrap();
        restore(&files, &trashed, false).unwrap();
        assert!(files.replace(&note, one, "lost", Action::Edit).is_err());
        files.purge(&note).unwrap();
        let mut lines = log.newest(None, None, 99).unwrap();
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
