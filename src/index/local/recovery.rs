//! Bringing the stores to one state after whatever happened to them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::catalog;
use super::diff::document;
use super::keyword::{KeywordSearcher, Payload};
use super::store::Store;
use super::upkeep::compare;
use crate::base::fs::{Context, FsError, crash};
use crate::index::engine::{Damage, EngineError, Writer, embedded_context, first_heading};
use crate::text::derive::words::{Stemming, Words};
use crate::text::derive::{Speakers, TextLanguage, other_names};

pub(super) const MARKER: &str = "open";

/// Who stops a daemon waits two seconds at most, and merges of a few thousand chunks take a fraction of one.
pub(super) const MERGES_END_WITHIN: Duration = Duration::from_secs(1);

/// A file that is there while the stores are open for writing, or were not closed. It names the boot of the machine: files
/// that a killed process wrote are whole, for the system had them; those written before a power loss may not be.
pub(super) struct Marker {
    boot: String,
    /// What the file said when the stores were opened.
    before: Option<String>,
    set: bool,
}

impl Marker {
    pub(super) fn read(folder: &Path) -> Self {
        let before = fs::read(folder.join(MARKER)).ok();
        Self { boot: boot_id(), before: before.map(|text| String::from_utf8_lossy(&text).into_owned()), set: false }
    }

    /// Whether the stores were not closed, for whatever reason.
    pub(super) fn was_open(&self) -> bool {
        self.before.is_some()
    }

    /// Whether the machine stopped while the stores were open.
    pub(super) fn machine_stopped(&self) -> bool {
        self.before.as_ref().is_some_and(|before| *before != self.boot)
    }

    /// Says that the stores are being written. Only the first call costs anything.
    pub(super) fn set(&mut self, folder: &Path) -> Result<(), FsError> {
        if !self.set {
            crate::base::fs::remove_unfinished(folder, std::time::Duration::ZERO);
            crate::base::fs::write_atomically(&folder.join(MARKER), self.boot.as_bytes(), 0o600)?;
            self.set = true;
            crash::point("marked");
        }
        Ok(())
    }

    /// Says that they are closed, once all that was written, by this process or a killed one before, is on disk.
    pub(super) fn clear(self, folder: &Path) -> Result<(), FsError> {
        if !self.set && self.before.is_none() {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        fs::File::open(folder).and_then(|folder| Ok(rustix::fs::syncfs(folder)?)).on("sync", folder)?;
        #[cfg(all(unix, not(target_os = "linux")))]
        rustix::fs::sync();
        crash::point("closing-synced");
        let path = folder.join(MARKER);
        fs::remove_file(&path).on("remove", &path)
    }
}

/// Names this boot of the machine; where the system does not, every start counts as one.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_else(|_| format!("{:?}", std::time::UNIX_EPOCH.elapsed().unwrap_or_default()))
}

impl Store {
    /// Brings the keyword index to the state of the catalog: it may be new, foreign, behind, or not what it should be.
    pub(super) fn catch_up(&mut self) -> Result<(), EngineError> {
        let seq = self.catalog.seq();
        let wanted = self.payload(seq);
        match self.keyword.payload()? {
            None if seq == 0 => {}
            Some(found) if found == wanted => {}
            // Killed between the two commits. What was deleted longer ago is forgotten.
            Some(found) if Payload { seq, ..found.clone() } == wanted && found.seq + 1 == seq => {
                let changed = self.catalog.changed_after(found.seq)?;
                self.word(&changed, &wanted)?;
            }
            found => self.word_all(&mismatch(found.as_ref(), &wanted), &wanted)?,
        }
        if let Err(error) = self.words_agree() {
            if !error.damage().is_some_and(|damage| matches!(damage, Damage::Words(_))) {
                return Err(error);
            }
            tracing::warn!("{error}");
            self.word_all("does not have the passages of the catalog", &wanted)?;
            self.words_agree()?;
        }
        Ok(())
    }

    /// Opens what was committed last of the words.
    pub(super) fn open_words(&mut self) -> Result<KeywordSearcher, EngineError> {
        let words = self.keyword.searcher(self.searcher.as_ref().map(|(_, words)| words))?;
        self.searcher = Some((self.catalog.seq(), words.clone()));
        Ok(words)
    }

    /// Compares what was committed last of the words with the catalog.
    fn words_agree(&mut self) -> Result<(), EngineError> {
        compare(&self.open_words()?, &self.files)
    }

    /// Builds the keyword index anew, for the reason given as the end of a sentence.
    fn word_all(&mut self, reason: &str, wanted: &Payload) -> Result<(), EngineError> {
        self.notices.push(format!("the keyword index {reason}, and is rebuilt from the catalog"));
        self.keyword.clear()?;
        crash::point("words-cleared");
        let all: Vec<u32> = self.files().iter().map(|file| file.id).collect();
        self.word(&all, wanted)
    }

    /// Gives the keyword index the words of files anew, from the catalog. Those that are gone are removed.
    fn word(&mut self, stale: &[u32], wanted: &Payload) -> Result<(), EngineError> {
        self.mark()?;
        let reader = self.catalog.reader()?;
        let mut stemming = Stemming::new(self.stemmer());
        for &id in stale {
            self.keyword.remove_file(id);
            let Some(file) = self.files().get(id).cloned() else { continue };
            stemming.turn_to(file.language().and_then(TextLanguage::stemmer));
            let mut words: Vec<(Words, Words, Vec<String>)> = Vec::with_capacity(file.chunks.len());
            let others = match reader.metadata(id)?.as_deref().map(serde_json::from_str) {
                Some(Ok(metadata)) => other_names(&file.title, file.path.stem(), &file.tags, &metadata),
                Some(Err(error)) => return Err(catalog::damaged(error)),
                None => String::new(),
            };
            let mut speakers = Speakers::of(file.path.collection());
            for (at, chunk) in file.chunks.iter().enumerate() {
                let text = reader.chunk(chunk.row)?;
                let found = text.map_or_else(Default::default, |text| {
                    let heading = match at {
                        0 => first_heading(&file.title, &text.heading_path, &others),
                        _ => embedded_context(&file.title, &text.heading_path),
                    };
                    let body = text.text.get(text.body_start..).unwrap_or_default();
                    (stemming.words(body), stemming.words(&heading), speakers.next(body))
                });
                words.push(found);
            }
            for at in 0..file.chunks.len() {
                self.keyword.add(&document(&file, at, |at| (&words[at].0, &words[at].1, words[at].2.as_slice())))?;
            }
        }
        self.keyword.commit(wanted)
    }
}

/// Why a keyword index cannot be used, as the end of a sentence.
fn mismatch(found: Option<&Payload>, wanted: &Payload) -> String {
    match found {
        None => "was gone".into(),
        Some(found) if found.format != wanted.format => "has another format".into(),
        Some(found) if found.store != wanted.store => "belongs to another catalog".into(),
        Some(found) if found.stemmer != wanted.stemmer => {
            format!("has words stemmed as {:?} instead of {:?}", found.stemmer, wanted.stemmer)
        }
        Some(_) => "is not in step with the catalog".into(),
    }
}
