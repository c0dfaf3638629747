//! The graph, in flat arrays, and the search along its links.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::kernel::{CodedQuery, dot};
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
