//! Tokens of programs that say what happens, and read nothing.

use std::sync::Arc;

use jiff::Timestamp;

use crate::access::rules::{Authenticator, Principal, Token, TokenHash};
use crate::base::state::{State, StateError, TokenRow, TokenTable};

/// The tokens of one vault, kept as hashes.
#[derive(Debug)]
pub(crate) struct CaptureTokens(TokenTable);

/// Why the tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokensError {
    /// The name is not one.
    #[error("`{0}` cannot be the name of a program: use up to 40 letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// Another has the name.
    #[error("the token `{0}` already exists; `vault token remove {0}` revokes it")]
    Exists(String),
    /// None has the name.
    #[error("there is no token `{0}`; `vault token list` lists all tokens")]
    NotFound(String),
    /// They cannot be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// The system has no random numbers.
    #[error("cannot get random numbers from the system: {0}")]
    Random(std::io::Error),
}

impl CaptureTokens {
    /// Those of a vault's state.
    pub(crate) fn new(state: &Arc<State>) -> Self {
        Self(TokenTable::new(state))
    }

    /// Makes a token for a program. It is shown this once.
    ///
    /// # Errors
    /// When the name is taken or is none, or the disk refuses.
    pub(crate) fn add(&self, name: &str) -> Result<Token, TokensError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 40 || !name.chars().all(fits) {
            return Err(TokensError::Name(name.to_owned()));
        }
        let token = Token::random().map_err(TokensError::Random)?;
        let row = TokenRow { name: name.to_owned(), created_at: Timestamp::now(), hash: (&token.hash()).into() };
        if self.0.add(&row)? { Ok(token) } else { Err(TokensError::Exists(name.to_owned())) }
    }

    /// Takes a token back: it counts no more, from this moment.
    ///
    /// # Errors
    /// When there is none of that name, or the disk refuses.
    pub(crate) fn remove(&self, name: &str) -> Result<(), TokensError> {
        if self.0.remove(name)? { Ok(()) } else { Err(TokensError::NotFound(name.to_owned())) }
    }

    /// All of them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn list(&self) -> Result<Arc<[TokenRow]>, StateError> {
        self.0.list()
    }
}

impl Authenticator for CaptureTokens {
    /// While they cannot be read, nobody has one.
    fn holder(&self, token: &TokenHash) -> Option<Principal> {
        let holder = self.0.holder(&token.into()).inspect_err(|error| tracing::warn!("{error}"));
        Some(Principal::Capture(holder.ok().flatten()?.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_counts_until_it_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let (ours, others) = (CaptureTokens::new(&state), CaptureTokens::new(&State::in_folder(folder.path())));
        let token = others.add("browser").unwrap();
        assert!(matches!(ours.holder(&token.hash()), Some(Principal::Capture(name)) if name == "browser"));
        assert!(ours.holder(&Token::from_text("x").hash()).is_none());
        assert!(matches!(others.add("browser"), Err(TokensError::Exists(_))));
        for bad in ["", "a b", "../x", "ä", &"x".repeat(41)] {
            assert!(matches!(others.add(bad), Err(TokensError::Name(_))), "{bad}");
        }
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(token.reveal()));
        }
        others.remove("browser").unwrap();
        assert!(matches!(others.remove("browser"), Err(TokensError::NotFound(_))));
        assert!(ours.holder(&token.hash()).is_none());
    }

    #[test]
    fn tokens_that_cannot_be_read_let_nobody_in_and_new_ones_can_be_made() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let token = CaptureTokens::new(&state).add("browser").unwrap();
        std::fs::write(state.file(), "{").unwrap();
        let tokens = CaptureTokens::new(&state);
        assert!(tokens.holder(&token.hash()).is_none());
        assert!(state.trouble().is_some_and(|trouble| trouble.contains("state.db.damaged")), "{:?}", state.trouble());
        assert_eq!(std::fs::read(state.put_aside().unwrap()).unwrap(), b"{");
        let token = tokens.add("browser").unwrap();
        assert!(matches!(tokens.holder(&token.hash()), Some(Principal::Capture(name)) if name == "browser"));
    }
}
