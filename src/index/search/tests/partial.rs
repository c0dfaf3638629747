//! While the vault is being embedded, hybrid is at least as good as the words alone.

use std::collections::BTreeMap;

use super::super::{Degraded, SearchRequest, Visible, search};
use crate::access::rules::{Scope, Turn};
use crate::base::config::{Mode, SearchConfig, StemmerLanguage};
use crate::index::engine::tests::exact::ExactEngine;
use crate::index::engine::{Engine, FileUpdate, Filter, Reader};
use crate::models::{EmbeddedText, Embedder, EmbeddingSpace, HashEmbedder};

const NOTES: usize = 120;
const THINGS: [&str; 12] = [
    "river", "garden", "bicycle", "sourdough", "violin", "lantern", "harbour", "chess", "compost", "glacier", "kettle",
    "parquet",
];
const DEEDS: [&str; 10] =
    ["repair", "painting", "history", "price", "storage", "winter", "plans", "cleaning", "names", "photographs"];

/// A note on one deed to one thing, which mentions others.
fn note(at: usize) -> (String, String) {
    let (thing, deed) = (THINGS[at % THINGS.len()], DEEDS[at / THINGS.len()]);
    let other = |by: usize| (THINGS[(at * 7 + by) % THINGS.len()], DEEDS[(at * 3 + by) % DEEDS.len()]);
    let aside: Vec<String> = (1..5).map(|by| format!("Not of the {} and its {}.", other(by).0, other(by).1)).collect();
    let text = format!("# Note {at}\n\nThe {deed} of the {thing} took a day. {}\n", aside.join(" "));
    (format!("{deed} of the {thing}"), text)
}

/// How often the right note is first, of all.
fn first(reader: &dyn Reader, embedder: &HashEmbedder, mode: Mode) -> usize {
    let visible = Visible::of(&Scope::Everything, reader.files());
    let right = (0..NOTES).filter(|at| {
        let (text, filter, turn) = (note(*at).0, Filter::default(), Turn::default());
        let request = SearchRequest {
            parts: Vec::new(),
            text,
            mode,
            limit: 1,
            filter,
            at: jiff::Timestamp::UNIX_EPOCH,
            min_relevance: None,
            context: None,
            turn,
        };
        let found = search(reader, Some(embedder), &visible, &SearchConfig::default(), &request).unwrap();
        found.hits.first().is_some_and(|hit| hit.file.path.as_str() == format!("notes/{at}.md"))
    });
    right.count()
}

#[test]
fn while_a_vault_is_embedded_hybrid_is_as_good_as_words() {
    let embedder = HashEmbedder::new(256);
    let mut engine = ExactEngine::new(StemmerLanguage::English).open().unwrap();
    let updates =
        (0..NOTES).map(|at| FileUpdate::of_text(&format!("notes/{at}.md"), &note(at).1, StemmerLanguage::English));
    engine.apply(updates.collect(), Vec::new()).unwrap();
    engine.use_model(&EmbeddingSpace::of(&embedder)).unwrap();
    let words = first(engine.publish().unwrap().as_ref(), &embedder, Mode::Keyword);
    let mut right = BTreeMap::new();
    for percent in [0, 10, 25, 50, 75, 100_usize] {
        let chosen = |hash: &[u8]| usize::from(hash[0]) * 100 < percent * 256;
        let pending = engine.take_pending(embedder.fingerprint(), usize::MAX).unwrap();
        let (now, later): (Vec<_>, Vec<_>) = pending
            .into_iter()
            .partition(|pending| chosen(blake3::hash(pending.document.input().as_bytes()).as_bytes()));
        engine.requeue(embedder.fingerprint(), &later.iter().map(|pending| pending.content).collect::<Vec<_>>());
        let vectors = now.into_iter().map(|pending| {
            let vector = embedder.embed_documents(&[pending.document], None).unwrap().remove(0);
            (pending.content, EmbeddedText::of(&vector))
        });
        engine.embedded(embedder.fingerprint(), vectors.collect()).unwrap();
        right.insert(percent, first(engine.publish().unwrap().as_ref(), &embedder, Mode::Hybrid));
    }
    assert!(right.values().all(|hybrid| *hybrid >= words), "{words} of {NOTES} by words, by percent: {right:?}");
}

#[test]
fn a_correction_is_said_whatever_else_is() {
    let mut writer = ExactEngine::new(StemmerLanguage::English).open().unwrap();
    writer
        .apply(vec![FileUpdate::of_text("notes/a.md", "The river is wide.\n", StemmerLanguage::English)], Vec::new())
        .unwrap();
    let reader = writer.publish().unwrap();
    let visible = Visible::of(&Scope::Everything, reader.files());
    let request = SearchRequest {
        parts: Vec::new(),
        text: "rvier".into(),
        mode: Mode::Hybrid,
        limit: 5,
        filter: Filter::default(),
        at: jiff::Timestamp::UNIX_EPOCH,
        min_relevance: None,
        context: None,
        turn: Turn::default(),
    };
    let found = search(reader.as_ref(), None, &visible, &SearchConfig::default(), &request).unwrap();
    assert_eq!(found.corrections.iter().map(|one| one.shown.as_str()).collect::<Vec<_>>(), ["river"]);
    assert_eq!((found.hits.len(), found.degraded), (1, Some(Degraded::NoModel)));
}
