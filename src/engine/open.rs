//! Where the derived stores of a vault are, and how they are opened.

use std::sync::Arc;

use super::damage::Damage;
use super::error::EngineError;
use super::reader::Reader;
use super::writer::Writer;

/// The derived stores of one vault, closed. Everything in them is made of the notes, and can be made anew.
pub(crate) trait Engine: Send + Sync {
    /// Where they are, for whoever is told that something is wrong there.
    fn location(&self) -> String;

    /// Opens them for the one writer, or makes new ones, and brings them to one state. With `distrust` all that can be checked is
    /// checked first.
    ///
    /// # Errors
    /// When they are damaged, so that [`Engine::clear`] has to be called, or the disk refuses.
    fn open(&self, distrust: bool) -> Result<Box<dyn Writer>, EngineError>;

    /// Reads them as they are now, while another process writes them. Without vectors.
    ///
    /// # Errors
    /// When there are none yet, or they cannot be read.
    fn read(&self) -> Result<Arc<dyn Reader>, EngineError>;

    /// Reads stores that were closed, where nothing can be written: on a disk that is full or read-only. `None` when there are none,
    /// or they were not closed.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read_at_rest(&self) -> Result<Option<Arc<dyn Reader>>, EngineError>;

    /// Makes closed stores with damage fit to be opened.
    ///
    /// # Errors
    /// When the disk refuses.
    fn clear(&self, damage: &Damage) -> Result<(), EngineError>;
}
