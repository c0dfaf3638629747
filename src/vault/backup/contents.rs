//! What of a vault is in its archives, at which place, and what the end of one says of the whole.
//!
//! The same word holds on the way out and on the way in: an archive may be forged, and so may be the folder that is exported.

use std::fs::{self, FileType, Metadata};
use std::io::{self, Error, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use walkdir::{DirEntry, WalkDir};

use crate::base::fs::{Context, FsError};
use crate::base::path::composed;
use crate::base::state::StateError;
use crate::memory::trace_files::TraceFilesError;
use crate::vault::disk::WriteError;

/// Something that is exported.
#[derive(Debug)]
pub(super) struct Item {
    /// From the vault's root.
    pub(super) path: PathBuf,
    pub(super) meta: Metadata,
    /// Where a link leads.
    pub(super) target: Option<PathBuf>,
}

/// What is exported, and what cannot be.
#[derive(Debug, Default)]
pub(super) struct ArchiveContents {
    pub(super) items: Vec<Item>,
    /// What is left out although it is the person's, and why.
    pub(super) left_out: Vec<String>,
}

/// Whether a link at `path` leads to a place in the vault, whatever its folders hold: up first, then down.
pub(super) fn stays_inside(path: &Path, target: &Path) -> bool {
    let mut left = path.components().count().saturating_sub(1);
    let mut down = false;
    target.components().all(|part| match part {
        Component::ParentDir if down || left == 0 => false,
        Component::ParentDir => {
            left -= 1;
            true
        }
        Component::Normal(_) => {
            down = true;
            true
        }
        Component::CurDir => true,
        Component::RootDir | Component::Prefix(_) => false,
    })
}

impl ArchiveContents {
    /// Lists what is exported of the vault at `root`.
    pub(super) fn of(root: &Path, state: bool) -> Result<Self, FsError> {
        let mut contents = Self::default();
        let mut entries = WalkDir::new(root).min_depth(1).into_iter();
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                // It was there a moment ago: whoever works on the vault has moved or removed it.
                Err(error) if error.depth() > 0 && error.io_error().is_some_and(is_gone) => continue,
                Err(error) => {
                    let path = error.path().unwrap_or(root).to_owned();
                    return Err(Error::from(error)).on("list", &path);
                }
            };
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            if ((!state && path.starts_with(".vault")) || !contents.add(&entry, path)?) && entry.file_type().is_dir() {
                entries.skip_current_dir();
            }
        }
        contents.items.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(contents)
    }

    /// Takes what is at a path, if it is exported; says whether it is, so that what is in a folder is looked at.
    fn add(&mut self, entry: &DirEntry, path: &Path) -> Result<bool, FsError> {
        let (shown, kind) = (path.display().to_string(), entry.file_type());
        if path == Path::new(".vault") && kind.is_dir() {
            return Ok(true);
        }
        let left_out = match fate(path, EntryKind::of(kind).unwrap_or(EntryKind::File)) {
            PathOutcome::Kept if EntryKind::of(kind).is_some() => None,
            PathOutcome::Kept => Some(format!("{shown}: neither a file, a folder nor a link")),
            PathOutcome::Dropped { what, why } => Some(format!("{}: {why}", what.display())),
            PathOutcome::Refused(why) => Some(format!("{shown}: {why}")),
        };
        if let Some(said) = left_out {
            if !path.starts_with(".vault") && !self.left_out.contains(&said) {
                self.left_out.push(said);
            }
            return Ok(false);
        }
        let looked = || -> io::Result<(Metadata, Option<PathBuf>)> {
            let target = kind.is_symlink().then(|| fs::read_link(entry.path())).transpose()?;
            Ok((entry.metadata()?, target))
        };
        let (meta, target) = match looked() {
            Err(error) if is_gone(&error) => return Ok(false),
            looked => looked.on("look at", entry.path())?,
        };
        if target.as_ref().is_some_and(|target| !stays_inside(path, target)) {
            self.left_out.push(format!("{shown}: a link that leads out of the vault"));
            return Ok(false);
        }
        self.items.push(Item { path: path.to_owned(), meta, target });
        Ok(true)
    }
}

/// Whether what was listed is not there any more, or something else is.
pub(super) fn is_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// What lies at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    Link,
}

