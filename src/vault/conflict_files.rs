//! Conflict copies of files of whatever kind, found on disk: settings, documents, pictures, and what has a name that is no text. No index has
//! all of them.

use std::fs::{File, Metadata};
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::conflict::conflict_copy;
use super::rules::NoteRules;
use super::scan::scan_conflict_copies;
use crate::path::VaultPath;

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
