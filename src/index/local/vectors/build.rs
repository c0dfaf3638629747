//! Building a graph: hnsw_rs finds the links, and they are frozen into flat arrays.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use hnsw_rs::anndists::dist::distances::Distance;
use hnsw_rs::hnsw::Hnsw;

use super::graph::{Graph, Layer, Lists};
use super::kernel::{self, CodedQuery, dot};
use super::set::VectorSet;
use crate::base::allocator;
use crate::index::engine::QueryVector;

/// The links a node keeps in the upper layers; twice as many in the first (M in the paper).
const LINKS: usize = 16;

/// How many nodes are in view while the links of a new one are chosen. Recall@10 of 103,000 chunks of real text, only ten
/// being asked for: 0.969 with 100, built in 33 s; 0.984 with 200, in 69 s (`cargo bench --bench vectors -- CATALOG`).
const EF_CONSTRUCTION: usize = 200;

/// Maximum number of layers that hnsw_rs can have. With 16 links there are five at a million nodes.
const MAX_LAYERS: usize = 16;

/// How many nodes are in view while a way to a node that is cut off is looked for.
const EF_REPAIR: usize = 64;

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
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            write_point(graph.code(node as u32), graph.inverse_norms[node], &mut point);
            hnsw.insert((&point, node));
        }
        freeze(&hnsw, &mut graph);
        drop(hnsw);
        allocator::release();
        connect(&mut graph);
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

/// Gives every node that cannot be reached from the entry a link from the nearest of those that can.
///
/// hnsw_rs lets a full list forget its farthest link without asking whether it was the only way to somewhere. Of 100,000
/// clustered vectors 5 were lost, of 25,000 none.
fn connect(graph: &mut Graph) {
    let mut reached = vec![false; graph.nodes()];
    let mut added: HashMap<u32, Vec<u32>> = HashMap::new();
    spread(graph, &added, graph.entry, &mut reached);
    for node in 0..graph.nodes() as u32 {
        if reached[node as usize] {
            continue;
        }
        let floats: Vec<f32> = graph.code(node).iter().map(|&value| f32::from(value)).collect();
        let nearest = QueryVector::new(&floats).ok().map(CodedQuery::new).and_then(|query| {
            let found = graph.search(&query, EF_REPAIR).into_iter();
            let estimate = |&(node, dot): &(u32, i32)| query.estimate(dot, graph.inverse_norm(node));
            found.max_by(|a, b| estimate(a).total_cmp(&estimate(b)).then(b.0.cmp(&a.0)))
        });
        let from = nearest.map_or(graph.entry, |(node, _)| node);
        added.entry(from).or_default().push(node);
        spread(graph, &added, node, &mut reached);
    }
    if added.is_empty() {
        return;
    }
    tracing::debug!(
        nodes = graph.nodes(),
        "linked {} vectors that were cut off",
        added.values().map(Vec::len).sum::<usize>()
    );
    let mut links = Lists::default();
    for node in 0..graph.nodes() as u32 {
        let more = added.get(&node).map_or(&[][..], Vec::as_slice);
        links.push(&[graph.layers[0].links(node), more].concat());
    }
    graph.layers[0].links = links;
}

/// Marks everything that can be reached from a node in the first layer.
fn spread(graph: &Graph, added: &HashMap<u32, Vec<u32>>, from: u32, reached: &mut [bool]) {
    let mut open = vec![from];
    reached[from as usize] = true;
    while let Some(node) = open.pop() {
        for &link in graph.layers[0].links(node).iter().chain(added.get(&node).into_iter().flatten()) {
            if !std::mem::replace(&mut reached[link as usize], true) {
                open.push(link);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pairs of nodes with no link from one to the other, and a fifth that nothing links to.
    #[test]
    fn nodes_that_were_cut_off_get_a_link_from_the_nearest_that_were_not() {
        let codes: Vec<i8> = [[127, 0], [120, 40], [0, 127], [40, 120], [-127, 0]].concat();
        let mut links = Lists::default();
        [[1], [0], [3], [2], [2]].iter().for_each(|list| links.push(list));
        let mut chunks = Lists::default();
        (0..5_u64).for_each(|chunk| chunks.push(&[chunk]));
        let inverse_norms = codes.chunks(2).map(kernel::inverse_norm).collect();
        let layers = vec![Layer { nodes: Vec::new(), links }];
        let mut graph = Graph { dims: 2, codes, inverse_norms, chunks, layers, entry: 0 };
        let query = CodedQuery::new(QueryVector::new(&[0.0, 1.0]).unwrap());
        assert_eq!(graph.search(&query, 5).len(), 2);
        connect(&mut graph);
        assert_eq!(graph.search(&query, 5).len(), 5);
        let links: Vec<&[u32]> = (0..5).map(|node| graph.layers[0].links(node)).collect();
        assert_eq!(links, [&[1][..], &[0, 2, 4], &[3], &[2], &[2]]);
    }
}
