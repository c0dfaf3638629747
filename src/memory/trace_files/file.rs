//! The files of an agent, one an hour: their names, how one is opened, read and appended to.

use std::fs::{DirBuilder, File, FileType, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::base::fs::{Context, FsError, crash, sync_folder};
use crate::vault::disk::Stamp;

/// The folder of the vault that has the traces.
const FOLDER: &str = "traces";
/// Keeps the traces out of git: they grow by the second, and hold what was recalled.
const GIT_IGNORE: &str = "# The traces of agents: large, and never the same. `vault export` takes them along.\n*\n";
/// What is behind the name of an hour.
const ENDING: &str = ".jsonl";
const LATE: &str = ".late";

/// A file of an agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TraceFile {
    pub(super) hour: TraceHour,
    /// Whether it has what came after its hour was sealed.
    pub(super) late: bool,
    /// Where it is.
    pub(crate) path: PathBuf,
}

impl TraceFile {
    /// That of an hour of an agent.
    pub(super) fn new(root: &Path, agent: &str, hour: TraceHour, late: bool) -> Self {
        let name = format!("{}{}{ENDING}", hour.name(), if late { LATE } else { "" });
        Self { hour, late, path: folder_of(root, agent).join(name) }
    }

    /// Reads a file's name.
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
        let (hour, late) = name.strip_suffix(LATE).map_or((name, false), |hour| (hour, true));
        Some(Self { hour: TraceHour::parse(hour)?, late, path: path.to_owned() })
    }

    /// What it is now; `None` where it is not there.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.path.symlink_metadata().ok().map(|meta| Stamp::of(&meta))
    }

    /// Whether nothing more is written to it.
    pub(super) fn is_read_only(&self) -> bool {
        self.path.symlink_metadata().is_ok_and(|meta| meta.permissions().mode() & 0o200 == 0)
    }

    /// Appends a line, safe on disk when this returns, and makes the file and its folders where they are not there. When it fails the file is
    /// as it was, as far as the disk lets us.
    pub(super) fn append(&self, root: &Path, line: &[u8]) -> Result<(), FsError> {
        make_folder(&root.join(FOLDER), Some(GIT_IGNORE))?;
        make_folder(self.path.parent().unwrap_or(root), None)?;
        let is_new = !self.path.exists();
        let mut file = open(&self.path, true)?;
        if is_new {
            sync_folder(&self.path)?;
        }
        let length = mend(&file, &self.path)?;
        let mut write = || -> io::Result<()> {
            file.write_all(line)?;
            crash::point("trace-written");
            file.sync_data()?;
            crash::point("trace-synced");
            Ok(())
        };
        let written = write();
        if written.is_err() {
            let _ = file.set_len(length);
        }
        written.on("write", &self.path)
    }
}

/// The line of an event, with its end.
pub(super) fn line_of(event: &Value) -> Vec<u8> {
    format!("{event}\n").into_bytes()
}

/// The event of a line; `None` when the line is damaged or has no end.
pub(super) fn event_of(line: &[u8]) -> Option<Value> {
    let event: Value = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
    (event["id"].is_string() && event["created_at"].is_number()).then_some(event)
}

/// The lines of a file, each with its end, which the last may lack. One that is gone has none.
pub(super) fn lines(path: &Path) -> Result<impl Iterator<Item = Result<Vec<u8>, FsError>>, FsError> {
    let mut reader = match open(path, false) {
        Err(error) if error.is_not_found() => None,
        file => Some(BufReader::new(file?)),
    };
    Ok(std::iter::from_fn(move || {
        let mut line = Vec::new();
        let read = reader.as_mut()?.read_until(b'\n', &mut line).on("read", path);
        if read.is_err() {
            reader = None;
        }
        read.map(|bytes| (bytes > 0).then_some(line)).transpose()
    }))
}

/// The folder of an agent.
pub(super) fn folder_of(root: &Path, agent: &str) -> PathBuf {
    root.join(FOLDER).join(agent)
}

/// The agents that have a folder, in alphabetical order. Links are not followed.
pub(super) fn agents(root: &Path) -> Vec<String> {
    let folders = entries(&root.join(FOLDER), FileType::is_dir).unwrap_or_default();
    let name = |folder: &PathBuf| Some(folder.file_name()?.to_str()?.to_owned());
    let mut agents: Vec<String> = folders.iter().filter_map(name).collect();
    agents.sort_unstable();
    agents
}

