//! Agents suggest edits of notes, which wait for the owner, and write where their page lets them.

use crate::support::prelude::*;

const PLAN: &str = "---\ntags: [work]\n---\n# Plan\n\nMeet on Monday.\n\nSow beans.\n\n## Later\n\nRest.\n";

/// A vault with a plan, a hidden note and an agent that may do what `page` says.
fn vault(page: &str) -> (Daemon, String) {
    let mut vault = Daemon::without_model("[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n");
    vault.write("notes/plan.md", PLAN);
    vault.write("notes/secret.md", "---\nprivate: true\n---\nMeet on Monday.\n");
    vault.write("agents/ada/agent.md", format!("---\ncan_read_user_memory: true\n{page}\n---\n"));
    vault.start().settle();
    let token = vault.token_of("ada");
    (vault, token)
}

fn suggestion(old: &str, new: &str) -> Value {
    json!({ "path": "notes/plan.md", "old": old, "new": new, "why": "It was moved" })
}

fn waiting(vault: &Daemon) -> Vec<Value> {
    vault.get("/api/review").ok()["suggestions"].as_array().unwrap().clone()
}

const SUGGEST: &str = "/api/notes/suggest";
const WRITE: &str = "/api/notes/write";
const DECIDE: &str = "/api/review/suggestions";

