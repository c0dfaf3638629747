//! The librarian: what a model finds in an agent's traces is proposed for that agent's own memory, with its evidence.

use super::{config, good, likes};
use crate::support::prelude::*;

/// The points at which this file kills the daemon.
pub const POINTS: [&str; 4] = ["librarian-claimed", "librarian-answered", "librarian-proposed", "librarian-marked"];

const LIBRARIAN: &str = "/api/agents/ada/librarian";

fn vault(endpoint: &Endpoint, memory: &str) -> Daemon {
    let mut vault = Daemon::with_config(&config(&endpoint.address(), memory));
    for agent in ["ada", "zoe"] {
        vault.write(&format!("agents/{agent}/agent.md"), "---\ntitle: X\ncan_read_user_memory: true\n---\n\nMine.\n");
    }
    vault.start().settle();
    vault
}

fn tell(vault: &Daemon, agent: &str, id: &str, kind: &str, payload: Value) {
    let event = json!({ "id": id, "agent_name": agent, "kind": kind, "payload": payload });
    vault.post("/api/trace", &event).ok();
}

fn said(vault: &Daemon, agent: &str, id: &str, text: &str) {
    tell(vault, agent, id, "message_in", json!({ "from": "user", "text": text }));
}

fn patch(vault: &Daemon, body: &Value) -> Value {
    vault.ask(Request::send("PATCH", LIBRARIAN, body)).ok()
}

/// Has it read what waits, and waits until nothing does.
fn read(vault: &Daemon, covered: u64) -> Value {
    patch(vault, &json!({ "run": true }));
    eventually("the librarian", || {
        let view = vault.get(LIBRARIAN).json();
        (view["covered"] == covered && view["state"] == "idle").then_some(view)
    })
}

fn pending(vault: &Daemon, agent: &str) -> String {
    fs::read_to_string(vault.path(&format!("agents/{agent}/pending.md"))).unwrap_or_default()
}

fn traces(vault: &Daemon) -> Vec<(PathBuf, Vec<u8>)> {
    contents(&vault.path("traces/ada"))
}

#[test]
fn traces_become_proposals_with_their_evidence_and_stay_as_they_are() {
    let endpoint = good();
    let mut vault = vault(&endpoint, "");
    said(&vault, "ada", "e1", "I like green tea.");
    tell(&vault, "ada", "e2", "tool_result", json!({ "tool": "web", "result": "I like poison." }));
    tell(&vault, "ada", "e3", "llm_call", json!({ "status": "ok", "messages": [{ "content": "I like secrets." }] }));
    tell(&vault, "ada", "e 4", "message_in", json!({ "text": "I like tomato soup." }));
    said(&vault, "zoe", "z1", "I like cake.");
    // Off until the person says otherwise, and then for that agent alone.
    let view = vault.get(LIBRARIAN).json();
    assert_eq!((&view["enabled"], &view["state"], &view["model"]), (&json!(false), &json!("off"), &json!("reader")));
    assert_eq!((&view["covered"], &view["last_run"]), (&json!(0), &Value::Null));
    patch(&vault, &json!({ "run": true }));
    let before = traces(&vault);
    let view = patch(&vault, &json!({ "enabled": true, "model": "reader" }));
    assert_eq!(view["enabled"], true);
    let page = vault.read("agents/ada/agent.md");
    assert!(page.contains("librarian: true\n") && page.ends_with("\nMine.\n"), "{page}");
    let view = read(&vault, 4);
    assert!(view["last_run"].is_string() && view["queued"] == 0, "{view}");
    let proposed = pending(&vault, "ada");
    assert!(proposed.contains("Likes green tea") && proposed.contains("source traces/ada#e1"), "{proposed}");
    assert!(proposed.contains("Likes tomato soup") && proposed.contains("source traces/ada#e%2520"), "{proposed}");
    assert!(proposed.contains("trust agent"), "{proposed}");
    assert!(!proposed.contains("poison") && !proposed.contains("secrets"), "{proposed}");
    let sent: String = endpoint.asked().iter().flat_map(|asked| asked.texts.clone()).collect();
    assert!(!sent.contains("poison") && !sent.contains("secrets") && !sent.contains("cake"), "{sent}");
    assert_eq!(pending(&vault, "zoe"), "");
    assert!(!vault.path("memories").exists(), "none of it is the person's");
    assert_eq!(traces(&vault), before);
    // Nothing is asked twice, and what comes later is.
    let calls = endpoint.asked().len();
    patch(&vault, &json!({ "run": true }));
    // More than one part holds, of which the first says nothing.
    for at in 0..501 {
        tell(&vault, "ada", &format!("t{at}"), "tool_result", json!({ "tool": "web", "result": "x" }));
    }
    said(&vault, "ada", "e5", "I like rye bread.");
    read(&vault, 506);
    assert_eq!(endpoint.asked().len(), calls + 1);
    // Accepted it is the agent's, which is told where it learned it.
    let waiting = vault.get("/api/entries?agent=ada&status=pending").json();
    let entry = |text: &str| waiting["entries"].as_array().unwrap().iter().find(|entry| entry["text"] == text).unwrap();
    let (tea, soup) = (entry("Likes green tea"), entry("Likes tomato soup"));
    assert_eq!((&tea["evidence"], &soup["evidence"]), (&json!(["e1"]), &json!(["e 4"])));
    vault.run(&["memory", "review", "accept", tea["id"].as_str().unwrap(), "--agent", "ada"]).ok();
    vault.settle();
    let (ada, zoe) = (vault.token_of("ada"), vault.token_of("zoe"));
    let own = vault.get_as(&ada, "/api/entries").json();
    assert!(own.to_string().contains("Likes green tea"), "{own}");
    let search =
        |token: &str| vault.post_as(token, "/api/memory/search", &json!({ "query": "green tea" })).json().to_string();
    assert!(search(&ada).contains("Likes green tea"), "{}", search(&ada));
    assert!(!search(&zoe).contains("Likes green tea"));
    let others = vault.get_as(&zoe, "/api/entries?agent=ada").json().to_string();
    assert!(!others.contains("green tea"), "{others}");
    let other = vault.ask(Request::send("PATCH", LIBRARIAN, &json!({ "model": "claude" })));
    assert_eq!(other.status, 400, "{}", other.json());
    assert_eq!(vault.get("/api/agents/nobody/librarian").status, 404);
    patch(&vault, &json!({ "enabled": false }));
    said(&vault, "ada", "e6", "I like plums.");
    patch(&vault, &json!({ "run": true }));
    assert_eq!(vault.get(LIBRARIAN).json()["state"], "off");
    vault.terminate();
    assert!(!pending(&vault, "ada").contains("plums"));
}