/// What a folder has of a kind; nothing where it is none, or a link.
fn entries(folder: &Path, is_one: fn(&FileType) -> bool) -> Result<Vec<PathBuf>, FsError> {
    if !is_folder(folder) {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder).on("list", folder)?.flatten();
    let of_kind = entries.filter(|entry| entry.file_type().is_ok_and(|kind| is_one(&kind)));
    Ok(of_kind.map(|entry| entry.path()).collect())
}

/// The files of an agent, the newest hour first, and of each hour the one that has what came late first. None where it has none.
pub(super) fn files_of(root: &Path, agent: &str) -> Result<Vec<TraceFile>, FsError> {
    let mut files: Vec<TraceFile> = paths_of(root, agent)?.iter().filter_map(|path| TraceFile::of(path)).collect();
    files.sort_unstable();
    files.reverse();
    Ok(files)
}

/// All files of an agent that may hold lines of ours by their names: also copies of sync services, or of the person.
pub(super) fn paths_of(root: &Path, agent: &str) -> Result<Vec<PathBuf>, FsError> {
    let is_there = is_folder(&root.join(FOLDER));
    let mut paths = if is_there { entries(&folder_of(root, agent), FileType::is_file)? } else { Vec::new() };
    paths.retain(|path| path.to_str().is_some_and(|path| path.contains(ENDING)));
    Ok(paths)
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

/// Makes a folder that only its owner may enter, unless it is there. A link is none: it may lead out of the vault.
fn make_folder(path: &Path, git_ignore: Option<&str>) -> Result<(), FsError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {
            if let Some(text) = git_ignore {
                crate::base::fs::write_atomically(&path.join(".gitignore"), text.as_bytes(), 0o600)?;
            }
            sync_folder(path)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_folder(path) => Ok(()),
        Err(error) => Err(error).on("create the folder", path),
    }
}

/// Opens a file itself, never what a link leads to.
pub(super) fn open(path: &Path, append: bool) -> Result<File, FsError> {
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

/// Cuts off what a kill has left of a last line, whose sender was not told that it is kept; gives the file's length.
pub(super) fn mend(mut file: &File, path: &Path) -> Result<u64, FsError> {
    let length = file.metadata().on("look at", path)?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1).on("read", path)?;
    }
    if last == [b'\n'] {
        return Ok(length);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).on("read", path)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
    file.set_len(whole).and_then(|()| file.sync_all()).on("mend", path)?;
    tracing::warn!("the last line of {} was torn, and was cut off: {} bytes", path.display(), length - whole);
    Ok(whole)
}

/// An hour of UTC, counted from 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TraceHour(i64);

const SECONDS: i64 = 3600;
/// Delay until a file is sealed after its hour has ended, in hours.
const OPEN_HOURS: i64 = 2;

impl TraceHour {
    /// The hour of a time, in seconds since 1970; `None` for what is no time of a calendar.
    pub(super) fn of(seconds: f64) -> Option<Self> {
        let last = Timestamp::MAX.as_second();
        (0.0..last as f64).contains(&seconds).then_some(Self(seconds as i64 / SECONDS))
    }

    /// The hour in which a moment is.
    pub(super) fn at(time: Timestamp) -> Self {
        Self(time.as_second().div_euclid(SECONDS))
    }

    /// `2026-03-02T10`.
    pub(super) fn name(self) -> String {
        let start = Timestamp::from_second(self.0 * SECONDS).unwrap_or(Timestamp::UNIX_EPOCH);
        start.strftime("%Y-%m-%dT%H").to_string()
    }

