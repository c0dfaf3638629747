//! How the page comes to a token: the command line asks for a code over the Unix socket, and the page trades it.
//!
//! Both are kept as hashes, in memory alone: a restart of the daemon ends every session.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::access::{Authenticator, Principal, Token, TokenHash};

/// A code that was not traded by then is void.
const CODE_LIFE: Duration = Duration::from_secs(60);
/// Maximum time that a session stays without being used.
const IDLE: Duration = Duration::from_secs(12 * 3600);
/// Maximum number of codes that wait; the oldest gives way.
const MAX_CODES: usize = 8;
/// Maximum number of sessions; the oldest gives way.
const MAX_SESSIONS: usize = 64;

/// The codes that wait and the sessions that are open.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<IssuedSecrets>);

#[derive(Debug, Default)]
struct IssuedSecrets {
    codes: Vec<Secret>,
    sessions: Vec<Secret>,
}

/// What is recognised by its hash, and when it was made or last used.
#[derive(Debug)]
struct Secret {
    hash: TokenHash,
    at: Instant,
}

impl Sessions {
    /// Makes a code that can be traded once, within a minute.
    pub(super) fn code(&self, now: Instant) -> io::Result<Token> {
        add(&mut self.lock().codes, MAX_CODES, now)
    }

    /// Trades a code for the token of a new session; `None` when there is no such code any more.
    pub(super) fn trade(&self, code: &str, now: Instant) -> io::Result<Option<Token>> {
        let hash = Token::from_text(code).hash();
        let mut kept = self.lock();
        kept.codes.retain(|code| now.saturating_duration_since(code.at) < CODE_LIFE);
        let before = kept.codes.len();
        kept.codes.retain(|code| code.hash != hash);
        if kept.codes.len() == before {
            return Ok(None);
        }
        add(&mut kept.sessions, MAX_SESSIONS, now).map(Some)
    }

    /// Ends the session of a token.
    pub(super) fn end(&self, hash: &TokenHash) {
        self.lock().sessions.retain(|session| session.hash != *hash);
    }

    /// Whether a token is that of an open session, which counts as its use.
    fn knows(&self, hash: &TokenHash, now: Instant) -> bool {
        let mut kept = self.lock();
        kept.sessions.retain(|session| now.saturating_duration_since(session.at) < IDLE);
        let mut known = false;
        for session in &mut kept.sessions {
            if session.hash == *hash {
                (known, session.at) = (true, now);
            }
        }
        known
    }

    fn lock(&self) -> MutexGuard<'_, IssuedSecrets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Authenticator for Sessions {
    fn holder(&self, token: &TokenHash) -> Option<Principal> {
        self.knows(token, Instant::now()).then_some(Principal::Owner)
    }
}

fn add(secrets: &mut Vec<Secret>, at_most: usize, now: Instant) -> io::Result<Token> {
    let token = Token::random()?;
    if secrets.len() >= at_most
        && let Some(oldest) = secrets.iter().enumerate().min_by_key(|(_, secret)| secret.at).map(|(at, _)| at)
    {
        secrets.swap_remove(oldest);
    }
    secrets.push(Secret { hash: token.hash(), at: now });
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_traded_once_and_in_time() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let code = sessions.code(now).unwrap();
        assert!(sessions.trade("wrong", now).unwrap().is_none());
        assert!(!sessions.knows(&code.hash(), now), "a code opens nothing by itself");
        let token = sessions.trade(code.reveal(), now).unwrap().unwrap();
        assert!(sessions.trade(code.reveal(), now).unwrap().is_none(), "it was used");
        assert!(sessions.knows(&token.hash(), now) && !sessions.knows(&code.hash(), now));
        let late = sessions.code(now).unwrap();
        assert!(sessions.trade(late.reveal(), now + CODE_LIFE).unwrap().is_none(), "it is void");
    }

    #[test]
    fn a_session_ends_when_it_is_not_used() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let code = sessions.code(start).unwrap();
        let token = sessions.trade(code.reveal(), start).unwrap().unwrap().hash();
        let almost = IDLE - Duration::from_secs(1);
        assert!(sessions.knows(&token, start + almost) && sessions.knows(&token, start + almost * 2));
        assert!(!sessions.knows(&token, start + almost * 2 + IDLE));
        assert!(!sessions.knows(&token, start + almost * 2 + IDLE), "nor does asking again revive it");
    }

    #[test]
    fn there_are_never_more_than_so_many() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let mut tokens = Vec::new();
        for at in 0..=MAX_SESSIONS as u64 {
            let now = start + Duration::from_millis(at);
            let code = sessions.code(now).unwrap();
            tokens.push(sessions.trade(code.reveal(), now).unwrap().unwrap().hash());
        }
        let now = start + Duration::from_secs(1);
        let open = tokens.iter().filter(|token| sessions.knows(token, now)).count();
        assert_eq!((open, sessions.knows(&tokens[0], now)), (MAX_SESSIONS, false));
        let codes: Vec<Token> =
            (0..=MAX_CODES).map(|at| sessions.code(now + Duration::from_millis(at as u64)).unwrap()).collect();
        assert!(sessions.trade(codes[0].reveal(), now).unwrap().is_none());
        assert!(sessions.trade(codes[1].reveal(), now).unwrap().is_some());
    }
}
