//! What keeps the stores sound: checks of everything beside the writer, mending, and leaving nothing of what was deleted.

use super::catalog;
use super::embeddings::Embeddings;
use super::keyword::{self, KeywordSearcher};
use super::store::Store;
use crate::base::fs::crash;
use crate::index::engine::{Check, ContentHash, Damage, EngineError, FileTable, Findings, Upkeep};
use crate::models::EmbeddingSpace;
use crate::vault::disk::Identity;

/// Maximum size of the catalog's log while there is work, in bytes; a longer one is emptied.
const MAX_LOG_BYTES: u64 = 4_000_000;
/// Maximum size of the log while there is no work, in bytes. Emptying it syncs the disk, which one saved note is not
/// worth.
const MAX_IDLE_LOG_BYTES: u64 = 500_000;

/// Embeddings that nothing uses stay, so that undoing an edit or a deletion embeds nothing: up to a fifth of those in use, and
/// a thousand in any case. Beyond that the oldest go.
const UNUSED_SHARE: usize = 5;
const UNUSED_ALWAYS: usize = 1000;
/// How many more than twice the chunks are many.
const MANY_UNUSED: usize = 10_000;

impl Upkeep for Store {
    fn forget(&mut self, contents: &[ContentHash]) -> Result<usize, EngineError> {
        self.mark()?;
        let live = self.live_contents();
        let contents: Vec<ContentHash> = contents.iter().filter(|content| !live.contains(content)).copied().collect();
        let dropped = self.catalog.drop_contents(&contents)?;
        crash::point("embeddings-forgotten");
        self.count_kept()?;
        self.keyword.rewrite()?;
        self.catalog.rewrite()?;
        Ok(dropped)
    }

    fn empty_log(&mut self) -> Result<bool, EngineError> {
        self.trim_log(0)?;
        Ok(self.catalog.log_bytes() == 0)
    }

    fn is_in_place(&self) -> bool {
        self.identity.is_some() && Identity::of(&self.folder.join("catalog.db")).ok() == self.identity
    }

    fn was_unclean(&self) -> bool {
        self.marker.was_open()
    }

    fn is_foreign(&self) -> bool {
        self.foreign
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        if std::mem::take(&mut self.foreign) || !self.catalog.is_settled() {
            self.mark()?;
            self.catalog.settle(&self.settings.place)?;
        }
        Ok(())
    }

    fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    fn tidy(&mut self, idle: bool) -> Result<bool, EngineError> {
        self.trim_log(if idle { MAX_IDLE_LOG_BYTES } else { MAX_LOG_BYTES })?;
        Ok(idle && self.sets.serving.as_mut().is_some_and(Embeddings::build_graph))
    }

    fn check(&self) -> Check {
        let (folder, store) = (self.folder.clone(), self.catalog.store().to_owned());
        let index = self.keyword.index();
        // Not opened for this: what is damaged must not be read before its checksum is.
        let open = self.searcher.as_ref().filter(|(seq, _)| *seq == self.catalog.seq());
        let open = open.map(|(_, words)| (words.clone(), self.files.clone()));
        Box::new(move |go_on| {
            let mut findings = Findings::default();
            let words = || {
                // Which holds on to what is replaced meanwhile.
                if let Some((words, files)) = open {
                    compare(&words, &files)?;
                }
                keyword::check(&index, go_on)
            };
            if keep_damage(words(), &mut findings)?.is_none() {
                return Ok(None);
            }
            let checked = catalog::check(&folder.join("catalog.db"), &store, &mut findings, go_on);
            let Some(damaged) = keep_damage(checked, &mut findings)? else { return Ok(None) };
            findings.damage.extend((!damaged.is_empty()).then_some(Damage::Embeddings(damaged)));
            Ok(Some(findings))
        })
    }

    fn mend(&mut self, damage: &Damage) -> Result<(), EngineError> {
        if let Damage::Embeddings(ids) = damage {
            self.mark()?;
            self.catalog.drop_vectors(ids)?;
            // Once the rest is read anew, their texts wait.
            let spaces: Vec<EmbeddingSpace> = self.sets.open().map(|set| set.space.clone()).collect();
            spaces.iter().try_for_each(|space| self.load_vectors(space).map(drop))?;
        }
        Ok(())
    }

    fn has_many_unused(&self) -> bool {
        self.sets.open().any(|set| set.kept > 2 * set.vectors.len() + MANY_UNUSED)
    }

    fn prune_vectors(&mut self, all: bool) -> Result<(), EngineError> {
        let kept = if all { 0 } else { (self.live_contents().len() / UNUSED_SHARE).max(UNUSED_ALWAYS) };
        if !all && !self.sets.open().any(|set| set.kept > set.vectors.len() + kept) {
            return Ok(());
        }
        self.mark()?;
        self.catalog.prune_vectors(kept)?;
        crash::point("embeddings-pruned");
        self.count_kept()
    }

