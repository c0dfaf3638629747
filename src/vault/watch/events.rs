//! What the file system's events say, in the words of the vault.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::Event;
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};

use super::cookies::number_of;
use crate::path::VaultPath;
use crate::vault::{Change, NoteRules};

/// What the watcher has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// A file or a folder has changed.
    Changed(VaultPath, Change),
    /// A folder has appeared, with what it holds.
    Folder(VaultPath),
    /// Events were lost: anything may have changed.
    Lost,
    /// The vault's own folder, or one elsewhere, was moved, deleted or given other rights.
    Root,
    /// A cookie of this number has been made: all that happened before has been told.
    Cookie(u64),
}

/// Translates notify's events. What happens in the folder of `cookies` is no change of the vault's.
pub(super) fn handler(
    root: &Path,
    rules: Arc<NoteRules>,
    cookies: Option<PathBuf>,
    signal: impl Fn(Signal) + Send + 'static,
) -> impl FnMut(notify::Result<Event>) + Send + 'static {
    let root = root.to_owned();
    move |event| {
        let event = match event {
            Ok(event) if !event.need_rescan() => event,
            Ok(_) => return signal(Signal::Lost),
            Err(error) => {
                tracing::warn!("the watcher reports: {error}");
                return signal(Signal::Lost);
            }
        };
        let Some(change) = change_of(event.kind) else { return };
        for path in &event.paths {
            if cookies.as_ref().is_some_and(|folder| path.starts_with(folder)) {
                if let (EventKind::Create(_), Some(number)) = (event.kind, number_of(path)) {
                    signal(Signal::Cookie(number));
                }
                continue;
            }
            if *path == root || rules.outside().iter().any(|outside| path == outside.folder()) {
                signal(Signal::Root);
                continue;
            }
            // A rename names the old path too, where an editor may be about to write the new text.
            let renamed = matches!(event.kind, EventKind::Modify(ModifyKind::Name(_)));
            let gone = renamed && path.symlink_metadata().is_err();
            let change = if gone { Change::Removed } else { change };
            for relative in rules.outside().vault_paths(&root, path) {
                let may_be_folder = change != Change::Removed && rules.enters(&relative);
                let kind = may_be_folder.then(|| path.symlink_metadata().ok()).flatten();
                // A folder may be named like a note; what is gone may have been a folder, with all it held. Links are listed.
                if kind.as_ref().is_some_and(Metadata::is_dir) {
                    signal(Signal::Folder(relative));
                } else if rules.takes(&relative)
                    || kind.is_some_and(|meta| meta.is_symlink())
                    || (change == Change::Removed && rules.enters(&relative))
                {
                    signal(Signal::Changed(relative, change));
                }
            }
        }
    }
}

pub(super) fn change_of(kind: EventKind) -> Option<Change> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Change::Closed),
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => Some(Change::Removed),
        EventKind::Modify(ModifyKind::Name(_)) => Some(Change::Closed),
        EventKind::Modify(_) | EventKind::Create(_) | EventKind::Any | EventKind::Other => Some(Change::Written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, Flag, MetadataKind, RemoveKind};
    use std::sync::Mutex;

    /// What is said of an event on `path` of a vault that holds the folder `notes` and the file `notes/a.md`.
    fn said(kind: EventKind, path: &str, flag: Option<Flag>) -> Vec<Signal> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("notes")).unwrap();
        std::fs::write(root.join("notes/a.md"), "x").unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&said);
        let rules = Arc::new(NoteRules::new(root, &[]).unwrap());
        let mut handle =
            handler(root, rules, Some(root.join(".vault/cookies")), move |signal| into.lock().unwrap().push(signal));
        let mut event = Event::new(kind).add_path(root.join(path).components().collect());
        if let Some(flag) = flag {
            event = event.set_flag(flag);
        }
        handle(Ok(event));
        let said = said.lock().unwrap();
        said.clone()
    }

    #[test]
    fn an_overflow_is_a_loss_and_not_a_change() {
        assert_eq!(said(EventKind::Other, "notes/a.md", Some(Flag::Rescan)), [Signal::Lost]);
    }

    #[test]
    fn the_root_s_own_events_are_told_apart() {
        let metadata = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        assert_eq!(said(metadata, "", None), [Signal::Root]);
        let note = VaultPath::new("notes/a.md").unwrap();
        assert_eq!(said(metadata, "notes/a.md", None), [Signal::Changed(note, Change::Written)]);
    }

    #[test]
    fn a_folder_is_no_note_and_readers_are_no_news() {
        let notes = VaultPath::new("notes").unwrap();
        assert_eq!(said(EventKind::Create(CreateKind::Folder), "notes", None), [Signal::Folder(notes)]);
        assert!(said(EventKind::Access(AccessKind::Open(AccessMode::Any)), "notes/a.md", None).is_empty());
        assert!(said(EventKind::Create(CreateKind::File), ".git/a.md", None).is_empty());
    }

    #[test]
    fn a_cookie_is_heard_once_and_those_of_others_never() {
        let (own, create) = (std::process::id(), EventKind::Create(CreateKind::File));
        let cookie = format!(".vault/cookies/{own}-7");
        assert_eq!(said(create, &cookie, None), [Signal::Cookie(7)]);
        assert!(said(EventKind::Remove(RemoveKind::File), &cookie, None).is_empty());
        assert!(said(EventKind::Access(AccessKind::Close(AccessMode::Write)), &cookie, None).is_empty());
        for other in [format!("{}-7", own + 1), "x".into(), format!("{own}-"), format!("{own}-a.md")] {
            assert!(said(create, &format!(".vault/cookies/{other}"), None).is_empty(), "{other}");
        }
        assert!(said(EventKind::Remove(RemoveKind::Folder), ".vault/cookies", None).is_empty());
    }
}
