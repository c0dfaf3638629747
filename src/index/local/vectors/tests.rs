//! What holds for a set as a whole: against brute force, against a model, and for the graph against the scan.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use half::f16;
use proptest::prelude::*;

use super::set::VectorSegment;
use super::*;
use crate::base::chance::proptest_config;
use crate::index::engine::{EngineError, FileSet, QueryVector};

/// A threshold that no test reaches.
const NEVER: usize = usize::MAX;

/// A row of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ScoredRow {
    chunk: u64,
    score: f32,
}

impl VectorSet {
    fn search(&self, query: &[f32], k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredRow>, EngineError> {
        let found = self.nearest(&QueryVector::new(query).unwrap(), k, allow)?.into_iter();
        Ok(found.map(|found| ScoredRow { chunk: found.row, score: found.score as f32 }).collect())
    }

    fn score(&self, query: &[f32], chunks: &[u64]) -> Result<Vec<Option<f32>>, EngineError> {
        let scores = self.cosines(&QueryVector::new(query).unwrap(), chunks)?.into_iter();
        Ok(scores.map(|score| score.map(|score| score as f32)).collect())
    }
}

/// Random numbers that are the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }

    /// About normal, -6 to 6.
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.below(1 << 20) as f32 / (1 << 20) as f32).sum::<f32>() - 6.0
    }

    fn direction(&mut self, dims: usize) -> Vec<f32> {
        unit((0..dims).map(|_| self.normal()).collect())
    }

    /// A point near one of `centres`.
    fn near(&mut self, centres: &[Vec<f32>]) -> Vec<f32> {
        let centre = centres[self.below(centres.len() as u64) as usize].clone();
        let noise = 0.8 / (centre.len() as f32).sqrt();
        unit(centre.into_iter().map(|value| value + noise * self.normal()).collect())
    }
}

/// The vector at length 1, in numbers that f16 has too, so that brute force sees what the set does.
fn unit(vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.into_iter().map(|value| f16::from_f32(value / norm).to_f32()).collect()
}

fn row(chunk: u64, vector: &[f32]) -> Row {
    Row { chunk, file: (chunk / 10) as u32, vector: vector.iter().map(|&value| f16::from_f32(value)).collect() }
}

fn set_of(vectors: &[Vec<f32>], threshold: usize) -> VectorSet {
    let rows = vectors.iter().enumerate().map(|(chunk, vector)| row(chunk as u64, vector));
    VectorSet::new(vectors[0].len(), threshold).apply(&[], rows).unwrap()
}

fn chunks(found: &[ScoredRow]) -> Vec<u64> {
    found.iter().map(|scored| scored.chunk).collect()
}

fn brute_force(vectors: &[Vec<f32>], query: &[f32], k: usize, allowed: impl Fn(u64) -> bool) -> Vec<u64> {
    let score = |vector: &Vec<f32>| -> f32 { vector.iter().zip(query).map(|(a, b)| a * b).sum() };
    let mut scored: Vec<(f32, u64)> = vectors
        .iter()
        .enumerate()
        .map(|(chunk, vector)| (score(vector), chunk as u64))
        .filter(|&(_, chunk)| allowed(chunk))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.iter().take(k).map(|&(_, chunk)| chunk).collect()
}

fn uses_graph(set: &VectorSet, query: &[f32], wanted: usize, allow: Option<&FileSet>) -> bool {
    set.search_graph(&set.coded(&QueryVector::new(query).unwrap()).unwrap(), wanted, allow).is_some()
}

fn recall(expected: &[u64], found: &[u64]) -> f64 {
    expected.iter().filter(|chunk| found.contains(chunk)).count() as f64 / expected.len() as f64
}

fn clustered(random: &mut Random, dims: usize, rows: usize) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let centres: Vec<_> = (0..50).map(|_| random.direction(dims)).collect();
    (centres.clone(), (0..rows).map(|_| random.near(&centres)).collect())
}

