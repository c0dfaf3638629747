//! Which files a search may look at.

use crate::access::Scope;
use crate::index::{FileEntry, FileSet, Files};

/// What the caller narrows a search to. Empty parts narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this collection.
    pub collection: Option<String>,
    /// Only files whose path starts so.
    pub path: Option<String>,
    /// Only notes with this tag, or one below it. Case does not count.
    pub tag: Option<String>,
    /// Only notes updated at this time or later, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Only notes updated before this time.
    pub until_ms: Option<i64>,
}

impl Filter {
    /// The files of the scope that pass the filter; `None` when all files do.
    pub fn resolve(&self, scope: &Scope, files: &Files) -> Option<FileSet> {
        if *self == Self::default() && scope.is_everything() {
            return None;
        }
        let tag = self.tag.as_deref().map(|tag| tag.trim_start_matches('#').to_lowercase());
        files.select(|file| scope.allows(file.private) && self.passes(file, tag.as_deref()))
    }

    fn passes(&self, file: &FileEntry, tag: Option<&str>) -> bool {
        self.collection.as_deref().is_none_or(|collection| file.path.collection() == collection)
            && self.path.as_deref().is_none_or(|prefix| file.path.starts_with(prefix))
            && tag.is_none_or(|wanted| file.tags.iter().any(|tag| is_at_or_below(&tag.to_lowercase(), wanted)))
            && self.since_ms.is_none_or(|since| file.updated_ms >= since)
            && self.until_ms.is_none_or(|until| file.updated_ms < until)
    }
}

fn is_at_or_below(tag: &str, wanted: &str) -> bool {
    tag.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_stands_for_those_below_it() {
        assert!(is_at_or_below("work", "work") && is_at_or_below("work/plan", "work"));
        assert!(!is_at_or_below("workshop", "work"));
    }
}
