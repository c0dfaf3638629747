//! Searching a set: which way to take, and exact scores for what it finds.

use half::slice::HalfFloatSliceExt;

use super::kernel::{CodedQuery, dot, dots};
use super::set::{Rows, VectorSegment, VectorSet, other_dimensions, too_many_dead};
use crate::index::engine::{EngineError, FileSet, QueryVector, ScoredChunk, ones};

/// How many candidates the codes give for each result that is asked for, to be scored at full precision. int8 changes the
/// order of neighbours a little; with 50 for the first 10, recall was 1.000 on every set that was measured. Only where more
/// than that many rows lie within about 0.002 of each other's score can a better one be passed over for one as good.
const CANDIDATES_PER_RESULT: usize = 4;
/// Minimum number of candidates, however few results are asked for.
const MIN_CANDIDATES: usize = 50;

/// Minimum number of nodes that a search of the graph keeps in view, however few are asked for.
const MIN_EF: usize = 64;

/// What a node in view costs, counted in rows of the scan: past this the scan is faster, and exact. Measured: 60 at 10,000
/// rows, 130 at 25,000, 180 at 100,000, where the graph no longer fits the cache.
const SCANNED_ROWS_PER_EF: usize = 100;

/// Minimum share of the graph's rows that a filter leaves to a search of the graph. The rows of a smaller share are
/// scanned.
const MIN_ALLOWED_SHARE: f64 = 0.2;

impl VectorSet {
    /// Finds the `k` chunks nearest to a query among the files of `allow` (all of them without one), best first, equal scores
    /// in ascending order of chunk id.
    ///
    /// Chunks with equal vectors have scores that are equal to the bit, and **every chunk that ties with the k-th is
    /// returned**, so there may be more than `k`. The caller breaks ties by what a rebuild does not change (path, line);
    /// breaking them here, by chunk id, would make an index that grew edit by edit answer unlike a rebuilt one. Ten thousand
    /// copies of one text that are the best answer come back as ten thousand rows, in about 1.5 ms.
    ///
    /// Without a graph in use, the answer depends only on the live rows.
    ///
    /// # Errors
    ///
    /// When the query has other dimensions.
    pub fn nearest(
        &self,
        query: &QueryVector,
        k: usize,
        allow: Option<&FileSet>,
    ) -> Result<Vec<ScoredChunk>, EngineError> {
        let query = self.coded(query)?;
        if k == 0 {
            return Ok(Vec::new());
        }
        let wanted = k.saturating_mul(CANDIDATES_PER_RESULT).max(MIN_CANDIDATES);
        let best = self.search_graph(&query, wanted, allow).unwrap_or_else(|| {
            let mut best = BestRows::new(wanted);
            self.scan(&query, allow, Rows::Live, &mut best);
            best
        });
        Ok(self.rescore(&query, best, k))
    }

    /// Scores chunks exactly, as [`nearest`](Self::nearest) does; those without a vector get none.
    ///
    /// # Errors
    ///
    /// As for [`nearest`](Self::nearest).
    pub(in super::super) fn cosines(
        &self,
        query: &QueryVector,
        chunks: &[u64],
    ) -> Result<Vec<Option<f64>>, EngineError> {
        let query = self.coded(query)?;
        let mut floats = vec![0.0; self.dims];
        let score = |&chunk: &u64| {
            let (at, row) = self.find(chunk)?;
            Some(exact_score(&query, &self.segments[at], row, &mut floats))
        };
        Ok(chunks.iter().map(score).collect())
    }

    /// A chunk's vector.
    pub(in super::super) fn vector(&self, chunk: u64) -> Option<Vec<f32>> {
        let (at, row) = self.find(chunk)?;
        let mut floats = vec![0.0; self.dims];
        self.segments[at].columns.vector(row).convert_to_f32_slice(&mut floats);
        Some(floats)
    }

    pub(super) fn coded(&self, query: &QueryVector) -> Result<CodedQuery, EngineError> {
        match query.unit().len() {
            got if got == self.dims => Ok(CodedQuery::new(query.clone())),
            got => Err(other_dimensions("the query", self.dims, got)),
        }
    }

    /// Compares the query with the code of every wanted row.
    fn scan(&self, query: &CodedQuery, allow: Option<&FileSet>, rows: Rows, best: &mut BestRows) {
        /// Past this many wanted rows in a block of 64 it is quicker to compare all of them in one call.
        const DENSE: u32 = 40;
        let mut found = [0; 64];
        for (at, segment) in self.segments.iter().enumerate() {
            let columns = &segment.columns;
            for (start, bits) in segment.blocks(allow, rows) {
                if bits.count_ones() >= DENSE {
                    let end = (start + 64).min(columns.len());
                    let codes = &columns.codes[start * self.dims..end * self.dims];
                    dots(codes, &query.code.values, &mut found[..end - start]);
                } else {
                    for bit in ones(bits) {
                        found[bit] = dot(columns.code(start + bit), &query.code.values);
                    }
                }
                for bit in ones(bits) {
                    let row = start + bit;
                    let estimate = query.estimate(found[bit], columns.inverse_norms[row]);
                    best.push(RowCandidate { estimate, segment: at as u32, row: row as u32 });
                }
            }
        }
    }

