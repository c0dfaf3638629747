//! `qmd mcp`: the tools under QMD's names, on standard input and output and over HTTP.

use std::io::{BufRead, BufReader, Write};

use crate::as_qmd::Workspace;
use crate::support::prelude::*;

fn workspace() -> Workspace {
    let workspace = Workspace::with_memory();
    workspace.run(&["context", "add", "qmd://memory/", "What was done."]).ok();
    workspace
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": name, "method": "tools/call", "params": { "name": name, "arguments": arguments } })
}

/// Asks all that QMD's callers ask of its server.
fn every_tool_answers(mut ask: impl FnMut(&Value) -> Value) {
    let hello = ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "mcporter", "version": "1" } } }));
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
    assert_eq!(hello["result"]["serverInfo"]["name"], "qmd");
    let listed = ask(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["query", "search", "vector_search", "deep_search", "get", "multi_get", "status"]);
    let mut docid = String::new();
    let lex = json!({ "type": "lex", "query": "keyword target" });
    let vec = json!({ "type": "vec", "query": "what stands here" });
    for (name, arguments) in [
        ("query", json!({ "searches": [lex], "limit": 4, "collections": ["memory"], "rerank": false })),
        ("query", json!({ "searches": [lex, vec], "limit": 4.0, "intent": "keywords" })),
        ("search", json!({ "query": "keyword target", "limit": 4, "minScore": 0, "collection": "memory" })),
        ("vector_search", json!({ "query": "keyword target", "limit": 4, "minScore": 0 })),
        ("deep_search", json!({ "query": "keyword target", "limit": 4, "minScore": 0, "collection": "memory" })),
        ("vsearch", json!({ "query": "keyword target" })),
        ("qmd_search", json!({ "query": "keyword target" })),
    ] {
        let answer = ask(&call(name, arguments));
        let found = &answer["result"]["structuredContent"]["results"][0];
        assert_eq!(
            (&found["file"], &found["title"]),
            (&"memory/notes.md".into(), &"Target".into()),
            "{name}: {answer}"
        );
        assert_eq!(found["context"], "What was done.");
        assert!(found["snippet"].as_str().unwrap().starts_with("@@ -1,3 @@"), "{found}");
        assert!(found["score"].as_f64().unwrap() > 0.0 && !answer.to_string().contains("secret"), "{answer}");
        docid = found["docid"].as_str().unwrap().to_owned();
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains(&docid));
    }
    let nothing = ask(&call("search", json!({ "query": "nothingatall" })));
    assert_eq!(nothing["result"]["structuredContent"]["results"], json!([]));
    for file in [docid.as_str(), "memory/notes.md", "qmd://memory/notes.md", "notes.md"] {
        let given = ask(&call("get", json!({ "file": file })))["result"]["content"][0]["resource"].clone();
        assert_eq!((&given["uri"], &given["mimeType"]), (&"qmd://memory/notes.md".into(), &"text/markdown".into()));
        assert!(given["text"].as_str().unwrap().ends_with("The keyword target stands here.\n"), "{given}");
    }
    let lines = ask(&call("get", json!({ "file": "memory/notes.md:3", "maxLines": 1, "lineNumbers": true })));
    assert!(lines.to_string().contains("3: The keyword target stands here."), "{lines}");
    for file in ["memory/private.md", "memory/none.md", "../../etc/passwd", ""] {
        let missing = ask(&call("get", json!({ "file": file })));
        assert!(missing["result"]["isError"] == true, "{missing}");
        assert!(!missing.to_string().contains("private.md\\n"), "{missing}");
    }
    let several = ask(&call("multi_get", json!({ "pattern": "memory/*.md", "maxLines": 1 })));
    assert_eq!(several["result"]["content"].as_array().unwrap().len(), 2, "{several}");
    let large = ask(&call("multi_get", json!({ "pattern": "memory/notes.md,none.md", "maxBytes": 3 })));
    assert!(large.to_string().contains("none.md") && large.to_string().contains("too large"), "{large}");
    let status = ask(&call("status", json!({})))["result"]["structuredContent"].clone();
    assert_eq!((&status["totalDocuments"], &status["collections"][0]["name"]), (&2.into(), &"memory".into()));
    assert!(status["collections"][0]["lastUpdated"].is_string() && status["folder"].is_null(), "{status}");
    let read = ask(
        &json!({ "jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": { "uri": "qmd://memory/notes.md" } }),
    );
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("# Target"), "{read}");
    for (asked, code) in [
        (call("none", json!({})), -32602),
        (json!({ "jsonrpc": "2.0", "id": 4, "method": "no/such" }), -32601),
        (
            json!({ "jsonrpc": "2.0", "id": 4, "method": "resources/read", "params": { "uri": "qmd://memory/private.md" } }),
            -32002,
        ),
    ] {
        assert_eq!(ask(&asked)["error"]["code"], code, "{asked}");
    }
    for wrong in
        [json!({}), json!({ "query": 7 }), json!({ "searches": [] }), json!({ "query": "x", "collection": "no" })]
    {
        assert_eq!(ask(&call("search", wrong))["result"]["isError"], true);
    }
    assert_eq!(ask(&json!({ "jsonrpc": "2.0", "id": 5, "method": "ping" }))["result"], json!({}));
}

