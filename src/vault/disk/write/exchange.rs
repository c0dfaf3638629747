//! Puts a text in the place of another, where an editor may write at the same moment.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use blake3::Hash;
use unicode_normalization::UnicodeNormalization;

use super::super::read::read_bytes;
use super::checkpoints::mode;
use super::error::WriteError;
use super::files::Files;
use crate::base::fs::{
    FsError, crash, create_private_dir, give_attributes_of, give_owner_of, is_open_for_writing, sync_folder,
    write_beside,
};
use crate::base::path::VaultPath;

/// Maximum times that what somebody else wrote at the very moment of ours is put back before we give up.
const PUT_BACK: usize = 8;
/// Maximum time that a write waits for somebody who has what it replaces open for writing.
const WRITERS_WAIT: Duration = Duration::from_secs(1);
/// How often it looks whether they are done.
const WRITERS_LOOK: Duration = Duration::from_millis(5);

impl Files {
    /// Writes over a file, unless it is not what it was: then it stays.
    pub(super) fn exchange(&self, path: &VaultPath, before: Hash, bytes: &[u8]) -> Result<(), WriteError> {
        let on_disk = path.on_disk(&self.root);
        let ours = blake3::hash(bytes);
        let beside = self.put(&on_disk, bytes, mode(&on_disk), |beside| {
            give_owner_of(&on_disk, beside);
            give_attributes_of(&on_disk, beside);
            let marked = Self::mark(beside, before, ours)?;
            crate::base::fs::exchange(&marked, &on_disk).inspect_err(|_| drop(fs::remove_file(&marked)))?;
            Ok(marked)
        })?;
        crash::point("note-replaced");
        let kept = self.put_back(&beside, &on_disk, before, ours);
        self.discard(path, &beside, [before, ours]);
        match kept? {
            true => Err(WriteError::Changed(path.clone())),
            false => Ok(sync_folder(&on_disk)?),
        }
    }

    /// After an exchange, what was in the note's place at that very moment lies beside it. When that is not what the writer has
    /// seen, it goes back; says whether it did. What comes out then is ours, or what somebody wrote over ours, and so on: the
    /// last to write is the one whose text stays.
    ///
    /// An editor may have opened it before, and write in it only now: nobody can open it any more, so who has it open is waited for.
    fn put_back(&self, beside: &Path, on_disk: &Path, before: Hash, ours: Hash) -> Result<bool, FsError> {
        let mut expected = Some(before);
        let mut put = Some(ours);
        for turn in 0..PUT_BACK {
            // Where the file system cannot exchange, nothing came out.
            if beside.symlink_metadata().is_err() {
                return Ok(false);
            }
            let is_known = |out: Option<Hash>| out.is_some() && (out == expected || out == put);
            let out = once_written(beside, is_known);
            if is_known(out) {
                return Ok(turn > 0);
            }
            crate::base::fs::exchange(beside, on_disk)?;
            (expected, put) = (put, out);
        }
        Ok(true)
    }

    /// Writes a file and has it put in its place: from among the program's own, or from beside it where that is another disk.
    /// Gives what `place` does.
    pub(super) fn put(
        &self,
        target: &Path,
        bytes: &[u8],
        mode: Option<u32>,
        place: impl Fn(&Path) -> Result<PathBuf, FsError>,
    ) -> Result<PathBuf, FsError> {
        create_private_dir(&self.unfinished)?;
        let folder = target.parent().unwrap_or(&self.root);
        let put_from = |from: &Path| {
            let beside = write_beside(from, bytes, mode)?;
            place(&beside).inspect_err(|_| drop(fs::remove_file(&beside)))
        };
        match put_from(&self.unfinished) {
            Err(FsError { source, .. }) if source.kind() == ErrorKind::CrossesDevices => {
                // A killed process may have left one there.
                self.clear(folder);
                put_from(folder)
            }
            put => put,
        }
    }
}

/// The hash of a file that has no name of its own any more, once nobody writes in it; at once where it is not known.
fn once_written(beside: &Path, is_known: impl Fn(Option<Hash>) -> bool) -> Option<Hash> {
    let started = Instant::now();
    loop {
        // Whoever has it open has so before it is read.
        let is_open = is_open_for_writing(beside) == Some(true);
        let out = read_bytes(beside).ok().map(|bytes| blake3::hash(&bytes));
        if !is_open || !is_known(out) || started.elapsed() >= WRITERS_WAIT {
            return out;
        }
        std::thread::sleep(WRITERS_LOOK);
    }
}

