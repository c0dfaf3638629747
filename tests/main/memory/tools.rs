//! What each tool does.

use super::{agent, all, vault};
use crate::support::prelude::*;

#[test]
fn every_tool_does_what_it_says_for_the_agent_that_asks() {
    let vault = vault();
    // What is saved is found and read at once.
    let coder = agent(&vault, "coder", "");
    let saved = coder.call("save", json!({"content": "The person likes aardvarks."}));
    assert_eq!((&saved["path"], &saved["chunks"]), (&json!("agents/coder/MEMORY.md"), &json!(1)));
    assert_eq!(coder.text(&vault, "MEMORY.md").unwrap(), "The person likes aardvarks.\n");
    assert_eq!(coder.find("aardvarks"), ["agents/coder/MEMORY.md#L1"]);
    // Below what is there, unless told otherwise.
    coder.save("MEMORY.md", "# Tools\n\n- Uses vim.\n- Uses tmux.");
    assert_eq!(coder.find("tmux")[0], "agents/coder/MEMORY.md#L3-L6");
    coder.save("memory/2026-01-05.md", "A zebra came by.");
    assert_eq!(coder.find("zebra"), ["agents/coder/memory/2026-01-05.md#L1"]);
    let replaced = coder.call("save", json!({"content": "No zebra.", "file": "memory/2026-01-05.md", "append": false}));
    assert_eq!(coder.text(&vault, "memory/2026-01-05.md").unwrap(), "No zebra.\n");
    assert_eq!(replaced["file_deleted"], false);
    // The person sees it as any note.
    assert!(vault.find("aardvarks").iter().all(|path| path == "agents/coder/MEMORY.md"));

    let found = coder.call("search", json!({"query": "vim", "limit": 1}));
    let hit = &found["results"][0];
    assert!(hit["obsidian_url"].is_null() && found["took_ms"].is_null(), "{found}");
    let passage = coder.call("get", json!({"hash": hit["hash"]}));
    assert_eq!((&passage["text"], &passage["hash"]), (&hit["content"], &hit["hash"]));
    for body in [
        json!({"path": "MEMORY.md:5"}),
        json!({"path": "MEMORY.md", "line": 5}),
        json!({"path": "agents/coder/MEMORY.md:6"}),
    ] {
        assert_eq!(coder.call("get", body)["text"], passage["text"]);
    }
    let lines = coder.call("get", json!({"path": "MEMORY.md", "line": 5, "lines": 1}));
    assert_eq!((&lines["text"], &lines["citation"]), (&json!("- Uses vim.\n"), &json!("agents/coder/MEMORY.md#L5")));
    let whole = coder.call("get", json!({"path": "memory/2026-01-05.md"}));
    assert_eq!((&whole["text"], &whole["cut"]), (&json!("No zebra.\n"), &json!(false)));
    // What others derive is read, and never written.
    fs::write(vault.path("agents/coder/facts.md"), "- A fact on giraffes.\n").unwrap();
    vault.finds("giraffes", &["agents/coder/facts.md"]);
    assert_eq!(coder.find("giraffes"), ["agents/coder/facts.md#L1"]);
    assert_eq!(coder.refused("save", json!({"content": "x", "file": "facts.md"})).0, 400);
    assert_eq!(coder.call("get", json!({"path": "facts.md"}))["text"], "- A fact on giraffes.\n");

    for (body, status) in [
        (json!({}), 400),
        (json!({"hash": "0123456789abcdef"}), 404),
        (json!({"hash": "zzz"}), 400),
        (json!({"hash": hit["hash"], "path": "MEMORY.md"}), 400),
        (json!({"path": "MEMORY.md", "line": 0}), 400),
        (json!({"path": "MEMORY.md", "line": 99}), 404),
        (json!({"path": "memory/none.md"}), 404),
        (json!({"path": "agent.md"}), 404),
        (json!({"path": "agents/coder/agent.md"}), 404),
        (json!({"path": "", "lines": 1}), 404),
        (json!({"path": "MEMORY.md", "more": 1}), 422),
    ] {
        assert_eq!(coder.refused("get", body.clone()).0, status, "{body}");
    }
    assert!(coder.find("policy").is_empty(), "who it is, it is not told");
    // A text is deleted exactly.
    let coder = agent(&vault, "deleter", "");
    coder.save("MEMORY.md", "- one\n- two\n- one");
    let delete = |body: Value| coder.ask("delete", body);
    let (status, answer) = delete(json!({"text": "- one"}));
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("conflict")), "{answer}");
    assert_eq!(delete(json!({"text": "- three"})).0, 404);
    for body in [
        json!({}),
        json!({"text": ""}),
        json!({"text": "one", "whole_file": true, "file": "MEMORY.md"}),
        json!({"whole_file": true}),
        json!({"whole_file": false, "file": "MEMORY.md"}),
    ] {
        assert_eq!(delete(body.clone()).0, 400, "{body}");
    }
    assert_eq!(delete(json!({"whole_file": true, "file": "memory/none.md"})).0, 404);
    let gone = coder.call("delete", json!({"text": "- one", "all_matches": true}));
    assert_eq!((&gone["matches_removed"], &gone["file_deleted"]), (&json!(2), &json!(false)));
    assert_eq!(coder.text(&vault, "MEMORY.md").unwrap(), "- two\n");
    assert!(coder.find("one").is_empty());
    // The last of it takes the file along, unless it is to stay.
    let kept = coder.call("delete", json!({"text": "- two", "delete_if_empty": false}));
    assert_eq!((&kept["file_deleted"], coder.text(&vault, "MEMORY.md").as_deref()), (&json!(false), Some("")));
    coder.save("MEMORY.md", "- three");
    let gone = coder.call("delete", json!({"text": "- three"}));
    assert_eq!((&gone["file_deleted"], coder.text(&vault, "MEMORY.md")), (&json!(true), None));
    assert_eq!(gone["chunks"], 0);
    coder.save("memory/a.md", "- four");
    let gone = coder.call("delete", json!({"file": "memory/a.md", "whole_file": true}));
    assert_eq!((&gone["file_deleted"], &gone["matches_removed"]), (&json!(true), &Value::Null));
    assert!(coder.find("four").is_empty());
    assert!(vault.path(".trash/agents/deleter/memory/a.md").exists());
    // The names that Moltis has are understood.
    let coder = agent(&vault, "moltis", "");
    let saved = coder.call("save", json!({"content": "- The person likes green tea.\n- The person likes green ink."}));
    assert_eq!(saved["checkpointId"], saved["checkpoint_id"]);
    let hit = coder.call("search", json!({"query": "green tea"}))["results"][0].clone();
    assert_eq!(coder.call("get", json!({"chunk_id": hit["hash"]}))["hash"], hit["hash"]);
    let unclear = coder.call("forget", json!({"request": "green", "limit": 1}));
    assert_eq!((&unclear["needs_confirmation"], unclear["candidates"].as_array().unwrap().len()), (&json!(true), 1));
    assert_eq!(coder.refused("forget", json!({"request": "green", "limit": 0})).0, 400);
    assert_eq!(coder.refused("forget", json!({"request": "green", "query": "green"})).0, 422);
    let gone = coder.call("delete", json!({"file": "MEMORY.md", "delete_file": true}));
    assert_eq!(gone["file_deleted"], true);
    coder.call("restore", json!({"checkpointId": gone["checkpointId"]}));
    assert!(coder.text(&vault, "MEMORY.md").unwrap().contains("green ink"));
    // Only what is clear is forgotten.
    let coder = agent(&vault, "forgetter", "");
    coder.save("MEMORY.md", "# Likes\n\n- The person likes green tea.\n- The person likes dark mode.");
    coder.save("memory/health.md", "The dentist is on Monday.\n\nGreen is good for the eyes.");
    let before = all(&vault);
    let forget = |body: Value| coder.call("forget", body);
    let hashes = |answer: &Value| -> Vec<Value> {
        answer["candidates"].as_array().unwrap().iter().map(|candidate| candidate["hash"].clone()).collect()
    };
    // Two places have it.
    let unclear = forget(json!({"query": "green"}));
    assert_eq!(unclear["needs_confirmation"], true);
    let shown = |at: usize| unclear["candidates"][at]["text"].as_str().unwrap().to_lowercase();
    assert!(shown(0).contains("green") && shown(1).contains("green") && !shown(2).contains("green"), "{unclear}");
    assert_eq!((&unclear["deleted"], &unclear["checkpoint_ids"]), (&json!([]), &json!([])));
    let nothing = forget(json!({"query": "swimming"}));
    assert_eq!((&nothing["needs_confirmation"], hashes(&nothing).len()), (&json!(false), 0));
    // What would go.
    let dry = forget(json!({"query": "dentist", "dry_run": true}));
    assert_eq!(dry["needs_confirmation"], false);
    assert_eq!(dry["candidates"][0]["text"], "The dentist is on Monday.");
    assert_eq!(all(&vault), before, "nothing was deleted so far");

    let gone = forget(json!({"query": "dentist"}));
    assert_eq!(gone["deleted"][0]["citation"], "agents/forgetter/memory/health.md#L1");
    assert_eq!(gone["checkpoint_ids"].as_array().unwrap().len(), 1);
    assert_eq!(coder.text(&vault, "memory/health.md").unwrap(), "Green is good for the eyes.\n");
    assert!(coder.find("dentist").is_empty());
    // By the name of a candidate, and of that alone.
    let mut candidates = unclear["candidates"].as_array().unwrap().iter();
    let tea = candidates.find(|candidate| candidate["text"].as_str().unwrap().contains("tea")).unwrap();
    forget(json!({"query": tea["hash"]}));
    assert_eq!(coder.text(&vault, "MEMORY.md").unwrap(), "# Likes\n\n- The person likes dark mode.\n");
    // The last takes the file along; of one with the person's frontmatter that stays.
    forget(json!({"query": "good for the eyes"}));
    assert_eq!(coder.text(&vault, "memory/health.md"), None);
    fs::write(vault.path("agents/forgetter/memory/p.md"), "---\ntitle: Mine\n---\n\nA lonely walrus.\n").unwrap();
    vault.finds("walrus", &["agents/forgetter/memory/p.md"]);
    forget(json!({"query": "lonely walrus"}));
    assert_eq!(coder.text(&vault, "memory/p.md").unwrap(), "---\ntitle: Mine\n---\n");
    assert_eq!(coder.refused("forget", json!({"query": " "})).0, 400);
    // Requests that make no sense are refused.
    let coder = agent(&vault, "nobody", "");
    for (tool, body, status) in [
        ("search", json!({}), 422),
        ("search", json!({"query": "x", "limit": 0}), 400),
        ("search", json!({"query": "x".repeat(20_000)}), 400),
        ("save", json!({"content": 1}), 422),
        ("save", json!({"content": "x", "file": null, "append": "yes"}), 422),
        ("save", json!(["x"]), 422),
        ("forget", json!({"query": "x".repeat(60_000)}), 400),
        ("restore", json!({"checkpoint_id": "../../agents.json"}), 404),
        ("restore", json!({"checkpoint_id": "20260105T183000123-a1b2"}), 404),
    ] {
        assert_eq!(coder.refused(tool, body.clone()).0, status, "{tool} {body}");
    }
    assert_eq!(coder.ask("nothing", json!({})).0, 404);
    assert_eq!(vault.get_as(&coder.token, "/api/memory/search").status, 405);
    assert_eq!(vault.send(&Request::new("POST", "/api/memory/search").json("{\"query\": \"x\"}")).status, 401);
}
