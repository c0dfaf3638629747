//! Conversations that are handed over, agents as they are listed, and memory saved before a compaction.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Daemon, Reply, Request, eventually};

const ADA: &str =
    "---\ntitle: Ada L.\ndescription: Counts\nmodel: m1\ncreated: 2026-01-02\ncan_read_user_memory: true\n---\n";

fn vault() -> (Daemon, String) {
    let mut vault = Daemon::with_config("[embed]\nmodel = \"none\"\n");
    vault.write("agents/ada/agent.md", ADA).write("agents/zoe/agent.md", "---\ntitle: Zoe\n---\n");
    vault.write("agents/ada/entries.md", "- Likes numbers\n- Old (until 2020-01-01)\n");
    vault.start().settle();
    let token = vault.run(&["agent", "rotate", "ada", "--json"]).ok().json()["token"].as_str().unwrap().to_owned();
    (vault, token)
}

fn post(vault: &Daemon, token: &str, target: &str, body: &Value) -> Reply {
    let request = Request::new("POST", target).header("Authorization", &format!("Bearer {token}"));
    vault.send(&request.json(body.to_string()))
}

#[test]
fn turns_that_are_handed_over_are_kept_once() {
    let (vault, ada) = vault();
    let capture = vault.run(&["token", "add", "--capture", "osaurus"]).ok().stdout.trim().to_owned();
    let mut turns =
        vec![json!({ "user": "Where do wombats sleep?", "assistant": "In burrows.", "date": "2026-03-02" })];
    let body = |turns: &[Value]| json!({ "agent_id": "A-1", "conversation_id": "c1", "turns": turns, "session_date": "2026-03-02" });
    for _ in 0..2 {
        let reply = post(&vault, &capture, "/memory/ingest", &body(&turns));
        assert_eq!((reply.status, reply.json()), (200, json!({ "status": "ok", "turns_ingested": 1 })));
    }
    turns.push(json!({ "user": "And numbats?", "assistant": "" }));
    assert_eq!(post(&vault, &capture, "/memory/ingest", &body(&turns)).json()["turns_ingested"], 2);
    let path = eventually("the turns", || vault.find("numbats").first().cloned());
    let text = fs::read_to_string(vault.path(&path)).unwrap();
    assert!(path.starts_with("conversations/2026-03-02"), "{path}");
    for said in ["user:** Where do wombats sleep?", "assistant:** In burrows.", "user:** And numbats?"] {
        assert_eq!(text.matches(said).count(), 1, "{said}: {text}");
    }
    assert_eq!(post(&vault, &ada, "/memory/ingest", &body(&turns)).status, 403);
    for bad in
        [json!({}), json!({ "agent_id": "a", "conversation_id": "c", "turns": [{ "user": "x", "date": "soon" }] })]
    {
        assert!([400, 422].contains(&post(&vault, &capture, "/memory/ingest", &bad).status), "{bad}");
    }
}

#[test]
fn an_agent_is_listed_itself_and_the_person_sees_all() {
    let (vault, ada) = vault();
    let own = vault.send(&Request::get("/agents").header("Authorization", &format!("Bearer {ada}"))).json();
    let agents = own["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 1, "{own}");
    let ada = &agents[0];
    assert_eq!(
        (&ada["id"], &ada["name"], &ada["description"], &ada["default_model"]),
        (&json!("ada"), &json!("Ada L."), &json!("Counts"), &json!("m1"))
    );
    assert_eq!(
        (&ada["is_built_in"], &ada["memory_entry_count"], &ada["created_at"]),
        (&json!(false), &json!(1), &json!("2026-01-02T00:00:00Z"))
    );
    let all = vault.get("/agents").json();
    let names: Vec<&str> =
        all["agents"].as_array().unwrap().iter().map(|agent| agent["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["ada", "zoe"]);
}

#[test]
fn what_is_flushed_comes_to_the_end_and_once() {
    let (vault, ada) = vault();
    let flush = |content: &str| post(&vault, &ada, "/api/memory/flush", &json!({ "content": content }));
    let first = flush("- The tent leaks.\n- Wax it in May.\n");
    assert_eq!(first.status, 200, "{}", first.json());
    let path = first.json()["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with("agents/ada/memory/20"), "{path}");
    let text = || fs::read_to_string(vault.path(&path)).unwrap();
    let before = text();
    let block =
        post(&vault, &ada, "/api/context", &json!({ "mode": "full" })).json()["text"].as_str().unwrap().to_owned();
    assert_eq!(flush(&format!("{block}* the tent leaks.\n- Buy wax.\n")).status, 200);
    assert!(
        text().starts_with(before.trim_end())
            && text().contains("Buy wax.")
            && !text().contains("* the tent")
            && !text().contains("==="),
        "{}",
        text()
    );
    let after = text();
    assert_eq!((flush("- Buy wax.\n").status, text()), (200, after));
    assert_eq!(
        (flush(" ").status, post(&vault, vault.token(), "/api/memory/flush", &json!({ "content": "x" })).status),
        (400, 403)
    );
}
