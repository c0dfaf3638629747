//! Tokens of programs that say what happens, and read nothing.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::{Keys, Principal, Token, TokenHash};
use crate::fs::{Context, FsError, create_private_dir, write_atomically};

/// The tokens of one vault, kept as hashes.
#[derive(Debug)]
pub struct CaptureTokens {
    path: PathBuf,
    known: Mutex<(Option<Stamp>, Vec<CaptureToken>)>,
}

type Stamp = (u64, Option<SystemTime>, u64);

/// A token that was given out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaptureToken {
    /// Which program has it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    hash: TokenHash,
}

/// Why the tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// The name is not one.
    #[error("`{0}` is no name for a program: it takes up to 40 letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// Another has the name.
    #[error("there is a token `{0}` already; `vault token remove {0}` takes it back")]
    Exists(String),
    /// None has the name.
    #[error("there is no token `{0}`; `vault token list` names those there are")]
    NotFound(String),
    /// The file is not as this program writes it.
    #[error("{}: {source}. Remove it, and give out new tokens", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// The disk refused.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl CaptureTokens {
    /// Those kept in the folder of a vault's state.
    pub fn new(state: &Path) -> Self {
        Self { path: state.join("tokens.json"), known: Mutex::default() }
    }

    /// Makes a token for a program. It is shown this once.
    ///
    /// # Errors
    /// When the name is taken or is none, or the disk refuses.
    pub fn add(&self, name: &str) -> Result<Token, TokensError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 40 || !name.chars().all(fits) {
            return Err(TokensError::Name(name.to_owned()));
        }
        self.change(|tokens| {
            if tokens.iter().any(|token| token.name == name) {
                return Err(TokensError::Exists(name.to_owned()));
            }
            let token = Token::random().on("make a token for", &self.path)?;
            tokens.push(CaptureToken { name: name.to_owned(), created_at: Timestamp::now(), hash: token.hash() });
            Ok(token)
        })
    }

    /// Takes a token back: it counts no more, from this moment.
    ///
    /// # Errors
    /// When there is none of that name, or the disk refuses.
    pub fn remove(&self, name: &str) -> Result<(), TokensError> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|token| token.name != name);
            if tokens.len() < before { Ok(()) } else { Err(TokensError::NotFound(name.to_owned())) }
        })
    }

    /// All of them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn list(&self) -> Result<Vec<CaptureToken>, TokensError> {
        match std::fs::read(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|source| TokensError::Damaged { path: self.path.clone(), source }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Ok(Err(error).on("read", &self.path)?),
        }
    }

    /// Changes the file, one process after the other.
    fn change<T>(&self, how: impl FnOnce(&mut Vec<CaptureToken>) -> Result<T, TokensError>) -> Result<T, TokensError> {
        create_private_dir(self.path.parent().unwrap_or(Path::new(".")))?;
        let lock_path = self.path.with_extension("lock");
        let lock = File::options().write(true).create(true).truncate(false).open(&lock_path).on("open", &lock_path)?;
        lock.lock().on("lock", &lock_path)?;
        let mut tokens = self.list()?;
        let done = how(&mut tokens)?;
        let text = serde_json::to_vec_pretty(&tokens).map_err(std::io::Error::other).on("encode", &self.path)?;
        write_atomically(&self.path, &text, 0o600)?;
        Ok(done)
    }
}

impl Keys for CaptureTokens {
    /// Looks at the file again when it has changed. What cannot be read lets nobody in.
    fn holder(&self, token: &TokenHash) -> Option<Principal> {
        let stamp = self.path.metadata().ok().map(|meta| {
            #[cfg(unix)]
            let number = std::os::unix::fs::MetadataExt::ino(&meta);
            #[cfg(not(unix))]
            let number = 0;
            (meta.len(), meta.modified().ok(), number)
        });
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if stamp != known.0 {
            let tokens = self.list().unwrap_or_else(|error| {
                tracing::warn!("{error}");
                Vec::new()
            });
            *known = (stamp, tokens);
        }
        known.1.iter().find(|known| known.hash == *token).map(|known| Principal::Capture(known.name.clone()))
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
        assert_eq!(ours.holder(&token.hash()), Some(Principal::Capture("browser".into())));
        assert_eq!(ours.holder(&Token::from_text("x").hash()), None);
        assert!(matches!(others.add("browser"), Err(TokensError::Exists(_))));
        for bad in ["", "a b", "../x", "ä", &"x".repeat(41)] {
            assert!(matches!(others.add(bad), Err(TokensError::Name(_))), "{bad}");
        }
        let text = std::fs::read_to_string(folder.path().join("tokens.json")).unwrap();
        assert!(!text.contains(token.reveal()));
        others.remove("browser").unwrap();
        assert!(matches!(others.remove("browser"), Err(TokensError::NotFound(_))));
        assert_eq!(ours.holder(&token.hash()), None);
        std::fs::write(folder.path().join("tokens.json"), "{").unwrap();
        assert_eq!(ours.holder(&token.hash()), None);
        assert!(others.list().is_err());
    }
}