#[test]
fn the_scan_finds_what_brute_force_finds() {
    let mut random = Random(1);
    let (centres, vectors) = clustered(&mut random, 96, 3000);
    let set = set_of(&vectors, NEVER);
    for _ in 0..50 {
        let query = random.near(&centres);
        let found = set.search(&query, 10, None).unwrap();
        assert_eq!(chunks(&found), brute_force(&vectors, &query, 10, |_| true));
        assert!(found.is_sorted_by(|a, b| a.score >= b.score));
    }
}

#[test]
fn a_filter_applies_before_the_cut() {
    let mut random = Random(2);
    let (centres, vectors) = clustered(&mut random, 64, 3000);
    let set = set_of(&vectors, NEVER);
    for files in [vec![], vec![7], (0..300).step_by(3).collect(), (0..300).collect::<Vec<u32>>()] {
        let allow: FileSet = files.into_iter().collect();
        let query = random.near(&centres);
        let expected = brute_force(&vectors, &query, 20, |chunk| allow.contains((chunk / 10) as u32));
        assert_eq!(chunks(&set.search(&query, 20, Some(&allow)).unwrap()), expected);
    }
}

#[test]
fn odd_sizes_get_plain_answers() {
    let empty = VectorSet::new(4, NEVER);
    let query = [1.0, 0.0, 0.0, 0.0];
    assert_eq!(empty.search(&query, 5, None).unwrap(), []);
    assert_eq!(empty.score(&query, &[1]).unwrap(), [None]);
    assert!(empty.is_empty() && !empty.wants_graph() && empty.build_graph(&AtomicBool::new(false)).is_none());

    let set = empty.apply(&[9], [row(3, &[0.0, 1.0, 0.0, 0.0]), row(2, &[1.0, 0.0, 0.0, 0.0])]).unwrap();
    assert_eq!(set.search(&query, 0, None).unwrap(), []);
    assert_eq!(chunks(&set.search(&query, usize::MAX, None).unwrap()), [2, 3]);
    assert_eq!(set.search(&[8.0, 0.0, 0.0, 0.0], 1, None).unwrap(), [ScoredRow { chunk: 2, score: 1.0 }]);
    assert_eq!(set.score(&query, &[3, 4, 2]).unwrap(), [Some(0.0), None, Some(1.0)]);
    assert!(set.contains(2) && !set.contains(9));
}

#[test]
fn vectors_that_cannot_be_compared_are_errors() {
    let set = VectorSet::new(2, NEVER).apply(&[], [row(1, &[1.0, 0.0])]).unwrap();
    let error = set.search(&[1.0], 5, None).unwrap_err();
    assert!(error.to_string().starts_with("the query has 1 dimensions and the index has 2"), "{error}");
    assert!(QueryVector::new(&[f32::NAN, 1.0]).unwrap_err().to_string().contains("not a finite number"));
    assert!(QueryVector::new(&[0.0, -0.0]).unwrap_err().to_string().contains("length zero"));
    let error = set.apply(&[1], [row(17, &[1.0, 0.0, 0.0])]).unwrap_err();
    assert!(error.to_string().starts_with("chunk 17 has 3 dimensions and the index has 2"), "{error}");
    let error = set.apply(&[1], [row(17, &[f32::INFINITY, 0.0])]).unwrap_err();
    assert!(error.to_string().contains("chunk 17 is not finite"), "{error}");
    assert!(set.contains(1));
}

#[test]
fn a_vector_of_zeros_scores_zero() {
    let set = VectorSet::new(2, NEVER).apply(&[], [row(1, &[0.0, 0.0]), row(2, &[-1.0, 0.0])]).unwrap();
    let found = set.search(&[1.0, 0.0], 5, None).unwrap();
    assert_eq!(found, [ScoredRow { chunk: 1, score: 0.0 }, ScoredRow { chunk: 2, score: -1.0 }]);
    assert_eq!(set.with_graph(Arc::new(set.build_graph(&AtomicBool::new(false)).unwrap())).len(), 2);
}

