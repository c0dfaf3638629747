//! Every change can be undone, and a kill leaves no half of one.

use super::{Agent, agent, vault};
use crate::support::prelude::*;

/// Undoes a change, and the undoing.
#[track_caller]
fn undone(vault: &Daemon, coder: &Agent, file: &str, before: Option<&str>, change: impl Fn() -> Value) {
    assert_eq!(coder.text(vault, file).as_deref(), before);
    let id = change();
    let after = coder.text(vault, file);
    assert_ne!(after.as_deref(), before);
    let undo = coder.call("restore", json!({"checkpoint_id": id}));
    assert_eq!(coder.text(vault, file).as_deref(), before, "{undo}");
    assert_eq!(undo["file_deleted"], before.is_none());
    // Once more is no change.
    assert_eq!(coder.call("restore", json!({"checkpoint_id": id}))["checkpoint_id"], id);
    coder.call("restore", json!({"checkpoint_id": undo["checkpoint_id"]}));
    assert_eq!(coder.text(vault, file), after);
    let found = coder.find("giraffe");
    assert_eq!(found.is_empty(), !after.unwrap_or_default().contains("giraffe"), "{found:?}");
}

#[test]
fn every_change_has_a_checkpoint_of_whom_it_is() {
    let vault = vault();
    let coder = agent(&vault, "coder", "");
    let call = |tool: &str, body: Value| coder.call(tool, body)["checkpoint_id"].clone();
    let file = "MEMORY.md";
    undone(&vault, &coder, file, None, || call("save", json!({"content": "- a giraffe"})));
    undone(&vault, &coder, file, Some("- a giraffe\n"), || call("save", json!({"content": "- a lion"})));
    let both = "- a giraffe\n\n- a lion\n";
    undone(&vault, &coder, file, Some(both), || call("save", json!({"content": "- a giraffe", "append": false})));
    undone(&vault, &coder, file, Some("- a giraffe\n"), || call("save", json!({"content": "- two"})));
    undone(&vault, &coder, file, Some("- a giraffe\n\n- two\n"), || call("delete", json!({"text": "- two"})));
    undone(&vault, &coder, file, Some("- a giraffe\n"), || call("delete", json!({"text": "- a giraffe"})));
    undone(&vault, &coder, file, None, || call("save", json!({"content": "- a giraffe\n- three"})));
    undone(&vault, &coder, file, Some("- a giraffe\n- three\n"), || {
        coder.call("forget", json!({"query": "three"}))["checkpoint_ids"][0].clone()
    });
    let whole = json!({"file": file, "whole_file": true});
    undone(&vault, &coder, file, Some("- a giraffe\n"), || call("delete", whole.clone()));
    // The person sees who it was.
    let listed = vault.get("/api/user-memory/checkpoints").json();
    assert!(listed["checkpoints"].as_array().unwrap().iter().all(|kept| kept["by"] == "coder"), "{listed}");
    // Only changes of its own are undone.
    let (coder, other) = (agent(&vault, "own", ""), agent(&vault, "other", "shares_memory_with: [own]"));
    let mine = coder.save("MEMORY.md", "- mine\n- theirs");
    // Another agent's, the person's, and one that there is not, are the same.
    let line = json!({"path": "agents/own/MEMORY.md", "line_start": 2, "line_end": 2});
    let by_person = vault.post("/api/user-memory/forget", &line).ok()["checkpoint_id"].clone();
    for content in ["A note.", "Another."] {
        let note = json!({"content": content, "title": "N", "collection": "notes"});
        vault.post("/api/user-memory/save", &note).ok();
    }
    let note = vault.get("/api/user-memory/checkpoints?path=notes/n.md").json()["checkpoints"][0]["id"].clone();
    assert!(note.is_string());
    let unknown = json!("20260105T183000123-a1b2");
    for (who, id) in [(&other, &mine), (&coder, &by_person), (&coder, &note), (&other, &note)] {
        let [told, expected] = [id, &unknown].map(|id| {
            let (status, message) = who.refused("restore", json!({"checkpoint_id": id}));
            (status, message.replace(id.as_str().unwrap(), "…"))
        });
        assert_eq!(told, expected);
    }
    assert_eq!(coder.text(&vault, "MEMORY.md").unwrap(), "- mine\n");
    // What was written since is not undone.
    assert_eq!(coder.refused("restore", json!({"checkpoint_id": mine})).0, 409);
}

#[test]
fn a_kill_leaves_the_old_text_or_the_new() {
    const OLD: &str = "- a giraffe\n- a lion\n";
    let mut vault = vault();
    let coder = agent(&vault, "coder", "");
    coder.save("MEMORY.md", OLD);
    let at = |vault: &Daemon| Agent { address: vault.address().into(), ..coder.clone() };
    for (point, tool, body) in [
        ("checkpoint-kept", "save", json!({"content": "- new", "file": "memory/new.md"})),
        ("note-made", "save", json!({"content": "- new", "file": "memory/new.md"})),
        ("checkpoint-kept", "save", json!({"content": "- new"})),
        ("note-replaced", "save", json!({"content": "- new", "append": false})),
        ("note-replaced", "delete", json!({"text": "- a lion"})),
        ("note-trashed", "delete", json!({"file": "MEMORY.md", "whole_file": true})),
        ("note-replaced", "forget", json!({"query": "lion"})),
    ] {
        vault.terminate();
        assert!(vault.launch(Some(&format!("{point}:1"))), "{point} {tool}");
        until("the index", || vault.status()["caught_up"] == true);
        let coder = at(&vault);
        assert_eq!(coder.try_ask(tool, body.clone()), None, "{point} {tool} {body}");
        until("the end", || vault.was_killed());
        vault.start();
        let coder = at(&vault);
        for (path, bytes) in notes_of(&vault.path("")).into_iter().chain(contents(&vault.path(".vault/state"))) {
            let (path, text) = (path.to_string_lossy().into_owned(), String::from_utf8_lossy(&bytes).into_owned());
            assert!(!path.contains(".vault-tmp-"), "{point} {tool} left {path}");
            assert!(!path.ends_with(".md") || text.ends_with('\n'), "{point} {tool}: {path}: {text}");
        }
        let now = coder.text(&vault, "MEMORY.md");
        let whole = [None, Some(OLD), Some("- a giraffe\n- a lion\n\n- new\n"), Some("- new\n"), Some("- a giraffe\n")];
        assert!(whole.contains(&now.as_deref()), "{point} {tool}: {now:?}");
        // The newest checkpoint undoes whatever it came to.
        let listed = vault.get("/api/user-memory/checkpoints").json();
        coder.call("restore", json!({"checkpoint_id": listed["checkpoints"][0]["id"]}));
        assert_eq!(coder.text(&vault, "MEMORY.md").as_deref(), Some(OLD), "{point} {tool}");
        assert_eq!(coder.text(&vault, "memory/new.md"), None);
    }
}
