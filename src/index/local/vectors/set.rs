//! All vectors, as of one generation of the index.

use std::sync::Arc;

use super::graph::Graph;
use super::segment::{Columns, Row, VectorSegment};
use crate::index::engine::EngineError;

/// A vector of another length comes from another model.
pub(super) fn other_dimensions(what: &str, expected: usize, got: usize) -> EngineError {
    EngineError::other(format!(
        "{what} has {got} dimensions and the index has {expected}; vectors of different models cannot be compared"
    ))
}

/// Maximum number of dimensions of a vector. Integer dot products are certain not to overflow up to here.
pub(crate) const MAX_DIMENSIONS: usize = 1 << 16;

/// Maximum share of deleted rows. A segment with a larger share is rewritten, and a graph with a larger share is left
/// aside and rebuilt.
pub(super) const MAX_DEAD_SHARE: f64 = 0.3;

/// Maximum number of rows that are merged into a segment, or an eighth of all where that is more. While one is made of two, memory holds all three, and those that searches hold on to besides: at
/// 100,000 rows of 384 dimensions in one segment that was 120 MB more than the rows take, and is 40 so.
pub(super) const MAX_SEGMENT_ROWS: usize = 1 << 15;

/// One immutable version of all vectors. Cloning it copies a few pointers.
///
/// Rows live in segments, each at least twice as large as the next as long as they are small, so that a change copies little and a
/// lookup asks few.
#[derive(Clone, Debug)]
pub struct VectorSet {
    pub(super) dims: usize,
    pub(super) graph_threshold: usize,
    /// Largest first.
    pub(super) segments: Vec<VectorSegment>,
    pub(super) graph: Option<Arc<Graph>>,
}

impl VectorSet {
    /// Creates an empty set for vectors of `dims` dimensions, which uses a graph above `graph_threshold` live rows.
    ///
    /// # Panics
    ///
    /// When `dims` is 0 or more than [`MAX_DIMENSIONS`].
    pub fn new(dims: usize, graph_threshold: usize) -> Self {
        assert!((1..=MAX_DIMENSIONS).contains(&dims), "a vector has 1 to {MAX_DIMENSIONS} dimensions, not {dims}");
        Self { dims, graph_threshold, segments: Vec::new(), graph: None }
    }

    /// Returns the next version: without the chunks of `removed`, with those of `added`. Readers of this one notice nothing.
    ///
    /// Removing comes first, so a chunk may be in both. A chunk that is added while present is replaced; one that is removed
    /// while absent is passed over. The cost follows the change: each row is copied O(log n) times on average, and some
    /// `MAX_SEGMENT_ROWS` by one call.
    ///
    /// # Errors
    ///
    /// When an added vector has other dimensions, or a component that is not finite; nothing is changed then.
    pub fn apply(&self, removed: &[u64], added: impl IntoIterator<Item = Row>) -> Result<Self, EngineError> {
        let fresh = Columns::new(self.dims, added)?;
        let mut segments = self.segments.clone();
        for segment in &mut segments {
            let gone = removed.iter().chain(&fresh.chunks).filter_map(|&chunk| segment.find(chunk));
            let mut gone: Vec<usize> = gone.collect();
            gone.sort_unstable();
            gone.dedup();
            if !gone.is_empty() {
                *segment = segment.without(&gone);
            }
        }
        if fresh.len() > 0 {
            segments.push(VectorSegment::new(fresh));
        }
        Ok(Self { segments: settled(self.dims, segments), ..self.clone() })
    }

    /// Returns this version with a graph to search by. Rows that were deleted or changed since the graph was built are
    /// passed over, and those that were added are scanned, so the graph may come from an older version.
    ///
    /// # Panics
    ///
    /// When the graph is of other dimensions.
    pub fn with_graph(&self, graph: Arc<Graph>) -> Self {
        assert_eq!(graph.dims(), self.dims, "a graph over vectors of other dimensions");
        let nodes = graph.nodes_by_chunk();
        let covers = |chunk: u64, code: &[i8]| {
            let at = nodes.binary_search_by_key(&chunk, |&(chunk, _)| chunk);
            at.is_ok_and(|at| graph.code(nodes[at].1) == code)
        };
        let segments = self.segments.iter().map(|segment| segment.with_graphed(covers)).collect();
        Self { segments, graph: Some(graph), ..self.clone() }
    }

    /// Tells whether it is time to build a graph: there are more rows than the threshold, and there is no graph, or too many
    /// of its rows are deleted, or so many rows were added since that scanning them costs what the graph saves.
    pub fn wants_graph(&self) -> bool {
        self.len() > self.graph_threshold
            && self.graph.as_ref().is_none_or(|graph| {
                let covered = self.graphed_live();
                too_many_dead(graph.rows() - covered, graph.rows())
                    || self.len() - covered > self.graph_threshold.max(self.len() / 5)
            })
    }

    /// The dimensions of the vectors.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Counts the chunks that have a vector.
    pub fn len(&self) -> usize {
        self.segments.iter().map(VectorSegment::live).sum()
    }

    /// Tells whether no chunk has a vector.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts the deleted rows that still take up room.
    pub fn dead(&self) -> usize {
        self.segments.iter().map(VectorSegment::dead).sum()
    }

    /// Tells whether a chunk has a vector.
    pub fn contains(&self, chunk: u64) -> bool {
        self.find(chunk).is_some()
    }

    /// Finds a chunk's live row: the place of its segment, and its own in there.
    pub(super) fn find(&self, chunk: u64) -> Option<(usize, usize)> {
        self.segments.iter().enumerate().find_map(|(at, segment)| Some((at, segment.find(chunk)?)))
    }

    /// Counts the live rows that the graph covers.
    pub(super) fn graphed_live(&self) -> usize {
        self.segments.iter().map(VectorSegment::graphed_live).sum()
    }
}

pub(super) fn too_many_dead(dead: usize, rows: usize) -> bool {
    dead as f64 > MAX_DEAD_SHARE * rows as f64
}

/// Rewrites segments with too many deleted rows, and merges those of similar size until each is at least twice the next, or both
/// together are too large.
fn settled(dims: usize, mut segments: Vec<VectorSegment>) -> Vec<VectorSegment> {
    segments.retain(|segment| segment.live() > 0);
    for segment in &mut segments {
        if too_many_dead(segment.dead(), segment.columns.len()) {
            *segment = VectorSegment::merged(dims, std::slice::from_ref(segment));
        }
    }
    segments.sort_by_key(|segment| std::cmp::Reverse(segment.live()));
    let most = MAX_SEGMENT_ROWS.max(segments.iter().map(VectorSegment::live).sum::<usize>() / 8);
    let similar = |pair: &[VectorSegment]| {
        let (larger, smaller) = (pair[0].live(), pair[1].live());
        larger < 2 * smaller && larger + smaller <= most
    };
    while let Some(at) = segments.windows(2).rposition(similar) {
        let merged = VectorSegment::merged(dims, &segments[at..at + 2]);
        segments.splice(at..at + 2, [merged]);
        segments.sort_by_key(|segment| std::cmp::Reverse(segment.live()));
    }
    segments
}
