//! What was said in conversations, looked at token by token; and a model that is late.

use std::time::Instant;

use jiff::Timestamp;

use super::super::{Degraded, SearchRequest, Visible, search};
use crate::access::rules::Turn;
use crate::base::config::{Mode, SearchConfig, StemmerLanguage};
use crate::index::engine::tests::exact::ExactEngine;
use crate::index::engine::{Engine, FileUpdate, Filter, Reader};
use crate::index::search::Results;
use crate::models::{Document, Embedder, EmbeddingSpace, Fingerprint, HashEmbedder, ModelError};

/// A model that keeps no tokens, and that may answer when nobody waits any more.
#[derive(Default)]
struct NoTokens {
    hashed: HashEmbedder,
    is_slow: bool,
}

impl Embedder for NoTokens {
    fn fingerprint(&self) -> &Fingerprint {
        self.hashed.fingerprint()
    }
    fn name(&self) -> &str {
        self.hashed.name()
    }
    fn dimension(&self) -> usize {
        self.hashed.dimension()
    }
    fn embed_query(&self, text: &str, deadline: Option<Instant>) -> Result<Vec<f32>, ModelError> {
        if self.is_slow && deadline.is_some() {
            return Err(ModelError::TimedOut);
        }
        self.hashed.embed_query(text, deadline)
    }
    fn embed_documents(&self, documents: &[Document], deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
        self.hashed.embed_documents(documents, deadline)
    }
}

const LANGUAGE: StemmerLanguage = StemmerLanguage::English;

/// Notes of which more and more have half of the words in two, so that the meaning of each word tells them apart.
fn vault(folder: &str, embedder: &dyn Embedder) -> std::sync::Arc<dyn Reader> {
    let mut writer = ExactEngine::new(LANGUAGE).open().unwrap();
    let filler = "stone cloud paper";
    let note = |at: usize| {
        let words = ["river", "boat", "garden", "apple"];
        let (near, far) = (words[..at % 5].join(" "), filler.repeat(at % 3));
        FileUpdate::of_text(&format!("{folder}/{at}.md"), &format!("# Note {at}\n\n{near} {far} water.\n"), LANGUAGE)
    };
    writer.apply((0..20).map(note).collect(), Vec::new()).unwrap();
    writer.use_model(&EmbeddingSpace::of(embedder)).unwrap();
    let pending = writer.take_pending(embedder.fingerprint(), usize::MAX).unwrap();
    let vectors = pending
        .into_iter()
        .map(|pending| (pending.content, embedder.embed(&[pending.document], None).unwrap().remove(0)));
    writer.embedded(embedder.fingerprint(), vectors.collect()).unwrap();
    writer.publish().unwrap()
}

fn found_with(embedder: &dyn Embedder, mode: Mode, config: &SearchConfig) -> Results {
    found_in("notes", embedder, mode, config)
}

fn found_in(folder: &str, embedder: &dyn Embedder, mode: Mode, config: &SearchConfig) -> Results {
    let reader = vault(folder, embedder);
    let visible = Visible::of(&crate::access::rules::Scope::Everything, reader.files());
    let request = SearchRequest {
        parts: Vec::new(),
        text: "river boat garden apple water".into(),
        mode,
        limit: 20,
        filter: Filter::default(),
        at: Timestamp::UNIX_EPOCH,
        min_relevance: None,
        context: None,
        turn: Turn::default(),
    };
    search(reader.as_ref(), Some(embedder), &visible, config, &request).unwrap()
}

#[test]
fn a_model_that_is_slower_than_the_budget_is_left_out_and_said() {
    let model = NoTokens { is_slow: true, ..NoTokens::default() };
    let config = |timeout_ms| SearchConfig { timeout_ms, ..SearchConfig::default() };
    for mode in [Mode::Hybrid, Mode::Semantic, Mode::Deep] {
        let waited = found_with(&model, mode, &config(0));
        assert!(waited.mode != Mode::Keyword && !waited.hits.is_empty(), "{mode:?}");
        let left_out = found_with(&model, mode, &config(200));
        assert_eq!(left_out.mode, Mode::Keyword, "{mode:?}");
        assert_eq!(left_out.degraded, Some(Degraded::ModelFailed("the model took too long".into())), "{mode:?}");
        assert!(!left_out.hits.is_empty(), "{mode:?}");
    }
}

#[test]
fn what_was_said_is_looked_at_token_by_token_in_every_hybrid_search() {
    let embedder = HashEmbedder::default();
    let config = SearchConfig::default();
    let found = found_in("conversations", &embedder, Mode::Hybrid, &config);
    assert_eq!((found.mode, &found.degraded), (Mode::Hybrid, &None));
    assert!(found.hits.iter().all(|hit| hit.late.is_some()));
    assert!(found.hits[0].chunk.text.contains("river boat garden apple"), "{}", found.hits[0].chunk.text);
    // Nobody else asks for them, and of other notes, or by a model that keeps none, all is as it was.
    let none = NoTokens::default();
    for (folder, embedder, mode) in [
        ("conversations", &embedder as &dyn Embedder, Mode::Semantic),
        ("conversations", &embedder, Mode::Keyword),
        ("conversations", &none, Mode::Hybrid),
        ("notes", &embedder, Mode::Hybrid),
    ] {
        let found = found_in(folder, embedder, mode, &config);
        assert!(found.hits.iter().all(|hit| hit.late.is_none()), "{folder} {mode:?}");
    }
}
