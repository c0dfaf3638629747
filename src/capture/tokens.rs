//! Tokens of programs that say what happens, and read nothing.

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::{Authenticator, Holder, Principal, Token, TokenFile, TokenFileError, TokenHash};
use crate::fs::{Context, FsError};

/// The tokens of one vault, kept as hashes.
#[derive(Debug)]
pub(crate) struct CaptureTokens(TokenFile<CaptureToken>);

/// A token that was given out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CaptureToken {
    /// Which program has it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    hash: TokenHash,
}

impl Holder for CaptureToken {
    fn hash(&self) -> &TokenHash {
        &self.hash
    }
}

/// Why the tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokensError {
    /// The name is not one.
    #[error("`{0}` is no name for a program: it takes up to 40 letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// Another has the name.
    #[error("there is a token `{0}` already; `vault token remove {0}` takes it back")]
    Exists(String),
    /// None has the name.
    #[error("there is no token `{0}`; `vault token list` names those there are")]
    NotFound(String),
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] TokenFileError),
    /// The system has no random numbers.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl CaptureTokens {
    /// Those kept in the folder of a vault's state.
    pub(crate) fn new(state: &Path) -> Self {
        Self(TokenFile::new(state.join("tokens.json")))
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
        self.0.change(|tokens| {
            if tokens.iter().any(|token| token.name == name) {
                return Err(TokensError::Exists(name.to_owned()));
            }
            let token = Token::random().on("make a token for", self.0.path())?;
            tokens.push(CaptureToken { name: name.to_owned(), created_at: Timestamp::now(), hash: token.hash() });
            Ok(token)
        })
    }

    /// Takes a token back: it counts no more, from this moment.
    ///
    /// # Errors
    /// When there is none of that name, or the disk refuses.
    pub(crate) fn remove(&self, name: &str) -> Result<(), TokensError> {
        self.0.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|token| token.name != name);
            if tokens.len() < before { Ok(()) } else { Err(TokensError::NotFound(name.to_owned())) }
        })
    }

    /// All of them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn list(&self) -> Result<Vec<CaptureToken>, TokensError> {
        Ok(self.0.list()?)
    }
}

impl Authenticator for CaptureTokens {
    fn holder(&self, token: &TokenHash) -> Option<Principal> {
        Some(Principal::Capture(self.0.holder(token)?.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_counts_until_it_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, others) = (CaptureTokens::new(folder.path()), CaptureTokens::new(folder.path()));
        let token = others.add("browser").unwrap();
        assert!(matches!(ours.holder(&token.hash()), Some(Principal::Capture(name)) if name == "browser"));
        assert!(ours.holder(&Token::from_text("x").hash()).is_none());
        assert!(matches!(others.add("browser"), Err(TokensError::Exists(_))));
        for bad in ["", "a b", "../x", "ä", &"x".repeat(41)] {
            assert!(matches!(others.add(bad), Err(TokensError::Name(_))), "{bad}");
        }
        let text = std::fs::read_to_string(folder.path().join("tokens.json")).unwrap();
        assert!(!text.contains(token.reveal()));
        others.remove("browser").unwrap();
        assert!(matches!(others.remove("browser"), Err(TokensError::NotFound(_))));
        assert!(ours.holder(&token.hash()).is_none());
        std::fs::write(folder.path().join("tokens.json"), "{").unwrap();
        assert!(ours.holder(&token.hash()).is_none());
        assert!(others.list().is_err());
    }
}
