//! Which files a search may look at: what notes are to be, as data.

use std::cmp::Ordering;

use serde_json::Value;

use super::error::{EngineError, unless_damaged};
use super::file_set::{Facets, FileSet, FileTable};
use super::reader::Reader;
use crate::access::rules::{AGENTS, Globs, Turn};
use crate::base::config::{MemoryLayer, VaultPart};
use crate::base::path::{ROOT_COLLECTION, VaultPath, folded};
use crate::text::derive::words::fold;
use crate::text::derive::{CONVERSATIONS, Label, speaker_term, values_of};

/// What a search is narrowed to, as data: an engine may turn it into a query of its own. Empty parts narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these files, as the rules of access have it.
    pub files: Option<FileSet>,
    /// From when on summaries are in their layer, in milliseconds since 1970. It narrows nothing by itself.
    pub summaries_since_ms: Option<i64>,
    /// Only notes that meet each of these.
    pub conditions: Vec<Condition>,
}

impl Filter {
    /// All files that are so.
    pub fn of(wanted: impl IntoIterator<Item = Predicate>) -> Self {
        Self { conditions: wanted.into_iter().map(Condition::from).collect(), ..Self::default() }
    }

    /// The files that pass the filter, of what a reader has; `None` when all files do.
    ///
    /// # Errors
    /// When a store cannot be read, or nobody waits any more.
    pub(super) fn resolve<R: Reader + ?Sized>(&self, reader: &R, turn: &Turn) -> Result<Option<FileSet>, EngineError> {
        if self.conditions.is_empty() {
            return Ok(self.files.clone());
        }
        let all = reader.files().facets().all();
        let mut set = self.files.as_ref().unwrap_or(all).clone();
        for condition in self.conditions.iter().filter(|condition| !condition.leaves_all()) {
            let meets = condition.wanted.files(&set, reader, self.summaries_since_ms, turn)?;
            match condition.negated {
                true => set.subtract(&meets),
                false => set.intersect(&meets),
            }
        }
        Ok((set != *all).then_some(set))
    }
}

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
    /// At a path that starts so.
    PathPrefix(String),
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

impl Condition {
    /// Whether no file is ruled out by it: what others say in the same conversation is not.
    pub(super) fn leaves_all(&self) -> bool {
        self.negated && matches!(self.wanted, Predicate::Speaker(_))
    }
}

impl From<Predicate> for Condition {
    fn from(wanted: Predicate) -> Self {
        Self { wanted, negated: false }
    }
}

