//! What a principal sees: the files of one state of the index, and how much of them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::error::ServiceError;
use super::start::Service;
use crate::access::{Caller, Policy, Principal, Scope, Turn, may_read};
use crate::agents::LogEntry;
use crate::engine::{FileEntry, Reader};
use crate::search::Visible;
use crate::vault::{Quota, Stamp};

/// What a principal sees of one state of the index. Every read goes through one.
pub(super) struct Reach {
    pub(super) snapshot: Arc<dyn Reader>,
    pub(super) visible: Visible,
    /// An agent's; the person has none.
    pub(super) limits: Option<Limits>,
    /// Whether anybody waits for what is read.
    pub(super) turn: Turn,
}

/// How much an agent gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Results of one answer.
    pub max_results: usize,
    /// Characters of a snippet.
    pub max_snippet_chars: usize,
    /// Characters of all that one answer gives of notes: texts, titles, headings, tags, frontmatter.
    pub max_injected_chars: usize,
    /// After this an answer is given up.
    pub timeout: Duration,
    /// Requests a minute.
    pub requests_per_minute: u32,
    /// Files of its own memory.
    pub max_files: usize,
    /// What it may write, and have kept of that.
    pub quota: Quota,
}

impl Reach {
    /// The files that are seen, in no particular order.
    pub(super) fn files(&self) -> impl Iterator<Item = &Arc<FileEntry>> {
        self.snapshot.files().iter().filter(|file| self.visible.has(file))
    }

    /// The file at a path, if it is seen; differences of Unicode normalisation do not count.
    pub(super) fn file(&self, path: &str) -> Option<&Arc<FileEntry>> {
        let exact = self.snapshot.files().at(path).filter(|file| self.visible.has(file));
        exact.or_else(|| self.files().find(|file| file.path.same_as(path)))
    }

    /// Ends what nobody waits for any more.
    pub(super) fn go_on(&self) -> Result<(), ServiceError> {
        if self.turn.is_over() {
            return Err(ServiceError::unavailable("the answer took too long", "ask for less"));
        }
        Ok(())
    }

    /// Whether the answer is an agent's, who is told nothing of what it does not see.
    pub(super) fn is_agents(&self) -> bool {
        self.limits.is_some()
    }

    /// Embedded passages, and those that have something to embed.
    pub(super) fn embedded(&self) -> (usize, usize) {
        self.snapshot.embedded(self.visible.set())
    }
}

impl Service {
    /// What a principal may read of the person's memory.
    pub fn scope_of(&self, principal: &Principal) -> Scope {
        match principal {
            Principal::Owner => Scope::Everything,
            Principal::Capture(_) => Scope::Nothing,
            Principal::Agent(caller) => match self.policy_of(caller) {
                Some(policy) if self.session_allows(caller, &policy) => {
                    policy.grant.clone().map_or(Scope::Nothing, |grant| Scope::Given(Arc::new(grant)))
                }
                _ => Scope::Nothing,
            },
        }
    }

    /// What an agent may read of the agents' own memory: its own, and that of those who share theirs with it and have its in
    /// return. Nobody else has any.
    pub fn own_scope_of(&self, principal: &Principal) -> Scope {
        let Principal::Agent(caller) = principal else { return Scope::Nothing };
        let sound = |policy: &Arc<Policy>| policy.problems.is_empty() && self.session_allows(caller, policy);
        let Some(policy) = self.policy_of(caller).filter(sound) else {
            return Scope::Nothing;
        };
        let shares = |other: &String| {
            let theirs = self.agents.policy(other);
            *other != caller.slug && theirs.is_some_and(|theirs| theirs.shares_memory_with.contains(&caller.slug))
        };
        let others = policy.shares_memory_with.iter().filter(|other| shares(other)).cloned();
        Scope::Own {
            slugs: std::iter::once(caller.slug.clone()).chain(others).collect(),
            given: policy.grant.clone().map(Arc::new),
        }
    }

    /// Logs what an agent asked, and which places it was given. What the person asks is nobody's business.
    pub fn log_read(&self, principal: &Principal, what: &str, query: &str, given: Vec<String>) {
        let Principal::Agent(caller) = principal else { return };
        let refused = given.is_empty().then(|| self.refusal_of(caller)).flatten();
        self.agents.log().add(&caller.slug, &LogEntry { refused, ..LogEntry::now(what, query, given) });
    }

