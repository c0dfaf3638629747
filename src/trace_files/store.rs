//! Appends events, each once, and seals and removes files as time passes.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;

use super::file::{TraceFile, agents, event_of, files_of, folder_of, line_of, lines, mend, open};
use super::hour::TraceHour;
use crate::fs::{Context, FsError, crash, remove_unfinished, sync_folder};
use crate::vault::{Identity, Stamp};

/// The mode of a file that nothing more is written to.
const SEALED: u32 = 0o400;
const DAY: i64 = 24 * 3600;

/// The traces of a vault.
#[derive(Debug)]
pub(crate) struct TraceFiles {
    pub(super) root: PathBuf,
    /// Bytes that an agent may send in a day.
    max_bytes_per_day: u64,
    /// Held by whoever changes a file.
    known: Mutex<KnownTraces>,
}

/// What is known of the files.
#[derive(Debug, Default)]
pub(super) struct KnownTraces {
    /// The ids of the hours of agents.
    hours: HashMap<(String, TraceHour), HourIds>,
    /// The day, and how many bytes each agent has sent of it.
    today: HashMap<String, (i64, u64)>,
}

/// The ids of an hour, by their digests, and what its two files were then.
#[derive(Debug, Default)]
struct HourIds {
    ids: HashSet<[u8; 16]>,
    stamps: [Option<Stamp>; 2],
}

/// Traces cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceFilesError {
    /// The vault's folder is away.
    #[error("the vault's folder is not there")]
    Away,
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] FsError),
    /// An agent has sent as much as it may.
    #[error("`{0}` has sent as many bytes of traces today as it may")]
    TooMuch(String),
    /// Nobody waits for the answer any more.
    #[error("it took too long")]
    GivenUp,
}

impl TraceFiles {
    /// Those of the vault at `root`, in which an agent may send so many bytes a day.
    pub(crate) fn new(root: &Path, max_bytes_per_day: u64) -> Self {
        Self { root: root.to_owned(), max_bytes_per_day, known: Mutex::default() }
    }

    /// Whoever has it is the only one that changes a file.
    pub(super) fn lock(&self) -> MutexGuard<'_, KnownTraces> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an event of an agent, which has an `id` and a `created_at`. When it returns the event is safe on disk; false when one of its id
    /// was there already, in its hour or in one that is not sealed.
    ///
    /// # Errors
    /// When the disk refuses, the vault's folder is away, or the agent has sent too much.
    pub(crate) fn append(&self, agent: &str, event: &Value, now: Timestamp) -> Result<bool, TraceFilesError> {
        if Identity::of_vault(&self.root).is_none() {
            // An empty mount point has no memory.toml: nothing is made there.
            return Err(TraceFilesError::Away);
        }
        let id = digest(event);
        let hour = event["created_at"].as_f64().and_then(TraceHour::of).unwrap_or(TraceHour::at(now));
        let mut known = self.lock();
        for hour in TraceHour::open(now).chain([hour]) {
            if known.ids(&self.root, agent, hour)?.ids.contains(&id) {
                return Ok(false);
            }
        }
        let line = line_of(event);
        let day = now.as_second().div_euclid(DAY);
        let before = known.today.get(agent).filter(|(of, _)| *of == day).map_or(0, |(_, bytes)| *bytes);
        let sent = before + line.len() as u64;
        if sent > self.max_bytes_per_day {
            return Err(TraceFilesError::TooMuch(agent.to_owned()));
        }
        let file = TraceFile::new(&self.root, agent, hour, false);
        let late = hour.is_sealed(now) || file.is_read_only();
        let file = if late { TraceFile::new(&self.root, agent, hour, true) } else { file };
        file.append(&self.root, &line)?;
        known.today.insert(agent.to_owned(), (day, sent));
        let hour = known.hours.entry((agent.to_owned(), hour)).or_default();
        hour.ids.insert(id);
        hour.stamps[usize::from(late)] = file.stamp();
        Ok(true)
    }

