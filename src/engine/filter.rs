//! Which files a search may look at.

use super::condition::{Condition, is_at_or_below};
use super::error::EngineError;
use super::file_set::FileSet;
use super::reader::Reader;
use crate::access::Turn;
use crate::path::{ROOT_COLLECTION, folded};

/// What the caller narrows a search to. Empty parts narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this collection.
    pub collection: Option<String>,
    /// Only files whose path starts so.
    pub path: Option<String>,
    /// Only notes with this tag, or one below it; with commas between them several, of which each must be there. Case does not
    /// count.
    pub tag: Option<String>,
    /// Only notes updated at this time or later, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Only notes updated before this time.
    pub until_ms: Option<i64>,
    /// Only notes that meet each of these.
    pub conditions: Vec<Condition>,
}

impl Filter {
    /// The files of a scope (all when `None`) that pass the filter; `None` when all files do.
    ///
    /// # Errors
    /// When a store cannot be read, or nobody waits any more.
    pub fn resolve(
        &self,
        scope: Option<&FileSet>,
        reader: &dyn Reader,
        turn: &Turn,
    ) -> Result<Option<FileSet>, EngineError> {
        if *self == Self::default() {
            return Ok(scope.cloned());
        }
        let files = reader.files();
        let facets = files.facets();
        let mut set = scope.unwrap_or(facets.all()).clone();
        if let Some(collection) = &self.collection {
            set.intersect(&facets.of_collections(|name| name == collection));
        }
        for tag in self.tag.iter().flat_map(|tags| tags.split(',')).map(str::trim).filter(|tag| !tag.is_empty()) {
            let wanted = folded(tag.trim_start_matches('#'));
            set.intersect(&facets.with_tags(|tag| is_at_or_below(tag, &wanted)));
        }
        if self.since_ms.is_some() || self.until_ms.is_some() {
            let (since, until) = (self.since_ms.unwrap_or(i64::MIN), self.until_ms.unwrap_or(i64::MAX));
            set.intersect(&facets.updated(|updated| since <= updated && updated < until));
        }
        if let Some(prefix) = &self.path {
            set.intersect(&facets.of_collections(|name| may_hold(name, prefix)));
            let within = |file: &u32| files.get(*file).is_some_and(|file| file.path.starts_with(prefix));
            set = set.iter().filter(within).collect();
        }
        for condition in &self.conditions {
            condition.narrow(&mut set, reader, turn)?;
        }
        Ok((set != *facets.all()).then_some(set))
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
