//! What sync services leave when a note was changed in two places: a copy beside it, told by its name alone.

use std::fs::{File, Metadata};
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use regex::Regex;

use super::rules::NoteRules;
use super::scan::scan_conflict_copies;
use crate::base::path::VaultPath;

/// A shape of names, and who gives such names.
struct CopyName {
    /// Its first group is the name of the note it is a copy of.
    name: Regex,
    made_by: &'static str,
    /// Whether a person may have chosen such a name, so that it is a copy only where the note is there too.
    doubtful: bool,
}

static SHAPES: LazyLock<Vec<CopyName>> = LazyLock::new(|| {
    const DATE: &str = r"\d{4}-?\d{2}-?\d{2}[\d -]*";
    let shape = |name: &str, made_by, doubtful| {
        let name = Regex::new(&format!("^(.+){name}$")).expect("the shape is well formed");
        CopyName { name, made_by, doubtful }
    };
    vec![
        shape(r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?", "Syncthing", false),
        shape(&format!(r" \(Conflicted copy [^()]*{DATE}\)"), "Obsidian Sync", false),
        shape(&format!(r" \(conflicted copy {DATE}\)"), "Nextcloud or ownCloud", false),
        shape(&format!(r" \([^()]* conflicted copy {DATE}\)(?: \(\d+\))?"), "Dropbox", false),
        shape(r"_conflict-\d{8}-\d{6}", "Nextcloud or ownCloud", false),
        shape(r" \(SFConflict [^()]*\d{4}(?:-\d{2}){5}\)", "Seafile", false),
        shape(r"_[^_/]+_[A-Z][a-z]{2}-\d{2}-\d{4,6}-\d{4}_Conflict", "Synology Drive", false),
        shape(r" \[conflicted\](?: \d+)?", "pCloud", true),
        // Of many services, and as people say it.
        shape(r" \((?:[^()]* )?[Cc]onflict(?:ed copy)?(?: [^()]*)?\)", "a sync service", true),
        // The name of a computer, of which these are the ones that Windows gives.
        shape(r"-(?:DESKTOP|LAPTOP)-[A-Z0-9]{6,8}(?:-\d+)?", "OneDrive", true),
    ]
});

/// The path of the note that a note is a conflict copy of, and who makes copies with such names. `is_there` tells whether there
/// is a note. What iCloud makes of `Plan.md` is `Plan 2.md`, as people name a second part, so it is taken for a note.
pub(crate) fn conflict_copy(path: &VaultPath, is_there: impl Fn(&str) -> bool) -> Option<(String, &'static str)> {
    let text = path.as_str();
    // Few names are looked at closely: the status goes over all notes.
    if !["onflict", "-DESKTOP-", "-LAPTOP-"].iter().any(|part| text.contains(part)) {
        return None;
    }
    let stem = path.stem();
    let folder = text.len() - text.rsplit('/').next().map_or(text.len(), str::len);
    let extension = &text[folder + stem.len()..];
    SHAPES.iter().find_map(|shape| {
        let of = shape.name.captures(stem)?.get(1)?.as_str();
        let of = format!("{}{of}{extension}", &text[..folder]);
        (!shape.doubtful || is_there(&of)).then_some((of, shape.made_by))
    })
}

/// Maximum size of two files that are compared byte by byte; longer ones are taken to differ.
const MAX_COMPARED_BYTES: u64 = 64 << 20;

/// How many times as long as a look takes the next one is put off, where what was seen lately will do.
const PAUSES_FOR_LOOKS: u32 = 10;

/// A conflict copy on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundCopy {
    /// Where it is, as far as that can be shown.
    pub path: String,
    /// What it is a copy of, which may be gone.
    pub of: String,
    /// Who makes copies with such names.
    pub made_by: &'static str,
    /// Whether both are the same to the byte.
    pub same: bool,
    /// Whether its name is UTF-8, so that it can be named.
    pub is_named: bool,
}

