//! The files of an agent: their names, and how one is opened.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::hour::TraceHour;
use crate::fs::{Context, FsError, crash, sync_folder};

/// The folder of the vault that has the traces.
pub(super) const FOLDER: &str = "traces";
/// Keeps the traces out of git: they grow by the second, and hold what was recalled.
const GIT_IGNORE: &str = "# The traces of agents: large, and never the same. `vault export` takes them along.\n*\n";
/// What is behind the name of an hour.
const ENDING: &str = ".jsonl";
const LATE: &str = ".late";
/// What was torn off a file.
const TORN: &str = ".torn";
/// A file is read from its end in such pieces.
const BLOCK: u64 = 1 << 16;

/// A file of an agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TraceFile {
    pub(super) agent: String,
    pub(super) hour: TraceHour,
    /// Whether it has what came after its hour was sealed.
    pub(super) late: bool,
}

/// A file that is appended to.
#[derive(Debug)]
pub(super) struct OpenTrace {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// Its bytes as they were written.
    pub(super) length: u64,
}

impl TraceFile {
    fn parse(agent: &str, name: &str) -> Option<Self> {
        let hour = name.strip_suffix(ENDING)?;
        let (hour, late) = hour.strip_suffix(LATE).map_or((hour, false), |hour| (hour, true));
        Some(Self { agent: agent.to_owned(), hour: TraceHour::parse(hour)?, late })
    }

    /// Where it is in the vault at `root`.
    pub(super) fn path(&self, root: &Path) -> PathBuf {
        let late = if self.late { LATE } else { "" };
        folder_of(root, &self.agent).join(format!("{}{late}{ENDING}", self.hour.name()))
    }

    /// Opens it, and makes it and its folders where they are not there. What a kill has left of a last line is set aside.
    pub(super) fn open(&self, root: &Path) -> Result<OpenTrace, FsError> {
        let path = self.path(root);
        make_folder(&root.join(FOLDER), Some(GIT_IGNORE))?;
        make_folder(&folder_of(root, &self.agent), None)?;
        let is_new = !path.exists();
        let file = open_whole(&path, true)?;
        if is_new {
            sync_folder(&path)?;
        }
        let length = mend(&file, &path)?;
        Ok(OpenTrace { file, path, length })
    }
}

impl OpenTrace {
    /// Whether the file at its name is this one, as it was written.
    pub(super) fn is_there(&self) -> bool {
        let (Ok(there), Ok(ours)) = (self.path.symlink_metadata(), self.file.metadata()) else { return false };
        (there.dev(), there.ino(), there.len()) == (ours.dev(), ours.ino(), self.length)
    }

    /// Appends whole lines, safe on disk when this returns. When it fails the file is as it was, as far as the disk lets us.
    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), FsError> {
        let mut write = || -> io::Result<()> {
            self.file.write_all(lines)?;
            crash::point("trace-written");
            self.file.sync_data()?;
            crash::point("trace-synced");
            Ok(())
        };
        match write() {
            Ok(()) => {
                self.length += lines.len() as u64;
                Ok(())
            }
            Err(error) => {
                let _ = self.file.set_len(self.length);
                Err(error).on("write", &self.path)
            }
        }
    }
}

/// The folder of an agent.
pub(super) fn folder_of(root: &Path, agent: &str) -> PathBuf {
    root.join(FOLDER).join(agent)
}

/// The agents that have a folder, in alphabetical order. Links are not followed.
pub(super) fn agents(root: &Path) -> Vec<String> {
    let folder = root.join(FOLDER);
    if !is_folder(&folder) {
        return Vec::new();
    }
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut agents: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    agents.sort_unstable();
    agents
}

/// The files of an agent, the newest hour first, and of each hour the one that has what came late first. None where it has none.
pub(super) fn files_of(root: &Path, agent: &str) -> Result<Vec<TraceFile>, FsError> {
    let mut files: Vec<TraceFile> =
        names_in(root, agent)?.iter().filter_map(|name| TraceFile::parse(agent, name)).collect();
    files.sort_unstable();
    files.reverse();
    Ok(files)
}

