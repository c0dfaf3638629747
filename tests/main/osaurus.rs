//! Conversations that are handed over, agents as they are listed, and memory saved before a compaction.

use crate::support::prelude::*;

const ADA: &str =
    "---\ntitle: Ada L.\ndescription: Counts\nmodel: m1\ncreated: 2026-01-02\ncan_read_user_memory: true\n---\n";

fn vault() -> (Daemon, String) {
    let mut vault = Daemon::vault();
    vault.write("agents/ada/agent.md", ADA).write("agents/zoe/agent.md", "---\ntitle: Zoe\n---\n");
    vault.write("agents/ada/entries.md", "- Likes numbers\n- Old (until 2020-01-01)\n").start().settle();
    let token = vault.token_of("ada");
    (vault, token)
}

#[test]
fn turns_and_flushes_are_kept_once_and_agents_are_listed() {
    let (vault, ada) = vault();
    // Turns that are handed over are kept once.
    let capture = vault.run(&["token", "add", "--capture", "osaurus"]).ok().stdout.trim().to_owned();
    let mut turns =
        vec![json!({ "user": "Where do wombats sleep?", "assistant": "In burrows.", "date": "2026-03-02" })];
    let body = |turns: &[Value]| json!({ "agent_id": "A-1", "conversation_id": "c1", "turns": turns, "session_date": "2026-03-02" });
    for _ in 0..2 {
        let reply = vault.post_as(&capture, "/memory/ingest", &body(&turns));
        assert_eq!((reply.status, reply.json()), (200, json!({ "status": "ok", "turns_ingested": 1 })));
    }
    turns.push(json!({ "user": "And numbats?", "assistant": "" }));
    assert_eq!(vault.post_as(&capture, "/memory/ingest", &body(&turns)).json()["turns_ingested"], 2);
    let path = eventually("the turns", || vault.find("numbats").first().cloned());
    let text = vault.read(&path);
    assert!(path.starts_with("conversations/2026-03-02"), "{path}");
    for said in ["user:** Where do wombats sleep?", "assistant:** In burrows.", "user:** And numbats?"] {
        assert_eq!(text.matches(said).count(), 1, "{said}: {text}");
    }
    assert_eq!(vault.post_as(&ada, "/memory/ingest", &body(&turns)).status, 403);
    for bad in
        [json!({}), json!({ "agent_id": "a", "conversation_id": "c", "turns": [{ "user": "x", "date": "soon" }] })]
    {
        assert!([400, 422].contains(&vault.post_as(&capture, "/memory/ingest", &bad).status), "{bad}");
    }
    // What is flushed comes to the end, and once.
    let flush = |content: &str| vault.post_as(&ada, "/api/memory/flush", &json!({ "content": content }));
    let first = flush("- The tent leaks.\n- Wax it in May.\n").ok();
    let path = first["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with("agents/ada/memory/20"), "{path}");
    let text = || vault.read(&path);
    let before = text();
    let block =
        vault.post_as(&ada, "/api/context", &json!({ "mode": "full" })).json()["text"].as_str().unwrap().to_owned();
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
        (flush(" ").status, vault.post_as(vault.token(), "/api/memory/flush", &json!({ "content": "x" })).status),
        (400, 403)
    );
    // An agent is listed itself, and the person sees all.
    let own = vault.get_as(&ada, "/agents").json();
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
    assert_eq!(column(&all["agents"], "id"), ["ada", "zoe"]);
}
