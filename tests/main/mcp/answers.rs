//! In which form a client gets its answers: once, and in the one that it shows its model.

use serde_json::{Value, json};

use super::{owner, vault};
use crate::support::{Daemon, Mcp, Request};

/// `vault mcp` with more arguments, as a client of a name and a version starts it.
fn client(vault: &Daemon, args: &[&str], name: &str, version: &str) -> Mcp {
    let mut mcp = Mcp::spawn(&mut vault.command(&[&["mcp", "--owner"], args].concat()));
    mcp.result("initialize", hello(name, version));
    mcp.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    mcp
}

fn hello(name: &str, version: &str) -> Value {
    json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": name, "version": "1" } })
}

/// Whether an answer is structured content; it is one of both, and nothing of it is there twice.
#[track_caller]
fn is_structured(result: &Value) -> bool {
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    match result["structuredContent"]["results"][0]["snippet"].as_str() {
        Some(snippet) => {
            assert!(snippet.contains("on Mondays") && !text.contains("on Mondays"), "{result}");
            assert!(text.contains(" for `water Mondays`") && text.contains("--answers text"), "{text}");
            assert!(text.lines().count() == 1 && text.len() < 400, "{text}");
            true
        }
        None => {
            assert_eq!(result.get("structuredContent"), None, "{result}");
            assert!(text.contains("[notes/garden.md#L1-L3] Garden") && text.contains("on Mondays"), "{text}");
            assert!(!text.contains("--answers"), "{text}");
            false
        }
    }
}

#[test]
fn an_answer_comes_once_and_in_the_form_that_the_client_shows() {
    let mut vault = vault();
    vault.start();
    for (args, name, version, structured) in [
        (&[][..], "claude-code", "2025-11-25", true),
        (&[], "cursor-vscode", "2025-06-18", true),
        (&[], "a program of one's own", "2025-11-25", true),
        (&[], "claude-ai", "2025-11-25", false),
        (&[], "gemini-cli-mcp-client", "2025-06-18", false),
        (&[], "a program of old", "2025-03-26", false),
        (&["--answers", "text"], "claude-code", "2025-11-25", false),
        (&["--answers", "structured"], "claude-ai", "2024-11-05", true),
    ] {
        let mut mcp = client(&vault, args, name, version);
        let result = mcp.call("search", json!({ "query": "water\nMondays" }));
        assert_eq!(is_structured(&result), structured, "{name} {version}");
        // A client holds the answer to the schema, where it was given one.
        let tools = mcp.result("tools/list", json!({}))["tools"].clone();
        for tool in tools.as_array().unwrap() {
            assert_eq!(tool.get("outputSchema").is_some(), structured, "{name} {version}: {tool}");
        }
    }
}

#[test]
fn over_http_the_session_says_what_the_handshake_did() {
    let mut vault = vault();
    vault.start();
    let send = |target: &str, headers: &[(&str, &str)], method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = Request::new("POST", target).json(body.to_string());
        vault.ask(headers.iter().fold(request, |request, (name, value)| request.header(name, value)))
    };
    let found = |target: &str, headers: &[(&str, &str)]| {
        let call = json!({ "name": "search", "arguments": { "query": "water Mondays" } });
        is_structured(&send(target, headers, "tools/call", call).json()["result"])
    };
    let version = ("MCP-Protocol-Version", "2025-11-25");
    assert!(found("/mcp", &[version]));
    assert!(!found("/mcp", &[("MCP-Protocol-Version", "2025-03-26")]));
    assert!(!found("/mcp", &[]), "a request without the header is of an old version");
    assert!(found("/mcp?answers=structured", &[]) && !found("/mcp?answers=text", &[version]));
    assert_eq!(send("/mcp?answers=both", &[version], "ping", json!({})).status, 400);

    let shook = send("/mcp", &[], "initialize", hello("claude-ai", "2025-11-25"));
    let session = shook.header("mcp-session-id").expect("a client that shows text alone").to_owned();
    assert!(!found("/mcp", &[version, ("Mcp-Session-Id", &session)]));
    // It outlives the daemon, which knows nothing of it.
    vault.terminate();
    vault.start();
    let call = json!({ "name": "search", "arguments": { "query": "water Mondays" } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
    let request = Request::new("POST", "/mcp").json(body.to_string());
    let reply = vault.ask(request.header(version.0, version.1).header("Mcp-Session-Id", &session));
    assert!(!is_structured(&reply.json()["result"]));
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello("claude-code", "2025-11-25") });
    assert_eq!(vault.ask(Request::new("POST", "/mcp").json(body.to_string())).header("mcp-session-id"), None);
}