#[test]
fn ties_with_the_last_result_are_all_returned() {
    let mut random = Random(3);
    let same = random.direction(32);
    let mut vectors: Vec<_> = (0..5000).map(|_| random.direction(32)).collect();
    (0..5000).step_by(2).for_each(|at| vectors[at] = same.clone());
    let set = set_of(&vectors, NEVER);
    let found = set.search(&same, 10, None).unwrap();
    assert_eq!(chunks(&found), (0..5000).step_by(2).collect::<Vec<u64>>());
    assert!(found.iter().all(|scored| scored.score == found[0].score));
    assert_eq!(set.search(&same, 2501, None).unwrap().len(), 2501);
    // Nowhere near the best: the ties are cut from the candidates as a whole too.
    let away: Vec<f32> = same.iter().map(|value| -value).collect();
    assert_eq!(set.search(&away, 10, None).unwrap().len(), 10);
}

#[test]
fn old_versions_go_on_answering() {
    let mut random = Random(4);
    let (_, vectors) = clustered(&mut random, 16, 100);
    let old = set_of(&vectors, NEVER);
    let before = old.search(&vectors[5], 10, None).unwrap();
    let new = old.apply(&[5], [row(100, &vectors[6])]).unwrap();
    assert_eq!(old.search(&vectors[5], 10, None).unwrap(), before);
    assert!(old.contains(5) && !old.contains(100) && !new.contains(5) && new.contains(100));
}

#[test]
fn deleted_rows_do_not_pile_up() {
    let mut random = Random(5);
    let mut set = VectorSet::new(8, NEVER);
    for chunk in 0..3000_u64 {
        let removed: Vec<u64> = chunk.checked_sub(200).into_iter().collect();
        set = set.apply(&removed, [row(chunk, &random.direction(8))]).unwrap();
        let dead: usize = set.segments.iter().map(VectorSegment::dead).sum();
        assert!(dead <= set.len() / 2 + 1, "{dead} dead beside {} live", set.len());
        assert!(set.segments.len() <= 9, "{} segments", set.segments.len());
    }
    assert_eq!(set.len(), 200);
}

#[test]
fn a_large_set_that_grows_is_not_copied_as_a_whole() {
    let mut random = Random(6);
    let vectors: Vec<_> = (0..1000).map(|_| random.direction(4)).collect();
    let mut set = VectorSet::new(4, NEVER);
    for start in (0..200_000).step_by(1000) {
        set = set.apply(&[], vectors.iter().zip(start..).map(|(vector, chunk)| row(chunk, vector))).unwrap();
    }
    let largest = set.segments.iter().map(VectorSegment::live).max().unwrap();
    assert!(largest <= set::MAX_SEGMENT_ROWS, "{largest} rows would be copied at once");
    assert!(set.segments.len() <= 24, "{} segments", set.segments.len());
    assert_eq!(
        set.search(&vectors[7], 1, None).unwrap()[0].score,
        set.search(&vectors[7], 200, None).unwrap()[199].score
    );
}

#[derive(Clone, Debug)]
struct Change {
    removed: Vec<u64>,
    added: Vec<(u64, u8)>,
}

fn change() -> impl Strategy<Value = Change> {
    (prop::collection::vec(0..40_u64, 0..8), prop::collection::vec((0..40_u64, 0..12_u8), 0..12))
        .prop_map(|(removed, added)| Change { removed, added })
}

/// One of a few vectors, so that many are equal.
fn nth_vector(n: u8) -> Vec<f32> {
    Random(u64::from(n) + 77).direction(8)
}

