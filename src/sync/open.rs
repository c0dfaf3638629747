//! Opens the stores, whatever happened to them.

use std::path::Path;

use crate::index::{IndexError, Settings, Store};

/// Opens the stores; what is damaged, foreign or of another format is removed and built anew. Gives the reason when so.
///
/// # Errors
/// When the disk refuses, or another process writes to them.
pub fn open_store(folder: &Path, settings: &Settings) -> Result<(Store, Option<String>), IndexError> {
    let error = match Store::open(folder, settings.clone()) {
        Ok(store) => return Ok((store, None)),
        Err(error) => error,
    };
    match &error {
        IndexError::Catalog(catalog) if !catalog.is_damage() => return Err(error),
        IndexError::Keyword(words) if !words.is_damage() => return Err(error),
        IndexError::Fs(_) | IndexError::Vector(_) | IndexError::Absent(_) => return Err(error),
        IndexError::Keyword(_) => Store::erase_words(folder)?,
        IndexError::Catalog(_) | IndexError::Stale(_) => Store::erase(folder)?,
    }
    let reason = error.to_string();
    tracing::warn!("the index is rebuilt: {reason}");
    let store = match Store::open(folder, settings.clone()) {
        Ok(store) => store,
        Err(_) => {
            Store::erase(folder)?;
            Store::open(folder, settings.clone())?
        }
    };
    Ok((store, Some(reason)))
}
