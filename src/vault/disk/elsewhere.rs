//! Files that are none of the vault's, by a glob: those that there are, and the folders in which more may come.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

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
    /// The folder that is named without a wildcard.
    base: PathBuf,
    parts: Vec<ElsewherePart>,
    /// Whether folders below it that are vaults are left out.
    skips_vaults: bool,
}

/// A part of it behind that folder.
#[derive(Debug)]
enum ElsewherePart {
    /// Any folders.
    Below,
    /// A name, and whether hidden ones are meant.
    Name(Globs, bool),
    /// Any name that is not hidden.
    Any,
    /// This one.
    Exactly(OsString),
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
        let mut names = path.components().map(|part| part.as_os_str().to_owned()).peekable();
        let mut base = PathBuf::new();
        let is_plain = |name: &std::ffi::OsStr| !name.to_string_lossy().contains(['*', '?', '[', '{', '\\']);
        while let Some(name) = names.next_if(|name| is_plain(name)) {
            base.push(name);
        }
        let mut parts: Vec<ElsewherePart> = Vec::new();
        for name in names {
            let name = name.to_string_lossy();
            parts.push(if name == "**" { ElsewherePart::Below } else { named(&name)? });
        }
        match parts.last() {
            // All is named: then it is one file.
            None => {
                let name = base.file_name().unwrap_or_default().to_string_lossy().into_owned();
                base.pop();
                parts.push(named(&name)?);
            }
            Some(ElsewherePart::Below) => parts.push(named("*")?),
            Some(_) => {}
        }
        Ok(Self { base, parts, skips_vaults: false })
    }

    /// A file, or all files below a folder but those of vaults below it.
    pub(crate) fn all_in(path: &Path) -> Self {
        if path.is_dir() {
            let parts = vec![ElsewherePart::Below, ElsewherePart::Any];
            return Self { base: path.to_owned(), parts, skips_vaults: true };
        }
        let base = path.parent().unwrap_or(Path::new("/")).to_owned();
        let parts = vec![ElsewherePart::Exactly(path.file_name().unwrap_or_default().to_owned())];
        Self { base, parts, skips_vaults: true }
    }

    /// Looks for them. Neither links to folders nor links to files are followed, but for those in what is named without a wildcard.
    pub(crate) fn find(&self) -> FoundElsewhere {
        let mut found = FoundElsewhere::default();
        if !self.base.is_dir() {
            // Where the first folder on the way to it is made, it may come.
            let above = self.base.ancestors().skip(1).find(|folder| folder.is_dir());
            found.folders.extend(above.map(Path::to_owned));
            return found;
        }
        let mut left = vec![(self.base.clone(), self.with_none_below(BTreeSet::from([0])), 0)];
        while let Some((folder, at, depth)) = left.pop() {
            if found.folders.len() >= MAX_FOLDERS || found.files.len() >= MAX_FILES {
                let most = format!("more than {MAX_FOLDERS} folders or {MAX_FILES} files: the rest is left out");
                found.problems.push((self.base.clone(), most));
                break;
            }
            match fs::read_dir(&folder) {
                Ok(entries) => {
                    for entry in entries.flatten() {
                        self.enter(&entry, &at, depth, &mut left, &mut found);
                    }
                }
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => found.problems.push((folder.clone(), format!("it cannot be listed: {error}"))),
            }
            found.folders.insert(folder);
        }
        found.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        found
    }

    fn enter(
        &self,
        entry: &fs::DirEntry,
        at: &BTreeSet<usize>,
        depth: usize,
        left: &mut Vec<(PathBuf, BTreeSet<usize>, usize)>,
        found: &mut FoundElsewhere,
    ) {
        let file_name = entry.file_name();
        let name = file_name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { return };
        let is_hidden = name.starts_with('.');
        let fits = |at: usize| match self.parts.get(at) {
            Some(ElsewherePart::Name(name_glob, hidden)) => (*hidden || !is_hidden) && name_glob.is_match(&name),
            Some(ElsewherePart::Any) => !is_hidden,
            Some(ElsewherePart::Exactly(exactly)) => *exactly == file_name,
            Some(ElsewherePart::Below) | None => false,
        };
        if kind.is_dir() {
            let next = at.iter().filter_map(|at| match self.parts.get(*at) {
                Some(ElsewherePart::Below) => (!is_hidden).then_some(*at),
                _ => (at + 1 < self.parts.len() && fits(*at)).then_some(at + 1),
            });
            let next = self.with_none_below(next.collect());
            let is_skipped = || self.skips_vaults && entry.path().join(DIR_NAME).is_dir();
            if !next.is_empty() && depth < MAX_DEPTH && !is_skipped() {
                left.push((entry.path(), next, depth + 1));
            }
        } else if kind.is_file() && at.iter().any(|at| at + 1 == self.parts.len() && fits(*at)) {
            // Gone since.
            let Ok(meta) = entry.metadata() else { return };
            found.files.push(ElsewhereFile { path: entry.path(), stamp: Stamp::of(&meta) });
        }
    }

    /// The same, where `**` stands for no folder, too.
    fn with_none_below(&self, mut at: BTreeSet<usize>) -> BTreeSet<usize> {
        let mut last: Vec<usize> = at.iter().copied().collect();
        while let Some(part) = last.pop() {
            if matches!(self.parts.get(part), Some(ElsewherePart::Below)) && at.insert(part + 1) {
                last.push(part + 1);
            }
        }
        at
    }
}

fn named(name: &str) -> Result<ElsewherePart, GlobError> {
    Ok(ElsewherePart::Name(Globs::of_files(name)?, name.starts_with('.')))
}

#[cfg(test)]
mod tests {
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
