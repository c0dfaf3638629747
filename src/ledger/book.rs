//! The facts of one memory scope, as they were read.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use blake3::Hash;
use jiff::Timestamp;

use super::LedgerError;
use super::paths::history_of;
use crate::derive::facts::{FactsFile, FactsHistory};
use crate::path::VaultPath;
use crate::vault::{ReadError, Source, Stamp, read};

/// Maximum size of a history, which only ever grows.
const MAX_HISTORY_BYTES: u64 = 1 << 30;
/// A file that changed so short before it was read may change again without another stamp.
const CLOCK_STEP_NS: i64 = 50_000_000;

/// The facts of one memory scope and their history.
#[derive(Debug)]
pub(crate) struct FactsBook {
    /// The file of the facts.
    pub(crate) path: VaultPath,
    /// What it says.
    pub(crate) facts: Arc<FactsFile>,
    /// What the history beside it says.
    pub(crate) history: Arc<FactsHistory>,
    /// The stamp of the file that was read; `None` where there is none.
    pub(crate) stamp: Option<Stamp>,
    /// BLAKE3 of the file.
    pub(super) hash: Option<Hash>,
    history_hash: Option<Hash>,
    history_stamp: Option<Stamp>,
    /// In nanoseconds since 1970.
    read_at: i64,
    /// Whether the history has all that the file says.
    pub(super) is_noticed: AtomicBool,
}

impl FactsBook {
    /// Reads both files; what has not changed since `known` is taken from there.
    pub(super) fn read(root: &Path, path: &VaultPath, max: u64, known: Option<&Self>) -> Result<Self, LedgerError> {
        let read_at = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
        let history_path = history_of(path);
        let facts = source(root, path, max)?;
        let history = source(root, &history_path, MAX_HISTORY_BYTES)?;
        let known_facts = known.filter(|known| facts.as_ref().map(|source| source.hash) == known.hash);
        let read = || facts.as_ref().map(|source| FactsFile::read(&source.text)).unwrap_or_default();
        let history_hash = history.as_ref().map(|source| source.hash);
        let known_history = known.filter(|known| history_hash == known.history_hash);
        let read_history = || history.as_ref().map(|source| FactsHistory::read(&source.text)).unwrap_or_default();
        Ok(Self {
            path: path.clone(),
            facts: known_facts.map_or_else(|| Arc::new(read()), |known| Arc::clone(&known.facts)),
            history: known_history.map_or_else(|| Arc::new(read_history()), |known| Arc::clone(&known.history)),
            stamp: facts.as_ref().map(|source| source.stamp),
            hash: facts.as_ref().map(|source| source.hash),
            history_stamp: history.as_ref().map(|source| source.stamp),
            history_hash,
            read_at,
            is_noticed: AtomicBool::new(false),
        })
    }

    /// Whether both files are still as they were read.
    pub(super) fn is_as_on_disk(&self, root: &Path) -> bool {
        let is_same = |path: &VaultPath, known: Option<Stamp>| {
            let now = path.on_disk(root).symlink_metadata().ok().map(|meta| Stamp::of(&meta));
            now == known && known.is_none_or(|known| known.mtime_ns.max(known.ctime_ns) < self.read_at - CLOCK_STEP_NS)
        };
        is_same(&self.path, self.stamp) && is_same(&history_of(&self.path), self.history_stamp)
    }
}

/// A file, where there is one.
fn source(root: &Path, path: &VaultPath, max: u64) -> Result<Option<Source>, LedgerError> {
    match read(root, path, max) {
        Ok(source) => Ok(Some(source)),
        Err(ReadError::Gone) => Ok(None),
        Err(source) => Err(LedgerError::Read { path: path.clone(), source }),
    }
}