#[test]
fn programs_find_qmds_tools_on_standard_input_and_output() {
    let workspace = workspace();
    let mut command = workspace.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    writeln!(input, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).unwrap();
    every_tool_answers(|message| {
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    });
    // A collection that comes meanwhile is found.
    let work = workspace.path("work");
    workspace.run(&["collection", "add", work.to_str().unwrap(), "--name", "root", "--mask", "*.md"]).ok();
    writeln!(input, "{}", call("search", json!({ "query": "sourdough" }))).unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.contains("root/MEMORY.md"), "{line}");
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// A request and its answer's status and body.
fn send(address: &str, request: &Request) -> (u16, Value) {
    let reply = Connection::open(address).send(request).expect("the server answers");
    (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
}

#[test]
fn a_server_in_the_background_answers_over_http_until_it_is_stopped() {
    let workspace = workspace();
    let started = workspace.run(&["mcp", "--http", "--daemon", "--port", "0"]).ok();
    let port = started.stdout.split("localhost:").nth(1).unwrap().split('/').next().unwrap();
    let server = format!("127.0.0.1:{port}");
    let post = |address: &str, body: &Value| send(&server, &Request::send("POST", address, body));
    let get = |address: &str| send(&server, &Request::get(address));
    let again = workspace.run(&["mcp", "--http", "--daemon"]).ok();
    assert!(again.stdout.contains("already") && again.stdout.contains(&format!(":{port}/")), "{again:?}");
    every_tool_answers(|message| {
        let (status, answer) = post("/mcp", message);
        assert_eq!(status, 200, "{answer}");
        answer
    });
    assert_eq!(post("/mcp", &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).0, 202);
    let (status, health) = get("/health");
    assert_eq!((status, &health["status"]), (200, &"ok".into()));
    for address in ["/query", "/search"] {
        let (_, found) = post(address, &json!({ "searches": [{ "type": "lex", "query": "target" }] }));
        assert_eq!(found["results"][0]["file"], "memory/notes.md", "{found}");
        assert_eq!(post(address, &json!({ "limit": 3 })).0, 400);
    }
    // Pages of other hosts have no way in.
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    let hello = |name: &str, value: &str| {
        send(&server, &Request::new("POST", "/mcp").header(name, value).json(hello.as_str())).0
    };
    for (name, value) in [("Host", "evil.example"), ("Origin", "https://evil.example")] {
        assert_eq!(hello(name, value), 403, "{name}");
    }
    assert_eq!(hello("Content-Type", "text/plain"), 415);
    assert_eq!((get("/mcp").0, get("/status").0), (405, 404));
    workspace.run(&["mcp", "stop"]).ok();
    assert!(Connection::try_open(&server).is_none());
    assert_eq!(workspace.run(&["mcp", "stop"]).code, 1, "there is none any more");
}
