//! What is on disk: every note with the stamp that tells whether it has changed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::home::Stamp;
use super::outside::OutsideFolder;
use super::rules::NoteRules;
use crate::base::path::{VaultPath, VaultPathError};

/// A note on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundNote {
    /// Where it is.
    pub path: VaultPath,
    /// What the file system says of it.
    pub stamp: Stamp,
}

/// Something on disk that cannot be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedPath {
    /// The path, as far as it can be shown.
    pub path: String,
    /// Why, for the person.
    pub reason: String,
}

/// What a scan found.
#[derive(Debug, Default)]
pub struct Scan {
    /// The notes, in no particular order.
    pub files: Vec<FoundNote>,
    /// What cannot be indexed.
    pub skipped: Vec<SkippedPath>,
    /// Folders that could not be listed: what was known below them is unknown now, not gone.
    pub unreadable: Vec<VaultPath>,
    /// Whether the vault's root itself could not be listed.
    pub root_unreadable: bool,
    /// Files whose names are not UTF-8, as far as they can be shown.
    pub unnamed: Vec<String>,
}

/// Lists the notes at or below `start` (the vault's root, a folder or a file of it). What is not there is not found.
///
/// Symbolic links are not followed: their targets inside the vault are found where they are, others are not the vault's.
pub fn scan(root: &Path, rules: &NoteRules, start: Option<&VaultPath>) -> Scan {
    Scan::of(root, rules, NoteRules::takes, start)
}

/// A folder that is walked, the name that what is in it has in the vault, and which files are listed.
struct ScanWalk<'a> {
    folder: &'a Path,
    /// The collection's name; empty where it is the vault itself.
    name: &'a str,
    rules: &'a NoteRules,
    takes: fn(&NoteRules, &VaultPath) -> bool,
}

impl ScanWalk<'_> {
    fn vault_path(&self, path: &Path) -> Result<VaultPath, VaultPathError> {
        VaultPath::from_relative(&self.named(path))
    }

    fn named(&self, path: &Path) -> PathBuf {
        Path::new(self.name).join(path.strip_prefix(self.folder).unwrap_or(path))
    }

    /// The same as far as it can be shown.
    fn shown(&self, path: &Path) -> String {
        self.named(path).to_string_lossy().into_owned()
    }

    fn enters(&self, entry: &DirEntry) -> bool {
        entry.path() == self.folder
            || !entry.file_type().is_dir()
            || self.vault_path(entry.path()).map_or(true, |path| {
                let rules = self.rules;
                rules.enters(&path) && (!self.name.is_empty() || rules.outside().of(&path).is_none())
            })
    }
}

impl Scan {
    /// Lists the files that the rules take in one way, as [`scan`] lists notes.
    pub(crate) fn of(
        root: &Path,
        rules: &NoteRules,
        takes: fn(&NoteRules, &VaultPath) -> bool,
        start: Option<&VaultPath>,
    ) -> Self {
        let mut scan = Self::default();
        let walk = ScanWalk { folder: root, name: "", rules, takes };
        if let Some((start, outside)) = start.and_then(|start| Some((start, rules.outside().of(start)?))) {
            scan.enter_outside(&walk, outside, start);
            return scan;
        }
        scan.walk(&walk, start);
        if start.is_none() {
            rules.outside().iter().for_each(|outside| scan.enter_outside(&walk, outside, &outside.name));
        }
        scan
    }

    /// Lists what is at or below `start` in one folder.
    fn walk(&mut self, walk: &ScanWalk<'_>, start: Option<&VaultPath>) {
        let top = start.map_or_else(|| walk.folder.to_owned(), |path| path.on_disk(walk.folder));
        if start.is_some_and(|path| passes_a_link(walk.folder, path)) {
            return;
        }
        let entries = WalkDir::new(&top).follow_links(false).follow_root_links(false).into_iter();
        for entry in entries.filter_entry(|entry| walk.enters(entry)) {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) => {
                    let path = walk.vault_path(entry.path());
                    if matches!(path, Err(VaultPathError::NotUtf8)) && entry.file_type().is_file() {
                        self.unnamed.push(walk.shown(entry.path()));
                    }
                    self.visit(&entry, path, walk);
                }
                Err(error) => self.fail(walk, &error),
            }
        }
    }

    /// Lists what is at or below `start` in a folder elsewhere. While that is not there, its notes are unknown, not gone.
    fn enter_outside(&mut self, vault: &ScanWalk<'_>, outside: &OutsideFolder, start: &VaultPath) {
        let OutsideFolder { name, folder, .. } = outside;
        let whole = start == name;
        let mut problem = |reason: String| {
            if whole {
                self.skipped.push(SkippedPath { path: name.to_string(), reason });
            }
        };
        if name.on_disk(vault.folder).symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            problem("a folder of the vault, hidden by a collection with the same name; rename one of them".into());
        }
        if !folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            let shown = folder.display();
            problem(format!("the folder {shown} of this collection is not there; its notes are as last known"));
            return self.unreadable.push(name.clone());
        }
        let walk = ScanWalk { folder, name: name.as_str(), ..*vault };
        let below = start.as_str().strip_prefix(name.as_str()).and_then(|below| below.strip_prefix('/'));
        self.walk(&walk, below.and_then(|below| VaultPath::new(below).ok()).as_ref());
    }

    fn visit(&mut self, entry: &DirEntry, path: Result<VaultPath, VaultPathError>, walk: &ScanWalk<'_>) {
        let rules = walk.rules;
        let shown = || entry.file_name().to_string_lossy().into_owned();
        let path = match path {
            Ok(path) if (walk.takes)(rules, &path) => path,
            Ok(path) if is_link_to_folder(entry) && rules.enters(&path) && rules.outside().of(&path).is_none() => {
                let reason = "a symbolic link to a folder; links are not followed. `[[collections]]` in memory.toml takes \
                              in a folder that is elsewhere";
                return self.skipped.push(SkippedPath { path: path.to_string(), reason: reason.into() });
            }
            Ok(_) => return,
            Err(error) if shown().to_ascii_lowercase().ends_with(".md") => {
                self.skipped
                    .push(SkippedPath { path: entry.path().to_string_lossy().into_owned(), reason: error.to_string() });
                return;
            }
            Err(_) => return,
        };
        let skip = |reason: &str| SkippedPath { path: path.to_string(), reason: reason.into() };
        if entry.file_type().is_symlink() {
            self.skipped.push(skip("a symbolic link; links are not followed"));
        } else if !entry.file_type().is_file() {
            self.skipped.push(skip("not a regular file"));
        } else {
            match entry.metadata() {
                Ok(meta) => self.files.push(FoundNote { stamp: Stamp::of(&meta), path }),
                Err(error) if is_gone(&error) => {}
                Err(error) => self.skipped.push(skip(&error.to_string())),
            }
        }
    }

    fn fail(&mut self, walk: &ScanWalk<'_>, error: &walkdir::Error) {
        let Some(path) = error.path().filter(|_| !is_gone(error)) else { return };
        let in_vault = walk.vault_path(path);
        let reason = error.io_error().map_or_else(|| error.to_string(), |io| format!("cannot be listed: {io}"));
        self.skipped.push(SkippedPath {
            path: in_vault.as_ref().map_or_else(|_| walk.shown(path), VaultPath::to_string),
            reason,
        });
        self.root_unreadable |= path == walk.folder && walk.name.is_empty();
        self.unreadable.extend(in_vault);
    }
}

