//! What a query names that no note has, and what was perhaps meant.

use crate::engine::{Condition, FileSet, FileTable, Wanted, is_at_or_below};
use crate::path::folded;

/// A collection or tag that no note has which is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// What it would be: `collection` or `tag`.
    pub kind: &'static str,
    /// As it was typed.
    pub name: String,
    /// The nearest one that there is.
    pub nearest: Option<String>,
}

/// The first collection or tag of the conditions that no file of `scope` (all when `None`) has.
pub(super) fn unknown(conditions: &[Condition], files: &FileTable, scope: Option<&FileSet>) -> Option<UnknownName> {
    let facets = files.facets();
    conditions.iter().filter(|condition| !condition.negated).find_map(|condition| {
        let (kind, typed, wanted, there) = match &condition.wanted {
            Wanted::Collection(name) => ("collection", name, name.clone(), facets.collection_names(scope)),
            Wanted::Tag(name) => ("tag", name, folded(name.trim_start_matches('#')), facets.tag_names(scope)),
            _ => return None,
        };
        let known = there.iter().any(|name| is_at_or_below(name, &wanted));
        (!known).then(|| UnknownName { kind, name: typed.clone(), nearest: nearest(&wanted, &there) })
    })
}

/// The name that most likely was meant: one that goes on as it begins, else one with few letters changed.
fn nearest(wanted: &str, there: &[&str]) -> Option<String> {
    let wanted = folded(wanted);
    let distance = |name: &str| match folded(name) {
        name if !wanted.is_empty() && name.starts_with(&wanted) => 0,
        name => strsim::damerau_levenshtein(&name, &wanted),
    };
    let found = there.iter().map(|name| (distance(name), *name)).min();
    found.filter(|(distance, _)| *distance <= wanted.chars().count().div_ceil(4)).map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_one_that_may_have_been_meant() {
        let there = ["notes", "snippets", "travel/2026", "work"];
        assert_eq!(nearest("Note", &there).as_deref(), Some("notes"));
        assert_eq!(nearest("sniptes", &there).as_deref(), Some("snippets"));
        assert_eq!(nearest("travel", &there).as_deref(), Some("travel/2026"));
        assert_eq!(nearest("garden", &there), None);
        assert_eq!(nearest("", &[]), None);
    }
}
