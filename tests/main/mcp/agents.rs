//! What agents see over MCP: what they were given, and of the rest not even that it is there.

use super::vault;
use crate::support::prelude::*;

/// Makes an agent and gives its token.
#[track_caller]
fn add(vault: &Daemon, args: &[&str]) -> String {
    vault.run(&[&["agent", "add"], args, &["--json"]].concat()).ok().json()["token"].as_str().unwrap().to_owned()
}

fn agent(vault: &Daemon, name: &str) -> Mcp {
    Mcp::start(&mut vault.command(&["mcp", "--agent", name]))
}

#[test]
fn an_agent_sees_what_it_was_given_by_its_token_as_by_its_name() {
    let vault = vault().started();
    let token = add(&vault, &["Ada Lovelace", "--allow", "--collections", "notes"]);
    add(&vault, &["Nobody's Friend"]);
    let mut ada = agent(&vault, "ada-lovelace");
    let status = ada.tool("status", json!({}));
    assert_eq!((&status["notes"], &status["collections"]), (&json!(2), &json!({ "notes": 3 })), "{status}");
    assert_eq!(status.get("vault"), None, "how the vault is kept is the person's business");
    let found = ada.tool("search", json!({ "query": "tomatoes" }));
    assert!(found["results"].as_array().unwrap().iter().all(|hit| hit["path"] == "notes/garden.md"), "{found}");
    let listed = ada.result("resources/list", json!({}));
    assert_eq!(listed["resources"].as_array().unwrap().len(), 2, "{listed}");
    let mut other = Mcp::start(vault.command(&["mcp"]).env("VAULT_AGENT", "Nobody's Friend"));
    assert_eq!(other.tool("status", json!({})), json!({ "notes": 0, "passages": 0, "collections": {} }));
    assert_eq!(other.tool("search", json!({ "query": "tomatoes" }))["results"], json!([]));
    assert_eq!(other.result("resources/list", json!({}))["resources"], json!([]));
    // What an agent read is logged.
    let log = vault.run(&["agent", "log", "ada-lovelace"]).ok().stdout;
    assert!(log.contains("notes/garden.md"), "{log}");
    // A token and a name give the same.
    for params in [
        json!({ "name": "search", "arguments": { "query": "tomatoes" } }),
        json!({ "name": "get", "arguments": { "what": "notes/diary.md" } }),
        json!({ "name": "status" }),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let reply = vault.post_as(&token, "/mcp?answers=structured", &body);
        assert_eq!(reply.json()["result"], ada.ask("tools/call", params)["result"]);
    }
}

#[test]
fn an_agent_that_is_gone_is_told_so() {
    let mut vault = vault();
    add(&vault, &["ada", "--allow"]);
    let ran = vault.run(&["mcp", "--agent", "bob"]);
    assert!(ran.code == 2 && ran.stderr.contains("no agent `bob`") && ran.stdout.is_empty(), "{}", ran.stderr);
    vault.start();
    let mut ada = agent(&vault, "ada");
    assert_eq!(ada.tool("search", json!({ "query": "plums" }))["results"].as_array().unwrap().len(), 1);
    vault.run(&["agent", "deny", "ada"]).ok();
    assert_eq!(ada.tool("search", json!({ "query": "plums" }))["results"], json!([]), "at once");
    vault.run(&["agent", "remove", "ada"]).ok();
    let error = ada.error("tools/call", json!({ "name": "search", "arguments": { "query": "plums" } }));
    assert!(error["message"].as_str().unwrap().contains("no agent of this name"), "{error}");
}

#[test]
fn an_agent_gets_no_more_than_its_limits() {
    let mut vault = Daemon::vault();
    vault.write("notes/long.md", "a line of the long note\n".repeat(200)).write("notes/short.md", "short\n").start();
    let limits = "limits: { max_injected_chars: 1000, requests_per_minute: 12 }";
    vault.write("agents/ada/agent.md", format!("---\ncan_read_user_memory: true\n{limits}\n---\n")).settle();
    let mut ada = agent(&vault, "ada");
    let part = ada.tool("get", json!({ "what": "notes/long.md" }));
    assert!(part["text"].as_str().unwrap().len() <= 1000 && part["next_line"] == 42, "{part}");
    let many = ada.tool("get", json!({ "glob": "notes/*", "max_bytes": 100_000 }));
    assert!(many.to_string().len() < 3000, "{many}");
    assert!(ada.error("resources/read", json!({ "uri": "vault://notes/long.md" }))["message"].is_string());
    let short = ada.result("resources/read", json!({ "uri": "vault://notes/short.md" }));
    assert_eq!(short["contents"][0]["text"], "short\n");
    let refused = (0..20).map(|_| ada.ask("ping", json!({}))).find(|answer| answer["error"].is_object());
    let refused = refused.expect("too many requests in a minute");
    assert!(refused["error"]["message"].as_str().unwrap().contains("too many requests"), "{refused}");
}

