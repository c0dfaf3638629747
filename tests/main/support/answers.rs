//! Everything an index answers, to hold two of them against each other.

use memory_vault::base::config::Mode;
use memory_vault::serve::app::App;
use memory_vault::serve::wire::{BrowseParams, SearchQuery};
use memory_vault::vault::notes;
use serde_json::{Value, json};

use super::{Connection, Daemon};

/// Answers to many questions: hits, order and scores; browse, stats and collections.
#[derive(Debug, PartialEq)]
pub struct Answers(Vec<(String, Value)>);

impl Answers {
    pub fn of(app: &App, queries: &[&str]) -> Self {
        let owner = &app.owner();
        Self::asked(queries, |question| match question {
            Question::Search(params) => json!(notes::search(owner, params).unwrap()),
            Question::Browse(params) => json!(notes::browse(owner, params).unwrap()),
            Question::Stats => json!(notes::stats(owner).unwrap()),
            Question::Collections => json!(notes::collections(owner).unwrap()),
            Question::Status => json!(app.status(owner).unwrap()),
        })
    }

    /// The same of a daemon, which must have come to rest.
    pub fn of_daemon(daemon: &Daemon, queries: &[&str]) -> Self {
        let mut connection = daemon.connection();
        Self::asked(queries, |question| {
            let api = |name: &str| format!("/api/user-memory/{name}");
            let target = match question {
                Question::Search(params) => api("search?") + &serde_urlencoded::to_string(params).unwrap(),
                Question::Browse(params) => api("browse?") + &serde_urlencoded::to_string(params).unwrap(),
                Question::Stats => api("stats"),
                Question::Collections => api("collections"),
                Question::Status => "/status".into(),
            };
            connection.get(&target)
        })
    }

    /// Adds what an agent finds.
    pub fn add_agent(&mut self, daemon: &Daemon, token: &str, queries: &[&str]) {
        let mut connection = Connection::open(daemon.address()).with_token(token);
        for params in queries.iter().flat_map(|query| variants(query)) {
            let query = serde_urlencoded::to_string(&params).unwrap();
            self.0.push((format!("agent: {query}"), connection.get(&format!("/api/user-memory/search?{query}"))));
        }
    }

    /// Without what names the vault's folder.
    pub fn without_place(mut self) -> Self {
        fn strip(value: &mut Value) {
            match value {
                Value::Object(fields) => {
                    fields.shift_remove("obsidian_url");
                    fields.values_mut().for_each(strip);
                }
                Value::Array(items) => items.iter_mut().for_each(strip),
                _ => {}
            }
        }
        self.0.iter_mut().for_each(|(_, answer)| strip(answer));
        self
    }

    fn asked(queries: &[&str], mut ask: impl FnMut(Question<'_>) -> Value) -> Self {
        let mut answers = Vec::new();
        // What there is comes before what is found: where the first differs, so does the second.
        for collection in [None, Some("notes")] {
            let params = BrowseParams {
                limit: Some(1000),
                collection: collection.map(str::to_owned),
                ..BrowseParams::default()
            };
            answers.push((format!("browse {collection:?}"), ask(Question::Browse(&params))));
        }
        answers.push(("stats".into(), ask(Question::Stats)));
        answers.push(("collections".into(), ask(Question::Collections)));
        // The rest of the status tells how the index came to be what it is.
        let status = ask(Question::Status);
        for name in ["files", "chunks", "embedded", "embeddable", "text_bytes", "problems", "failure"] {
            answers.push((name.into(), status[name].clone()));
        }
        for params in queries.iter().flat_map(|query| variants(query)) {
            let mut answer = ask(Question::Search(&params));
            answer["took_ms"].take();
            answers.push((serde_json::to_string(&params).unwrap(), answer));
        }
        Self(answers)
    }
}

/// What can be asked.
enum Question<'a> {
    Search(&'a SearchQuery),
    Browse(&'a BrowseParams),
    Stats,
    Collections,
    Status,
}

/// The same query by every mode, and narrowed in every way.
fn variants(query: &str) -> Vec<SearchQuery> {
    let plain = |mode| SearchQuery { q: query.into(), mode: Some(mode), ..SearchQuery::default() };
    let text = |text: &str| Some(text.to_owned());
    let mut variants = Vec::new();
    for mode in [Mode::Keyword, Mode::Semantic, Mode::Hybrid] {
        variants.push(plain(mode));
        variants.push(SearchQuery { limit: Some(3), ..plain(mode) });
        variants.push(SearchQuery { collection: text("notes"), limit: Some(100), ..plain(mode) });
        variants.push(SearchQuery { path: text("journal/"), ..plain(mode) });
        variants.push(SearchQuery { tag: text("work"), ..plain(mode) });
        variants.push(SearchQuery { context: Some(1), ..plain(mode) });
        variants.push(SearchQuery { since: text("2025-06-01T00:00:00Z"), ..plain(mode) });
        variants.push(SearchQuery { until: text("2025-06-01T00:00:00Z"), ..plain(mode) });
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
