//! The queue of events between senders and their files, and the thread that brings them there, each once.
//!
//! A batch goes so: what is about to be written is made safe on disk (the plan: files, their hashes before and after, the
//! texts), the files are written, and then that they are. After a kill the plan and the files tell what was done.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::drafts::Drafts;
use super::event::{Captured, Event, FOLDERS, takes};
use super::pages::{Pages, head, is_captured};
use super::private::without_forgotten;
use crate::access::request::WorkspaceParts;
use crate::base::config::{CaptureConfig, RetentionConfig, Switches};
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::base::state::{Batch, EventQueue, EventReader, Extent, ImportTable, State, StateError};
use crate::vault::disk::{Action, Files, Identity};
use crate::vault::forgotten::ForgottenTexts;

/// Maximum number of events that may wait to be written into files.
const MAX_EVENTS: u64 = 1_000_000;
/// Maximum total size of the events that wait, in bytes.
const MAX_BYTES: u64 = 1 << 30;
/// Idle period after which the queue's copy of what is in files is erased from the disk.
const IDLE_PERIOD: Duration = Duration::from_secs(2);

/// Why nothing is accepted: the vault's folder is away, or the program is about to end.
const AWAY: &str = "the vault's folder does not exist";
const CLOSING: &str = "the vault is closing";

/// The table of events, written by one at a time.
struct Table {
    events: EventQueue,
    /// It could not be swept, and is tried again.
    unswept: bool,
    /// When something was written last.
    written: Instant,
}

/// How far the queue is.
#[derive(Debug, Clone, Default)]
pub(super) struct QueueProgress {
    /// It is being closed.
    pub(super) closing: bool,
    /// What of it waits to be written into files.
    extent: Extent,
    /// Why it does not get on, for the status.
    pub(super) failure: Option<String>,
}

impl QueueProgress {
    /// How many events wait to be written into files.
    pub(super) fn pending(&self) -> u64 {
        self.extent.pending()
    }
}

/// The queue of one vault.
pub(super) struct Queue {
    root: PathBuf,
    /// What is captured.
    pub(super) switches: Arc<Switches>,
    /// Who writes the notes.
    pub(super) files: Arc<Files>,
    /// What stays forgotten.
    pub(super) forgotten: Arc<ForgottenTexts>,
    /// What other programs have kept.
    pub(super) imports: ImportTable,
    table: Mutex<Table>,
    progress: Mutex<QueueProgress>,
    /// It got on, or is being closed.
    changed: Condvar,
}

