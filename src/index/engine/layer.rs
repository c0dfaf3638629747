//! Which files are in which layer.

use super::facets::Facets;
use super::file_set::{FileSet, FileTable};
use crate::access::rules::AGENTS;
use crate::base::config::MemoryLayer;
use crate::text::derive::{CONVERSATIONS, Label};

/// The collections of the layers that have one.
const ENTRIES: &str = "memories";
const SUMMARIES: &str = "summaries";
/// What an agent keeps line by line, in its folder.
const ENTRIES_FILE: &str = "entries.md";
/// What is in the graph by its `type`.
const ENTITY_TYPES: [&str; 7] = ["person", "company", "place", "project", "tool", "concept", "event"];

/// The files of a layer; of summaries those alone that are of `summaries_since_ms` or later: a summary is as old as its conversation.
pub(super) fn of_layer(layer: MemoryLayer, summaries_since_ms: Option<i64>, files: &FileTable) -> FileSet {
    let facets = files.facets();
    let among = |name: &str| facets.of_collections(|collection| collection == name);
    match layer {
        MemoryLayer::Conversations => among(CONVERSATIONS),
        MemoryLayer::Summaries => {
            let is_of = |file: &u32, since: i64| files.get(*file).is_some_and(|file| since <= file.created_ms);
            let summaries = among(SUMMARIES);
            match summaries_since_ms {
                Some(since) => summaries.iter().filter(|file| is_of(file, since)).collect(),
                None => summaries,
            }
        }
        MemoryLayer::Entries => {
            let mut entries = among(ENTRIES);
            let path = |file: &u32| files.get(*file).map_or("", |file| file.path.as_str());
            entries.extend(among(AGENTS).iter().filter(|file| is_of_an_agent(path(file))));
            entries
        }
        MemoryLayer::Graph => {
            let mut graph = entities(facets);
            [MemoryLayer::Entries, MemoryLayer::Conversations, MemoryLayer::Summaries]
                .into_iter()
                .for_each(|layer| graph.subtract(&of_layer(layer, None, files)));
            graph
        }
        MemoryLayer::Notes => {
            let mut notes = facets.all().clone();
            [MemoryLayer::Entries, MemoryLayer::Conversations, MemoryLayer::Summaries]
                .into_iter()
                .for_each(|layer| notes.subtract(&of_layer(layer, None, files)));
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
    use crate::access::rules::Turn;
    use crate::base::config::StemmerLanguage;
    use crate::index::engine::tests::exact::ExactEngine;
    use crate::index::engine::{Condition, Engine, FileUpdate, Filter, Predicate};

    #[test]
    fn each_file_is_in_one_layer() {
        let english = StemmerLanguage::English;
        let mut writer = ExactEngine::new(english).open(false).unwrap();
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
        writer.apply(writer.batch(updates, Vec::new())).unwrap();
        let reader = writer.publish().unwrap();
        let found = |name: &str, summaries_since_ms: Option<i64>| -> Vec<String> {
            let wanted = Predicate::Layer(MemoryLayer::named(name).unwrap());
            let conditions = vec![Condition { wanted, negated: false }];
            let filter = Filter { summaries_since_ms, conditions, ..Filter::default() };
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
}
