//! Whether the keyword index holds the chunks of the catalog, all of them and no others.
//!
//! Checksums say that a segment is as it was written, and the number of a commit which state it is of. Neither tells when the
//! commit itself lacks a removal, or has a chunk too few. A chunk that nobody has any more would count in every score.

use super::keyword::{KeywordError, KeywordSearcher};
use crate::index::engine::FileTable;

/// Compares the live chunks of the words with those of the files, each with the file it is of. Takes some ten milliseconds for
/// 100,000 chunks.
///
/// # Errors
/// When they differ, which is damage of the keyword index.
pub(super) fn compare(words: &KeywordSearcher, files: &FileTable) -> Result<(), KeywordError> {
    let mut found: Vec<(u64, u32)> = words.live().collect();
    let mut wanted: Vec<(u64, u32)> =
        files.iter().flat_map(|file| file.chunks.iter().map(|chunk| (chunk.row, file.id))).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    match found == wanted {
        true => Ok(()),
        false => {
            Err(KeywordError::damaged(format!("it has {} passages, and the catalog {}", found.len(), wanted.len())))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::base::config::StemmerLanguage;
    use crate::index::engine::{Damage, FileUpdate, Reader, Writer};
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
        store.prepare_check().run(&mut || true).unwrap().unwrap().damage
    }

    #[test]
    fn a_start_builds_words_anew_that_are_not_those_of_the_catalog() {
        for spoil in [add_ghost, remove_one] {
            let folder = tempfile::tempdir().unwrap();
            let mut store = with_note(folder.path());
            spoil(&mut store);
            store.close().unwrap();
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
