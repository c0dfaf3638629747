//! Files that are none of the vault's, by a glob: those that there are, and the folders in which more may come.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::home::{DIR_NAME, Stamp};
use super::outside::below_home;
use crate::access::rules::{GlobError, Globs};

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
        let mut glob = rest.join("/");
        if rest.last().is_some_and(|name| name == "**") {
            glob += "/*";
        }
        Ok(Self {
            base,
            below: (!rest.is_empty()).then(|| Globs::of_files(&glob)).transpose()?,
            depth: if glob.contains("**") { MAX_DEPTH } else { rest.len() },
            is_hidden: rest.iter().any(|name| name.starts_with('.')),
            skips_vaults: false,
        })
    }

    /// A file, or all files below a folder but those of vaults below it.
    pub(crate) fn all_in(path: &Path) -> Self {
        let below = path.is_dir().then(|| Globs::of_files("**/*").expect("it is a glob"));
        Self { base: path.to_owned(), below, depth: MAX_DEPTH, is_hidden: false, skips_vaults: true }
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
            is_shown && (!is_below || (entry.depth() < self.depth && !is_vault(entry)))
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
        let path = file.path().strip_prefix(&self.base).unwrap_or(file.path()).to_string_lossy();
        self.below.as_ref().is_some_and(|below| below.is_match(&path))
    }
}

#[cfg(test)]
mod tests {
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
