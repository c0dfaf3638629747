//! Tests with the bundled model. What needs no model is tested beside its code.
#![cfg(feature = "bundled-model")]

mod busy;
mod embeddings;
mod files;
mod tokens;

use std::path::PathBuf;
use std::sync::OnceLock;

use super::super::Document;
use super::{GgufEmbedder, ModelSource};
use crate::base::config::EmbedConfig;

/// Stands for the hash of the bundled model in the name of what is made from it.
const SOURCE: blake3::Hash = blake3::Hash::from_bytes([7; 32]);

fn cache_dir() -> PathBuf {
    std::env::temp_dir().join("memory-vault-test-models")
}

fn options() -> EmbedConfig {
    EmbedConfig { threads: 2, ..EmbedConfig::default() }
}

fn open() -> GgufEmbedder {
    GgufEmbedder::open(&ModelSource::Bundled, &options(), &cache_dir()).expect("the bundled model opens")
}

/// One embedder for all tests that only ask.
fn shared() -> &'static GgufEmbedder {
    static EMBEDDER: OnceLock<GgufEmbedder> = OnceLock::new();
    EMBEDDER.get_or_init(open)
}

fn document(text: &str) -> Document {
    Document { context: String::new(), text: text.to_owned(), ..Document::default() }
}

/// Texts of many lengths, none like another.
fn documents(count: usize) -> Vec<Document> {
    let words = ["river", "ledger", "quartz", "violin", "harbor", "saffron", "engine", "meadow", "cipher", "lantern"];
    let text = |i: usize| (0..1 + i * 37 % 120).map(|j| words[(i * 7 + j * j) % 10]).collect::<Vec<_>>().join(" ");
    (0..count).map(|i| Document { context: format!("Note {i} > Part"), text: text(i), ..Document::default() }).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
