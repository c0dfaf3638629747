//! A bare llama-cpp-2 loop over the passages of a folder: what the rest of the line is measured against.
//!
//!     cargo bench --bench embedding -- FOLDER
//!
//! One context and one thread a core, one passage an encode, tokens cut at 256: what the daemon's embedder does, without its
//! queue, cache, ordering and everything before and after. Prints JSON.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use memory_vault::chunk::chunk;
use memory_vault::index::embedded_context;
use memory_vault::note::Note;
use memory_vault::vault::{Rules, scan};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/models/all-minilm-l6-v2.q8_0.gguf");
const MAX_TOKENS: usize = 256;

fn passages(folder: &Path) -> Vec<String> {
    let rules = Rules::new(folder, &[]).expect("no globs are given");
    let mut passages = Vec::new();
    for found in scan(folder, &rules, None).files {
        let Ok(source) = std::fs::read_to_string(found.path.on_disk(folder)) else { continue };
        let note = Note::parse(&source, found.path.stem());
        for chunk in chunk(&found.path, &note, &source) {
            passages.push(format!("{}\n{}", embedded_context(&note.title, &chunk.heading_path), chunk.body()));
        }
    }
    // What is the same is embedded once.
    passages.sort();
    passages.dedup();
    passages
}

fn main() {
    let Some(folder) = std::env::args().skip(1).find(|argument| !argument.starts_with("--")) else {
        return eprintln!("usage: cargo bench --bench embedding -- FOLDER");
    };
    let passages = passages(Path::new(&folder));
    let mut backend = LlamaBackend::init().expect("llama.cpp starts");
    backend.void_logs();
    let model = LlamaModel::load_from_file(&backend, MODEL, &LlamaModelParams::default()).expect("the model loads");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let contexts: Vec<_> = (0..threads)
        .map(|_| {
            let params = LlamaContextParams::default()
                .with_n_ctx(NonZeroU32::new(512))
                .with_n_batch(512)
                .with_n_ubatch(512)
                .with_n_threads(1)
                .with_n_threads_batch(1)
                .with_embeddings(true);
            model.new_context(&backend, params).expect("a context")
        })
        .collect();
    let (next, tokens) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for mut context in contexts {
            let (next, tokens, passages, model) = (&next, &tokens, &passages, &model);
            scope.spawn(move || {
                let mut batch = LlamaBatch::new(512, 1);
                while let Some(passage) = passages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut ids = model.vocab().tokenize(passage.as_bytes(), true, false);
                    ids.truncate(MAX_TOKENS);
                    tokens.fetch_add(ids.len(), Ordering::Relaxed);
                    batch.clear();
                    batch.add_sequence(&ids, 0, true).expect("it fits");
                    context.encode(&mut batch).expect("it encodes");
                    let vector = context.embeddings_seq_ith(0).expect("it has a vector");
                    let length: f32 = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
                    std::hint::black_box(vector.iter().map(|value| value / length).collect::<Vec<f32>>());
                }
            });
        }
    });
    let seconds = begun.elapsed().as_secs_f64();
    let (count, tokens) = (passages.len() as f64, tokens.load(Ordering::Relaxed) as f64);
    println!(
        "{{\"passages\": {count}, \"passages_per_second\": {:.1}, \"tokens_per_second\": {:.0}}}",
        count / seconds,
        tokens / seconds
    );
}
