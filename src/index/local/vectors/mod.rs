//! Nearest-neighbour search over chunk embeddings.
//!
//! A [`VectorSet`] is one immutable version of all vectors. The writer makes the next one with [`VectorSet::apply`], at a
//! cost that follows the change; searches go on over the one they hold. Two ways lead to the nearest rows:
//!
//! - the **exact scan** over int8 codes (a quarter of the memory of f32), whose best are scored again at full precision. It
//!   depends on nothing but the live rows, so an index that grew edit by edit answers as a rebuilt one does;
//! - above a threshold, a **graph** ([`Graph`]): hnsw_rs finds the links, then they are frozen into flat arrays. Rows added
//!   since are scanned beside it, deleted ones are passed over, and where it would not pay (a narrow filter, many dead rows,
//!   a great many results) the scan answers.
//!
//! # Why the graph is frozen
//!
//! hnsw_rs builds good graphs. Searching and keeping one in it is another matter: it takes 2.8 KB of memory a row in small
//! allocations where flat arrays take 0.5, and 0.29 ms for a search that takes 0.13 over them (100,000 rows); its files can
//! panic the reader, read out of bounds or end the process when they are damaged; and many equal vectors make it fall apart. Here equal
//! codes are one node. A few nodes that nothing leads to (5 of 100,000) are not found by it. It is built anew after a start, while the
//! scan answers: reading it from a file would save a minute beside searches that take two milliseconds.
//!
//! # Numbers
//!
//! One core of a shared AMD EPYC (32 MB of L3 cache), 384 dimensions, the clustered vectors of `benches/vectors.rs`, medians, with
//! instructions of AVX-512 that are used no more: with those of AVX2 the dot products of 10,000 rows took 0.085 ms instead of 0.045,
//! those of 100,000 rows 1.1 ms instead of 0.9.
//!
//! | rows | scan, k 10 | k 100 | 10 % allowed | graph, k 10 | k 100 | recall@10 | build | load rows |
//! |---|---|---|---|---|---|---|---|---|
//! | 10,000 | 0.08 ms | 0.15 | 0.02 | 0.05 ms | 0.14 | 1.0000 | 1.4–2.4 s | 11 ms |
//! | 25,000 | 0.17 ms | 0.28 | 0.04 | 0.07 ms | 0.34 | 1.0000 | 5–9 s | 30 ms |
//! | 100,000 | 1.1 ms (5 when others use the cache) | 1.3 | 0.15 | 0.13 ms | 0.76 | 0.9995 | 29–51 s | 120 ms |
//!
//! Memory: 1,168 bytes a row (int8 and f16 codes), 500–580 more with a graph, 3.2 KB more while one is built. An edit of one
//! row takes 0.04 ms.

mod graph;
mod kernel;
mod search;
mod set;
#[cfg(test)]
mod tests;

pub use graph::Graph;
pub use set::{Row, VectorSet};
