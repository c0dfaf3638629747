//! The librarian: what a chat model finds in the traces of an agent, proposed for that agent's own memory. The traces stay as they are.
//!
//! A job is a file, of which a part is read at a time; how many of its events were read, and how long it was when all of them were, is what the
//! job was done with.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::keep::{Proposals, entry_of, evidence_of, propose};
use super::lane::{CHECK_INTERVAL, Extraction, ExtractionRest};
use super::sessions::cut;
use super::trace_parts::{MOST_EVENTS, TracePart};
use crate::access::{Policy, Principal, Turn};
use crate::config::MemoryKind;
use crate::derive::entries::{MemoryEntry, MemoryHolder, TrustLevel, trace_source};
use crate::derive::extraction::{CheckedEntry, extraction_prompt};
use crate::fs::{FsError, crash};
use crate::items::EntryProposal;
use crate::models::ChatModel;
use crate::request::{Owner, Request, Role};
use crate::state::{Digest, Job, JobState, StateError};
use crate::trace_files::{TraceFile, TraceFiles};

/// The jobs of the librarian.
pub(super) const LIBRARIAN: &str = "librarian";
/// Sources that an entry names at most.
const MOST_EVIDENCE: usize = 20;

/// A file of traces that may be read.
pub(super) struct TraceSource {
    pub(super) agent: String,
    file: TraceFile,
    /// Its name in the tables.
    pub(super) key: Digest,
    size: u64,
    mtime_ms: i64,
}

/// How far a file was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TraceProgress {
    /// So many of its events.
    pub(super) events: u64,
    /// Its length when that was all of them; 0 where there are more.
    size: u64,
}

impl TraceProgress {
    pub(super) fn of(done: &Digest) -> Self {
        let done = u128::from_le_bytes(*done);
        Self { events: done as u64, size: (done >> 64) as u64 }
    }

    fn digest(self) -> Digest {
        (u128::from(self.size) << 64 | u128::from(self.events)).to_le_bytes()
    }
}

impl Extraction {
    /// Reads a part of some agent's traces, if one is due and nothing is in the way.
    pub(super) fn librarian_step(&self, hurries: bool) -> Result<ExtractionRest, StateError> {
        let rest = Ok(ExtractionRest::For(CHECK_INTERVAL));
        let Some(Ok(model)) = self.model() else { return rest };
        let policies = self.workspace.agents().policies();
        let mut agents = policies.slugs();
        let reads = |policy: &Policy| policy.librarian && policy.librarian_rules.finds_any();
        agents.retain(|slug| policies.of(slug).is_some_and(|policy| reads(&policy)));
        let is_stopped = self.state().stopped.is_some();
        if agents.is_empty() || is_stopped || !model.takes_private() || !self.is_ours() {
            return rest;
        }
        let now = self.now();
        let looked = now.abs_diff(self.looked_at_traces.load(Ordering::SeqCst));
        if hurries || looked >= CHECK_INTERVAL.as_millis() as u64 {
            self.look_at_traces(&agents, hurries, now)?;
            self.looked_at_traces.store(now, Ordering::SeqCst);
        }
        let job = match self.next_job(LIBRARIAN, &model, hurries)? {
            Ok(job) => job,
            Err((_, time)) => return Ok(ExtractionRest::For(time)),
        };
        crash::point("librarian-claimed");
        self.set_working(true);
        let done = self.read_part(&agents, &model, &job);
        self.set_working(false);
        done
    }

    /// The files of an agent's traces.
    pub(super) fn trace_sources(&self, agent: &str) -> Vec<TraceSource> {
        let files = self.workspace.traces().files_of(agent).unwrap_or_else(|error| {
            tracing::warn!("the traces of `{agent}` are not read: {error}");
            Vec::new()
        });
        let source = |file: TraceFile| {
            let stamp = file.stamp()?;
            let name = format!("{agent}/{}", file.path.file_name()?.to_str()?);
            let key = cut(blake3::hash(name.as_bytes()).as_bytes());
            let agent = agent.to_owned();
            Some(TraceSource { agent, file, key, size: stamp.size, mtime_ms: stamp.mtime_ns / 1_000_000 })
        };
        files.into_iter().filter_map(source).collect()
    }

