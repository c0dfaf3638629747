//! What a daemon answers, held against what it answers once everything was built from nothing: searches, pages, entries, the graph, contexts,
//! digests, summaries and the profile.

use serde_json::{Value, json};

use super::{Daemon, encode, until};

/// Maximum number of notes around which the graph is looked at.
const MOST_LOOKED_AROUND: usize = 20;

/// What is asked by address.
fn targets(daemon: &Daemon, queries: &[&str]) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    for query in queries {
        let query = encode(query);
        targets.push(format!("/api/user-memory/search?mode=keyword&limit=1000&q={query}"));
        targets.push(format!("/api/user-memory/search?limit=7&q={query}"));
        for layer in ["entries", "conversations", "summaries", "graph", "notes"] {
            targets.push(format!("/api/user-memory/search?mode=keyword&limit=100&layer={layer}&q={query}"));
        }
        targets.push(format!("/api/graph?name={query}"));
    }
    let total = daemon.get("/api/user-memory/stats").json()["total"].as_u64().unwrap();
    for offset in (0..=total).step_by(1000) {
        targets.push(format!("/api/user-memory/browse?limit=1000&offset={offset}"));
    }
    let first = daemon.get("/api/user-memory/browse?limit=200").json();
    let mut paths: Vec<&str> =
        first["chunks"].as_array().unwrap().iter().map(|chunk| chunk["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    paths.dedup();
    for path in paths.into_iter().take(MOST_LOOKED_AROUND) {
        targets.push(format!("/api/graph?depth=3&name={}", encode(path)));
        targets.push(format!("/api/user-memory/links?path={}", encode(path)));
    }
    for status in ["active", "superseded", "pending", "rejected", "archived"] {
        targets.push(format!("/api/entries?limit=1000&status={status}"));
    }
    let more = [
        "/api/user-memory/stats", "/api/user-memory/collections", "/api/graph?type=person", "/api/review",
        "/api/summaries?all=true", "/api/digest", "/api/digest?week=now", "/api/profile",
    ];
    targets.extend(more.map(str::to_owned));
    targets
}

/// Every answer, without what times and sizes of the moment say.
fn answers(daemon: &Daemon, queries: &[&str], round: usize) -> Vec<(String, Value)> {
    let ask = |target: String| {
        let mut answer = daemon.get(&target).json();
        answer["took_ms"].take();
        (target, answer)
    };
    let mut answers: Vec<(String, Value)> = targets(daemon, queries).into_iter().map(ask).collect();
    // A session of its own each time: what was given before is not given again because it was kept.
    let session = format!("2020-01-0{round}");
    let full = [json!({ "mode": "full" })];
    let asked = queries
        .iter()
        .flat_map(|query| [json!({ "query": query }), json!({ "query": query, "mode": "full", "budget": 5000 })]);
    for mut body in asked.chain(full) {
        let name = format!("/api/context {body}");
        body["session_start"] = session.as_str().into();
        let reply = daemon.post("/api/context", &body);
        assert_eq!(reply.status, 200, "{body}: {}", reply.error());
        answers.push((name, reply.json()));
    }
    let status = daemon.status();
    answers.push(("problems".into(), status["problems"].clone()));
    answers.push(("files".into(), status["files"].clone()));
    answers
}

/// Fails when the daemon answers otherwise than after a full reindex.
#[track_caller]
pub fn assert_as_rebuilt(daemon: &Daemon, queries: &[&str]) {
    until("nothing to be pending", || {
        let status = daemon.status();
        let none = |key: &str| status[key] == 0;
        status["caught_up"] == true && none("pending_files") && none("pending_embeddings")
    });
    let found = answers(daemon, queries, 1);
    daemon.run(&["reindex", "--full"]).ok();
    for ((target, found), (_, expected)) in found.into_iter().zip(answers(daemon, queries, 2)) {
        assert_eq!(found, expected, "{target}: as it was (left) and after a full reindex (right)");
    }
}