/// What was torn off files of an agent.
pub(super) fn torn_of(root: &Path, agent: &str) -> Result<Vec<PathBuf>, FsError> {
    let names = names_in(root, agent)?.into_iter().filter(|name| name.ends_with(TORN));
    Ok(names.map(|name| folder_of(root, agent).join(name)).collect())
}

/// Files of an agent that are none of ours by their names and may hold lines of ours: copies of sync services, or of the person.
pub(super) fn copies_of(root: &Path, agent: &str) -> Result<Vec<PathBuf>, FsError> {
    let is_copy = |name: &String| name.contains(ENDING) && TraceFile::parse(agent, name).is_none();
    let copies = names_in(root, agent)?.into_iter().filter(is_copy);
    let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    Ok(copies.map(|name| folder_of(root, agent).join(name)).filter(is_file).collect())
}

fn names_in(root: &Path, agent: &str) -> Result<Vec<String>, FsError> {
    let folder = folder_of(root, agent);
    if !is_folder(&root.join(FOLDER)) || !is_folder(&folder) {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(&folder).on("list", &folder)?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

/// Makes a folder that only its owner may enter, unless it is there. A link is none: it may lead out of the vault.
fn make_folder(path: &Path, git_ignore: Option<&str>) -> Result<(), FsError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {
            if let Some(text) = git_ignore {
                crate::fs::write_atomically(&path.join(".gitignore"), text.as_bytes(), 0o600)?;
            }
            sync_folder(path)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_folder(path) => Ok(()),
        Err(error) => Err(error).on("create the folder", path),
    }
}

/// Opens a file itself, never what a link leads to.
pub(super) fn open_whole(path: &Path, append: bool) -> Result<File, FsError> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits() as i32);
    if append {
        options.append(true).create(true).mode(0o600);
    }
    let file = options.open(path).on("open", path)?;
    let is_file = file.metadata().on("look at", path)?.is_file();
    is_file.then_some(file).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput)).on("open", path)
}

/// Cuts a file to its last whole line, and sets aside what is behind that; gives its length.
pub(super) fn mend(file: &File, path: &Path) -> Result<u64, FsError> {
    let length = file.metadata().on("look at", path)?.len();
    let whole = whole_bytes(file, length).on("read", path)?;
    if whole == length {
        return Ok(length);
    }
    let mut torn = Vec::new();
    let mut reader = file;
    reader
        .seek(SeekFrom::Start(whole))
        .and_then(|_| reader.take(length - whole).read_to_end(&mut torn))
        .on("read", path)?;
    torn.push(b'\n');
    let aside = path.with_extension(TORN.trim_start_matches('.'));
    let mut kept = open_whole(&aside, true)?;
    kept.write_all(&torn).and_then(|()| kept.sync_all()).on("write", &aside)?;
    crash::point("trace-set-aside");
    file.set_len(whole).and_then(|()| file.sync_all()).on("mend", path)?;
    tracing::warn!(
        "the last line of {} was torn: its {} bytes are in {}; its sender was not told that it is kept",
        path.display(),
        length - whole,
        aside.display()
    );
    Ok(whole)
}

/// So many bytes of a file are whole lines.
fn whole_bytes(file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let mut block = vec![0; (end - start) as usize];
        file.read_exact_at(&mut block, start)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_others_are_not_ours() {
        let hour = TraceHour::parse("2026-03-02T10").unwrap();
        for (name, late) in [("2026-03-02T10.jsonl", false), ("2026-03-02T10.late.jsonl", true)] {
            let file = TraceFile { agent: "ada".into(), hour, late };
            assert_eq!(TraceFile::parse("ada", name), Some(file.clone()));
            assert!(file.path(Path::new("/v")).ends_with(format!("traces/ada/{name}")));
        }
        for other in
            ["2026-03-02T10.sync-conflict-1.jsonl", "2026-03-02T10.late.late.jsonl", "x.jsonl", "2026-03-02T10.torn"]
        {
            assert_eq!(TraceFile::parse("ada", other), None, "{other}");
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let vault = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), vault.path().join(FOLDER)).unwrap();
        let file = TraceFile { agent: "ada".into(), hour: TraceHour::parse("2026-03-02T10").unwrap(), late: false };
        assert!(file.open(vault.path()).is_err());
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        assert!(agents(vault.path()).is_empty() && files_of(vault.path(), "ada").unwrap().is_empty());
    }
}
