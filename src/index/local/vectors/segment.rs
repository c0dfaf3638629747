//! Rows that came together: columns that never change, and marks on them that do.

use std::sync::Arc;

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::kernel::Code;
use super::set::other_dimensions;
use crate::index::engine::{EngineError, FileSet, ones};

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
    live: usize,
    graphed_live: usize,
}

impl VectorSegment {
    pub(super) fn new(columns: Columns) -> Self {
        let (dead, graphed) = (Arc::default(), Arc::default());
        Self { live: columns.len(), graphed_live: 0, dead, graphed, columns: Arc::new(columns) }
    }

    /// The rows that are not deleted.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// The rows that are deleted and still take up room.
    pub(super) fn dead(&self) -> usize {
        self.columns.len() - self.live
    }

    /// The live rows that the graph covers.
    pub(super) fn graphed_live(&self) -> usize {
        self.graphed_live
    }

    /// Finds a chunk's row, unless it is deleted.
    pub(super) fn find(&self, chunk: u64) -> Option<usize> {
        let row = self.columns.chunks.binary_search(&chunk).ok()?;
        (!self.dead.contains(row as u32)).then_some(row)
    }

    pub(super) fn is_graphed(&self, row: usize) -> bool {
        self.graphed.contains(row as u32)
    }

    /// Returns the segment with more rows deleted. `rows` are live and not repeated.
    pub(super) fn without(&self, rows: &[usize]) -> Self {
        let mut dead = FileSet::clone(&self.dead);
        dead.extend(rows.iter().map(|&row| row as u32));
        let graphed = rows.iter().filter(|&&row| self.is_graphed(row)).count();
        Self {
            dead: Arc::new(dead),
            live: self.live - rows.len(),
            graphed_live: self.graphed_live - graphed,
            ..self.clone()
        }
    }

    /// Returns the segment with the rows marked that `covers` says the graph has.
    pub(super) fn with_graphed(&self, covers: impl Fn(u64, &[i8]) -> bool) -> Self {
        let is_covered = |row: &usize| covers(self.columns.chunks[*row], self.columns.code(*row));
        let graphed: FileSet = self.live_rows().filter(is_covered).map(|row| row as u32).collect();
        Self { graphed_live: graphed.len(), graphed: Arc::new(graphed), ..self.clone() }
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
        let graphed_live = segments.iter().map(VectorSegment::graphed_live).sum();
        Self { graphed: Arc::new(graphed), graphed_live, ..Self::new(columns) }
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
