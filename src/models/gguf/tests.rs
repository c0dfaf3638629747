//! Tests with the bundled model. What needs no model is tested beside its code.
#![cfg(feature = "bundled-model")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use llama_cpp_2::token::LlamaToken;

use super::super::{Document, Embedder, ModelError};
use super::{GgufEmbedder, GgufOptions, ModelSource, Pooling, bfloat, bundled};

/// `[CLS]` and `[SEP]` of the bundled model's vocabulary.
const CLS: LlamaToken = LlamaToken(101);
const SEP: LlamaToken = LlamaToken(102);

/// Stands for the hash of the bundled model in the name of what is made from it.
const SOURCE: blake3::Hash = blake3::Hash::from_bytes([7; 32]);

fn cache_dir() -> PathBuf {
    std::env::temp_dir().join("memory-vault-test-models")
}

fn options() -> GgufOptions {
    GgufOptions { threads: 2, ..GgufOptions::new(cache_dir()) }
}

fn open() -> GgufEmbedder {
    GgufEmbedder::open(&ModelSource::Bundled, &options()).expect("the bundled model opens")
}

/// One embedder for all tests that only ask.
fn shared() -> &'static GgufEmbedder {
    static EMBEDDER: OnceLock<GgufEmbedder> = OnceLock::new();
    EMBEDDER.get_or_init(open)
}

fn document(text: &str) -> Document {
    Document { context: String::new(), text: text.to_owned() }
}

/// Texts of many lengths, none like another.
fn documents(count: usize) -> Vec<Document> {
    let words = ["river", "ledger", "quartz", "violin", "harbor", "saffron", "engine", "meadow", "cipher", "lantern"];
    let text = |i: usize| (0..1 + i * 37 % 120).map(|j| words[(i * 7 + j * j) % 10]).collect::<Vec<_>>().join(" ");
    (0..count).map(|i| Document { context: format!("Note {i} > Part"), text: text(i) }).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

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
    let (path, _) = bfloat::converted(&cache_dir(), &SOURCE, || bundled::unpack(&cache_dir())).unwrap();
    compare_with_reference(&GgufEmbedder::open(&ModelSource::File(path), &options()).unwrap());
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
        let vector = shared().embed_documents(&[Document { context: text.clone(), text }], None).unwrap().remove(0);
        println!("{:?} for 5 MB of {unit:?}", started.elapsed());
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5);
        assert!(started.elapsed() < Duration::from_secs(3), "{unit:?} took {:?}", started.elapsed());
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
        let tokens = tokenizer.document(&Document { context, text: "violin lantern".to_owned() });
        assert!((text.len() + 30..=text.len() + 48).contains(&tokens.len()), "{}", tokens.len());
        assert_eq!(tokens[tokens.len() - text.len() + 1..], text[1..], "the text is whole");
    }
    let short = Document { context: "A > B".to_owned(), text: "violin".to_owned() };
    assert_eq!(tokenizer.document(&short), tokenizer.query("A > B\nviolin"));
}

#[test]
fn everything_that_shapes_a_vector_is_in_the_fingerprint() {
    let base = open();
    assert_eq!(base.fingerprint(), shared().fingerprint());
    let changed = [
        GgufOptions { query_prefix: "query: ".to_owned(), ..options() },
        GgufOptions { document_prefix: "query: ".to_owned(), ..options() },
        GgufOptions { pooling: Some(Pooling::Cls), ..options() },
        GgufOptions { max_tokens: 128, ..options() },
    ];
    for options in changed {
        let other = GgufEmbedder::open(&ModelSource::Bundled, &GgufOptions { threads: 1, ..options }).unwrap();
        assert_ne!(other.fingerprint(), base.fingerprint());
    }
}

#[test]
fn prefixes_are_read_by_the_model() {
    let prefixed =
        GgufOptions { query_prefix: "query: ".to_owned(), document_prefix: "passage: ".to_owned(), ..options() };
    let embedder = GgufEmbedder::open(&ModelSource::Bundled, &prefixed).unwrap();
    assert_eq!(embedder.working.tokenizer.query("river"), shared().working.tokenizer.query("query: river"));
    assert_eq!(
        embedder.working.tokenizer.document(&document("river")),
        shared().working.tokenizer.query("passage: river")
    );
}

