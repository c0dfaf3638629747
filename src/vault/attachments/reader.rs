//! Reads attachments: one at a time, each once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

use super::process::{self, ReadOutcome};
use super::text::DocumentText;
use super::text_cache::TextCache;
use crate::base::path::VaultPath;
use crate::vault::disk::{OpenedFile, ReadError, Source};

/// Maximum documents whose outcome is remembered until the end of this process alone.
const MAX_REMEMBERED: usize = 1_000;

/// An attachment as read.
#[derive(Debug)]
pub(crate) struct ReadAttachment {
    /// Its text, with the stamp and the hash of its file.
    pub(crate) source: Source,
    /// What of it could not be read.
    pub(crate) problems: Vec<String>,
}

/// Reads attachments.
#[derive(Debug, Default)]
pub struct AttachmentReader {
    kept: Option<TextCache>,
    /// Whether another process keeps what is read.
    only_looks: bool,
    /// Held while a process reads: one at a time, so that what all of them take together is bounded.
    one: Mutex<()>,
    /// What the clock has stopped: it is tried again when the program is started again.
    stopped: Mutex<HashMap<[u8; 32], Result<DocumentText, String>>>,
}

impl AttachmentReader {
    /// One that keeps what it has read in a folder of the derived stores, which is no other's.
    pub fn keeping(index_dir: &Path) -> Self {
        let kept = TextCache::new(index_dir.join("attachments"));
        kept.remove_unfinished();
        Self { kept: Some(kept), ..Self::default() }
    }

    /// One that looks at what another process has kept, and keeps nothing itself.
    pub fn looking_at(index_dir: &Path) -> Self {
        Self { kept: Some(TextCache::new(index_dir.join("attachments"))), only_looks: true, ..Self::default() }
    }

    /// Reads the document at a path, which is open.
    ///
    /// # Errors
    /// When it has no text that can be read, changes meanwhile, or no process can be started.
    pub(crate) fn read(&self, path: &VaultPath, opened: OpenedFile) -> Result<ReadAttachment, ReadError> {
        let said = match self.known(path, &opened.hash) {
            Some(said) => said,
            None => self.read_anew(path, &opened)?,
        };
        let DocumentText { text, problems } = said.map_err(ReadError::Unfit)?;
        Ok(ReadAttachment { source: Source { text, stamp: opened.stamp, hash: opened.hash }, problems })
    }

    fn known(&self, path: &VaultPath, hash: &blake3::Hash) -> Option<Result<DocumentText, String>> {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let stopped = stopped.get(hash.as_bytes()).cloned();
        stopped.or_else(|| self.kept.as_ref()?.get(path, hash))
    }

    fn read_anew(&self, path: &VaultPath, opened: &OpenedFile) -> Result<Result<DocumentText, String>, ReadError> {
        let unfit = |error: std::io::Error| ReadError::Unfit(format!("cannot be read: {error}"));
        let Some(kind) = path.attachment().filter(|kind| kind.is_document()) else {
            return Err(ReadError::Unfit("it is not a document".into()));
        };
        let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
        // Another may have read it meanwhile.
        if let Some(known) = self.known(path, &opened.hash) {
            return Ok(known);
        }
        let file = opened.file.try_clone().map_err(unfit)?;
        let ReadOutcome { text, may_change, unconfined } = process::read(kind, file).map_err(unfit)?;
        if let Some(unconfined) = unconfined {
            static SAID: Once = Once::new();
            SAID.call_once(|| tracing::warn!("attachments are read within limits alone: {unconfined}"));
        }
        if !opened.is_as_opened() {
            return Err(ReadError::Changing);
        }
        self.keep(path, &opened.hash, &text, may_change);
        // Whoever purges it meanwhile found nothing to remove.
        if !opened.is_as_opened() {
            self.forget(path);
            return Err(ReadError::Changing);
        }
        Ok(text)
    }

    fn keep(&self, path: &VaultPath, hash: &blake3::Hash, text: &Result<DocumentText, String>, may_change: bool) {
        if may_change {
            let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
            if stopped.len() >= MAX_REMEMBERED {
                stopped.clear();
            }
            stopped.insert(*hash.as_bytes(), text.clone());
        } else if let Some(kept) = self.kept.as_ref().filter(|_| !self.only_looks)
            && let Err(error) = kept.put(path, hash, text)
        {
            tracing::warn!("the text of {path} is not kept: {error}");
        }
    }

    /// What a document said that had these bytes, be its file there or not; empty where it has no text that can be read. Nothing of it is kept.
    pub(crate) fn text_of(&self, path: &VaultPath, bytes: Vec<u8>) -> String {
        let hash = blake3::hash(&bytes);
        let said = self.known(path, &hash).or_else(|| {
            let kind = path.attachment().filter(|kind| kind.is_document())?;
            let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
            let read = process::read_bytes(kind, bytes);
            read.inspect_err(|error| tracing::warn!("{path} cannot be read: {error}")).ok().map(|outcome| outcome.text)
        });
        said.and_then(Result::ok).map(|said| said.text).unwrap_or_default()
    }

    /// Keeps nothing of a path any more, and says why it could not.
    pub(crate) fn forget(&self, path: &VaultPath) -> Option<String> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let kept = self.kept.as_ref().filter(|_| !self.only_looks)?;
        kept.remove(path).err().map(|error| format!("the index still has the text of `{path}`: {error}"))
    }

    /// Keeps nothing of paths that are not among these.
    pub(crate) fn retain<'p>(&self, paths: impl Iterator<Item = &'p VaultPath>) {
        if let Some(kept) = &self.kept
            && let Err(error) = kept.retain(paths)
        {
            tracing::warn!("the texts of attachments that are gone are kept still: {error}");
        }
    }
}
