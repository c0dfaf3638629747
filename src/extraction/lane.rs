//! The work, one conversation at a time.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::ask::{ExtractionAsker, Unasked};
use super::keep::{found_in, propose, trust_of};
use super::librarian::LIBRARIAN;
use super::sessions::{EXTRACTION, KnownSessions, SessionLook, TURNS, cut, is_digest, next_due};
use super::summary::keep_summary;
use crate::clock::Clock;
use crate::derive::extraction::{EXTRACTION_PROPERTY, SpokenTurn, extraction_prompt, read_turns, turns_digest};
use crate::derive::generated::is_generated;
use crate::fs::crash;
use crate::models::{ChatModel, ModelTrouble, open_memory_chat};
use crate::note::Note;
use crate::path::VaultPath;
use crate::redact::redact;
use crate::request::Workspace;
use crate::state::{CallAllowance, Digest, Job, JobState, JobTable, ModelCallTable, StateError};
use crate::tasks::TaskSignal;
use crate::vault::{ReadError, read};

/// Quiet period without a search before a model is asked.
const QUIET_PERIOD: Duration = Duration::from_secs(2);
/// Interval at which it looks for work where nothing says when there is some.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Delay until it is checked again whether the index is open and has all that was there at the start.
const INDEX_DELAY: Duration = Duration::from_millis(200);
/// Delay until a file that has just changed is read again.
pub(super) const SETTLE_DELAY: Duration = Duration::from_secs(2);
/// Why a conversation waits that would cost more than is left of the day.
pub(super) const DAY_USED_UP: &str = "the calls or tokens of 24 hours are used up";

/// The model of the memory, or why it cannot be asked; `None` where none is named.
pub(super) type MemoryModel = Option<Result<Arc<dyn ChatModel>, String>>;

/// What is done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExtractionRest {
    /// The next conversation, at once.
    None,
    /// Nothing, for so long at most.
    For(Duration),
}

/// How the work is, as the status says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LaneState {
    /// Whether a conversation is being worked on.
    pub(super) is_working: bool,
    /// Why nothing is done, though something waits.
    pub(super) waits: Option<String>,
    /// Why nothing is done until somebody changes something.
    pub(super) stopped: Option<String>,
    /// Private conversations that are not sent.
    pub(super) withheld: usize,
}

/// What a chat model finds in the conversations of a vault.
pub(crate) struct Extraction {
    pub(super) workspace: Arc<Workspace>,
    pub(super) jobs: JobTable,
    pub(super) calls: ModelCallTable,
    model: Mutex<MemoryModel>,
    state: Mutex<LaneState>,
    /// One at a time.
    known: Mutex<KnownSessions>,
    /// When the traces were looked at last, in milliseconds since 1970.
    pub(super) looked_at_traces: AtomicI64,
    /// Whether what waits is to be done at once, and whether that was just said.
    hurries: AtomicBool,
    was_hurried: AtomicBool,
    /// Whether a step broke off, so that a job may be held by nobody.
    has_broken_off: AtomicBool,
    /// Of the task, where there is one.
    pub(super) signal: TaskSignal,
    clock: Clock,
}

impl Extraction {
    /// Of a vault. Nothing is asked yet.
    pub(crate) fn new(workspace: Arc<Workspace>, clock: Clock) -> Self {
        let (jobs, calls) = (JobTable::new(workspace.state()), ModelCallTable::new(workspace.state()));
        let model = Mutex::new(open(&workspace));
        Self {
            workspace,
            jobs,
            calls,
            model,
            state: Mutex::default(),
            known: Mutex::default(),
            looked_at_traces: AtomicI64::new(i64::MIN),
            hurries: AtomicBool::new(false),
            was_hurried: AtomicBool::new(false),
            has_broken_off: AtomicBool::new(false),
            signal: TaskSignal::default(),
            clock,
        }
    }

    /// Gives back what was under way when somebody was killed, before anything else is done.
    pub(crate) fn begin(&self) {
        let given = self.jobs.give_back(EXTRACTION).and_then(|()| self.jobs.give_back(LIBRARIAN));
        if let Err(error) = given.and_then(|()| self.calls.cut_off()) {
            tracing::warn!("conversations are not read: {error}");
        }
    }

