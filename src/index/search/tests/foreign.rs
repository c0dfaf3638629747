//! What a model does not read is said.

use super::super::{SearchRequest, Visible, search};
use super::named::asked;
use crate::base::config::{Mode, SearchConfig, StemmerLanguage};
use crate::index::engine::tests::exact::ExactEngine;
use crate::index::engine::{Engine, FileUpdate, Reader};
use crate::models::{EmbeddedText, Embedder, EmbeddingSpace, HashEmbedder};
use crate::text::derive::TextLanguage;

const GERMAN: &str = "Die Fahrräder stehen im Keller, und der Schlüssel liegt unter der Matte neben der Tür.\n";
const ENGLISH: &str = "The bicycles are in the cellar, and the key is under the mat next to the door.\n";

#[test]
fn a_model_that_reads_english_alone_was_asked_in_german_and_nothing_was_said() {
    let mut writer = ExactEngine::new(StemmerLanguage::English).open().unwrap();
    let update = |path, text| FileUpdate::of_text(path, text, StemmerLanguage::English);
    let hidden = format!("---\nprivate: true\n---\n{GERMAN}");
    let notes = [update("notes/de.md", GERMAN), update("notes/en.md", ENGLISH), update("notes/hidden.md", &hidden)];
    let embedder = |name| HashEmbedder::new(16).named(name);
    let any = embedder("any");
    writer.use_model(&EmbeddingSpace::of(&any)).unwrap();
    writer.apply(notes.into(), Vec::new()).unwrap();
    let pending = writer.take_pending(any.fingerprint(), usize::MAX).unwrap();
    let vector = |document| any.embed_documents(&[document], None).unwrap().remove(0);
    let vectors = pending.into_iter().map(|pending| (pending.content, EmbeddedText::of(&vector(pending.document))));
    writer.embedded(any.fingerprint(), vectors.collect()).unwrap();
    let reader = writer.publish().unwrap();
    let unread = |model, mode, limit, text: &str| {
        let visible = Visible::of(&crate::access::rules::Scope::Public, reader.files());
        let request = SearchRequest { mode, ..asked(text, limit) };
        let reader: &dyn Reader = reader.as_ref();
        let found = search(reader, Some(&embedder(model)), &visible, &SearchConfig::default(), &request).unwrap();
        assert!(!found.hits.is_empty());
        found.unread.map(TextLanguage::name)
    };
    let minilm = "all-MiniLM-L6-v2";
    let question = "Wo liegt der Schlüssel für die Fahrräder, die im Keller stehen?";
    assert_eq!(unread(minilm, Mode::Hybrid, 5, question), Some("German"), "the query shows it");
    assert_eq!(unread(minilm, Mode::Semantic, 1, "Fahrräder Keller Matte"), Some("German"), "what is found shows it");
    assert_eq!(unread(minilm, Mode::Keyword, 5, question), None, "no model was asked");
    assert_eq!(unread("multilingual-e5-small", Mode::Hybrid, 5, question), None, "it reads German");
    assert_eq!(unread(minilm, Mode::Hybrid, 5, "Where is the key to the bicycles that are in the cellar?"), None);
    assert_eq!(unread(minilm, Mode::Hybrid, 2, "cellar"), None, "one of two, and a third that is hidden");
}
