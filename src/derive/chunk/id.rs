//! The name of a chunk.

use std::fmt;
use std::str::FromStr;

use crate::path::VaultPath;

/// The first 16 hexadecimal digits of a BLAKE3 over collection, path, heading path, text and, for repeats, ordinal.
///
/// It changes when the text changes, and stays when the text only moves within its section. The API calls it `hash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId(u64);

/// A text that is not 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a chunk's hash is 16 hexadecimal digits")]
pub struct ChunkIdError;

impl ChunkId {
    /// Names a chunk; `ordinal` counts those before it in the file that are the same in all else.
    pub(super) fn new(path: &VaultPath, heading_path: &[String], text: &str, ordinal: u32) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        part(path.collection().as_bytes());
        part(path.as_str().as_bytes());
        part(&(heading_path.len() as u64).to_le_bytes());
        heading_path.iter().for_each(|heading| part(heading.as_bytes()));
        part(text.as_bytes());
        if ordinal > 0 {
            part(&ordinal.to_le_bytes());
        }
        let digest = hasher.finalize();
        let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    /// Names a whole note by its path and the BLAKE3 of its bytes. No chunk has the same name.
    pub fn of_note(path: &VaultPath, hash: &[u8; 32]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("memory-vault: the name of a note");
        hasher.update(path.as_str().as_bytes()).update(hash);
        let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    /// The same bits as a number, for stores that keep numbers.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The inverse of [`ChunkId::to_bits`].
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for ChunkId {
    type Err = ChunkIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() != 16 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ChunkIdError);
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| ChunkIdError)
    }
}
