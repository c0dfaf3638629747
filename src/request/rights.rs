//! What who asks may read, by its page and by the session in which it asks.

use std::sync::Arc;

use super::Request;
use crate::access::{Caller, Policy, Principal, Scope, may_read};
use crate::config::ScopeConfig;

/// Whether `[scope]` lets an agent read in the session in which it asks.
pub(super) fn session_allows(config: &ScopeConfig, caller: &Caller) -> bool {
    if !caller.policy.session_headers {
        return may_read(config, &caller.session);
    }
    // Who says itself where it talks has to say it.
    caller.claimed.chat_type.is_some() && may_read(config, &caller.claimed)
}

impl Request {
    /// Whether `[scope]` lets it read in the session in which it is made.
    pub(super) fn is_of_open_session(&self) -> bool {
        match &self.principal {
            Principal::Agent(caller) => session_allows(&self.workspace.config().scope, caller),
            Principal::Owner | Principal::Capture(_) => true,
        }
    }

    /// What may be read of the person's memory.
    pub(super) fn reading_rights(&self) -> Scope {
        match &self.principal {
            Principal::Owner => Scope::Everything,
            Principal::Capture(_) => Scope::Nothing,
            Principal::Agent(caller) if self.is_of_open_session() && !self.is_over(&caller.policy) => {
                caller.policy.grant.clone().map_or(Scope::Nothing, |grant| Scope::Given(Arc::new(grant)))
            }
            Principal::Agent(_) => Scope::Nothing,
        }
    }

    /// What an agent may read of the agents' own memory: its own, and that of those who share theirs with it and have its in
    /// return. Nobody else has any.
    pub(super) fn own_rights(&self) -> Scope {
        let Principal::Agent(caller) = &self.principal else { return Scope::Nothing };
        let policy = &caller.policy;
        if !policy.problems.is_empty() || self.is_over(policy) || !self.is_of_open_session() {
            return Scope::Nothing;
        }
        let shares = |other: &String| {
            let theirs = self.workspace.agents().policy(other);
            *other != caller.slug && theirs.is_some_and(|theirs| theirs.shares_memory_with.contains(&caller.slug))
        };
        let others = policy.shares_memory_with.iter().filter(|other| shares(other)).cloned();
        Scope::Own {
            slugs: std::iter::once(caller.slug.clone()).chain(others).collect(),
            given: policy.grant.clone().map(Arc::new),
        }
    }

    /// The same without what others share with it.
    pub(super) fn rights_to_its_own(&self) -> Scope {
        match (self.own_rights(), &self.principal) {
            (Scope::Own { given, .. }, Principal::Agent(caller)) => {
                Scope::Own { slugs: vec![caller.slug.clone()], given }
            }
            _ => Scope::Nothing,
        }
    }

    fn is_over(&self, policy: &Policy) -> bool {
        policy.is_expired(self.at)
    }

    /// Why an agent may read nothing at all of the person's memory, if so.
    pub(super) fn refusal(&self) -> Option<String> {
        let Principal::Agent(caller) = &self.principal else { return None };
        let policy = &caller.policy;
        if self.is_over(policy) {
            return Some("there is no such agent".into());
        }
        if !self.is_of_open_session() {
            return Some("`[scope]` in memory.toml lets it read nothing in this session".into());
        }
        let problems = policy.problems.join("; ");
        match (&policy.grant, problems.is_empty()) {
            (Some(_), _) => None,
            (None, true) => Some("`can_read_user_memory` is not true".into()),
            (None, false) => Some(format!("its agent.md makes no sense: {problems}")),
        }
    }
}
