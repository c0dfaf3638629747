//! Which files a search may look at.

use super::condition::{Condition, FilteredFiles, is_at_or_below};
use super::error::EngineError;
use super::file_set::FileSet;
use crate::base::path::{ROOT_COLLECTION, folded};

/// What a search is narrowed to, as data: an engine may turn it into a query of its own. Empty parts narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these files, as the rules of access have it.
    pub files: Option<FileSet>,
    /// Only this collection.
    pub collection: Option<String>,
    /// Only files whose path starts so.
    pub path: Option<String>,
    /// Only notes with each of these tags, or one below it. Case does not count.
    pub tags: Vec<String>,
    /// Only notes updated at this time or later, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Only notes updated before this time.
    pub until_ms: Option<i64>,
    /// From when on summaries are in their layer, in milliseconds since 1970. It narrows nothing by itself.
    pub summaries_since_ms: Option<i64>,
    /// Only notes that meet each of these.
    pub conditions: Vec<Condition>,
}

impl Filter {
    /// The files that pass the filter; `None` when all files do.
    ///
    /// # Errors
    /// When a store cannot be read, or nobody waits any more.
    pub(super) fn resolve(&self, of: &FilteredFiles<'_>) -> Result<Option<FileSet>, EngineError> {
        if *self == Self::default() {
            return Ok(None);
        }
        let (files, facets) = (of.files, of.files.facets());
        let mut set = self.files.as_ref().unwrap_or(facets.all()).clone();
        if self.narrows_files_alone() {
            return Ok(Some(set));
        }
        if let Some(collection) = &self.collection {
            set.intersect(&facets.of_collections(|name| name == collection));
        }
        for wanted in &self.tags {
            let wanted = folded(wanted.trim_start_matches('#'));
            set.intersect(&facets.with_tags(|tag| is_at_or_below(tag, &wanted)));
        }
        if self.since_ms.is_some() || self.until_ms.is_some() {
            set.intersect(&facets.updated(|updated| self.has_updated(updated)));
        }
        if let Some(prefix) = &self.path {
            set.intersect(&facets.of_collections(|name| may_hold(name, prefix)));
            let within = |file: &u32| files.get(*file).is_some_and(|file| file.path.starts_with(prefix));
            set = set.iter().filter(within).collect();
        }
        for condition in &self.conditions {
            condition.narrow(&mut set, of)?;
        }
        Ok((set != *facets.all()).then_some(set))
    }

    /// Whether a time is in the span that is asked for.
    pub(super) fn has_updated(&self, updated_ms: i64) -> bool {
        self.since_ms.is_none_or(|since| since <= updated_ms) && self.until_ms.is_none_or(|until| updated_ms < until)
    }

    /// Whether nothing is asked for but the files of the scope.
    fn narrows_files_alone(&self) -> bool {
        let Self { files: _, collection, path, tags, since_ms, until_ms, summaries_since_ms: _, conditions } = self;
        collection.is_none()
            && path.is_none()
            && tags.is_empty()
            && since_ms.is_none()
            && until_ms.is_none()
            && conditions.is_empty()
    }
}

/// Whether a file of a collection may have a path that starts with `prefix`; where Unicode could spell it otherwise, it may.
fn may_hold(collection: &str, prefix: &str) -> bool {
    let fits = match prefix.split_once('/') {
        Some((top, _)) => collection == top,
        None => collection.starts_with(prefix),
    };
    fits || collection == ROOT_COLLECTION || !collection.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_that_cannot_hold_a_path_are_passed_over() {
        for prefix in ["", "no", "notes", "notes/", "notes/a.md"] {
            assert!(may_hold("notes", prefix), "{prefix:?}");
        }
        assert!(!may_hold("notes", "node") && !may_hold("notes", "note/"));
        assert!(may_hold(ROOT_COLLECTION, "facts.md") && may_hold("ne\u{301}", "n\u{e9}/x"));
    }
}
