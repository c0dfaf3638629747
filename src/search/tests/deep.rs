//! Deep searches: the best of a hybrid one, looked at token by token.

use std::time::Instant;

use half::f16;
use jiff::Timestamp;

use super::super::{Degraded, SearchRequest, Visible, search};
use crate::access::Turn;
use crate::config::{Mode, SearchConfig, StemmerLanguage};
use crate::engine::tests::exact::ExactEngine;
use crate::engine::{Engine, FileUpdate, Filter, Reader};
use crate::models::{Document, Embedder, Fingerprint, HashEmbedder, ModelError, TokenEmbedder, TokenVectors};
use crate::search::run::Results;

/// A model that has time for so many documents, fails on all, or has no tokens.
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
        documents: &[Document],
        deadline: Instant,
    ) -> Result<Vec<Option<TokenVectors>>, ModelError> {
        let Tokens::For(count) = self.tokens else { return Err(ModelError::Panicked("no tokens".into())) };
        let mut found = self.of.document_tokens(documents, deadline)?;
        found.iter_mut().skip(count).for_each(|late| *late = None);
        Ok(found)
    }
}

const LANGUAGE: StemmerLanguage = StemmerLanguage::English;

/// Notes of which more and more have half of the words in two, so that the meaning of each word tells them apart.
fn vault(embedder: &dyn Embedder) -> std::sync::Arc<dyn Reader> {
    let mut writer = ExactEngine::new(LANGUAGE).open(false).unwrap();
    let filler = "stone cloud paper";
    let note = |at: usize| {
        let words = ["river", "boat", "garden", "apple"];
        let (near, far) = (words[..at % 5].join(" "), filler.repeat(at % 3));
        FileUpdate::of_text(&format!("notes/{at}.md"), &format!("# Note {at}\n\n{near} {far} water.\n"), LANGUAGE)
    };
    writer.apply((0..20).map(note).collect(), &[]).unwrap();
    writer.use_model(embedder).unwrap();
    let pending = writer.take_pending(usize::MAX).unwrap();
    let vectors = pending.into_iter().map(|pending| {
        let vector = embedder.embed_documents(&[pending.document], None).unwrap().remove(0);
        (pending.content, vector.into_iter().map(f16::from_f32).collect())
    });
    writer.embedded(vectors.collect()).unwrap();
    writer.publish().unwrap()
}

fn found(embedder: &dyn Embedder, mode: Mode) -> Results {
    let reader = vault(embedder);
    let visible = Visible::of(&crate::access::Scope::Everything, reader.files());
    let request = SearchRequest {
        text: "river boat garden apple water".into(),
        mode,
        limit: 20,
        filter: Filter::default(),
        at: Timestamp::UNIX_EPOCH,
        min_relevance: None,
        context: None,
        turn: Turn::default(),
    };
    search(reader.as_ref(), Some(embedder), &visible, &SearchConfig::default(), &request).unwrap()
}

fn with(tokens: Tokens) -> Hurried {
    Hurried { of: HashEmbedder::default(), tokens }
}

fn paths(results: &Results) -> Vec<&str> {
    results.hits.iter().map(|hit| hit.file.path.as_str()).collect()
}

#[test]
fn what_there_is_no_time_for_stays_behind_in_its_order() {
    let hybrid = found(&with(Tokens::None), Mode::Hybrid);
    for ready in [1, 7, 20] {
        let deep = found(&with(Tokens::For(ready)), Mode::Deep);
        assert_eq!((deep.mode, &deep.degraded), (Mode::Deep, &None));
        assert!(deep.hits.iter().enumerate().all(|(at, hit)| hit.late.is_some() == (at < ready)), "{ready}");
        assert_eq!(paths(&deep)[ready..], paths(&hybrid)[ready..], "{ready}");
        let mut looked_at = paths(&deep)[..ready].to_vec();
        let mut before = paths(&hybrid)[..ready].to_vec();
        looked_at.sort_unstable();
        before.sort_unstable();
        assert_eq!(looked_at, before, "{ready}");
        assert!(deep.hits.is_sorted_by(|one, two| one.score >= two.score), "{ready}");
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
