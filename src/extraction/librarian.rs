//! The librarian: what a chat model finds in the traces of an agent, proposed for that agent's own memory. The traces stay as they are.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::ask::Unasked;
use super::keep::{Proposals, entry_of, propose};
use super::lane::{Extraction, ExtractionRest};
use super::sessions::next_due;
use super::trace_known::{KnownTraceParts, LIBRARIAN, PartPlace, content_of, key_of};
use super::trace_parts::{TracePart, TraceParts};
use crate::access::{Policy, Principal, Turn};
use crate::config::MemoryKind;
use crate::derive::entries::{MemoryEntry, MemoryHolder, TrustLevel, trace_source};
use crate::derive::extraction::{CheckedEntry, extraction_prompt};
use crate::fs::crash;
use crate::layers::EntryProposal;
use crate::models::ChatModel;
use crate::redact::redact;
use crate::request::{Owner, Request, Role};
use crate::state::{Digest, Job, JobState, StateError};
use crate::trace_files::{TraceFilesError, TraceHourFile};

/// Files of which every part was read.
const FILES: &str = "librarian files";
/// Interval at which it looks for work where nothing says when there is some.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Sources that an entry names at most.
const MOST_EVIDENCE: usize = 20;

impl Extraction {
    /// Reads a part of some agent's traces, if one is due and nothing is in the way.
    pub(super) fn librarian_step(&self, hurries: bool) -> Result<ExtractionRest, StateError> {
        let rest = Ok(ExtractionRest::For(CHECK_INTERVAL));
        let Some(Ok(model)) = self.model() else { return rest };
        let agents = self.librarian_agents();
        let is_stopped = self.state().stopped.is_some();
        if agents.is_empty() || is_stopped || !model.takes_private() || !self.is_ours() {
            return rest;
        }
        let mut known = self.trace_parts();
        let now = self.now();
        if hurries || known.looked.is_none_or(|looked| now.abs_diff(looked) >= CHECK_INTERVAL.as_millis() as u64) {
            self.look_at_traces(&mut known, &agents, hurries, now)?;
            known.looked = Some(now);
        }
        let Some((due, _)) = next_due(&self.jobs, LIBRARIAN, now)? else { return rest };
        if due > now {
            return Ok(ExtractionRest::For(Duration::from_millis((due - now) as u64).min(CHECK_INTERVAL)));
        }
        if !hurries && self.is_disturbed() {
            return Ok(ExtractionRest::For(Duration::from_secs(2)));
        }
        if let Some(left) = model.rests() {
            return Ok(ExtractionRest::For(left));
        }
        let Some(job) = self.jobs.claim(LIBRARIAN, now)? else { return Ok(ExtractionRest::None) };
        crash::point("librarian-claimed");
        self.set_working(true);
        let done = self.read_part(&mut known, &model, &job);
        self.set_working(false);
        done
    }

    /// The agents for whom the person has switched it on.
    fn librarian_agents(&self) -> Vec<String> {
        let policies = self.workspace.agents().policies();
        let mut slugs = policies.slugs();
        let reads = |policy: &Policy| policy.librarian && policy.librarian_rules.finds_any();
        slugs.retain(|slug| policies.of(slug).is_some_and(|policy| reads(&policy)));
        slugs
    }

    /// Queues what was not read yet.
    fn look_at_traces(
        &self,
        known: &mut KnownTraceParts,
        agents: &[String],
        hurries: bool,
        now: i64,
    ) -> Result<(), StateError> {
        if known.done.is_none() {
            known.done = Some(self.jobs.done(LIBRARIAN)?);
            known.files = Some(self.jobs.done(FILES)?);
        }
        let debounce = if hurries { 0 } else { self.workspace.config().memory.summary_debounce_seconds as i64 * 1_000 };
        let mut there = HashSet::new();
        for agent in agents {
            let files = match self.workspace.traces().hours_of(agent) {
                Ok(files) => files,
                Err(error) => {
                    tracing::warn!("the traces of `{agent}` are not read: {error}");
                    continue;
                }
            };
            for file in files {
                let (key, content) = (key_of(&file.name()), content_of(&file));
                let is_done = known.files.as_ref().and_then(|files| files.get(&key)) == Some(&content);
                let is_seen = known.seen.get(&key).is_some_and(|(seen, _)| *seen == content);
                if !is_done && !is_seen {
                    if let Err(error) = self.queue_parts(known, agent, &file, debounce, now) {
                        tracing::warn!("{} of the traces is not read: {error}", file.name());
                        continue;
                    }
                } else if is_seen && hurries {
                    self.jobs.hurry(LIBRARIAN, now)?;
                }
                there.insert(key);
            }
        }
        known.seen.retain(|key, _| there.contains(key));
        // What is gone, or of an agent for whom it was switched off, is not waited for.
        for job in self.jobs.all(LIBRARIAN)?.into_iter().filter(|job| job.state != JobState::Running) {
            let place = self.trace_places.get(&job.key);
            if place.is_none_or(|place| !agents.contains(&place.agent) || !there.contains(&key_of(&place.file.name())))
            {
                self.jobs.remove(LIBRARIAN, job.key)?;
                self.trace_places.remove(&job.key);
            }
        }
        Ok(())
    }

