//! BM25 over the chunks that a search may see.
//!
//! Statistics count live chunks of the caller's scope alone, and scores are made of them in 64-bit floats and in a fixed order. So
//! an index that grew edit by edit scores exactly as a rebuilt one does, and no agent reads hidden words off its scores.

use super::query_terms::Field;
use crate::text::derive::CommonWords;

// Robertson et al., "Okapi at TREC-3"; the values are tantivy's and Lucene's.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// How many text fields a chunk has: body, heading, own.
pub(crate) const FIELDS: usize = 3;

/// The weight of each field. Heading at 1 is measured best; `own` only sets the chunk that holds a word before its
/// neighbours, which have it in their bodies.
const WEIGHTS: [f32; FIELDS] = [1.0, 1.0, 0.3];

/// Number of chunks of everyday prose that are counted beside those of a scope, without a word but the [common ones](CommonWords): in a vault
/// of twenty notes the words of a question are as rare as names. Among some thousand chunks they say little.
///
/// The number is a choice and no measurement: with it the shipped notes answer the example of `tests/main/asking.rs` as they should.
const BACKGROUND: u64 = 200;

/// In how many of the [background](BACKGROUND)'s chunks a term of a field is.
pub(crate) fn background_count(field: Field, term: &str, common: &CommonWords) -> u64 {
    let share = match field {
        Field::Own => common.share(term),
        Field::Body | Field::Heading => common.stem_share(term),
    };
    (share * BACKGROUND as f64).round() as u64
}

/// What is counted over the live chunks in a scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Chunks.
    pub chunks: u64,
    /// Words of each field.
    pub words: [u64; FIELDS],
}

impl Statistics {
    /// Adds a chunk with so many words in each field.
    pub fn add(&mut self, words: [u32; FIELDS]) {
        self.chunks += 1;
        self.words.iter_mut().zip(words).for_each(|(sum, words)| *sum += u64::from(words));
    }

    /// Adds what was counted elsewhere.
    pub fn add_all(&mut self, other: &Statistics) {
        self.chunks += other.chunks;
        self.words.iter_mut().zip(other.words).for_each(|(sum, words)| *sum += words);
    }
}

/// The part of the score that one term of one field gives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TermWeight {
    weight: f64,
    average_length: f64,
}

impl TermWeight {
    /// Of a term that so many chunks of the scope and of the [background](background_count) have in a field.
    pub(crate) fn new(field: Field, chunks_with: u64, scope: &Statistics) -> Self {
        let (chunks, with) = ((scope.chunks + BACKGROUND) as f64, chunks_with as f64);
        let inverse_frequency = (1.0 + (chunks - with + 0.5) / (with + 0.5)).ln();
        Self {
            weight: f64::from(WEIGHTS[field as usize]) * inverse_frequency * (1.0 + K1),
            average_length: scope.words[field as usize] as f64 / (scope.chunks as f64).max(1.0),
        }
    }

    /// What [`TermWeight::score`] stays below.
    pub(crate) fn most(&self) -> f64 {
        self.weight
    }

    /// With how often the term occurs in the field, and the length of the field as it is stored: in one byte, four bits
    /// of which are the value.
    pub(crate) fn score(&self, frequency: u32, length: u32) -> f64 {
        let frequency = f64::from(frequency);
        let norm = K1 * (1.0 - B + B * f64::from(length) / self.average_length.max(1.0));
        self.weight * frequency / (frequency + norm)
    }
}
