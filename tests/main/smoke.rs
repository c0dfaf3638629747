//! Each way in, once, on one daemon: what `make quick` runs after an edit. The rest of the tests look closer.

use crate::support::prelude::*;

#[test]
fn a_saved_note_is_found_by_every_way_in() {
    let mut vault = Daemon::vault().with("notes/river.md", "# River\n\nA quokka by the river.\n").started();
    // The watcher.
    vault.write("notes/new.md", "# New\n\nA zebra was seen.\n").finds("zebra", &["notes/new.md"]);
    // HTTP, for the person and for an agent.
    let agent = vault.run(&["agent", "add", "Ada", "--allow"]).ok().stdout.trim().to_owned();
    let found = |token: &str| {
        let request = Request::get("/api/user-memory/search?q=quokka");
        vault.send(&request.bearer(token)).json()["results"][0]["path"].as_str().map(str::to_owned)
    };
    assert_eq!(found(vault.token()).as_deref(), Some("notes/river.md"));
    assert_eq!(found(&agent).as_deref(), Some("notes/river.md"));
    // MCP.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "quokka"}}});
    let request = Request::send("POST", "/mcp", &call)
        .header("Accept", "application/json, text/event-stream")
        .bearer(vault.token());
    let reply = vault.send(&request);
    let body = String::from_utf8_lossy(&reply.body);
    assert!(reply.status == 200 && body.contains("notes/river.md"), "{} {body}", reply.status);
    // The command line, and the page.
    assert!(vault.run(&["search", "quokka"]).ok().stdout.contains("notes/river.md"));
    assert_eq!(vault.send(&Request::get("/")).status, 200);
    // An event.
    let events = json!([{"type": "note", "title": "Sent", "content": "A walrus came by."}]);
    assert_eq!(vault.post("/api/user-memory/events", &events).status, 202);
    until("the event", || vault.find("walrus") == ["notes/sent.md"]);
}
