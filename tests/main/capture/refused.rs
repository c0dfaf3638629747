//! What is not right is refused with its field, and what is switched off is stored nowhere.

use super::{EVENTS, SETTINGS, message};
use crate::support::prelude::*;

/// The files of the vault, its own included, that hold a text.
pub(super) fn with_text(vault: &Daemon, text: &str) -> Vec<String> {
    files_with(&vault.path(""), text)
}

#[test]
fn what_is_not_right_is_refused_whole_and_secrets_are_written_nowhere() {
    let vault = Daemon::without_model("[capture]\nsearches = true\n").started();
    let good = message("s", "user", "a good one");
    // Each field that is wrong is named as `what_is_wrong_is_named` of the events has it.
    let reply = vault.post(EVENTS, &json!([good, {"type": "message", "session": "s", "role": "user"}]));
    assert_eq!((reply.status, reply.error().as_str()), (400, "events[1]: missing field `text`"));
    let huge = Value::from(vec![message("s", "user", &"x".repeat(40_000)); 30]).to_string();
    assert_eq!(vault.ask(Request::new("POST", EVENTS).json(huge)).status, 413);
    for bad in ["", "{", "[1,", "nonsense"] {
        let reply = vault.ask(Request::new("POST", EVENTS).json(bad));
        assert_eq!(reply.status, 400, "{bad}");
        reply.error();
    }
    assert_eq!(vault.capture(json!([])), (0, 0));
    vault.captured();
    assert_eq!(with_text(&vault, "a good one"), [""; 0], "an array is taken whole or not at all");

    // 10,000 at a time are no trouble.
    let many: Vec<Value> =
        (0..10_000).map(|at| json!({"type": "file", "path": format!("f{at}"), "action": "x"})).collect();
    assert_eq!(vault.capture(many.into()), (10_000, 0));
    vault.captured();
    let files = vault.notes_in("files");
    let lines: usize = files.iter().map(|(_, text)| text.lines().filter(|line| line.starts_with("- ")).count()).sum();
    assert_eq!(lines, 10_000);
    // Secrets are written nowhere.
    let secret = format!("ghp_{}", "a8F3kZ0qL9xT2mB7".repeat(3).get(..36).unwrap());
    let said = |before: &str| format!("{before} {secret} after");
    vault.capture(json!([
        message("s", "user", &said("# multi\nline")),
        message(&said("session"), "user", "x"),
        {"type": "file", "path": said("path"), "name": said("name"), "action": "opened", "app": said("app")},
        {"type": "search", "query": said("query"), "where": "web"},
        {"type": "agent_activity", "agent": "a", "summary": said("summary")},
        {"type": "note", "title": said("title"), "content": said("content"), "tags": [said("tag")]},
        {"type": "bookmark", "url": format!("https://x.example/?t={secret}"), "title": said("page"), "note": said("note")},
        {"type": "clipboard", "content": said("clip"), "app": said("app")},
    ]));
    assert_eq!(with_text(&vault, &secret), [""; 0], "the journal included");
    vault.captured();
    assert_eq!(with_text(&vault, &secret), [""; 0]);
    assert!(with_text(&vault, "[redacted: GitHub token]").len() >= 7);
    // As the person wants it.
    let text = vault.read("memory.toml") + "redact = false\n";
    fs::write(vault.path("memory.toml"), text).unwrap();
    vault.written(message("open", "user", &said("kept")));
    assert!(with_text(&vault, &secret).iter().any(|path| path.ends_with("-open.md")));
}

#[test]
fn settings_are_those_of_memory_toml() {
    let vault = Daemon::with_config("# mine\n[embed]\nmodel = \"none\" # for now\n").started();
    let settings = vault.get(SETTINGS).json();
    let expected = json!({
        "capture_conversations": true, "capture_files": true, "capture_searches": false, "capture_notes": true,
        "capture_snippets": true, "capture_agent_activity": true, "capture_bookmarks": true,
    });
    assert_eq!(settings, expected);
    let put = |body: &Value| vault.ask(Request::send("PUT", SETTINGS, body));
    let reply = put(&json!({"capture_files": false, "capture_searches": true}));
    assert_eq!((reply.status, &reply.json()["capture_files"]), (200, &json!(false)));
    assert_eq!(vault.get(SETTINGS).json(), reply.json());
    let text = vault.read("memory.toml");
    assert!(text.starts_with("# mine\n[embed]\nmodel = \"none\" # for now\n"), "{text}");
    assert!(text.contains("files = false"), "{text}");
    for bad in [json!({"capture_everything": true}), json!({"capture_files": "no"}), json!(3)] {
        assert!(put(&bad).status >= 400, "{bad}");
    }
    let opened = json!({"type": "file", "path": "hidden-path", "action": "opened"});
    let search = json!({"type": "search", "query": "said aloud"});
    assert_eq!(vault.capture(json!([opened, search])), (1, 1));
    vault.captured();
    assert_eq!(with_text(&vault, "hidden-path"), [""; 0]);
    assert_eq!(with_text(&vault, "said aloud").iter().filter(|path| path.ends_with(".md")).count(), 1);
    // By hand it counts at once, too.
    let text = text.replace("searches = true", "searches = false");
    fs::write(vault.path("memory.toml"), text).unwrap();
    assert_eq!(vault.get(SETTINGS).json()["capture_searches"], false);
    assert_eq!(vault.capture(json!({"type": "search", "query": "not said"})), (0, 1));
    assert_eq!(with_text(&vault, "not said"), [""; 0]);
}
