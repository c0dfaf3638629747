//! Deep searches: the best of a hybrid one, looked at token by token.

use std::time::Instant;

use jiff::Timestamp;

use super::super::{Degraded, SearchRequest, Visible, search};
use crate::access::rules::Turn;
use crate::base::config::{Mode, SearchConfig, StemmerLanguage};
use crate::index::engine::tests::exact::ExactEngine;
use crate::index::engine::{Engine, FileUpdate, Filter, Reader};
use crate::index::search::Results;
use crate::models::{
    ContentHash, Document, Embedder, EmbeddingSpace, Fingerprint, HashEmbedder, ModelError, TokenEmbedder, TokenVectors,
};

/// A model that has time for so many documents at once, fails on all, or has no tokens.
struct Hurried {
    of: HashEmbedder,
    tokens: Tokens,
}

#[derive(Clone, Copy)]
enum Tokens {
    None,
    Failing,
    For(usize),
}

impl Embedder for Hurried {
    fn fingerprint(&self) -> &Fingerprint {
        self.of.fingerprint()
    }
    fn name(&self) -> &str {
        self.of.name()
    }
    fn dimension(&self) -> usize {
        self.of.dimension()
    }
    fn embed_query(&self, text: &str, deadline: Option<Instant>) -> Result<Vec<f32>, ModelError> {
        self.of.embed_query(text, deadline)
    }
    fn embed_documents(&self, documents: &[Document], deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
        self.of.embed_documents(documents, deadline)
    }
    fn tokens(&self) -> Option<&dyn TokenEmbedder> {
        (!matches!(self.tokens, Tokens::None)).then_some(self)
    }
}

impl TokenEmbedder for Hurried {
    fn query_tokens(&self, text: &str, deadline: Instant) -> Result<TokenVectors, ModelError> {
        self.of.query_tokens(text, deadline)
    }
    fn document_tokens(
        &self,
        documents: &[(ContentHash, Document)],
        deadline: Instant,
    ) -> Result<Vec<TokenVectors>, ModelError> {
        match self.tokens {
            Tokens::For(count) if documents.len() <= count => self.of.document_tokens(documents, deadline),
            Tokens::For(_) => Err(ModelError::TimedOut),
            Tokens::None | Tokens::Failing => Err(ModelError::Panicked("no tokens".into())),
        }
    }
}

const LANGUAGE: StemmerLanguage = StemmerLanguage::English;

/// Notes of which more and more have half of the words in two, so that the meaning of each word tells them apart.
fn vault(folder: &str, embedder: &dyn Embedder) -> std::sync::Arc<dyn Reader> {
    let mut writer = ExactEngine::new(LANGUAGE).open(false).unwrap();
    let filler = "stone cloud paper";
    let note = |at: usize| {
        let words = ["river", "boat", "garden", "apple"];
        let (near, far) = (words[..at % 5].join(" "), filler.repeat(at % 3));
        FileUpdate::of_text(&format!("{folder}/{at}.md"), &format!("# Note {at}\n\n{near} {far} water.\n"), LANGUAGE)
    };
    writer.apply(writer.batch((0..20).map(note).collect(), Vec::new())).unwrap();
    writer.use_model(&EmbeddingSpace::of(embedder)).unwrap();
    let pending = writer.take_pending(embedder.fingerprint(), usize::MAX).unwrap();
    let vectors = pending
        .into_iter()
        .map(|pending| (pending.content, embedder.embed(&[pending.document], None).unwrap().remove(0)));
    writer.embedded(embedder.fingerprint(), vectors.collect()).unwrap();
    writer.publish().unwrap()
}

fn found(embedder: &dyn Embedder, mode: Mode) -> Results {
    found_with(embedder, mode, &SearchConfig { deep_candidates: 20, ..SearchConfig::default() })
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

fn with(tokens: Tokens) -> Hurried {
    Hurried { of: HashEmbedder::default(), tokens }
}

fn paths(results: &Results) -> Vec<&str> {
    results.hits.iter().map(|hit| hit.file.path.as_str()).collect()
}

#[test]
fn what_is_not_looked_at_stays_behind_in_its_order() {
    let hybrid = found(&with(Tokens::None), Mode::Hybrid);
    for best in [1, 7, 20] {
        let config = SearchConfig { deep_candidates: best, ..SearchConfig::default() };
        let deep = found_with(&with(Tokens::For(20)), Mode::Deep, &config);
        assert_eq!((deep.mode, &deep.degraded), (Mode::Deep, &None));
        assert!(deep.hits.iter().enumerate().all(|(at, hit)| hit.late.is_some() == (at < best)), "{best}");
        assert_eq!(paths(&deep)[best..], paths(&hybrid)[best..], "{best}");
        let mut looked_at = paths(&deep)[..best].to_vec();
        let mut before = paths(&hybrid)[..best].to_vec();
        looked_at.sort_unstable();
        before.sort_unstable();
        assert_eq!(looked_at, before, "{best}");
        assert!(deep.hits.is_sorted_by(|one, two| one.score >= two.score), "{best}");
    }
}

#[test]
fn under_load_the_order_is_that_of_all_or_of_none() {
    let hybrid = found(&with(Tokens::None), Mode::Hybrid);
    let all = found(&with(Tokens::For(20)), Mode::Deep);
    assert_ne!(paths(&all), paths(&hybrid));
    for ready in 0..20 {
        let some = found(&with(Tokens::For(ready)), Mode::Deep);
        assert_eq!((some.mode, paths(&some)), (Mode::Hybrid, paths(&hybrid)), "{ready}");
        assert_eq!(some.degraded, Some(Degraded::NotDeep("the model took too long".into())), "{ready}");
    }
}

#[test]
fn words_that_are_all_there_win() {
    let deep = found(&with(Tokens::For(20)), Mode::Deep);
    let best = deep.hits[0].late.unwrap();
    assert!(deep.hits.iter().all(|hit| hit.late.unwrap() <= best), "{best}");
    assert!(best > deep.hits[19].late.unwrap() + 0.3);
}

#[test]
fn a_model_that_cannot_costs_nothing_but_the_closer_look() {
    let hybrid = found(&with(Tokens::None), Mode::Hybrid);
    for tokens in [Tokens::None, Tokens::Failing, Tokens::For(0)] {
        let deep = found(&with(tokens), Mode::Deep);
        assert_eq!((deep.mode, paths(&deep)), (Mode::Hybrid, paths(&hybrid)));
        assert!(matches!(&deep.degraded, Some(Degraded::NotDeep(_))), "{:?}", deep.degraded);
    }
}

/// A model that answers when nobody waits any more.
struct Slow(HashEmbedder);

impl Embedder for Slow {
    fn fingerprint(&self) -> &Fingerprint {
        self.0.fingerprint()
    }
    fn name(&self) -> &str {
        self.0.name()
    }
    fn dimension(&self) -> usize {
        self.0.dimension()
    }
    fn embed_query(&self, text: &str, deadline: Option<Instant>) -> Result<Vec<f32>, ModelError> {
        if deadline.is_some() { Err(ModelError::TimedOut) } else { self.0.embed_query(text, deadline) }
    }
    fn embed_documents(&self, documents: &[Document], deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
        self.0.embed_documents(documents, deadline)
    }
}

#[test]
fn a_model_that_is_slower_than_the_budget_is_left_out_and_said() {
    let model = Slow(HashEmbedder::default());
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
    let none = with(Tokens::None);
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
