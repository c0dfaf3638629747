//! Times of the exact scan and of the graph, and the graph's recall.
//!
//! `cargo bench --bench vectors -- [ROWS… | CATALOG…]`; without either, 10,000 and 25,000 rows (a graph of 100,000 takes up to a
//! minute to build). A CATALOG is the `catalog.db` of an index that is closed: then the vectors are those of real text, and
//! some of them, turned a little, are the queries.
//!
//! The vectors are random points of 500 clusters in a space of 32 dimensions, turned into 384 and blurred: like embeddings of
//! text they have many near neighbours and few dimensions of their own. Queries are drawn the same way.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use half::f16;
use memory_vault::index::engine::{FileSet, QueryVector, unpack};
use memory_vault::index::local::vectors::{Row, VectorSet};

const DIMS: usize = 384;
const LATENT: usize = 32;
const CLUSTERS: usize = 500;
const QUERIES: usize = 200;
const ROWS_PER_FILE: u64 = 10;

fn main() {
    let sizes: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let catalogs: Vec<String> = std::env::args().filter(|argument| argument.ends_with(".db")).collect();
    for catalog in &catalogs {
        let mut world = World::new();
        let vectors = vectors_of(catalog);
        let queries = (0..QUERIES).map(|at| world.near(&vectors[at * vectors.len() / QUERIES])).collect();
        measure(world, vectors, queries);
    }
    for rows in if sizes.is_empty() && catalogs.is_empty() { vec![10_000, 25_000] } else { sizes } {
        let mut world = World::new();
        let vectors = (0..rows).map(|_| world.vector()).collect();
        let queries = (0..QUERIES).map(|_| world.vector()).collect();
        measure(world, vectors, queries);
    }
}

/// The embeddings of an index, in the order of the text.
fn vectors_of(catalog: &str) -> Vec<Vec<f32>> {
    let connection = rusqlite::Connection::open(catalog).expect("a catalog");
    let mut select = connection
        .prepare("SELECT vector FROM chunks JOIN vectors USING (content) ORDER BY chunks.id")
        .expect("the tables of a catalog");
    let rows = select.query_map([], |row| row.get::<_, Vec<u8>>(0)).expect("rows");
    let vector = |bytes: Vec<u8>| unpack(&bytes, DIMS).expect("a vector of the bundled model");
    rows.map(|row| vector(row.expect("a row")).into_iter().map(f16::to_f32).collect()).collect()
}

fn measure(mut world: World, vectors: Vec<Vec<f32>>, queries: Vec<Vec<f32>>) {
    let rows = vectors.len();
    println!("{rows} rows of {DIMS} dimensions");
    let row = |(chunk, vector): (u64, Vec<f32>)| {
        let vector = vector.into_iter().map(f16::from_f32).collect();
        Row { chunk, file: (chunk / ROWS_PER_FILE) as u32, vector }
    };
    let added: Vec<Row> = (0..).zip(vectors).map(row).collect();

    let (before, start) = (resident(), Instant::now());
    let set = VectorSet::new(DIMS, 0).apply(&[], added).expect("the rows are good");
    let bytes = (resident() - before) / rows as i64;
    println!("  load            {:>9.2?}   {bytes} bytes a row more than before", start.elapsed());
    let start = Instant::now();
    let one = Row { chunk: u64::MAX, file: 0, vector: world.vector().into_iter().map(f16::from_f32).collect() };
    black_box(set.apply(&[7], [one]).expect("the row is good"));
    println!("  edit one row    {:>9.2?}", start.elapsed());

    let exact = time("exact, k 10", &queries, |query| search(&set, query, 10, None));
    time("exact, k 100", &queries, |query| search(&set, query, 100, None));
    for share in [0.5, 0.1, 0.01] {
        let files = rows as u64 / ROWS_PER_FILE;
        let allow: FileSet = (0..(files as f64 * share) as u32).collect();
        time(&format!("exact, {share} allowed"), &queries, |query| search(&set, query, 10, Some(&allow)));
    }

    let before = resident();
    let start = Instant::now();
    let graph = set.build_graph(&AtomicBool::new(false)).expect("nobody stops it");
    println!(
        "  build           {:>9.2?}   resident {} MB more than before",
        start.elapsed(),
        (resident() - before) >> 20
    );
    let start = Instant::now();
    let set = set.with_graph(Arc::new(graph));
    println!("  attach          {:>9.2?}", start.elapsed());

    let found = time("graph, k 10", &queries, |query| search(&set, query, 10, None));
    println!("  recall@10       {:.4}", recall(&exact, &found));
    for k in [50, 100, 200, 400] {
        let found = time(&format!("graph, k {k}"), &queries, |query| search(&set, query, k, None));
        println!("  recall@10       {:.4}", recall(&exact, &found));
    }
    let half: FileSet = (0..(rows as u64 / ROWS_PER_FILE / 2) as u32).collect();
    time("graph, 0.5 allowed", &queries, |query| search(&set, query, 10, Some(&half)));
}

