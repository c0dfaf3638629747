//! One thing that a note is to be, as data.

use std::cmp::Ordering;

use serde_json::Value;

use super::error::EngineError;
use super::file_set::{FileSet, FileTable};
use super::layer::of_layer;
use crate::access::rules::{Globs, Turn};
use crate::base::config::{MemoryLayer, VaultPart};
use crate::base::path::{VaultPath, folded};
use crate::text::derive::{CONVERSATIONS, Label, speaker_term, values_of};

/// What a note is to be, or not to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What it is.
    pub wanted: Predicate,
    /// Whether it is what the note is not to be.
    pub negated: bool,
}

/// What a note may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Predicate {
    /// Of a collection.
    Collection(String),
    /// A conversation by its id, its path, or its file's name. Case does not count.
    Conversation(String),
    /// With turns of a speaker. Which of its chunks are is asked of the words.
    Speaker(String),
    /// With a tag, or one below it. Case does not count.
    Tag(String),
    /// At a path that a glob matches, or that has a text somewhere. Case does not count.
    Path(String),
    /// In one of these parts of the vault.
    Within(Vec<VaultPart>),
    /// One of these files, by their row ids.
    Among(FileSet),
    /// In a layer of the memory.
    Layer(MemoryLayer),
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

/// What filters are resolved with, out of sets that are kept.
pub(super) struct FilteredFiles<'a> {
    pub(super) files: &'a FileTable,
    /// A file's frontmatter as JSON.
    pub(super) metadata: &'a dyn Fn(u32) -> Result<Option<String>, EngineError>,
    /// From when on summaries are in their layer, in milliseconds since 1970; all are where it is not said.
    pub(super) summaries_since_ms: Option<i64>,
    /// Whether anybody waits for the answer still.
    pub(super) turn: &'a Turn,
}

impl Condition {
    /// Whether no file is ruled out by it: what others say in the same conversation is not.
    pub(super) fn leaves_all(&self) -> bool {
        self.negated && matches!(self.wanted, Predicate::Speaker(_))
    }

    /// Those of `set` that meet it.
    ///
    /// # Errors
    /// When a store cannot be read, or nobody waits any more.
    pub(super) fn narrow(&self, set: &mut FileSet, of: &FilteredFiles<'_>) -> Result<(), EngineError> {
        if self.leaves_all() {
            return Ok(());
        }
        let meets = self.wanted.files(set, of)?;
        if self.negated {
            set.subtract(&meets)
        } else {
            set.intersect(&meets)
        }
        Ok(())
    }
}

impl Predicate {
    /// The files that are so; of those in `set` at least.
    ///
    /// # Errors
    /// When a store cannot be read, or nobody waits any more.
    fn files(&self, set: &FileSet, of: &FilteredFiles<'_>) -> Result<FileSet, EngineError> {
        let (files, facets) = (of.files, of.files.facets());
        Ok(match self {
            Self::Collection(wanted) => facets.of_collections(|name| name == wanted),
            Self::Conversation(wanted) => {
                let of_id = facets.labelled(Label::of_conversation(wanted));
                let conversations = facets.of_collections(|name| name == CONVERSATIONS);
                let meets =
                    |id: &u32| of_id.contains(*id) || files.get(*id).is_some_and(|file| is_called(&file.path, wanted));
                conversations.iter().filter(meets).collect()
            }
            Self::Speaker(name) => facets.labelled(Label::of_speaker(&speaker_term(name))),
            Self::Tag(tag) => {
                let wanted = folded(tag.trim_start_matches('#'));
                facets.with_tags(|tag| is_at_or_below(tag, &wanted))
            }
            Self::Path(text) => at_path(text, set, files),
            Self::Within(parts) => {
                let holds = |file: &u32| {
                    files.get(*file).is_some_and(|file| parts.iter().any(|part| part.holds(file.path.as_str())))
                };
                set.iter().filter(holds).collect()
            }
            Self::Among(wanted) => wanted.clone(),
            Self::Layer(layer) => of_layer(*layer, of.summaries_since_ms, files),
            Self::Title(text) => {
                let wanted = crate::text::derive::words::fold(text);
                let has = |file: &u32| {
                    files.get(*file).is_some_and(|file| crate::text::derive::words::fold(&file.title).contains(&wanted))
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
                    if of.turn.is_over() {
                        return Err(EngineError::abandoned());
                    }
                    // What is damaged meets nothing; a check finds it.
                    let metadata = match (of.metadata)(file) {
                        Ok(Some(metadata)) => metadata,
                        Ok(None) => continue,
                        Err(error) if error.is_damage() => continue,
                        Err(error) => return Err(error),
                    };
                    if has_compared(&metadata, key, ordering, with) {
                        meets.insert(file);
                    }
                }
                meets
            }
        })
    }
}