    /// The model.
    pub(super) fn model(&self) -> MemoryModel {
        self.model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the model anew, as one that has refused is asked nothing more.
    pub(super) fn open_again(&self) {
        *self.model.lock().unwrap_or_else(PoisonError::into_inner) = open(&self.workspace);
        self.state_mut().stopped = None;
    }

    /// Whether this process may write.
    pub(super) fn is_ours(&self) -> bool {
        self.workspace.lock().is_some_and(|lock| lock.is_held())
    }

    pub(super) fn set_working(&self, is_working: bool) {
        self.state_mut().is_working = is_working;
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.signal.is_stopped()
    }

    /// How the work is.
    pub(super) fn state(&self) -> LaneState {
        self.state_mut().clone()
    }

    pub(super) fn state_mut(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has all that waits done at once, whoever searches.
    pub(super) fn hurry(&self) {
        self.was_hurried.store(true, Ordering::SeqCst);
        self.go_on();
        self.signal.wake();
    }

    /// Whoever waits for it goes on with what is due, whoever searches.
    pub(super) fn go_on(&self) {
        self.hurries.store(true, Ordering::SeqCst);
    }

    /// Whether it is to be done at once.
    pub(super) fn hurries(&self) -> bool {
        self.hurries.load(Ordering::SeqCst)
    }

    /// Puts aside what was being worked on when the work failed in a way that nobody foresaw.
    pub(super) fn bury_broken(&self) {
        self.state_mut().is_working = false;
        for kind in [EXTRACTION, LIBRARIAN] {
            let running =
                self.jobs.all(kind).unwrap_or_default().into_iter().filter(|job| job.state == JobState::Running);
            for job in running {
                if let Err(error) = self.jobs.bury(kind, job.key, false, "the program failed when it was worked on") {
                    tracing::warn!("conversations are not read: {error}");
                    self.has_broken_off.store(true, Ordering::SeqCst);
                }
            }
        }
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

    /// Asks a model for something of a kind, within the limits of a day, as long as what it is about `is_current`.
    pub(super) fn asker<'a>(
        &'a self,
        kind: &'static str,
        model: &'a Arc<dyn ChatModel>,
        is_current: &'a dyn Fn() -> bool,
    ) -> ExtractionAsker<'a> {
        let memory = &self.workspace.config().memory;
        ExtractionAsker {
            kind,
            model,
            calls: &self.calls,
            allowance: CallAllowance { calls: memory.calls_per_day, tokens: memory.tokens_per_day },
            timeout: Duration::from_millis(memory.timeout_ms),
            now: Box::new(|| self.now()),
            is_stopped: Box::new(|| self.is_stopped()),
            is_current,
        }
    }

    /// Does one conversation, if one is due and nothing is in the way.
    pub(crate) fn step(&self) -> ExtractionRest {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let hurries = self.hurries();
        let stepped = self.try_step(&mut known, hurries).and_then(|stepped| match stepped {
            // Conversations go first.
            ExtractionRest::For(time) => Ok(match self.librarian_step(hurries)? {
                ExtractionRest::For(other) => ExtractionRest::For(time.min(other)),
                ExtractionRest::None => ExtractionRest::None,
            }),
            ExtractionRest::None => Ok(ExtractionRest::None),
        });
        let stepped = stepped.unwrap_or_else(|error| {
            tracing::warn!("conversations are not read: {error}");
            self.has_broken_off.store(true, Ordering::SeqCst);
            self.waits_for(error.to_string(), CHECK_INTERVAL)
        });
        if stepped != ExtractionRest::None && !self.was_hurried.load(Ordering::SeqCst) {
            self.hurries.store(false, Ordering::SeqCst);
        }
        self.state_mut().withheld = known.withheld;
        stepped
    }

    fn try_step(&self, known: &mut KnownSessions, hurries: bool) -> Result<ExtractionRest, StateError> {
        let progress = self.workspace.shared().progress();
        let Some(reader) = self.workspace.shared().snapshot().filter(|_| progress.caught_up) else {
            return Ok(ExtractionRest::For(INDEX_DELAY));
        };
        let was_hurried = self.was_hurried.swap(false, Ordering::SeqCst);
        let model = match self.model() {
            None => return Ok(ExtractionRest::For(CHECK_INTERVAL)),
            Some(Err(reason)) => {
                self.state_mut().stopped = Some(reason);
                return Ok(ExtractionRest::For(CHECK_INTERVAL));
            }
            Some(Ok(model)) => model,
        };
        if self.state_mut().stopped.is_some() || !self.is_ours() {
            return Ok(ExtractionRest::For(CHECK_INTERVAL));
        }
        if self.has_broken_off.load(Ordering::SeqCst) {
            self.jobs.give_back(EXTRACTION)?;
            self.jobs.give_back(LIBRARIAN)?;
            self.has_broken_off.store(false, Ordering::SeqCst);
        }
        let now = self.now();
        if was_hurried {
            known.look_again();
        }
        let debounce = if hurries { 0 } else { self.workspace.config().memory.summary_debounce_seconds as i64 * 1_000 };
        known.look(&self.jobs, &reader, SessionLook { now, debounce, takes_private: model.takes_private() })?;
        if was_hurried {
            self.jobs.hurry(EXTRACTION, now)?;
        }
        let job = match self.next_job(EXTRACTION, &model, hurries)? {
            Ok(job) => job,
            Err((waits, time)) => {
                self.state_mut().waits = waits;
                return Ok(ExtractionRest::For(time));
            }
        };
        crash::point("extraction-claimed");
        self.set_working(true);
        let done = self.work(known, &model, &job);
        self.set_working(false);
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
        let shared = self.workspace.shared();
        if !hurries && (!shared.progress().is_complete() || shared.was_searched_within(QUIET_PERIOD)) {
            return Ok(Err((Some("something else is being done".into()), QUIET_PERIOD)));
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

    pub(super) fn waits_for(&self, reason: String, time: Duration) -> ExtractionRest {
        self.state_mut().waits = Some(reason);
        ExtractionRest::For(time)
    }

    /// Reads a conversation or a digest, asks about it, writes what is found, and marks it as done.
    fn work(
        &self,
        known: &mut KnownSessions,
        model: &Arc<dyn ChatModel>,
        job: &Job,
    ) -> Result<ExtractionRest, StateError> {
        let Some(path) = known.path(&job.key).cloned() else {
            known.remove(&self.jobs, job.key)?;
            return Ok(ExtractionRest::None);
        };
        let root = self.workspace.home().root();
        let source = match read(root, &path, self.workspace.config().index.max_file_bytes) {
            Ok(source) if cut(source.hash.as_bytes()) == job.content => source,
            // Once the index knows, its job goes; until then it is tried again, and not at once.
            Err(ReadError::Gone | ReadError::Unfit(_)) => {
                self.fails(EXTRACTION, job, "its file cannot be read", Some(SETTLE_DELAY))?;
                return Ok(ExtractionRest::None);
            }
            Ok(_) | Err(ReadError::Changing) => {
                known.look_again();
                return self.has_changed(EXTRACTION, job);
            }
        };
        let note = Note::parse(&source.text, path.stem());
        if note.is_private() && !model.takes_private() {
            self.fails(EXTRACTION, job, "it is private", Some(SETTLE_DELAY))?;
            known.look_again();
            return Ok(ExtractionRest::None);
        }
        if is_digest(&path) {
            return self.tell_digest(known, model, job, (&path, &source));
        }
        let is_left_out = is_generated(&note.metadata) || note.metadata.get(EXTRACTION_PROPERTY) == Some(&false.into());
        let turns = if is_left_out { Vec::new() } else { self.turns(&source.text) };
        let digest = turns_digest(&turns);
        let done = self.jobs.done(TURNS)?;
        // A copy of a conversation that was read says nothing new, and does not say it a second time.
        let is_copied =
            || done.iter().any(|(key, turns)| *key != job.key && *turns == digest && known.path(key).is_some());
        if turns.is_empty() || done.get(&job.key) == Some(&digest) || is_copied() {
            known.finish(&self.jobs, job.key, job.content, self.now())?;
            return Ok(ExtractionRest::None);
        }
        let date = note.created.map(|created| created.to_zoned(jiff::tz::TimeZone::system()).date().to_string());
        let prompt = extraction_prompt(&turns, date.as_deref());
        // The lines count, too: they are what is cited.
        let is_current = || {
            let now = read(root, &path, self.workspace.config().index.max_file_bytes);
            now.is_ok_and(|now| now.hash == source.hash || self.turns(&now.text) == turns)
        };
        let found = match self.asker(EXTRACTION, model, &is_current).ask(&prompt, date.as_deref()) {
            Ok(found) => found,
            Err(unasked) => {
                if matches!(unasked, Unasked::Changed) {
                    known.look_again();
                }
                return self.unasked(EXTRACTION, job, unasked);
            }
        };
        let written = propose(&self.workspace, found_in((&path, trust_of(&note)), &found.entries), &is_current);
        if matches!(written, Ok(false)) {
            known.look_again();
            return self.has_changed(EXTRACTION, job);
        }
        crash::point("extraction-proposed");
        let written =
            written.and_then(|_| keep_summary(&self.workspace, (&path, &source), model.name(), &found.summary));
        crash::point("extraction-summarised");
        if let Err(error) = written {
            self.fails(EXTRACTION, job, &error.message, None)?;
            return Ok(ExtractionRest::None);
        }
        self.has_read(known, job.key, digest, job.content)
    }

    /// Marks what was read and written as done: its turns or lines by `digest`, its file by `content`.
    pub(super) fn has_read(
        &self,
        known: &mut KnownSessions,
        key: Digest,
        digest: Digest,
        content: Digest,
    ) -> Result<ExtractionRest, StateError> {
        self.jobs.finish(TURNS, key, digest, self.now())?;
        crash::point("extraction-turns-marked");
        known.finish(&self.jobs, key, content, self.now())?;
        crash::point("extraction-marked");
        self.state_mut().waits = None;
        // It answers: what was put aside while it did not gets its turn.
        self.jobs.revive(EXTRACTION, self.now())?;
        Ok(ExtractionRest::None)
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

    /// How the person is called, as `USER.md` says.
    fn names(&self) -> Vec<String> {
        let Ok(path) = VaultPath::new("USER.md") else { return Vec::new() };
        let user = read(self.workspace.home().root(), &path, self.workspace.config().index.max_file_bytes).ok();
        let name = user.and_then(|user| Note::parse(&user.text, "").metadata.get("name")?.as_str().map(str::to_owned));
        let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        // By the first name alone, too.
        let first = name.iter().flat_map(|name| name.split_whitespace().next()).map(str::to_owned);
        first.chain(name.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

fn open(workspace: &Workspace) -> MemoryModel {
    let config = workspace.config();
    open_memory_chat(&config.memory, &config.chat).map(|opened| opened.map_err(|error| error.to_string()))
}
