//! What each tool, resource and prompt gives.

use super::{owner, vault};
use crate::support::prelude::*;

fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap()).collect()
}

#[test]
fn every_tool_resource_and_prompt_gives_what_it_says() {
    let vault = vault().started();
    let mut mcp = owner(&vault);
    // Searches give passages with citations.
    for mode in ["keyword", "hybrid", "deep"] {
        let found = mcp.tool("search", json!({ "mode": mode, "query": "water tomatoes", "collection": "notes" }));
        let hit = &found["results"][0];
        assert_eq!(hit["citation"], "notes/garden.md#L1-L3", "{found}");
        assert_eq!((&hit["path"], &hit["url"]), (&json!("notes/garden.md"), &json!("vault://notes/garden.md")));
        assert!(hit["snippet"].as_str().unwrap().contains("on Mondays") && hit["tags"] == json!(["plants"]), "{hit}");
        assert!(!found.to_string().contains("obsidian://"), "it says where the vault is: {found}");
    }
    // Without a model the words answer, and the answer says so.
    let found = mcp.tool("search", json!({ "mode": "semantic", "query": "tomatoes" }));
    assert!(found["degraded"].as_str().is_some_and(|why| why.contains("model")), "{found}");
    assert_eq!(mcp.tool("search", json!({ "query": "zeppelin" }))["results"], json!([]));
    let one = mcp.tool("search", json!({ "query": "the", "limit": 1 }));
    assert_eq!(one["results"].as_array().unwrap().len(), 1);
    // `get` takes whatever names a passage or a note.
    let hit = mcp.tool("search", json!({ "query": "roses" }))["results"][0].clone();
    let passage = mcp.tool("get", json!({ "what": hit["hash"] }));
    assert_eq!((&passage["citation"], &passage["hash"]), (&hit["citation"], &hit["hash"]));
    assert!(passage["text"].as_str().unwrap().contains("Cut them in March"), "{passage}");
    for (arguments, citation, text) in [
        (json!({ "what": "notes/garden.md:7" }), "notes/garden.md#L7", "Cut them in March.\n"),
        (json!({ "what": "notes/garden.md:5-7" }), "notes/garden.md#L5-L7", "## Roses\n\nCut them in March.\n"),
        (json!({ "what": "notes/garden.md#L5-L5" }), "notes/garden.md#L5", "## Roses\n"),
        (json!({ "what": "notes/garden.md", "line": 5, "lines": 1 }), "notes/garden.md#L5", "## Roses\n"),
        (
            json!({ "what": "vault://notes/my%20cellar%20%C3%BC.md", "lines": 1 }),
            "notes/my cellar ü.md#L1",
            "# Cellar\n",
        ),
    ] {
        let got = mcp.tool("get", arguments);
        assert_eq!((got["citation"].as_str(), got["text"].as_str()), (Some(citation), Some(text)), "{got}");
    }
    let whole = mcp.tool("get", json!({ "what": "facts.md" }));
    assert_eq!((&whole["total_lines"], &whole["line_end"]), (&json!(3), &json!(3)), "{whole}");
    assert!(mcp.refused("get", json!({ "what": "facts.md:4" })).starts_with("invalid: facts.md has 3 lines"));
    assert!(mcp.refused("get", json!({ "what": "facts.md:3-2" })).starts_with("invalid: "));
    assert!(mcp.refused("get", json!({ "what": hit["hash"], "line": 1 })).starts_with("invalid: "));
    assert!(mcp.refused("get", json!({ "what": "notes/none.md" })).starts_with("not_found: "));
    assert!(mcp.refused("get", json!({ "what": "ffffffffffffffff" })).starts_with("not_found: "));
    // Status says what there is.
    let status = mcp.tool("status", json!({}));
    assert_eq!((&status["notes"], &status["collections"]["vault"]), (&json!(4), &json!(1)), "{status}");
    assert_eq!(status["vault"]["caught_up"], true, "{status}");
    // Every tool says what it does.
    let tools = owner(&vault).result("tools/list", json!({}))["tools"].clone();
    let names = texts(&tools, "name");
    for name in ["search", "get", "context", "related", "graph", "status", "fetch"] {
        let tool = &tools[names.iter().position(|known| *known == name).expect(name)];
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
    // Prompts take their argument.
    let prompts = mcp.result("prompts/list", json!({}))["prompts"].clone();
    assert_eq!(texts(&prompts, "name"), ["recall", "context"], "only agents have a memory of their own to remember in");
    for (name, argument) in [("recall", "topic"), ("context", "question"), ("remember", "text")] {
        let got = mcp.result("prompts/get", json!({ "name": name, "arguments": { argument: "the plums" } }));
        assert_eq!(got["messages"][0]["role"], "user");
        assert!(got["messages"][0]["content"]["text"].as_str().unwrap().contains("\n\nthe plums\n\n"), "{got}");
        for arguments in
            [json!({}), json!({ argument: 7 }), json!({ argument: " " }), json!({ argument: "x", "more": "y" })]
        {
            assert_eq!(mcp.error("prompts/get", json!({ "name": name, "arguments": arguments }))["code"], -32602);
        }
    }
    assert_eq!(mcp.error("prompts/get", json!({ "name": "forget" }))["code"], -32602);
}

/// ChatGPT reads JSON out of the text, and nothing but that.
#[test]
fn search_and_fetch_have_the_shape_that_chatgpt_reads() {
    let vault = vault().with("notes/long.md", "A long line about walruses.\n".repeat(4000)).started();
    let mut mcp = Mcp::spawn(&mut vault.command(&["mcp", "--owner"]));
    mcp.result("initialize", hello("2025-06-18", "openai-mcp", &json!({})));
    let mut read = |tool: &str, arguments: Value| -> Value {
        let result = mcp.call(tool, arguments);
        assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap())
            .unwrap_or_else(|error| panic!("{error}: {result}"))
    };
    let found = read("search", json!({ "query": "water the tomatoes on Mondays" }));
    let hit = &found["results"][0];
    assert_eq!((&hit["title"], &hit["url"]), (&json!("Garden"), &json!("vault://notes/garden.md")), "{found}");
    let got = read("fetch", json!({ "id": hit["id"] }));
    assert_eq!((&got["id"], &got["title"], &got["url"]), (&hit["id"], &hit["title"], &hit["url"]), "{got}");
    assert!(got["text"].as_str().unwrap().contains("Cut them in March"), "the whole of it: {got}");
    assert_eq!(got["metadata"]["citation"], "notes/garden.md#L1-L7");
    // What does not fit in an answer goes on at another `id`.
    let start = read("fetch", json!({ "id": "notes/long.md" }));
    let rest = read("fetch", json!({ "id": start["metadata"]["next_id"] }));
    assert!(rest["metadata"]["citation"].as_str().unwrap().starts_with(start["metadata"]["next_id"].as_str().unwrap()));
    // Whoever reads text is given the same document, and a compact search.
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--owner", "--answers", "text"]));
    let text = mcp.call("fetch", json!({ "id": "notes/garden.md#L1-L3" }))["content"][0]["text"].clone();
    assert_eq!(serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap(), got);
}

