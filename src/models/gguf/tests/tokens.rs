//! The vectors of single tokens, and what the model knows of words.

use super::super::super::{Document, Embedder};
use super::{cosine, document, documents, shared};

#[test]
fn a_word_that_the_model_learned_is_told_from_a_slip() {
    for (word, is_one) in
        [("bike", true), ("basement", true), ("ownreship", false), ("clousre", false), ("\u{e001}", false)]
    {
        assert_eq!(shared().has_word(word), is_one, "{word}");
    }
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
        let tokens = embedder.working.tokenizer.text_in(&sequence, "").len();
        assert_eq!(kept.tokens.as_bytes().len(), tokens.div_ceil(2).min(42) * 48);
    }
    // What says the query's words is nearest.
    let asked = embedder.token_query(None, "quartz violin", None).unwrap().unwrap();
    let texts = ["A violin of quartz stood in the window.", "The ledger lists every engine.", "Saffron grows here."];
    let kept = embedder.embed(&texts.map(|text| keeps(document(text))), None).unwrap();
    let near: Vec<f64> = kept.iter().map(|made| asked.max_sim(&made.tokens).unwrap()).collect();
    assert!(near[0] > near[1] && near[0] > near[2], "{near:?}");
}
