//! Appends events: whoever asks while the disk is busy is served by the next write, all together.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use jiff::Timestamp;
use serde_json::Value;

use super::error::TraceFilesError;
use super::file::{OpenTrace, TraceFile, files_of};
use super::hour::TraceHour;
use super::ids::{IdDigest, KnownIds, digest};
use super::line::line_of;
use crate::vault::Identity;

/// Maximum number of files that are kept open.
const MAX_OPEN: usize = 64;
/// Maximum number of events of an agent in an hour: their ids are held while it is open.
const MAX_AN_HOUR: usize = 2_000_000;
const DAY: i64 = 24 * 3600;

/// An event that is to be kept.
#[derive(Debug)]
pub(crate) struct NewTrace {
    /// Whose it is: a name that a folder may have.
    pub agent: String,
    /// The hour of its time.
    pub hour: TraceHour,
    /// What tells it from the agent's others.
    pub id: String,
    /// All of it, an object.
    pub event: Value,
}

/// The traces of a vault.
#[derive(Debug)]
pub(crate) struct TraceFiles {
    pub(super) root: PathBuf,
    /// Bytes that an agent may send in a day.
    max_bytes_per_day: u64,
    waiting: Mutex<TraceQueue>,
    answered: Condvar,
    /// Held by whoever changes a file.
    files: Mutex<OpenTraces>,
    /// Held by whoever goes through all files, before that.
    sweeping: Mutex<()>,
}

/// Whether an event was written; it was not, where it was there already.
type TraceWritten = Result<bool, TraceFilesError>;

#[derive(Debug, Default)]
struct TraceQueue {
    requests: Vec<(u64, NewTrace)>,
    answers: HashMap<u64, TraceWritten>,
    /// Somebody is writing.
    is_busy: bool,
    next: u64,
}

/// What is known of the files.
#[derive(Debug, Default)]
pub(super) struct OpenTraces {
    open: HashMap<TraceFile, OpenTrace>,
    ids: KnownIds,
    /// What each agent has sent today.
    today: HashMap<String, (i64, u64)>,
}

/// Who writes for all that wait. Whatever becomes of it, each of them is answered.
struct TraceTurn<'f> {
    files: &'f TraceFiles,
    answers: Vec<(u64, TraceWritten)>,
}

impl Drop for TraceTurn<'_> {
    fn drop(&mut self) {
        let mut waiting = self.files.waiting();
        waiting.is_busy = false;
        waiting.answers.extend(std::mem::take(&mut self.answers));
        drop(waiting);
        self.files.answered.notify_all();
    }
}

/// The lines that go to a file, and who waits for them; who only says again what another says is told with it.
#[derive(Default)]
struct TraceLines {
    bytes: Vec<u8>,
    ids: Vec<IdDigest>,
    /// Places in the list of answers, and whether the line is theirs.
    waiting: Vec<(usize, bool)>,
}

