//! The librarian: what a chat model finds in the traces of an agent, proposed for that agent's own memory. The traces stay as they are. What was
//! asked and answered, thought and failed is read, and never what tools gave or a prompt held.
//!
//! A job is a file, of which a part is read at a time; how many of its events were read, and how long it was when all of them were, is what the
//! job was done with.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::keep::{Proposals, proposal_of};
use super::lane::{CHECK_INTERVAL, Extraction};
use crate::access::request::{Owner, Request, RequestError, Role, rfc3339};
use crate::access::rules::{LIBRARIAN_TASKS, Policy, Principal, Scope, Turn};
use crate::base::config::{MemoryKind, MemoryScope};
use crate::base::fs::{FsError, crash};
use crate::base::state::{Digest, Job, StateError, digest_of};
use crate::memory::trace_files::{TraceFile, TraceFiles};
use crate::models::ChatModel;
use crate::serve::wire::LibrarianView;
use crate::text::derive::entries::{TrustLevel, trace_source};
use crate::text::derive::extraction::CheckedEntry;
use crate::text::derive::token_estimate;
use crate::text::note::turn_block;

/// The jobs of the librarian.
pub(super) const LIBRARIAN: &str = "librarian";
/// Sources that an entry names at most.
const MOST_EVIDENCE: usize = 20;

/// A file of traces that may be read.
struct TraceSource {
    agent: String,
    file: TraceFile,
    /// Its name in the tables.
    key: Digest,
    size: u64,
    mtime_ms: i64,
}

/// How far a file was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TraceProgress {
    /// So many of its events.
    events: u64,
    /// Its length when that was all of them; 0 where there are more.
    size: u64,
}

impl TraceProgress {
    fn of(done: &Digest) -> Self {
        let done = u128::from_le_bytes(*done);
        Self { events: done as u64, size: (done >> 64) as u64 }
    }

    fn digest(self) -> Digest {
        (u128::from(self.size) << 64 | u128::from(self.events)).to_le_bytes()
    }
}

impl Extraction {
    /// The agents whose traces may be read.
    fn librarian_agents(&self) -> Vec<String> {
        let registry = &self.workspace.agents;
        let reads = |policy: &Policy| policy.librarian && policy.finds_any();
        let mut agents = registry.slugs();
        agents.retain(|slug| registry.page(slug).is_some_and(|policy| reads(&policy)));
        agents
    }

    /// The files of an agent's traces.
    fn trace_sources(&self, agent: &str) -> Vec<TraceSource> {
        let files = self.workspace.traces.files_of(agent).unwrap_or_else(|error| {
            tracing::warn!("the traces of `{agent}` are not read: {error}");
            Vec::new()
        });
        let source = |file: TraceFile| {
            let stamp = file.stamp()?;
            let name = format!("{agent}/{}", file.path.file_name()?.to_str()?);
            let key = digest_of(name.as_bytes());
            let agent = agent.to_owned();
            Some(TraceSource { agent, file, key, size: stamp.size, mtime_ms: stamp.mtime_ns / 1_000_000 })
        };
        files.into_iter().filter_map(source).collect()
    }

    /// Queues what was not read yet, of agents for whom it is switched on; says whether there are any.
    pub(super) fn look_at_traces(&self, hurries: bool, debounce: i64, now: i64) -> Result<bool, StateError> {
        let agents = self.librarian_agents();
        if agents.is_empty() {
            return Ok(false);
        }
        let is_looked_at = |at| now.abs_diff(at) < CHECK_INTERVAL.as_millis() as u64;
        if !hurries && self.state_mut().looked_at_traces.is_some_and(is_looked_at) {
            return Ok(true);
        }
        let done = self.jobs.done(LIBRARIAN)?;
        let sources = agents.iter().flat_map(|agent| self.trace_sources(agent));
        let changed = sources
            .filter(|source| done.get(&source.key).is_none_or(|done| TraceProgress::of(done).size != source.size))
            .map(|source| (source.key, TraceProgress { events: 0, size: source.size }.digest(), source.mtime_ms));
        self.queue_only(LIBRARIAN, &changed.collect::<Vec<_>>(), (now, debounce))?;
        if hurries {
            self.jobs.hurry(LIBRARIAN, now)?;
        }
        self.state_mut().looked_at_traces = Some(now);
        Ok(true)
    }

