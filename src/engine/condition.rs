//! One thing that a note is to be, as data.

use std::cmp::Ordering;

use serde_json::Value;

use super::error::EngineError;
use super::file_set::FileSet;
use super::files::FileTable;
use super::reader::Reader;
use crate::access::{Globs, Turn};
use crate::derive::{Label, values_of};
use crate::path::folded;

/// What a note is to be, or not to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What it is.
    pub wanted: Wanted,
    /// Whether it is what the note is not to be.
    pub negated: bool,
}

/// What a note may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Of a collection.
    Collection(String),
    /// With a tag, or one below it. Case does not count.
    Tag(String),
    /// At a path that a glob matches, or that has a text somewhere. Case does not count.
    Path(String),
    /// With a text somewhere in its title. Case and accents do not count.
    Title(String),
    /// Updated in a span of milliseconds since 1970, the end left out.
    Updated(i64, i64),
    /// Known by a label: a property with a value or any, or what is in its text.
    Labelled(Label),
    /// With a property that has a value on this side of another. Numbers are compared as such, other values as texts.
    Compared {
        /// The property's key.
        key: String,
        /// How its value compares with `with`; one of these.
        ordering: Vec<Ordering>,
        /// What it is compared with.
        with: String,
    },
}

impl Condition {
    /// Those of `set` that meet it.
    ///
    /// # Errors
    /// When a store cannot be read, or nobody waits any more.
    pub(super) fn narrow(&self, set: &mut FileSet, reader: &dyn Reader, turn: &Turn) -> Result<(), EngineError> {
        let meets = self.wanted.files(set, reader, turn)?;
        if self.negated {
            set.subtract(&meets)
        } else {
            set.intersect(&meets)
        }
        Ok(())
    }
}

impl Wanted {
    /// The files that are so; of those in `set` at least.
    ///
    /// # Errors
    /// When a store cannot be read, or nobody waits any more.
    pub(crate) fn files(&self, set: &FileSet, reader: &dyn Reader, turn: &Turn) -> Result<FileSet, EngineError> {
        let (files, facets) = (reader.files(), reader.files().facets());
        Ok(match self {
            Self::Collection(wanted) => facets.of_collections(|name| name == wanted),
            Self::Tag(tag) => {
                let wanted = folded(tag.trim_start_matches('#'));
                facets.with_tags(|tag| is_at_or_below(tag, &wanted))
            }
            Self::Path(text) => at_path(text, set, files),
            Self::Title(text) => {
                let wanted = crate::derive::words::fold(text);
                let has = |file: &u32| {
                    files.get(*file).is_some_and(|file| crate::derive::words::fold(&file.title).contains(&wanted))
                };
                set.iter().filter(has).collect()
            }
            Self::Updated(since, until) => facets.updated(|updated| *since <= updated && updated < *until),
            Self::Labelled(label) => facets.labelled(*label),
            Self::Compared { key, ordering, with } => {
                let mut having = facets.labelled(Label::of_property(key, None));
                having.intersect(set);
                let mut meets = FileSet::new();
                for file in having.iter() {
                    if turn.is_over() {
                        return Err(EngineError::abandoned());
                    }
                    // What is damaged meets nothing; a check finds it.
                    let metadata = match reader.metadata(file) {
                        Ok(Some(metadata)) => metadata,
                        Ok(None) => continue,
                        Err(error) if error.is_damage() => continue,
                        Err(error) => return Err(error),
                    };
                    let Ok(Value::Object(metadata)) = serde_json::from_str(&metadata) else { continue };
                    let values = values_of(&metadata, key);
                    if values.iter().any(|value| ordering.contains(&compared(value, with))) {
                        meets.insert(file);
                    }
                }
                meets
            }
        })
    }
}

fn at_path(text: &str, set: &FileSet, files: &FileTable) -> FileSet {
    let wanted = folded(text);
    let globs = text.contains(['*', '?', '{']).then(|| Globs::new(std::slice::from_ref(&wanted)).ok()).flatten();
    let there = |file: &u32| {
        files.get(*file).is_some_and(|file| match &globs {
            Some(globs) => globs.is_match(&folded(file.path.as_str())),
            None => folded(file.path.as_str()).contains(&wanted),
        })
    };
    set.iter().filter(there).collect()
}

/// As numbers where both are, else as texts: dates as people write them are in order so.
fn compared(value: &str, with: &str) -> Ordering {
    match (value.trim().parse::<f64>(), with.trim().parse::<f64>()) {
        (Ok(value), Ok(with)) => value.total_cmp(&with),
        _ => folded(value.trim()).cmp(&folded(with.trim())),
    }
}

/// Whether a tag is another, or one below it; both folded.
pub(crate) fn is_at_or_below(tag: &str, wanted: &str) -> bool {
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

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert_eq!(compared("10", " 9.5"), Ordering::Greater);
        assert_eq!(compared("2026-01-05", "2026-01-10"), Ordering::Less);
        assert_eq!(compared("Calm", "calm"), Ordering::Equal);
    }
}
