//! Everything an index answers, to hold two of them against each other.

use memory_vault::access::Principal;
use memory_vault::config::Mode;
use memory_vault::service::{BrowseParams, SearchParams, Service};
use serde_json::{Value, json};

/// Answers to many questions: hits, order and scores; browse, stats and collections.
#[derive(Debug, PartialEq)]
pub struct Answers(Vec<(String, Value)>);

impl Answers {
    pub fn of(service: &Service, queries: &[&str]) -> Self {
        let owner = &Principal::Owner;
        let mut answers = Vec::new();
        for params in queries.iter().flat_map(|query| variants(query)) {
            let mut answer = service.search(owner, &params).unwrap();
            answer.took_ms = 0.0;
            answers.push((serde_json::to_string(&params).unwrap(), json!(answer)));
        }
        for collection in [None, Some("notes")] {
            let params = BrowseParams {
                limit: Some(1000),
                collection: collection.map(str::to_owned),
                ..BrowseParams::default()
            };
            answers.push((format!("browse {collection:?}"), json!(service.browse(owner, &params).unwrap())));
        }
        answers.push(("stats".into(), json!(service.stats(owner).unwrap())));
        answers.push(("collections".into(), json!(service.collections(owner).unwrap())));
        answers.push(("problems".into(), json!(service.status().unwrap().problems)));
        Self(answers)
    }
}

/// The same query by every mode, and narrowed in every way.
fn variants(query: &str) -> Vec<SearchParams> {
    let plain = |mode| SearchParams { q: query.into(), mode: Some(mode), ..SearchParams::default() };
    let text = |text: &str| Some(text.to_owned());
    let mut variants = Vec::new();
    for mode in [Mode::Keyword, Mode::Semantic, Mode::Hybrid] {
        variants.push(plain(mode));
        variants.push(SearchParams { limit: Some(3), ..plain(mode) });
        variants.push(SearchParams { collection: text("notes"), limit: Some(100), ..plain(mode) });
        variants.push(SearchParams { path: text("journal/"), ..plain(mode) });
        variants.push(SearchParams { tag: text("work"), ..plain(mode) });
        variants.push(SearchParams { since: text("2025-06-01T00:00:00Z"), ..plain(mode) });
        variants.push(SearchParams { until: text("2025-06-01T00:00:00Z"), ..plain(mode) });
    }
    variants
}

/// Fails with the first answer that differs.
#[track_caller]
pub fn assert_same(found: &Answers, expected: &Answers) {
    if let Some(message) = difference(found, expected) {
        panic!("{message}");
    }
}

/// The first answer that differs, if any does.
pub fn difference(found: &Answers, expected: &Answers) -> Option<String> {
    let (one, other) = found.0.iter().zip(&expected.0).find(|(one, other)| one != other)?;
    let (left, right) = (serde_json::to_string_pretty(&one.1), serde_json::to_string_pretty(&other.1));
    let (left, right) = (left.unwrap(), right.unwrap());
    let lines = left.lines().zip(right.lines()).enumerate().find(|(_, (left, right))| left != right);
    Some(format!("{} differs, first here: {lines:?}\nfound {left}\nexpected {right}", one.0))
}