    /// Reads a part of a file, asks about it, writes what is found, and marks it as done.
    pub(super) fn read_part(&self, model: &Arc<dyn ChatModel>, job: &Job) -> Result<Option<Duration>, StateError> {
        let agents = self.librarian_agents();
        let mut sources = agents.iter().flat_map(|agent| self.trace_sources(agent));
        let Some(TraceSource { agent, file, size, .. }) = sources.find(|source| source.key == job.key) else {
            self.jobs.remove(LIBRARIAN, job.key)?;
            return Ok(None);
        };
        let read = self.jobs.done(LIBRARIAN)?.get(&job.key).map_or(0, |done| TraceProgress::of(done).events);
        let part_of = |most: u64| -> Result<TracePart, FsError> {
            TracePart::next(TraceFiles::events_of(&file)?.skip(read as usize), most)
        };
        let part = match part_of(MOST_EVENTS) {
            Ok(part) => part,
            Err(error) => {
                self.fails(LIBRARIAN, job, &error.to_string(), None)?;
                return Ok(None);
            }
        };
        let turns = self.turns(&part.text);
        if !turns.is_empty() {
            // What is purged while the model is asked is neither sent again nor written.
            let is_current = || part_of(part.events).is_ok_and(|now| now.text == part.text);
            let asked = (&turns[..], part.date.as_deref());
            let found = self.find(LIBRARIAN, model, job, asked, &is_current, &|found| {
                self.found_in_traces(&agent, &part, &found.entries)
            });
            if let Err(rest) = found? {
                return Ok(rest);
            }
        }
        let size = if part.is_last { size } else { 0 };
        let done = TraceProgress { events: read + part.events, size };
        self.jobs.finish(LIBRARIAN, job.key, done.digest(), self.now())?;
        crash::point("librarian-marked");
        self.jobs.revive(LIBRARIAN, self.now())?;
        if !part.is_last {
            self.jobs.queue(LIBRARIAN, job.key, job.content, self.now(), self.now())?;
        }
        Ok(None)
    }

    /// What was found, for the agent's own memory: by its word, whoever it says has said it.
    fn found_in_traces(&self, agent: &str, part: &TracePart, found: &[CheckedEntry]) -> Proposals {
        let policy = self.workspace.agents.page(agent).unwrap_or_default();
        let wanted = found.iter().filter(|found| policy.finds(found.kind == MemoryKind::Preference));
        let proposals = wanted.map(|found| {
            let evidence = part.evidence(found.lines);
            let sources = evidence.iter().take(MOST_EVIDENCE).map(|id| trace_source(agent, id)).collect();
            proposal_of(found, sources, TrustLevel::Agent)
        });
        // By what is missing it must not see that it guessed right what it could not read.
        let owner = Owner::of(Request::new(Arc::clone(&self.workspace), Principal::Owner(None), Turn::default())).ok();
        Proposals {
            holder: MemoryScope::Agent(agent.to_owned()),
            who: LIBRARIAN,
            into: format!("agents/{agent}/"),
            reach: owner.and_then(|owner| owner.reach_of(agent)).unwrap_or(Scope::Everything),
            proposals: proposals.collect(),
        }
    }
}

/// Why nothing is sent.
const WITHHELD: &str =
    "the model is on another machine; traces are sent there only if `send_private` of `[memory]` is true";

impl Extraction {
    /// How the librarian of an agent is.
    ///
    /// # Errors
    /// When there is no such agent, or the state cannot be read.
    pub(crate) fn librarian_view(&self, owner: &Owner, slug: &str) -> Result<LibrarianView, RequestError> {
        let policy = owner.workspace().agents.page(slug);
        let absent = || RequestError::not_found(format!("there is no agent `{slug}`"));
        let policy = policy.ok_or_else(absent)?;
        let is_on = policy.librarian;
        let lane = self.state_mut().clone();
        let keys: HashSet<Digest> = self.trace_sources(slug).into_iter().map(|source| source.key).collect();
        let mut done = self.jobs.done_at(LIBRARIAN)?;
        done.retain(|(key, ..)| keys.contains(key));
        let mut jobs = self.jobs.all(LIBRARIAN)?;
        jobs.retain(|job| keys.contains(&job.key));
        let (dead, waiting): (Vec<&Job>, Vec<&Job>) = jobs.iter().partition(|job| job.is_dead);
        let (queued, dead, reason) =
            (waiting.len(), dead.len(), dead.iter().chain(&waiting).find_map(|job| job.reason.clone()));
        let memory = &self.workspace.config.memory;
        let (state, reason) = match &lane.model {
            _ if !is_on => ("off", None),
            _ if !policy.finds_any() => ("off", Some("both tasks that find entries are switched off".to_owned())),
            _ if !memory.enabled => ("off", Some("`enabled` of `[memory]` in memory.toml is false".to_owned())),
            None => ("off", Some("`model` of `[memory]` in memory.toml names no model".to_owned())),
            Some(Err(reason)) => ("stopped", Some(reason.clone())),
            Some(Ok(model)) if !model.takes_private() => ("withheld", Some(WITHHELD.to_owned())),
            Some(Ok(_)) if lane.stopped.is_some() => ("stopped", lane.stopped),
            Some(Ok(_)) if queued > 0 && lane.works => ("working", None),
            Some(Ok(_)) if queued + dead > 0 => ("waiting", reason),
            Some(Ok(_)) => ("idle", None),
        };
        Ok(LibrarianView {
            agent_name: slug.to_owned(),
            enabled: is_on,
            model: (!memory.model.is_empty()).then(|| memory.model.clone()),
            state: state.to_owned(),
            reason,
            last_run: done.iter().map(|(.., at)| *at).max().map(rfc3339),
            covered: done.iter().map(|(_, done, _)| TraceProgress::of(done).events).sum(),
            queued,
            dead,
            tasks: LIBRARIAN_TASKS.iter().map(|task| ((*task).to_owned(), policy.does(task))).collect(),
        })
    }

