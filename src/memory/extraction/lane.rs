//! The work, one job at a time: conversations that wait to be read, and traces of agents.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::ask::ExtractionAsker;
use super::keep::{Proposals, found_in, keep_summary, propose, trust_of};
use super::librarian::LIBRARIAN;
use crate::access::request::Workspace;
use crate::access::rules::Scope;
use crate::base::clock::Clock;
use crate::base::fs::{FsError, crash};
use crate::base::path::VaultPath;
use crate::base::redact::redact;
use crate::base::state::{
    CallAllowance, Digest, Job, JobTable, MOST_DELAY_MS, ModelCallTable, StateError, cut, digest_of,
};
use crate::base::tasks::{Task, TaskSignal};
use crate::index::engine::{FileEntry, Reader};
use crate::index::search::Visible;
use crate::models::{ChatModel, ModelTrouble, open_memory_chat};
use crate::text::derive::CONVERSATIONS;
use crate::text::derive::extraction::{
    CheckedAnswer, EXTRACTION_PROPERTY, SpokenTurn, extraction_prompt, read_turns, turns_digest,
};
use crate::text::derive::generated::is_generated;
use crate::text::note::Note;
use crate::vault::disk::{ReadError, Source};

/// Quiet period without a search before a model is asked.
const QUIET_PERIOD: Duration = Duration::from_secs(2);
/// Interval at which it looks for work where nothing says when there is some.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Delay until it is checked again whether the index is open and has all that was there at the start.
const INDEX_DELAY: Duration = Duration::from_millis(200);
/// Delay until a file that has just changed is read again.
pub(super) const SETTLE_DELAY: Duration = Duration::from_secs(2);
/// Why a conversation waits that would cost more than is left of the day.
pub(super) const DAY_USED_UP: &str = "the limit of calls or tokens in 24 hours is reached";

/// The model of the memory, or why it cannot be asked; `None` where none is named.
pub(super) type MemoryModel = Option<Result<Arc<dyn ChatModel>, String>>;

/// How the work is.
#[derive(Clone, Default)]
pub(super) struct LaneState {
    /// The model, or why it cannot be asked.
    pub(super) model: MemoryModel,
    /// Whether something is being worked on.
    pub(super) works: bool,
    /// Why nothing is done, though something waits.
    pub(super) waits: Option<String>,
    /// Why nothing is done until somebody changes something.
    pub(super) stopped: Option<String>,
    /// Private conversations that are not sent.
    pub(super) withheld: usize,
    /// When the traces were looked at last, in milliseconds since 1970.
    pub(super) looked_at_traces: Option<i64>,
    /// Whether what waits is to be done at once, and whether that was just said.
    pub(super) hurries: bool,
    was_hurried: bool,
    /// Whether what waits is looked for anew, though the index is as it was.
    looks_again: bool,
}

/// What a chat model finds in the conversations of a vault.
pub(crate) struct Extraction {
    pub(super) workspace: Arc<Workspace>,
    pub(super) jobs: JobTable,
    pub(super) calls: ModelCallTable,
    state: Mutex<LaneState>,
    /// One at a time.
    known: Mutex<KnownSessions>,
    /// Of the task, where there is one.
    pub(super) signal: TaskSignal,
    clock: Clock,
}

impl Extraction {
    /// Of a vault. Nothing is asked yet.
    pub(crate) fn new(workspace: Arc<Workspace>, clock: Clock) -> Self {
        let (jobs, calls) = (JobTable::new(&workspace.state), ModelCallTable::new(&workspace.state));
        let state = Mutex::new(LaneState { model: open(&workspace), ..LaneState::default() });
        Self { workspace, jobs, calls, state, known: Mutex::default(), signal: TaskSignal::default(), clock }
    }

    /// Says what is not known of what was under way when somebody was killed, before anything else is done.
    pub(crate) fn begin(&self) {
        if let Err(error) = self.calls.cut_off() {
            tracing::warn!("conversations are not read: {error}");
        }
    }

    /// The model.
    pub(super) fn model(&self) -> MemoryModel {
        self.state_mut().model.clone()
    }

    /// Opens the model anew, as one that has refused is asked nothing more.
    pub(super) fn open_again(&self) {
        let model = open(&self.workspace);
        let mut state = self.state_mut();
        (state.model, state.stopped) = (model, None);
    }

