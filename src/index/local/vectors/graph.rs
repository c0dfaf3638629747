//! The graph: hnsw_rs finds the links, they are frozen into flat arrays, and the search goes along them.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::{self, AtomicBool};

use hnsw_rs::anndists::dist::distances::Distance;
use hnsw_rs::hnsw::Hnsw;

use super::kernel::{self, CodedQuery, dot};
use super::set::VectorSet;
use crate::base::allocator;
use crate::index::engine::FileSet;

/// A hierarchical navigable small world graph over the codes of a version of the vectors.
///
/// Built by [`VectorSet::build_graph`](super::VectorSet::build_graph), used through
/// [`VectorSet::with_graph`](super::VectorSet::with_graph), never changed. A node is a distinct code, with all the chunks that
/// have it: among many equal points, each one's nearest are all alike, and the graph falls apart.
#[derive(Debug, PartialEq)]
pub struct Graph {
    pub(super) dims: usize,
    /// One int8 code a node, end to end.
    pub(super) codes: Vec<i8>,
    pub(super) inverse_norms: Vec<f32>,
    /// The chunks of each node, end to end.
    pub(super) chunks: Lists<u64>,
    /// The links between nodes. All nodes are in the first layer, few in the last.
    pub(super) layers: Vec<Layer>,
    /// The node to start from, which is in the last layer.
    pub(super) entry: u32,
}

/// One layer of links. Nodes link to nodes of the same layer.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Layer {
    /// The nodes of the layer in ascending order; the first layer has all of them and leaves this empty.
    pub(super) nodes: Vec<u32>,
    /// What each of them links to.
    pub(super) links: Lists<u32>,
}

/// Lists, end to end.
#[derive(Debug, PartialEq)]
pub(super) struct Lists<T> {
    /// Where each list begins, and where the last one ends.
    pub(super) starts: Vec<u32>,
    pub(super) items: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }
}

