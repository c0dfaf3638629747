//! What the program changed can be had again.

use crate::support::prelude::*;

fn checkpoints(vault: &Daemon, query: &str) -> Vec<Value> {
    vault.get(&format!("/api/user-memory/checkpoints{query}")).ok()["checkpoints"].as_array().unwrap().clone()
}

fn delete(vault: &Daemon, hash: &str) -> Value {
    vault.ask(Request::new("DELETE", &format!("/api/user-memory/chunk/{hash}"))).ok()
}

/// What taOS asks of its store of memories.
#[test]
fn the_store_keeps_its_contract() {
    let vault = Daemon::vault().with("notes/other.md", "# Other\n\nSomething else.\n").started();
    let save = |body: &Value| vault.post("/api/user-memory/save", body).ok();
    let first = save(&json!({"content": "The aardvark sleeps by day.", "collection": "snippets", "tags": ["zoo"]}));
    let second = save(&json!({"content": "The zebra has stripes.", "title": "Zebra", "collection": "notes"}));
    assert_eq!(first["ok"], true);
    assert_eq!(vault.find("aardvark"), [first["path"].as_str().unwrap()]);
    let browse = |collection: &str| {
        let reply = vault.get(&format!("/api/user-memory/browse?collection={collection}")).json();
        let chunks = reply["chunks"].as_array().unwrap().clone();
        assert_eq!(reply["total"], chunks.len());
        chunks
    };
    let [snippet] = browse("snippets").try_into().unwrap();
    assert_eq!(snippet["content"], "The aardvark sleeps by day.");
    assert_eq!(browse("notes").len(), 2);
    let stats = || vault.get("/api/user-memory/stats").json();
    assert_eq!((stats()["total"].clone(), stats()["collections"]["snippets"].clone()), (json!(3), json!(1)));

    // A chunk's hash, and a note's.
    let gone = delete(&vault, snippet["hash"].as_str().unwrap());
    assert_eq!((&gone["ok"], &gone["path"]), (&json!(true), &first["path"]));
    assert!(vault.find("aardvark").is_empty() && browse("snippets").is_empty());
    assert_eq!(stats()["total"], 2);
    delete(&vault, second["hash"].as_str().unwrap());
    assert!(vault.find("zebra").is_empty());
    let again =
        vault.ask(Request::new("DELETE", &format!("/api/user-memory/chunk/{}", second["hash"].as_str().unwrap())));
    assert_eq!(again.status, 404);

    let id = gone["checkpoint_id"].as_str().unwrap();
    vault.post(&format!("/api/user-memory/checkpoints/{id}/restore"), &json!({})).ok();
    assert_eq!(vault.find("aardvark"), [first["path"].as_str().unwrap()]);
    assert_eq!(stats()["total"], 2);
}