#[test]
fn get_keeps_to_its_room_and_gives_a_long_note_in_parts() {
    let mut vault = vault();
    vault
        .write("long/a.md", "a long line\n".repeat(200))
        .write("long/b.md", "b\n")
        .write("long/c.md", "c\n".repeat(900));
    vault.start();
    let mut mcp = owner(&vault);
    let got =
        mcp.tool("get", json!({ "list": ["facts.md", "../x.md", "notes/none.md", "vault://notes/garden.md#L7"] }));
    assert_eq!(texts(&got["results"], "citation"), ["facts.md#L1-L3", "notes/garden.md#L7"]);
    assert_eq!(texts(&got["failed"], "code"), ["invalid", "not_found"]);
    let got = mcp.tool("get", json!({ "glob": "long/*.md", "max_bytes": 3000 }));
    assert_eq!(texts(&got["results"], "path"), ["long/a.md", "long/b.md"]);
    assert_eq!(got["left_out"], json!(["long/c.md"]));
    let got = mcp.tool("get", json!({ "glob": "**/*.md", "lines": 1 }));
    assert_eq!(got["results"].as_array().unwrap().len(), 7, "{got}");
    for bad in
        [json!({}), json!({ "list": [], "glob": "*" }), json!({ "list": [] }), json!({ "glob": "[", "lines": 1 })]
    {
        assert!(mcp.refused("get", bad).starts_with("invalid: "));
    }
    assert!(mcp.refused("get", json!({ "glob": "*", "max_bytes": 10 })).contains("`max_bytes` is 10"));
    // A long note comes in parts.
    let long: String = (0..9000).map(|line| format!("line {line} of a long note\n")).collect();
    vault.write("notes/long.md", &long).write("notes/one line.md", "ü".repeat(60_000)).settle();
    let (mut text, mut line) = (String::new(), Some(1));
    while let Some(next) = line {
        let part = mcp.tool("get", json!({ "what": "notes/long.md", "line": next }));
        assert!(part["text"].as_str().unwrap().len() <= 50_000);
        text += part["text"].as_str().unwrap();
        line = part["next_line"].as_u64();
    }
    assert!(text == long, "the parts make the whole");
    let cut = mcp.tool("get", json!({ "what": "notes/one line.md" }));
    assert_eq!((cut["text"].as_str().unwrap().len(), &cut["next_line"]), (50_000, &Value::Null));
}

#[test]
fn notes_are_resources() {
    let mut vault = vault();
    for number in 0..150 {
        vault.write(&format!("many/{number:03}.md"), format!("# Note {number}\n\nOne of many.\n"));
    }
    vault.start();
    let mut mcp = owner(&vault);
    let (mut uris, mut cursor) = (Vec::new(), None);
    loop {
        let page = mcp.result("resources/list", cursor.map_or(json!({}), |cursor: Value| json!({ "cursor": cursor })));
        assert!(page["resources"].as_array().unwrap().len() <= 100);
        uris.extend(texts(&page["resources"], "uri").into_iter().map(str::to_owned));
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    assert_eq!(uris.len(), 154);
    let cellar = "vault://notes/my%20cellar%20%C3%BC.md";
    assert!(uris.is_sorted() && uris.contains(&cellar.into()), "{uris:?}");
    let read = mcp.result("resources/read", json!({ "uri": cellar }));
    let note = &read["contents"][0];
    assert_eq!((&note["mimeType"], &note["uri"]), (&json!("text/markdown"), &json!(cellar)));
    assert_eq!(note["text"], "# Cellar\n\nThere are twelve jars of plums.\n");
    let templates = mcp.result("resources/templates/list", json!({}))["resourceTemplates"].clone();
    assert_eq!(texts(&templates, "uriTemplate"), ["vault://{+path}"]);
    for uri in ["vault://notes/none.md", "vault://../x", "file:///etc/passwd", "vault://%zz", ""] {
        assert_eq!(mcp.error("resources/read", json!({ "uri": uri }))["code"], -32002, "{uri}");
    }
    for cursor in ["", "after:", "notes/a.md", "after:vault://%zz"] {
        assert_eq!(mcp.error("resources/list", json!({ "cursor": cursor }))["code"], -32602, "{cursor}");
    }
}
