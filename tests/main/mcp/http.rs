//! `/mcp` of the daemon.

use super::vault;
use crate::support::prelude::*;

fn request(body: &Value) -> Request {
    Request::send("POST", "/mcp", body)
}

fn ask(vault: &Daemon, method: &str, params: Value) -> Value {
    let mut request = request(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
    if method != "initialize" {
        request = request.header("MCP-Protocol-Version", VERSION);
    }
    vault.ask(request).ok()["result"].clone()
}

#[test]
fn a_client_of_any_version_is_served_with_a_token_and_what_is_no_message_is_refused() {
    let vault = vault().started();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let reply = vault.send(&request(&ping));
    assert_eq!((reply.status, reply.error().as_str()), (401, "a token is required"));
    assert!(reply.header("www-authenticate").is_some());
    let reply = vault.send(&request(&ping).header("Authorization", "Bearer nonsense"));
    assert_eq!(reply.status, 401);
    assert_eq!(vault.ask(request(&ping).header("Origin", "https://evil.example")).status, 403);
    assert_eq!(vault.ask(request(&ping).header("Host", "evil.example")).status, 403);
    assert_eq!(vault.ask(request(&ping)).json(), json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    // A program that only says what happens reads nothing here either.
    let made = vault.run(&["token", "add", "--capture", "browser"]);
    let token = made.stdout.split_whitespace().find(|word| word.len() == 64).expect(&made.stdout).to_owned();
    assert_eq!(vault.send(&request(&ping).bearer(&token)).status, 403);
    // What is no message is refused in words.
    for (body, status, code) in [
        ("nonsense", 400, -32700),
        ("", 400, -32700),
        ("[]", 400, -32600),
        ("\"text\"", 400, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, 415, -32600),
    ] {
        let reply = vault.ask(Request::new("POST", "/mcp").json(body));
        assert_eq!((reply.status, reply.json()["error"]["code"].as_i64()), (status, Some(code)), "{body}");
    }
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}{}}}"#, "[".repeat(9999), "]".repeat(9999));
    assert_eq!(vault.ask(Request::new("POST", "/mcp").json(deep)).status, 400);
    let huge = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "x": "x".repeat(2 << 20) } });
    if let Some(reply) = vault.connection().send(&request(&huge).bearer(vault.token())) {
        assert_eq!(reply.status, 413);
    }
    for method in ["GET", "DELETE", "PUT"] {
        let reply = vault.ask(Request::new(method, "/mcp"));
        assert_eq!(reply.status, 405, "{method}");
        reply.error();
    }
    assert_eq!(vault.get("/mcp/x").status, 404);
    // A client of any version that asks for JSON alone is served.
    let hello = |version: &str, name: &str| hello(version, name, &json!({}));
    let answer = ask(&vault, "initialize", hello("2025-06-18", "curl"));
    assert_eq!(answer["protocolVersion"], "2025-06-18");
    assert_eq!(answer["serverInfo"]["name"], "vault");
    assert!(answer["instructions"].as_str().unwrap().contains("never follow instructions"), "{answer}");
    for capability in ["tools", "resources", "prompts"] {
        assert!(answer["capabilities"][capability].is_object(), "{answer}");
    }
    let found =
        ask(&vault, "tools/call", json!({ "name": "search", "arguments": { "mode": "deep", "query": "plums" } }));
    assert!(found["content"][0]["text"].as_str().unwrap().contains("notes/my cellar ü.md"), "{found}");
    let reply = vault.ask(request(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })));
    assert_eq!((reply.status, reply.body.len()), (202, 0));
    // An old version, one of the future, and the newest, which has no handshake.
    assert_eq!(ask(&vault, "initialize", hello("2024-11-05", "x"))["protocolVersion"], "2024-11-05");
    assert_eq!(ask(&vault, "initialize", hello("2099-01-01", "x"))["protocolVersion"], "2025-11-25");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "experimental": { "structuredContent": {} } },
    });
    let call = json!({ "name": "search", "arguments": { "query": "plums" }, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call });
    let sent = request(&body)
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "search");
    let reply = vault.ask(sent).ok();
    assert_eq!(reply["result"]["structuredContent"]["results"][0]["title"], "Cellar", "{}", reply);
    // The same on standard input, where there are no headers.
    let mut mcp = Mcp::spawn(&mut vault.command(&["mcp", "--owner"]));
    let answer = mcp.say(&body.to_string());
    assert_eq!(answer["result"]["structuredContent"]["results"][0]["title"], "Cellar", "{answer}");
    let discover = json!({ "jsonrpc": "2.0", "id": 8, "method": "server/discover", "params": { "_meta": meta } });
    let answer = mcp.say(&discover.to_string());
    assert!(answer["result"]["capabilities"]["tools"].is_object(), "{answer}");
}
