//! The person lets agents in and takes it back: over HTTP, and with `vault agent`.

use super::world::token_of;
use crate::support::prelude::*;

fn reads(vault: &Daemon, token: &str) -> u16 {
    vault.get_as(token, "/api/user-memory/search?q=x").status
}

#[test]
fn an_agent_comes_and_goes() {
    let mut vault = Daemon::vault();
    vault.write("notes/a.md", "# A\n\nA quokka.\n").write("journal/b.md", "# B\n\nAnother quokka.\n").start();
    let added = vault.run(&["agent", "add", "Ada Lovelace", "--allow", "--collections", "notes"]).ok();
    let token = added.stdout.trim().to_owned();
    assert_eq!(token.len(), 64, "{token}");
    assert!(
        added.stderr.contains("reads 1 note of yours") && added.stderr.contains("agents/ada-lovelace/agent.md"),
        "{}",
        added.stderr
    );
    let asked = Request::get("/api/user-memory/search?q=quokka").bearer(&token);
    let found = vault.send(&asked).json();
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    assert_eq!(found["results"][0]["path"], "notes/a.md");
    assert!(found["results"][0].get("obsidian_url").is_none() && found.get("took_ms").is_none(), "{found}");

    let sees = vault.run(&["agent", "explain", "ada-lovelace", "notes/a.md"]).ok();
    assert!(sees.stdout.contains("ada-lovelace sees notes/a.md"), "{}", sees.stdout);
    let hidden = vault.run(&["agent", "explain", "ada-lovelace", "journal/b.md"]);
    assert!(hidden.code == 1 && hidden.stdout.contains("`collections` does not name `journal`"), "{}", hidden.stdout);

    let log = vault.run(&["agent", "log", "ada-lovelace", "--json"]).ok().json();
    assert_eq!(log["entries"][0]["query"], "quokka");
    assert_eq!(log["entries"][0]["given"], json!(["notes/a.md#L1-L3"]));

    assert!(vault.run(&["agent", "deny", "ada-lovelace"]).ok().stdout.contains("reads none of your notes"));
    assert_eq!(vault.send(&asked).json()["results"], json!([]));
    assert!(vault.run(&["agent", "allow", "ada-lovelace", "--collections", "*"]).ok().stdout.contains("2 notes"));
    assert_eq!(vault.send(&asked).json()["results"].as_array().unwrap().len(), 2);

    let list = vault.run(&["agent", "list"]).ok().stdout;
    assert!(list.contains("ada-lovelace  reads 2 notes of yours"), "{list}");
    let twice = vault.run(&["agent", "add", "ada lovelace"]);
    assert!(twice.code == 2 && twice.stderr.contains("the agent `ada-lovelace` already exists"), "{}", twice.stderr);

    let second = vault.run(&["agent", "rotate", "ada-lovelace"]).ok().stdout.trim().to_owned();
    assert_eq!((reads(&vault, &token), reads(&vault, &second)), (401, 200));
    vault.run(&["agent", "remove", "ada-lovelace"]).ok();
    assert_eq!(reads(&vault, &second), 401);
    assert_eq!(vault.run(&["agent", "list"]).code, 1);
    assert_eq!(vault.run(&["agent", "remove", "ada-lovelace"]).code, 1);
}

#[test]
fn agents_are_let_in_and_come_back_only_as_is_said() {
    let mut vault = Daemon::vault().started();
    // What makes no sense is refused.
    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": "" }), "name"),
        (json!({ "name": "a\nb" }), "name"),
        (json!({ "name": "x".repeat(61) }), "name"),
        (json!({ "name": "x", "rules": { "expires": "some day" } }), "expires"),
        (json!({ "name": "x", "rules": { "paths": ["[a"] } }), "paths"),
        (json!({ "name": "x", "rules": { "write_mode": "all" } }), "write_mode"),
        (json!({ "name": "x", "admin": true }), "admin"),
    ] {
        let reply = vault.post("/api/agents", &body);
        assert!(matches!(reply.status, 400 | 422), "{body} {}", reply.status);
        assert!(reply.error().contains(field), "{body}: {}", reply.error());
    }
    for slug in ["nobody", "..", "%2e%2e", "a%2fb", "%00", "A", "..%2f..%2fetc"] {
        for rest in ["", "/log", "/explain?what=x"] {
            let status = vault.get(&format!("/api/agents/{slug}{rest}")).status;
            assert_eq!(status, 404, "{slug}{rest}");
        }
    }
    assert!(!vault.path("agents").exists());
    // Who gets the name of an agent that is gone gets its memory, and that is said.
    assert!(!vault.run(&["agent", "add", "ada"]).ok().stderr.contains("existed before"));
    vault.write("agents/ada/MEMORY.md", "Old.\n").write("traces/ada/2026-03-02T10.jsonl", "");
    vault.run(&["agent", "remove", "ada"]).ok();
    let said = vault.run(&["agent", "add", "ada"]).ok().stderr;
    assert!(said.contains("existed before") && said.contains("agents/ada/ and traces/ada/"), "{said}");
    vault.run(&["agent", "remove", "ada"]).ok();
    let added = vault.post("/api/agents", &json!({ "name": "ada" })).json();
    assert_eq!(added["inherits"], json!(["agents/ada/", "traces/ada/"]), "{added}");
    // A checkout brings no removed agent back.
    let token = vault.run(&["agent", "add", "bob"]).ok().stdout.trim().to_owned();
    let page = vault.read("agents/bob/agent.md");
    vault.run(&["agent", "remove", "bob"]).ok();
    vault.write("agents/bob/agent.md", page);
    assert_eq!(reads(&vault, &token), 401);
    assert!(vault.run(&["agent", "show", "bob"]).ok().stdout.contains("token since  none"));
    let token = token_of(&vault, "bob");
    assert_eq!(reads(&vault, &token), 200);
    // Tokens are hashed at rest and shown once.
    assert_eq!(files_with(&vault.path(""), &token), [""; 0]);
    assert!(!vault.run(&["agent", "show", "bob", "--json"]).ok().stdout.contains(&token));
    // A path may have a number sign of its own.
    vault.write("notes/c#.md", "A quokka.\n").write("notes/c.md", "# C\n").settle();
    vault.run(&["agent", "add", "cleo", "--allow", "--paths", "notes/c#.md"]).ok();
    for (what, path) in
        [("notes/c#.md", "notes/c#.md"), ("notes/c#.md#L1", "notes/c#.md"), ("notes/c.md#A#B", "notes/c.md")]
    {
        let said = vault.run(&["agent", "explain", "cleo", what, "--json"]).json();
        assert_eq!((&said["path"], &said["visible"]), (&json!(path), &json!(path.contains('#'))), "{what}");
    }
    assert_eq!(vault.get(&format!("/api/agents/cleo/explain?what={}", "%23".repeat(500))).status, 404);
}

#[test]
fn too_many_requests_are_refused_for_a_while() {
    let vault = Daemon::without_model("[agents]\nrequests_per_minute = 5\n").started();
    let token = vault.run(&["agent", "add", "ada"]).ok().stdout.trim().to_owned();
    let asked = Request::get("/api/user-memory/search?q=x").bearer(&token);
    let replies: Vec<_> = (0..7).map(|_| vault.send(&asked)).collect();
    assert!(replies[..5].iter().all(|reply| reply.status == 200));
    let refused = replies.iter().find(|reply| reply.status == 429).expect("too many");
    let seconds: u64 = refused.header("Retry-After").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    assert_eq!(vault.get("/status").status, 200, "the person is not held up");
}