    /// Reads what [`TraceHour::name`] gives.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let start: Timestamp = format!("{name}:00:00Z").parse().ok()?;
        Some(Self::at(start)).filter(|hour| hour.name() == name)
    }

    /// Whether some of its time is between these, in seconds since 1970.
    pub(super) fn meets(self, since: Option<f64>, until: Option<f64>) -> bool {
        let (start, end) = ((self.0 * SECONDS) as f64, ((self.0 + 1) * SECONDS) as f64);
        since.is_none_or(|since| end > since) && until.is_none_or(|until| start <= until)
    }

    /// Whether its file is sealed.
    pub(super) fn is_sealed(self, now: Timestamp) -> bool {
        now.as_second() >= (self.0 + 1 + OPEN_HOURS) * SECONDS
    }

    /// Whether it ended more than so many days ago.
    pub(super) fn is_older_than(self, days: u64, now: Timestamp) -> bool {
        now.as_second().saturating_sub((self.0 + 1) * SECONDS) >= (days as i64).saturating_mul(24 * SECONDS)
    }

    /// The hours whose files are not sealed yet.
    pub(super) fn open(now: Timestamp) -> impl Iterator<Item = Self> {
        let Self(now) = Self::at(now);
        (now - OPEN_HOURS..=now).map(Self)
    }
}

/// Whether a time, in seconds since 1970, is one of a calendar.
pub(crate) fn is_time(seconds: f64) -> bool {
    TraceHour::of(seconds).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_read_and_others_are_not_ours() {
        let hour = TraceHour::parse("2026-03-02T10").unwrap();
        for (name, late) in [("2026-03-02T10.jsonl", false), ("2026-03-02T10.late.jsonl", true)] {
            let file = TraceFile::new(Path::new("/v"), "ada", hour, late);
            assert!(file.path.ends_with(format!("traces/ada/{name}")));
            assert_eq!(TraceFile::of(&file.path), Some(file));
        }
        for other in
            ["2026-03-02T10.sync-conflict-1.jsonl", "2026-03-02T10.late.late.jsonl", "x.jsonl", "2026-03-02T10"]
        {
            assert_eq!(TraceFile::of(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let vault = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), vault.path().join(FOLDER)).unwrap();
        let file = TraceFile::new(vault.path(), "ada", TraceHour::parse("2026-03-02T10").unwrap(), false);
        assert!(file.append(vault.path(), b"{}\n").is_err());
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        assert!(agents(vault.path()).is_empty() && files_of(vault.path(), "ada").unwrap().is_empty());
    }

    #[test]
    fn a_line_without_its_end_is_no_event() {
        let event = json!({ "id": "a\"b", "kind": "error", "created_at": 1.5, "payload": { "message": "x\ny" } });
        let line = line_of(&event);
        assert_eq!((event_of(&line), line.iter().filter(|byte| **byte == b'\n').count()), (Some(event), 1));
        for cut in 0..line.len() {
            assert!(event_of(&line[..cut]).is_none(), "cut at {cut}");
        }
        assert!(event_of(b"{}\n").is_none() && event_of(b"\n").is_none());
    }

    #[test]
    fn an_hour_is_named_as_it_is_read_and_sealed_two_hours_after_it() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let hour = TraceHour::at(at("2026-03-02T10:59:59.999Z"));
        assert_eq!((hour.name().as_str(), TraceHour::parse("2026-03-02T10")), ("2026-03-02T10", Some(hour)));
        for bad in ["2026-03-02T1", "2026-03-02", "2026-13-02T10", "2026-03-02T10.late", "2026-03-02T24", "x"] {
            assert_eq!(TraceHour::parse(bad), None, "{bad}");
        }
        assert!(!hour.is_sealed(at("2026-03-02T12:59:59Z")) && hour.is_sealed(at("2026-03-02T13:00:00Z")));
        let open: Vec<_> = TraceHour::open(at("2026-03-02T12:59:59Z")).collect();
        assert!(open.contains(&hour) && open.iter().all(|hour| !hour.is_sealed(at("2026-03-02T12:59:59Z"))));
        assert!(!TraceHour::open(at("2026-03-02T13:00:00Z")).any(|open| open == hour));
        let start = at("2026-03-02T10:00:00Z").as_second() as f64;
        assert_eq!((TraceHour::of(start), TraceHour::of(start + 3599.9)), (Some(hour), Some(hour)));
        assert!(hour.meets(Some(start + 3599.0), None) && !hour.meets(Some(start + 3600.0), None));
        assert!(hour.meets(None, Some(start)) && !hour.meets(None, Some(start - 0.1)));
        assert_eq!((TraceHour::of(-1.0), TraceHour::of(f64::NAN), TraceHour::of(1e18)), (None, None, None));
        assert!(
            hour.is_older_than(1, at("2026-03-03T11:00:00Z")) && !hour.is_older_than(1, at("2026-03-03T10:00:00Z"))
        );
    }
}
