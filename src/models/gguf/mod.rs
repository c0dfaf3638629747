//! Embeddings from a GGUF model through llama.cpp.
//!
//! What happens to a text: `tokens` turns it into a sequence within the model's limits, and `queue` hands it to one of the
//! threads of `worker`, each of which owns one llama.cpp context.
//!
//! Every text is computed alone. llama.cpp can take many at once, but that gains next to nothing here and makes a vector
//! depend on its company: its attention takes rows in tiles of 64 and is less exact on what is left over, so that the
//! same chunk got cosines down to 0.9998 to itself, and a full reindex other scores than an incremental one. Tokens a
//! second of processor time (bundled model, AMD Zen 5, AVX2 build, best of 3, machine busy):
//!
//! | tokens a text | 256 | 128 | 64 | 32 | 12 to 200 |
//! |---|---|---|---|---|---|
//! | alone | 3,394 | 3,687 | 3,669 | 3,429 | 3,445 |
//! | packed to 512, two runs | 3,306–3,584 | 3,657–3,781 | 3,740–3,892 | 3,646–3,789 | 3,290–3,496 |
//! | packed to 512, padded to whole tiles | 3,407 | 3,528 | 3,669 | 3,470 | 3,086 |
//! | packed to 256, no flash attention | 2,987 | 3,486 | 3,165 | 3,064 | 3,234 |
//! | alone, no flash attention | 2,997 | 3,500 | 3,646 | 3,349 | 3,471 |
//!
//! llama.cpp ends the process when it is given more than it has room for, and says little when a file is broken, so
//! `file` checks files first and `worker` checks every sequence.

mod bundled;
mod cpu;
mod embedder;
mod file;
mod model;
mod queue;
#[cfg(test)]
mod tests;
mod tokens;
mod worker;

pub use embedder::GgufEmbedder;
pub use model::ModelSource;
pub(crate) use model::read_model_file;

/// A machine of more cores is not left to a model alone, and each context of the bundled model takes 18 MB.
const MOST_AUTOMATIC_THREADS: usize = 8;
