//! All vectors, as of one generation of the index: segments of columns that never change, and marks on their rows that do.

use std::cmp::Reverse;
use std::sync::Arc;

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::graph::Graph;
use super::kernel::Code;
use crate::index::engine::{EngineError, FileSet, ones};

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
            let gone: Vec<usize> = gone.collect();
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
        self.count(None, Rows::Graphed)
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
    segments.sort_by_key(|segment| Reverse(segment.live()));
    let most = MAX_SEGMENT_ROWS.max(segments.iter().map(VectorSegment::live).sum::<usize>() / 8);
    let similar = |pair: &[VectorSegment]| {
        let (larger, smaller) = (pair[0].live(), pair[1].live());
        larger < 2 * smaller && larger + smaller <= most
    };
    while let Some(at) = segments.windows(2).rposition(similar) {
        let merged = VectorSegment::merged(dims, &segments[at..at + 2]);
        segments.splice(at..at + 2, [merged]);
        segments.sort_by_key(|segment| Reverse(segment.live()));
    }
    segments
}

/// A chunk's embedding.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The chunk's row id in the catalog, which is never given to another chunk.
    pub chunk: u64,
    /// The row id of the file the chunk belongs to, for filters.
    pub file: u32,
    /// The embedding, of unit length.
    pub vector: Vec<f16>,
}

/// The values of rows, column by column, in ascending order of chunk id.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) chunks: Vec<u64>,
    pub(super) files: Vec<u32>,
    /// One int8 code a row, end to end.
    pub(super) codes: Vec<i8>,
    pub(super) inverse_norms: Vec<f32>,
    /// One vector a row, end to end, to score candidates with.
    pub(super) vectors: Vec<f16>,
}

impl Columns {
    /// Takes rows in any order. Of two rows with the same chunk id the later one stays.
    pub(super) fn new(dims: usize, rows: impl IntoIterator<Item = Row>) -> Result<Self, EngineError> {
        let mut rows: Vec<Row> = rows.into_iter().collect();
        rows.sort_by_key(|row| row.chunk);
        let mut columns = Self::with_capacity(dims, rows.len());
        let mut floats = vec![0.0; dims];
        let mut rows = rows.into_iter().peekable();
        while let Some(row) = rows.next() {
            if row.vector.len() != dims {
                return Err(other_dimensions(&format!("chunk {}", row.chunk), dims, row.vector.len()));
            }
            row.vector.convert_to_f32_slice(&mut floats);
            if floats.iter().any(|value| !value.is_finite()) {
                let chunk = row.chunk;
                return Err(EngineError::other(format!("the vector of chunk {chunk} is not finite; embed it again")));
            }
            if rows.peek().is_some_and(|next| next.chunk == row.chunk) {
                continue;
            }
            let code = Code::new(&floats);
            columns.chunks.push(row.chunk);
            columns.files.push(row.file);
            columns.codes.extend_from_slice(&code.values);
            columns.inverse_norms.push(code.inverse_norm);
            columns.vectors.extend_from_slice(&row.vector);
        }
        Ok(columns)
    }

    fn with_capacity(dims: usize, rows: usize) -> Self {
        Self {
            chunks: Vec::with_capacity(rows),
            files: Vec::with_capacity(rows),
            codes: Vec::with_capacity(rows * dims),
            inverse_norms: Vec::with_capacity(rows),
            vectors: Vec::with_capacity(rows * dims),
        }
    }

    fn push(&mut self, from: &Columns, row: usize) {
        self.chunks.push(from.chunks[row]);
        self.files.push(from.files[row]);
        self.codes.extend_from_slice(from.code(row));
        self.inverse_norms.push(from.inverse_norms[row]);
        self.vectors.extend_from_slice(from.vector(row));
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn code(&self, row: usize) -> &[i8] {
        let dims = self.codes.len() / self.len();
        &self.codes[row * dims..(row + 1) * dims]
    }

    pub(super) fn vector(&self, row: usize) -> &[f16] {
        let dims = self.vectors.len() / self.len();
        &self.vectors[row * dims..(row + 1) * dims]
    }
}

/// Columns, which of their rows are deleted, and which the graph covers. Cloning copies three pointers.
#[derive(Clone, Debug)]
pub(super) struct VectorSegment {
    pub(super) columns: Arc<Columns>,
    dead: Arc<FileSet>,
    graphed: Arc<FileSet>,
}

impl VectorSegment {
    pub(super) fn new(columns: Columns) -> Self {
        Self { dead: Arc::default(), graphed: Arc::default(), columns: Arc::new(columns) }
    }

