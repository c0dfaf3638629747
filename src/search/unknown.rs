//! What a query names that no note has, and what was perhaps meant.

use std::fmt;

use super::nearest::nearest;
use crate::engine::{FileSet, FileTable, Filter, Wanted, is_at_or_below};
use crate::path::folded;

/// A collection, tag or property that no note has which is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// What it would be.
    pub kind: UnknownKind,
    /// As it was typed.
    pub name: String,
    /// The nearest one that there is.
    pub nearest: Option<String>,
    /// Of collections all that there are, in alphabetical order.
    pub there: Vec<String>,
}

/// What may be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownKind {
    /// A collection.
    Collection,
    /// A tag.
    Tag,
    /// A property of the frontmatter.
    Property,
}

/// Maximum number of collections that are named to whoever asks for one that is not there.
const MAX_SHOWN: usize = 50;

impl fmt::Display for UnknownName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match self.kind {
            UnknownKind::Collection => write!(out, "no note is in a collection `{name}`")?,
            UnknownKind::Tag => write!(out, "no note has the tag `{name}`")?,
            UnknownKind::Property => write!(out, "no note has the property `{name}`")?,
        }
        match &self.nearest {
            Some(nearest) => write!(out, "; did you mean `{nearest}`?"),
            None if self.there.is_empty() => Ok(()),
            None => {
                let shown: Vec<String> = self.there.iter().take(MAX_SHOWN).map(|name| format!("`{name}`")).collect();
                write!(out, "; notes are in {}", shown.join(", "))?;
                match self.there.len() - shown.len() {
                    0 => Ok(()),
                    more => write!(out, ", and {more} more"),
                }
            }
        }
    }
}

/// The first collection or tag of a filter that no file of `scope` (all when `None`) has.
pub(super) fn unknown(filter: &Filter, files: &FileTable, scope: Option<&FileSet>) -> Option<UnknownName> {
    let wanted = filter.conditions.iter().filter(|condition| !condition.negated).map(|condition| &condition.wanted);
    let tags = filter.tag.iter().flat_map(|tags| tags.split(',')).map(str::trim).filter(|tag| !tag.is_empty());
    let of_filter = filter.collection.as_ref().and_then(|name| unknown_collection(name, files, scope));
    of_filter.or_else(|| tags.into_iter().find_map(|tag| unknown_tag(tag, files, scope))).or_else(|| {
        wanted.into_iter().find_map(|wanted| match wanted {
            Wanted::Collection(name) => unknown_collection(name, files, scope),
            Wanted::Tag(name) => unknown_tag(name, files, scope),
            _ => None,
        })
    })
}

/// A collection, when no file of `scope` is in it.
pub(crate) fn unknown_collection(name: &str, files: &FileTable, scope: Option<&FileSet>) -> Option<UnknownName> {
    let mut there = files.facets().collection_names(scope);
    there.sort_unstable();
    (!there.contains(&name)).then(|| UnknownName {
        kind: UnknownKind::Collection,
        name: name.to_owned(),
        nearest: nearest(name, &there),
        there: there.into_iter().map(str::to_owned).collect(),
    })
}

fn unknown_tag(typed: &str, files: &FileTable, scope: Option<&FileSet>) -> Option<UnknownName> {
    let (wanted, there) = (folded(typed.trim_start_matches('#')), files.facets().tag_names(scope));
    let known = there.iter().any(|tag| is_at_or_below(tag, &wanted));
    (!known).then(|| UnknownName {
        kind: UnknownKind::Tag,
        name: typed.to_owned(),
        nearest: nearest(&wanted, &there),
        there: Vec::new(),
    })
}
