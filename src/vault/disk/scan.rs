//! What is on disk: every note with the stamp that tells whether it has changed; and files that are none of the vault's, by a glob.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::home::{DIR_NAME, Stamp};
use super::rules::{NoteRules, OutsideFolder, below_home};
use crate::access::rules::{GlobError, Globs};
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
                Ok(entry) => self.visit(&entry, walk),
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

    fn visit(&mut self, entry: &DirEntry, walk: &ScanWalk<'_>) {
        let rules = walk.rules;
        let shown = || entry.file_name().to_string_lossy().into_owned();
        let path = match walk.vault_path(entry.path()) {
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

/// Whether there is a file at a path that is not hidden and passes no symbolic link.
pub(crate) fn plain_file(root: &Path, path: &VaultPath) -> bool {
    let is_hidden = path.as_str().split('/').any(|part| part.starts_with('.'));
    !is_hidden && !passes_a_link(root, path) && path.on_disk(root).symlink_metadata().is_ok_and(|meta| meta.is_file())
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

/// Maximum number of folders within one another below the first.
const MAX_DEPTH: usize = 32;
/// Maximum number of folders that are listed.
const MAX_FOLDERS: usize = 10_000;
/// Maximum number of files.
const MAX_FILES: usize = 100_000;

/// A glob over paths anywhere: `~/.openclaw/agents/*/sessions/*.jsonl`.
#[derive(Debug)]
pub(crate) struct FilesElsewhere {
    /// What is named without a wildcard: a folder, or the one file that is meant.
    base: PathBuf,
    /// What is meant below that folder; `None` where it is one file.
    below: Option<Globs>,
    /// The folders that lead there, by how far below it they are; those behind a `**` all do.
    ways: Vec<Globs>,
    /// How far below it that may be.
    depth: usize,
    /// Whether hidden names are meant, too.
    is_hidden: bool,
    /// Whether folders below it that are vaults are left out.
    skips_vaults: bool,
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElsewhereFile {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct FoundElsewhere {
    /// The files, in the order of their paths.
    pub(crate) files: Vec<ElsewhereFile>,
    /// Folders in which more may come.
    pub(crate) folders: BTreeSet<PathBuf>,
    /// What could not be listed, and why.
    pub(crate) problems: Vec<(PathBuf, String)>,
}

impl FilesElsewhere {
    /// Reads a glob: absolute, below the home folder, or relative to the vault at `root`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn new(root: &Path, glob: &str) -> Result<Self, GlobError> {
        let path = root.join(below_home(Path::new(glob.trim())));
        let is_plain = |name: &&OsStr| !name.to_string_lossy().contains(['*', '?', '[', '{', '\\']);
        let base: PathBuf = path.iter().take_while(is_plain).collect();
        let rest: Vec<_> = path.iter().skip(base.iter().count()).map(OsStr::to_string_lossy).collect();
        let named = rest.iter().take_while(|name| !name.contains("**")).count().min(rest.len().saturating_sub(1));
        let ways = (1..=named).map(|depth| Globs::of_files(&rest[..depth].join("/"))).collect::<Result<_, _>>()?;
        let mut glob = rest.join("/");
        if rest.last().is_some_and(|name| name == "**") {
            glob += "/*";
        }
        Ok(Self {
            base,
            below: (!rest.is_empty()).then(|| Globs::of_files(&glob)).transpose()?,
            ways,
            depth: if glob.contains("**") { MAX_DEPTH } else { rest.len() },
            is_hidden: rest.iter().any(|name| name.starts_with('.')),
            skips_vaults: false,
        })
    }

    /// A file, or all files below a folder but those of vaults below it.
    pub(crate) fn all_in(path: &Path) -> Self {
        let below = path.is_dir().then(|| Globs::of_files("**/*").expect("it is a glob"));
        Self { base: path.to_owned(), below, ways: Vec::new(), depth: MAX_DEPTH, is_hidden: false, skips_vaults: true }
    }

    /// Looks for them. Neither links to folders nor links to files are followed, but for those in what is named without a wildcard.
    pub(crate) fn find(&self) -> FoundElsewhere {
        let mut found = FoundElsewhere::default();
        if !self.base.is_dir() {
            // Where the first folder on the way to it is made, it may come.
            let above = self.base.ancestors().skip(1).find(|folder| folder.is_dir());
            found.folders.extend(above.map(Path::to_owned));
            // All is named: then it is one file.
            let meta = self.base.symlink_metadata().ok().filter(|meta| self.below.is_none() && meta.is_file());
            found.files.extend(meta.map(|meta| ElsewhereFile { path: self.base.clone(), stamp: Stamp::of(&meta) }));
            return found;
        }
        let is_vault = |folder: &DirEntry| self.skips_vaults && folder.path().join(DIR_NAME).is_dir();
        let is_entered = |entry: &DirEntry| {
            let is_shown = entry.depth() == 0 || self.is_hidden || !entry.file_name().as_bytes().starts_with(b".");
            let is_below = entry.depth() > 0 && entry.file_type().is_dir();
            let leads = |ways: &Globs| ways.is_match(&self.name_of(entry));
            let leads = || self.ways.get(entry.depth() - 1).is_none_or(leads);
            is_shown && (!is_below || (entry.depth() < self.depth && leads() && !is_vault(entry)))
        };
        for entry in WalkDir::new(&self.base).into_iter().filter_entry(is_entered) {
            if found.folders.len() > MAX_FOLDERS || found.files.len() > MAX_FILES {
                let most = format!("more than {MAX_FOLDERS} folders or {MAX_FILES} files: the rest is left out");
                found.problems.push((self.base.clone(), most));
                break;
            }
            match entry {
                Ok(entry) if entry.depth() == 0 || entry.file_type().is_dir() => {
                    _ = found.folders.insert(entry.into_path())
                }
                Ok(entry) if entry.file_type().is_file() && self.is_meant(&entry) => {
                    // Gone since.
                    let Ok(meta) = entry.metadata() else { continue };
                    found.files.push(ElsewhereFile { stamp: Stamp::of(&meta), path: entry.into_path() });
                }
                Ok(_) => {}
                Err(error) => {
                    let listed = error.io_error().filter(|error| error.kind() != ErrorKind::NotFound);
                    let problem = listed.map(|error| format!("it cannot be listed: {error}"));
                    found.problems.extend(error.path().map(Path::to_owned).zip(problem));
                }
            }
        }
        found.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        found
    }

    fn is_meant(&self, file: &DirEntry) -> bool {
        self.below.as_ref().is_some_and(|below| below.is_match(&self.name_of(file)))
    }

    fn name_of<'e>(&self, entry: &'e DirEntry) -> Cow<'e, str> {
        entry.path().strip_prefix(&self.base).unwrap_or(entry.path()).to_string_lossy()
    }
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

#[cfg(test)]
mod tests_of_elsewhere {
    use std::fs;

    use super::*;

    #[test]
    fn a_glob_finds_files_and_the_folders_where_more_may_come() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in [".claw/agents/a/sessions/1.jsonl", ".claw/agents/b/sessions/2.jsonl", ".claw/agents/b/3.jsonl"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "{}").unwrap();
        }
        fs::write(root.join(".claw/agents/b/sessions/.4.jsonl"), "{}").unwrap();
        std::os::unix::fs::symlink(root.join(".claw/agents/a"), root.join(".claw/agents/link")).unwrap();
        let find = |glob: &str| {
            let found = FilesElsewhere::new(&root, glob).unwrap().find();
            let of = |path: &Path| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            let files: Vec<String> = found.files.iter().map(|file| of(&file.path)).collect();
            let folders: Vec<String> = found.folders.iter().map(|path| of(path)).collect();
            (files.join(" "), folders.join(" "))
        };
        let (files, folders) = find(".claw/agents/*/sessions/*.jsonl");
        assert_eq!(files, ".claw/agents/a/sessions/1.jsonl .claw/agents/b/sessions/2.jsonl");
        assert_eq!(
            folders,
            ".claw/agents .claw/agents/a .claw/agents/a/sessions .claw/agents/b .claw/agents/b/sessions"
        );
        assert_eq!(find(".claw/**/*.jsonl").0.split(' ').count(), 3);
        assert_eq!(find(".claw/**").0.split(' ').count(), 3);
        assert_eq!(find(".claw/agents/b/3.jsonl"), (".claw/agents/b/3.jsonl".into(), ".claw/agents/b".into()));
        assert_eq!(find("later/x/*.jsonl"), (String::new(), String::new()), "the vault's own folder is listened to");
        assert_eq!(find(".claw/agents/*/*.json").0, "");
        assert!(FilesElsewhere::new(&root, "a/[").is_err());
        let all = |path: &str| FilesElsewhere::all_in(&root.join(path)).find().files.len();
        assert_eq!((all(".claw"), all(".claw/agents/b/3.jsonl"), all(".claw/agents/b/none.jsonl")), (3, 1, 0));
    }
}
