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

#[test]
fn a_vault_that_a_sync_service_carries_has_its_state_where_its_index_is() {
    let mut vault = left();
    fs::create_dir(vault.path(".stfolder")).unwrap();
    vault.start();
    let request =
        Request::new("POST", "/api/user-memory/events").json("[]").header("Authorization", "Bearer of the browser");
    assert_eq!(vault.send(&request).status, 202, "what was in files is taken over");
    let token = vault.run(&["token", "add", "--capture", "notebook"]).ok().stdout;
    let request = Request::new("POST", "/api/user-memory/events").json(turn("three", 9)["event"].to_string());
    let request = request.header("Authorization", &format!("Bearer {}", token.trim()));
    assert_eq!(vault.send(&request).status, 202, "the daemon and a command beside it have one place");
    vault.captured();
    assert!(fs::read_dir(vault.path(".vault/state")).unwrap().flatten().all(|entry| {
        let name = entry.file_name().into_string().unwrap();
        !name.starts_with("state.") && !["tokens.json", "agents.json", "agents", "pending"].contains(&&*name)
    }));
    vault.terminate();
    vault.start();
    assert_eq!(vault.run(&["token", "list"]).ok().stdout.lines().count(), 2, "and again at the next start");
}

#[test]
fn a_flipped_byte_costs_what_it_is_in_and_nothing_else() {
    let mut vault = Daemon::vault();
    vault.start();
    let in_its_place = vault.path("conversations/2026-01-05-s.md");
    fs::create_dir_all(&in_its_place).unwrap();
    for said in ["before", "damaged", "after"] {
        vault.capture(turn(said, 0)["event"].clone());
    }
    let add = |name: &str| vault.run(&["token", "add", "--capture", name]).ok().stdout.trim().to_owned();
    let (one, other) = (add("browser"), add("editor"));
    vault.terminate();
    let state = vault.path(".vault/state/state.db");
    let mut bytes = fs::read(&state).unwrap();
    for text in ["damaged", "browser"] {
        let at = bytes.windows(7).position(|window| window == text.as_bytes()).unwrap();
        bytes[at] ^= 1;
    }
    fs::write(&state, bytes).unwrap();
    fs::remove_dir(in_its_place).unwrap();
    vault.start();
    vault.captured();
    let written: Vec<u8> = contents(&vault.path("conversations")).into_iter().flat_map(|(_, bytes)| bytes).collect();
    let written = String::from_utf8(written).unwrap();
    assert!(written.contains("before") && written.contains("after") && !written.contains("amaged"), "{written}");
    let status = |token: &str| {
        let request = Request::new("POST", "/api/user-memory/events").json("[]");
        vault.send(&request.header("Authorization", &format!("Bearer {token}"))).status
    };
    assert_eq!((status(&one), status(&other)), (401, 202));
    let failure = vault.status()["failure"].as_str().unwrap().to_owned();
    assert!(
        failure.contains("1 token of a program is damaged") && failure.contains("left out (number 2)"),
        "{failure}"
    );
}