impl TraceFiles {
    /// Those of the vault at `root`, in which an agent may send so many bytes a day.
    pub(crate) fn new(root: &Path, max_bytes_per_day: u64) -> Self {
        Self {
            root: root.to_owned(),
            max_bytes_per_day,
            waiting: Mutex::default(),
            answered: Condvar::new(),
            files: Mutex::default(),
            sweeping: Mutex::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, TraceQueue> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn files(&self) -> MutexGuard<'_, OpenTraces> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sweeping(&self) -> MutexGuard<'_, ()> {
        self.sweeping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an event. When it returns the event is safe on disk; false when one of its id was there already, in its hour or in one
    /// that is not sealed.
    ///
    /// # Errors
    /// When the disk refuses, the vault's folder is away, or the agent has sent too much.
    pub(crate) fn append(&self, event: NewTrace, now: Timestamp) -> TraceWritten {
        let mut waiting = self.waiting();
        let ours = waiting.next;
        waiting.next += 1;
        waiting.requests.push((ours, event));
        loop {
            if let Some(answer) = waiting.answers.remove(&ours) {
                return answer;
            }
            if waiting.is_busy {
                waiting = self.answered.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            waiting.is_busy = true;
            let requests = std::mem::take(&mut waiting.requests);
            drop(waiting);
            let interrupted = || Err(TraceFilesError::Disk("the write was interrupted".into()));
            let answers = requests.iter().map(|(ticket, _)| (*ticket, interrupted())).collect();
            let mut turn = TraceTurn { files: self, answers };
            self.write(requests.into_iter().map(|(_, event)| event), &mut turn.answers, now);
            drop(turn);
            waiting = self.waiting();
        }
    }

    fn write(&self, events: impl Iterator<Item = NewTrace>, answers: &mut [(u64, TraceWritten)], now: Timestamp) {
        if Identity::of_vault(&self.root).is_none() {
            // An empty mount point has no memory.toml: nothing is made there.
            return answers.iter_mut().for_each(|(_, answer)| *answer = Err(TraceFilesError::Away));
        }
        let mut files = self.files();
        let mut targets: BTreeMap<TraceFile, TraceLines> = BTreeMap::new();
        let mut batch: HashMap<(String, IdDigest), TraceFile> = HashMap::new();
        for (at, event) in events.enumerate() {
            let id = digest(&event.id);
            let key = (event.agent.clone(), id);
            if let Some(lines) = batch.get(&key).and_then(|target| targets.get_mut(target)) {
                lines.waiting.push((at, false));
                continue;
            }
            let line = line_of(&event.event);
            match files.target(self, &event, id, line.len() as u64, now) {
                Ok(Some(target)) => {
                    let lines = targets.entry(target.clone()).or_default();
                    lines.bytes.extend(line);
                    lines.ids.push(id);
                    lines.waiting.push((at, true));
                    batch.insert(key, target);
                }
                Ok(None) => answers[at].1 = Ok(false),
                Err(error) => answers[at].1 = Err(error),
            }
        }
        for (target, lines) in targets {
            let written = files.append(&self.root, &target, &lines);
            for (at, is_its) in lines.waiting {
                answers[at].1 = written.clone().map(|()| is_its);
            }
        }
    }
}

impl OpenTraces {
    /// The file in which an event goes; `None` when it is there already.
    fn target(
        &mut self,
        traces: &TraceFiles,
        event: &NewTrace,
        id: IdDigest,
        bytes: u64,
        now: Timestamp,
    ) -> Result<Option<TraceFile>, TraceFilesError> {
        let (root, agent, hour) = (&traces.root, &event.agent, event.hour);
        let main = TraceFile { agent: agent.clone(), hour, late: false };
        let path = main.path(root);
        let is_read_only = || path.symlink_metadata().is_ok_and(|meta| meta.permissions().mode() & 0o200 == 0);
        let target = TraceFile { late: hour.is_sealed(now) || is_read_only(), ..main };
        // What somebody has done to a file is seen before its ids are looked at.
        if self.open.get(&target).is_some_and(|open| !open.is_there()) {
            self.close(&target);
        }
        for hour in TraceHour::open(now).filter(|open| *open != hour).chain([hour]) {
            let known = self.ids.of(root, agent, hour)?;
            if known.contains(&id) {
                return Ok(None);
            }
            if hour == event.hour && known.len() >= MAX_AN_HOUR {
                return Err(TraceFilesError::TooMuch(format!("`{agent}` has sent {MAX_AN_HOUR} events of this hour")));
            }
        }
        let sent = self.sent_today(root, agent, now)?;
        if *sent + bytes > traces.max_bytes_per_day {
            return Err(TraceFilesError::TooMuch(format!("`{agent}` has sent {sent} bytes of traces today")));
        }
        *sent += bytes;
        Ok(Some(target))
    }

    /// About so many bytes an agent has sent since midnight, UTC: after a start those of the files that were written to since.
    fn sent_today(&mut self, root: &Path, agent: &str, now: Timestamp) -> Result<&mut u64, TraceFilesError> {
        let day = now.as_second().div_euclid(DAY);
        if self.today.get(agent).is_none_or(|(of, _)| *of != day) {
            let is_first = !self.today.contains_key(agent);
            let mut bytes = 0;
            for file in files_of(root, agent)?.into_iter().filter(|_| is_first) {
                let Ok(meta) = file.path(root).symlink_metadata() else { continue };
                let written = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                let today = written.is_some_and(|time| (time.as_secs() as i64).div_euclid(DAY) == day);
                bytes += if today { meta.len() } else { 0 };
            }
            self.today.insert(agent.to_owned(), (day, bytes));
        }
        Ok(&mut self.today.entry(agent.to_owned()).or_insert((day, 0)).1)
    }

    /// Opens a file, unless it is open and as it was left.
    fn reopen(&mut self, root: &Path, target: &TraceFile) -> Result<&mut OpenTrace, TraceFilesError> {
        if self.open.get(target).is_some_and(|open| !open.is_there()) {
            self.close(target);
        }
        if !self.open.contains_key(target) {
            if self.open.len() >= MAX_OPEN {
                self.open.clear();
            }
            let opened = target.open(root)?;
            self.open.insert(target.clone(), opened);
        }
        let missing = || TraceFilesError::Disk("a file of traces was closed".into());
        self.open.get_mut(target).ok_or_else(missing)
    }

    /// Has a file opened, and its hour's ids read, anew when they are needed.
    pub(super) fn close(&mut self, file: &TraceFile) {
        self.open.remove(file);
        self.ids.drop_hour(&file.agent, file.hour);
    }

    fn append(&mut self, root: &Path, target: &TraceFile, lines: &TraceLines) -> Result<(), TraceFilesError> {
        let written = self.reopen(root, target).and_then(|open| Ok(open.append(&lines.bytes)?));
        match &written {
            Ok(()) => self.ids.of(root, &target.agent, target.hour)?.extend(&lines.ids),
            Err(_) => self.close(target),
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::super::TraceQuestion;
    use super::*;
    use crate::fs::write_new;
    use serde_json::json;
    use std::collections::HashSet;

    fn vault() -> (tempfile::TempDir, TraceFiles) {
        let folder = tempfile::tempdir().unwrap();
        write_new(&folder.path().join("memory.toml"), b"").unwrap();
        let files = TraceFiles::new(folder.path(), 1 << 30);
        (folder, files)
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn event(id: &str, time: &str) -> NewTrace {
        let seconds = at(time).as_second() as f64;
        let event = json!({ "id": id, "kind": "error", "created_at": seconds, "payload": { "message": id } });
        NewTrace { agent: "ada".into(), hour: TraceHour::of(seconds).unwrap(), id: id.into(), event }
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
        assert!(files.append(event("a", "2026-03-02T10:00:01Z"), now).unwrap());
        assert!(!files.append(event("a", "2026-03-02T10:00:01Z"), now).unwrap());
        assert!(!files.append(event("a", "2026-03-02T09:59:59Z"), now).unwrap(), "an open hour has it");
        assert!(files.append(event("b", "2026-03-02T09:59:59Z"), now).unwrap());
        let later = at("2026-03-02T13:00:00Z");
        let again = TraceFiles::new(folder.path(), 1 << 30);
        assert!(!again.append(event("a", "2026-03-02T10:00:01Z"), later).unwrap());
        assert!(again.append(event("c", "2026-03-02T10:59:00Z"), later).unwrap());
        assert!(!again.append(event("c", "2026-03-02T10:59:00Z"), later).unwrap());
        assert_eq!(ids(&again), ["c", "a", "b"]);
        let mut names: Vec<_> = std::fs::read_dir(folder.path().join("traces/ada"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["2026-03-02T09.jsonl", "2026-03-02T10.jsonl", "2026-03-02T10.late.jsonl"]);
        again.tidy(later, 0).unwrap();
        let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("traces"), mode("traces/ada")), (0o700, 0o700));
        assert_eq!(
            (mode("traces/ada/2026-03-02T10.jsonl"), mode("traces/ada/2026-03-02T10.late.jsonl")),
            (0o400, 0o600)
        );
        again.tidy(at("2026-03-03T11:00:00Z"), 1).unwrap();
        assert!(ids(&again).is_empty());
    }

    #[test]
    fn a_torn_line_is_cut_off_and_set_aside() {
        let (folder, files) = vault();
        let now = at("2026-03-02T10:30:00Z");
        files.append(event("a", "2026-03-02T10:00:01Z"), now).unwrap();
        let path = folder.path().join("traces/ada/2026-03-02T10.jsonl");
        let whole = std::fs::read(&path).unwrap();
        for torn in ["{\"id\":\"b", "{}"] {
            std::fs::write(&path, [&whole, torn.as_bytes()].concat()).unwrap();
            assert_eq!(ids(&files), ["a"]);
            TraceFiles::new(folder.path(), 1 << 30).tidy(now, 0).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        let aside = std::fs::read_to_string(path.with_extension("torn")).unwrap();
        assert_eq!(aside, "{\"id\":\"b\n{}\n");
        // The same while the file is open.
        std::fs::write(&path, [&whole, &b"{"[..]].concat()).unwrap();
        assert!(files.append(event("b", "2026-03-02T10:00:02Z"), now).unwrap());
        assert_eq!(ids(&files), ["b", "a"]);
    }

    #[test]
    fn damage_is_noticed_and_what_was_damaged_is_taken_again() {
        let (folder, files) = vault();
        let now = at("2026-03-02T10:30:00Z");
        for id in ["a", "b", "c"] {
            files.append(event(id, "2026-03-02T10:00:01Z"), now).unwrap();
        }
        let path = folder.path().join("traces/ada/2026-03-02T10.jsonl");
        let text = std::fs::read_to_string(&path).unwrap().replacen("\"id\":\"b\"", "\"id\":\"x\"", 1);
        std::fs::write(&path, text).unwrap();
        let question = TraceQuestion { limit: 10, ..TraceQuestion::default() };
        let found = TraceFiles::new(folder.path(), 1 << 30).newest("ada", &question, || true).unwrap();
        assert_eq!((found.events.len(), found.damaged), (2, 1));
        let again = TraceFiles::new(folder.path(), 1 << 30);
        assert!(again.append(event("b", "2026-03-02T10:00:01Z"), now).unwrap());
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
                        let is_its = files.append(event(&id.to_string(), "2026-03-02T10:00:01Z"), now).unwrap();
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
        let small = TraceFiles::new(folder.path(), 200);
        assert!(small.append(event("a", "2026-03-02T10:00:01Z"), now).unwrap());
        let more = || small.append(event("b", "2026-03-02T10:00:01Z"), now);
        assert!(matches!(more(), Err(TraceFilesError::TooMuch(_))));
        assert!(small.append(event("b", "2026-03-02T10:00:01Z"), at("2026-03-03T00:00:00Z")).unwrap());
        let empty = tempfile::tempdir().unwrap();
        let away = TraceFiles::new(empty.path(), 1 << 30).append(event("a", "2026-03-02T10:00:01Z"), now);
        assert!(matches!(away, Err(TraceFilesError::Away)));
        assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0);
    }
}