    /// Mends the files that a kill has torn, seals those of hours that are over, and removes those that are older than so many days
    /// (0 keeps all). A file that refuses keeps nothing from the others.
    pub(crate) fn tidy(&self, now: Timestamp, retention_days: u64) {
        for agent in agents(&self.root) {
            // One agent at a time: whoever sends events waits that long alone.
            let mut known = self.lock();
            known.hours.retain(|(_, hour), _| !hour.is_sealed(now));
            let files = remove_unfinished(&folder_of(&self.root, &agent)).and_then(|()| files_of(&self.root, &agent));
            let tidy = |file: &TraceFile| tidy_file(file, now, retention_days).err();
            let errors = files.map_or_else(|error| vec![error], |files| files.iter().filter_map(tidy).collect());
            for error in errors {
                tracing::warn!("traces are not sealed or removed: {error}");
            }
        }
    }
}

impl KnownTraces {
    /// The ids of an hour of an agent, as its files have them: what somebody has done to a file is seen. A damaged line has none, so that its
    /// event is taken again.
    fn ids(&mut self, root: &Path, agent: &str, hour: TraceHour) -> Result<&HourIds, FsError> {
        let files = [false, true].map(|late| TraceFile::new(root, agent, hour, late));
        let stamps = files.each_ref().map(TraceFile::stamp);
        let known = self.hours.entry((agent.to_owned(), hour)).or_default();
        if known.stamps != stamps {
            *known = HourIds::default();
            for file in files.iter().filter(|file| file.stamp().is_some()) {
                // What a kill left unsynced is found here, and answered as kept.
                open(&file.path, false)?.sync_data().on("sync", &file.path)?;
                for line in lines(&file.path)? {
                    known.ids.extend(event_of(&line?).as_ref().map(digest));
                }
            }
            known.stamps = stamps;
        }
        Ok(known)
    }
}

/// What an event is known by.
fn digest(event: &Value) -> [u8; 16] {
    let mut digest = [0; 16];
    blake3::Hasher::new().update(event["id"].as_str().unwrap_or_default().as_bytes()).finalize_xof().fill(&mut digest);
    digest
}