/// A text that lies beside a note until nobody has it open for writing.
#[derive(Debug)]
pub(super) struct HeldText {
    /// The note.
    pub(super) path: VaultPath,
    /// Where it lies.
    pub(super) beside: PathBuf,
    /// What it may be without being anybody's: the note as it was before, and as it was written.
    pub(super) known: [Hash; 2],
}

/// Maximum length of a name, in bytes; file systems take 255, and sync services add to it.
const MAX_SLUG_BYTES: usize = 80;

/// Names that Windows keeps for devices, whatever their extension.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// A file name without extension for a title: its letters and digits in lower case, in NFC, with `-` between words.
/// `note` where a title has neither letter nor digit.
pub(crate) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for part in title.nfc().collect::<String>().split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        let word: String = part.chars().flat_map(char::to_lowercase).collect();
        let room = MAX_SLUG_BYTES - slug.len();
        if word.len() + usize::from(!slug.is_empty()) > room {
            if slug.is_empty() {
                slug.push_str(&word[..word.floor_char_boundary(room)]);
            }
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word);
    }
    if slug.is_empty() || is_device(&slug) {
        format!("note{}{slug}", if slug.is_empty() { "" } else { "-" })
    } else {
        slug
    }
}

/// Whether a name in lower case is one that Windows keeps for a device, with or without a digit behind it.
fn is_device(name: &str) -> bool {
    DEVICES.iter().any(|device| {
        name.strip_prefix(device)
            .is_some_and(|rest| rest.is_empty() || (rest.len() == 1 && rest.chars().all(|c| c.is_ascii_digit())))
    })
}

/// Whether a name can be a folder's on every file system, and is what it looks like: no separators and no characters that
/// Windows refuses or that cannot be seen, no blank or dot at either end, and no device.
pub(crate) fn is_folder_name(name: &str) -> bool {
    let unseen = |c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    let refused = |c: char| c.is_control() || unseen(c) || "<>:\"|?*/\\".contains(c);
    let ends = |c: char| c.is_whitespace() || c == '.';
    // Full-width and other likenesses of dots and slashes: they lead nowhere, and look as if they did.
    let plain: String = name.nfkc().collect();
    let is_likeness = plain.contains(['/', '\\', '\u{2044}', '\u{2215}', '\u{29f5}', '\u{29f8}', '\u{29f9}'])
        || (plain.starts_with('.') && !name.starts_with('.'));
    let device = name.split('.').next().unwrap_or(name).trim_end().to_lowercase();
    !name.is_empty()
        && !name.contains(refused)
        && !name.starts_with(ends)
        && !name.ends_with(ends)
        && !is_device(&device)
        && !is_likeness
}

/// The paths that a note of a title may have in `folder`, without end: its [`slug`], then with numbers behind it.
pub(crate) fn note_names(folder: &str, title: &str) -> impl Iterator<Item = VaultPath> {
    let base = format!("{folder}/{}", slug(title));
    (1..)
        .map(move |at| if at == 1 { format!("{base}.md") } else { format!("{base}-{at}.md") })
        .filter_map(|path| VaultPath::new(path).ok())
}

