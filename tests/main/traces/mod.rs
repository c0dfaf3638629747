//! What agents tell of their work: kept once and to the last, read by the agent itself and the person, and forgotten with what it says.

mod forgetting;
mod kills;

pub use kills::points;

use crate::support::prelude::*;

const EVENT: &str = "/api/trace";

/// A vault with two agents, the daemon, and the first one's token.
fn vault(config: &str) -> (Daemon, String) {
    let mut vault = Daemon::without_model(config);
    for agent in ["ada", "zoe"] {
        vault.write(&format!("agents/{agent}/agent.md"), READS);
    }
    vault.start().settle();
    let token = vault.token_of("ada");
    (vault, token)
}

fn said(id: &str, text: &str) -> Value {
    json!({ "id": id, "kind": "message_in", "payload": { "from": "user", "text": text } })
}

fn post(vault: &Daemon, token: &str, event: &Value) -> Reply {
    vault.post_as(token, EVENT, event)
}

/// The ids of an answer, newest first.
fn ids(reply: &Reply) -> Vec<String> {
    assert_eq!(reply.status, 200, "{}", reply.json());
    let events = reply.json()["events"].as_array().unwrap().clone();
    events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

/// The files of an agent's traces, with what they say.
fn files(vault: &Daemon, agent: &str) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(vault.path(&format!("traces/{agent}"))).into_iter().flatten().flatten();
    let mut files: Vec<_> =
        entries.map(|entry| entry.path()).map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn an_agent_writes_and_reads_its_own_and_nobody_elses() {
    let (vault, ada) = vault("");
    let (zoe, owner) = (vault.token_of("zoe"), vault.token().to_owned());
    let reply = post(&vault, &ada, &said("e1", "Where do wombats sleep?"));
    let kept = json!({ "id": "e1", "agent_name": "ada", "schema_version": 1 });
    assert_eq!((reply.status, reply.json()), (200, kept.clone()));
    assert_eq!(post(&vault, &ada, &said("e1", "Something else")).json(), kept, "the same id is the same event");
    let mut named = said("e2", "By the person");
    named["agent_name"] = "ada".into();
    assert_eq!(post(&vault, &owner, &named).status, 200);
    let unnamed = post(&vault, &ada, &json!({ "kind": "lifecycle", "payload": { "event": "start" } })).json();
    let of_ada = vault.get_as(&ada, "/api/agents/ada/trace");
    assert_eq!(ids(&of_ada), [unnamed["id"].as_str().unwrap(), "e2", "e1"]);
    let first = of_ada.json()["events"][2].clone();
    assert_eq!((&first["v"], &first["agent_name"], &first["channel_id"]), (&json!(1), &json!("ada"), &Value::Null));
    assert_eq!(first["payload"]["text"], "Where do wombats sleep?");
    assert_eq!(of_ada.body, vault.get_as(&owner, "/api/agents/ada/trace").body);
    // To others an agent with traces is as one that does not exist.
    let (told, nobody) = (vault.told(&zoe, "/api/agents/ada/trace"), vault.told(&zoe, "/api/agents/nobody/trace"));
    assert_eq!((told.0, &told), (404, &nobody));
    named["id"] = "e9".into();
    let forged = post(&vault, &zoe, &named);
    named["agent_name"] = "nobody".into();
    assert_eq!((forged.status, forged.body), (404, post(&vault, &zoe, &named).body));
    assert_eq!(post(&vault, &owner, &named).status, 404);
    assert_eq!(vault.get_as(&owner, "/api/agents/nobody/trace").status, 404);
    assert_eq!(post(&vault, &owner, &said("e3", "Whose?")).status, 400);
    let capture = vault.run(&["token", "add", "--capture", "browser"]).ok().stdout.trim().to_owned();
    assert_eq!(post(&vault, &capture, &said("e3", "x")).status, 403);
    assert_eq!(vault.get_as(&capture, "/api/agents/ada/trace").status, 403);
    for (event, status) in [
        (json!({ "kind": "thought", "payload": {} }), 400),
        (json!({ "kind": "message_in", "payload": {} }), 400),
        (json!({ "payload": {} }), 422),
        (json!([1]), 422),
    ] {
        assert_eq!(post(&vault, &ada, &event).status, status, "{event}");
    }
    // No search knows of it, and it is no collection.
    assert!(vault.find("wombats").is_empty());
    let status = vault.settle();
    assert!(!status.to_string().contains("traces"), "{status}");
    assert!(!vault.get("/api/user-memory/collections").json().to_string().contains("traces"));
}

#[test]
fn events_are_found_by_kind_channel_trace_and_time() {
    let (vault, ada) = vault("");
    for (id, kind, channel, at) in [
        ("a", "reasoning", "c1", 1_772_445_600.0),
        ("b", "error", "c1", 1_772_449_200.5),
        ("c", "reasoning", "c2", 1_772_449_201.0),
        ("d", "error", "c2", 1_772_531_999.0),
    ] {
        let event = json!({ "id": id, "kind": kind, "channel_id": channel, "trace_id": format!("t-{channel}"), "created_at": at,
            "payload": { "text": id, "message": id } });
        assert_eq!(post(&vault, &ada, &event).status, 200);
    }
    let of = |params: &str| ids(&vault.get_as(&ada, &format!("/api/agents/ada/trace?{params}")));
    assert_eq!(of(""), ["d", "c", "b", "a"]);
    for (asked, found) in [
        ("kind=error", &["d", "b"][..]),
        ("channel_id=c1", &["b", "a"]),
        ("trace_id=t-c2&kind=reasoning", &["c"]),
        ("limit=2", &["d", "c"]),
        ("since=1772449200.5&until=1772449201", &["c", "b"]),
        ("since=2026-03-02T10:30:00Z&until=2026-03-02T11:00:00.9Z", &["b"]),
        ("since=1d", &[]),
        ("until=2020-01-01", &[]),
    ] {
        assert_eq!(of(asked), found, "{asked}");
    }
    for bad in ["kind=thought", "limit=0", "limit=1001", "since=soon", "else=1"] {
        assert_eq!(vault.get_as(&ada, &format!("/api/agents/ada/trace?{bad}")).status, 400, "{bad}");
    }
    // All came long after their hours.
    assert!(files(&vault, "ada").iter().all(|(path, _)| path.to_str().unwrap().ends_with(".late.jsonl")));
}

#[test]
fn the_command_line_lists_them_with_and_without_a_daemon_an_archive_has_them_and_git_does_not() {
    let (mut vault, ada) = vault("");
    assert_eq!(post(&vault, &ada, &said("e1", "Where do wombats\nsleep?")).status, 200);
    let listed = |vault: &Daemon| vault.run(&["trace", "ada"]).ok().stdout;
    let line = listed(&vault);
    assert!(line.contains("message_in") && line.contains("user: Where do wombats sleep?  e1"), "{line}");
    let found =
        vault.run(&["trace", "ada", "--kind", "message_in", "--since", "1d", "--limit", "5", "--json"]).ok().json();
    assert_eq!((&found["agent_name"], &found["events"][0]["id"]), (&json!("ada"), &json!("e1")));
    assert_eq!(vault.run(&["trace", "ada", "--kind", "error"]).code, 1);
    assert_eq!(vault.run(&["trace", "nobody"]).code, 1);
    assert_eq!(vault.run(&["trace", "ada", "--kind", "x"]).code, 2);
    let outside = tempfile::tempdir().unwrap();
    let root = vault.path("");
    git(&root, &["init", "--quiet"]);
    let changes = git(&root, &["status", "--porcelain", "--untracked-files=all"]);
    assert!(changes.contains("agents/ada/agent.md") && !changes.contains("traces"), "{changes}");
    let archive = outside.path().join("vault.tar.zst");
    Ran::of(vault.command(&["export"]).arg(&archive)).ok();
    let copy = outside.path().join("copy");
    Ran::of(vault_command().arg("import").arg(&archive).arg(&copy)).ok();
    for (path, text) in files(&vault, "ada") {
        let there = copy.join(path.strip_prefix(&root).unwrap());
        assert_eq!(fs::read_to_string(there).unwrap(), text);
    }
    assert_eq!(fs::read_to_string(copy.join("traces/.gitignore")).unwrap().lines().last(), Some("*"));
    vault.terminate();
    assert_eq!(listed(&vault), line);
    // What an agent that is gone has told stays.
    vault.run(&["agent", "remove", "ada"]).ok();
    assert_eq!(listed(&vault), line);
}

#[test]
fn they_have_limits_of_their_own_and_can_be_switched_off() {
    let (mut vault, ada) = vault("[agents]\nrequests_per_minute = 5\ntimeout_ms = 60000\n");
    let mut connection = vault.connection();
    for id in 0..50 {
        let request = Request::send("POST", EVENT, &said(&id.to_string(), "x"));
        let reply = connection.send(&request.bearer(&ada)).unwrap();
        assert_eq!(reply.status, 200, "{id}: {}", reply.json());
    }
    // Over what other bodies may have.
    for (bytes, status) in [(3_900_000, 200), (4_100_000, 400), (17_000_000, 413)] {
        assert_eq!(post(&vault, &ada, &said("large", &"x".repeat(bytes))).status, status, "{bytes}");
    }
    vault.terminate();
    vault.write("memory.toml", "[embed]\nmodel = \"none\"\n[traces]\nenabled = false\n").start();
    let refused = post(&vault, &ada, &said("off", "x"));
    assert_eq!(refused.status, 403);
    assert!(refused.error().contains("traces are switched off"));
    assert_eq!(ids(&vault.get_as(&ada, "/api/agents/ada/trace?limit=1")).len(), 1, "what there is stays");
}