    fn kept_vectors(&self) -> Result<usize, EngineError> {
        self.catalog.count_others(self.sets.models())
    }

    fn drop_kept_vectors(&mut self) -> Result<usize, EngineError> {
        self.mark()?;
        self.catalog.drop_others(self.sets.models())
    }
}

/// Puts damage among the findings; what is no damage stays an error.
fn keep_damage<T: Default>(
    result: Result<Option<T>, EngineError>,
    findings: &mut Findings,
) -> Result<Option<T>, EngineError> {
    match result.as_ref().map_err(EngineError::damage) {
        Err(Some(damage)) => {
            findings.damage.push(damage.clone());
            Ok(Some(T::default()))
        }
        _ => result,
    }
}

/// Whether the keyword index holds the chunks of the catalog, all of them and no others, each with the file it is of. Takes some ten
/// milliseconds for 100,000 chunks.
///
/// Checksums say that a segment is as it was written, and the number of a commit which state it is of. Neither tells when the
/// commit itself lacks a removal, or has a chunk too few. A chunk that nobody has any more would count in every score.
///
/// # Errors
/// When they differ, which is damage of the keyword index.
pub(super) fn compare(words: &KeywordSearcher, files: &FileTable) -> Result<(), EngineError> {
    let mut found: Vec<(u64, u32)> = words.live().collect();
    let mut wanted: Vec<(u64, u32)> =
        files.iter().flat_map(|file| file.chunks.iter().map(|chunk| (chunk.row, file.id))).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    match found == wanted {
        true => Ok(()),
        false => Err(keyword::damaged(format!("it has {} passages, and the catalog {}", found.len(), wanted.len()))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::base::config::StemmerLanguage;
    use crate::index::engine::{Damage, FileUpdate, Reader, Upkeep, Writer};
    use crate::index::local::keyword::WordDocument;
    use crate::index::local::{Settings, Store};
    use crate::vault::disk::Globs;

    fn open(folder: &Path) -> Store {
        let settings = Settings {
            place: "here".into(),
            stemmer: StemmerLanguage::None,
            graph_threshold: 1000,
            private: Globs::default(),
        };
        Store::open(folder, settings, false).unwrap()
    }

    fn with_note(folder: &Path) -> Store {
        let mut store = open(folder);
        let text = "# River\n\nA boat.\n\n# Garden\n\nA tree.\n";
        let update = FileUpdate::of_text("notes/a.md", text, StemmerLanguage::None);
        store.apply(store.batch(vec![update], Vec::new())).unwrap();
        assert_eq!(store.snapshot().unwrap().statistics(None).chunks, 2);
        store
    }

    /// Leaves the numbers of both as they are.
    fn commit(store: &mut Store) {
        let payload = store.payload(store.catalog.seq());
        store.keyword.commit(&payload).unwrap();
    }

    /// A chunk that no note has.
    fn add_ghost(store: &mut Store) {
        let file = store.files().iter().next().unwrap().id;
        let ghost = WordDocument {
            chunk: 99,
            file,
            body: "boat".into(),
            heading: String::new(),
            own: "boat".into(),
            speakers: Vec::new(),
        };
        store.keyword.add(&ghost).unwrap();
        commit(store);
    }

    fn remove_one(store: &mut Store) {
        let row = store.files().iter().next().unwrap().chunks[0].row;
        store.keyword.remove(row);
        commit(store);
    }

    fn found_by_check(store: &Store) -> Vec<Damage> {
        store.check()(&mut || true).unwrap().unwrap().damage
    }

    #[test]
    fn a_start_builds_words_anew_that_are_not_those_of_the_catalog() {
        for spoil in [add_ghost, remove_one] {
            let folder = tempfile::tempdir().unwrap();
            let mut store = with_note(folder.path());
            spoil(&mut store);
            Box::new(store).close().unwrap();
            let mut store = open(folder.path());
            let notices = store.take_notices().join(" ");
            assert!(notices.contains("rebuilt from the catalog"), "{notices}");
            assert_eq!(found_by_check(&store), []);
        }
    }

    #[test]
    fn a_check_finds_words_that_are_not_those_of_the_catalog() {
        for spoil in [add_ghost, remove_one] {
            let folder = tempfile::tempdir().unwrap();
            let mut store = with_note(folder.path());
            assert_eq!(found_by_check(&store), []);
            spoil(&mut store);
            store.snapshot().unwrap();
            assert!(matches!(found_by_check(&store)[..], [Damage::Words(_)]));
        }
    }
}