#[test]
fn more_tokens_than_the_model_has_positions_are_never_given_to_it() {
    let embedder =
        GgufEmbedder::open(&ModelSource::Bundled, &GgufOptions { max_tokens: 100_000, ..options() }).unwrap();
    let long = document(&"river ledger ".repeat(5000));
    assert_eq!(embedder.working.tokenizer.document(&long).len(), 512);
    embedder.embed_documents(&vec![long.clone(); 3], None).unwrap();
    for max_tokens in [16, 17, 100, 511] {
        let options = GgufOptions { max_tokens, threads: 1, ..options() };
        let embedder = GgufEmbedder::open(&ModelSource::Bundled, &options).unwrap();
        assert_eq!(embedder.working.tokenizer.document(&long).len(), max_tokens);
        embedder.embed_documents(std::slice::from_ref(&long), None).unwrap();
    }
    let refused = GgufEmbedder::open(&ModelSource::Bundled, &GgufOptions { max_tokens: 3, ..options() });
    assert!(matches!(refused, Err(ModelError::BadOption { option: "max_tokens", .. })));
}

#[test]
fn a_query_does_not_wait_for_a_bulk_import() {
    let embedder = open();
    let bulk_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let bulk = embedder.embed_documents(&documents(400), None);
            assert!(matches!(bulk, Err(ModelError::Stopped)), "it was long enough to be stopped");
            bulk_done.store(true, Ordering::SeqCst);
        });
        let mut slowest = Duration::ZERO;
        for i in 0..20 {
            let started = Instant::now();
            embedder.embed_query(&format!("what did I write about number {i}"), None).unwrap();
            slowest = slowest.max(started.elapsed());
        }
        println!("slowest of 20 queries under a bulk import: {slowest:?}");
        assert!(!bulk_done.load(Ordering::SeqCst), "20 queries took longer than 400 documents");
        let saved = Instant::now();
        embedder.embed_documents(&documents(3), None).unwrap();
        println!("3 chunks of a saved note under a bulk import: {:?}", saved.elapsed());
        assert!(!bulk_done.load(Ordering::SeqCst), "a saved note waited for the whole bulk import");
        embedder.stop();
    });
}

#[test]
fn eight_threads_get_the_answers_of_one() {
    let documents = documents(8);
    let expected = shared().embed_documents(&documents, None).unwrap();
    thread::scope(|scope| {
        for (document, expected) in documents.iter().zip(&expected) {
            scope.spawn(move || {
                for round in 0..5 {
                    let vectors = shared().embed_documents(std::slice::from_ref(document), None).unwrap();
                    assert_eq!(&vectors[0], expected);
                    let query = format!("{} {round}", document.input());
                    let again =
                        [shared().embed_query(&query, None).unwrap(), shared().embed_query(&query, None).unwrap()];
                    assert_eq!(again[0], again[1]);
                }
            });
        }
    });
}

#[test]
fn a_stop_ends_calls_under_way() {
    let embedder = open();
    thread::scope(|scope| {
        let bulk = scope.spawn(|| embedder.embed_documents(&documents(2000), None));
        embedder.embed_query("the workers are at it", None).unwrap();
        embedder.stop();
        assert!(matches!(bulk.join().unwrap(), Err(ModelError::Stopped)));
    });
    assert!(matches!(embedder.embed_query("too late", None), Err(ModelError::Stopped)));
}

#[test]
fn an_embedder_shared_by_busy_threads_is_dropped_by_the_last() {
    let embedder = Arc::new(open());
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let embedder = Arc::clone(&embedder);
            thread::spawn(move || embedder.embed_documents(&documents(10), None).map(drop))
        })
        .collect();
    drop(embedder);
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
}

