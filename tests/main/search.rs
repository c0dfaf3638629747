//! The shortest way from a file to a hit, and what is embedded on it.

use memory_vault::access::request::ErrorKind;
use memory_vault::models::{Document, Embedder, Fingerprint, ModelError};

use crate::support::prelude::*;

/// A model with a bug.
struct Panicking;

impl Embedder for Panicking {
    fn fingerprint(&self) -> &Fingerprint {
        panic!("a bug")
    }

    fn name(&self) -> &'static str {
        "panicking"
    }

    fn dimension(&self) -> usize {
        32
    }

    fn embed_query(&self, _: &str, _: Option<Instant>) -> Result<Vec<f32>, ModelError> {
        panic!("a bug")
    }

    fn embed_documents(&self, _: &[Document], _: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
        panic!("a bug")
    }
}

#[test]
fn a_bug_in_a_search_was_taken_for_damage_of_the_index() {
    let vault = TestVault::new().with("a.md", "A river and a boat.").synced();
    let request = search_request("river", Mode::Hybrid, 10);
    let scope = vault.owner().read_scope().unwrap();
    let failed = scope.search_with(Some(&Panicking), &vault.config.search, &request).unwrap_err();
    assert_eq!(failed.kind, ErrorKind::Internal, "{failed}");
    assert_eq!(scope.search_with(None, &vault.config.search, &request).unwrap().hits.len(), 1);
}

/// Paragraphs of their own words, each a chunk or less.
fn paragraphs(count: usize) -> Vec<String> {
    (0..count)
        .map(|at| format!("Paragraph {at} {}", format!("tells of subject{at} and detail{at} at length. ").repeat(6)))
        .collect()
}

#[test]
fn a_note_is_found_by_its_words_with_a_citation_and_an_edit_by_its_new_ones() {
    let mut vault = TestVault::new();
    // A note is found by its words with a citation.
    vault.write("notes/bread.md", "# Bread\n\nLet the dough rest overnight.\n").write("b.md", "Nothing of it.").sync();
    let found = vault.search("resting dough");
    let hit = &found.0.results[0];
    assert_eq!((hit.chunk.path.as_str(), hit.chunk.citation.as_str()), ("notes/bread.md", "notes/bread.md#L1-L3"));
    assert_eq!((hit.chunk.title.as_str(), hit.chunk.collection.as_str()), ("Bread", "notes"));
    assert_eq!(found.0.degraded, None);
    // An edit is found by its new words and not by its old ones.
    vault.write("a.md", "old zebra").sync().write("a.md", "new walrus").sync();
    assert_eq!(vault.words("walrus").paths(), ["a.md"]);
    assert!(vault.words("zebra").paths().is_empty());
}

#[test]
fn a_move_and_other_frontmatter_embed_nothing() {
    let mut vault = TestVault::new();
    let text = format!("# A title\n\n{}", paragraphs(20).join("\n\n"));
    vault.write("notes/a.md", text).write("notes/deep/b.md", "# Other\n\nwords").sync();
    let embedded = vault.embedded_by(|vault| {
        vault.rename("notes/a.md", "journal/a.md").rename("notes/deep", "journal/deep");
    });
    assert_eq!(embedded, 0);
    assert_eq!(vault.status().embedded, vault.status().embeddable);
    assert!(vault.search("subject7").paths().contains(&"journal/a.md"));
    // A change of frontmatter alone embeds nothing.
    let mut vault = TestVault::new().with("a.md", "---\ntags: [one]\n---\n# Title\n\nwords\n").synced();
    let embedded = vault.embedded_by(|vault| {
        vault.write("a.md", "---\ntags: [two, three]\nmood: fine\n---\n# Title\n\nwords\n");
    });
    assert_eq!(embedded, 0);
    assert_eq!(vault.search("words").0.results[0].chunk.tags, ["two", "three"]);
    assert_eq!(vault.search("words").0.results[0].chunk.metadata["mood"], "fine");
    // Identical texts are embedded once.
    let mut vault = TestVault::new();
    let embedded = vault.embedded_by(|vault| {
        for at in 0..20 {
            vault.write(&format!("copy{at}/a.md"), "# Same\n\nThe same words everywhere.");
        }
    });
    assert_eq!((embedded, vault.status().embedded), (1, 20));
}

#[test]
fn an_undone_edit_embeds_nothing() {
    let mut vault = TestVault::new();
    let before = paragraphs(10).join("\n\n");
    let after = before.replace("subject5", "elephants");
    vault.write("a.md", &before).sync();
    let embedded = |vault: &mut TestVault, text: &str| {
        let before = vault.embedder.documents_embedded();
        vault.write("a.md", text).restart();
        vault.embedder.documents_embedded() - before
    };
    assert!(embedded(&mut vault, &after) > 0);
    assert_eq!((embedded(&mut vault, &before), embedded(&mut vault, &after)), (0, 0));
    assert_eq!(vault.words("elephants").paths()[0], "a.md");
}

#[test]
fn a_phrase_left_out_that_comes_late_in_the_index_made_the_search_fail() {
    let mut vault = TestVault::new();
    vault.write("a.md", "flour and water").write("b.md", "flour for sour dough").write("c.md", "sour flour").sync();
    let mut found = vault.words("flour -\"sour dough\"").paths().join(" ");
    assert_eq!((found.len(), found.contains("b.md")), (9, false), "{found}");
    found = vault.words("flour -\"dough sour\" -water").paths().join(" ");
    assert_eq!((found.len(), found.contains("a.md")), (9, false), "{found}");
}