/// The conflict copies of a vault, as they were seen last.
#[derive(Debug, Default)]
pub(crate) struct ConflictFiles {
    seen: Mutex<Option<SeenCopies>>,
}

#[derive(Debug)]
struct SeenCopies {
    at: Instant,
    took: Duration,
    copies: Vec<FoundCopy>,
}

impl ConflictFiles {
    /// All of them, as they are now.
    pub(crate) fn now(&self, root: &Path, rules: &NoteRules) -> Vec<FoundCopy> {
        let at = Instant::now();
        let copies = found(root, rules);
        let seen = SeenCopies { at, took: at.elapsed(), copies: copies.clone() };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
        copies
    }

    /// All of them, as they were a moment ago: for whoever asks again and again.
    pub(crate) fn lately(&self, root: &Path, rules: &NoteRules) -> Vec<FoundCopy> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = seen.as_ref().filter(|seen| seen.at.elapsed() < seen.took * (PAUSES_FOR_LOOKS + 1)) {
            return seen.copies.clone();
        }
        drop(seen);
        self.now(root, rules)
    }
}

fn found(root: &Path, rules: &NoteRules) -> Vec<FoundCopy> {
    let scan = scan_conflict_copies(root, rules);
    let is_there = |path: &str| VaultPath::new(path).is_ok_and(|path| file_of(root, rules, &path).is_some());
    let named = scan.files.iter().filter_map(|file| {
        let (of, made_by) = conflict_copy(&file.path, is_there)?;
        let same = VaultPath::new(of.as_str()).is_ok_and(|of| are_same(root, rules, &file.path, &of));
        Some(FoundCopy { path: file.path.to_string(), of, made_by, same, is_named: true })
    });
    let unnamed = scan.unnamed.iter().filter_map(|shown| {
        let path = VaultPath::new(shown.as_str()).ok().filter(|path| rules.takes_conflict_copy(path))?;
        // Whether a file of another such name is there cannot be told by what is shown of it.
        let (of, made_by) = conflict_copy(&path, |_| false)?;
        Some(FoundCopy { path: path.to_string(), of, made_by, same: false, is_named: false })
    });
    named.chain(unnamed).collect()
}

/// What the file system says of a file of a vault; `None` where there is none, or something else.
pub(crate) fn file_of(root: &Path, rules: &NoteRules, path: &VaultPath) -> Option<Metadata> {
    rules.outside().on_disk(root, path).symlink_metadata().ok().filter(Metadata::is_file)
}

