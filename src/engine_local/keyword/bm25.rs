//! Counts within a scope, and what tantivy needs to find the best by them.
//!
//! tantivy's own statistics count deleted and hidden chunks. These count live chunks in the scope alone.

use std::collections::HashMap;
use std::sync::Mutex;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, Searcher, SegmentReader, TERMINATED, Term};

use super::schema::ChunkFields;
use super::segments::SegmentMap;
use crate::engine::{B, BACKGROUND, FileSet, K1, Statistics};

/// Maximum number of frequencies that are remembered, until the next state is published.
const MAX_KNOWN: usize = 20_000;

/// Statistics of a scope, as tantivy asks for them and as exact scores need them.
pub(super) struct Scoped<'a> {
    pub searcher: &'a Searcher,
    pub segments: &'a [std::sync::Arc<SegmentMap>],
    pub fields: ChunkFields,
    pub statistics: Statistics,
    pub scope: Option<&'a FileSet>,
    /// As the query's terms count, those of several languages together and with what is counted beside the scope.
    pub counts: HashMap<Term, u64>,
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

    fn index_of(&self, field: tantivy::schema::Field) -> usize {
        [self.fields.body, self.fields.heading, self.fields.own].iter().position(|of| *of == field).unwrap_or(0)
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
    fn total_num_tokens(&self, field: tantivy::schema::Field) -> tantivy::Result<u64> {
        // The average length is that of the scope's chunks, of whatever count it is taken.
        let (words, chunks) = (self.statistics.words[self.index_of(field)].max(1), self.statistics.chunks.max(1));
        Ok((u128::from(words) * u128::from(chunks + BACKGROUND) / u128::from(chunks)) as u64)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.statistics.chunks.max(1) + BACKGROUND)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        // tantivy panics when a term is in more documents than there are.
        let all = self.statistics.chunks.max(1) + BACKGROUND;
        let known = self.counts.get(term).copied();
        Ok(known.map_or_else(|| self.document_frequency(term), Ok)?.min(all))
    }
}
