//! Reading one note of what is seen.

use std::sync::Arc;

use super::{ReadScope, RequestError};
use crate::engine::FileEntry;
use crate::path::VaultPath;
use crate::vault::{ReadError, Source};

/// A note that is seen, as it is on disk.
///
/// # Errors
/// When no note that is seen has the path, or it cannot be read.
pub(crate) fn read_seen<'a>(scope: &'a ReadScope, path: &str) -> Result<(&'a Arc<FileEntry>, Source), RequestError> {
    let path = VaultPath::new(path).map_err(|error| RequestError::invalid(format!("`path` names no note: {error}")))?;
    let absent = || RequestError::no_note(&path);
    scope.go_on()?;
    let file = scope.file(path.as_str()).ok_or_else(absent)?;
    if !scope.gives(file) {
        return Err(absent());
    }
    let source = match scope.workspace().source(&file.path) {
        Ok(source) => source,
        Err(ReadError::Gone) => return Err(absent()),
        Err(error @ ReadError::Changing) => {
            return Err(RequestError::unavailable(format!("{path}: {error}"), "try again in a moment"));
        }
        Err(ReadError::Unfit(reason)) => return Err(RequestError::internal(format!("{path}: {reason}"))),
    };
    // The file may say since it was indexed that it is private.
    if scope.is_agents() && source.stamp != file.stamp {
        return Err(absent());
    }
    Ok((file, source))
}