    /// Has all traces that wait read at once, and what was put aside tried again.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub(crate) fn run_librarian(&self, _: &Owner) -> Result<(), RequestError> {
        self.open_again();
        self.jobs.retry(LIBRARIAN, None, self.now())?;
        self.hurry();
        Ok(())
    }
}

/// Maximum tokens of a part, by our own estimate: what is sent of a question.
const MOST_TOKENS: usize = 5_000;
/// Maximum number of events of a part.
const MOST_EVENTS: u64 = 500;

/// A part of the events of a file.
#[derive(Debug, Default)]
struct TracePart {
    /// What was said, as turns of a conversation.
    text: String,
    /// Which event each of its lines is of: its lines, from 1, and its id.
    lines: Vec<(Range<usize>, String)>,
    /// So many events, with those that say nothing.
    events: u64,
    /// The day of the first.
    date: Option<String>,
    /// Whether no event follows.
    is_last: bool,
}

impl TracePart {
    /// The first of these events, as many as one question holds, and so many at most.
    fn next<E>(events: impl Iterator<Item = Result<Value, E>>, most: u64) -> Result<Self, E> {
        let (mut part, mut next_line, mut tokens) = (Self::default(), 1, 0);
        for event in events {
            let event = event?;
            let at = event["created_at"].as_f64().and_then(|at| Timestamp::from_millisecond((at * 1e3) as i64).ok());
            let at = at.unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::system());
            let block = said(&event).map(|(who, text)| turn_block(who, text, &at, at.date()) + "\n");
            tokens += block.as_deref().map_or(0, token_estimate);
            if part.events > 0 && (tokens > MOST_TOKENS || part.events >= most) {
                return Ok(part);
            }
            part.events += 1;
            part.date.get_or_insert_with(|| at.date().to_string());
            if let (Some(block), Some(id)) = (block, event["id"].as_str()) {
                let lines = next_line..next_line + block.lines().count();
                next_line = lines.end;
                part.lines.push((lines, id.to_owned()));
                part.text.push_str(&block);
            }
        }
        Ok(Self { is_last: true, ..part })
    }

    /// The events that some of its lines are of.
    fn evidence(&self, (first, last): (usize, usize)) -> Vec<String> {
        let meets = |lines: &Range<usize>| lines.start <= last && first < lines.end;
        self.lines.iter().filter(|(lines, _)| meets(lines)).map(|(_, id)| id.clone()).collect()
    }
}

/// Who says what in an event. What tools gave is anybody's, and what was sent to a model holds what was recalled.
fn said(event: &Value) -> Option<(&'static str, &str)> {
    let payload = &event["payload"];
    let (who, field) = match event["kind"].as_str()? {
        "message_in" => ("user", "text"),
        "message_out" => ("assistant", "content"),
        "reasoning" => ("assistant", "text"),
        "error" => ("assistant", "message"),
        _ => return None,
    };
    payload[field].as_str().filter(|text| !text.trim().is_empty()).map(|text| (who, text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text::derive::extraction::read_turns;

    fn event(id: &str, kind: &str, payload: Value) -> Value {
        json!({ "id": id, "kind": kind, "created_at": 1_772_447_400.0, "payload": payload })
    }

    fn next(events: &[Value]) -> TracePart {
        TracePart::next(events.iter().cloned().map(Ok::<_, ()>), MOST_EVENTS).unwrap()
    }

    #[test]
    fn what_was_said_is_told_with_its_events() {
        let part = next(&[
            event("a", "message_in", json!({ "text": "I like tea.\nAnd soup." })),
            event("b", "tool_result", json!({ "tool": "x", "result": "I like poison." })),
            event("c", "llm_call", json!({ "messages": [{ "content": "recalled" }] })),
            event("d", "message_out", json!({ "content": "Noted." })),
        ]);
        let turns = read_turns(&part.text, &[]);
        let lines: Vec<(usize, &str)> =
            turns.iter().flat_map(|turn| &turn.lines).map(|line| (line.number, line.text.as_str())).collect();
        assert_eq!(lines, [(2, "I like tea."), (3, "And soup."), (4, "Noted.")]);
        assert_eq!((part.evidence((2, 2)), part.evidence((3, 4))), (vec!["a".into()], vec!["a".into(), "d".into()]));
        assert_eq!((part.events, part.is_last, part.evidence((9, 9)).len()), (4, true, 0));
    }

    #[test]
    fn one_part_follows_the_other_until_all_was_read() {
        let said =
            |at: usize| json!({ "text": format!("This is what I said as number {at}, and some more words of it.") });
        let mut events: Vec<Value> = (0..1200).map(|at| event(&format!("e{at}"), "message_in", said(at))).collect();
        let mut parts = 0;
        while !events.is_empty() {
            let part = next(&events);
            assert!(part.events <= MOST_EVENTS && token_estimate(&part.text) <= MOST_TOKENS + 100);
            events.drain(..part.events as usize);
            assert_eq!(part.is_last, events.is_empty());
            parts += 1;
        }
        assert!(parts > 2, "{parts}");
    }
}