/// Whether a conversation's path, or its file's name, is what was asked for.
pub(super) fn is_called(path: &VaultPath, wanted: &str) -> bool {
    let (path, name) = (folded(path.as_str()), folded(wanted.strip_suffix(".md").unwrap_or(wanted)));
    let path = path.strip_suffix(".md").unwrap_or(&path);
    path == name || path.rsplit('/').next() == Some(&name)
}

/// Whether a property has a value on one of these sides of another, given the frontmatter as JSON.
pub(super) fn has_compared(metadata: &str, key: &str, ordering: &[Ordering], with: &str) -> bool {
    let Ok(Value::Object(metadata)) = serde_json::from_str(metadata) else { return false };
    values_of(&metadata, key).iter().any(|value| ordering.contains(&compared(value, with)))
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
    use crate::base::config::StemmerLanguage;
    use crate::index::engine::tests::exact::ExactEngine;
    use crate::index::engine::{Engine, FileUpdate, Filter};

    #[test]
    fn a_tag_stands_for_those_below_it() {
        assert!(is_at_or_below("work", "work") && is_at_or_below("work/plan", "work"));
        assert!(!is_at_or_below("workshop", "work"));
    }

    #[test]
    fn a_speaker_was_looked_for_in_every_conversation() {
        let english = StemmerLanguage::English;
        let mut writer = ExactEngine::new(english).open(false).unwrap();
        let said = |by: &[&str]| by.iter().map(|name| format!("**10:00 · {name}:** Hello\n")).collect::<String>();
        let notes = [
            FileUpdate::of_text("conversations/a.md", &said(&["user", "Maya"]), english),
            FileUpdate::of_text("conversations/b.md", &said(&["user", "assistant"]), english),
            FileUpdate::of_text("notes/c.md", &said(&["Maya"]), english),
        ];
        writer.apply(writer.batch(notes.into(), Vec::new())).unwrap();
        let reader = writer.publish().unwrap();
        let files = |name: &str| -> Vec<String> {
            let wanted = Predicate::Speaker(name.into());
            let filter = Filter { conditions: vec![Condition { wanted, negated: false }], ..Filter::default() };
            let found = reader.resolve(&filter, &Turn::default()).unwrap().unwrap();
            let mut paths: Vec<String> =
                found.iter().map(|file| reader.files().get(file).unwrap().path.to_string()).collect();
            paths.sort();
            paths
        };
        assert_eq!(files("MAYA"), ["conversations/a.md"]);
        assert_eq!(files("user"), ["conversations/a.md", "conversations/b.md"]);
        assert_eq!(files("nobody"), Vec::<String>::new());
        assert_eq!(reader.speakers(None).unwrap(), ["assistant", "maya", "user"]);
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert_eq!(compared("10", " 9.5"), Ordering::Greater);
        assert_eq!(compared("2026-01-05", "2026-01-10"), Ordering::Less);
        assert_eq!(compared("Calm", "calm"), Ordering::Equal);
    }
}