#[test]
fn an_agent_remembers_for_itself() {
    let vault = vault().started();
    add(&vault, &["ada"]);
    add(&vault, &["bob"]);
    let mut ada = agent(&vault, "ada");
    let saved = ada.tool("memory", json!({ "action": "save", "content": "The person likes aardvarks." }));
    assert_eq!((&saved["path"], &saved["searchable"]), (&json!("agents/ada/MEMORY.md"), &json!(true)), "{saved}");
    let found = ada.tool("memory", json!({ "action": "search", "query": "aardvarks" }));
    assert_eq!(found["results"][0]["citation"], "agents/ada/MEMORY.md#L1", "{found}");
    assert_eq!(ada.refused("memory", json!({ "action": "search", "query": " " })), "invalid: `query` is empty");
    let got = ada.tool("memory", json!({ "action": "get", "hash": found["results"][0]["hash"] }));
    assert!(got["text"].as_str().unwrap().contains("likes aardvarks"), "{got}");
    let got = ada.tool("memory", json!({ "action": "get", "path": "agents/ada/MEMORY.md#L1" }));
    assert!(got["text"].as_str().unwrap().contains("likes aardvarks"), "by its citation: {got}");
    assert_eq!(ada.tool("memory", json!({ "action": "list" }))["files"], json!(["agents/ada/MEMORY.md"]));
    let mut bob = agent(&vault, "bob");
    assert_eq!(bob.tool("memory", json!({ "action": "list" }))["files"], json!([]));
    assert_eq!(bob.tool("memory", json!({ "action": "search", "query": "aardvarks" }))["results"], json!([]));
    let dry = ada.tool("memory", json!({ "action": "forget", "query": "aardvarks", "dry_run": true }));
    assert_eq!((dry["candidates"].as_array().unwrap().len(), &dry["deleted"]), (1, &json!([])), "{dry}");
    let gone = ada.tool("memory", json!({ "action": "forget", "query": "aardvarks" }));
    assert!(!vault.path("agents/ada/MEMORY.md").exists(), "{gone}");
    ada.tool("memory", json!({ "action": "undo", "checkpoint_id": gone["checkpoint_ids"][0] }));
    assert!(vault.path("agents/ada/MEMORY.md").exists());
    let text = "The person likes aardvarks.";
    let gone = ada.tool("memory", json!({ "action": "delete", "file": "MEMORY.md", "text": text }));
    assert_eq!(gone["matches_removed"], 1, "{gone}");
    for arguments in [
        json!({ "action": "save", "content": "x", "file": "../bob/MEMORY.md" }),
        json!({ "action": "save", "content": "x", "file": "agent.md" }),
        json!({ "action": "save", "content": "x", "path": "MEMORY.md" }),
        json!({ "action": "get", "path": "/etc/passwd" }),
        json!({ "action": "get", "path": "../bob/agent.md" }),
        json!({ "action": "delete", "file": "memory/%2e%2e/agent.md", "whole_file": true }),
        json!({ "action": "undo", "checkpoint_id": "../../agents.json" }),
    ] {
        ada.refused("memory", arguments);
    }
    // The person has notes, and none of these tools.
    let mut owner = super::owner(&vault);
    let listed = owner.result("tools/list", json!({})).to_string();
    assert!(!listed.contains("\"name\":\"memory\"") && listed.contains("\"name\":\"search\""), "{listed}");
    assert!(owner.refused("memory", json!({ "action": "save", "content": "x" })).starts_with("forbidden: "));
    let listed = ada.result("tools/list", json!({}))["tools"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 10, "{listed}");
}

/// The JSON in `docs/mcp.md` is what a person pastes.
#[test]
fn the_set_ups_in_the_documentation_work() {
    let vault = vault();
    add(&vault, &["claude", "--allow"]);
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/mcp.md")).unwrap();
    let blocks = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let inline = page.lines().filter_map(|line| line.split_once("openclaw mcp set vault '")?.1.strip_suffix('\''));
    let mut tried = 0;
    for text in blocks.chain(inline) {
        let json: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let server = ["mcpServers", "servers"].iter().find_map(|key| json[key].get("vault")).unwrap_or(&json);
        assert_eq!(server["command"], "vault");
        let args: Vec<&str> = server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        let args: Vec<&str> = args.into_iter().filter(|arg| !["--vault", "/home/maya/vault"].contains(arg)).collect();
        let mut mcp = Mcp::start(&mut vault.command(&args));
        assert_eq!(mcp.tool("search", json!({ "query": "plums" }))["results"].as_array().unwrap().len(), 1);
        tried += 1;
    }
    assert_eq!(tried, 4);
}
