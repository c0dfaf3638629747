//! Going over all stores beside the writer, to find what is damaged.

use std::collections::HashSet;
use std::path::PathBuf;

use super::agreement;
use super::catalog::{CatalogCheck, Checked};
use super::damage::IndexError;
use super::keyword::{KeywordCheck, KeywordError, KeywordSearcher};
use super::store::Store;
use super::vectors::Graph;
use crate::index::engine::{ContentHash, Damage, FileTable, Findings};

/// Embeddings that nothing uses stay, so that undoing an edit or a deletion embeds nothing: up to a fifth of those in use, and
/// a thousand in any case. Beyond that the oldest go.
const UNUSED_SHARE: usize = 5;
const UNUSED_ALWAYS: usize = 1000;

/// A check of all stores, to be run on any thread.
pub(super) struct StoreCheck {
    folder: PathBuf,
    store: String,
    words: Result<KeywordCheck, KeywordError>,
    /// What is open of the words, with the files of the same state.
    open: Option<(KeywordSearcher, FileTable)>,
    live: HashSet<ContentHash>,
}

impl Store {
    /// Prepares a check of the stores as they are now.
    pub(super) fn prepare_check(&self) -> StoreCheck {
        StoreCheck {
            folder: self.folder().to_owned(),
            store: self.catalog.store().to_owned(),
            words: self.keyword.check(),
            // Not opened for this: what is damaged must not be read before its checksum is.
            open: self
                .searcher
                .as_ref()
                .filter(|(seq, _)| *seq == self.catalog.seq())
                .map(|(_, words)| (words.clone(), self.files().clone())),
            live: self.live_contents(),
        }
    }
}

impl StoreCheck {
    /// Runs the check. `go_on` is called after each step, some milliseconds of work, and ends the check when it says no:
    /// nothing is known then.
    ///
    /// # Errors
    /// When a store cannot be read for another reason than damage.
    pub(super) fn run(self, go_on: &mut dyn FnMut() -> bool) -> Result<Option<Findings>, IndexError> {
        let mut findings = Findings::default();
        let mut checked = Checked::default();
        let words = || -> Result<Option<()>, IndexError> {
            // Which holds on to what is replaced meanwhile.
            if let Some((words, files)) = self.open {
                agreement::compare(&words, &files)?;
            }
            let mut check = self.words?;
            while check.step()? {
                if !go_on() {
                    return Ok(None);
                }
            }
            Ok(Some(()))
        };
        if keep_damage(words(), &mut findings)?.is_none() {
            return Ok(None);
        }
        let mut catalog = || -> Result<Option<()>, IndexError> {
            let mut check = CatalogCheck::open(&self.folder.join("catalog.db"), &self.store)?;
            while check.step(&mut checked, &self.live)? {
                if !go_on() {
                    return Ok(None);
                }
            }
            Ok(Some(()))
        };
        if keep_damage(catalog(), &mut findings)?.is_none() {
            return Ok(None);
        }
        if let Err(error) = Graph::check(&self.folder.join("graph")) {
            findings.damage.push(Damage::Graph(error.to_string()));
        }
        let Checked { files, chunks, vectors, damaged, mut unused } = checked;
        if !damaged.is_empty() {
            findings.damage.push(Damage::Embeddings(damaged));
        }
        let kept = (self.live.len() / UNUSED_SHARE).max(UNUSED_ALWAYS);
        unused.truncate(unused.len().saturating_sub(kept));
        Ok(Some(Findings { files, chunks, embeddings: vectors, unused, ..findings }))
    }
}

/// Puts damage among the findings; what is no damage stays an error.
fn keep_damage(result: Result<Option<()>, IndexError>, findings: &mut Findings) -> Result<Option<()>, IndexError> {
    match result {
        Err(error) => match error.damage() {
            Some(damage) => {
                findings.damage.push(damage);
                Ok(Some(()))
            }
            None => Err(error),
        },
        Ok(ended) => Ok(ended),
    }
}