    /// Why an agent may read nothing at all of the person's memory, if so.
    fn refusal_of(&self, caller: &Caller) -> Option<String> {
        let Some(policy) = self.policy_of(caller) else { return Some("there is no such agent".into()) };
        if !self.session_allows(caller, &policy) {
            return Some("`[scope]` in memory.toml lets it read nothing in this session".into());
        }
        let problems = policy.problems.join("; ");
        match (&policy.grant, problems.is_empty()) {
            (Some(_), _) => None,
            (None, true) => Some("`can_read_user_memory` is not true".into()),
            (None, false) => Some(format!("its agent.md makes no sense: {problems}")),
        }
    }

    /// What an agent's page said when its request came, or says now; `None` when there is none, or its time is over.
    pub(super) fn policy_of(&self, caller: &Caller) -> Option<Arc<Policy>> {
        caller.policy.0.clone().or_else(|| self.agents.policy(&caller.slug))
    }

    /// Whether `[scope]` lets an agent read in the session in which it asks.
    pub(super) fn session_allows(&self, caller: &Caller, policy: &Policy) -> bool {
        if !policy.session_headers {
            return may_read(&self.config.scope, &caller.session);
        }
        // Who says itself where it talks has to say it.
        caller.claimed.chat_type.is_some() && may_read(&self.config.scope, &caller.claimed)
    }

    /// How much a principal gets; the person gets all.
    pub fn limits_of(&self, principal: &Principal) -> Option<Limits> {
        let Principal::Agent(caller) = principal else { return None };
        let config = &self.config.agents;
        let own = self.policy_of(caller).map(|policy| policy.limits.clone()).unwrap_or_default();
        Some(Limits {
            max_results: own.max_results.unwrap_or(config.max_results),
            max_snippet_chars: own.max_snippet_chars.unwrap_or(config.max_snippet_chars),
            max_injected_chars: own.max_injected_chars.unwrap_or(config.max_injected_chars),
            timeout: Duration::from_millis(own.timeout_ms.unwrap_or(config.timeout_ms)),
            requests_per_minute: own.requests_per_minute.unwrap_or(config.requests_per_minute),
            max_files: own.max_files.unwrap_or(config.max_files),
            quota: Quota {
                checkpoints: own.max_checkpoints.unwrap_or(config.max_checkpoints),
                checkpoint_bytes: own.max_checkpoint_bytes.unwrap_or(config.max_checkpoint_bytes),
                written_bytes_per_day: own.max_written_bytes_per_day.unwrap_or(config.max_written_bytes_per_day),
            },
        })
    }

    /// What a principal sees of the person's memory now.
    pub(super) fn reach(&self, principal: &Principal) -> Result<Reach, ServiceError> {
        self.reach_of(principal, &self.scope_of(principal))
    }

    /// What a principal sees of a scope of its own now.
    pub(super) fn reach_of(&self, principal: &Principal, scope: &Scope) -> Result<Reach, ServiceError> {
        let snapshot = self.snapshot()?;
        let visible = Visible::of(scope, snapshot.files());
        Ok(Reach { visible, limits: self.limits_of(principal), snapshot, turn: turn_of(principal) })
    }

    /// What a principal sees, less what has changed since it was indexed: an agent is told of it when it has been read again,
    /// as it may have become private. Looks at every file; searches look at those they give alone.
    pub(super) fn settled_reach(&self, principal: &Principal) -> Result<Reach, ServiceError> {
        let mut reach = self.reach(principal)?;
        if reach.is_agents() {
            let mut changed = Vec::new();
            for file in reach.files() {
                reach.go_on()?;
                if !self.is_as_indexed(&reach, file) {
                    changed.push(Arc::clone(file));
                }
            }
            changed.iter().for_each(|file| reach.visible.hide(file));
        }
        Ok(reach)
    }

    /// Whether a file, and what it was made of, is on disk as it was indexed.
    pub(super) fn is_as_indexed(&self, reach: &Reach, file: &FileEntry) -> bool {
        let (mut left, mut looked) = (vec![file], HashSet::new());
        while let Some(file) = left.pop() {
            if !self.has_stamp(file) {
                return false;
            }
            let sources = file.sources.iter().filter_map(|source| reach.snapshot.files().at(source));
            left.extend(sources.map(AsRef::as_ref).filter(|source| looked.insert(source.id)));
        }
        true
    }

    fn has_stamp(&self, file: &FileEntry) -> bool {
        let on_disk = self.outside.on_disk(self.home.root(), &file.path);
        on_disk.symlink_metadata().is_ok_and(|meta| Stamp::of(&meta) == file.stamp)
    }
}

/// What tells whether anybody waits for an answer: the person does.
pub(super) fn turn_of(principal: &Principal) -> Turn {
    match principal {
        Principal::Agent(caller) => caller.turn.clone(),
        Principal::Owner | Principal::Capture(_) => Turn::default(),
    }
}