#[test]
fn newer_edits_are_not_undone_unless_they_are_to_be() {
    let mut vault = Daemon::vault().with("notes/plan.md", "# Plan\n\nSow beans.\n").started();
    let save = json!({"content": "Sow peas.", "title": "Plan", "collection": "notes"});
    vault.post("/api/user-memory/save", &save).ok();
    let [made] = checkpoints(&vault, "?path=notes/plan.md").try_into().unwrap();
    assert_eq!((&made["action"], &made["path"], &made["bytes"]), (&json!("edit"), &json!("notes/plan.md"), &json!(19)));
    assert!(checkpoints(&vault, "?path=notes/none.md").is_empty());
    let target = format!("/api/user-memory/checkpoints/{}/restore", made["id"].as_str().unwrap());

    vault.write("notes/plan.md", "# Plan\n\nSow corn.\n").finds("corn", &["notes/plan.md"]);
    let reply = vault.post(&target, &json!({"force": false}));
    assert_eq!(reply.status, 409);
    assert!(reply.json()["error"]["hint"].as_str().unwrap().contains("--force"), "{}", reply.json());
    let refused = vault.run(&["undo", made["id"].as_str().unwrap()]);
    assert!(refused.code == 2 && refused.stderr.contains("--force"), "{}", refused.stderr);
    let reply = vault.post(&target, &json!({"force": true})).ok();
    assert_eq!(vault.read("notes/plan.md"), "# Plan\n\nSow beans.\n");
    assert_eq!(vault.find("beans"), ["notes/plan.md"]);
    // The edit is kept, too.
    let id = reply["checkpoint_id"].as_str().unwrap().to_owned();
    let said = vault.run(&["undo", &id]).ok().stdout;
    assert!(said.contains("notes/plan.md is as it was") && said.contains("vault undo "), "{said}");
    assert_eq!(vault.find("corn"), ["notes/plan.md"]);
    let listed = vault.run(&["undo", "--list"]).ok().stdout;
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(listed.lines().all(|line| line.contains("notes/plan.md")), "{listed}");
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let vault = Daemon::vault().with("notes/a.md", "text\n").started();
    let restore = "/api/user-memory/checkpoints/20260105T183000123-a1b2/restore";
    let bad = "/api/user-memory/checkpoints/..%2F..%2Fowner-token/restore";
    for (method, target, body, status) in [
        ("POST", restore, "{}", 404),
        ("POST", bad, "{}", 400),
        ("POST", restore, r#"{"force": "yes"}"#, 422),
        ("POST", restore, r#"{"forced": true}"#, 422),
        ("POST", restore, "[", 400),
        ("GET", "/api/user-memory/checkpoints?page=2", "", 400),
        ("DELETE", "/api/user-memory/chunk/xyz", "", 400),
        ("DELETE", "/api/user-memory/chunk/0123456789abcdef", "", 404),
        ("DELETE", "/api/user-memory/chunk/0123456789abcdef?purge=maybe", "", 400),
        ("DELETE", "/api/user-memory/chunk/0123456789abcdef?dry=true", "", 400),
        ("POST", "/api/user-memory/forget", r#"{"path": 5}"#, 422),
        ("POST", "/api/user-memory/forget", r#"{"path": "notes/a.md", "lines": "1-2"}"#, 422),
        ("POST", "/api/user-memory/forget", r#"{"path": "notes/a.md", "line_start": -1}"#, 422),
        ("POST", "/api/user-memory/forget", r#"{"path": "notes/a\u0007.md"}"#, 400),
    ] {
        let request = Request::new(method, target);
        let reply = vault.ask(if body.is_empty() { request } else { request.json(body) });
        assert_eq!(reply.status, status, "{method} {target} {body}: {}", reply.json());
        assert!(!reply.error().is_empty());
    }
    assert_eq!(vault.read("notes/a.md"), "text\n");
    let refused = vault.run(&["undo", "nothing"]);
    assert!(refused.code == 2 && refused.stderr.contains("20260105T183000123-a1b2"), "{}", refused.stderr);
}

#[test]
fn checkpoints_that_are_old_are_dropped_with_the_next_save() {
    let mut vault = Daemon::vault().started();
    let save = |vault: &Daemon, content: &str| {
        let body = json!({"content": content, "title": "Plan", "collection": "notes"});
        vault.post("/api/user-memory/save", &body).ok();
    };
    let ids = |vault: &Daemon| -> Vec<String> {
        let mut ids = column(&json!(checkpoints(vault, "?path=notes/plan.md")), "id");
        ids.reverse();
        ids
    };
    for content in ["one", "two", "three"] {
        save(&vault, content);
    }
    let before = ids(&vault);
    let [.., old, kept] = before.as_slice() else { panic!("{before:?}") };
    // So old as if it were made 31 days ago, like all before it.
    vault.terminate();
    let long_ago = SystemTime::now() - Duration::from_secs(31 * 24 * 3600);
    for (path, _) in contents(&vault.path(".vault/state/checkpoints")) {
        if !path.file_name().unwrap().to_str().unwrap().starts_with(kept.as_str()) {
            set_time(path, long_ago);
        }
    }
    vault.start();
    save(&vault, "four");
    let now = ids(&vault);
    assert_eq!((&now[0], now.len()), (kept, 2));
    let restore = |vault: &Daemon, id: &str| {
        vault.post(&format!("/api/user-memory/checkpoints/{id}/restore"), &json!({"force": true})).status
    };
    assert_eq!(restore(&vault, old), 404);
    assert_eq!(restore(&vault, kept), 200);
    assert!(vault.read("notes/plan.md").ends_with("\n\ntwo\n"));
}

/// What `vault undo` is to be called with, as a command has said it in one line.
#[track_caller]
fn undo_of(said: &str) -> Vec<String> {
    let lines: Vec<&str> =
        said.lines().filter_map(|line| line.split_once("undo: vault undo ")).map(|(_, ids)| ids).collect();
    assert_eq!(lines.len(), 1, "{said}");
    lines[0].split_whitespace().map(str::to_owned).collect()
}

fn restore(vault: &Daemon, ids: &[String]) -> Ran {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    vault.run(&[&["undo"], &ids[..]].concat()).ok()
}

#[test]
fn what_undoes_an_act_is_one_command_that_undoes_all_of_it() {
    let mut vault = Daemon::vault();
    let known = "- [fact] Likes tea ^e-1\n";
    let pending = "---\nprivate: true\n---\n- [fact] Plays the cello ^e-2\n- [fact] Lives on the moon ^e-3\n";
    vault.write("memories/user.md", known).write("memories/pending.md", pending);
    let read = |path: &str| fs::read_to_string(vault.path(path)).unwrap_or_default();
    let is_as_before = || read("memories/user.md") == known && read("memories/pending.md") == pending;
    let acts: [&[&str]; 3] = [
        &["memory", "review", "accept", "e-2"],
        &["memory", "review", "reject", "e-3", "--reason", "a joke"],
        &["memory", "remove", "e-1", "--archive"],
    ];
    for act in acts {
        let undo = undo_of(&vault.run(act).ok().stdout);
        assert_eq!(undo.len(), 2, "{act:?}");
        let again = undo_of(&restore(&vault, &undo).stdout);
        assert!(is_as_before(), "{act:?}");
        // The undoing is an act as well.
        restore(&vault, &again);
        assert!(!is_as_before(), "{act:?}");
        fs::write(vault.path("memories/user.md"), known).unwrap();
        fs::write(vault.path("memories/pending.md"), pending).unwrap();
    }
}

#[test]
fn what_was_forgotten_with_what_was_made_of_it_comes_back_by_one_command() {
    let mut vault = Daemon::vault();
    let (note, remark) = ("# Key\n\nThe key is under the pot.\n", "---\nsources: [notes/key.md]\n---\nMoved it.\n");
    vault.write("notes/key.md", note).write("annotations/one.md", remark);
    let forgotten = vault.run(&["forget", "notes/key.md", "--derived", "--yes"]).ok();
    assert!(!vault.path("notes/key.md").exists() && !vault.path("annotations/one.md").exists(), "{forgotten:?}");
    restore(&vault, &undo_of(&forgotten.stdout));
    assert_eq!(vault.read("notes/key.md"), note);
    assert_eq!(vault.read("annotations/one.md"), remark);
}
