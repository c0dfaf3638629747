//! Finding the notes near one, of what a request sees.

use super::{ReadScope, RequestError};
use crate::index::search::{Related, RelatedRequest, related};

impl ReadScope {
    /// Finds the notes near one.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(crate) fn related(&self, request: &RelatedRequest<'_>) -> Result<Related, RequestError> {
        let language = self.workspace.config().search.stemmer;
        let found = self.searched(|| related(self.reader.as_ref(), &self.visible, language, request))?;
        if let Some(reason) = &found.damage {
            drop(self.workspace.suspect(reason));
        }
        Ok(found)
    }

    /// How many characters of a chunk are shown, of those that are usual.
    pub(crate) fn snippet_chars(&self, usual: usize) -> usize {
        self.limits.map_or(usual, |limits| usual.min(limits.max_snippet_chars))
    }
}
