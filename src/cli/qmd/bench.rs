//! `qmd bench`: how well searches find what they should, by a fixture of questions with their files.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::find::QmdSearch;
use super::index::QmdIndex;
use crate::cli::outcome::Outcome;
use crate::cli::terminal::{say, stdout};
use crate::config::Mode;

/// Maximum length of a fixture.
const MAX_BYTES: u64 = 16 << 20;

/// Documents of each search.
const HITS: usize = 10;

/// The ways of searching, under QMD's names.
const BACKENDS: [(&str, Mode); 4] =
    [("bm25", Mode::Keyword), ("vector", Mode::Semantic), ("hybrid", Mode::Hybrid), ("full", Mode::Deep)];

/// What is measured, and how to print it.
#[derive(Debug, Args)]
pub(super) struct QmdBenchArgs {
    /// A JSON file: `{"queries": [{"id", "query", "expected_files": ["a.md"], "expected_in_top_k": 3}]}`.
    fixture: PathBuf,
    /// Only this collection; may be given several times.
    #[arg(short, long, value_name = "NAME")]
    collection: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Questions with what answers them; what else is said of them is passed over.
#[derive(Debug, Deserialize)]
struct BenchFixture {
    collection: Option<String>,
    queries: Vec<BenchQuery>,
}

#[derive(Debug, Deserialize)]
struct BenchQuery {
    #[serde(default)]
    id: String,
    query: String,
    #[serde(default, rename = "type")]
    kind: String,
    expected_files: Vec<String>,
    expected_in_top_k: Option<usize>,
}

/// How one search did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct BenchMeasures {
    precision_at_k: f64,
    recall: f64,
    mrr: f64,
    f1: f64,
    hits_at_k: usize,
    total_expected: usize,
    latency_ms: f64,
    top_files: Vec<String>,
}

impl QmdBenchArgs {
    pub(super) fn run(self, index: &mut QmdIndex) -> anyhow::Result<Outcome> {
        let mut text = String::new();
        let file = File::open(&self.fixture).with_context(|| format!("cannot open {}", self.fixture.display()))?;
        file.take(MAX_BYTES).read_to_string(&mut text).context("cannot read the fixture")?;
        let fixture: BenchFixture = serde_json::from_str(&text).context("the fixture is not as it should be")?;
        if fixture.queries.is_empty() {
            bail!("{} has no queries", self.fixture.display());
        }
        let named = fixture.collection.into_iter().collect();
        let collections = if self.collection.is_empty() { named } else { self.collection };
        let mut results = Vec::new();
        let mut all: Vec<Vec<BenchMeasures>> = vec![Vec::new(); BACKENDS.len()];
        for query in &fixture.queries {
            let mut backends = Map::new();
            for ((name, mode), all) in BACKENDS.iter().zip(&mut all) {
                let measured = measure(index, query, *mode, &collections)?;
                backends.insert((*name).to_owned(), serde_json::to_value(&measured)?);
                all.push(measured);
            }
            results.push(json!({ "id": query.id, "query": query.query, "type": query.kind, "backends": backends }));
        }
        let mean = |all: &[BenchMeasures], of: fn(&BenchMeasures) -> f64| {
            all.iter().map(of).sum::<f64>() / all.len().max(1) as f64
        };
        let means = |all: &[BenchMeasures]| {
            let of: [fn(&BenchMeasures) -> f64; 5] =
                [|one| one.precision_at_k, |one| one.recall, |one| one.mrr, |one| one.f1, |one| one.latency_ms];
            of.map(|of| mean(all, of))
        };
        if self.json {
            let summary: Map<String, Value> = BACKENDS.iter().zip(&all).map(|((name, _), all)| {
                let [precision, recall, mrr, f1, latency] = means(all);
                let means = json!({
                    "avg_precision": precision, "avg_recall": recall, "avg_mrr": mrr, "avg_f1": f1, "avg_latency_ms": latency,
                });
                ((*name).to_owned(), means)
            }).collect();
            stdout().json(&json!({ "fixture": self.fixture, "results": results, "summary": summary }))?;
            return Ok(Outcome::Done);
        }
        say!(
            "{} queries\n\n{:<8} {:>6} {:>6} {:>6} {:>6} {:>8}",
            results.len(),
            "",
            "P@k",
            "recall",
            "MRR",
            "F1",
            "ms"
        )?;
        for ((name, _), all) in BACKENDS.iter().zip(&all) {
            let [precision, recall, mrr, f1, latency] = means(all);
            say!("{name:<8} {precision:>6.3} {recall:>6.3} {mrr:>6.3} {f1:>6.3} {latency:>8.1}")?;
        }
        Ok(Outcome::Done)
    }
}

fn measure(
    index: &mut QmdIndex,
    query: &BenchQuery,
    mode: Mode,
    collections: &[String],
) -> anyhow::Result<BenchMeasures> {
    let search = QmdSearch {
        query: query.query.clone(),
        mode,
        collections: collections.to_vec(),
        limit: HITS,
        min_score: 0.0,
        full: false,
        explain: false,
    };
    let begun = Instant::now();
    let hits = search.run(index)?;
    let latency_ms = begun.elapsed().as_secs_f64() * 1000.0;
    let top_files: Vec<String> = hits.iter().map(|hit| hit.document.address()).collect();
    Ok(BenchMeasures { latency_ms, ..judged(top_files, &query.expected_files, query.expected_in_top_k) })
}

/// How good an answer is. Of the first `k` as many are expected as there is room for.
fn judged(top_files: Vec<String>, expected: &[String], k: Option<usize>) -> BenchMeasures {
    let k = k.unwrap_or(expected.len()).max(1);
    let within = |first: usize| {
        let found = |expected: &&String| top_files.iter().take(first).any(|file| is_same(file, expected));
        expected.iter().filter(found).count()
    };
    let share = |part: usize, of: usize| if of == 0 { 0.0 } else { part as f64 / of as f64 };
    let (precision, recall) = (share(within(k), k.min(expected.len())), share(within(usize::MAX), expected.len()));
    let first = top_files.iter().position(|file| expected.iter().any(|expected| is_same(file, expected)));
    BenchMeasures {
        precision_at_k: precision,
        recall,
        mrr: first.map_or(0.0, |at| 1.0 / (at + 1) as f64),
        f1: if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 },
        hits_at_k: within(k),
        total_expected: expected.len(),
        latency_ms: 0.0,
        top_files,
    }
}

/// Whether a path names a file that was found: all of its path, or the end of that from a folder on, in any case.
fn is_same(address: &str, expected: &str) -> bool {
    let path = |path: &str| path.strip_prefix("qmd://").unwrap_or(path).trim_matches('/').to_lowercase();
    let (found, expected) = (path(address), path(expected));
    !expected.is_empty()
        && found.strip_suffix(&expected).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_judged_by_its_files() {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let found = texts(&["qmd://n/x.md", "qmd://n/a/One.md", "qmd://n/two.md"]);
        let judged = judged(found, &texts(&["a/one.md", "n/two.md", "three.md", "wo.md"]), Some(2));
        assert_eq!((judged.hits_at_k, judged.total_expected), (1, 4));
        assert_eq!((judged.precision_at_k, judged.recall, judged.mrr), (0.5, 0.5, 0.5));
        assert_eq!(judged.f1, 0.5);
        let none = super::judged(Vec::new(), &[], None);
        assert_eq!((none.precision_at_k, none.recall, none.mrr, none.f1), (0.0, 0.0, 0.0, 0.0));
    }
}