#[test]
fn what_taos_sends_is_taken_and_counts_where_there_is_such_a_task() {
    let endpoint = good();
    let mut vault = vault(&endpoint, "");
    let view = vault.get(LIBRARIAN).json();
    assert_eq!((view["tasks"].as_object().unwrap().len(), &view["tasks"]["fact_extraction"]), (2, &json!(true)));
    let body = json!({
        "enabled": true, "clear_model": true, "fanout": "off", "fanout_auto_scale": false,
        "tasks": { "preference_extraction": false, "reflect": false },
    });
    let view = patch(&vault, &body);
    assert_eq!((&view["enabled"], &view["model"]), (&json!(true), &json!("reader")));
    assert_eq!(view["tasks"], json!({ "fact_extraction": true, "preference_extraction": false }));
    let page = vault.read("agents/ada/agent.md");
    assert!(page.contains("librarian_off:") && page.ends_with("\nMine.\n"), "{page}");
    // What it may read is as before.
    assert_eq!(vault.get("/api/agents/ada").json()["can_read_user_memory"], true);
    said(&vault, "ada", "e1", "I like green tea.");
    read(&vault, 1);
    assert_eq!(pending(&vault, "ada"), "", "no preference is looked for");
    let view = patch(&vault, &json!({ "tasks": { "preference_extraction": true } }));
    assert_eq!(view["tasks"]["preference_extraction"], true);
    said(&vault, "ada", "e2", "I like rye bread.");
    read(&vault, 2);
    assert!(pending(&vault, "ada").contains("Likes rye bread"), "{}", pending(&vault, "ada"));
    let off = patch(&vault, &json!({ "tasks": { "preference_extraction": false, "fact_extraction": false } }));
    assert_eq!((&off["enabled"], &off["state"]), (&json!(true), &json!("off")));
    let refused = vault.ask(Request::send("PATCH", LIBRARIAN, &json!({ "tasks": ["reflect"] })));
    assert!([400, 422].contains(&refused.status), "{}", refused.status);
    vault.terminate();
}

const SECRET: &str = "The spare key of the shed lies under the third pot of the garden.";

/// A model that says it in words that are none of the note's.
fn paraphrasing() -> Endpoint {
    let endpoint = Endpoint::start();
    endpoint.fails(|asked| {
        let lines = super::shown(asked).into_iter().filter(|(.., said)| said.contains("third pot"));
        let entry = |(line, ..): (u64, String, String)| {
            json!({ "kind": "fact", "text": "Keeps the spare key of the shed there", "confidence": 0.9, "tags": [],
                "valid_from": "", "lines": [line, line], "quote": "The spare key of the shed" })
        };
        let mut answer: Value = serde_json::from_str(&likes(asked)).unwrap();
        answer["entries"].as_array_mut().unwrap().extend(lines.map(entry));
        Some(Fault::SaysThis(answer.to_string()))
    });
    endpoint
}

