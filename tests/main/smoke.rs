//! Each way in, once, on one daemon: what `make quick` runs after an edit. The rest of the tests look closer.

use crate::support::prelude::*;

#[test]
fn a_saved_note_is_found_by_every_way_in() {
    let mut vault = Daemon::vault().with("notes/river.md", "# River\n\nA quokka by the river.\n").started();
    // The watcher.
    vault.write("notes/new.md", "# New\n\nA zebra was seen.\n").finds("zebra", &["notes/new.md"]);
    // HTTP, for the person and for an agent.
    let agent = vault.run(&["agent", "add", "Ada", "--allow"]).ok().stdout.trim().to_owned();
    for token in [vault.token(), &agent] {
        let found = vault.get_as(token, "/api/user-memory/search?q=quokka").json();
        assert_eq!(found["results"][0]["path"], "notes/river.md", "{found}");
    }
    // MCP.
    let reply = vault.rpc("tools/call", json!({"name": "search", "arguments": {"query": "quokka"}}));
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
