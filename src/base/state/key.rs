//! The key of digests: what was forgotten, and what files were, can be told again by who has it, and guessed by nobody else.
//!
//! It is a file of its own beside the database, so that the one says nothing without the other.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::schema::damaged;
use super::store::{State, StateError};
use crate::base::fs::{Context, create_private_dir, move_new, sync_folder, write_atomically, write_beside};

/// What the file is called. Its first 32 bytes are the key that counts; behind them are those of other vaults whose tombstones came along.
pub(super) const KEY: &str = "forgotten.key";
/// Maximum number of keys: each is asked for each text.
const MAX_KEYS: usize = 64;

/// Makes digests.
#[derive(Clone)]
pub struct DigestKey(pub(super) [u8; 32]);

impl std::fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DigestKey(…)")
    }
}

/// 128 bits of a BLAKE3.
pub type Digest = [u8; 16];

/// The digest of some bytes, which anybody can make.
pub fn digest_of(bytes: &[u8]) -> Digest {
    cut(&blake3::hash(bytes))
}

/// The beginning of a hash.
pub fn cut(hash: &blake3::Hash) -> Digest {
    hash.as_bytes().first_chunk().copied().unwrap_or_default()
}

/// 64 bits of a BLAKE3 of some parts. Every part says its own length.
pub fn hash_of(parts: &[&[u8]]) -> u64 {
    hashed(blake3::Hasher::new(), parts).as_bytes().first_chunk().copied().map_or(0, u64::from_le_bytes)
}

fn hashed(mut hasher: blake3::Hasher, parts: &[&[u8]]) -> blake3::Hash {
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hasher.finalize()
}

impl DigestKey {
    /// One that no vault has.
    pub(crate) fn of(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest of something. What it is of (`kind`) counts, so that one is never taken for another's.
    pub fn digest(&self, kind: &str, parts: &[&[u8]]) -> Digest {
        cut(&hashed(blake3::Hasher::new_keyed(&self.0), &[&[kind.as_bytes()], parts].concat()))
    }

    /// Tells it from other keys.
    pub(super) fn name(&self) -> i64 {
        let name = blake3::derive_key("memory-vault 2026 name of a key of digests", &self.0);
        name.first_chunk().copied().map_or(0, i64::from_le_bytes)
    }
}

impl State {
    /// The key, if there is one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn key(&self) -> Result<Option<DigestKey>, StateError> {
        Ok(self.keys()?.into_iter().next())
    }

    /// The key, and behind it those of other vaults whose tombstones came along; none where there is none.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn keys(&self) -> Result<Vec<DigestKey>, StateError> {
        Ok(self.key_bytes()?.into_iter().map(DigestKey).collect())
    }

    /// Keeps keys of other vaults behind its own, or as its own where there is none. Those that are there stay as they are.
    pub(super) fn add_keys(&self, others: &[[u8; 32]]) -> Result<(), StateError> {
        let mut keys = self.key_bytes()?;
        let before = keys.len();
        for other in others {
            if !keys.contains(other) {
                keys.push(*other);
            }
        }
        if keys.len() > MAX_KEYS {
            return Err(damaged(&self.key_file(), &format!("it would have more than {MAX_KEYS} keys")));
        }
        if keys.len() > before {
            create_private_dir(self.folder())?;
            write_atomically(&self.key_file(), &keys.concat(), 0o600)?;
        }
        Ok(())
    }

    /// The key, which is made and safe on disk when there is none.
    ///
    /// # Errors
    /// When it can be neither read nor made.
    pub fn key_or_new(&self) -> Result<DigestKey, StateError> {
        if let Some(key) = self.key()? {
            return Ok(key);
        }
        create_private_dir(self.folder())?;
        let _one = self.lock()?;
        if let Some(key) = self.key()? {
            return Ok(key);
        }
        let mut key = [0; 32];
        let path = self.key_file();
        getrandom::fill(&mut key).map_err(std::io::Error::from).on("make", &path)?;
        // What was cut short is no key, and nothing was ever made with it.
        if path.exists() {
            let aside = path.with_extension("key.damaged");
            self.say(format!("{} is not a key; it was moved to {}", path.display(), aside.display()));
            std::fs::rename(&path, &aside).on("rename", &path)?;
        }
        let beside = write_beside(self.folder(), &key, Some(0o600))?;
        move_new(&beside, &path).inspect_err(|_| drop(std::fs::remove_file(&beside)))?;
        sync_folder(&path)?;
        Ok(DigestKey(key))
    }

    /// Where the key is.
    pub(super) fn key_file(&self) -> PathBuf {
        self.folder().join(KEY)
    }

    /// The keys as they are kept.
    pub(super) fn key_bytes(&self) -> Result<Vec<[u8; 32]>, StateError> {
        let path = self.key_file();
        match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            bytes => Ok(keys_of(&bytes.on("read", &path)?).unwrap_or_default()),
        }
    }
}

/// The keys that a file has; `None` where it is no file of keys.
pub(super) fn keys_of(bytes: &[u8]) -> Option<Vec<[u8; 32]>> {
    let (keys, rest) = bytes.as_chunks::<32>();
    (rest.is_empty() && (1..=MAX_KEYS).contains(&keys.len())).then(|| keys.to_vec())
}
