//! The engine of this process as the contract has it: one folder.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::damage::IndexError;
use super::snapshot::Snapshot;
use super::store::{Settings, Store};
use crate::engine::{Damage, Engine, EngineError, Reader, Writer};

/// One that has just been begun, as with `reindex --full`, is given so long to have its first notes: without any it would say that
/// the vault has none.
const FIRST_NOTES: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

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
        let deadline = Instant::now() + FIRST_NOTES;
        loop {
            let opened = Snapshot::open(&self.folder, &self.settings.private);
            let has_begun = match &opened {
                Ok(snapshot) => snapshot.files().is_empty(),
                // Who writes may be making a store anew at this very moment, when a part of it is not there.
                Err(_) => true,
            };
            if !has_begun || Instant::now() > deadline {
                return Ok(Arc::new(opened?));
            }
            std::thread::sleep(LOOK_AGAIN);
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
