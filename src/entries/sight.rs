//! Which entries who asks may see: each by its own sources.

use std::collections::HashMap;
use std::sync::Arc;

use crate::derive::entries::{EntryShelf, MemoryEntry, MemoryHolder, is_trace_of};
use crate::layers::EntryBook;
use crate::request::{ReadScope, RequestError, Viewer};

/// What of the vault who asks sees.
pub(super) struct EntrySight<'v> {
    viewer: &'v Viewer,
    given: ReadScope,
    own: Option<ReadScope>,
    seen: HashMap<String, bool>,
}

impl<'v> EntrySight<'v> {
    pub(super) fn of(viewer: &'v Viewer) -> Result<Self, RequestError> {
        let given = viewer.read_scope()?;
        let own = viewer.memory_of_its_own()?;
        Ok(Self { viewer, given, own, seen: HashMap::new() })
    }

    pub(super) fn given(&self) -> &ReadScope {
        &self.given
    }

    /// A file of entries, as far as it is seen by itself: an agent sees it as it is in the index, and none of what waits.
    pub(super) fn book(
        &self,
        holder: &MemoryHolder,
        shelf: EntryShelf,
    ) -> Result<Option<Arc<EntryBook>>, RequestError> {
        let layers = self.viewer.workspace().layers();
        if !self.given.is_agents() {
            return Ok(Some(layers.book(holder, shelf)?));
        }
        let Ok(path) = crate::layers::entries_path(holder, shelf) else { return Ok(None) };
        let scope = match holder {
            MemoryHolder::Person => &self.given,
            MemoryHolder::Agent(_) => self.own.as_ref().unwrap_or(&self.given),
        };
        let files = scope.reader().files();
        let Some(file) = files.at(path.as_str()) else { return Ok(None) };
        let is_own = matches!(holder, MemoryHolder::Agent(_));
        if !self.viewer.sees_by_itself(files, file, is_own) {
            return Ok(None);
        }
        // What cannot be read, or has changed since, is not told from what is not there.
        Ok(layers.book(holder, shelf).ok().filter(|book| Some(file.stamp) == book.stamp))
    }

    /// Whether all sources of an entry are seen, as they are on disk now.
    pub(super) fn sees(&mut self, entry: &MemoryEntry) -> bool {
        if !self.given.is_agents() {
            return true;
        }
        let own = self.viewer.agent().unwrap_or_default();
        entry.source_paths().all(|path| {
            // What it has told itself.
            if is_trace_of(path, own) {
                return true;
            }
            if let Some(seen) = self.seen.get(path) {
                return *seen;
            }
            let in_scope = |scope: &ReadScope| scope.file(path).is_some_and(|file| scope.gives(file));
            let seen = in_scope(&self.given) || self.own.as_ref().is_some_and(in_scope);
            self.seen.insert(path.to_owned(), seen);
            seen
        })
    }
}