    /// Whether this process may write.
    pub(super) fn is_ours(&self) -> bool {
        self.workspace.lock.is_held()
    }

    /// How the work is.
    pub(super) fn state_mut(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has all that waits done at once, whoever searches.
    pub(super) fn hurry(&self) {
        self.state_mut().was_hurried = true;
        self.go_on();
        self.signal.wake();
    }

    /// Whoever waits for it goes on with what is due, whoever searches.
    pub(super) fn go_on(&self) {
        self.state_mut().hurries = true;
    }

    /// Looks anew for what waits, whatever was seen.
    pub(super) fn look_again(&self) {
        self.state_mut().looks_again = true;
    }

    /// Ends a call that is under way, for good.
    pub(crate) fn stop(&self) {
        if let Some(Ok(model)) = self.model() {
            model.stop();
        }
    }

    pub(super) fn now(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    /// Does one job, if one is due and nothing is in the way; gives how long to rest then, at most: `None` where the next may be done at once.
    pub(crate) fn step(&self) -> Option<Duration> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state_mut();
        // One that panicked did not say that it was done.
        state.works = false;
        let hurries = state.hurries;
        drop(state);
        let stepped = self.try_step(&mut known, hurries).unwrap_or_else(|error| {
            tracing::warn!("conversations are not read: {error}");
            self.waits_for(error.to_string(), CHECK_INTERVAL)
        });
        let mut state = self.state_mut();
        state.hurries &= stepped.is_none() || state.was_hurried;
        stepped
    }

    fn try_step(&self, known: &mut KnownSessions, hurries: bool) -> Result<Option<Duration>, StateError> {
        let progress = self.workspace.shared.progress();
        let Some(reader) = self.workspace.shared.snapshot().filter(|_| progress.caught_up) else {
            return Ok(Some(INDEX_DELAY));
        };
        let was_hurried = std::mem::take(&mut self.state_mut().was_hurried);
        let model = match self.model() {
            None => return Ok(Some(CHECK_INTERVAL)),
            Some(Err(reason)) => {
                self.state_mut().stopped = Some(reason);
                return Ok(Some(CHECK_INTERVAL));
            }
            Some(Ok(model)) => model,
        };
        if self.state_mut().stopped.is_some() || !self.is_ours() {
            return Ok(Some(CHECK_INTERVAL));
        }
        let now = self.now();
        let debounce = if hurries { 0 } else { self.workspace.config.memory.summary_debounce_seconds as i64 * 1_000 };
        if std::mem::take(&mut self.state_mut().looks_again) || was_hurried {
            known.seen = None;
        }
        self.look(known, &reader, model.takes_private(), (now, debounce))?;
        if was_hurried {
            self.jobs.hurry(EXTRACTION, now)?;
        }
        // Conversations go first.
        let rest = match self.next_job(EXTRACTION, &model, hurries)? {
            Ok(job) => {
                crash::point("extraction-claimed");
                return self.worked(|| self.work(known, &model, &job));
            }
            Err((waits, time)) => {
                self.state_mut().waits = waits;
                time
            }
        };
        if !model.takes_private() || !self.look_at_traces(hurries, debounce, now)? {
            return Ok(Some(rest));
        }
        match self.next_job(LIBRARIAN, &model, hurries)? {
            Ok(job) => {
                crash::point("librarian-claimed");
                self.worked(|| self.read_part(&model, &job))
            }
            Err((_, time)) => Ok(Some(rest.min(time))),
        }
    }

    /// Queues what has changed since it was done and was quiet for `debounce` milliseconds, and forgets what is not there any more. Does nothing
    /// where the index is as it was.
    fn look(
        &self,
        known: &mut KnownSessions,
        reader: &Arc<dyn Reader>,
        takes_private: bool,
        when: (i64, i64),
    ) -> Result<(), StateError> {
        if known.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, reader)) {
            return Ok(());
        }
        let done = self.jobs.done(EXTRACTION)?;
        let open = (!takes_private).then(|| Visible::of(&Scope::Public, reader.files()));
        let is_one = |file: &&Arc<FileEntry>| file.path.collection() == CONVERSATIONS && !file.path.is_document();
        known.paths.clear();
        let (mut changed, mut withheld) = (Vec::new(), 0);
        for file in reader.files().iter().filter(is_one) {
            let (key, content) = (key_of(&file.path), cut(&file.hash.into()));
            known.paths.insert(key, file.path.clone());
            if open.as_ref().is_some_and(|open| !open.has(file)) {
                withheld += 1;
            } else if done.get(&key) != Some(&content) {
                changed.push((key, content, file.stamp.mtime_ns / 1_000_000));
            }
        }
        self.state_mut().withheld = withheld;
        self.queue_only(EXTRACTION, &changed, when)?;
        let keys: HashSet<Digest> = known.paths.keys().copied().collect();
        for kind in [EXTRACTION, TURNS] {
            self.jobs.keep_only(kind, &keys)?;
        }
        known.seen = Some(Arc::clone(reader));
        Ok(())
    }

    /// Queues what has changed, each with its content and when it did so, to be read `now` or once it was quiet for `debounce` milliseconds. What
    /// else waits is gone, is done by now, or may not be read any more, and goes.
    pub(super) fn queue_only(
        &self,
        kind: &str,
        changed: &[(Digest, Digest, i64)],
        (now, debounce): (i64, i64),
    ) -> Result<(), StateError> {
        let jobs = self.jobs.all(kind)?;
        let queued: HashMap<Digest, Digest> = jobs.iter().map(|job| (job.key, job.content)).collect();
        for (key, content, mtime_ms) in changed.iter().filter(|(key, content, _)| queued.get(key) != Some(content)) {
            // What another clock has dated ahead is quiet from now on.
            self.jobs.queue(kind, *key, *content, (*mtime_ms).min(now).saturating_add(debounce), now)?;
        }
        let keys: HashSet<Digest> = changed.iter().map(|(key, ..)| *key).collect();
        let mut others = jobs.iter().filter(|job| !keys.contains(&job.key));
        others.try_for_each(|job| self.jobs.remove(kind, job.key))
    }

    fn worked(
        &self,
        work: impl FnOnce() -> Result<Option<Duration>, StateError>,
    ) -> Result<Option<Duration>, StateError> {
        self.state_mut().works = true;
        let done = work();
        self.state_mut().works = false;
        done
    }

    /// Takes the next job of a kind that may be done now; else gives why none is, where that is to be said, and how long to rest.
    pub(super) fn next_job(
        &self,
        kind: &str,
        model: &Arc<dyn ChatModel>,
        hurries: bool,
    ) -> Result<Result<Job, (Option<String>, Duration)>, StateError> {
        let now = self.now();
        let Some((due, reason)) = next_due(&self.jobs, kind, now)? else { return Ok(Err((None, CHECK_INTERVAL))) };
        if due > now {
            let left = Duration::from_millis((due - now) as u64).min(CHECK_INTERVAL);
            return Ok(Err((reason.filter(|reason| reason == DAY_USED_UP), left)));
        }
        let shared = &self.workspace.shared;
        if !hurries && (!shared.progress().is_complete() || shared.was_searched_within(QUIET_PERIOD)) {
            return Ok(Err((Some("another task is running".into()), QUIET_PERIOD)));
        }
        if let Some(left) = model.rests() {
            let reason = match model.trouble() {
                Some(ModelTrouble::Passing(reason) | ModelTrouble::Refused(reason)) => reason,
                None => "it failed several times in a row".into(),
            };
            return Ok(Err((Some(reason), left)));
        }
        match self.jobs.claim(kind, now)? {
            Some(job) => Ok(Ok(job)),
            // Those that were due were put aside.
            None => self.next_job(kind, model, hurries),
        }
    }

    pub(super) fn waits_for(&self, reason: String, time: Duration) -> Option<Duration> {
        self.state_mut().waits = Some(reason);
        Some(time)
    }

    /// Reads a conversation, asks about it, writes what is found, and marks it as done.
    fn work(
        &self,
        known: &KnownSessions,
        model: &Arc<dyn ChatModel>,
        job: &Job,
    ) -> Result<Option<Duration>, StateError> {
        let Some(path) = known.paths.get(&job.key).cloned() else {
            self.jobs.remove(EXTRACTION, job.key)?;
            self.look_again();
            return Ok(None);
        };
        let source = match self.source(&path) {
            Ok(source) if cut(&source.hash) == job.content => source,
            // Once the index knows, its job goes; until then it is tried again, and not at once.
            Err(ReadError::Gone | ReadError::Unfit(_)) => {
                self.fails(EXTRACTION, job, "its file cannot be read", Some(SETTLE_DELAY))?;
                return Ok(None);
            }
            Ok(_) | Err(ReadError::Changing) => return self.has_changed(EXTRACTION, job),
        };
        let note = Note::parse(&source.text, path.stem());
        if note.is_private() && !model.takes_private() {
            return self.is_private_by_now(job);
        }
        let is_left_out = is_generated(&note.metadata) || note.metadata.get(EXTRACTION_PROPERTY) == Some(&false.into());
        let turns = if is_left_out { Vec::new() } else { self.turns(&source.text) };
        let digest = turns_digest(&turns);
        let done = self.jobs.done(TURNS)?;
        // A copy of a conversation that was read says nothing new, and does not say it a second time.
        let is_copied =
            || done.iter().any(|(key, turns)| *key != job.key && *turns == digest && known.paths.contains_key(key));
        if turns.is_empty() || done.get(&job.key) == Some(&digest) || is_copied() {
            self.jobs.finish(EXTRACTION, job.key, job.content, self.now())?;
            return Ok(None);
        }
        let date = note.created.map(|created| created.to_zoned(jiff::tz::TimeZone::system()).date().to_string());
        // The lines count, too: they are what is cited.
        let is_current = || {
            let now = self.workspace.source(&path);
            now.is_ok_and(|now| now.hash == source.hash || self.turns(&now.text) == turns)
        };
        let proposals = |found: &CheckedAnswer| found_in((&path, trust_of(&note)), &found.entries);
        let found = match self.find(EXTRACTION, model, job, (&turns, date.as_deref()), &is_current, &proposals)? {
            Ok(found) => found,
            Err(rest) => return Ok(rest),
        };
        let written = keep_summary(&self.workspace, (&path, &source), model.name(), &found.summary);
        crash::point("extraction-summarised");
        if let Err(error) = written {
            self.fails(EXTRACTION, job, &error.message, None)?;
            return Ok(None);
        }
        self.jobs.finish(TURNS, job.key, digest, self.now())?;
        crash::point("extraction-turns-marked");
        self.jobs.finish(EXTRACTION, job.key, job.content, self.now())?;
        crash::point("extraction-marked");
        self.state_mut().waits = None;
        // It answers: what was put aside while it did not gets its turn.
        self.jobs.revive(EXTRACTION, self.now())?;
        Ok(None)
    }

    /// Asks about turns of a day, as long as what they are of `is_current`, and proposes what is found. Where that is not to be had it is said what
    /// is done next: what becomes of the job is settled.
    pub(super) fn find(
        &self,
        kind: &'static str,
        model: &Arc<dyn ChatModel>,
        job: &Job,
        (turns, date): (&[SpokenTurn], Option<&str>),
        is_current: &dyn Fn() -> bool,
        proposals: &dyn Fn(&CheckedAnswer) -> Proposals,
    ) -> Result<Result<CheckedAnswer, Option<Duration>>, StateError> {
        let memory = &self.workspace.config.memory;
        let asker = ExtractionAsker {
            kind,
            model,
            calls: &self.calls,
            allowance: CallAllowance { calls: memory.calls_per_day, tokens: memory.tokens_per_day },
            timeout: Duration::from_millis(memory.timeout_ms),
            now: Box::new(|| self.now()),
            is_current,
        };
        let found = match asker.ask(&extraction_prompt(turns, date), date) {
            Ok(found) => found,
            Err(skipped) => return self.skipped(kind, job, skipped).map(Err),
        };
        let is_librarian = kind == LIBRARIAN;
        if is_librarian {
            crash::point("librarian-answered");
        }
        let written = propose(&self.workspace, proposals(&found), is_current);
        match is_librarian {
            true => crash::point("librarian-proposed"),
            false => crash::point("extraction-proposed"),
        }
        match written {
            Ok(true) => Ok(Ok(found)),
            Ok(false) => self.has_changed(kind, job).map(Err),
            Err(error) => self.fails(kind, job, &error.message, None).map(|()| Err(None)),
        }
    }

    /// The turns that are sent: without secrets, as captured ones are.
    pub(super) fn turns(&self, text: &str) -> Vec<SpokenTurn> {
        let mut turns = read_turns(text, &self.names());
        if self.workspace.redacts() {
            for line in turns.iter_mut().flat_map(|turn| &mut turn.lines) {
                line.text = redact(&line.text).into_owned();
            }
        }
        turns
    }

    /// What a file of the vault says; a model reads none of a folder elsewhere.
    fn source(&self, path: &VaultPath) -> Result<Source, ReadError> {
        let is_elsewhere = !self.workspace.on_disk(path).starts_with(self.workspace.home.root());
        if is_elsewhere { Err(ReadError::Gone) } else { self.workspace.source(path) }
    }

    /// How the person is called, as `USER.md` says.
    fn names(&self) -> Vec<String> {
        let Ok(path) = VaultPath::new("USER.md") else { return Vec::new() };
        let user = self.workspace.source(&path).ok();
        let name = user.and_then(|user| Note::parse(&user.text, "").metadata.get("name")?.as_str().map(str::to_owned));
        let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        // By the first name alone, too.
        let first = name.iter().flat_map(|name| name.split_whitespace().next()).map(str::to_owned);
        first.chain(name.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

fn open(workspace: &Workspace) -> MemoryModel {
    let config = &workspace.config;
    open_memory_chat(&config.memory, &config.chat).map(|opened| opened.map_err(|error| error.to_string()))
}

/// The jobs of this room.
pub(super) const EXTRACTION: &str = "extraction";
/// And what their turns were, whatever else of the file has changed.
pub(super) const TURNS: &str = "extraction turns";

/// What is known of the conversations of a vault.
#[derive(Default)]
pub(super) struct KnownSessions {
    /// The state of the index that was looked at.
    seen: Option<Arc<dyn Reader>>,
    /// Where each is.
    paths: HashMap<Digest, VaultPath>,
}

/// The name of a conversation in the tables.
pub(super) fn key_of(path: &VaultPath) -> Digest {
    digest_of(path.as_str().as_bytes())
}

/// When the next job may be done, in milliseconds since 1970, and why it was put off. One that a clock far ahead has put off is due.
fn next_due(jobs: &JobTable, kind: &str, now: i64) -> Result<Option<(i64, Option<String>)>, StateError> {
    let queued = jobs.all(kind)?.into_iter().filter(|job| !job.is_dead);
    let due = |job: Job| (if job.due > now.saturating_add(MOST_DELAY_MS) { now } else { job.due }, job.reason);
    Ok(queued.map(due).min_by_key(|(due, _)| *due))
}

/// Starts the task.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn extract(extraction: &Arc<Extraction>) -> Result<Task, FsError> {
    let (works, stops) = (Arc::clone(extraction), Arc::clone(extraction));
    extraction.workspace.shared.wakes(&extraction.signal);
    extraction.begin();
    // A job on which it panics was claimed, and is put aside in the end.
    let task = Task::start("extraction", extraction.signal.clone(), move |_, _| Some(works.step().unwrap_or_default()));
    Ok(task?.at_stop(move || stops.stop()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::state::State;

    #[test]
    fn what_a_clock_ahead_has_put_off_is_not_waited_for() {
        const YEAR_MS: i64 = 365 * MOST_DELAY_MS;
        let folder = tempfile::tempdir().unwrap();
        let jobs = JobTable::new(&State::in_folder(folder.path()));
        jobs.queue(EXTRACTION, [1; 16], [7; 16], 10 * YEAR_MS, 10 * YEAR_MS).unwrap();
        assert_eq!(next_due(&jobs, EXTRACTION, YEAR_MS).unwrap().map(|(due, _)| due), Some(YEAR_MS));
        assert!(jobs.claim(EXTRACTION, YEAR_MS).unwrap().is_some());
        jobs.put_off(EXTRACTION, [1; 16], YEAR_MS + 5_000, false, "later").unwrap();
        assert_eq!(next_due(&jobs, EXTRACTION, YEAR_MS).unwrap(), Some((YEAR_MS + 5_000, Some("later".into()))));
    }
}
