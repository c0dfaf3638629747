//! One embedder for many threads: who waits, who is stopped, and who ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::super::super::{Embedder, ModelError};
use super::{documents, open, shared};

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
