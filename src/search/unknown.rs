//! What a query names that no note has, and what was perhaps meant.

use std::fmt;

use super::nearest::nearest;
use crate::access::Turn;
use crate::derive::{CONVERSATIONS, speaker_term};
use crate::engine::{Condition, EngineError, FileSet, FileTable, Filter, Reader, Wanted, is_at_or_below};
use crate::path::folded;

/// A collection, tag or property that no note has which is seen, or who speaks in none.
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
    /// Who speaks in a conversation.
    Speaker,
    /// A conversation.
    Conversation,
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
            UnknownKind::Speaker => write!(out, "nobody called `{name}` speaks in a conversation")?,
            UnknownKind::Conversation => write!(out, "no conversation is called `{name}`")?,
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

/// The first collection, tag, speaker or conversation of a filter that no file of `scope` (all when `None`) has.
///
/// # Errors
/// When a store cannot be read.
pub(super) fn unknown(
    filter: &Filter,
    reader: &dyn Reader,
    scope: Option<&FileSet>,
) -> Result<Option<UnknownName>, EngineError> {
    let files = reader.files();
    let wanted = filter.conditions.iter().filter(|condition| !condition.negated).map(|condition| &condition.wanted);
    let of_filter = filter.collection.as_ref().and_then(|name| unknown_collection(name, files, scope));
    let named = of_filter.or_else(|| filter.tags.iter().find_map(|tag| unknown_tag(tag, files, scope)));
    if named.is_some() {
        return Ok(named);
    }
    for wanted in wanted {
        let unknown = match wanted {
            Wanted::Collection(name) => unknown_collection(name, files, scope),
            Wanted::Tag(name) => unknown_tag(name, files, scope),
            Wanted::Speaker(_) | Wanted::Conversation(_) => unknown_of_turns(wanted, reader, scope)?,
            _ => None,
        };
        if unknown.is_some() {
            return Ok(unknown);
        }
    }
    Ok(None)
}

/// Whether a file of `scope` (all when `None`) is so.
///
/// # Errors
/// When a store cannot be read, or nobody waits any more.
pub(super) fn is_any(
    wanted: &Wanted,
    reader: &dyn Reader,
    scope: Option<&FileSet>,
    turn: &Turn,
) -> Result<bool, EngineError> {
    let conditions = vec![Condition { wanted: wanted.clone(), negated: false }];
    let found = reader.resolve(&Filter { files: scope.cloned(), conditions, ..Filter::default() }, turn)?;
    Ok(found.map_or_else(|| !reader.files().is_empty(), |found| !found.is_empty()))
}

/// A speaker or a conversation that is in no file of `scope`.
fn unknown_of_turns(
    wanted: &Wanted,
    reader: &dyn Reader,
    scope: Option<&FileSet>,
) -> Result<Option<UnknownName>, EngineError> {
    let files = reader.files();
    if is_any(wanted, reader, scope, &Turn::default())? {
        return Ok(None);
    }
    let (kind, name, nearest) = match wanted {
        Wanted::Speaker(name) => {
            let there = reader.speakers(scope)?;
            let nearest = nearest(&speaker_term(name), &there.iter().map(String::as_str).collect::<Vec<_>>());
            (UnknownKind::Speaker, name, nearest.map(|term| term.replace('_', " ")))
        }
        Wanted::Conversation(name) => {
            let all = files.facets().of_collections(|name| name == CONVERSATIONS);
            let seen = all.iter().filter(|file| scope.is_none_or(|scope| scope.contains(*file)));
            let stems: Vec<&str> = seen.filter_map(|file| Some(files.get(file)?.path.stem())).collect();
            // Nobody types the day that a file's name begins with.
            let names: Vec<&str> = stems.iter().map(|stem| without_day(stem)).collect();
            let by_name = || {
                let near = nearest(name, &names)?;
                stems.iter().find(|stem| without_day(stem) == near).map(|stem| (*stem).to_owned())
            };
            (UnknownKind::Conversation, name, nearest(name, &stems).or_else(by_name))
        }
        _ => return Ok(None),
    };
    Ok(Some(UnknownName { kind, name: name.clone(), nearest, there: Vec::new() }))
}

/// `2026-01-05-loans` without the day.
fn without_day(stem: &str) -> &str {
    match stem.split_at_checked("2026-01-05-".len()) {
        Some((day, rest)) if day.ends_with('-') && day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
            rest
        }
        _ => stem,
    }
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
