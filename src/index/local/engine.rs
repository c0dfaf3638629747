//! The engine of this process as the contract has it: one folder, and how what is in it is made fit to be opened again.
//!
//! Damage in one store costs that store alone. The keyword index is built again from the catalog. The catalog is built again
//! from the notes, embeddings and all. An embedding is computed again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::recovery::MARKER;
use super::snapshot::Snapshot;
use super::store::{Settings, Store};
use crate::base::fs::{Context, FsError, crash};
use crate::index::engine::{Damage, Engine, EngineError, Reader, Writer};

/// Timeout of waiting for stores that another process is writing to be whole. They are then read as they are: begun
/// anew, as with `reindex --full`, they would say that the vault has none of the notes that they lack yet.
const WHOLE_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval at which it is checked whether they are whole.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The stores in a folder.
#[derive(Debug)]
pub(crate) struct LocalEngine {
    folder: PathBuf,
    settings: Settings,
}

impl LocalEngine {
    /// Those in `folder`, which need not be there.
    pub(crate) fn new(folder: PathBuf, settings: Settings) -> Self {
        Self { folder, settings }
    }
}

impl Engine for LocalEngine {
    fn location(&self) -> String {
        self.folder.display().to_string()
    }

    fn open(&self, distrust: bool) -> Result<Box<dyn Writer>, EngineError> {
        Ok(Box::new(Store::open(&self.folder, self.settings.clone(), distrust)?))
    }

    fn read(&self) -> Result<Arc<dyn Reader>, EngineError> {
        let deadline = Instant::now() + WHOLE_TIMEOUT;
        loop {
            let opened = Snapshot::open(&self.folder, &self.settings.private);
            // Who writes may be making a store anew at this very moment, when a part of it is not there.
            let is_whole = opened.as_ref().is_ok_and(|snapshot| snapshot.is_whole().unwrap_or(false));
            if is_whole || Instant::now() > deadline {
                return Ok(Arc::new(opened?));
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
    }

    fn read_at_rest(&self) -> Result<Option<Arc<dyn Reader>>, EngineError> {
        let snapshot = Snapshot::open_at_rest(&self.folder, &self.settings.private)?;
        Ok(snapshot.map(|snapshot| Arc::new(snapshot) as Arc<dyn Reader>))
    }

    fn clear(&self, damage: &Damage) -> Result<(), EngineError> {
        match damage {
            Damage::Catalog(_) => {
                let mut built_anew = STORES.iter().filter(|(name, _)| *name != MARKER);
                built_anew.try_for_each(|(name, _)| remove(&self.folder.join(name)))?;
            }
            Damage::Words(_) => remove(&self.folder.join(WORDS))?,
            // Mended while the stores are open.
            Damage::Embeddings(_) => {}
        }
        Ok(())
    }
}

/// The folder of the keyword index.
pub(super) const WORDS: &str = "tantivy";

/// What the stores are in their folder, and whether it is a folder itself.
const STORES: [(&str, bool); 5] =
    [("catalog.db", false), ("catalog.db-wal", false), ("catalog.db-shm", false), (WORDS, true), (MARKER, false)];

/// Removes the stores in a folder, so that they are built from nothing. Only what is ours is touched.
///
/// # Errors
/// When the disk refuses.
pub(super) fn erase(folder: &Path) -> Result<(), FsError> {
    STORES.iter().try_for_each(|(name, _)| {
        crash::point("erasing");
        remove(&folder.join(name))
    })
}

/// Removes folders that stand where files should, and the reverse; gives those whose loss says nothing by itself.
pub(super) fn remove_misplaced(folder: &Path) -> Result<Vec<String>, FsError> {
    let mut misplaced = Vec::new();
    for (name, is_folder) in STORES {
        let path = folder.join(name);
        if fs::metadata(&path).is_ok_and(|found| found.is_dir() != is_folder) {
            remove(&path)?;
            if !["catalog.db", WORDS].contains(&name) {
                let (is, not) = if is_folder { ("a file", "a folder") } else { ("a folder", "a file") };
                misplaced.push(format!("{} was {is}, not {not}, and is made again", path.display()));
            }
        }
    }
    Ok(misplaced)
}

/// Removes a file or a folder, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), FsError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).on("remove", path),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::StemmerLanguage;
    use crate::index::engine::{FileUpdate, Upkeep};
    use crate::vault::disk::Globs;

    #[test]
    fn stores_that_were_begun_anew_are_read_once_all_notes_are_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            place: "here".into(),
            stemmer: StemmerLanguage::None,
            graph_threshold: 1000,
            private: Globs::default(),
        };
        let mut store = Store::open(folder.path(), settings.clone(), false).unwrap();
        let add = |store: &mut Store, path: &str| {
            let update = FileUpdate::of_text(path, "A boat.\n", StemmerLanguage::None);
            store.apply(store.batch(vec![update], Vec::new())).unwrap();
        };
        add(&mut store, "notes/a.md");
        let engine = LocalEngine::new(folder.path().to_owned(), settings.clone());
        let read = std::thread::spawn(move || engine.read().unwrap().files().iter().count());
        add(&mut store, "notes/b.md");
        store.settle().unwrap();
        assert_eq!(read.join().unwrap(), 2, "never one of the two");

        // Whoever opens them again finds it noted.
        Box::new(store).close().unwrap();
        let store = Store::open(folder.path(), settings, false).unwrap();
        assert!(Snapshot::open(folder.path(), &Globs::default()).unwrap().is_whole().unwrap());
        drop(store);
    }
}