    /// The rows that are not deleted.
    pub(super) fn live(&self) -> usize {
        self.columns.len() - self.dead()
    }

    /// The rows that are deleted and still take up room.
    pub(super) fn dead(&self) -> usize {
        self.dead.len()
    }

    /// Finds a chunk's row, unless it is deleted.
    pub(super) fn find(&self, chunk: u64) -> Option<usize> {
        let row = self.columns.chunks.binary_search(&chunk).ok()?;
        (!self.dead.contains(row as u32)).then_some(row)
    }

    pub(super) fn is_graphed(&self, row: usize) -> bool {
        self.graphed.contains(row as u32)
    }

    /// Returns the segment with more rows deleted.
    pub(super) fn without(&self, rows: &[usize]) -> Self {
        let mut dead = FileSet::clone(&self.dead);
        dead.extend(rows.iter().map(|&row| row as u32));
        Self { dead: Arc::new(dead), ..self.clone() }
    }

    /// Returns the segment with the rows marked that `covers` says the graph has.
    pub(super) fn with_graphed(&self, covers: impl Fn(u64, &[i8]) -> bool) -> Self {
        let is_covered = |row: &usize| covers(self.columns.chunks[*row], self.columns.code(*row));
        let graphed: FileSet = self.live_rows().filter(is_covered).map(|row| row as u32).collect();
        Self { graphed: Arc::new(graphed), ..self.clone() }
    }

    /// Joins the live rows of several segments into one.
    pub(super) fn merged(dims: usize, segments: &[VectorSegment]) -> Self {
        let mut order: Vec<(u64, usize, usize)> = segments
            .iter()
            .enumerate()
            .flat_map(|(at, segment)| segment.live_rows().map(move |row| (segment.columns.chunks[row], at, row)))
            .collect();
        order.sort_unstable();
        let mut columns = Columns::with_capacity(dims, order.len());
        let mut graphed = FileSet::new();
        for (place, &(_, at, row)) in order.iter().enumerate() {
            columns.push(&segments[at].columns, row);
            if segments[at].is_graphed(row) {
                graphed.insert(place as u32);
            }
        }
        Self { graphed: Arc::new(graphed), ..Self::new(columns) }
    }

    /// Lists the rows that are not deleted, in ascending order of chunk id.
    pub(super) fn live_rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.blocks(None, Rows::Live).flat_map(|(start, bits)| ones(bits).map(move |bit| start + bit))
    }

    /// Lists the blocks of 64 rows of which some are wanted: the first row of each, and a bit for each wanted one.
    pub(super) fn blocks<'a>(
        &'a self,
        allow: Option<&'a FileSet>,
        rows: Rows,
    ) -> impl Iterator<Item = (usize, u64)> + 'a {
        let len = self.columns.len();
        (0..len.div_ceil(64)).filter_map(move |at| {
            let start = at * 64;
            let within = u64::MAX >> (64 - (len - start).min(64));
            let mut bits = within & !self.dead.word(at);
            match rows {
                Rows::Live => {}
                Rows::Graphed => bits &= self.graphed.word(at),
                Rows::Ungraphed => bits &= !self.graphed.word(at),
            }
            if let Some(allow) = allow {
                let allowed = ones(bits).filter(|&bit| allow.contains(self.columns.files[start + bit]));
                bits = allowed.fold(0, |bits, bit| bits | 1 << bit);
            }
            (bits != 0).then_some((start, bits))
        })
    }
}

/// Which of the rows that are not deleted.
#[derive(Clone, Copy)]
pub(super) enum Rows {
    /// All of them.
    Live,
    /// Those the graph covers.
    Graphed,
    /// Those the graph does not cover.
    Ungraphed,
}