    fn queue_parts(
        &self,
        known: &mut KnownTraceParts,
        agent: &str,
        file: &TraceHourFile,
        debounce: i64,
        now: i64,
    ) -> Result<(), LibrarianError> {
        let (key, content) = (key_of(&file.name()), content_of(file));
        let quiet = (file.stamp.mtime_ns / 1_000_000).min(now).saturating_add(debounce);
        let mut left = HashSet::new();
        for (at, part) in self.parts_of(file)?.into_iter().enumerate() {
            let part_key = key_of(&format!("{} {at}", file.name()));
            let digest = part.digest();
            if known.done.as_ref().and_then(|done| done.get(&part_key)) == Some(&digest) {
                continue;
            }
            self.jobs.queue(LIBRARIAN, part_key, digest, quiet, now)?;
            self.trace_places.put(part_key, PartPlace { agent: agent.to_owned(), file: file.clone(), at });
            left.insert(part_key);
        }
        if left.is_empty() {
            self.jobs.finish(FILES, key, content, now)?;
            known.files.get_or_insert_default().insert(key, content);
        }
        known.seen.insert(key, (content, left));
        Ok(())
    }

    fn parts_of(&self, file: &TraceHourFile) -> Result<Vec<TracePart>, TraceFilesError> {
        let mut parts = TraceParts::default();
        self.workspace.traces().each_event(file, &mut |event| {
            parts.add(&event);
            ControlFlow::Continue(())
        })?;
        Ok(parts.0)
    }

    /// The part of a job, if it is what it was when that was made.
    fn part_of(&self, place: &PartPlace, content: &Digest) -> Option<TracePart> {
        let parts = self.parts_of(&place.file).ok()?;
        parts.into_iter().nth(place.at).filter(|part| part.digest() == *content)
    }

    /// A part has grown, or something of it was forgotten: it is another job, with the next look.
    fn has_other_part(&self, known: &mut KnownTraceParts, job: &Job) -> Result<ExtractionRest, StateError> {
        self.jobs.remove(LIBRARIAN, job.key)?;
        known.seen.clear();
        known.looked = None;
        Ok(ExtractionRest::None)
    }

    /// Reads a part, asks about it, writes what is found, and marks it as done.
    fn read_part(
        &self,
        known: &mut KnownTraceParts,
        model: &Arc<dyn ChatModel>,
        job: &Job,
    ) -> Result<ExtractionRest, StateError> {
        let place = self.trace_places.get(&job.key);
        let part = place.as_ref().and_then(|place| self.part_of(place, &job.content));
        let (Some(place), Some(part)) = (place, part) else {
            return self.has_other_part(known, job);
        };
        let mut turns = part.turns(&self.names());
        if self.workspace.redacts() {
            for line in turns.iter_mut().flat_map(|turn| &mut turn.lines) {
                line.text = redact(&line.text).into_owned();
            }
        }
        if !turns.is_empty() {
            // What is purged while the model is asked is neither sent again nor written.
            let is_current = || self.part_of(&place, &job.content).is_some();
            let asker = self.asker(LIBRARIAN, model, &is_current);
            let date = part.date.as_deref();
            let found = match asker.ask(&extraction_prompt(&turns, date), date) {
                Ok(found) => found,
                Err(Unasked::Changed) => return self.has_other_part(known, job),
                Err(unasked) => return self.unasked(LIBRARIAN, job, unasked),
            };
            crash::point("librarian-answered");
            let rules =
                self.workspace.agents().policies().of(&place.agent).map(|policy| policy.librarian_rules.clone());
            let rules = rules.unwrap_or_default();
            let wanted = found.entries.iter().filter(|found| rules.finds(found.kind == MemoryKind::Preference));
            let proposals = wanted.map(|found| proposal(&place.agent, &part, found)).collect();
            let into = format!("agents/{}/", place.agent);
            // By what is missing it must not see that it guessed right what it could not read.
            let owner = Request::new(Arc::clone(&self.workspace), Principal::Owner, Turn::default());
            let reach = Owner::of(owner).ok().and_then(|owner| owner.reach_of(&place.agent));
            let proposals =
                Proposals { holder: MemoryHolder::Agent(place.agent.clone()), who: LIBRARIAN, into, reach, proposals };
            match propose(&self.workspace, proposals, &is_current) {
                Ok(true) => {}
                Ok(false) => return self.has_other_part(known, job),
                Err(error) => {
                    self.fails(LIBRARIAN, job, &error.message, None)?;
                    return Ok(ExtractionRest::None);
                }
            }
            crash::point("librarian-proposed");
        }
        self.librarian.keep(&place.agent, job.key, part.events, self.now())?;
        self.jobs.finish(LIBRARIAN, job.key, job.content, self.now())?;
        crash::point("librarian-marked");
        known.done.get_or_insert_default().insert(job.key, job.content);
        self.trace_places.remove(&job.key);
        let file = key_of(&place.file.name());
        if let Some((content, left)) = known.seen.get_mut(&file) {
            left.remove(&job.key);
            let content = *content;
            if left.is_empty() && content == content_of(&place.file) {
                self.jobs.finish(FILES, file, content, self.now())?;
                known.files.get_or_insert_default().insert(file, content);
            }
        }
        self.jobs.revive(LIBRARIAN, self.now())?;
        Ok(ExtractionRest::None)
    }
}

/// Why the parts of a file are not queued.
#[derive(Debug, thiserror::Error)]
enum LibrarianError {
    /// It cannot be read.
    #[error(transparent)]
    Traces(#[from] TraceFilesError),
    /// The state cannot be written.
    #[error(transparent)]
    State(#[from] StateError),
}

/// What was found, for the agent's own memory: by its word, whoever it says has said it.
fn proposal(agent: &str, part: &TracePart, found: &CheckedEntry) -> EntryProposal {
    let evidence = part.evidence(found.lines);
    let sources = evidence.iter().take(MOST_EVIDENCE).map(|id| trace_source(agent, id)).collect();
    let entry = entry_of(sources, found);
    let trust = entry.trust.min(TrustLevel::Agent);
    EntryProposal { entry: MemoryEntry { trust, ..entry }, evidence: super::keep::evidence_of(found) }
}