impl<T: Copy> Lists<T> {
    pub(super) fn push(&mut self, list: &[T]) {
        self.items.extend_from_slice(list);
        self.starts.push(u32::try_from(self.items.len()).expect("a graph has fewer than 2^32 links"));
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn get(&self, at: usize) -> &[T] {
        &self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

impl Layer {
    /// What a node links to in this layer; nothing, if it is not in the layer.
    pub(super) fn links(&self, node: u32) -> &[u32] {
        if self.nodes.is_empty() {
            return self.links.get(node as usize);
        }
        self.nodes.binary_search(&node).map_or(&[], |at| self.links.get(at))
    }
}

/// A node in view of a search.
#[derive(Clone, Copy, Debug)]
struct SeenNode {
    estimate: f32,
    node: u32,
    dot: i32,
}

impl Graph {
    /// The dimensions of the vectors.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Counts the rows the graph was built over.
    pub fn rows(&self) -> usize {
        self.chunks.items.len()
    }

    pub(super) fn nodes(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn code(&self, node: u32) -> &[i8] {
        &self.codes[node as usize * self.dims..][..self.dims]
    }

    pub(super) fn inverse_norm(&self, node: u32) -> f32 {
        self.inverse_norms[node as usize]
    }

    /// The chunks that have this code.
    pub(super) fn chunks(&self, node: u32) -> &[u64] {
        self.chunks.get(node as usize)
    }

    /// Lists every chunk with its node, in ascending order of chunk id.
    pub(super) fn nodes_by_chunk(&self) -> Vec<(u64, u32)> {
        let pairs = (0..self.nodes() as u32).flat_map(|node| self.chunks(node).iter().map(move |&chunk| (chunk, node)));
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_unstable();
        pairs
    }

    /// Finds about the `ef` nodes nearest to the query, in no order, each with the dot product of the codes.
    ///
    /// Algorithms 2 and 5 of Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical
    /// Navigable Small World graphs" (2016).
    pub(super) fn search(&self, query: &CodedQuery, ef: usize) -> Vec<(u32, i32)> {
        let mut nearest = self.see(query, self.entry);
        for layer in self.layers.iter().skip(1).rev() {
            loop {
                let links = layer.links(nearest.node).iter().map(|&node| self.see(query, node));
                match links.max() {
                    Some(link) if link > nearest => nearest = link,
                    _ => break,
                }
            }
        }
        let mut visited = FileSet::of_length(self.nodes());
        visited.insert(nearest.node);
        let mut found = BinaryHeap::from([Reverse(nearest)]);
        let mut next = BinaryHeap::from([nearest]);
        while let Some(from) = next.pop() {
            if found.len() >= ef && found.peek().is_some_and(|Reverse(worst)| from < *worst) {
                break;
            }
            for &node in self.layers[0].links(from.node) {
                if !visited.insert(node) {
                    continue;
                }
                let seen = self.see(query, node);
                if found.len() < ef || found.peek().is_some_and(|Reverse(worst)| seen > *worst) {
                    next.push(seen);
                    found.push(Reverse(seen));
                    if found.len() > ef {
                        found.pop();
                    }
                }
            }
        }
        found.into_iter().map(|Reverse(seen)| (seen.node, seen.dot)).collect()
    }

    fn see(&self, query: &CodedQuery, node: u32) -> SeenNode {
        let dot = dot(self.code(node), &query.code.values);
        SeenNode { estimate: query.estimate(dot, self.inverse_norm(node)), node, dot }
    }
}

/// Nearer is greater; of two equally near, the one with the smaller number.
impl Ord for SeenNode {
    fn cmp(&self, other: &Self) -> Ordering {
        self.estimate.total_cmp(&other.estimate).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for SeenNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SeenNode {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SeenNode {}

/// The links a node keeps in the upper layers; twice as many in the first (M in the paper).
const LINKS: usize = 16;

/// How many nodes are in view while the links of a new one are chosen. Recall@10 of 103,000 chunks of real text, only ten
/// being asked for: 0.969 with 100, built in 33 s; 0.984 with 200, in 69 s (`cargo bench --bench vectors -- CATALOG`).
const EF_CONSTRUCTION: usize = 200;

/// Maximum number of layers that hnsw_rs can have. With 16 links there are five at a million nodes.
const MAX_LAYERS: usize = 16;

impl VectorSet {
    /// Builds a graph over the live rows, for [`with_graph`](VectorSet::with_graph) on this version or a later one.
    ///
    /// Takes long (0.3 to 0.6 ms a row) and needs 3.2 KB of memory a row while it runs, so it belongs on a thread of its
    /// own. Returns none when `stop` becomes true, within milliseconds, and when there is no row.
    ///
    /// It runs on the calling thread alone. Inserting from several, as hnsw_rs offers, makes the outcome depend on chance,
    /// and can deadlock: it holds the read lock of one point's links while it waits for the write lock of another's.
    pub fn build_graph(&self, stop: &AtomicBool) -> Option<Graph> {
        let mut graph = self.nodes();
        if graph.nodes() == 0 {
            return None;
        }
        let hnsw = Hnsw::new(LINKS, graph.nodes(), MAX_LAYERS, EF_CONSTRUCTION, CodeDistance);
        let mut point = Vec::new();
        for node in scattered(graph.nodes()) {
            if stop.load(atomic::Ordering::Relaxed) {
                return None;
            }
            write_point(graph.code(node as u32), graph.inverse_norms[node], &mut point);
            hnsw.insert((&point, node));
        }
        freeze(&hnsw, &mut graph);
        drop(hnsw);
        allocator::release();
        Some(graph)
    }

    /// Collects the distinct codes of the live rows, in ascending order of their first chunk id: a graph without links.
    fn nodes(&self) -> Graph {
        let mut rows: Vec<(u64, usize, usize)> = Vec::with_capacity(self.len());
        for (at, segment) in self.segments.iter().enumerate() {
            rows.extend(segment.live_rows().map(|row| (segment.columns.chunks[row], at, row)));
        }
        rows.sort_unstable();
        let mut node_of: HashMap<&[i8], usize> = HashMap::with_capacity(rows.len());
        let mut chunks: Vec<Vec<u64>> = Vec::new();
        let mut codes = Vec::with_capacity(rows.len() * self.dims);
        for (chunk, at, row) in rows {
            let code = self.segments[at].columns.code(row);
            let node = *node_of.entry(code).or_insert_with(|| {
                codes.extend_from_slice(code);
                chunks.push(Vec::new());
                chunks.len() - 1
            });
            chunks[node].push(chunk);
        }
        codes.shrink_to_fit();
        let mut lists = Lists::default();
        chunks.iter().for_each(|chunks| lists.push(chunks));
        let inverse_norms = codes.chunks_exact(self.dims).map(kernel::inverse_norm).collect();
        Graph { dims: self.dims, codes, inverse_norms, chunks: lists, layers: Vec::new(), entry: 0 }
    }
}

/// All numbers below `count`, neighbours far apart. Chunks of one note are alike, and a graph that gets them one after the
/// other links them to little else: of 100,000 chunks, 0.01 of recall@10.
fn scattered(count: usize) -> Vec<usize> {
    /// 2³² over the golden ratio: multiples of it are spread evenly (Knuth, The Art of Computer Programming 3, 6.4).
    const STEP: u32 = 0x9e37_79b1;
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|node| (*node as u32).wrapping_mul(STEP));
    order
}

/// 1 - cosine, from codes. hnsw_rs hands the distance nothing but the slices it was given, so a point is its code followed by
/// the four bytes of its inverse norm.
struct CodeDistance;

fn write_point(values: &[i8], inverse_norm: f32, point: &mut Vec<i8>) {
    point.clear();
    point.extend_from_slice(values);
    point.extend(inverse_norm.to_le_bytes().map(u8::cast_signed));
}

fn read_point(point: &[i8]) -> (&[i8], f32) {
    let (values, norm) = point.split_last_chunk::<4>().expect("a point ends with its norm");
    (values, f32::from_le_bytes(norm.map(i8::cast_unsigned)))
}

impl Distance<i8> for CodeDistance {
    /// Never below zero: hnsw_rs ends the process's thread on a negative distance, and rounding makes one of near duplicates.
    fn eval(&self, a: &[i8], b: &[i8]) -> f32 {
        let ((a, a_norm), (b, b_norm)) = (read_point(a), read_point(b));
        (1.0 - dot(a, b) as f32 * a_norm * b_norm).max(0.0)
    }
}

/// Copies the links out of hnsw_rs.
fn freeze(hnsw: &Hnsw<'_, i8, CodeDistance>, graph: &mut Graph) {
    let points = hnsw.get_point_indexation();
    let top = usize::from(hnsw.get_max_level_observed());
    // hnsw_rs lists a point under its highest layer only; it has links in that one and all below.
    let mut layers: Vec<Vec<(u32, Vec<u32>)>> = vec![Vec::new(); top + 1];
    for level in 0..=top {
        for point in points.get_layer_iterator(level) {
            let node = point.get_origin_id() as u32;
            for (layer, links) in layers.iter_mut().zip(point.get_neighborhood_id()).take(level + 1) {
                let links = links.iter().map(|link| link.d_id as u32).filter(|&link| link != node);
                layer.push((node, links.collect()));
            }
        }
    }
    graph.entry = layers[top].first().map_or(0, |&(node, _)| node);
    graph.layers = layers
        .into_iter()
        .enumerate()
        .map(|(at, mut entries)| {
            entries.sort_unstable_by_key(|&(node, _)| node);
            let mut layer = Layer::default();
            for (node, links) in &entries {
                if at > 0 {
                    layer.nodes.push(*node);
                }
                layer.links.push(links);
            }
            layer
        })
        .collect();
}
