//! Files of the cache folder, which are whole or not there.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

use super::super::ModelError;

/// Returns the BLAKE3 of a file.
pub(super) fn hash_file(path: &Path) -> io::Result<blake3::Hash> {
    Ok(blake3::Hasher::new().update_reader(File::open(path)?)?.finalize())
}

pub(super) const ACTION: &str = "write the bundled model into its cache folder";

/// Makes a file in the cache folder that is gone again unless it is kept.
pub(super) fn beside(cache_dir: &Path) -> Result<NamedTempFile, ModelError> {
    fs::create_dir_all(cache_dir).map_err(ModelError::io(ACTION, cache_dir))?;
    let mut file = tempfile::Builder::new();
    file.prefix(".model-").suffix(".tmp").tempfile_in(cache_dir).map_err(ModelError::io(ACTION, cache_dir))
}

/// Gives such a file its name, once it is whole and on the disk.
pub(super) fn keep(beside: NamedTempFile, path: &Path) -> Result<(), ModelError> {
    beside.as_file().sync_all().map_err(ModelError::io(ACTION, path))?;
    beside.persist(path).map_err(|failed| ModelError::io(ACTION, path)(failed.error))?;
    Ok(())
}
