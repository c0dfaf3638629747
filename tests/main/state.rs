//! What earlier versions kept in files is taken over, whenever the daemon is killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{Daemon, Request, contents, eventually};

/// The points that a first start passes, and which passings of them.
const CASES: [(&str, usize); 5] = [
    ("state-made", 1),
    ("state-taken-over", 1),
    ("state-taken-over", 2),
    ("state-taken-over", 3),
    ("events-taken-over", 1),
];

pub fn points() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(point, _)| *point)
}

fn hash(token: &str) -> String {
    blake3::hash(token.as_bytes()).to_hex().to_string()
}

/// A request's events as they were kept.
fn record(first: u64, events: &Value) -> Vec<u8> {
    let payload = events.to_string();
    let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
    bytes.extend((events.as_array().unwrap().len() as u32).to_le_bytes());
    bytes.extend(first.to_le_bytes());
    let checksum = blake3::Hasher::new().update(&bytes).update(payload.as_bytes()).finalize();
    [&bytes, checksum.as_bytes().as_slice(), payload.as_bytes()].concat()
}

fn turn(said: &str, key: u64) -> Value {
    json!({"at_ms": 1_767_614_400_000_i64, "key": key, "event": {
        "type": "message", "session": "s", "role": "user", "text": said}})
}

/// A vault as an earlier version left it: three events wait, of which one is in its file, and two agents have asked.
fn left() -> Daemon {
    let mut vault = Daemon::vault();
    vault.write("notes/a.md", "An aardvark.\n");
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\n---\n");
    let since = "2026-01-05T12:00:00Z";
    let tokens = json!([{"name": "browser", "created_at": since, "hash": hash("of the browser")}]);
    let agent = json!([{"slug": "ada", "created_at": since, "session": {"chat_type": "direct", "channel": "x"},
        "given": null, "given_since": since, "hash": hash("of ada")}]);
    let entry = |query: &str| json!({"at": since, "what": "search", "query": query}).to_string();
    let file = "---\ntitle: zero\n---\n\n**12:00 · user:** zero\n";
    let planned = json!({"path": "conversations/2026-01-05-s.md", "before": null,
        "after": hash(file), "added": [[7, "**12:00 · user:** zero"]]});
    vault
        .write("conversations/2026-01-05-s.md", file)
        .write(".vault/state/tokens.json", tokens.to_string())
        .write(".vault/state/agents.json", agent.to_string())
        .write(".vault/state/agents/ada.jsonl.1", format!("\n{}\n", entry("first")))
        .write(
            ".vault/state/agents/ada.jsonl",
            format!("\n{}\n\n{{\"at\": \"20\n{}\n", entry("second"), entry("third")),
        )
        .write(".vault/state/agents/bob.jsonl", format!("{}\n", entry("other")))
        .write(".vault/state/pending/seen", 5_u64.to_le_bytes())
        .write(".vault/state/pending/progress.json", json!({"next": 7, "done": [], "plan": [planned]}).to_string());
    let mut pending = record(7, &json!([turn("zero", 1), turn("one", 2)]));
    pending.extend(record(9, &json!([turn("two", 3)])));
    vault.write(".vault/state/pending/0000000000000007.events", pending);
    vault
}

/// All of it is there, and once.
#[track_caller]
fn is_taken_over(vault: &Daemon, case: &str) {
    let with =
        |token: &str, request: Request| vault.send(&request.header("Authorization", &format!("Bearer {token}"))).status;
    let nothing = || Request::new("POST", "/api/user-memory/events").json("[]");
    assert_eq!((with("of the browser", nothing()), with("of another", nothing())), (202, 401), "{case}");
    assert_eq!(with("of ada", Request::get("/api/user-memory/search?q=aardvark")), 200, "{case}");
    let ada = vault.get("/api/agents/ada").json();
    assert_eq!((&ada["channel"], &ada["token_since"]), (&json!("x"), &json!("2026-01-05T12:00:00Z")), "{case}");
    let log = vault.get("/api/agents/ada/log").json();
    let queries: Vec<&str> =
        log["entries"].as_array().unwrap().iter().filter_map(|entry| entry["query"].as_str()).collect();
    let older = queries.iter().filter(|query| ["first", "second", "third"].contains(query)).count();
    assert!(queries.ends_with(&["third", "second", "first"]) && older == 3, "{case}: {queries:?}");
    eventually("the events", || (vault.status()["capture"]["pending"] == 0).then_some(()));
    let said: Vec<String> = contents(&vault.path("conversations"))
        .into_iter()
        .flat_map(|(_, bytes)| {
            let text = String::from_utf8(bytes).unwrap();
            text.lines().filter_map(|line| Some(line.split_once(":** ")?.1.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(said.iter().filter(|said| *said == "zero").count(), 1, "{case}: {said:?}");
    assert_eq!(said.iter().filter(|said| ["one", "two"].contains(&said.as_str())).count(), 2, "{case}: {said:?}");
    for gone in ["tokens.json", "agents.json", "agents", "pending", "agents.taken-over", "pending.taken-over"] {
        assert!(!vault.path(&format!(".vault/state/{gone}")).exists(), "{case}: {gone}");
    }
    let mode = fs::metadata(vault.path(".vault/state/state.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{case}");
}

#[test]
fn killed_while_what_was_in_files_is_taken_over() {
    for (point, passing) in CASES {
        let case = format!("{point}:{passing}");
        let mut vault = left();
        vault.spawn(Some(&case));
        eventually("the daemon's end", || vault.was_killed().then_some(()));
        vault.start();
        is_taken_over(&vault, &case);
        vault.terminate();
        vault.start();
        is_taken_over(&vault, &case);
    }
}

#[test]
fn a_file_of_tokens_that_comes_back_brings_no_token_back() {
    let mut vault = left();
    let tokens = fs::read(vault.path(".vault/state/tokens.json")).unwrap();
    let agents = fs::read(vault.path(".vault/state/agents.json")).unwrap();
    vault.run(&["token", "remove", "browser"]).ok();
    vault.run(&["agent", "remove", "ada"]).ok();
    // As a backup of the folder brings them, and as another machine may have left them.
    for more in ["", " "] {
        vault.write(".vault/state/tokens.json", [&tokens, more.as_bytes()].concat());
        vault.write(".vault/state/agents.json", [&agents, more.as_bytes()].concat());
        vault.start();
        for (token, path) in [("of the browser", "/api/user-memory/events"), ("of ada", "/health/x")] {
            let request = Request::new("POST", path).json("[]").header("Authorization", &format!("Bearer {token}"));
            assert_eq!(vault.send(&request).status, 401, "{token}");
        }
        vault.terminate();
    }
}

#[test]
fn files_that_make_no_sense_keep_nobody_out() {
    let mut vault = left();
    vault.write(".vault/state/tokens.json", "{").write(".vault/state/agents.json", "[{\"slug\": 7}]").start();
    let log = vault.log();
    assert!(log.contains("tokens.json cannot be taken over") && log.contains("agents.json.damaged"), "{log}");
    assert_eq!(vault.find("aardvark"), ["notes/a.md"]);
    vault.run(&["token", "add", "--capture", "browser"]).ok();
}
