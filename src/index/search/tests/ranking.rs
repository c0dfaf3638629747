//! The stages that `[search]` turns on.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::super::{SearchRequest, Visible, search};
use crate::access::rules::Turn;
use crate::base::config::{Mode, SearchConfig, StemmerLanguage};
use crate::index::engine::tests::exact::ExactEngine;
use crate::index::engine::{Engine, FileUpdate, Filter};
use crate::models::{EmbeddedText, Embedder, EmbeddingSpace, HashEmbedder};

const LANGUAGE: StemmerLanguage = StemmerLanguage::English;

/// The paths found for "kiwi river" in notes, in their order, with their scores.
fn found(notes: &[(&str, &str)], mode: Mode, config: &SearchConfig) -> Vec<(String, f64)> {
    let embedder = HashEmbedder::default();
    let mut writer = ExactEngine::new(LANGUAGE).open().unwrap();
    writer
        .apply(notes.iter().map(|(path, text)| FileUpdate::of_text(path, text, LANGUAGE)).collect(), Vec::new())
        .unwrap();
    writer.use_model(&EmbeddingSpace::of(&embedder)).unwrap();
    let pending = writer.take_pending(embedder.fingerprint(), usize::MAX).unwrap();
    let vectors = pending.into_iter().map(|pending| {
        let vector = embedder.embed_documents(&[pending.document], None).unwrap().remove(0);
        (pending.content, EmbeddedText::of(&vector))
    });
    writer.embedded(embedder.fingerprint(), vectors.collect()).unwrap();
    let reader = writer.publish().unwrap();
    let visible = Visible::of(&crate::access::rules::Scope::Everything, reader.files());
    let request = SearchRequest {
        parts: Vec::new(),
        text: "kiwi river".into(),
        mode,
        limit: 10,
        filter: Filter::default(),
        at: "2026-03-01T00:00:00Z".parse::<Timestamp>().unwrap(),
        min_relevance: None,
        context: Some(0),
        turn: Turn::default(),
    };
    let found = search(reader.as_ref(), Some(&embedder), &visible, config, &request).unwrap();
    found.hits.iter().map(|hit| (hit.file.path.to_string(), hit.score)).collect()
}

fn paths(found: &[(String, f64)]) -> Vec<&str> {
    assert!(found.is_sorted_by(|one, two| one.1 >= two.1), "{found:?}");
    found.iter().map(|(path, _)| path.as_str()).collect()
}

const OLD: &str = "---\nupdated: 2026-01-01\n---\nThe kiwi swims in the river.\n";
const EVERGREEN: &str = "---\nupdated: 2026-01-01\nevergreen: true\n---\nThe kiwi swims in the river.\n";
const NEW: &str = "---\nupdated: 2026-02-27\n---\nThe kiwi swims in the river.\n";

#[test]
fn what_is_of_a_day_counts_less_as_it_grows_old_and_notes_do_not() {
    let notes = [
        ("conversations/a.md", OLD),
        ("conversations/b.md", NEW),
        ("conversations/c.md", EVERGREEN),
        ("notes/d.md", OLD),
    ];
    let as_it_is = found(&notes, Mode::Keyword, &SearchConfig::default());
    let all = ["conversations/a.md", "conversations/b.md", "conversations/c.md", "notes/d.md"];
    assert_eq!(paths(&as_it_is), all);
    let config = SearchConfig { half_life_days: 30.0, ..SearchConfig::default() };
    let aged = found(&notes, Mode::Keyword, &config);
    assert_eq!(paths(&aged), ["conversations/c.md", "notes/d.md", "conversations/b.md", "conversations/a.md"]);
    assert!((aged[3].1 / aged[0].1 - 0.5_f64.powf(59.0 / 30.0)).abs() < 1e-9, "{aged:?}");
    // Whatever the model makes of their titles.
    for mode in [Mode::Semantic, Mode::Hybrid] {
        assert_eq!(paths(&found(&notes, mode, &config))[3], "conversations/a.md", "{mode:?}");
    }
}

#[test]
fn a_collection_counts_as_much_as_it_is_given() {
    let notes = [("facts/a.md", OLD), ("notes/b.md", OLD)];
    let weights = BTreeMap::from([("facts".to_owned(), 0.5)]);
    let config = SearchConfig { weights, ..SearchConfig::default() };
    assert_eq!(paths(&found(&notes, Mode::Keyword, &config)), ["notes/b.md", "facts/a.md"]);
    let config = SearchConfig { weights: BTreeMap::from([("facts".to_owned(), 0.0)]), ..config };
    assert_eq!(paths(&found(&notes, Mode::Keyword, &config)), ["notes/b.md", "facts/a.md"], "last, and not gone");
}

#[test]
fn what_says_the_same_again_comes_later_where_likeness_counts() {
    let notes = [
        ("notes/a.md", "The kiwi swims in the river today.\n"),
        ("notes/b.md", "The kiwi swims in the river today!\n"),
        ("notes/c.md", "A kiwi beside another river, with mountains, trains, bridges, castles and a lighthouse.\n"),
    ];
    let default = SearchConfig::default();
    assert_eq!(paths(&found(&notes, Mode::Hybrid, &default)), ["notes/a.md", "notes/b.md", "notes/c.md"]);
    let spread = found(&notes, Mode::Hybrid, &SearchConfig { mmr_lambda: 0.3, ..default });
    assert_eq!(paths(&spread), ["notes/a.md", "notes/c.md", "notes/b.md"]);
}