fn search(set: &VectorSet, query: &[f32], k: usize, allow: Option<&FileSet>) -> Vec<u64> {
    let query = QueryVector::new(query).expect("the query is good");
    set.nearest(&query, k, allow).expect("of as many dimensions").iter().map(|scored| scored.row).collect()
}

/// Prints the median time of a search and returns what each found.
fn time(what: &str, queries: &[Vec<f32>], search: impl Fn(&[f32]) -> Vec<u64>) -> Vec<Vec<u64>> {
    let mut times: Vec<Duration> = Vec::new();
    let found = queries.iter().map(|query| {
        let start = Instant::now();
        let found = black_box(search(query));
        times.push(start.elapsed());
        found
    });
    let found = found.collect();
    times.sort();
    println!("  {what:<22} {:>9.2?}  p90 {:>9.2?}", times[times.len() / 2], times[times.len() * 9 / 10]);
    found
}

fn recall(expected: &[Vec<u64>], found: &[Vec<u64>]) -> f64 {
    let shares = expected.iter().zip(found).map(|(expected, found)| {
        expected.iter().filter(|chunk| found.contains(chunk)).count() as f64 / expected.len() as f64
    });
    shares.sum::<f64>() / expected.len() as f64
}

fn resident() -> i64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<i64>().ok()).unwrap_or(0) * 4096
}

/// Where the vectors come from.
struct World {
    random: u64,
    turn: Vec<f32>,
    centres: Vec<f32>,
}

impl World {
    fn new() -> Self {
        let mut world = Self { random: 42, turn: Vec::new(), centres: Vec::new() };
        world.turn = (0..LATENT * DIMS).map(|_| world.normal()).collect();
        world.centres = (0..CLUSTERS * LATENT).map(|_| world.normal()).collect();
        world
    }

    fn uniform(&mut self) -> f32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// About normal: the sum of twelve, less their mean.
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.uniform()).sum::<f32>() - 6.0
    }

    /// A vector whose cosine with the given one is about 0.7, as that of a question with what answers it.
    fn near(&mut self, vector: &[f32]) -> Vec<f32> {
        vector.iter().map(|value| value + self.normal() / (DIMS as f32).sqrt()).collect()
    }

    fn vector(&mut self) -> Vec<f32> {
        let cluster = (self.uniform() * CLUSTERS as f32) as usize * LATENT;
        let latent: Vec<f32> = (0..LATENT).map(|at| self.centres[cluster + at] + 0.5 * self.normal()).collect();
        let mut vector: Vec<f32> = (0..DIMS)
            .map(|dim| {
                let turned: f32 = latent.iter().enumerate().map(|(at, value)| value * self.turn[at * DIMS + dim]).sum();
                turned + 0.5 * self.normal()
            })
            .collect();
        let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|value| *value /= norm);
        vector
    }
}
