//! The thread that brings events from the queue into their files, each once.
//!
//! A batch goes so: what is about to be written is made safe on disk (the plan: files, their hashes before and after, the
//! texts), the files are written, and then that they are. After a kill the plan and the files tell what was done.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::drafts::Drafts;
use super::event::{Captured, Event, EventKind, takes};
use super::pages::{Pages, head, is_captured};
use super::private::without_forgotten;
use super::queue::{Queue, QueueView, Refused};
use crate::base::config::{RetentionConfig, Switches};
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::base::state::{EventReader, ImportTable, StateError};
use crate::vault::disk::{Action, Files, Identity, WriteError};
use crate::vault::forgotten::ForgottenTexts;

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

/// How far the queue has got into the files.
#[derive(Debug, Default)]
struct Progress {
    /// Events that are in their files, and of which the queue does not know yet.
    finished: BTreeSet<u64>,
    /// What is about to be written.
    plan: Vec<Planned>,
    /// Whether the queue knows of something that is about to be written.
    recorded: bool,
}

impl Progress {
    /// What was recorded last; no plan, where that cannot be read.
    fn load(events: &EventReader) -> Result<Self, StateError> {
        let plan = events.plan()?;
        let read = plan.as_deref().filter(|plan| !plan.is_empty()).map(serde_json::from_str).transpose();
        let read = read.unwrap_or_else(|error| {
            tracing::warn!("what was being written is not known: {error}; events may be written twice");
            None
        });
        Ok(Self { plan: read.unwrap_or_default(), recorded: plan.is_some(), finished: BTreeSet::new() })
    }
}

/// An event with its number; none, where it was damaged.
type Numbered = (u64, Option<Captured>);