fn tidy_file(file: &TraceFile, now: Timestamp, retention_days: u64) -> Result<(), FsError> {
    let path = &file.path;
    if retention_days > 0 && file.hour.is_older_than(retention_days, now) {
        fs::remove_file(path).on("remove", path)?;
        return sync_folder(path);
    }
    if file.is_read_only() {
        return Ok(());
    }
    let opened = open(path, true)?;
    mend(&opened, path)?;
    if !file.late && file.hour.is_sealed(now) {
        opened.sync_all().on("sync", path)?;
        crash::point("trace-sealing");
        opened.set_permissions(Permissions::from_mode(SEALED)).on("seal", path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::TraceQuestion;
    use super::*;
    use crate::fs::write_new;
    use serde_json::json;

    fn vault() -> (tempfile::TempDir, TraceFiles) {
        let folder = tempfile::tempdir().unwrap();
        write_new(&folder.path().join("memory.toml"), b"").unwrap();
        let files = TraceFiles::new(folder.path(), 1 << 30);
        (folder, files)
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn append(files: &TraceFiles, id: &str, time: &str, now: Timestamp) -> Result<bool, TraceFilesError> {
        let seconds = at(time).as_second() as f64;
        let event = json!({ "id": id, "kind": "error", "created_at": seconds, "payload": { "message": id } });
        files.append("ada", &event, now)
    }

    fn ids(files: &TraceFiles) -> Vec<String> {
        let question = TraceQuestion { limit: 1000, ..TraceQuestion::default() };
        let found = files.newest("ada", &question, || true).unwrap();
        assert_eq!(found.damaged, 0);
        found.events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn an_event_is_kept_once_in_its_hour_and_late_ones_beside_it() {
        let (folder, files) = vault();
        let now = at("2026-03-02T10:30:00Z");
        assert!(append(&files, "a", "2026-03-02T10:00:01Z", now).unwrap());
        assert!(!append(&files, "a", "2026-03-02T10:00:01Z", now).unwrap());
        assert!(!append(&files, "a", "2026-03-02T09:59:59Z", now).unwrap(), "an open hour has it");
        assert!(append(&files, "b", "2026-03-02T09:59:59Z", now).unwrap());
        let later = at("2026-03-02T13:00:00Z");
        let again = TraceFiles::new(folder.path(), 1 << 30);
        assert!(!append(&again, "a", "2026-03-02T10:00:01Z", later).unwrap());
        assert!(append(&again, "c", "2026-03-02T10:59:00Z", later).unwrap());
        assert!(!append(&again, "c", "2026-03-02T10:59:00Z", later).unwrap());
        assert_eq!(ids(&again), ["c", "a", "b"]);
        let mut names: Vec<_> = std::fs::read_dir(folder.path().join("traces/ada"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["2026-03-02T09.jsonl", "2026-03-02T10.jsonl", "2026-03-02T10.late.jsonl"]);
        again.tidy(later, 0);
        let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("traces"), mode("traces/ada")), (0o700, 0o700));
        assert_eq!(
            (mode("traces/ada/2026-03-02T10.jsonl"), mode("traces/ada/2026-03-02T10.late.jsonl")),
            (0o400, 0o600)
        );
        again.tidy(at("2026-03-03T11:00:00Z"), 1);
        assert!(ids(&again).is_empty());
    }

    #[test]
    fn a_torn_line_is_cut_off_and_what_is_damaged_is_taken_again() {
        let (folder, files) = vault();
        let now = at("2026-03-02T10:30:00Z");
        append(&files, "a", "2026-03-02T10:00:01Z", now).unwrap();
        let path = folder.path().join("traces/ada/2026-03-02T10.jsonl");
        let whole = std::fs::read(&path).unwrap();
        for torn in [&b"{\"id\":\"b"[..], &whole[..whole.len() - 1]] {
            std::fs::write(&path, [&whole, torn].concat()).unwrap();
            assert_eq!(ids(&files), ["a"]);
            files.tidy(now, 0);
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        // The same where no start is in between.
        std::fs::write(&path, [&whole, &b"{"[..]].concat()).unwrap();
        assert!(append(&files, "b", "2026-03-02T10:00:02Z", now).unwrap());
        assert_eq!(ids(&files), ["b", "a"]);
        let damaged = std::fs::read_to_string(&path).unwrap().replacen("{\"id\":\"b\"", "\"id\":\"b\"", 1);
        std::fs::write(&path, damaged).unwrap();
        let question = TraceQuestion { limit: 10, ..TraceQuestion::default() };
        let found = files.newest("ada", &question, || true).unwrap();
        assert_eq!((found.events.len(), found.damaged), (1, 1));
        assert!(append(&files, "b", "2026-03-02T10:00:02Z", now).unwrap());
    }

    #[test]
    fn many_at_once_are_each_written_once() {
        let (_folder, files) = vault();
        let now = at("2026-03-02T10:30:00Z");
        let written = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for id in 0..100 {
                        let is_its = append(&files, &id.to_string(), "2026-03-02T10:00:01Z", now).unwrap();
                        written.fetch_add(usize::from(is_its), std::sync::atomic::Ordering::SeqCst);
                    }
                });
            }
        });
        let found: HashSet<String> = ids(&files).into_iter().collect();
        assert_eq!((written.into_inner(), found.len(), ids(&files).len()), (100, 100, 100));
    }

    #[test]
    fn nothing_is_made_where_the_vault_is_away_and_an_agent_has_its_day() {
        let (folder, _) = vault();
        let now = at("2026-03-02T10:30:00Z");
        let small = TraceFiles::new(folder.path(), 120);
        assert!(append(&small, "a", "2026-03-02T10:00:01Z", now).unwrap());
        let more = append(&small, "b", "2026-03-02T10:00:01Z", now);
        assert!(matches!(more, Err(TraceFilesError::TooMuch(_))));
        assert!(append(&small, "b", "2026-03-02T10:00:01Z", at("2026-03-03T00:00:00Z")).unwrap());
        let empty = tempfile::tempdir().unwrap();
        let away = append(&TraceFiles::new(empty.path(), 1 << 30), "a", "2026-03-02T10:00:01Z", now);
        assert!(matches!(away, Err(TraceFilesError::Away)));
        assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0);
    }
}
