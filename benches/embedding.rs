//! A bare llama-cpp-2 loop: what the rest of the line is measured against.
//!
//!     cargo bench --bench embedding -- FOLDER              the passages of a folder, cut at 256 tokens
//!     cargo bench --bench embedding -- --tokens 64         random texts of one length
//!     … --model FILE --pack 4                              another GGUF; texts an encode
//!
//! One context and one thread a core: what the daemon's embedder does, without its queue, cache, ordering and everything
//! before and after. Prints JSON; of three rounds over random texts, the best.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use memory_vault::index::engine::embedded_context;
use memory_vault::models::ModelSource;
use memory_vault::text::derive::chunk;
use memory_vault::text::note::Note;
use memory_vault::vault::disk::{NoteRules, scan};

const MAX_TOKENS: usize = 256;
const RANDOM_TOKENS: usize = 512 * 64;

struct Arguments {
    folder: Option<String>,
    tokens: usize,
    model: ModelSource,
    pack: usize,
}

impl Arguments {
    fn read() -> Option<Self> {
        let mut read = Self { folder: None, tokens: MAX_TOKENS, model: ModelSource::Bundled, pack: 1 };
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--tokens" => read.tokens = arguments.next()?.parse().ok()?,
                "--pack" => read.pack = arguments.next()?.parse().ok()?,
                "--model" => read.model = ModelSource::File(arguments.next()?.into()),
                folder => read.folder = Some(folder.to_owned()),
            }
        }
        ((1..=MAX_TOKENS).contains(&read.tokens) && read.pack > 0).then_some(read)
    }
}

fn passages(folder: &Path) -> Vec<String> {
    let rules = NoteRules::new(folder, &[]).expect("no globs are given");
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

/// Texts of ordinary words: what they say costs nothing, how long they are does.
fn random(tokens: usize) -> Vec<Vec<LlamaToken>> {
    let mut state = 1_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        LlamaToken::new(2_000 + (state >> 33) as i32 % 27_000)
    };
    (0..RANDOM_TOKENS / tokens).map(|_| (0..tokens).map(|_| word()).collect()).collect()
}

/// Embeds `pack` texts an encode, and leaves each with a vector of length 1.
fn work(context: &mut LlamaContext<'_>, texts: &[Vec<LlamaToken>], next: &AtomicUsize, pack: usize) {
    let mut batch = LlamaBatch::new(MAX_TOKENS * pack, 1);
    loop {
        let first = next.fetch_add(pack, Ordering::Relaxed);
        let Some(packed) = texts.get(first..).filter(|left| !left.is_empty()) else { break };
        let packed = &packed[..pack.min(packed.len())];
        batch.clear();
        for (at, tokens) in packed.iter().enumerate() {
            batch.add_sequence(tokens, at as i32, true).expect("it fits");
        }
        context.encode(&mut batch).expect("it encodes");
        for at in 0..packed.len() {
            let vector = context.embeddings_seq_ith(at as i32).expect("it has a vector");
            let length: f32 = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            std::hint::black_box(vector.iter().map(|value| value / length).collect::<Vec<f32>>());
        }
    }
}

fn main() {
    let Some(arguments) = Arguments::read() else {
        return eprintln!("usage: cargo bench --bench embedding -- [FOLDER | --tokens N] [--model FILE] [--pack N]");
    };
    let mut backend = LlamaBackend::init().expect("llama.cpp starts");
    backend.void_logs();
    let file = arguments.model.file(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("the model is unpacked");
    let model = LlamaModel::load_from_file(&backend, file, &LlamaModelParams::default()).expect("the model loads");
    let (texts, rounds) = match &arguments.folder {
        None => (random(arguments.tokens), 3),
        Some(folder) => {
            let cut = |text: &String| {
                let mut tokens = model.vocab().tokenize(text.as_bytes(), true, false);
                tokens.truncate(MAX_TOKENS);
                tokens
            };
            (passages(Path::new(folder)).iter().map(cut).collect(), 1)
        }
    };
    let room = (MAX_TOKENS * arguments.pack) as u32;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut contexts: Vec<_> = (0..threads)
        .map(|_| {
            let params = LlamaContextParams::default()
                .with_n_ctx(NonZeroU32::new(room))
                .with_n_batch(room)
                .with_n_ubatch(room)
                .with_n_seq_max(arguments.pack as u32)
                .with_n_threads(1)
                .with_n_threads_batch(1)
                .with_embeddings(true);
            model.new_context(&backend, params).expect("a context")
        })
        .collect();
    let mut seconds = f64::INFINITY;
    for _ in 0..rounds {
        let next = AtomicUsize::new(0);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for context in &mut contexts {
                scope.spawn(|| work(context, &texts, &next, arguments.pack));
            }
        });
        seconds = seconds.min(begun.elapsed().as_secs_f64());
    }
    let tokens: usize = texts.iter().map(Vec::len).sum();
    println!(
        "{{\"passages\": {}, \"passages_per_second\": {:.1}, \"tokens_per_second\": {:.0}}}",
        texts.len(),
        texts.len() as f64 / seconds,
        tokens as f64 / seconds
    );
}