impl EntryKind {
    pub(super) fn of(kind: FileType) -> Option<Self> {
        match kind {
            kind if kind.is_file() => Some(Self::File),
            kind if kind.is_dir() => Some(Self::Folder),
            kind if kind.is_symlink() => Some(Self::Link),
            _ => None,
        }
    }
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathOutcome {
    /// It belongs to the vault.
    Kept,
    /// It is neither exported nor imported, and that is said, once for `what`.
    Dropped { what: PathBuf, why: &'static str },
    /// No export writes it.
    Refused(&'static str),
}

/// What of the program's own goes along: checkpoints, and what is made for the archive of the state, with its key (the database of the state
/// holds hashes of tokens, too, and stays). Nothing else does, whatever it is called, and what comes to be kept there later has to be
/// named here.
fn is_state(names: &[&str], kind: EntryKind) -> bool {
    match (names, kind) {
        ([] | ["checkpoints"], EntryKind::Folder) => true,
        (["forgotten.key" | "export.db"], EntryKind::File) => true,
        (["checkpoints", name], EntryKind::File) => {
            let id = name.strip_suffix(".json").or_else(|| name.strip_suffix(".content"));
            id.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        }
        _ => false,
    }
}

/// What becomes of what lies at a path of the vault.
pub(super) fn fate(path: &Path, kind: EntryKind) -> PathOutcome {
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let up_to = |count: usize| names.iter().take(count).collect::<PathBuf>();
    let own = "one of the program's own files";
    for (at, name) in names.iter().enumerate() {
        match (&*folded(name), *name) {
            (".vault", ".vault") if at == 0 => {
                let Some(("state", state)) = names[1..].split_first().map(|(first, rest)| (*first, rest)) else {
                    return PathOutcome::Refused(own);
                };
                return if is_state(state, kind) {
                    PathOutcome::Kept
                } else if kind == EntryKind::Link || names.iter().any(|name| folded(name).contains("token")) {
                    PathOutcome::Refused(own)
                } else {
                    let why = "it belongs to the program, and may give somebody access";
                    PathOutcome::Dropped { what: up_to(3), why }
                };
            }
            (".vault", _) if at == 0 => return PathOutcome::Refused(own),
            (".vault", _) => {
                let why = "it belongs to the program, for a vault inside this one";
                return PathOutcome::Dropped { what: up_to(at + 1), why };
            }
            // It may have hooks and settings by which git runs a program, and former texts that are forgotten by now.
            (".git", ".git") => {
                let why = "an archive holds no git repository; `git clone` copies it";
                return PathOutcome::Dropped { what: up_to(at + 1), why };
            }
            (".git", _) => return PathOutcome::Refused("a name that some disks take for `.git`"),
            _ => {}
        }
    }
    PathOutcome::Kept
}

/// A name as the most lenient of disks compares it: without case, composed, and without what cannot be seen.
fn folded(name: &str) -> String {
    let unseen = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let seen: String = composed(name).chars().filter(|c| !unseen(c)).collect();
    // Up and down: so a long s, or the ligature of s and t, is what it stands for.
    let folded = seen.to_uppercase().to_lowercase();
    composed(&folded).trim_end_matches(['.', ' ']).to_owned()
}

/// Where the manifest is in the archive: always the last entry.
pub(super) const PATH: &str = ".vault/export.json";

/// The format that this version writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 1;

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    /// The program's version.
    pub(super) version: String,
    /// The permissions of the vault's folder.
    pub(super) mode: u32,
    #[serde(flatten)]
    pub(super) sum: Sum,
}

/// What was counted and hashed of all entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sum {
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// Of kinds, paths and contents, in their order.
    pub(super) blake3: String,
}

/// Sums up entries one after the other.
#[derive(Debug, Default)]
pub(super) struct Summing {
    pub(super) files: u64,
    pub(super) bytes: u64,
    hasher: blake3::Hasher,
}

impl Summing {
    /// Begins an entry whose content has this length.
    pub(super) fn entry(&mut self, kind: u8, path: &Path, length: u64) {
        let path = path.as_os_str().as_encoded_bytes();
        self.hasher.update(&[kind]).update(&(path.len() as u64).to_le_bytes()).update(path);
        self.hasher.update(&length.to_le_bytes());
        self.files += u64::from(kind == b'f');
    }