fn are_same(root: &Path, rules: &NoteRules, one: &VaultPath, other: &VaultPath) -> bool {
    let bytes = |path| file_of(root, rules, path).map(|meta| meta.len());
    let length = bytes(one);
    if length.is_none_or(|length| length > MAX_COMPARED_BYTES) || length != bytes(other) {
        return false;
    }
    let open = |path| File::open(rules.outside().on_disk(root, path)).map(|file| BufReader::new(file).bytes());
    let (Ok(one), Ok(other)) = (open(one), open(other)) else { return false };
    one.map(Result::ok).eq(other.map(Result::ok))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy_of(path: &str) -> Option<(String, &'static str)> {
        conflict_copy(&VaultPath::new(path).unwrap(), |path| path == "notes/there.md")
    }

    #[test]
    fn copies_are_told_by_the_names_that_sync_services_give() {
        for (path, of, made_by) in [
            ("notes/a b.sync-conflict-20260105-183012-ABC2DEF.md", "notes/a b.md", "Syncthing"),
            ("a.sync-conflict-20260105-183012.markdown", "a.markdown", "Syncthing"),
            ("x/Plan (draft) (Maya's conflicted copy 2026-01-05).md", "x/Plan (draft).md", "Dropbox"),
            ("Plan (DESKTOP's conflicted copy 2026-01-05) (1).md", "Plan.md", "Dropbox"),
            ("Plan (conflicted copy 2026-01-05 183012).md", "Plan.md", "Nextcloud or ownCloud"),
            ("Plan_conflict-20260105-183012.md", "Plan.md", "Nextcloud or ownCloud"),
            ("Plan (Conflicted copy Maya's phone 202601051830).md", "Plan.md", "Obsidian Sync"),
            ("Plan (SFConflict maya@example.org 2026-01-05-18-30-12).md", "Plan.md", "Seafile"),
            ("Plan_nas_Jan-05-183012-2026_Conflict.md", "Plan.md", "Synology Drive"),
            ("notes/there [conflicted].md", "notes/there.md", "pCloud"),
            ("notes/there (conflict).md", "notes/there.md", "a sync service"),
            ("notes/there (Conflict 2).md", "notes/there.md", "a sync service"),
            ("notes/there (Maya's MacBook's conflicted copy).md", "notes/there.md", "a sync service"),
            ("notes/there-DESKTOP-4F2K9QX.md", "notes/there.md", "OneDrive"),
            ("notes/there-LAPTOP-4F2K9QXA-2.md", "notes/there.md", "OneDrive"),
        ] {
            assert_eq!(copy_of(path), Some((of.to_owned(), made_by)), "{path}");
        }
    }

    #[test]
    fn a_note_about_conflicts_is_no_copy() {
        for path in [
            "notes/conflict.md",
            "notes/Conflict resolution (2026-01-05).md",
            "notes/How to resolve a conflicted copy.md",
            "notes/conflicted copy 2026-01-05.md",
            "notes/Why (conflicted copy).md",
            "notes/Merging (what is a conflicted copy).md",
            "notes/.sync-conflict-20260105-183012-ABC2DEF/a.md",
            "notes/a.sync-conflict-notes.md",
            "notes/Peace (conflict).md",
            "notes/there (conflicts of interest).md",
            "notes/Inventory-DESKTOP-4F2K9QX.md",
            "notes/there-DESKTOP-replacement.md",
            "notes/there 2.md",
            "notes/there (1).md",
            "notes/there-copy.md",
        ] {
            assert_eq!(copy_of(path), None, "{path}");
        }
    }
}

#[cfg(test)]
mod tests_of_conflict_files {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn copies_of_files_of_any_kind_and_name_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let rules = NoteRules::new(root, &["archive/**".into()]).unwrap();
        fs::create_dir_all(root.join("files")).unwrap();
        fs::create_dir_all(root.join("archive")).unwrap();
        fs::create_dir_all(root.join("traces/ada")).unwrap();
        fs::create_dir_all(root.join(".obsidian")).unwrap();
        let copy = "sync-conflict-20260105-183012-ABC2DEF";
        for name in ["memory.toml", "files/a.pdf", "files/b.bin", "files/Plan-DESKTOP-4F2K9QX.pdf"] {
            fs::write(root.join(name), name).unwrap();
        }
        for name in [
            format!("memory.{copy}.toml"),
            format!("files/a.{copy}.pdf"),
            format!("files/gone.{copy}.bin"),
            format!("archive/a.{copy}.pdf"),
            format!("traces/ada/x.{copy}.jsonl"),
            format!(".obsidian/app.{copy}.json"),
        ] {
            fs::write(root.join(name), "files/a.pdf").unwrap();
        }
        let mut latin = b"files/Gr\xfc\xdfe.".to_vec();
        latin.extend(format!("{copy}.md").bytes());
        fs::write(root.join(OsStr::from_bytes(&latin)), "x").unwrap();
        let copies = ConflictFiles::default();
        let mut all = copies.now(root, &rules);
        all.sort_by(|one, other| one.path.cmp(&other.path));
        let said: Vec<_> = all.iter().map(|copy| (&*copy.of, copy.same, copy.is_named)).collect();
        assert_eq!(
            said,
            [
                ("files/Gr\u{fffd}\u{fffd}e.md", false, false),
                ("files/a.pdf", true, true),
                ("files/gone.bin", false, true),
                ("memory.toml", false, true),
            ]
        );
        assert_eq!(copies.lately(root, &rules).len(), 4);
    }
}
