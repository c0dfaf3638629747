//! Searches in one layer of the memory: by a filter and by what is typed.

use memory_vault::base::config::MemoryLayer;

use crate::support::prelude::*;

const NOTES: [(&str, &str); 9] = [
    ("memories/user.md", "- [preference] The quokka is fed at noon.\n"),
    ("agents/ada/entries.md", "- [fact] A quokka eats leaves.\n"),
    ("conversations/2026-01-05-zoo.md", "# Zoo\n\n**10:00 · user:** Where is the quokka?\n"),
    ("summaries/2026-01-05-zoo.md", "# Of the zoo\n\nThe quokka was looked for.\n"),
    ("summaries/days/2020-01-05.md", "---\ncreated: 2020-01-05\n---\n# Long ago\n\nNo quokka yet.\n"),
    ("people/ann.md", "---\ntype: person\n---\n# Ann\n\nShe keeps the quokka.\n"),
    ("notes/house.md", "# House\n\nOf the quokka.\n\n- part_of [[Ann]]\n"),
    ("notes/plain.md", "# Plain\n\nA quokka, see [[Ann]].\n"),
    ("agents/ada/memory/x.md", "A quokka of an agent.\n"),
];

const LAYERS: [(MemoryLayer, &str, &[&str]); 5] = [
    (MemoryLayer::Entries, "entries", &["agents/ada/entries.md", "memories/user.md"]),
    (MemoryLayer::Conversations, "conversations", &["conversations/2026-01-05-zoo.md"]),
    (MemoryLayer::Summaries, "summaries", &["summaries/2026-01-05-zoo.md"]),
    (MemoryLayer::Graph, "graph", &["notes/house.md", "people/ann.md"]),
    (MemoryLayer::Notes, "notes", &["agents/ada/memory/x.md", "notes/plain.md"]),
];

fn paths(vault: &TestVault, q: &str, layer: Option<MemoryLayer>) -> Vec<String> {
    let found = vault.search_with(&SearchQuery { q: q.into(), layer, limit: Some(50), ..SearchQuery::default() });
    let mut paths: Vec<String> = found.paths().iter().map(|path| (*path).to_owned()).collect();
    paths.sort();
    paths.dedup();
    paths
}

#[test]
fn each_note_is_found_in_its_layer_alone() {
    let mut vault = TestVault::new();
    for (path, text) in NOTES {
        vault.write(path, text);
    }
    vault.write("notes/odd.md", "---\nlayer: bottom\n---\nA quokka at the bottom.\n").sync();
    for (layer, name, expected) in LAYERS {
        let odd = (name == "notes").then_some("notes/odd.md");
        let mut expected: Vec<&str> = expected.iter().copied().chain(odd).collect();
        expected.sort_unstable();
        assert_eq!(paths(&vault, "quokka", Some(layer)), expected, "{name}");
        assert_eq!(paths(&vault, &format!("quokka layer:{name}"), None), expected, "{name}, typed");
        assert_eq!(paths(&vault, &format!("Layer:{}", name.to_uppercase()), None), expected, "{name} alone");
        let others = paths(&vault, &format!("quokka -layer:{name}"), None);
        assert!(expected.iter().all(|path| !others.iter().any(|other| other == path)), "{name}: {others:?}");
    }
    assert_eq!(paths(&vault, "quokka", None).len(), 10, "without a layer all are found, old summaries too");
    assert_eq!(paths(&vault, "quokka layer:summaries", Some(MemoryLayer::Notes)), [""; 0]);
    // What is no layer is of a property, or words.
    assert_eq!(paths(&vault, "quokka layer:bottom", None), ["notes/odd.md"]);
    vault.remove("notes/odd.md").sync();
    let found = vault.search("quokka layer:bottom").0;
    assert_eq!(
        found.degraded.as_deref().map(|said| said.contains("`layer:bottom` is not a valid condition")),
        Some(true),
        "{:?}",
        found.degraded
    );
}
