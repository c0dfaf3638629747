//! Tests with a cross-encoder that is made of the bundled model, by a head whose scores can be worked out.
#![cfg(feature = "bundled-model")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::{ModelError, Reranker};
use super::queue::Sequence;
use super::{GgufEmbedder, GgufOptions, GgufReranker, ModelSource, bundled};

pub(crate) const DIMENSION: usize = 384;

fn options(folder: &Path) -> GgufOptions {
    GgufOptions { threads: 2, ..GgufOptions::new(folder) }
}

/// The parts of a GGUF file.
struct Gguf<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Gguf<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        self.at += count;
        &self.bytes[self.at - count..self.at]
    }
    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }
    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }
    fn text(&mut self) -> &'a [u8] {
        let length = self.u64() as usize;
        self.take(length)
    }
    fn skip(&mut self, kind: u32) {
        match kind {
            0 | 1 | 7 => drop(self.take(1)),
            2 | 3 => drop(self.take(2)),
            4..=6 => drop(self.take(4)),
            10..=12 => drop(self.take(8)),
            8 => drop(self.text()),
            _ => {
                let (kind, count) = (self.u32(), self.u64());
                (0..count).for_each(|_| self.skip(kind));
            }
        }
    }
}

/// Writes the bundled model with the head of a cross-encoder: the mean of `tanh` of the first token's components that have a weight of 1.
pub(crate) fn cross_encoder(folder: &Path, weights: &[f32; DIMENSION]) -> PathBuf {
    let (path, _) = bundled::model(folder).unwrap();
    let bytes = fs::read(path).unwrap();
    let mut file = Gguf { bytes: &bytes, at: 0 };
    file.take(8);
    let (tensors, pairs) = (file.u64(), file.u64());
    let start = file.at;
    let mut metadata = Vec::new();
    for _ in 0..pairs {
        let from = file.at;
        let key = file.text();
        let kind = file.u32();
        file.skip(kind);
        if key.ends_with(b".pooling_type") {
            let mut pair = bytes[from..file.at - 4].to_vec();
            pair.extend(4_u32.to_le_bytes());
            metadata.extend(pair);
        } else {
            metadata.extend(&bytes[from..file.at]);
        }
    }
    assert!(start < file.at);
    let infos = file.at;
    let mut end = 0;
    for _ in 0..tensors {
        file.text();
        let dimensions = file.u32();
        (0..dimensions).for_each(|_| _ = file.u64());
        file.u32();
        end = end.max(file.u64());
    }
    let data_at = file.at.next_multiple_of(32);
    let data = &bytes[data_at..];
    let new = data.len().next_multiple_of(32) as u64;
    assert!(new > end);

    let mut out = b"GGUF".to_vec();
    out.extend(3_u32.to_le_bytes());
    out.extend((tensors + 2).to_le_bytes());
    out.extend(pairs.to_le_bytes());
    out.extend(metadata);
    out.extend(&bytes[infos..file.at]);
    let info = |out: &mut Vec<u8>, name: &str, shape: &[u64], offset: u64| {
        out.extend((name.len() as u64).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend((shape.len() as u32).to_le_bytes());
        shape.iter().for_each(|length| out.extend(length.to_le_bytes()));
        out.extend(0_u32.to_le_bytes());
        out.extend(offset.to_le_bytes());
    };
    let square = (DIMENSION * DIMENSION * 4) as u64;
    info(&mut out, "cls.weight", &[DIMENSION as u64, DIMENSION as u64], new);
    info(&mut out, "cls.output.weight", &[DIMENSION as u64, 1], new + square);
    out.resize(out.len().next_multiple_of(32), 0);
    let begins = out.len();
    out.extend(data);
    out.resize(begins + new as usize, 0);
    for row in 0..DIMENSION {
        (0..DIMENSION).for_each(|at| out.extend(f32::from(u8::from(at == row)).to_le_bytes()));
    }
    weights.iter().for_each(|weight| out.extend(weight.to_le_bytes()));
    let path = folder.join("cross-encoder.gguf");
    fs::write(&path, out).unwrap();
    path
}

#[test]
fn a_pair_is_judged_as_its_head_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut weights = [0.0; DIMENSION];
    weights.iter_mut().step_by(3).for_each(|weight| *weight = 1.0);
    let file = cross_encoder(folder.path(), &weights);
    let reranker = GgufReranker::open(&file, &options(folder.path())).unwrap();
    let passages =
        ["The ferry leaves at nine.", "Bread is baked at night.", "", "A very long one. "].map(str::to_owned);
    let passages = [&passages[..], &["word ".repeat(5_000)]].concat();
    let later = Instant::now() + Duration::from_secs(600);
    let judged = reranker.rerank("when does the ferry leave", &passages, None, later).unwrap();
    assert_eq!(judged, reranker.rerank("when does the ferry leave", &passages, None, later).unwrap());
    // The same, out of the vectors of the single tokens.
    let embedder = GgufEmbedder::open(&ModelSource::Bundled, &options(folder.path())).unwrap();
    for (passage, judged) in passages[..2].iter().zip(judged.iter()) {
        let tokens = embedder.working.tokenizer.pair("when does the ferry leave", passage);
        let sequence = Sequence { index: 0, tokens, with_tokens: Some(0..1) };
        let first = embedder.working.queue.query(sequence, None).unwrap().recv().unwrap().unwrap().1;
        let sum: f64 =
            first.iter().skip(DIMENSION).zip(&weights).map(|(value, weight)| f64::from(value.tanh() * weight)).sum();
        let expected = 1.0 / (1.0 + (-sum).exp());
        assert!((judged - expected).abs() < 0.02, "{judged} {expected}");
    }
    let over = reranker.rerank("when", &passages, None, Instant::now()).unwrap_err();
    assert!(matches!(over, ModelError::TimedOut), "{over}");
}

#[test]
fn what_embeds_does_not_judge_and_what_judges_does_not_embed() {
    let folder = tempfile::tempdir().unwrap();
    let file = cross_encoder(folder.path(), &[0.0; DIMENSION]);
    let said = |error: ModelError| error.to_string();
    let embeds = GgufEmbedder::open(&ModelSource::File(file), &options(folder.path())).err().map(said).unwrap();
    assert!(embeds.contains("it is a reranker"), "{embeds}");
    let (bundled, _) = bundled::model(folder.path()).unwrap();
    let judges = GgufReranker::open(&bundled, &options(folder.path())).err().map(said).unwrap();
    assert!(judges.contains("it is not a reranker"), "{judges}");
    let absent =
        GgufReranker::open(&folder.path().join("absent.gguf"), &options(folder.path())).err().map(said).unwrap();
    assert!(absent.contains("absent.gguf"), "{absent}");
}

#[test]
fn a_score_that_is_no_number_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = cross_encoder(folder.path(), &[f32::NAN; DIMENSION]);
    let reranker = GgufReranker::open(&file, &options(folder.path())).unwrap();
    let later = Instant::now() + Duration::from_secs(600);
    let said = reranker.rerank("when", &["The ferry leaves at nine.".to_owned()], None, later).unwrap_err().to_string();
    assert!(said.contains("a score that is not a number"), "{said}");
}
