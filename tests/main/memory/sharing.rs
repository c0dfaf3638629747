//! Whose memory is whose, and what many do at a time.

use memory_vault::access::rules::Session;

use super::{agent, agent_in, page, vault};
use crate::support::prelude::*;

#[test]
fn agents_do_not_see_each_others_memory_unless_both_say_so() {
    let vault = vault();
    let (ada, bob) =
        (agent(&vault, "ada", "can_read_user_memory: true"), agent(&vault, "bob", "can_read_user_memory: true"));
    ada.save("MEMORY.md", "The aardvark of Ada.");
    ada.save("memory/a.md", "A second aardvark.");
    bob.save("MEMORY.md", "Nothing of note.");
    let hash = ada.call("search", json!({"query": "second"}))["results"][0]["hash"].clone();
    let sees_nothing = || {
        assert!(bob.find("aardvark").is_empty());
        for body in [
            json!({"hash": hash}),
            json!({"path": "agents/ada/MEMORY.md"}),
            json!({"path": "agents/ada/memory/a.md:1"}),
            json!({"path": "../ada/MEMORY.md"}),
        ] {
            assert_eq!(bob.refused("get", body).0, 404);
        }
        let [hidden, absent] = [hash.as_str().unwrap(), "0123456789abcdef"]
            .map(|hash| bob.refused("get", json!({"hash": hash})).1.replace(hash, "h"));
        assert_eq!(hidden, absent);
        let forgotten = bob.call("forget", json!({"query": "aardvark"}));
        assert_eq!((&forgotten["candidates"], &forgotten["needs_confirmation"]), (&json!([]), &json!(false)));
    };
    sees_nothing();
    // Nor as the person's memory.
    let search = vault.get_as(&bob.token, "/api/user-memory/search?q=aardvark");
    assert_eq!(search.json()["results"], json!([]));
    // What another has changes no score.
    let scores = |who: &super::Agent| who.call("search", json!({"query": "note"}))["results"].clone();
    let before = scores(&bob);
    for at in 0..5 {
        ada.save(&format!("memory/n{at}.md"), "note note note");
    }
    assert_eq!(scores(&bob), before);

    page(&vault, "bob", "shares_memory_with: [ada]");
    sees_nothing();
    page(&vault, "ada", "shares_memory_with: [bob]");
    assert_eq!(bob.find("aardvark").len(), 2);
    assert_eq!(bob.call("get", json!({"path": "agents/ada/MEMORY.md"}))["text"], "The aardvark of Ada.\n");
    assert_eq!(bob.call("get", json!({"hash": hash}))["path"], "agents/ada/memory/a.md");
    assert_eq!(bob.refused("get", json!({"path": "agents/ada/agent.md"})).0, 404);
    // To read, not to write.
    for file in ["agents/ada/MEMORY.md", "../ada/MEMORY.md"] {
        assert_eq!(bob.refused("save", json!({"file": file, "content": "x"})).0, 400);
        assert_eq!(bob.refused("delete", json!({"file": file, "text": "aardvark"})).0, 400);
    }
    assert_eq!(bob.call("forget", json!({"query": "The aardvark of Ada."}))["deleted"], json!([]));
    page(&vault, "ada", "");
    sees_nothing();
    // The person sees what was asked.
    let log = vault.get("/api/agents/bob/log").json().to_string();
    assert!(log.contains("memory_search") && log.contains("memory_get") && log.contains("memory_save"), "{log}");
}