#[test]
fn files_that_are_no_whole_model_are_refused_with_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let model = bundled::unpack(&cache_dir()).unwrap();
    let model = fs::read(model).unwrap();
    let path = folder.path().join("model.gguf");
    let refused = |what: &str| {
        let error = GgufEmbedder::open(&ModelSource::File(path.clone()), &options()).err();
        let message = error.unwrap_or_else(|| panic!("{what} was taken")).to_string();
        assert!(message.contains("model.gguf"), "{what}: {message}");
        message
    };
    assert!(refused("nothing").contains("could not read"));
    // Every kind of place to end in: magic, counts, keys, vocabulary, tensor list, the first tensor, the last byte.
    let cuts =
        [0, 1, 3, 4, 8, 15, 23, 24, 40, 100, 1000, 20_000, 400_000, 700_000, 1_000_000, 12_000_000, model.len() - 1];
    for bytes in cuts {
        fs::write(&path, &model[..bytes]).unwrap();
        println!("{}", refused(&format!("a file cut after {bytes} bytes")));
    }
    for (what, start) in
        [("text", b"# A note".as_slice()), ("garbage after the magic", b"GGUF"), ("version 1", b"GGUF\x01\0\0\0")]
    {
        let garbage = (0..100_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8);
        fs::write(&path, start.iter().copied().chain(garbage).collect::<Vec<_>>()).unwrap();
        println!("{}", refused(what));
    }
    // llama.cpp ends the process for this one.
    let mut twice = model.clone();
    let at = twice.windows(5).position(|window| window == b"[UNK]").unwrap();
    twice[at..at + 5].copy_from_slice(b"[CLS]");
    fs::write(&path, &twice).unwrap();
    assert!(refused("a word twice").contains("twice"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(refused("a folder").contains("not a file"));
}

#[test]
fn models_that_do_not_embed_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let model = bundled::unpack(&cache_dir()).unwrap();
    let model = fs::read(model).unwrap();
    let key = b"bert.pooling_type";
    let at = model.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 4;
    for (pooling, reason) in [(0, "names no pooling"), (4, "reranker")] {
        let mut model = model.clone();
        model[at] = pooling;
        let path = folder.path().join("model.gguf");
        fs::write(&path, &model).unwrap();
        let error = GgufEmbedder::open(&ModelSource::File(path.clone()), &options()).err().unwrap();
        assert!(matches!(&error, ModelError::UnsuitableModel { .. }) && error.to_string().contains(reason), "{error}");
    }
    // With a pooling named by the person, the first of them works after all, and as the bundled model does.
    let path = folder.path().join("model.gguf");
    let mut model = model.clone();
    model[at] = 0;
    fs::write(&path, &model).unwrap();
    let options = GgufOptions { pooling: Some(Pooling::Mean), ..options() };
    let embedder = GgufEmbedder::open(&ModelSource::File(path), &options).unwrap();
    let same = cosine(&embedder.embed_query("river", None).unwrap(), &shared().embed_query("river", None).unwrap());
    // Where the processor has bfloat16, the bundled model is computed in that, and the file as it is.
    assert!(same > 0.998, "{same}");
}

#[test]
fn damaged_weights_are_noticed_when_the_model_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let model = bundled::unpack(&cache_dir()).unwrap();
    let mut model = fs::read(model).unwrap();
    let middle = model.len() / 2;
    model[middle..].fill(0xff);
    let path = folder.path().join("model.gguf");
    fs::write(&path, &model).unwrap();
    let error = GgufEmbedder::open(&ModelSource::File(path), &options()).err().unwrap();
    assert!(error.to_string().contains("model.gguf"), "{error}");
}

#[test]
fn the_bundled_model_is_unpacked_once_and_again_when_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("not/yet/there");
    let paths: Vec<PathBuf> = thread::scope(|scope| {
        let unpack = || bundled::unpack(&dir).unwrap();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(unpack)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let path = &paths[0];
    assert!(paths.iter().all(|other| other == path));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "nothing is left beside it");
    let model = fs::read(path).unwrap();
    let written = fs::metadata(path).unwrap().modified().unwrap();
    bundled::unpack(&dir).unwrap();
    assert_eq!(fs::metadata(path).unwrap().modified().unwrap(), written, "it is not written again");

    let mut damaged = model.clone();
    damaged[20_000_000] ^= 1;
    for damage in [damaged.as_slice(), &model[..1000], b""] {
        fs::write(path, damage).unwrap();
        bundled::unpack(&dir).unwrap();
        assert!(fs::read(path).unwrap() == model);
    }
}

#[test]
fn the_model_is_converted_once_and_again_when_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let convert = || bfloat::converted(folder.path(), &SOURCE, || bundled::unpack(folder.path())).unwrap();
    let (path, converted) = convert();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside them");
    let (model, written) = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    assert_eq!(convert(), (path.clone(), converted));
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written, "it is not written again");
    for damage in [&model[..1000], b""] {
        fs::write(&path, damage).unwrap();
        assert_eq!(convert().0, path);
        assert!(fs::read(&path).unwrap() == model);
    }
}

