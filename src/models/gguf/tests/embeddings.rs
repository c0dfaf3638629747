//! Which vectors texts have, and of which tokens.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use llama_cpp_2::token::LlamaToken;

use super::super::super::{Document, Embedder, ModelError};
use super::super::{GgufEmbedder, ModelSource, bundled};
use super::{SOURCE, cache_dir, cosine, document, documents, open, options, shared};
use crate::base::config::{EmbedConfig, PoolingChoice};

/// `[CLS]` and `[SEP]` of the bundled model's vocabulary.
const CLS: LlamaToken = LlamaToken(101);
const SEP: LlamaToken = LlamaToken(102);

#[derive(serde::Deserialize)]
struct Reference {
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    text: String,
    tokens: Vec<i32>,
    embedding: Vec<f32>,
}

#[test]
fn embeddings_are_those_of_the_reference_implementation() {
    compare_with_reference(shared());
}

#[test]
fn embeddings_by_the_converted_model_are_those_too() {
    let (path, _) = bundled::converted(&cache_dir(), &SOURCE, || bundled::unpack(&cache_dir())).unwrap();
    compare_with_reference(&GgufEmbedder::open(&ModelSource::File(path), &options(), &cache_dir()).unwrap());
}

fn compare_with_reference(embedder: &GgufEmbedder) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/reference-embeddings.json");
    let reference: Reference = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    println!("computed with {}", embedder.instructions().unwrap());
    let mut cosines = Vec::new();
    for case in &reference.cases {
        let tokens: Vec<i32> = embedder.working.tokenizer.query(&case.text).iter().map(|token| token.0).collect();
        let agree = tokens == case.tokens;
        let vector = embedder.embed_query(&case.text, None).unwrap();
        // For those who run this with other instructions of the processor.
        println!("vector {}", serde_json::to_string(&vector).unwrap());
        let cosine = cosine(&vector, &case.embedding);
        let start: String = case.text.chars().take(40).collect();
        println!("{cosine:.5} tokens {} {start:?}", if agree { "agree" } else { "DIFFER" });
        if agree {
            assert!(cosine > 0.998, "{cosine} for {start:?}");
            cosines.push(cosine);
        }
    }
    let mean = cosines.iter().sum::<f32>() / cosines.len() as f32;
    println!("mean cosine {mean:.5} over the {} of {} whose tokens agree", cosines.len(), reference.cases.len());
    assert!(mean >= 0.999, "{mean}");
    assert!(cosines.len() >= 18, "tokens of only {} texts agree", cosines.len());
}

#[test]
fn korean_is_tokenized_as_by_the_reference_however_it_is_composed() {
    let tokens = shared().working.tokenizer.query("한국어 문장");
    assert_eq!(tokens, shared().working.tokenizer.query("\u{1112}\u{1161}\u{11ab}국어 문장"));
    assert!(tokens.len() > 8, "jamo, not [UNK]: {tokens:?}");
}

#[test]
fn a_text_has_the_same_vector_to_the_bit_alone_and_in_a_bulk_and_order_is_kept() {
    let documents = documents(60);
    let together = shared().embed_documents(&documents, None).unwrap();
    assert_eq!(together.len(), documents.len());
    for (document, vector) in documents.iter().zip(&together) {
        let alone = shared().embed_documents(std::slice::from_ref(document), None).unwrap();
        assert_eq!(&alone[0], vector, "{document:?}");
        assert!((cosine(vector, vector) - 1.0).abs() < 1e-5);
        assert_eq!(vector.len(), shared().dimension());
    }
    assert!(shared().embed_documents(&[], None).unwrap().is_empty());
}

#[test]
fn a_question_is_nearest_to_its_answer() {
    let answers =
        ["To change your password open Settings.", "Sourdough needs a day to rise.", "The bridge was built in 1932."];
    let vectors = shared().embed_documents(&answers.map(document), None).unwrap();
    for (question, best) in [("how do I reset my login", 0), ("baking bread", 1), ("when was it constructed", 2)] {
        let query = shared().embed_query(question, None).unwrap();
        let nearest = (0..3).max_by(|&a, &b| cosine(&query, &vectors[a]).total_cmp(&cosine(&query, &vectors[b])));
        assert_eq!(nearest, Some(best), "{question}");
    }
}

#[test]
fn an_empty_document_has_the_vector_of_an_empty_text() {
    let vectors = shared().embed_documents(&["", " \n\t "].map(document), None).unwrap();
    assert!(cosine(&vectors[0], &shared().embed_query("", None).unwrap()) > 0.9999);
    assert!(cosine(&vectors[0], &vectors[1]) > 0.9999);
}

#[test]
fn a_line_of_five_megabytes_is_cut_in_no_time() {
    for unit in ["a", "word ", " ", "漢", "한", "é\u{301}", "🚀", "\0"] {
        let text = unit.repeat(5_000_000 / unit.len());
        let started = Instant::now();
        let vector = shared()
            .embed_documents(&[Document { context: text.clone(), text, ..Document::default() }], None)
            .unwrap()
            .remove(0);
        println!("{:?} for 5 MB of {unit:?}", started.elapsed());
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5);
        // Half a second; of all its words it would be hours.
        assert!(started.elapsed() < Duration::from_secs(60), "{unit:?} took {:?}", started.elapsed());
    }
}

