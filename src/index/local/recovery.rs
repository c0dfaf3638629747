//! Bringing the stores to one state after whatever happened to them, and what keeps them sound: checks of everything beside the writer,
//! mending, and leaving nothing of what was deleted.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Map;

use super::catalog;
use super::embeddings::Embeddings;
use super::keyword::{self, KeywordSearcher, Payload};
use super::store::{Store, document};
use crate::base::fs::{Context, FsError, crash};
use crate::index::engine::{
    Check, ContentHash, Damage, EngineError, FileTable, Findings, Upkeep, Writer, words_of_file,
};
use crate::models::EmbeddingSpace;
use crate::text::derive::TextLanguage;
use crate::text::derive::words::Stemming;
use crate::vault::disk::Identity;

pub(super) const MARKER: &str = "open";

/// Who stops a daemon waits two seconds at most, and merges of a few thousand chunks take a fraction of one.
pub(super) const MERGES_END_WITHIN: Duration = Duration::from_secs(1);

/// A file that is there while the stores are open for writing, or were not closed, as by a power loss: then all of them is checked.
pub(super) struct Marker {
    /// Whether it was there when the stores were opened.
    pub(super) was_there: bool,
    set: bool,
}

impl Marker {
    pub(super) fn read(folder: &Path) -> Self {
        Self { was_there: folder.join(MARKER).exists(), set: false }
    }

    /// Says that the stores are being written. Only the first call costs anything.
    pub(super) fn set(&mut self, folder: &Path) -> Result<(), FsError> {
        if !self.set {
            crate::base::fs::remove_unfinished(folder, std::time::Duration::ZERO);
            crate::base::fs::write_atomically(&folder.join(MARKER), b"open", 0o600)?;
            self.set = true;
            crash::point("marked");
        }
        Ok(())
    }

    /// Says that they are closed, once all that was written, by this process or a killed one before, is on disk.
    pub(super) fn clear(self, folder: &Path) -> Result<(), FsError> {
        if !self.set && !self.was_there {
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

impl Store {
    /// Brings the keyword index to the state of the catalog: it may be new, foreign, behind, or not what it should be.
    pub(super) fn catch_up(&mut self) -> Result<(), EngineError> {
        let seq = self.catalog.meta.seq;
        let wanted = self.payload(seq);
        match self.keyword.payload()? {
            None if seq == 0 => {}
            Some(found) if found == wanted => {}
            // Killed between the two commits. What was deleted longer ago is forgotten.
            Some(found) if Payload { seq, ..found.clone() } == wanted && found.seq + 1 == seq => {
                let changed = self.catalog.changed_after(found.seq)?;
                self.word(&changed, &wanted)?;
            }
            None => self.word_all("was gone", &wanted)?,
            Some(_) => self.word_all("has other stems or another format, or follows another catalog", &wanted)?,
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
        self.searcher = Some((self.catalog.meta.seq, words.clone()));
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
            let metadata = reader.metadata(id)?.as_deref().map_or_else(|| Ok(Map::new()), serde_json::from_str);
            let metadata = metadata.map_err(catalog::damaged)?;
            let texts = file.chunks.iter().map(|chunk| reader.chunk(chunk.row)).collect::<Result<Vec<_>, _>>()?;
            let words = words_of_file(&file, &metadata, texts.iter().map(Option::as_ref), &mut stemming);
            for at in 0..file.chunks.len() {
                self.keyword.add(&document(&file, at, |at| {
                    (&words[at].own, &words[at].heading, words[at].speakers.as_slice())
                }))?;
            }
        }
        self.keyword.commit(wanted)
    }
}

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
        self.marker.was_there
    }

    fn is_foreign(&self) -> bool {
        self.catalog.meta.place != self.settings.place
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        if self.is_foreign() {
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
        let (folder, store) = (self.folder.clone(), self.catalog.meta.store.clone());
        let index = self.keyword.index();
        // Not opened for this: what is damaged must not be read before its checksum is.
        let open = self.searcher.as_ref().filter(|(seq, _)| *seq == self.catalog.meta.seq);
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

    fn has_many_unused(&self) -> Result<bool, EngineError> {
        self.keeps_over(|used| 2 * used + MANY_UNUSED)
    }

    fn prune_vectors(&mut self, all: bool) -> Result<(), EngineError> {
        let kept = if all { 0 } else { (self.live_contents().len() / UNUSED_SHARE).max(UNUSED_ALWAYS) };
        if !all && !self.keeps_over(|used| used + kept)? {
            return Ok(());
        }
        self.mark()?;
        self.catalog.prune_vectors(kept)?;
        crash::point("embeddings-pruned");
        Ok(())
    }

    fn kept_vectors(&self) -> Result<usize, EngineError> {
        self.catalog.count_others(self.sets.models())
    }

    fn drop_kept_vectors(&mut self) -> Result<usize, EngineError> {
        self.mark()?;
        self.catalog.drop_others(self.sets.models())
    }
}

impl Store {
    /// Whether an open set has more embeddings in the catalog than this, given how many chunks have theirs.
    fn keeps_over(&self, most: impl Fn(usize) -> usize) -> Result<bool, EngineError> {
        for set in self.sets.open() {
            if self.catalog.count_vectors(set.model)? > most(set.vectors.len()) {
                return Ok(true);
            }
        }
        Ok(false)
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
        Store::open(folder, settings).unwrap()
    }

    fn with_note(folder: &Path) -> Store {
        let mut store = open(folder);
        let text = "# River\n\nA boat.\n\n# Garden\n\nA tree.\n";
        let update = FileUpdate::of_text("notes/a.md", text, StemmerLanguage::None);
        store.apply(vec![update], Vec::new()).unwrap();
        assert_eq!(store.snapshot().unwrap().statistics(None).chunks, 2);
        store
    }

    /// Leaves the numbers of both as they are.
    fn commit(store: &mut Store) {
        let payload = store.payload(store.catalog.meta.seq);
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