impl Predicate {
    /// The files that are so; of those in `set` at least.
    ///
    /// # Errors
    /// When a store cannot be read, or nobody waits any more.
    fn files<R: Reader + ?Sized>(
        &self,
        set: &FileSet,
        reader: &R,
        summaries_since_ms: Option<i64>,
        turn: &Turn,
    ) -> Result<FileSet, EngineError> {
        let (files, facets) = (reader.files(), reader.files().facets());
        Ok(match self {
            Self::Collection(wanted) => facets.of_collections(|name| name == wanted),
            Self::Conversation(wanted) => {
                let of_id = facets.labelled(Label::of_conversation(wanted));
                let conversations = facets.of_collections(|name| name == CONVERSATIONS);
                files.which(&conversations, |file| of_id.contains(file.id) || is_called(&file.path, wanted))
            }
            Self::Speaker(name) => facets.labelled(Label::of_speaker(&speaker_term(name))),
            Self::Tag(tag) => {
                let wanted = folded(tag.trim_start_matches('#'));
                facets.with_tags(|tag| is_at_or_below(tag, &wanted))
            }
            Self::Path(text) => at_path(text, set, files),
            Self::PathPrefix(prefix) => {
                let mut within = facets.of_collections(|name| may_hold(name, prefix));
                within.intersect(set);
                files.which(&within, |file| file.path.starts_with(prefix))
            }
            Self::Within(parts) => files.which(set, |file| parts.iter().any(|part| part.holds(file.path.as_str()))),
            Self::Among(wanted) => wanted.clone(),
            Self::Layer(layer) => of_layer(*layer, summaries_since_ms, files),
            Self::Title(text) => {
                let wanted = fold(text);
                files.which(set, |file| fold(&file.title).contains(&wanted))
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
                    let Some(metadata) = unless_damaged(reader.metadata(file))? else { continue };
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
    files.which(set, |file| match &globs {
        Some(globs) => globs.is_match(&folded(file.path.as_str())),
        None => folded(file.path.as_str()).contains(&wanted),
    })
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

/// Whether a file of a collection may have a path that starts with `prefix`; where Unicode could spell it otherwise, it may.
fn may_hold(collection: &str, prefix: &str) -> bool {
    let fits = match prefix.split_once('/') {
        Some((top, _)) => collection == top,
        None => collection.starts_with(prefix),
    };
    fits || collection == ROOT_COLLECTION || !collection.is_ascii()
}

/// The collections of the layers that have one.
const ENTRIES: &str = "memories";
const SUMMARIES: &str = "summaries";
/// What an agent keeps line by line, in its folder.
const ENTRIES_FILE: &str = "entries.md";
/// The layers that have one, of which no note is in another.
const OF_COLLECTIONS: [MemoryLayer; 3] = [MemoryLayer::Entries, MemoryLayer::Conversations, MemoryLayer::Summaries];
/// What is in the graph by its `type`.
const ENTITY_TYPES: [&str; 7] = ["person", "company", "place", "project", "tool", "concept", "event"];

/// The files of a layer; of summaries those alone that are of `summaries_since_ms` or later: a summary is as old as its conversation.
fn of_layer(layer: MemoryLayer, summaries_since_ms: Option<i64>, files: &FileTable) -> FileSet {
    let facets = files.facets();
    let among = |name: &str| facets.of_collections(|collection| collection == name);
    match layer {
        MemoryLayer::Conversations => among(CONVERSATIONS),
        MemoryLayer::Summaries => {
            files.which(&among(SUMMARIES), |file| summaries_since_ms.is_none_or(|since| since <= file.created_ms))
        }
        MemoryLayer::Entries => {
            let mut entries = among(ENTRIES);
            entries.union(&files.which(&among(AGENTS), |file| is_of_an_agent(file.path.as_str())));
            entries
        }
        MemoryLayer::Graph => {
            let mut graph = entities(facets);
            OF_COLLECTIONS.iter().for_each(|layer| graph.subtract(&of_layer(*layer, None, files)));
            graph
        }
        MemoryLayer::Notes => {
            let mut notes = facets.all().clone();
            OF_COLLECTIONS.iter().for_each(|layer| notes.subtract(&of_layer(*layer, None, files)));
            notes.subtract(&entities(facets));
            notes
        }
    }
}

/// The labels of which a note of the graph has one.
pub(super) fn entity_labels() -> impl Iterator<Item = Label> {
    let types = ENTITY_TYPES.iter().map(|kind| Label::of_property("type", Some(kind)));
    types.chain([Label::of_relation(None)])
}

fn entities(facets: &Facets) -> FileSet {
    let mut entities = FileSet::new();
    entity_labels().for_each(|label| entities.union(&facets.labelled(label)));
    entities
}

/// Whether a path is `agents/<slug>/entries.md`.
fn is_of_an_agent(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts[..], [AGENTS, _, ENTRIES_FILE])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::StemmerLanguage;
    use crate::index::engine::tests::exact::ExactEngine;
    use crate::index::engine::{Engine, FileUpdate};

    #[test]
    fn a_tag_stands_for_those_below_it() {
        assert!(is_at_or_below("work", "work") && is_at_or_below("work/plan", "work"));
        assert!(!is_at_or_below("workshop", "work"));
    }

    #[test]
    fn a_speaker_was_looked_for_in_every_conversation() {
        let english = StemmerLanguage::English;
        let mut writer = ExactEngine::new(english).open().unwrap();
        let said = |by: &[&str]| by.iter().map(|name| format!("**10:00 · {name}:** Hello\n")).collect::<String>();
        let notes = [
            FileUpdate::of_text("conversations/a.md", &said(&["user", "Maya"]), english),
            FileUpdate::of_text("conversations/b.md", &said(&["user", "assistant"]), english),
            FileUpdate::of_text("notes/c.md", &said(&["Maya"]), english),
        ];
        writer.apply(notes.into(), Vec::new()).unwrap();
        let reader = writer.publish().unwrap();
        let files = |name: &str| -> Vec<String> {
            let filter = Filter::of([Predicate::Speaker(name.into())]);
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

    #[test]
    fn each_file_is_in_one_layer() {
        let english = StemmerLanguage::English;
        let mut writer = ExactEngine::new(english).open().unwrap();
        let person = "---\ntype: Person\n---\nx";
        let notes = [
            ("memories/user.md", "- manages [[x]]", "entries"),
            ("agents/ada/entries.md", person, "entries"),
            ("agents/ada/memory/entries.md", "x", "notes"),
            ("agents/ada/memory/ann.md", person, "graph"),
            ("conversations/deep/a.md", person, "conversations"),
            ("summaries/a.md", "---\ncreated: 1970-01-02\n---\n- manages [[x]]", "summaries"),
            ("summaries/days/old.md", "---\ncreated: 1970-01-01\nupdated: 1970-01-05\n---\nx", "summaries"),
            ("people/ann.md", person, "graph"),
            ("people/bob.md", "manages:: [[Ann]]", "graph"),
            ("entries.md", "x", "notes"),
            ("notes/book.md", "---\ntype: book\n---\n[[Ann]]", "notes"),
        ];
        let updates = notes.iter().map(|(path, text, _)| FileUpdate::of_text(path, text, english)).collect();
        writer.apply(updates, Vec::new()).unwrap();
        let reader = writer.publish().unwrap();
        let found = |name: &str, summaries_since_ms: Option<i64>| -> Vec<String> {
            let wanted = Predicate::Layer(MemoryLayer::named(name).unwrap());
            let filter = Filter { summaries_since_ms, ..Filter::of([wanted]) };
            let set = reader.resolve(&filter, &Turn::default()).unwrap().unwrap();
            let mut paths: Vec<String> =
                set.iter().map(|file| reader.files().get(file).unwrap().path.to_string()).collect();
            paths.sort();
            paths
        };
        for layer in ["entries", "conversations", "summaries", "graph", "notes"] {
            let mut of_layer: Vec<&str> = notes.iter().filter(|note| note.2 == layer).map(|note| note.0).collect();
            of_layer.sort_unstable();
            assert_eq!(found(layer, None), of_layer, "{layer}");
        }
        assert_eq!(found("summaries", Some(1)), ["summaries/a.md"], "the other is as old as may be");
        assert_eq!(found("notes", Some(1)), found("notes", None), "what is not shown of one layer is in no other");
        assert_eq!(MemoryLayer::named("other"), None);
    }

    #[test]
    fn collections_that_cannot_hold_a_path_are_passed_over() {
        for prefix in ["", "no", "notes", "notes/", "notes/a.md"] {
            assert!(may_hold("notes", prefix), "{prefix:?}");
        }
        assert!(!may_hold("notes", "node") && !may_hold("notes", "note/"));
        assert!(may_hold(ROOT_COLLECTION, "facts.md") && may_hold("ne\u{301}", "n\u{e9}/x"));
    }
}