#[test]
fn one_thing_is_not_told_of_as_many() {
    let mut vault = vault();
    vault.start();
    let mut mcp = client(&vault, &["--answers", "text"], "test", "2025-11-25");
    let mut text =
        |tool: &str, arguments: Value| mcp.call(tool, arguments)["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text("search", json!({ "query": "plums" })).starts_with("1 passage for `plums`. "));
    assert!(
        text("search", json!({ "query": "the", "limit": 2 })).starts_with("2 passages for `the`, the best first. ")
    );
    let status = text("status", json!({}));
    assert!(status.starts_with("4 notes, ") && status.contains("- vault: 1 passage\n"), "{status}");
    vault.write("notes/short.md", "short\n");
    let mut mcp = owner(&vault);
    crate::support::eventually("the note", || {
        (mcp.call("get", json!({ "what": "notes/short.md" }))["isError"] == false).then_some(())
    });
    let said = mcp.refused("get", json!({ "what": "notes/short.md:2" }));
    assert_eq!(said, "invalid: notes/short.md has 1 line; line 2 was asked for");
    let many = mcp.call("multi_get", json!({ "what": ["notes/short.md", "notes/none.md"] }));
    assert!(many["content"][0]["text"].as_str().unwrap().starts_with("1 text, 1 could not be had. "), "{many}");
}

#[test]
fn an_unknown_collection_is_named_with_those_that_are_there() {
    let mut vault = vault();
    vault.start();
    let mut mcp = owner(&vault);
    for tool in ["search", "deep_search"] {
        let said = mcp.refused(tool, json!({ "query": "tomatoes", "collection": "note" }));
        assert_eq!(said, "invalid: there is no collection `note` (there are `notes`, `vault`)");
        let none = mcp.tool(tool, json!({ "query": "zeppelin", "collection": "vault" }));
        assert_eq!(none["results"], json!([]), "a collection without a hit is one all the same");
    }
}

#[test]
fn the_text_of_an_answer_says_where_passages_are_as_the_settings_say() {
    let mut vault = vault();
    let set = |vault: &Daemon, citations: &str| {
        std::fs::write(vault.path("memory.toml"), format!("[search]\n{citations}")).unwrap();
    };
    for (citations, head, line) in [
        ("", true, false),
        ("citations = \"auto\"\n", true, false),
        ("citations = \"on\"\n", true, true),
        ("citations = \"off\"\n", false, false),
    ] {
        set(&vault, citations);
        vault.start();
        let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--owner", "--answers", "text"]));
        let said = mcp.call("search", json!({ "query": "Mondays" }))["content"][0]["text"].as_str().unwrap().to_owned();
        assert_eq!((said.contains(".md#L"), said.contains("\nSource: notes/garden.md#1\n")), (head, line), "{said}");
        assert!(said.contains("Mondays") && said.contains("hash "), "{said}");
        drop(mcp);
        let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--owner", "--answers", "structured"]));
        let found = mcp.call("search", json!({ "query": "Mondays" }));
        let hit = &found["structuredContent"]["results"][0];
        assert!(hit["citation"].as_str().unwrap().contains(".md#L") && hit["line_start"].is_u64(), "{found}");
        drop(mcp);
        vault.terminate();
    }
    let shown = |more: &[&str]| vault.run(&[&["search", "Mondays", "--mode", "keyword"], more].concat()).ok().stdout;
    assert!(!shown(&[]).contains(".md#"), "{}", shown(&[]));
    for on in [["--citations", "on"], ["--set", "citations=on"]] {
        let said = shown(&on);
        assert!(said.contains(".md#L") && said.contains("    Source: notes/garden.md#1\n"), "{said}");
    }
    assert!(!shown(&["--citations", "auto"]).contains("Source:"));
    assert!(shown(&["--json"]).contains(".md#L"));
}

#[test]
fn what_a_schema_says_of_an_argument_is_so() {
    let mut vault = vault();
    vault.start();
    vault.run(&["agent", "add", "ada", "--allow"]).ok();
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--agent", "ada"]));
    let tools = mcp.result("tools/list", json!({}))["tools"].clone();
    let mut tried = 0;
    for tool in tools.as_array().unwrap() {
        for (name, field) in tool["inputSchema"]["properties"].as_object().into_iter().flatten() {
            let wrong = [
                field["minLength"].as_u64().map(|least| json!("x".repeat(least as usize - 1))),
                field["minItems"].as_u64().map(|least| json!(vec!["x"; least as usize - 1])),
                field["maxItems"].as_u64().map(|most| json!(vec!["x"; most as usize + 1])),
                field["minimum"].as_i64().map(|least| json!(least - 1)),
                field["maximum"].as_i64().map(|most| json!(most + 1)),
            ];
            for value in wrong.into_iter().flatten() {
                let said = mcp.refused(tool["name"].as_str().unwrap(), json!({ name: value }));
                assert!(said.starts_with(&format!("invalid: `{name}` ")), "{}: {said}", tool["name"]);
                tried += 1;
            }
        }
    }
    assert!(tried >= 20, "{tried}");
}