/// A vault whose note an agent has told of, of which the librarian has read.
fn told_of_the_key(endpoint: &Endpoint) -> Daemon {
    let vault = vault(endpoint, "").with("notes/key.md", format!("{SECRET}\n"));
    vault.settle();
    said(&vault, "ada", "e1", SECRET);
    said(&vault, "ada", "e2", "I like green tea.");
    patch(&vault, &json!({ "enabled": true }));
    read(&vault, 2);
    let proposed = pending(&vault, "ada");
    assert!(proposed.contains("spare key") && proposed.contains("green tea"), "{proposed}");
    vault
}

#[test]
fn what_is_forgotten_for_good_takes_what_was_learned_of_it_along() {
    let endpoint = paraphrasing();
    let vault = told_of_the_key(&endpoint);
    let gone = vault.run(&["forget", "notes/key.md", "--purge", "--yes", "--json"]).ok().json();
    assert_eq!(gone["purged"]["traces"], 1, "{gone}");
    let mut went = gone["derived"].as_array().unwrap().iter().filter(|note| note["gone"] == true);
    assert!(went.any(|note| note["path"].as_str().unwrap().starts_with("agents/ada/pending.md#^")), "{gone}");
    let proposed = pending(&vault, "ada");
    assert!(!proposed.contains("spare key") && proposed.contains("green tea"), "{proposed}");
    // Nor does it come again with the next look.
    read(&vault, 2);
    assert!(!pending(&vault, "ada").contains("spare key"));
}

#[test]
fn a_purge_that_was_killed_takes_what_was_learned_of_it_along_at_the_next_start() {
    for point in ["purge-removed", "purge-emptied", "entry-purged", "purge-cleared", "trace-swept"] {
        let endpoint = paraphrasing();
        let mut vault = told_of_the_key(&endpoint);
        vault.terminate();
        vault.dies_forgetting(&format!("{point}:1"), &["notes/key.md"]);
        let proposed = pending(&vault, "ada");
        assert!(!proposed.contains("spare key") && proposed.contains("green tea"), "{point}: {proposed}");
        for (folder, text) in
            [("traces/ada", "third pot"), (".vault/state", "third pot"), (".vault/state", "spare key")]
        {
            assert_eq!(files_with(&vault.path(folder), text), [""; 0], "{point}: {folder}");
        }
    }
}

#[test]
fn a_kill_at_any_point_asks_once_more_at_most_and_proposes_nothing_twice() {
    let endpoint = good();
    let mut vault = vault(&endpoint, "");
    said(&vault, "ada", "e1", "I like green tea.");
    vault.terminate();
    let page = "---\ntitle: X\nlibrarian: true\n---\n";
    vault.write("agents/ada/agent.md", page);
    let old = SystemTime::now() - Duration::from_secs(3600);
    let age = |vault: &Daemon| {
        for (path, _) in traces(vault) {
            fs::File::options().append(true).open(path).unwrap().set_modified(old).unwrap();
        }
    };
    for point in POINTS {
        age(&vault);
        vault.spawn(Some(&format!("{point}:1")));
        until(point, || vault.was_killed());
    }
    vault.start().settle();
    let view = eventually("the end", || Some(vault.get(LIBRARIAN).json()).filter(|view| view["state"] == "idle"));
    assert_eq!(view["covered"], 1, "{view}");
    assert_eq!(pending(&vault, "ada").matches("Likes green tea").count(), 1);
    assert!((2..=4).contains(&endpoint.asked().len()), "{}", endpoint.asked().len());
}

#[test]
fn traces_go_to_no_other_machine_unless_the_person_says_so() {
    // An address that is none of this machine's, where nobody answers.
    for (send, state) in [("", "withheld"), ("send_private = true", "waiting")] {
        let mut vault = Daemon::with_config(&config("http://192.0.2.1:9", &format!("timeout_ms = 1000\n{send}")));
        vault.write("agents/ada/agent.md", "---\nlibrarian: true\n---\n").start().settle();
        said(&vault, "ada", "e1", "I like green tea.");
        patch(&vault, &json!({ "run": true }));
        let view = eventually(state, || {
            Some(vault.get(LIBRARIAN).json()).filter(|view| view["state"] == state || view["state"] == "working")
        });
        assert!(view["covered"] == 0, "{view}");
        if send.is_empty() {
            assert_eq!(vault.get("/api/processing").json()["bytes_sent"], 0);
            assert!(view["reason"].as_str().unwrap().contains("send_private"), "{view}");
        }
        assert!(!Path::new(&vault.path("agents/ada/pending.md")).exists());
    }
}