proptest! {
    #![proptest_config(proptest_config(256))]

    /// Whatever the history, the answers are those of a set built at once from what is left, under other chunk ids too.
    #[test]
    fn history_leaves_no_trace(changes in prop::collection::vec(change(), 1..25), k in 1..20_usize, query in 0..30_u8) {
        let mut model: BTreeMap<u64, u8> = BTreeMap::new();
        let mut set = VectorSet::new(8, NEVER);
        let query = nth_vector(query);
        for Change { removed, added } in changes {
            set = set.apply(&removed, added.iter().map(|&(chunk, n)| row(chunk, &nth_vector(n)))).unwrap();
            removed.iter().for_each(|chunk| { model.remove(chunk); });
            model.extend(added);
            prop_assert_eq!(set.len(), model.len());
        }
        let built = |id: &dyn Fn(u64) -> u64| {
            let rows = model.iter().map(|(&chunk, &n)| Row { chunk: id(chunk), ..row(chunk, &nth_vector(n)) });
            VectorSet::new(8, NEVER).apply(&[], rows).unwrap()
        };
        let found = set.search(&query, k, None).unwrap();
        prop_assert_eq!(&found, &built(&|chunk| chunk).search(&query, k, None).unwrap());
        let allow: FileSet = [0, 2].into_iter().collect();
        prop_assert_eq!(
            set.search(&query, k, Some(&allow)).unwrap(),
            built(&|chunk| chunk).search(&query, k, Some(&allow)).unwrap()
        );
        let mut renamed = built(&|chunk| 1000 - chunk).search(&query, k, None).unwrap();
        renamed.iter_mut().for_each(|scored| scored.chunk = 1000 - scored.chunk);
        renamed.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        prop_assert_eq!(&found, &renamed);
        let ids: Vec<u64> = (0..40).collect();
        let scores = set.score(&query, &ids).unwrap();
        for (chunk, score) in ids.iter().zip(&scores) {
            prop_assert_eq!(score.is_some(), model.contains_key(chunk));
            prop_assert_eq!(set.contains(*chunk), model.contains_key(chunk));
        }
        for scored in &found {
            prop_assert_eq!(scores[scored.chunk as usize], Some(scored.score));
        }
    }
}

/// A set with a graph over its first rows, the vectors of all rows that were ever in it, and where to draw queries from.
fn graphed(seed: u64, rows: usize) -> (VectorSet, Vec<Vec<f32>>, Vec<Vec<f32>>, Random) {
    let mut random = Random(seed);
    let (centres, vectors) = clustered(&mut random, 64, rows);
    let set = set_of(&vectors, 100);
    assert!(set.wants_graph());
    let graph = set.build_graph(&AtomicBool::new(false)).unwrap();
    let set = set.with_graph(Arc::new(graph));
    assert!(!set.wants_graph());
    (set, vectors, centres, random)
}

#[test]
fn the_graph_finds_what_the_scan_finds() {
    let (set, vectors, centres, mut random) = graphed(6, 7000);
    let exact = VectorSet { graph: None, ..set.clone() };
    let mut total = 0.0;
    for _ in 0..100 {
        let query = random.near(&centres);
        assert!(uses_graph(&set, &query, 50, None));
        assert!(!uses_graph(&exact, &query, 50, None));
        total +=
            recall(&chunks(&exact.search(&query, 10, None).unwrap()), &chunks(&set.search(&query, 10, None).unwrap()));
    }
    assert!(total / 100.0 >= 0.995, "recall {}", total / 100.0);
    let itself = set.search(&vectors[42], 1, None).unwrap();
    assert_eq!(chunks(&itself), [42]);
}

#[test]
fn the_graph_keeps_up_with_changes() {
    let (set, mut vectors, centres, mut random) = graphed(7, 10_000);
    let removed: Vec<u64> = (0..10_000).step_by(5).collect();
    let added: Vec<Vec<f32>> = (0..500).map(|_| random.near(&centres)).collect();
    let rows = added.iter().enumerate().map(|(at, vector)| row(10_000 + at as u64, vector));
    let set = set.apply(&removed, rows).unwrap();
    // A changed vector under an old chunk id: what the graph knows of it no longer counts.
    let changed = random.near(&centres);
    let set = set.apply(&[], [row(1, &changed)]).unwrap();
    vectors.extend(added);
    vectors[1] = changed;
    let present = |chunk: u64| chunk >= 10_000 || !chunk.is_multiple_of(5);
    let mut total = 0.0;
    for at in 0..50 {
        let query = random.near(&centres);
        let allow: Option<FileSet> = (at % 2 == 0).then(|| (0..1050).filter(|file| file % 20 != 0).collect());
        assert!(uses_graph(&set, &query, 50, allow.as_ref()));
        let found = chunks(&set.search(&query, 10, allow.as_ref()).unwrap());
        let allowed = |chunk| present(chunk) && allow.as_ref().is_none_or(|allow| allow.contains((chunk / 10) as u32));
        assert!(found.iter().all(|&chunk| allowed(chunk)));
        total += recall(&brute_force(&vectors, &query, 10, allowed), &found);
    }
    assert!(total / 50.0 >= 0.99, "recall {}", total / 50.0);
    assert_eq!(chunks(&set.search(&vectors[1], 1, None).unwrap()), [1]);
    assert_eq!(chunks(&set.search(&vectors[10_321], 1, None).unwrap()), [10_321]);
}

