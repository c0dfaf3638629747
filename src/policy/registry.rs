//! AgentRegistry' tokens, and whose each is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::log::ReadLog;
use super::policies::Policies;
use super::rate_limiter::RateLimiter;
use crate::access::{
    Authenticator, Caller, Holder, Policy, Principal, Session, Token, TokenFile, TokenFileError, TokenHash,
};
use crate::fs::{Context, FsError};

/// The agents of one vault.
#[derive(Debug)]
pub struct AgentRegistry {
    tokens: TokenFile<AgentToken>,
    policies: Policies,
    log: ReadLog,
    rates: Arc<RateLimiter>,
}

/// A token that was given to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentToken {
    /// The agent.
    pub slug: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// The session it is bound to.
    #[serde(default)]
    pub session: Session,
    /// What the agent's page gave when it was last looked at, to tell when it gives something else.
    #[serde(default)]
    given: serde_json::Value,
    /// Since when it gives that, as far as was looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_since: Option<Timestamp>,
    hash: TokenHash,
}

impl Holder for AgentToken {
    fn hash(&self) -> &TokenHash {
        &self.hash
    }
}

/// Why agents cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum AgentsError {
    /// The tokens cannot be read or written.
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    /// The system has no random numbers.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl AgentRegistry {
    /// The agents of the vault at `root`, with its state in `state`.
    pub fn new(root: PathBuf, state: &Path) -> Self {
        Self {
            tokens: TokenFile::new(state.join("agents.json")),
            policies: Policies::new(root),
            log: ReadLog::new(state.join("agents")),
            rates: Arc::default(),
        }
    }

    /// What each may do.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// What each has read.
    pub fn log(&self) -> &ReadLog {
        &self.log
    }

    /// How often each asks.
    pub fn rates(&self) -> &Arc<RateLimiter> {
        &self.rates
    }

    /// Gives an agent a token, in place of the one it had. It is shown this once.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn give_token(&self, slug: &str, session: Option<Session>) -> Result<Token, AgentsError> {
        let given = self.policies.given(slug).unwrap_or_default();
        self.tokens.change(|tokens| {
            let token = Token::random().on("make a token for", self.tokens.path())?;
            let before = tokens.iter().find(|known| known.slug == slug).map(|known| known.session.clone());
            tokens.retain(|known| known.slug != slug);
            tokens.push(AgentToken {
                slug: slug.to_owned(),
                created_at: Timestamp::now(),
                session: session.or(before).unwrap_or_else(Session::direct),
                given,
                given_since: None,
                hash: token.hash(),
            });
            Ok(token)
        })
    }

    /// Takes an agent's token back: it counts no more, from this moment. Tells whether it had one.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn take_token(&self, slug: &str) -> Result<bool, AgentsError> {
        self.tokens.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|token| token.slug != slug);
            Ok(tokens.len() < before)
        })
    }

    /// The token that an agent was given, if any.
    ///
    /// # Errors
    /// When the tokens cannot be read.
    pub fn token_of(&self, slug: &str) -> Result<Option<AgentToken>, AgentsError> {
        Ok(self.tokens.list()?.into_iter().find(|token| token.slug == slug))
    }

    /// An agent as the person's own processes name it; `None` when there is none of that name, or its time is over.
    pub fn named(&self, slug: &str) -> Option<Caller> {
        let policy = self.policy(slug)?;
        let token = self.token_of(slug).ok().flatten();
        token.iter().for_each(|token| self.watch_page(token));
        Some(Caller::new(slug, token.map_or_else(Session::direct, |token| token.session), policy))
    }

    /// What an agent may do now; `None` when there is no such agent, or its time is over.
    pub fn policy(&self, slug: &str) -> Option<Arc<Policy>> {
        self.policies.of(slug).filter(|policy| !policy.is_expired(Timestamp::now()))
    }

    /// Looks at an agent's page, so that what it gives from now on is told from what it gave: rights that were taken back and come
    /// again with a checkout are in the log.
    pub fn look_at_page(&self, slug: &str) {
        if let Ok(Some(token)) = self.token_of(slug) {
            self.watch_page(&token);
        }
    }

    /// Notes in the log when an agent's page gives something else than when it was last looked at.
    fn watch_page(&self, known: &AgentToken) {
        let Some(given) = self.policies.given(&known.slug).filter(|given| *given != known.given) else { return };
        let noted: Result<bool, AgentsError> = self.tokens.change(|tokens| {
            let stale = tokens.iter_mut().find(|token| token.hash == known.hash && token.given == known.given);
            Ok(stale.map(|token| (token.given, token.given_since) = (given.clone(), Some(Timestamp::now()))).is_some())
        });
        match noted {
            Ok(true) => {
                tracing::info!("agents/{}/agent.md now gives {given}, before {}", known.slug, known.given);
                self.log.page_changed(&known.slug, &known.given, &given);
            }
            Ok(false) => {}
            Err(error) => tracing::warn!("{error}"),
        }
    }
}

impl Authenticator for AgentRegistry {
    fn holder(&self, token: &TokenHash) -> Option<Principal> {
        let known = self.tokens.holder(token)?;
        let policy = self.policy(&known.slug)?;
        self.watch_page(&known);
        Some(Principal::Agent(Caller::new(known.slug, known.session, policy)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::agent_page;

    #[test]
    fn a_token_counts_while_its_agent_is_there() {
        let vault = tempfile::tempdir().unwrap();
        let agents = AgentRegistry::new(vault.path().to_owned(), &vault.path().join(".vault/state"));
        let page = vault.path().join("agents/ada/agent.md");
        std::fs::create_dir_all(page.parent().unwrap()).unwrap();
        let write = |set: serde_json::Value| {
            std::fs::write(&page, agent_page("Ada", "2026-01-01", set.as_object().unwrap())).unwrap();
        };
        write(serde_json::json!({}));
        let first = agents.give_token("ada", None).unwrap();
        assert!(matches!(agents.holder(&first.hash()), Some(Principal::Agent(ada)) if ada.slug == "ada"));
        let second = agents.give_token("ada", None).unwrap();
        assert!(agents.holder(&first.hash()).is_none(), "one token an agent");
        assert!(agents.holder(&second.hash()).is_some());
        write(serde_json::json!({ "expires": "2020-01-01" }));
        assert!(agents.holder(&second.hash()).is_none(), "its time is over");
        write(serde_json::json!({ "can_read_user_memory": true }));
        assert!(agents.holder(&second.hash()).is_some());
        let said = agents.log().entries("ada", 10).unwrap();
        assert!(said.iter().any(|entry| entry.what == "page"), "that it was given more is logged: {said:?}");
        std::fs::remove_file(&page).unwrap();
        assert!(agents.holder(&second.hash()).is_none(), "without its page it is nobody");
        write(serde_json::json!({}));
        assert!(agents.take_token("ada").unwrap());
        assert!(agents.holder(&second.hash()).is_none());
    }
}