impl Queue {
    /// Opens the queue; one that cannot be read is tried again. What is switched off does not stay in it.
    pub(super) fn open(parts: &WorkspaceParts, files: &Arc<Files>) -> Self {
        let events = EventQueue::new(&parts.state);
        let table = Table { events, unswept: false, written: Instant::now() };
        let queue = Self {
            root: parts.home.root().to_owned(),
            switches: Arc::clone(&parts.switches),
            files: Arc::clone(files),
            forgotten: Arc::clone(&parts.forgotten),
            imports: ImportTable::new(&parts.state),
            table: Mutex::new(table),
            progress: Mutex::default(),
            changed: Condvar::new(),
        };
        // A kill may have come between a switch, or a last event in its file, and this. Told in the log, and tried again.
        let _ = queue.sweep(false);
        queue
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn locked(&self) -> MutexGuard<'_, QueueProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is.
    pub(super) fn progress(&self) -> QueueProgress {
        self.locked().clone()
    }

    /// Writes events, and returns when they are safe on disk.
    ///
    /// # Errors
    /// Why they were not accepted: too much waits already, the vault's folder is away, the disk refused, or the program is about to end.
    pub(super) fn append(&self, events: &[Captured]) -> Result<usize, String> {
        let encoded = events.iter().map(Captured::encoded).collect::<Result<Vec<_>, _>>();
        let events = encoded.map_err(|error| format!("an event cannot be encoded: {error}"))?;
        let progress = self.progress();
        if progress.closing {
            return Err(CLOSING.into());
        }
        let pending = progress.pending();
        if pending >= MAX_EVENTS || progress.extent.bytes >= MAX_BYTES {
            return Err(format!(
                "{pending} events are waiting to be written into the vault; try again when they are written"
            ));
        }
        self.commit(&mut self.table(), &Batch { events, ..Batch::default() })
    }

    /// Records what is about to be written and which events are in their files. It is safe on disk after a
    /// [sync](crate::base::state::EventReader::sync).
    pub(super) fn record(&self, plan: String, done: Vec<u64>) -> Result<(), String> {
        self.commit(&mut self.table(), &Batch { plan: Some(plan), done, ..Batch::default() }).map(drop)
    }

    fn commit(&self, table: &mut Table, batch: &Batch) -> Result<usize, String> {
        // An empty mount point has no memory.toml: nothing is made there.
        if Identity::of_vault(&self.root).is_none() {
            return Err(AWAY.into());
        }
        for _ in 0..2 {
            // A file that was put in its place may have what was swept.
            table.unswept |= !table.events.is_there();
            let appended = table.events.commit(batch).map_err(|error| error.to_string())?;
            table.written = Instant::now();
            self.tell(table)?;
            // Had it been deleted meanwhile, it was written to where nobody looks.
            if table.events.is_there() {
                return Ok(appended);
            }
        }
        Err(AWAY.into())
    }

    /// Tells the other threads how far it is.
    fn tell(&self, table: &mut Table) -> Result<(), String> {
        let extent = table.events.extent().map_err(|error| error.to_string())?;
        self.locked().extent = extent;
        self.changed.notify_all();
        Ok(())
    }

    /// Takes what is in its files, and what is switched off, off the disk; with `wholly` also what may be left of it among what still waits.
    pub(super) fn sweep(&self, wholly: bool) -> Result<(), String> {
        let table = &mut *self.table();
        // An empty mount point has no memory.toml: nothing is made there.
        if Identity::of_vault(&self.root).is_none() {
            table.unswept = true;
            return Err(AWAY.into());
        }
        let swept = sweep(&mut table.events, &self.switches.capture(), wholly);
        table.unswept = swept.as_ref().inspect_err(|error| tracing::warn!("{error}")).is_err();
        self.tell(table)?;
        swept.map_err(|error| error.to_string())
    }

    /// Brings the log into the database; more of it when nobody has written for a while. Opens and sweeps then what could not be before.
    fn tidy(&self) {
        if Identity::of_vault(&self.root).is_none() {
            return;
        }
        let mut table = self.table();
        let (idle, is_there) = (table.written.elapsed() >= IDLE_PERIOD, table.events.is_there());
        if is_there && let Err(error) = table.events.tidy(idle) {
            tracing::warn!("{error}");
        }
        let is_unswept = idle && (table.unswept || !is_there);
        drop(table);
        if is_unswept {
            // Told in the log, and tried again.
            let _ = self.sweep(false);
        }
    }

    /// Waits until every event is in its file, or the time is up; gives how many are not.
    pub(super) fn settle(&self, patience: Duration) -> u64 {
        let waits = |progress: &mut QueueProgress| progress.pending() > 0 && !progress.closing;
        let progress = self.changed.wait_timeout_while(self.locked(), patience, waits);
        progress.unwrap_or_else(PoisonError::into_inner).0.pending()
    }

    /// Tidies the queue, and waits until events wait to be written into files, the program ends, or a moment is over.
    fn wait(&self) -> QueueProgress {
        self.tidy();
        let is_idle = |progress: &mut QueueProgress| progress.pending() == 0 && !progress.closing;
        let waited = self.changed.wait_timeout_while(self.locked(), IDLE_PERIOD, is_idle);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Waits for so long, whatever comes, unless the program ends.
    pub(super) fn pause(&self, time: Duration) {
        drop(self.changed.wait_timeout_while(self.locked(), time, |progress| !progress.closing));
    }

    /// Notes why it does not get on, for the status and once for the log.
    pub(super) fn set_failure(&self, reason: Option<String>) {
        let mut progress = self.locked();
        if let Some(reason) = reason.as_ref().filter(|reason| progress.failure.as_ref() != Some(reason)) {
            tracing::warn!("captured events wait: {reason}");
        }
        progress.failure = reason;
    }

    /// Takes no more events; those there are can still be written into their files.
    pub(super) fn close(&self) {
        self.locked().closing = true;
        self.changed.notify_all();
    }
}

/// Takes the text of all that is in its files, and of what is switched off, off the disk; with `wholly` also what may be left of
/// it among what still waits.
fn sweep(events: &mut EventQueue, config: &CaptureConfig, wholly: bool) -> Result<(), StateError> {
    let dropped: Vec<&'static str> = FOLDERS.into_iter().filter(|folder| !takes(config, folder)).collect();
    let before = events.extent()?;
    events.commit(&Batch { dropped, sweeps: wholly, ..Batch::default() })?;
    let now = events.extent()?;
    if now.bytes < before.bytes {
        crash::point("events-swept");
    }
    if now.unswept { events.clear() } else { events.empty_log() }
}

/// Takes off the disk what a queue that nobody writes has of events that are in their files, or switched off; gives how many are
/// left.
pub(super) fn sweep_at_rest(state: &Arc<State>, config: &CaptureConfig) -> Result<u64, StateError> {
    let mut events = EventQueue::new(state);
    sweep(&mut events, config, true)?;
    Ok(events.extent()?.pending())
}

/// Maximum number of events in a batch.
const BATCH_EVENTS: usize = 1000;
/// Target size of a batch, in bytes.
const BATCH_BYTES: usize = 4 << 20;
/// Events that come soon after one another are written together.
const GATHER: Duration = Duration::from_millis(200);
/// What could not be written is tried again so soon.
const AGAIN: Duration = Duration::from_secs(1);
/// Timeout of writing what is pending at the end; the rest is written at the next start.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1500);
/// Interval at which old files are looked for.
const RETENTION_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// A file that is about to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Planned {
    pub(super) path: VaultPath,
    /// BLAKE3 of what it has before and after, in hexadecimal; none before, when it is made.
    pub(super) before: Option<String>,
    pub(super) after: String,
    /// The events, and the text of each.
    pub(super) added: Vec<(u64, String)>,
}

impl Planned {
    /// Which of its events are in the file that has this text now. While nobody else writes it is all or none, and the hash
    /// tells; where somebody edited the file after the kill, the texts do.
    fn applied(&self, now: Option<&str>) -> Vec<u64> {
        let hash = now.map(|text| blake3::hash(text.as_bytes()).to_hex().to_string());
        let all = || self.added.iter().map(|(number, _)| *number);
        match (hash, now) {
            (hash, _) if hash == self.before => Vec::new(),
            (Some(hash), _) if hash == self.after => all().collect(),
            // Made, and then removed: whoever removed it has seen it.
            (None, _) => Vec::new(),
            (_, Some(text)) => {
                let has = |(_, added): &&(u64, String)| text.contains(added.as_str());
                self.added.iter().filter(has).map(|(number, _)| *number).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// An event with its number; none, where it was damaged.
type Numbered = (u64, Option<Captured>);

/// Why events are not in their files yet.
type Failure = Box<dyn std::error::Error>;

/// One way through the queue: past what cannot be written, so that it keeps nothing else.
#[derive(Default)]
struct Pass {
    /// Where it goes on; none at its end.
    ahead: Option<u64>,
    /// Of what waits, what later events must not overtake.
    waits: HashSet<(&'static str, String)>,
    /// Why something waits.
    error: Option<String>,
}

impl Pass {
    /// What is called by the same name keeps its order.
    fn name(event: &Event) -> Option<(&'static str, String)> {
        let name = match event {
            Event::Message(message) => &message.session,
            Event::Note(note) => &note.title,
            Event::Bookmark(bookmark) => &bookmark.url,
            _ => return None,
        };
        Some((event.folder(), name.clone()))
    }
}

/// What the thread works with.
pub(super) struct CaptureWriter {
    pub(super) events: EventReader,
    pub(super) queue: Arc<Queue>,
    pub(super) pages: Pages,
}

impl CaptureWriter {
    /// Runs until the queue is closed.
    pub(super) fn run(mut self) {
        let (mut ending, mut retained): (Option<Instant>, Option<Instant>) = (None, None);
        let (mut pass, mut failing) = (Pass::default(), false);
        loop {
            if failing {
                self.queue.pause(AGAIN);
            }
            if self.queue.progress().pending() == 0 {
                // What could not be written may have been switched off.
                (failing, pass) = (false, Pass::default());
                self.queue.set_failure(None);
            }
            if ending.is_none()
                && retained.is_none_or(|at| at.elapsed() >= RETENTION_INTERVAL)
                && Identity::of_vault(&self.queue.root).is_some()
            {
                retained = Some(Instant::now());
                retain(&self.queue.root, &self.queue.files, &self.queue.switches.retention());
            }
            let waiting = self.queue.wait();
            if waiting.closing {
                ending.get_or_insert_with(Instant::now);
            }
            let idle = waiting.pending() == 0;
            if ending.is_some_and(|since| idle || failing || since.elapsed() > SHUTDOWN_TIMEOUT) {
                break;
            }
            if idle {
                continue;
            }
            if !failing && ending.is_none() && pass.ahead.is_none() && waiting.pending() < BATCH_EVENTS as u64 {
                self.queue.pause(GATHER);
            }
            if let Err(error) = self.step(&mut pass, waiting.extent) {
                (pass.ahead, pass.error) = (None, Some(error.to_string()));
            }
            self.queue.set_failure(pass.error.clone());
            let more = pass.ahead.is_some();
            failing = !more && pass.error.is_some();
            if !more {
                pass = Pass::default();
            }
        }
    }

    /// Brings a batch into its files.
    fn step(&mut self, pass: &mut Pass, waiting: Extent) -> Result<(), Failure> {
        if Identity::of_vault(&self.queue.root).is_none() {
            return Err(AWAY.into());
        }
        let recorded = self.recorded()?;
        let (mut done, mut unsettled) = self.settle(&recorded, pass);
        let doubtful: HashSet<u64> = unsettled.iter().flat_map(|planned| &planned.added).map(|(at, _)| *at).collect();
        let (from, durable) = (pass.ahead.unwrap_or(waiting.first), waiting.next);
        let (batch, end) = self.read(&done, from, durable)?;
        let import = batch.iter().find_map(|(_, captured)| captured.as_ref()).and_then(|captured| captured.import);
        let Queue { root, switches, files, forgotten, imports, .. } = &*self.queue;
        let mut drafts = Drafts::new(files, root, import.map(|import| (import, imports)));
        let config = switches.capture();
        let mut dropped = false;
        // Until the files are written: what is forgotten meanwhile is looked for in them.
        let asked = forgotten.ask()?;
        for (number, captured) in &batch {
            let Some(captured) = captured.as_ref().filter(|captured| takes(&config, captured.event.folder())) else {
                // Switched off since it was sent.
                done.insert(*number);
                dropped |= captured.is_some();
                continue;
            };
            let name = Pass::name(&captured.event);
            let waits = name.as_ref().is_some_and(|name| pass.waits.contains(name));
            if waits || doubtful.contains(number) {
                pass.waits.extend(name);
                continue;
            }
            let kept = without_forgotten(&asked, captured);
            if let Some(kept) = &kept {
                let into = captured.event.folder();
                forgotten.note(&captured.by(), into, kept.captured.is_none(), kept.tombstone);
                if kept.captured.is_none() {
                    done.insert(*number);
                    dropped = true;
                    continue;
                }
            }
            let captured = kept.as_ref().and_then(|kept| kept.captured.as_ref()).unwrap_or(captured);
            if let Err(error) = self.pages.put(&mut drafts, *number, captured) {
                pass.waits.extend(name);
                pass.error.get_or_insert(error.to_string());
            }
        }
        for planned in &mut unsettled {
            planned.added.retain(|(number, _)| !done.contains(number));
        }
        unsettled.retain(|planned| !planned.added.is_empty());
        let mut plan = drafts.plan();
        let is_planned = !plan.is_empty();
        plan.extend(unsettled.iter().cloned());
        if is_planned {
            self.record(&plan, &done)?;
            crash::point("capture-planned");
            let written = drafts.write(&mut self.pages);
            drop(asked);
            crash::point("capture-written");
            done.extend(written.numbers);
            plan = written.unsure.into_iter().chain(unsettled).collect();
            if let Some(error) = written.failure {
                pass.error.get_or_insert(error.to_string());
            }
        }
        let left = batch.iter().filter(|(number, _)| !done.contains(number));
        let left = left.filter_map(|(_, captured)| Pass::name(&captured.as_ref()?.event));
        pass.waits.extend(left);
        pass.ahead = Some(end).filter(|end| pass.error.is_some() && *end > from && *end < durable);
        if is_planned || !recorded.is_empty() || !done.is_empty() {
            self.record(&plan, &done)?;
        }
        crash::point("capture-applied");
        if dropped {
            // It is tried again.
            let _ = self.queue.sweep(false);
        }
        Ok(())
    }

    /// Makes safe on disk what is about to be written, and which events are in their files.
    fn record(&self, plan: &[Planned], done: &BTreeSet<u64>) -> Result<(), Failure> {
        let plan = if plan.is_empty() { String::new() } else { serde_json::to_string(plan)? };
        self.queue.record(plan, done.iter().copied().collect())?;
        Ok(self.events.sync()?)
    }

    /// What was about to be written, as it was recorded last; nothing where that cannot be read.
    fn recorded(&self) -> Result<Vec<Planned>, Failure> {
        let Some(plan) = self.events.plan()? else { return Ok(Vec::new()) };
        Ok(serde_json::from_str(&plan).unwrap_or_else(|error| {
            tracing::warn!("what was being written is not known: {error}; events may be written twice");
            Vec::new()
        }))
    }

    /// Finds out what became of the files that were about to be written: gives the events that are in them, and those of which it cannot be
    /// known yet.
    fn settle(&self, recorded: &[Planned], pass: &mut Pass) -> (BTreeSet<u64>, Vec<Planned>) {
        let (mut done, mut unsettled) = (BTreeSet::new(), Vec::new());
        for planned in recorded {
            match self.queue.files.read(&planned.path) {
                Ok(now) => {
                    let text = now.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned());
                    done.extend(planned.applied(text.as_deref()));
                }
                Err(error) => {
                    unsettled.push(planned.clone());
                    pass.error.get_or_insert(error.to_string());
                }
            }
        }
        (done, unsettled)
    }

    /// The next events from a number on that are not in their files, and the number after the last.
    fn read(&self, done: &BTreeSet<u64>, from: u64, durable: u64) -> Result<(Vec<Numbered>, u64), Failure> {
        let events = self.events.read(from, durable, BATCH_EVENTS, BATCH_BYTES)?;
        let end = events.last().map_or(durable, |(number, _)| number + 1);
        let waiting = events.into_iter().filter(|(number, _)| !done.contains(number));
        let numbered = waiting.map(|(number, body)| {
            let captured = body.and_then(|body| serde_json::from_str(&body).ok());
            if captured.is_none() {
                tracing::warn!("a captured event could not be read again, and is dropped");
            }
            (number, captured)
        });
        let mut numbered: Vec<Numbered> = numbered.collect();
        // A batch is of one import or of none, so that it can be undone by itself.
        let import = |(_, captured): &Numbered| captured.as_ref().map(|captured: &Captured| captured.import);
        let first = numbered.iter().find_map(import);
        let other = numbered.iter().position(|event| import(event).is_some_and(|other| Some(other) != first));
        let end = other.map_or(end, |at| numbered[at].0);
        numbered.truncate(other.unwrap_or(numbered.len()));
        Ok((numbered, end))
    }
}

/// Moves what is older than `[retention]` says to the trash. What cannot be moved is said in the log, and tried again a day later.
fn retain(root: &Path, files: &Files, config: &RetentionConfig) {
    for (folder, days) in config.days.iter().filter(|(_, days)| **days > 0) {
        let age = SignedDuration::from_hours(24 * i64::try_from(*days).unwrap_or(0));
        let Ok(before) = Timestamp::now().checked_sub(age) else { continue };
        for entry in std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(path) = name.to_str().and_then(|name| VaultPath::new(format!("{folder}/{name}")).ok()) else {
                continue;
            };
            let Ok(Some((bytes, hash))) = files.read(&path) else { continue };
            let Some(text) = std::str::from_utf8(&bytes).ok().filter(|text| is_captured(text)) else { continue };
            let note = head(text);
            let captured = note.updated.max(note.created);
            // It may have gone on since it began, or somebody has edited it.
            let modified = entry.metadata().ok().and_then(|meta| Timestamp::try_from(meta.modified().ok()?).ok());
            let is_old = captured.zip(modified).is_some_and(|(captured, modified)| captured.max(modified) < before);
            if is_old && let Err(error) = files.trash(&path, hash, Action::Trash.done_by("retention")) {
                tracing::warn!("`{path}` is older than {days} days and stays: {error}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::SystemTime;

    use super::*;
    use crate::vault::disk::Outside;

    #[test]
    fn what_is_in_a_file_is_known_after_a_kill() {
        let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
        let planned = Planned {
            path: VaultPath::new("a.md").unwrap(),
            before: Some(hash("one\n")),
            after: hash("one\ntwo\nthree\n"),
            added: vec![(7, "two".into()), (8, "three".into())],
        };
        let applied = |now| planned.applied(now);
        assert_eq!(applied(Some("one\n")), [0; 0]);
        assert_eq!(applied(Some("one\ntwo\nthree\n")), [7, 8]);
        assert_eq!(applied(Some("one, edited\ntwo\nthree\n")), [7, 8]);
        assert_eq!(applied(Some("one, edited\n")), [0; 0]);
        assert_eq!(applied(None), [0; 0]);
        let made = Planned { before: None, ..planned.clone() };
        assert_eq!(made.applied(None), [0; 0]);
    }

    #[test]
    fn old_captured_files_go_to_the_trash_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let files = Files::new(root.to_owned(), &root.join(".vault/state"), Outside::default());
        let write = |path: &str, text: &str| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        };
        let old = "---\ntitle: x\ncreated: 2020-01-05T10:00:00+01:00\nsource: capture\n---\n\n- 10:00 · x\n";
        let new = old.replace("2020-01-05T10:00:00+01:00", &Timestamp::now().to_string());
        write("searches/2020-01-05.md", old);
        write("searches/new.md", &new);
        write("searches/mine.md", &old.replace("source: capture", "source: me"));
        write("searches/plain.md", "# 2020\n");
        write("files/2020-01-05.md", old);
        write("searches/2020-01-06.md", old);
        write("conversations/2020-01-05-x.md", old);
        let long_ago = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
        let age = |path: &str| {
            fs::File::options().write(true).open(root.join(path)).unwrap().set_modified(long_ago).unwrap();
        };
        for path in ["2020-01-05.md", "new.md", "mine.md", "plain.md"] {
            age(&format!("searches/{path}"));
        }
        age("files/2020-01-05.md");
        let days = ["searches", "conversations"].map(|folder| (folder.to_owned(), 90));
        let config = RetentionConfig { days: days.into() };
        retain(root, &files, &config);
        assert!(root.join(".trash/searches/2020-01-05.md").exists() && !root.join("searches/2020-01-05.md").exists());
        let kept = ["searches/new.md", "searches/mine.md", "searches/plain.md", "files/2020-01-05.md"];
        // What was edited or went on of late stays, too.
        let lately = ["searches/2020-01-06.md", "conversations/2020-01-05-x.md"];
        for kept in kept.into_iter().chain(lately) {
            assert!(root.join(kept).exists(), "{kept}");
        }
        lately.into_iter().for_each(age);
        retain(root, &files, &config);
        assert!(lately.iter().all(|path| !root.join(path).exists()));
    }
}