#[test]
fn the_scan_answers_where_the_graph_would_not_serve() {
    let (set, vectors, _, _) = graphed(8, 7000);
    let query = &vectors[0];
    let narrow: FileSet = (0..40).collect();
    assert!(uses_graph(&set, query, 50, None));
    assert!(!uses_graph(&set, query, 50, Some(&narrow)));
    assert!(!uses_graph(&set, query, 4000, None));
    let churned = set.apply(&(0..2200).collect::<Vec<_>>(), []).unwrap();
    assert!(!uses_graph(&churned, query, 50, None) && churned.wants_graph());
    let few = set.apply(&(0..6950).collect::<Vec<_>>(), []).unwrap();
    assert!(!uses_graph(&few, query, 50, None) && !few.wants_graph());
    let grown = set.apply(&[], (0..2000).map(|at| row(10_000 + at, &vectors[at as usize]))).unwrap();
    assert!(grown.wants_graph());
}

/// What a graph finds near the query is useless when the filter allows only what is far from it.
#[test]
fn a_filter_that_excludes_everything_near_is_answered_by_the_scan() {
    let mut random = Random(15);
    let query = random.direction(6);
    let vectors: Vec<_> = (0..13_500).map(|_| random.direction(6)).collect();
    let near = |vector: &[f32]| vector.iter().zip(&query).map(|(a, b)| a * b).sum::<f32>() > 0.0;
    let rows =
        vectors.iter().enumerate().map(|(at, vector)| Row { file: near(vector).into(), ..row(at as u64, vector) });
    let set = VectorSet::new(6, 100).apply(&[], rows).unwrap();
    let set = set.with_graph(Arc::new(set.build_graph(&AtomicBool::new(false)).unwrap()));
    let (far_files, near_files): (FileSet, FileSet) = ([0].into_iter().collect(), [1].into_iter().collect());
    assert!(uses_graph(&set, &query, 20, Some(&near_files)));
    assert!(!uses_graph(&set, &query, 20, Some(&far_files)));
}

/// hnsw_rs alone loses them: a thousand equal points fill each other's lists and nothing leads in or out.
#[test]
fn the_graph_reaches_the_rows_among_copies_and_near_copies() {
    let mut random = Random(9);
    let (_, mut vectors) = clustered(&mut random, 32, 3000);
    for at in 0..1000 {
        vectors[at] = vectors[0].clone();
    }
    for at in 1000..1500 {
        let noise = random.direction(32);
        vectors[at] = unit(vectors[1000].iter().zip(noise).map(|(value, noise)| value + 0.1 * noise).collect());
    }
    let set = set_of(&vectors, 100);
    let graph = Arc::new(set.build_graph(&AtomicBool::new(false)).unwrap());
    assert_eq!(graph.rows(), 3000);
    let set = set.with_graph(graph);
    let found = set.search(&vectors[0], 10, None).unwrap();
    assert_eq!(chunks(&found), (0..1000).collect::<Vec<_>>());
    let exact = VectorSet { graph: None, ..set.clone() };
    let nearest = |set: &VectorSet, query| set.search(query, 1, None).unwrap();
    let lost = vectors.iter().filter(|vector| nearest(&set, vector) != nearest(&exact, vector));
    assert!(lost.count() <= 3, "of 3000 rows");
}

#[test]
fn building_a_graph_stops_when_asked_and_is_repeatable() {
    let mut random = Random(10);
    let set = set_of(&clustered(&mut random, 16, 500).1, 100);
    assert!(set.build_graph(&AtomicBool::new(true)).is_none());
    let build = || set.build_graph(&AtomicBool::new(false)).unwrap();
    assert_eq!(build(), build());
}
