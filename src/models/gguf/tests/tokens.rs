//! The vectors of single tokens, and what the model knows of words.

use std::time::{Duration, Instant};

use super::super::super::{ContentHash, Document, Embedder, ModelError};
use super::{cosine, document, documents, open, shared};

fn named(documents: impl IntoIterator<Item = Document>) -> Vec<(ContentHash, Document)> {
    documents.into_iter().map(|document| (ContentHash::of(&document), document)).collect()
}

#[test]
fn the_tokens_of_a_text_are_near_those_that_say_the_same() {
    let embedder = shared();
    let tokens = embedder.tokens().expect("a model that pools by the mean");
    let soon = || Instant::now() + Duration::from_secs(600);
    let pooled = embedder.embed_documents(&documents(3), None).unwrap();
    let query = tokens.query_tokens("how do I bake bread", soon()).unwrap();
    let bread = tokens.query_tokens("bread", soon()).unwrap();
    assert_eq!(bread.len(), 1, "a vector for each token and none for the special ones");
    let texts = ["how do I bake bread", "Baking a sourdough loaf in the oven", "the quarterly ledger of the harbour"];
    let found = tokens.document_tokens(&named(texts.map(document)), soon()).unwrap();
    let near: Vec<f64> = found.iter().map(|found| query.max_sim(found)).collect();
    assert!((near[0] - 1.0).abs() < 0.01 && near[1] > near[2] + 0.1, "{near:?}");
    assert_eq!(embedder.embed_documents(&documents(3), None).unwrap(), pooled, "other contexts change no embedding");
    let empty = tokens.document_tokens(&named([Document::default()]), soon()).unwrap();
    assert!(empty[0].is_empty() && query.max_sim(&empty[0]) == 0.0);
}

#[test]
fn a_word_that_the_model_learned_is_told_from_a_slip() {
    for (word, is_one) in
        [("bike", true), ("basement", true), ("ownreship", false), ("clousre", false), ("\u{e001}", false)]
    {
        assert_eq!(shared().has_word(word), is_one, "{word}");
    }
}

#[test]
fn tokens_are_given_of_all_texts_or_of_none() {
    let embedder = open();
    let tokens = embedder.tokens().expect("a model that pools by the mean");
    assert!(matches!(tokens.document_tokens(&named(documents(4)), Instant::now()), Err(ModelError::TimedOut)));
    assert!(matches!(tokens.query_tokens("bread", Instant::now()), Err(ModelError::TimedOut)));
    let soon = Instant::now() + Duration::from_secs(600);
    let first = tokens.document_tokens(&named(documents(4)), soon).unwrap();
    assert_eq!(
        tokens.document_tokens(&named(documents(4)), Instant::now()).unwrap(),
        first,
        "what is known costs no time"
    );
    assert!(matches!(tokens.document_tokens(&named(documents(5)), Instant::now()), Err(ModelError::TimedOut)));
    // An agent's guess must not come sooner where a hidden note says the same, and was looked at lately.
    let guess = documents(1).remove(0);
    let guess = [(ContentHash::within("agents/ada/memory/keys.md", &guess), guess)];
    assert!(matches!(tokens.document_tokens(&guess, Instant::now()), Err(ModelError::TimedOut)));
    embedder.stop();
    assert!(matches!(tokens.document_tokens(&named(documents(6)), soon), Err(ModelError::Stopped)));
}

#[test]
fn tokens_are_kept_beside_the_same_vector() {
    let embedder = shared();
    let keeps = |document: Document| Document { keeps_tokens: true, ..document };
    let mut documents: Vec<Document> = documents(6).into_iter().map(keeps).collect();
    documents.push(document("whose tokens nobody keeps"));
    let vectors = embedder.embed_documents(&documents, None).unwrap();
    let kept = embedder.embed(&documents, None).unwrap();
    assert_eq!(embedder.embed(&documents, None).unwrap(), kept, "the same text gives the same");
    assert!(kept[6].tokens.as_bytes().is_empty());
    for ((document, vector), kept) in documents.iter().zip(&vectors).zip(&kept).take(6) {
        let halved: Vec<f32> = kept.vector.iter().map(|value| value.to_f32()).collect();
        assert!(cosine(vector, &halved) > 0.9999, "{document:?}");
        let sequence = embedder.working.tokenizer.document(document);
        let tokens = embedder.working.tokenizer.text_in_document(&sequence).len();
        assert_eq!(kept.tokens.as_bytes().len(), tokens.div_ceil(2).min(42) * 48);
    }
    // What says the query's words is nearest.
    let asked = embedder.token_query(None, "quartz violin", None).unwrap().unwrap();
    let texts = ["A violin of quartz stood in the window.", "The ledger lists every engine.", "Saffron grows here."];
    let kept = embedder.embed(&texts.map(|text| keeps(document(text))), None).unwrap();
    let near: Vec<f64> = kept.iter().map(|made| asked.max_sim(&made.tokens).unwrap()).collect();
    assert!(near[0] > near[1] && near[0] > near[2], "{near:?}");
}