/// Whether it is a symbolic link at whose end is a folder. Nothing in that is looked at.
fn is_link_to_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_symlink() && std::fs::metadata(entry.path()).is_ok_and(|meta| meta.is_dir())
}

/// Whether there is nothing at the path; a file may be where its folder was.
fn is_gone(error: &walkdir::Error) -> bool {
    error.io_error().is_some_and(|io| matches!(io.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

/// Whether there is a note at the path itself, so that there is nothing to list.
pub(crate) fn is_note(root: &Path, rules: &NoteRules, path: &VaultPath) -> bool {
    let (folder, within) = rules.outside().place(root, path);
    rules.takes(path)
        && within.is_some_and(|path| {
            path.on_disk(folder).symlink_metadata().is_ok_and(|meta| meta.is_file()) && !passes_a_link(folder, &path)
        })
}

/// Whether a folder of the path is a symbolic link, so that the path may lead out of the vault.
fn passes_a_link(root: &Path, path: &VaultPath) -> bool {
    path.and_parents().skip(1).any(|folder| root.join(folder).symlink_metadata().is_ok_and(|meta| meta.is_symlink()))
}

/// Whether the folder lies where an SQLite database does not do well: on a network file system, or in a folder that
/// a sync service carries file by file to other machines.
pub(super) fn carried_elsewhere(root: &Path) -> bool {
    const MARKERS: [&str; 4] = [".stfolder", ".dropbox", ".dropbox.cache", "desktop.ini.onedrive"];
    let marked = root.ancestors().any(|folder| MARKERS.iter().any(|marker| folder.join(marker).exists()));
    let named = root.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        matches!(&*name, "Dropbox" | "OneDrive" | "iCloud Drive" | "Mobile Documents")
    });
    marked || named || on_network(root)
}

#[cfg(target_os = "linux")]
pub(super) fn on_network(path: &Path) -> bool {
    // From statfs(2): NFS, SMB, CIFS, SMB2, FUSE, 9p, AFS, Ceph.
    const NETWORK: [u32; 8] =
        [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x6573_5546, 0x0102_1997, 0x5346_414F, 0x00C3_6400];
    rustix::fs::statfs(path).is_ok_and(|stat| NETWORK.contains(&(stat.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn on_network(_path: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn lists_notes_and_says_what_it_skips() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("notes/deep")).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        for file in ["a.md", "notes/b c.md", "notes/deep/🌱.md", ".git/no.md", "notes/no.txt"] {
            fs::write(root.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("/etc/hostname", root.join("out.md")).unwrap();
        std::os::unix::fs::symlink("..", root.join("notes/loop")).unwrap();
        std::os::unix::fs::symlink("..", root.join("notes/.hidden")).unwrap();
        std::os::unix::fs::symlink("no.txt", root.join("notes/file")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("notes/broken")).unwrap();
        let rules = NoteRules::new(root, &[]).unwrap();
        let names = |scan: &Scan| {
            let mut names: Vec<String> = scan.files.iter().map(|found| found.path.to_string()).collect();
            names.sort();
            names
        };
        let all = scan(root, &rules, None);
        assert_eq!(names(&all), ["a.md", "notes/b c.md", "notes/deep/🌱.md"]);
        let mut skipped: Vec<&str> = all.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
        skipped.sort_unstable();
        assert_eq!(skipped, ["notes/loop", "out.md"]);
        let below = scan(root, &rules, Some(&VaultPath::new("notes/deep").unwrap()));
        assert_eq!(names(&below), ["notes/deep/🌱.md"]);
        let gone = scan(root, &rules, Some(&VaultPath::new("notes/gone.md").unwrap()));
        assert!(gone.files.is_empty() && gone.skipped.is_empty());
        let replaced = scan(root, &rules, Some(&VaultPath::new("a.md/b.md").unwrap()));
        assert!(replaced.skipped.is_empty() && replaced.unreadable.is_empty());
        assert!(scan(root, &rules, Some(&VaultPath::new("notes/loop/a.md").unwrap())).files.is_empty());
    }
}