/// The first of the [`note_names`] that no file has.
pub(crate) fn free_name(root: &Path, folder: &str, title: &str) -> VaultPath {
    let is_free = |path: &VaultPath| path.on_disk(root).symlink_metadata().is_err();
    note_names(folder, title).find(is_free).expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::disk::Action;
    use crate::vault::disk::write::tests::{path, vault};

    #[cfg(target_os = "linux")]
    #[test]
    fn what_an_editor_writes_in_place_after_the_exchange_stays() {
        use std::io::Write;
        let (folder, files) = vault();
        let on_disk = folder.path().join("a.md");
        let hash = files.create(&path("a.md"), "one\n").unwrap();
        let mut editor = fs::File::options().append(true).open(&on_disk).unwrap();
        std::thread::scope(|scope| {
            let writes = scope.spawn(|| files.replace(&path("a.md"), hash, "one\nours\n", Action::Edit));
            while fs::read_to_string(&on_disk).unwrap_or_default() != "one\nours\n" {
                std::thread::yield_now();
            }
            editor.write_all(b"theirs\n").unwrap();
            drop(editor);
            assert!(matches!(writes.join().unwrap(), Err(WriteError::Changed(_))));
        });
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "one\ntheirs\n");
        assert!(!folder.path().join(".trash").exists());
        assert_eq!(fs::read_dir(&files.unfinished).unwrap().count(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_written_long_after_goes_to_the_trash() {
        use std::io::Write;
        let (folder, files) = vault();
        let on_disk = folder.path().join("a.md");
        let hash = files.create(&path("a.md"), "one\n").unwrap();
        let mut editor = fs::File::options().append(true).open(&on_disk).unwrap();
        files.replace(&path("a.md"), hash, "ours\n", Action::Edit).unwrap();
        files.create(&path("b.md"), "x").unwrap();
        editor.write_all(b"theirs\n").unwrap();
        files.create(&path("c.md"), "x").unwrap();
        assert!(!folder.path().join(".trash").exists(), "it is open still");
        drop(editor);
        files.create(&path("d.md"), "x").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(".trash/a.md")).unwrap(), "one\ntheirs\n");
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "ours\n");
        assert_eq!(fs::read_dir(&files.unfinished).unwrap().count(), 0);
    }

    #[test]
    fn a_note_that_is_written_over_keeps_its_attributes() {
        let (folder, files) = vault();
        let hash = files.create(&path("a.md"), "one").unwrap();
        let on_disk = folder.path().join("a.md");
        let tags = b"green, important";
        // Some file systems keep none.
        if rustix::fs::setxattr(&on_disk, "user.xdg.tags", tags, rustix::fs::XattrFlags::empty()).is_err() {
            return;
        }
        files.replace(&path("a.md"), hash, "two", Action::Edit).unwrap();
        let mut value = [0; 64];
        let length = rustix::fs::getxattr(&on_disk, "user.xdg.tags", &mut value[..]).unwrap();
        assert_eq!(&value[..length], tags);
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "two");
    }

    #[test]
    fn what_somebody_writes_at_the_very_moment_stays() {
        let (folder, files) = vault();
        let (on_disk, beside) = (folder.path().join("a.md"), folder.path().join("beside"));
        let hash = |text: &str| blake3::hash(text.as_bytes());
        // As it is after the exchange: ours in place, theirs beside it.
        fs::write(&on_disk, "ours").unwrap();
        fs::write(&beside, "theirs").unwrap();
        assert!(files.put_back(&beside, &on_disk, hash("before"), hash("ours")).unwrap());
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "theirs");
        // And once more over ours.
        fs::write(&on_disk, "theirs again").unwrap();
        fs::write(&beside, "theirs").unwrap();
        assert!(files.put_back(&beside, &on_disk, hash("before"), hash("ours")).unwrap());
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "theirs again");
        fs::write(&on_disk, "ours").unwrap();
        fs::write(&beside, "before").unwrap();
        assert!(!files.put_back(&beside, &on_disk, hash("before"), hash("ours")).unwrap());
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "ours");
    }
}

#[cfg(test)]
mod tests_of_names {
    use super::*;

    #[test]
    fn slugs_are_readable_and_safe() {
        for (title, expected) in [
            ("Find when words vanished (git)", "find-when-words-vanished-git"),
            ("  ../../etc/passwd\0 ", "etc-passwd"),
            ("Zürich, 東京 & co.", "zürich-東京-co"),
            ("...", "note"),
            ("CON", "note-con"),
            ("com1", "note-com1"),
            ("Console", "console"),
        ] {
            assert_eq!(slug(title), expected);
        }
        assert_eq!(slug(&"word ".repeat(100)).len(), 79);
        assert_eq!(slug(&"é".repeat(100)).len(), 80);
    }

    #[test]
    fn names_of_folders_are_what_they_look_like() {
        for good in ["notes", "Zürich 2026", "a.b", "東京", "console"] {
            assert!(is_folder_name(good), "{good:?}");
        }
        for bad in [
            "", "notes ", " notes", "notes.", ".git", "a|b*?", "a:b", "a/b", "a\\b", "con", "COM1", "nul.txt",
            "a\u{202e}b",
        ] {
            assert!(!is_folder_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("notes")).unwrap();
        assert_eq!(free_name(folder.path(), "notes", "A b").as_str(), "notes/a-b.md");
        std::fs::write(folder.path().join("notes/a-b.md"), "").unwrap();
        assert_eq!(free_name(folder.path(), "notes", "A b").as_str(), "notes/a-b-2.md");
    }
}