    /// Adds some of the content of the entry that was begun.
    pub(super) fn content(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    pub(super) fn sum(&self) -> Sum {
        Sum { files: self.files, bytes: self.bytes, blake3: self.hasher.finalize().to_hex().to_string() }
    }
}

/// Sums up the content of an entry that is read through it, and tells failures to read it from failures to write it elsewhere.
pub(super) struct Summed<'a, R> {
    pub(super) from: R,
    pub(super) summing: &'a mut Summing,
    pub(super) failed: bool,
}

impl<R: Read> Read for Summed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer).inspect_err(|error| self.failed = error.kind() != ErrorKind::Interrupted)?;
        self.summing.content(&buffer[..read]);
        Ok(read)
    }
}

/// Why an archive was not written, or not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// What was forgotten for good cannot be read, so nothing may be written.
    #[error("the list of purged texts cannot be read: {0}. Nothing was imported")]
    State(#[from] StateError),
    /// What was before cannot be left out.
    #[error(transparent)]
    Checkpoints(#[from] WriteError),
    /// Nor out of the traces of agents.
    #[error("purged texts cannot be removed from the traces of agents: {0}. Nothing was imported")]
    Traces(#[from] TraceFilesError),
    /// Something else is wrong: what, and what to do about it.
    #[error("{0}")]
    Refused(String),
}

impl ArchiveError {
    /// That an archive cannot be written.
    pub(super) fn unwritten(error: impl std::fmt::Display) -> Self {
        Self::Refused(format!("the archive cannot be written: {error}"))
    }

    /// That an archive is not what was written, as the end of a sentence.
    pub(super) fn damaged(how: impl std::fmt::Display) -> Self {
        Self::Refused(format!("the archive is damaged: {how}. Nothing was imported"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_may_lead_up_and_then_down_and_never_out() {
        let inside = |path: &str, target: &str| stays_inside(Path::new(path), Path::new(target));
        assert!(inside("a/b.md", "c.md") && inside("a/b.md", "../c.md") && inside("a/b/c", "../../d/e"));
        assert!(!inside("a.md", "../b.md") && !inside("a/b.md", "../../c") && !inside("a", "/etc/passwd"));
        assert!(!inside("a/b/c", "d/../../../.."), "what is up from a link need not be where it seems");
    }
}

#[cfg(test)]
mod tests_of_place {
    use super::*;

    #[track_caller]
    fn kept(path: &str) -> bool {
        matches!(fate(Path::new(path), EntryKind::File), PathOutcome::Kept)
    }

    #[test]
    fn of_its_own_the_program_exports_what_is_on_the_list_alone() {
        for exported in [
            "notes/a.md",
            ".vault/state/checkpoints/20260105T183000123-a1b2.json",
            ".vault/state/checkpoints/20260105T183000123-a1b2.content",
            ".vault/state/forgotten.key",
            ".vault/state/export.db",
            ".obsidian/app.json",
            "Cargo.lock",
            "lock",
            "notes/state/agents.json",
            "vault/state.md",
        ] {
            assert!(kept(exported), "{exported}");
        }
        for not in [
            ".vault", ".vault/index/catalog.db", ".vault/owner-token", ".vault/lock", ".vault/state",
            ".vault/state/state.db", ".vault/state/state.db-wal", ".vault/state/state.db.damaged",
            ".vault/state/tokens.json", ".vault/state/agents.json", ".vault/state/Agents.json",
            ".vault/state/agents/claude/log", ".vault/state/checkpoints/agents.txt",
            ".vault/state/checkpoints/a/b.json", ".vault/state/checkpoints/\u{e4}.json",
            ".vault/state/pending/x.events", ".vault/state/export.db-journal", ".vault/state/export.db-wal",
            ".vault/State/agents.json", ".vault/state.json", ".VAULT/state/agents.json",
            ".Vault/state/checkpoints/1.json", ".va\u{200c}ult/state/agents.json", ".vault./state/agents.json",
            "notes/.vault/owner-token", "notes/.vaul\u{feff}t/state/agents.json", ".git", ".git/HEAD",
            ".git/hooks/pre-commit", ".GIT/hooks/pre-commit", ".g\u{200d}it/config", "project/.git/config",
        ] {
            assert!(!kept(not), "{not}");
        }
        // A long s is an s to a disk that minds no case; nothing but the list is let through all the same.
        assert_eq!(folded(".vault/\u{17f}tate"), ".vault/state");
        for folder in [".vault/state", ".vault/state/checkpoints"] {
            assert_eq!(fate(Path::new(folder), EntryKind::Folder), PathOutcome::Kept, "{folder}");
            assert!(
                matches!(fate(Path::new(folder), EntryKind::Link), PathOutcome::Refused(_)),
                "{folder}: it could lead to notes"
            );
        }
    }
}
