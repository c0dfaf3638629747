//! What the end of an archive says of the whole.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Where the manifest is in the archive: always the last entry.
pub(super) const PATH: &str = ".vault/export.json";

/// The format that this version writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 1;

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    /// The program's version.
    pub(super) version: String,
    /// The permissions of the vault's folder.
    pub(super) mode: u32,
    #[serde(flatten)]
    pub(super) sum: Sum,
}

/// What was counted and hashed of all entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sum {
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// Of kinds, paths and contents, in their order.
    pub(super) blake3: String,
}

/// Sums up entries one after the other.
#[derive(Debug, Default)]
pub(super) struct Summing {
    pub(super) files: u64,
    pub(super) bytes: u64,
    hasher: blake3::Hasher,
}

impl Summing {
    /// Begins an entry whose content has this length.
    pub(super) fn entry(&mut self, kind: u8, path: &Path, length: u64) {
        let path = path.as_os_str().as_encoded_bytes();
        self.hasher.update(&[kind]).update(&(path.len() as u64).to_le_bytes()).update(path);
        self.hasher.update(&length.to_le_bytes());
        self.files += u64::from(kind == b'f');
    }

    /// Adds some of the content of the entry that was begun.
    pub(super) fn content(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    pub(super) fn sum(&self) -> Sum {
        Sum { files: self.files, bytes: self.bytes, blake3: self.hasher.finalize().to_hex().to_string() }
    }
}
