//! What a daemon answers, held against what it answers once everything was built from nothing.

use serde_json::Value;

use super::{Daemon, encode, eventually};

/// Every answer, without what times and sizes of the moment say.
fn answers(daemon: &Daemon, queries: &[&str]) -> Vec<(String, Value)> {
    let mut targets: Vec<String> = Vec::new();
    for query in queries {
        targets.push(format!("/api/user-memory/search?mode=keyword&limit=1000&q={}", encode(query)));
        targets.push(format!("/api/user-memory/search?limit=7&q={}", encode(query)));
    }
    let total = daemon.get("/api/user-memory/stats").json()["total"].as_u64().unwrap();
    for offset in (0..=total).step_by(1000) {
        targets.push(format!("/api/user-memory/browse?limit=1000&offset={offset}"));
    }
    targets.push("/api/user-memory/stats".into());
    targets.push("/api/user-memory/collections".into());
    let ask = |target: String| {
        let mut answer = daemon.get(&target).json();
        answer["took_ms"].take();
        (target, answer)
    };
    let mut answers: Vec<(String, Value)> = targets.into_iter().map(ask).collect();
    let status = daemon.status();
    answers.push(("problems".into(), status["problems"].clone()));
    answers.push(("files".into(), status["files"].clone()));
    answers
}

/// Fails when the daemon answers otherwise than after a full reindex.
#[track_caller]
pub fn assert_as_rebuilt(daemon: &Daemon, queries: &[&str]) {
    eventually("nothing to be pending", || {
        let status = daemon.status();
        let none = |key: &str| status[key] == 0;
        (status["caught_up"] == true && none("pending_files") && none("pending_embeddings")).then_some(())
    });
    let found = answers(daemon, queries);
    daemon.run(&["reindex", "--full"]).ok();
    for ((target, found), (_, expected)) in found.into_iter().zip(answers(daemon, queries)) {
        assert_eq!(found, expected, "{target}: as it was (left) and after a full reindex (right)");
    }
}
