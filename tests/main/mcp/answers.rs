//! In which form a client gets its answers: as text that any model reads, and as structured content where it asks for that.

use super::{owner, vault};
use crate::support::prelude::*;

/// `vault mcp` with more arguments, as a client of a name and with capabilities starts it.
fn client(vault: &Daemon, args: &[&str], name: &str, capabilities: &Value) -> Mcp {
    let mut mcp = Mcp::spawn(&mut vault.command(&[&["mcp", "--owner"], args].concat()));
    mcp.shake_hands(name, capabilities);
    mcp
}

fn wanted() -> Value {
    json!({ "experimental": { "structuredContent": {} } })
}

/// Whether an answer is structured content. Its text has all of it in either case.
#[track_caller]
fn is_structured(result: &Value) -> bool {
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("notes/garden.md#L1-L3") && text.contains("on Mondays"), "{text}");
    match result.get("structuredContent") {
        Some(content) => {
            assert!(content["results"][0]["snippet"].as_str().unwrap().contains("on Mondays"), "{result}");
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), *content, "the same, as the specification has it");
            true
        }
        None => {
            assert!(text.starts_with("2 passages for `water Mondays`, best first. "), "{text}");
            assert!(text.contains("\n[notes/garden.md#L1-L3] Garden"), "{text}");
            false
        }
    }
}

#[test]
fn an_answer_is_text_and_says_what_there_is() {
    let mut vault = vault().started();
    // An answer is text unless a client asks for more.
    for (args, name, capabilities, structured) in [
        (&[][..], "claude-code", json!({}), false),
        (&[], "claude-ai", json!({}), false),
        (&[], "a program of one's own", json!({ "roots": {} }), false),
        (&[], "a program of one's own", wanted(), true),
        (&[], "openai-mcp", json!({}), true),
        (&["--answers", "text"], "openai-mcp", wanted(), false),
        (&["--answers", "structured"], "claude-ai", json!({}), true),
    ] {
        let mut mcp = client(&vault, args, name, &capabilities);
        let result = mcp.call("search", json!({ "query": "water\nMondays" }));
        assert_eq!(is_structured(&result), structured, "{name} {args:?}");
        assert!(!mcp.result("tools/list", json!({})).to_string().contains("outputSchema"));
    }
    // An unknown collection is named with those that are there.
    let mut mcp = owner(&vault);
    for mode in ["keyword", "hybrid", "deep"] {
        let said = mcp.refused("search", json!({ "mode": mode, "query": "tomatoes", "collection": "note" }));
        assert_eq!(said, "invalid: there is no collection `note` (the collections are `notes`, `vault`)");
        let none = mcp.tool("search", json!({ "mode": mode, "query": "zeppelin", "collection": "vault" }));
        assert_eq!(none["results"], json!([]), "a collection without a hit is one all the same");
    }
    // One thing is not told of as many.
    let mut mcp = client(&vault, &["--answers", "text"], "test", &json!({}));
    let mut text =
        |tool: &str, arguments: Value| mcp.call(tool, arguments)["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text("search", json!({ "query": "plums" })).starts_with("1 passage for `plums`. "));
    assert!(text("search", json!({ "query": "the", "limit": 2 })).starts_with("2 passages for `the`, best first. "));
    let status = text("status", json!({}));
    assert!(status.starts_with("4 notes, ") && status.contains("- vault: 1 passage\n"), "{status}");
    vault.write("notes/short.md", "short\n");
    let mut mcp = owner(&vault);
    until("the note", || mcp.call("get", json!({ "what": "notes/short.md" }))["isError"] == false);
    let said = mcp.refused("get", json!({ "what": "notes/short.md:2" }));
    assert_eq!(said, "invalid: notes/short.md has 1 line; there is no line 2");
    let mut mcp = client(&vault, &[], "test", &json!({}));
    let many = mcp.call("get", json!({ "list": ["notes/short.md", "notes/none.md"] }));
    assert!(many["content"][0]["text"].as_str().unwrap().starts_with("1 text, 1 failed. "), "{many}");
}

#[test]
fn over_http_the_session_says_what_the_handshake_did() {
    let mut vault = vault().started();
    let send = |vault: &Daemon, target: &str, headers: &[(&str, &str)], method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = Request::send("POST", target, &body);
        vault.ask(headers.iter().fold(request, |request, (name, value)| request.header(name, value)))
    };
    let found = |vault: &Daemon, target: &str, headers: &[(&str, &str)]| {
        let call = json!({ "name": "search", "arguments": { "query": "water Mondays" } });
        is_structured(&send(vault, target, headers, "tools/call", call).json()["result"])
    };
    let version = ("MCP-Protocol-Version", VERSION);
    assert!(!found(&vault, "/mcp", &[version]) && !found(&vault, "/mcp", &[]));
    assert!(found(&vault, "/mcp?answers=structured", &[]) && !found(&vault, "/mcp?answers=text", &[version]));
    assert_eq!(send(&vault, "/mcp?answers=both", &[version], "ping", json!({})).status, 400);

    let shook = send(&vault, "/mcp", &[], "initialize", hello(VERSION, "x", &wanted()));
    let session = shook.header("mcp-session-id").expect("a client that asked for it").to_owned();
    assert!(found(&vault, "/mcp", &[version, ("Mcp-Session-Id", &session)]));
    // It outlives the daemon, which knows nothing of it.
    vault.restart();
    assert!(found(&vault, "/mcp", &[version, ("Mcp-Session-Id", &session)]));
    let shook = send(&vault, "/mcp", &[], "initialize", hello(VERSION, "claude-code", &json!({})));
    assert_eq!(shook.header("mcp-session-id"), None);
}

