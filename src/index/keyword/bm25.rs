//! BM25 over the chunks that a search may see.
//!
//! tantivy's own statistics count deleted and hidden chunks, so that scores would depend on the history of the index and
//! let an agent read hidden words off its scores. These count live chunks in the scope alone, in 64-bit floats and in a
//! fixed order, so that an index that grew edit by edit scores exactly as a rebuilt one does.

use std::collections::HashMap;
use std::sync::Mutex;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, Searcher, SegmentReader, TERMINATED, Term};

use super::schema::Fields;
use super::searcher::SegmentMap;
use crate::index::FileSet;

// Robertson et al., "Okapi at TREC-3"; the values are tantivy's and Lucene's.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// How many text fields a chunk has: body, heading, own.
pub const FIELDS: usize = 3;

/// The weight of each field. Heading at 1 is measured best; `own` only sets the chunk that holds a word before its
/// neighbours, which have it in their bodies.
pub(super) const WEIGHTS: [f32; FIELDS] = [1.0, 1.0, 0.3];

/// Frequencies that are remembered at most, until the next state is published.
const MAX_KNOWN: usize = 20_000;

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

/// Statistics of a scope, as tantivy asks for them and as exact scores need them.
pub(super) struct Scoped<'a> {
    pub searcher: &'a Searcher,
    pub segments: &'a [std::sync::Arc<SegmentMap>],
    pub fields: Fields,
    pub statistics: Statistics,
    pub scope: Option<&'a FileSet>,
    /// Frequencies over all chunks of this generation that were found already.
    pub frequencies: &'a Mutex<HashMap<Term, u64>>,
}

impl Scoped<'_> {
    /// In how many live chunks of the scope a term occurs.
    pub(super) fn document_frequency(&self, term: &Term) -> tantivy::Result<u64> {
        // What one scope counts must not be told to another.
        let shared = self.scope.is_none();
        let known = || self.frequencies.lock().expect("no panic while it is held");
        if let Some(found) = known().get(term).filter(|_| shared) {
            return Ok(*found);
        }
        let mut total = 0;
        for (segment, map) in self.searcher.segment_readers().iter().zip(self.segments) {
            total += self.frequency_in(segment, map, term)?;
        }
        if shared && known().len() < MAX_KNOWN {
            known().insert(term.clone(), total);
        }
        Ok(total)
    }

    fn frequency_in(&self, segment: &SegmentReader, map: &SegmentMap, term: &Term) -> tantivy::Result<u64> {
        let inverted = segment.inverted_index(term.field())?;
        if self.scope.is_none() && !segment.has_deletes() {
            return Ok(u64::from(inverted.doc_freq(term)?));
        }
        let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::Basic)? else { return Ok(0) };
        let mut count = 0;
        let mut document = postings.doc();
        while document != TERMINATED {
            let seen = self.scope.is_none_or(|scope| scope.contains(map.file(document)));
            count += u64::from(seen && !segment.is_deleted(document));
            document = postings.advance();
        }
        Ok(count)
    }

    fn index_of(&self, field: Field) -> usize {
        [self.fields.body, self.fields.heading, self.fields.own].iter().position(|of| *of == field).unwrap_or(0)
    }

    /// The factor that turns a term's frequency in a chunk into its part of the score.
    pub(super) fn term_scorer(&self, term: &Term) -> tantivy::Result<TermScorer> {
        let field = self.index_of(term.field());
        let (chunks, with) = (self.statistics.chunks as f64, self.document_frequency(term)? as f64);
        let inverse_frequency = (1.0 + (chunks - with + 0.5) / (with + 0.5)).ln();
        Ok(TermScorer {
            weight: f64::from(WEIGHTS[field]) * inverse_frequency * (1.0 + K1),
            average_length: self.statistics.words[field] as f64 / chunks.max(1.0),
        })
    }
}

/// By how much the score of a chunk may be above the bound that tantivy has for its block of postings.
///
/// Searches take as long with it, and 1.07 times as long after many edits (docs/performance.md).
///
/// Of each block tantivy keeps the pair *p* of frequency t and length l that scores best with the average length s of its
/// segment. Scores are made with the average g of the scope, with which another pair *q* of the block may be better. A pair's
/// part of a score is 1 / (1 + x), with x = (c + d·l/a) / t for an average a, c = k1(1−b) and d = k1·b. With r = s/g,
///
/// x(g) = r·x(s) + c(1−r)/t, so x(g, p) − x(g, q) ≤ c(1−r)(1/t(p) − 1/t(q)), as x(s, p) ≤ x(s, q);
///
/// part(q) / part(p) ≤ 1 + (x(g, p) − x(g, q)) / (1 + x(g, q)), which is
/// at most 1 + c(1−r) for r ≤ 1, where 1/t(p) ≤ 1; and at most 1 + c(r−1) / (1+c) for r > 1, as x(g, q) > c/t(q) and t(q) ≥ 1.
pub(super) fn bound_slack(segment_average: f64, scope_average: f64) -> f64 {
    let (ratio, c) = (segment_average / scope_average, K1 * (1.0 - B));
    1.0 + if ratio <= 1.0 { c * (1.0 - ratio) } else { c * (ratio - 1.0) / (1.0 + c) }
}

impl Scoped<'_> {
    /// By how much scores may be above the bounds of a segment's blocks, in any of the fields.
    pub(super) fn slack(&self, segment: &SegmentReader) -> tantivy::Result<f64> {
        let fields = [self.fields.body, self.fields.heading, self.fields.own];
        let mut slack: f64 = 1.0;
        for (field, words) in fields.into_iter().zip(self.statistics.words) {
            // Where the scope has no words there is nothing to score.
            if words > 0 && segment.max_doc() > 0 {
                // As tantivy works it out when it writes a segment.
                let of_segment =
                    segment.inverted_index(field)?.total_num_tokens() as f64 / f64::from(segment.max_doc());
                slack = slack.max(bound_slack(of_segment, words as f64 / self.statistics.chunks.max(1) as f64));
            }
        }
        Ok(slack)
    }
}

impl Bm25StatisticsProvider for Scoped<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(self.statistics.words[self.index_of(field)].max(1))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.statistics.chunks.max(1))
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        // tantivy panics when a term is in more documents than there are.
        Ok(self.document_frequency(term)?.min(self.statistics.chunks.max(1)))
    }
}

/// The part of the score that one term of one field gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct TermScorer {
    weight: f64,
    average_length: f64,
}

impl TermScorer {
    #[cfg(test)]
    pub(super) fn with_average(weight: f64, average_length: f64) -> Self {
        Self { weight, average_length }
    }

    /// With how often the term occurs in the field and how many words the field has.
    pub(super) fn score(&self, frequency: u32, length: u32) -> f64 {
        let frequency = f64::from(frequency);
        let norm = K1 * (1.0 - B + B * f64::from(length) / self.average_length.max(1.0));
        self.weight * frequency / (frequency + norm)
    }
}