#[test]
fn a_suggestion_waits_until_it_is_accepted_and_the_batch_is_undone() {
    let (vault, ada) = vault("can_suggest: true");
    let edits = json!([{ "old": "Monday", "new": "Tuesday" }, { "old": "beans", "new": "peas" }]);
    let hash = vault.get_as(&ada, "/api/user-memory/note?path=notes/plan.md").ok()["hash"].clone();
    let body = json!({ "path": "notes/plan.md", "edits": edits, "why": "It was moved", "base_hash": hash });
    let done = vault.post_as(&ada, SUGGEST, &body).ok();
    assert_eq!(done, json!({ "ok": true, "path": "notes/plan.md", "status": "pending" }));
    // Asked again as nobody heard the answer, it is one still.
    vault.post_as(&ada, SUGGEST, &body).ok();
    vault.post_as(&ada, SUGGEST, &suggestion("Rest.", "Rest well.")).ok();
    assert_eq!(vault.read("notes/plan.md"), PLAN);
    let found = waiting(&vault);
    assert_eq!(found.len(), 2, "{found:?}");
    let (first, second) = (found[0]["id"].as_str().unwrap(), found[1]["id"].as_str().unwrap());
    assert_eq!((&found[0]["agent"], &found[0]["moved_on"]), (&json!("ada"), &json!(false)));
    assert_eq!(found[0]["hunks"][0]["line"], 6);
    let piece = |change: &str, text: &str| json!({ "change": change, "text": text });
    assert_eq!(found[0]["hunks"][0]["diff"], json!([piece("-", "Monday"), piece("+", "Tuesday")]));
    let file = vault.read(found[0]["file"].as_str().unwrap());
    assert!(file.contains("private: true") && file.contains("new: Tuesday"), "{file}");
    // Nobody finds it, and least of all the agent.
    vault.settle();
    assert!(vault.find("Tuesday").is_empty());

    // One edit of it: the other waits on.
    let decide = |decisions: Value| vault.post(DECIDE, &json!({ "decisions": decisions }));
    decide(json!([{ "id": first, "accept": true, "hunks": [2] }])).ok();
    assert_eq!(vault.read("notes/plan.md"), PLAN.replace("beans", "peas"));
    let left = waiting(&vault);
    assert_eq!((left[0]["hunks"].as_array().unwrap().len(), &left[0]["moved_on"]), (1, &json!(true)));
    // Both, which one undo takes back.
    let both = json!([{ "id": first, "accept": true }, { "id": second, "accept": true }]);
    let done = decide(both).ok();
    let now = PLAN.replace("beans", "peas").replace("Monday", "Tuesday").replace("Rest.", "Rest well.");
    assert_eq!((vault.read("notes/plan.md"), done["accepted"].clone()), (now, json!(2)));
    assert!(waiting(&vault).is_empty());
    let log = vault.get("/api/log?path=notes/plan.md").ok();
    assert_eq!(log["changes"][0]["by"], "owner, suggested by ada");
    let ids = done["checkpoint_ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap());
    vault.run(&["undo"].into_iter().chain(ids).collect::<Vec<_>>()).ok();
    assert_eq!((vault.read("notes/plan.md"), waiting(&vault).len()), (PLAN.replace("beans", "peas"), 2));
}

#[test]
fn what_has_moved_on_is_refused_and_nothing_of_the_batch_is_done() {
    let (mut vault, ada) = vault("can_suggest: true");
    vault.post_as(&ada, SUGGEST, &suggestion("Rest.", "Rest well.")).ok();
    vault.post_as(&ada, SUGGEST, &suggestion("Monday", "Tuesday")).ok();
    vault.write("notes/plan.md", PLAN.replace("Monday", "Friday"));
    let found = waiting(&vault);
    assert!(found[0]["hunks"][0]["line"].is_number() && found[1]["hunks"][0]["line"].is_null());
    let both: Vec<Value> = found.iter().map(|one| json!({ "id": one["id"], "accept": true })).collect();
    let reply = vault.post(DECIDE, &json!({ "decisions": both }));
    assert!(reply.status == 409 && reply.error().contains("has moved on"), "{}", reply.error());
    assert_eq!((vault.read("notes/plan.md"), waiting(&vault).len()), (PLAN.replace("Monday", "Friday"), 2));
    vault.post(DECIDE, &json!({ "decisions": [{ "id": found[1]["id"], "accept": false }] })).ok();
    assert_eq!(waiting(&vault).len(), 1);
    for bad in
        [json!([{ "id": "ada/none", "accept": true }]), json!([{ "id": found[0]["id"], "accept": true, "hunks": [2] }])]
    {
        assert!([400, 404].contains(&vault.post(DECIDE, &json!({ "decisions": bad })).status), "{bad}");
    }
}

#[test]
fn the_owner_decides_at_the_terminal_by_number_and_edit() {
    let (vault, ada) = vault("can_suggest: true");
    let edits = json!([{ "old": "Monday", "new": "Tuesday" }, { "old": "beans", "new": "peas" }]);
    vault.post_as(&ada, SUGGEST, &json!({ "path": "notes/plan.md", "edits": edits, "why": "Because" })).ok();
    let shown = vault.run(&["review"]).ok().stdout;
    assert!(shown.contains("[-Monday-]{+Tuesday+}") && shown.contains("notes/plan.md#L6"), "{shown}");
    let json = vault.run(&["review", "--json"]).ok().json();
    assert_eq!(json["suggestions"][0]["hunks"][1]["new"], "peas");
    let said = vault.run(&["review", "accept", "1:1"]).ok().stdout;
    assert!(said.contains("changed notes/plan.md") && said.contains("vault undo "), "{said}");
    vault.run(&["review", "reject", "1"]).ok();
    assert_eq!(vault.read("notes/plan.md"), PLAN.replace("Monday", "Tuesday"));
    assert_eq!(vault.run(&["review"]).code, 1);
    assert_ne!(vault.run(&["review", "accept", "1"]).code, 0);
}

#[test]
fn an_agent_suggests_and_writes_only_what_it_may_and_sees() {
    let (vault, ada) = vault("write_mode: hybrid");
    assert_eq!(vault.post_as(&ada, SUGGEST, &suggestion("Monday", "x")).status, 403);
    assert_eq!(vault.post_as(&ada, WRITE, &json!({ "path": "notes/plan.md", "new": "x" })).status, 403);
    assert_eq!(vault.post(SUGGEST, &suggestion("Monday", "x")).status, 403, "the owner has no queue");
    drop(vault);
    let (vault, ada) = self::vault("can_suggest: true\nwrite_collections: [notes, memories]");
    let said = |path: &str, target: &str| {
        let body = match target {
            SUGGEST => json!({ "path": path, "old": "Monday", "new": "Friday", "why": "x" }),
            _ => json!({ "path": path, "old": "Monday", "new": "Friday" }),
        };
        let reply = vault.post_as(&ada, target, &body);
        (reply.status, reply.error().replace(path, "PATH"))
    };
    for target in [SUGGEST, WRITE] {
        assert_eq!(said("notes/secret.md", target), said("notes/none.md", target));
        assert_eq!(said("notes/secret.md", target).0, 404);
    }
    for (old, status) in [("Sunday", 409), ("M", 409), ("", 400)] {
        assert_eq!(vault.post_as(&ada, SUGGEST, &suggestion(old, "x")).status, status, "{old}");
    }
    let mut stale = suggestion("Monday", "x");
    stale["base_hash"] = json!("0123456789abcdef");
    assert_eq!(vault.post_as(&ada, SUGGEST, &stale).status, 409);
    assert!(waiting(&vault).is_empty());
    assert_eq!(vault.read("notes/plan.md"), PLAN);
}

#[test]
fn an_agent_writes_exactly_and_the_owner_can_undo_it() {
    let (vault, ada) = vault("write_collections: [notes, inbox]");
    let write = |body: Value| vault.post_as(&ada, WRITE, &body);
    let done = write(json!({ "path": "notes/plan.md", "old": "Monday", "new": "Tuesday" })).ok();
    let now = PLAN.replace("Monday", "Tuesday");
    assert_eq!(vault.read("notes/plan.md"), now);
    write(json!({ "path": "notes/plan.md", "heading": "Later", "new": "- [ ] Sleep" })).ok();
    write(json!({ "path": "notes/plan.md", "new": "The end." })).ok();
    assert_eq!(vault.read("notes/plan.md"), now.clone() + "- [ ] Sleep\nThe end.\n");
    assert_eq!(vault.get("/api/log?path=notes/plan.md").ok()["changes"][0]["by"], "agent ada");
    let log = vault.run(&["agent", "log", "ada"]).ok().stdout;
    assert!(log.contains("note_write") && log.contains("notes/plan.md"), "{log}");
    let undone = vault.run(&["undo", done["checkpoint_id"].as_str().unwrap(), "--force"]).ok();
    assert_eq!(vault.read("notes/plan.md"), PLAN, "{}", undone.stdout);
    // An agent's own undo is of its own memory.
    assert_eq!(
        vault.post_as(&ada, "/api/memory/restore", &json!({ "checkpoint_id": done["checkpoint_id"] })).status,
        404
    );

    // A new note never tells whether its name was taken.
    for name in ["inbox/idea.md", "notes/secret.md"] {
        let made = write(json!({ "path": name, "new": "An idea.", "create": true })).ok();
        let path = made["path"].as_str().unwrap();
        assert!(path.starts_with(name.trim_end_matches(".md")) && path != name, "{made}");
        let text = vault.read(path);
        assert!(text.contains("trust: agent") && text.ends_with("An idea.\n"), "{text}");
        vault.get_as(&ada, &format!("/api/user-memory/note?path={}", encode(path))).ok();
    }
    for (body, why) in [
        (json!({ "path": "notes/plan.md", "new": "#private" }), "private"),
        (json!({ "path": "notes/plan.md", "old": "tags: [work]", "new": "tags: [play]" }), "frontmatter"),
        (json!({ "path": "notes/plan.md", "new": "%% the rest" }), "comment"),
        (json!({ "path": "notes/plan.md", "new": "![[secret.pdf]]" }), "attachment"),
        (json!({ "path": "other/a.md", "new": "x", "create": true }), "write_collections"),
        (json!({ "path": "notes/new/a.md", "new": "x", "create": true }), "no folder"),
        (json!({ "path": "agents/ada/agent.md", "new": "x" }), "no note"),
        (json!({ "path": "notes/plan.md", "heading": "Never", "new": "x" }), "headings"),
    ] {
        let reply = write(body.clone());
        assert!(reply.status >= 400 && reply.error().contains(why), "{body}: {}", reply.error());
    }
    assert_eq!(vault.read("notes/plan.md"), PLAN);
}

#[test]
fn what_was_forgotten_for_good_is_neither_suggested_nor_written() {
    let text = "The zibeline key lies under the third flowerpot.";
    let (mut vault, ada) = vault("can_suggest: true\nwrite_collections: [notes]");
    vault.write("notes/key.md", format!("# Key\n\n{text}\n")).settle();
    vault.post_as(&ada, SUGGEST, &json!({ "path": "notes/key.md", "old": "third", "new": "fourth", "why": "x" })).ok();
    vault.post_as(&ada, SUGGEST, &suggestion("Rest.", text)).ok();
    vault.run(&["forget", "notes/key.md", "--purge", "--yes"]).ok();
    assert!(waiting(&vault).is_empty(), "what was suggested for it is gone, too");
    let silent = vault.post_as(&ada, SUGGEST, &suggestion("Rest.", text)).ok();
    assert_eq!(silent, vault.post_as(&ada, SUGGEST, &suggestion("Rest.", "Sleep.")).ok(), "it hears the same");
    vault.post_as(&ada, WRITE, &json!({ "path": "notes/plan.md", "new": text })).ok();
    assert_eq!((waiting(&vault).len(), vault.read("notes/plan.md")), (1, PLAN.to_owned()));
    assert_eq!(files_with(&vault.path(""), "zibeline"), [""; 0]);
}

#[test]
fn a_model_suggests_over_mcp() {
    let (vault, ada) = vault("can_suggest: true");
    let call = |arguments: Value| {
        let params = json!({ "name": "memory", "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = Request::send("POST", "/mcp", &body).bearer(&ada);
        vault.send(&request.header("Accept", "application/json, text/event-stream")).json()["result"].clone()
    };
    let mut body = suggestion("Monday", "Tuesday");
    body["action"] = json!("note_suggest");
    let said = call(body);
    assert!(said["content"][0]["text"].as_str().unwrap().contains("when the user accepts it"), "{said}");
    assert_eq!(waiting(&vault).len(), 1);
    let refused = call(json!({ "action": "note_write", "path": "notes/plan.md", "new": "x" }));
    assert!(refused["isError"] == true && refused.to_string().contains("write_collections"), "{refused}");
}