#[test]
fn a_cut_sequence_still_begins_and_ends_with_the_special_tokens() {
    let tokens = shared().working.tokenizer.document(&document(&"river ".repeat(1000)));
    assert_eq!(tokens.len(), bundled::MAX_TOKENS);
    assert_eq!((tokens[0], tokens[255]), (CLS, SEP));
    assert!(!tokens[1..255].contains(&SEP));
    assert_eq!(shared().working.tokenizer.query(""), [CLS, SEP]);
}

#[test]
fn special_tokens_in_a_note_are_only_words() {
    let tokens = shared().working.tokenizer.query("a [SEP] b [CLS]");
    assert_eq!(tokens.iter().filter(|&&token| token == SEP || token == CLS).count(), 2);
}

#[test]
fn a_long_context_leaves_room_for_the_text() {
    let tokenizer = &shared().working.tokenizer;
    let text: Vec<LlamaToken> = tokenizer.query("violin lantern");
    for context in ["river ".repeat(500), "漢字".repeat(500), "x".repeat(5000)] {
        let tokens =
            tokenizer.document(&Document { context, text: "violin lantern".to_owned(), ..Document::default() });
        assert!((text.len() + 30..=text.len() + 48).contains(&tokens.len()), "{}", tokens.len());
        assert_eq!(tokens[tokens.len() - text.len() + 1..], text[1..], "the text is whole");
    }
    let short = Document { context: "A > B".to_owned(), text: "violin".to_owned(), ..Document::default() };
    assert_eq!(tokenizer.document(&short), tokenizer.query("A > B\nviolin"));
}

#[test]
fn everything_that_shapes_a_vector_is_in_the_fingerprint() {
    let base = open();
    assert_eq!(base.fingerprint(), shared().fingerprint());
    let changed = [
        EmbedConfig { query_prefix: "query: ".to_owned(), ..options() },
        EmbedConfig { document_prefix: "query: ".to_owned(), ..options() },
        EmbedConfig { pooling: PoolingChoice::Cls, ..options() },
        EmbedConfig { max_tokens: 128, ..options() },
    ];
    for options in changed {
        let other =
            GgufEmbedder::open(&ModelSource::Bundled, &EmbedConfig { threads: 1, ..options }, &cache_dir()).unwrap();
        assert_ne!(other.fingerprint(), base.fingerprint());
    }
}

#[test]
fn prefixes_are_read_by_the_model() {
    let prefixed =
        EmbedConfig { query_prefix: "query: ".to_owned(), document_prefix: "passage: ".to_owned(), ..options() };
    let embedder = GgufEmbedder::open(&ModelSource::Bundled, &prefixed, &cache_dir()).unwrap();
    assert_eq!(embedder.working.tokenizer.query("river"), shared().working.tokenizer.query("query: river"));
    assert_eq!(
        embedder.working.tokenizer.document(&document("river")),
        shared().working.tokenizer.query("passage: river")
    );
}

#[test]
fn more_tokens_than_the_model_has_positions_are_never_given_to_it() {
    let embedder =
        GgufEmbedder::open(&ModelSource::Bundled, &EmbedConfig { max_tokens: 100_000, ..options() }, &cache_dir())
            .unwrap();
    let long = document(&"river ledger ".repeat(5000));
    assert_eq!(embedder.working.tokenizer.document(&long).len(), 512);
    embedder.embed_documents(&vec![long.clone(); 3], None).unwrap();
    for max_tokens in [16, 17, 100, 511] {
        let options = EmbedConfig { max_tokens, threads: 1, ..options() };
        let embedder = GgufEmbedder::open(&ModelSource::Bundled, &options, &cache_dir()).unwrap();
        assert_eq!(embedder.working.tokenizer.document(&long).len(), max_tokens);
        embedder.embed_documents(std::slice::from_ref(&long), None).unwrap();
    }
    let refused = GgufEmbedder::open(&ModelSource::Bundled, &EmbedConfig { max_tokens: 3, ..options() }, &cache_dir());
    assert!(matches!(refused, Err(ModelError::BadOption { option: "max_tokens", .. })));
}

#[test]
fn entries_that_say_the_same_are_told_from_those_about_the_same() {
    use crate::models::sameness;
    let likely = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|text| shared().embed_query(text, None).unwrap());
        sameness(shared().name(), f64::from(cosine(&one, &other)))
    };
    for (one, other) in [
        ("User prefers dark mode", "User favours dark mode"),
        ("User lives close to the harbour", "User lives near the harbour"),
        ("User is learning to play the cello", "User takes lessons on the cello"),
        ("User purchased a bicycle", "User bought a bicycle"),
        ("Team decided to ship on Fridays", "Team agreed to ship on Fridays"),
        ("User is fond of hiking", "User likes hiking"),
    ] {
        assert!(likely(one, other) >= 0.85, "{} {one} / {other}", likely(one, other));
    }
    for (one, other) in [
        ("User enjoys coffee", "User avoids coffee"),
        ("User lives near the harbour", "User works near the harbour"),
        ("User likes green tea", "User likes black tea"),
        ("User owns a cat", "User wants a cat"),
        ("User reads old books", "User collects old books"),
        ("User raises the rent", "User pays the rent"),
    ] {
        assert!(likely(one, other) < 0.85, "{} {one} / {other}", likely(one, other));
    }
}