    /// Queues what was not read yet.
    fn look_at_traces(&self, agents: &[String], hurries: bool, now: i64) -> Result<(), StateError> {
        let debounce = if hurries { 0 } else { self.workspace.config().memory.summary_debounce_seconds as i64 * 1_000 };
        let sources: Vec<TraceSource> = agents.iter().flat_map(|agent| self.trace_sources(agent)).collect();
        let done = self.jobs.done(LIBRARIAN)?;
        for TraceSource { key, size, mtime_ms, .. } in &sources {
            if done.get(key).is_none_or(|done| TraceProgress::of(done).size != *size) {
                let content = TraceProgress { events: 0, size: *size }.digest();
                self.jobs.queue(LIBRARIAN, *key, content, (*mtime_ms).min(now).saturating_add(debounce), now)?;
            }
        }
        if hurries {
            self.jobs.hurry(LIBRARIAN, now)?;
        }
        // What is gone, or of an agent for whom it was switched off, is not waited for.
        for job in self.jobs.all(LIBRARIAN)? {
            if job.state != JobState::Running && !sources.iter().any(|source| source.key == job.key) {
                self.jobs.remove(LIBRARIAN, job.key)?;
            }
        }
        Ok(())
    }

    /// Reads a part of a file, asks about it, writes what is found, and marks it as done.
    fn read_part(
        &self,
        agents: &[String],
        model: &Arc<dyn ChatModel>,
        job: &Job,
    ) -> Result<ExtractionRest, StateError> {
        let mut sources = agents.iter().flat_map(|agent| self.trace_sources(agent));
        let Some(TraceSource { agent, file, size, .. }) = sources.find(|source| source.key == job.key) else {
            self.jobs.remove(LIBRARIAN, job.key)?;
            return Ok(ExtractionRest::None);
        };
        let read = self.jobs.done(LIBRARIAN)?.get(&job.key).map_or(0, |done| TraceProgress::of(done).events);
        let part_of = |most: u64| -> Result<TracePart, FsError> {
            TracePart::next(TraceFiles::events_of(&file)?.skip(read as usize), most)
        };
        let part = match part_of(MOST_EVENTS) {
            Ok(part) => part,
            Err(error) => {
                self.fails(LIBRARIAN, job, &error.to_string(), None)?;
                return Ok(ExtractionRest::None);
            }
        };
        let turns = self.turns(&part.text);
        if !turns.is_empty() {
            // What is purged while the model is asked is neither sent again nor written.
            let is_current = || part_of(part.events).is_ok_and(|now| now.text == part.text);
            let date = part.date.as_deref();
            let found = self.asker(LIBRARIAN, model, &is_current).ask(&extraction_prompt(&turns, date), date);
            let found = match found {
                Ok(found) => found,
                Err(unasked) => return self.unasked(LIBRARIAN, job, unasked),
            };
            crash::point("librarian-answered");
            match propose(&self.workspace, self.found_in_traces(&agent, &part, &found.entries), &is_current) {
                Ok(true) => {}
                Ok(false) => return self.has_changed(LIBRARIAN, job),
                Err(error) => {
                    self.fails(LIBRARIAN, job, &error.message, None)?;
                    return Ok(ExtractionRest::None);
                }
            }
            crash::point("librarian-proposed");
        }
        let size = if part.is_last { size } else { 0 };
        let done = TraceProgress { events: read + part.events, size };
        self.jobs.finish(LIBRARIAN, job.key, done.digest(), self.now())?;
        crash::point("librarian-marked");
        self.jobs.revive(LIBRARIAN, self.now())?;
        if !part.is_last {
            self.jobs.queue(LIBRARIAN, job.key, job.content, self.now(), self.now())?;
        }
        Ok(ExtractionRest::None)
    }

    /// What was found, for the agent's own memory: by its word, whoever it says has said it.
    fn found_in_traces(&self, agent: &str, part: &TracePart, found: &[CheckedEntry]) -> Proposals {
        let rules = self.workspace.agents().policies().of(agent).map(|policy| policy.librarian_rules.clone());
        let rules = rules.unwrap_or_default();
        let wanted = found.iter().filter(|found| rules.finds(found.kind == MemoryKind::Preference));
        let proposals = wanted.map(|found| {
            let evidence = part.evidence(found.lines);
            let sources = evidence.iter().take(MOST_EVIDENCE).map(|id| trace_source(agent, id)).collect();
            let entry = entry_of(sources, found);
            let trust = entry.trust.min(TrustLevel::Agent);
            EntryProposal { entry: MemoryEntry { trust, ..entry }, evidence: evidence_of(found) }
        });
        // By what is missing it must not see that it guessed right what it could not read.
        let owner = Owner::of(Request::new(Arc::clone(&self.workspace), Principal::Owner, Turn::default())).ok();
        Proposals {
            holder: MemoryHolder::Agent(agent.to_owned()),
            who: LIBRARIAN,
            into: format!("agents/{agent}/"),
            reach: owner.and_then(|owner| owner.reach_of(agent)),
            proposals: proposals.collect(),
        }
    }
}