#[test]
fn a_cache_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("taken");
    fs::write(&file, "a file where the folder should be").unwrap();
    let error = GgufEmbedder::open(&ModelSource::Bundled, &GgufOptions::new(file.join("cache"))).err().unwrap();
    assert!(matches!(&error, ModelError::Io { .. }) && error.to_string().contains("taken"), "{error}");
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
    let found = tokens.document_tokens(&texts.map(document), soon()).unwrap();
    let near: Vec<f64> = found.iter().map(|found| query.max_sim(found.as_ref().expect("in time"))).collect();
    assert!((near[0] - 1.0).abs() < 0.01 && near[1] > near[2] + 0.1, "{near:?}");
    assert_eq!(embedder.embed_documents(&documents(3), None).unwrap(), pooled, "other contexts change no embedding");
    let empty = tokens.document_tokens(&[Document::default()], soon()).unwrap();
    assert!(empty[0].as_ref().is_some_and(|none| none.is_empty() && query.max_sim(none) == 0.0));
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
fn tokens_that_are_not_ready_in_time_are_left_out() {
    let embedder = open();
    let tokens = embedder.tokens().expect("a model that pools by the mean");
    let over = tokens.document_tokens(&documents(4), Instant::now()).unwrap();
    assert!(over.iter().all(Option::is_none));
    assert!(matches!(tokens.query_tokens("bread", Instant::now()), Err(ModelError::TimedOut)));
    let soon = Instant::now() + Duration::from_secs(600);
    let first = tokens.document_tokens(&documents(4), soon).unwrap();
    assert!(first.iter().all(Option::is_some));
    assert_eq!(
        tokens.document_tokens(&documents(5), Instant::now()).unwrap()[..4],
        first,
        "what is known costs no time"
    );
    embedder.stop();
    assert!(matches!(tokens.document_tokens(&documents(6), soon), Err(ModelError::Stopped)));
}

#[test]
fn tokens_are_kept_beside_the_same_vector() {
    let keeps = GgufEmbedder::open(&ModelSource::Bundled, &GgufOptions { tokens: true, ..options() }).unwrap();
    let (plain, documents) = (shared(), documents(6));
    assert_ne!(keeps.fingerprint(), plain.fingerprint());
    let vectors = plain.embed_documents(&documents, None).unwrap();
    let kept = keeps.embed(&documents, None).unwrap();
    assert_eq!(keeps.embed(&documents, None).unwrap(), kept, "the same text gives the same");
    for ((document, vector), kept) in documents.iter().zip(&vectors).zip(&kept) {
        let halved: Vec<f32> = kept.vector.iter().map(|value| value.to_f32()).collect();
        assert!(cosine(vector, &halved) > 0.9999, "{document:?}");
        let sequence = plain.working.tokenizer.document(document);
        let tokens = plain.working.tokenizer.text_in_document(&sequence).len();
        assert_eq!(kept.tokens.as_bytes().len(), tokens.div_ceil(2).min(42) * 48);
    }
    let query = "quartz violin";
    assert!(cosine(&keeps.embed_query(query, None).unwrap(), &plain.embed_query(query, None).unwrap()) > 0.9999);
    assert!(plain.token_query(None, query, None).unwrap().is_none());
    assert!(plain.embed(&documents, None).unwrap().iter().all(|made| made.tokens.as_bytes().is_empty()));
    // What says the query's words is nearest.
    let asked = keeps.token_query(None, query, None).unwrap().unwrap();
    let texts = ["A violin of quartz stood in the window.", "The ledger lists every engine.", "Saffron grows here."];
    let kept = keeps.embed(&texts.map(document), None).unwrap();
    let near: Vec<f64> = kept.iter().map(|made| asked.max_sim(&made.tokens).unwrap()).collect();
    assert!(near[0] > near[1] && near[0] > near[2], "{near:?}");
}

#[test]
fn entries_that_say_the_same_are_told_from_those_about_the_same() {
    use super::super::Sameness;
    let sameness = Sameness::of(shared().name());
    let likely = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|text| shared().embed_query(text, None).unwrap());
        sameness.likely(f64::from(cosine(&one, &other)))
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