/// What a model pays for a hit: its place, what it stands under, how likely it answers, and the part of it that does.
#[test]
fn a_hit_takes_120_tokens_at_most() {
    let mut vault = Daemon::vault();
    let filler = "Everything else that was talked about on that long evening, at some length. ".repeat(6);
    let chapter = "A chapter with a very long name indeed ".repeat(6);
    vault.write("notes/long.md", format!("# {chapter}\n\n{filler}The aardvark sleeps in the shed. {filler}\n"));
    vault.write("notes/table.md", format!("# Table\n\n{}| aardvark | 17.5 |\n", "| a-b | 3.14 | x_y |\n".repeat(30)));
    vault.write("notes/字.md", format!("# 字\n\n{} aardvark {}\n", "漢字仮名交じり文。".repeat(30), "漢字".repeat(99)));
    vault.start().settle();
    let mut mcp = client(&vault, &[], "x", &json!({}));
    let found = mcp.call("search", json!({ "query": "\"aardvark\"" }));
    let found = found["content"][0]["text"].as_str().unwrap();
    let hits: Vec<&str> = found.split("\n[").skip(1).collect();
    assert_eq!(hits.len(), 3, "{found}");
    for hit in hits {
        let tokens = memory_vault::text::derive::token_estimate(hit);
        assert!(tokens <= 125 && hit.contains("aardvark"), "{tokens}: {hit}");
        let (head, _) = hit.split_once('\n').unwrap();
        let relevance = head.rsplit_once('(').unwrap().1.split(',').next().unwrap();
        assert!(head.contains(".md#L") && relevance.parse::<f64>().is_ok_and(|share| share <= 1.0), "{head}");
    }
}

#[test]
fn the_text_of_an_answer_says_where_passages_are_as_the_settings_say() {
    let vault = vault();
    for (citations, head, line) in [
        ("", true, false),
        ("citations = \"auto\"\n", true, false),
        ("citations = \"on\"\n", true, true),
        ("citations = \"off\"\n", false, false),
    ] {
        fs::write(vault.path("memory.toml"), format!("[embed]\nmodel = \"none\"\n[search]\n{citations}")).unwrap();
        let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--owner", "--answers", "text"]));
        let said = mcp.call("search", json!({ "query": "Mondays" }))["content"][0]["text"].as_str().unwrap().to_owned();
        assert_eq!((said.contains(".md#L"), said.contains("\nSource: notes/garden.md#1\n")), (head, line), "{said}");
        // Where no place is said, a passage has a name to be asked for by.
        assert_eq!((said.contains("Mondays"), said.contains(" hash ")), (true, !head), "{said}");
        assert_eq!(mcp.finish().0, 0);
        let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--owner", "--answers", "structured"]));
        let found = mcp.call("search", json!({ "query": "Mondays" }));
        let hit = &found["structuredContent"]["results"][0];
        assert!(hit["citation"].as_str().unwrap().contains(".md#L") && hit["line_start"].is_u64(), "{found}");
        assert_eq!(mcp.finish().0, 0);
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
    let vault = vault().started();
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
                // Of a tool that does several things one takes it.
                let actions = tool["inputSchema"]["properties"]["action"]["enum"].as_array().cloned();
                let calls = match actions {
                    Some(actions) => actions.iter().map(|action| json!({ "action": action, name: value })).collect(),
                    None => vec![json!({ name: value })],
                };
                let refused = |call| mcp.refused(tool["name"].as_str().unwrap(), call);
                let said: Vec<String> = calls.into_iter().map(refused).collect();
                let starts = format!("invalid: `{name}` ");
                assert!(said.iter().any(|said| said.starts_with(&starts)), "{}: {said:?}", tool["name"]);
                tried += 1;
            }
        }
    }
    assert!(tried >= 20, "{tried}");
}