/// Why events are not in their files yet.
#[derive(Debug, thiserror::Error)]
enum WriterError {
    #[error("the vault's folder does not exist")]
    Away,
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Queue(#[from] Refused),
    #[error("the planned change cannot be encoded: {0}")]
    Plan(#[from] serde_json::Error),
}

/// One way through the queue: past what cannot be written, so that it keeps nothing else.
#[derive(Default)]
struct Pass {
    /// Where it goes on; none at its end.
    ahead: Option<u64>,
    /// Of what waits, what later events must not overtake.
    waits: HashSet<(EventKind, String)>,
    /// Why something waits.
    error: Option<WriterError>,
}

impl Pass {
    /// What is called by the same name keeps its order.
    fn name(event: &Event) -> Option<(EventKind, String)> {
        let name = match event {
            Event::Message(message) => &message.session,
            Event::Note(note) => &note.title,
            Event::Bookmark(bookmark) => &bookmark.url,
            _ => return None,
        };
        Some((event.kind(), name.clone()))
    }
}

/// What the thread works with.
pub(super) struct CaptureWriter {
    pub(super) root: PathBuf,
    pub(super) events: EventReader,
    pub(super) files: Arc<Files>,
    pub(super) switches: Arc<Switches>,
    pub(super) queue: Arc<Queue>,
    pub(super) pages: Pages,
    pub(super) forgotten: Arc<ForgottenTexts>,
    pub(super) imports: Arc<ImportTable>,
    /// Why it does not get on, for the status.
    pub(super) failure: Arc<Mutex<Option<String>>>,
}

impl CaptureWriter {
    /// Runs until the queue is closed.
    pub(super) fn run(mut self) {
        let mut progress = Progress::default();
        let (mut known, mut last): (Option<QueueView>, Option<Instant>) = (None, None);
        let mut retained: Option<Instant> = None;
        let (mut failing, mut opened) = (false, 0);
        let mut pass = Pass::default();
        loop {
            if failing {
                self.queue.pause(AGAIN);
            }
            // At the end nothing new is waited for.
            let patience = if last.is_some() { Duration::ZERO } else { RETENTION_INTERVAL };
            let waiting = self.queue.wait(known.filter(|_| !failing), patience);
            if waiting.closing {
                last.get_or_insert_with(Instant::now);
            }
            known = Some(waiting);
            let idle = self.queue.applied() >= waiting.durable;
            if last.is_some_and(|last| idle || failing || last.elapsed() > SHUTDOWN_TIMEOUT) {
                break;
            }
            if retained.is_none_or(|at| at.elapsed() >= RETENTION_INTERVAL) && Identity::of_vault(&self.root).is_some()
            {
                retained = Some(Instant::now());
                retain(&self.root, &self.files, &self.switches.retention());
            }
            if idle {
                // What could not be written may have been switched off.
                (failing, pass) = (false, Pass::default());
                self.say(None);
                continue;
            }
            let is_more_than_a_batch = waiting.durable.saturating_sub(self.queue.applied()) >= BATCH_EVENTS as u64;
            if !failing && last.is_none() && pass.ahead.is_none() && !is_more_than_a_batch {
                self.queue.pause(GATHER);
            }
            if opened != waiting.opened {
                match Progress::load(&self.events) {
                    Ok(loaded) => (opened, progress, pass) = (waiting.opened, loaded, Pass::default()),
                    Err(error) => {
                        failing = true;
                        self.say(Some(&error.into()));
                        continue;
                    }
                }
            }
            if let Err(error) = self.step(&mut progress, &mut pass, waiting.durable) {
                pass.ahead = None;
                pass.error = Some(error);
            }
            self.say(pass.error.as_ref());
            let more = pass.ahead.is_some();
            failing = !more && pass.error.is_some();
            if !failing {
                // There may be more than a batch.
                known = known.filter(|_| !more && self.queue.applied() >= waiting.durable);
            }
            if !more {
                pass = Pass::default();
            }
        }
    }

    fn say(&self, error: Option<&WriterError>) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = error.map(|error| error.to_string());
        if let Some(reason) = reason.as_ref().filter(|reason| failure.as_ref() != Some(reason)) {
            tracing::warn!("captured events wait: {reason}");
        }
        *failure = reason;
    }

    /// Brings a batch into its files.
    fn step(&mut self, progress: &mut Progress, pass: &mut Pass, durable: u64) -> Result<(), WriterError> {
        if Identity::of_vault(&self.root).is_none() {
            return Err(WriterError::Away);
        }
        let mut unsettled = self.settle(progress, pass);
        let doubtful: HashSet<u64> = unsettled.iter().flat_map(|planned| &planned.added).map(|(at, _)| *at).collect();
        let from = pass.ahead.unwrap_or_else(|| self.queue.applied());
        let (batch, end) = self.read(progress, from, durable)?;
        let import = batch.iter().find_map(|(_, captured)| captured.as_ref()).and_then(|captured| captured.import);
        let mut drafts = Drafts::new(&self.files, &self.root, import.map(|import| (import, &*self.imports)));
        let config = self.switches.capture();
        let mut dropped = false;
        // Until the files are written: what is forgotten meanwhile is looked for in them.
        let asked = self.forgotten.ask()?;
        for (number, captured) in &batch {
            let Some(captured) = captured.as_ref().filter(|captured| takes(&config, captured.event.kind())) else {
                // Switched off since it was sent.
                progress.finished.insert(*number);
                dropped |= captured.is_some();
                continue;
            };
            let name = Pass::name(&captured.event);
            let waits = name.as_ref().is_some_and(|name| pass.waits.contains(name));
            if waits || doubtful.contains(number) {
                pass.waits.extend(name);
            } else {
                let kept = without_forgotten(&asked, captured);
                let captured = match &kept {
                    None => captured,
                    Some(kept) => {
                        let into = captured.event.kind().folder();
                        self.forgotten.note(&captured.by(), into, kept.captured.is_none(), kept.tombstone);
                        let Some(left) = &kept.captured else {
                            progress.finished.insert(*number);
                            dropped = true;
                            continue;
                        };
                        left
                    }
                };
                match self.pages.put(&mut drafts, *number, captured) {
                    Ok(()) => drafts.sent_by(*number, &captured.by()),
                    Err(error) => {
                        pass.waits.extend(name);
                        pass.error.get_or_insert(error.into());
                    }
                }
            }
        }
        for planned in &mut unsettled {
            planned.added.retain(|(number, _)| !progress.finished.contains(number));
        }
        unsettled.retain(|planned| !planned.added.is_empty());
        progress.plan = drafts.plan();
        let planned = !progress.plan.is_empty();
        progress.plan.extend(unsettled.iter().cloned());
        if planned {
            self.record(progress)?;
            crash::point("capture-planned");
            let written = drafts.write(&mut self.pages);
            drop(asked);
            crash::point("capture-written");
            progress.finished.extend(written.numbers);
            progress.plan = written.unsure.into_iter().chain(unsettled).collect();
            if let Some(error) = written.failure {
                pass.error.get_or_insert(error.into());
            }
        }
        let left = batch
            .iter()
            .filter(|(number, _)| !progress.finished.contains(number))
            .filter_map(|(_, captured)| captured.as_ref());
        pass.waits.extend(left.filter_map(|captured| Pass::name(&captured.event)));
        pass.ahead = Some(end).filter(|end| pass.error.is_some() && *end > from && *end < durable);
        self.record(progress)?;
        crash::point("capture-applied");
        if dropped {
            // It is tried again.
            let _ = self.queue.sweep(false);
        }
        Ok(())
    }

    /// Makes safe on disk what is about to be written, and which events are in their files, if that is more than the queue knows.
    fn record(&self, progress: &mut Progress) -> Result<(), WriterError> {
        if progress.finished.is_empty() && progress.plan.is_empty() && !progress.recorded {
            return Ok(());
        }
        let plan = match progress.plan.is_empty() {
            true => String::new(),
            false => serde_json::to_string(&progress.plan)?,
        };
        self.queue.record(plan, progress.finished.iter().copied().collect())?;
        self.events.sync()?;
        progress.finished.clear();
        progress.recorded = !progress.plan.is_empty();
        Ok(())
    }

    /// Finds out what became of the files that were about to be written; gives those of which it cannot be known yet.
    fn settle(&self, progress: &mut Progress, pass: &mut Pass) -> Vec<Planned> {
        let mut unsettled = Vec::new();
        for planned in std::mem::take(&mut progress.plan) {
            match self.files.read(&planned.path) {
                Ok(now) => {
                    let text = now.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned());
                    progress.finished.extend(planned.applied(text.as_deref()));
                }
                Err(error) => {
                    unsettled.push(planned);
                    pass.error.get_or_insert(error.into());
                }
            }
        }
        unsettled
    }

    /// The next events from a number on that are not in their files, and the number after the last.
    fn read(&self, progress: &Progress, from: u64, durable: u64) -> Result<(Vec<Numbered>, u64), WriterError> {
        let events = self.events.read(from, durable, BATCH_EVENTS, BATCH_BYTES)?;
        let end = events.last().map_or(durable, |event| event.number + 1);
        let waiting = events.into_iter().filter(|event| !progress.finished.contains(&event.number));
        let numbered = waiting.map(|event| {
            let captured = event.body.and_then(|body| serde_json::from_str(&body).ok());
            if captured.is_none() {
                tracing::warn!("a captured event could not be read again, and is dropped");
            }
            (event.number, captured)
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
