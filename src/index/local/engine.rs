//! The engine of this process as the contract has it: one folder.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::damage::IndexError;
use super::snapshot::Snapshot;
use super::store::{Settings, Store};
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
        Ok(Store::clear_damage(&self.folder, damage).map_err(IndexError::from)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::StemmerLanguage;
    use crate::index::engine::FileUpdate;
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
        store.close().unwrap();
        let store = Store::open(folder.path(), settings, false).unwrap();
        assert!(Snapshot::open(folder.path(), &Globs::default()).unwrap().is_whole().unwrap());
        drop(store);
    }
}