    /// Searches by the graph, and scans the rows that it does not cover. Returns none where the scan serves better.
    pub(super) fn search_graph(&self, query: &CodedQuery, wanted: usize, allow: Option<&FileSet>) -> Option<BestRows> {
        let graph = self.graph.as_ref()?;
        let live = self.graphed_live();
        if self.len() <= self.graph_threshold || too_many_dead(graph.rows() - live, graph.rows()) {
            return None;
        }
        let allowed = allow.map_or(live, |_| self.count(allow, Rows::Graphed));
        if (allowed as f64) < MIN_ALLOWED_SHARE * live as f64 {
            return None;
        }
        // Of the nodes found, as many are expected to be deleted or not allowed as there are in the whole graph.
        let ef = wanted.saturating_mul(graph.rows()).div_ceil(allowed.max(1)).max(MIN_EF);
        if ef.saturating_mul(SCANNED_ROWS_PER_EF) > allowed {
            return None;
        }
        let mut best = BestRows::new(wanted);
        for (node, dot) in graph.search(query, ef) {
            let estimate = query.estimate(dot, graph.inverse_norm(node));
            for &chunk in graph.chunks(node) {
                if let Some((at, row)) = self.find(chunk)
                    && self.segments[at].is_graphed(row)
                    && allow.is_none_or(|allow| allow.contains(self.segments[at].columns.files[row]))
                {
                    best.push(RowCandidate { estimate, segment: at as u32, row: row as u32 });
                }
            }
        }
        // What is near the query may lie just outside the filter; then the graph has found nothing to choose from.
        if best.len() < wanted.min(allowed) / 2 {
            return None;
        }
        self.scan(query, allow, Rows::Ungraphed, &mut best);
        Some(best)
    }

    /// Counts the rows.
    pub(super) fn count(&self, allow: Option<&FileSet>, rows: Rows) -> usize {
        let blocks = self.segments.iter().flat_map(|segment| segment.blocks(allow, rows));
        blocks.map(|(_, bits)| bits.count_ones() as usize).sum()
    }

    /// Scores the candidates at full precision and cuts after the `k`-th and its ties.
    fn rescore(&self, query: &CodedQuery, best: BestRows, k: usize) -> Vec<ScoredChunk> {
        let mut floats = vec![0.0; self.dims];
        let score = |candidate: &RowCandidate| {
            let (segment, row) = (&self.segments[candidate.segment as usize], candidate.row as usize);
            let (chunk, file) = (segment.columns.chunks[row], segment.columns.files[row]);
            ScoredChunk { row: chunk, file, score: exact_score(query, segment, row, &mut floats) }
        };
        let mut scored: Vec<ScoredChunk> = best.into_candidates().iter().map(score).collect();
        scored.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
        if let Some(last) = scored.get(k - 1) {
            let floor = last.score;
            scored.truncate(scored.partition_point(|scored| scored.score >= floor));
        }
        scored
    }
}

/// The cosine, -1 to 1 but for rounding (the vectors are f16: ±0.001).
fn exact_score(query: &CodedQuery, segment: &VectorSegment, row: usize, floats: &mut [f32]) -> f64 {
    segment.columns.vector(row).convert_to_f32_slice(floats);
    f64::from(query.exact.cosine(floats))
}

/// A row that may be among the answers, and its estimated score.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RowCandidate {
    estimate: f32,
    segment: u32,
    row: u32,
}

/// Keeps the best `wanted` candidates and every one that ties with the last of them.
///
/// Rows that tie are kept or dropped together. If a tie were broken here, it could only be by chunk id or position, and
/// those differ between an index that grew edit by edit and one that was rebuilt: the two would answer differently.
pub(super) struct BestRows {
    wanted: usize,
    floor: f32,
    kept: Vec<RowCandidate>,
    trim_at: usize,
}

impl BestRows {
    fn new(wanted: usize) -> Self {
        Self { wanted, floor: f32::NEG_INFINITY, kept: Vec::new(), trim_at: trim_at(wanted, 0) }
    }

    #[inline]
    fn push(&mut self, candidate: RowCandidate) {
        if candidate.estimate >= self.floor {
            self.kept.push(candidate);
            if self.kept.len() >= self.trim_at {
                self.trim();
            }
        }
    }

    fn len(&self) -> usize {
        self.kept.len()
    }

    /// The candidates, in no order.
    fn into_candidates(mut self) -> Vec<RowCandidate> {
        self.trim();
        self.kept
    }

    fn trim(&mut self) {
        if self.wanted > 0 && self.kept.len() > self.wanted {
            let by_estimate = |a: &RowCandidate, b: &RowCandidate| b.estimate.total_cmp(&a.estimate);
            let (_, last, _) = self.kept.select_nth_unstable_by(self.wanted - 1, by_estimate);
            let floor = last.estimate;
            self.kept.retain(|candidate| candidate.estimate >= floor);
            self.floor = floor;
        }
        self.trim_at = trim_at(self.wanted, self.kept.len());
    }
}

/// Twice what a trim leaves at least, so that trimming costs each candidate a constant, ten thousand ties or none.
fn trim_at(wanted: usize, kept: usize) -> usize {
    wanted.max(kept).saturating_mul(2).max(256)
}
