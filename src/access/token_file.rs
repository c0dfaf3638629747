//! A file of tokens, kept as hashes, that several processes read and change.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::TokenHash;
use crate::fs::{Context, FsError, create_private_dir, write_atomically};

/// Somebody who was given a token.
pub(crate) trait Holder: Serialize + DeserializeOwned + Clone {
    /// What the token is known by.
    fn hash(&self) -> &TokenHash;
}

/// A file of those who were given a token.
#[derive(Debug)]
pub(crate) struct TokenFile<T> {
    path: PathBuf,
    known: Mutex<(Option<Stamp>, Vec<T>)>,
}

type Stamp = (u64, Option<SystemTime>, u64);

/// Why the tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
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

impl<T: Holder> TokenFile<T> {
    /// The file at a path; it need not be there.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, known: Mutex::new((None, Vec::new())) }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// All of them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn list(&self) -> Result<Vec<T>, TokenFileError> {
        match std::fs::read(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|source| TokenFileError::Damaged { path: self.path.clone(), source }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Ok(Err(error).on("read", &self.path)?),
        }
    }

    /// Changes them, one process after the other.
    ///
    /// # Errors
    /// What `how` returns, and when the disk refuses.
    pub(crate) fn change<U, E: From<TokenFileError>>(
        &self,
        how: impl FnOnce(&mut Vec<T>) -> Result<U, E>,
    ) -> Result<U, E> {
        let _lock = self.lock().map_err(TokenFileError::from)?;
        let mut holders = self.list()?;
        let done = how(&mut holders)?;
        let text = serde_json::to_vec_pretty(&holders).map_err(std::io::Error::other).on("encode", &self.path);
        let written = text.and_then(|text| write_atomically(&self.path, &text, 0o600));
        written.map_err(TokenFileError::from)?;
        Ok(done)
    }

    fn lock(&self) -> Result<File, FsError> {
        create_private_dir(self.path.parent().unwrap_or(Path::new(".")))?;
        let path = self.path.with_extension("lock");
        let lock = File::options().write(true).create(true).truncate(false).open(&path).on("open", &path)?;
        lock.lock().on("lock", &path)?;
        Ok(lock)
    }

    /// Who a token was given to. The file is read again when it has changed; while it cannot be read, nobody has one.
    pub(crate) fn holder(&self, token: &TokenHash) -> Option<T> {
        let stamp = self.path.metadata().ok().map(|meta| {
            #[cfg(unix)]
            let number = std::os::unix::fs::MetadataExt::ino(&meta);
            #[cfg(not(unix))]
            let number = 0;
            (meta.len(), meta.modified().ok(), number)
        });
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if stamp != known.0 {
            match self.list() {
                Ok(holders) => *known = (stamp, holders),
                // Looked at again at the next request: it may have been a passing trouble.
                Err(error) => {
                    tracing::warn!("{error}");
                    return None;
                }
            }
        }
        // All are compared, so that the time tells nothing of the place.
        known.1.iter().fold(None, |found, holder| if holder.hash() == token { Some(holder.clone()) } else { found })
    }
}
