//! What the header of a model's file says, for people.

use std::path::Path;

use super::super::{ModelError, ModelFile};
use super::file::Header;

/// Reads the header of a file, and checks that what it announces is there.
///
/// # Errors
/// When the file cannot be read, or is no whole GGUF file.
pub(crate) fn read_model_file(path: &Path) -> Result<ModelFile, ModelError> {
    let header = Header::read(path)?;
    let number = |key: &str| header.number(key).and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    let text = |key: &str| header.text(key).map(str::to_owned);
    Ok(ModelFile {
        name: text("general.name").unwrap_or_default(),
        stem: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        architecture: header.architecture().to_owned(),
        dimension: number("embedding_length"),
        context: number("context_length"),
        pooling: match header.number("pooling_type") {
            Some(1) => Some("mean"),
            Some(2) => Some("cls"),
            Some(3) => Some("last"),
            _ => None,
        },
        licence: text("general.license"),
        bytes: path.metadata().map_err(ModelError::io("read the model", path))?.len(),
    })
}