#[test]
fn what_is_shared_is_given_by_the_tools_of_memory_and_by_nothing_else() {
    let vault = vault();
    let (ada, bob) = (agent(&vault, "ada", ""), agent(&vault, "bob", ""));
    page(&vault, "bob", "can_read_user_memory: true\nshares_memory_with: [ada]");
    page(&vault, "ada", "shares_memory_with: [bob]");
    for (agent, animal) in [(&ada, "aardvark"), (&bob, "wombat")] {
        agent.save("MEMORY.md", &format!("The {animal} sleeps in the shed."));
        agent.fact(json!({"key": "animal", "value": animal}));
    }
    let ask = |request: Request| vault.send(&request.bearer(&bob.token)).json().to_string();
    assert_eq!(bob.find("aardvark").len(), 2, "as the tool finds it");
    for scope in ["agent:ada", "*", "agent:ada,agent:bob"] {
        let facts = ask(Request::get(&format!("/api/facts?scope={scope}&history=true")));
        assert!(!facts.contains("aardvark"), "{facts}");
        assert_eq!(facts.contains("wombat"), scope != "agent:ada", "{facts}");
    }
    let learned =
        |animal: &str, agent: &str| format!("- [fact] The {animal} eats (source agents/{agent}/MEMORY.md#L1)\n");
    let of_both = learned("aardvark", "ada") + &learned("wombat", "bob");
    for file in ["memories/user.md", "agents/ada/entries.md", "agents/bob/entries.md"] {
        fs::create_dir_all(vault.path(file).parent().unwrap()).unwrap();
        fs::write(vault.path(file), &of_both).unwrap();
    }
    vault.settle();
    for (whose, is_seen) in [("", true), ("?agent=bob", true), ("?agent=ada", false)] {
        let entries = ask(Request::get(&format!("/api/entries{whose}")));
        assert!(!entries.contains("aardvark"), "{whose}: {entries}");
        assert_eq!(entries.contains("wombat"), is_seen, "{whose}: {entries}");
    }
    let asked = json!({"query": "Which animal sleeps in the shed?", "sections": ["memories", "entries"]});
    let given = ask(Request::send("POST", "/api/context", &asked));
    assert!(given.contains("wombat") && !given.contains("aardvark"), "{given}");
}

#[test]
fn it_is_for_agents_alone_and_closed_in_a_session_that_is_denied() {
    let vault = vault();
    let direct = agent(&vault, "ada", "");
    for (tool, body) in [
        ("search", json!({"query": "x"})),
        ("forget", json!({"query": "x"})),
        ("save", json!({"content": "x"})),
        ("restore", json!({"checkpoint_id": "x"})),
        ("get", json!({})),
        ("delete", json!({})),
    ] {
        let reply = vault.post(&format!("/api/memory/{tool}"), &body);
        assert_eq!(reply.status, 403, "{tool}: {}", reply.json());
        assert!(reply.json()["error"]["hint"].as_str().unwrap().contains("token"), "{tool}");
    }
    assert!(!vault.path("agents/ada/MEMORY.md").exists());
    direct.save("MEMORY.md", "An aardvark.");
    let ada = agent_in(&vault, "ada", "", Session { chat_type: Some("group".into()), channel: None });
    assert!(ada.find("aardvark").is_empty());
    assert_eq!(ada.refused("get", json!({"path": "MEMORY.md"})).0, 404);
    assert_eq!(ada.refused("save", json!({"content": "x"})).0, 403);
    assert_eq!(ada.refused("delete", json!({"text": "An aardvark."})).0, 403);
    assert_eq!(ada.call("forget", json!({"query": "aardvark"}))["deleted"], json!([]));
    assert_eq!(ada.text(&vault, "MEMORY.md").unwrap(), "An aardvark.\n");
}

#[test]
fn nothing_is_lost_when_many_save_at_a_time() {
    const THREADS: usize = 4;
    const SAVES: usize = 8;
    let vault = vault();
    let agents = [agent(&vault, "ada", ""), agent(&vault, "bob", "")];
    std::thread::scope(|scope| {
        for (agent, thread) in agents.iter().flat_map(|agent| (0..THREADS).map(move |thread| (agent, thread))) {
            scope.spawn(move || {
                for save in 0..SAVES {
                    let file = if save % 2 == 0 { "MEMORY.md" } else { "memory/shared.md" };
                    agent.call("save", json!({"file": file, "content": format!("- {}{thread}x{save}", agent.slug)}));
                }
            });
        }
    });
    for (agent, other) in [(&agents[0], "bob"), (&agents[1], "ada")] {
        let text = agent.text(&vault, "MEMORY.md").unwrap() + &agent.text(&vault, "memory/shared.md").unwrap();
        for (thread, save) in (0..THREADS).flat_map(|thread| (0..SAVES).map(move |save| (thread, save))) {
            assert_eq!(text.matches(&format!("- {}{thread}x{save}\n", agent.slug)).count(), 1, "{text}");
        }
        assert!(!text.contains(other));
    }
    let listed = vault.get("/api/user-memory/checkpoints").json();
    let by = |slug: &str| listed["checkpoints"].as_array().unwrap().iter().filter(|kept| kept["by"] == slug).count();
    assert_eq!((by("ada"), by("bob")), (THREADS * SAVES, THREADS * SAVES));
    let found: Value = agents[0].call("search", json!({"query": "bob0x0"}));
    assert_eq!(found["results"], json!([]));
}
