//! What is switched off or purged does not stay in the journal, whatever else waits there, and whenever the daemon is killed.

use super::kills::SWEPT;
use super::refused::with_text;
use super::{SETTINGS, message};
use crate::support::prelude::*;

const TIME: &str = "2026-01-05T12:00:00Z";

/// The program's own files, less the index, that hold a text.
fn kept(vault: &Daemon, text: &str) -> Vec<String> {
    with_text(vault, text).into_iter().filter(|path| path.contains(".vault/state/")).collect()
}

fn file(path: &str) -> Value {
    json!({"type": "file", "path": path, "action": "opened", "time": TIME})
}

/// A daemon whose first event waits: a folder is where its file would be.
fn stuck(config: &str) -> Daemon {
    let mut vault = Daemon::without_model(config);
    fs::create_dir_all(vault.path("files/2026-01-05.md")).unwrap();
    vault.start();
    vault
}

fn waits(vault: &Daemon) -> String {
    eventually("the status to say why", || vault.status()["capture"]["failure"].as_str().map(str::to_owned))
}

/// Makes room for what waited.
fn unstick(vault: &Daemon) {
    fs::remove_dir(vault.path("files/2026-01-05.md")).unwrap();
    vault.captured();
}

fn off(kind: &str) -> Request {
    Request::send("PUT", SETTINGS, &json!({kind: false}))
}

#[test]
fn what_is_switched_off_leaves_and_what_is_not_still_waits() {
    let mut vault = stuck("[capture]\nsearches = true\n");
    fs::create_dir_all(vault.path("searches/2026-01-05.md")).unwrap();
    let search = json!({"type": "search", "query": "waiting-query", "time": TIME});
    vault.capture(json!([file("waiting-path"), search, message("s", "user", "said")]));
    vault.capture(json!([file("second-path"), message("s", "user", "said too")]));
    let failure = waits(&vault);
    assert!(failure.contains("files/"), "{failure}");
    assert!(vault.run(&["status"]).ok().stdout.contains("capture"), "a person is told");
    until("the messages to be written", || with_text(&vault, "said too").iter().any(|path| path.ends_with(".md")));
    assert_eq!(vault.status()["capture"]["pending"], 5, "what comes after counts as pending, too");
    vault.ask(off("capture_searches")).ok();
    assert_eq!(with_text(&vault, "waiting-query"), [""; 0]);
    assert_eq!(kept(&vault, "said"), [""; 0], "what is in its file leaves the journal, too");
    vault.capture(file("third-path"));
    vault.kill();
    vault.start();
    unstick(&vault);
    assert_eq!(vault.status()["capture"].get("failure"), None);
    let text = vault.read("files/2026-01-05.md");
    let places: Vec<_> = ["waiting-path", "second-path", "third-path"].map(|path| text.find(path)).into();
    assert!(places.iter().all(Option::is_some) && places.is_sorted() && text.matches("- ").count() == 3, "{text}");
    assert_eq!(vault.read("conversations/2026-01-05-s.md").matches(":** ").count(), 2);
    assert_eq!(vault.notes_in("searches"), []);
}

#[test]
fn what_is_switched_off_while_nobody_runs_is_gone_after_a_start() {
    let mut vault = stuck("");
    vault.capture(json!([file("waiting-path"), message("s", "user", "said")]));
    waits(&vault);
    vault.kill();
    assert!(!kept(&vault, "waiting-path").is_empty(), "it waits in the journal");
    fs::write(vault.path("memory.toml"), "[embed]\nmodel = \"none\"\n[capture]\nfiles = false\n").unwrap();
    vault.start();
    assert_eq!(with_text(&vault, "waiting-path"), [""; 0]);
    vault.captured();
    assert_eq!(vault.read("conversations/2026-01-05-s.md").matches(":** ").count(), 1);
}

#[test]
fn killed_while_the_journal_is_swept() {
    let mut vault = Daemon::vault();
    fs::create_dir_all(vault.path("files/2026-01-05.md")).unwrap();
    fs::create_dir_all(vault.path("searches/2026-01-05.md")).unwrap();
    assert!(vault.launch(Some(&format!("{SWEPT}:1"))));
    let mut event = message("s", "user", "said");
    event["id"] = "1".into();
    vault.capture(json!([file("waiting-path"), event]));
    waits(&vault);
    vault.dies_of(off("capture_files"));
    vault.start();
    assert_eq!(kept(&vault, "waiting-path"), [""; 0]);
    vault.captured();
    assert_eq!(vault.capture(event), (0, 1), "it is known all the same");
    assert_eq!(vault.read("conversations/2026-01-05-s.md").matches(":** ").count(), 1);
}

#[test]
fn what_is_purged_is_not_in_the_journal_when_that_is_answered() {
    let vault = stuck("");
    let note = json!({"type": "note", "title": "Plan", "content": "aardvarks to the cellar"});
    vault.capture(json!([message("s", "user", "first"), note]));
    until("the note", || vault.notes_in("notes").len() == 1);
    vault.finds("aardvarks", &["notes/plan.md"]);
    vault.captured();
    let purge = |vault: &Daemon, word: &str| {
        let found = vault.get(&format!("/api/user-memory/search?mode=keyword&q={word}")).json();
        let hash = found["results"][0]["hash"].as_str().unwrap().to_owned();
        let gone = vault.ask(Request::new("DELETE", &format!("/api/user-memory/chunk/{hash}?purge=true"))).ok();
        gone["purged"]["remains"].to_string()
    };
    assert!(!purge(&vault, "aardvarks").contains("captured event"));
    assert_eq!(kept(&vault, "aardvarks"), [""; 0]);

    // Behind what cannot be written, too; and that is said.
    let other = json!({"type": "note", "title": "Plan", "content": "quokkas to the attic"});
    vault.capture(json!([file("waiting-path"), note, other]));
    waits(&vault);
    vault.finds("quokkas", &["notes/plan.md"]);
    let remains = purge(&vault, "quokkas");
    assert!(remains.contains("captured event"), "{remains}");
    assert_eq!(kept(&vault, "aardvarks"), [""; 0]);
    assert_eq!(kept(&vault, "quokkas"), [""; 0]);
    unstick(&vault);
    assert!(vault.read("files/2026-01-05.md").contains("waiting-path"), "what waits is not lost");
    assert_eq!(vault.notes_in("notes"), [], "what was purged does not come back");
}

#[test]
fn what_is_purged_after_a_kill_is_not_in_the_journal() {
    let mut vault = Daemon::vault().started();
    let text = "aardvarks to the cellar";
    vault.written(json!({"type": "note", "title": "Plan", "content": text}));
    vault.kill();
    assert!(!kept(&vault, "aardvarks").is_empty(), "a kill leaves the journal as it is");
    vault.run(&["forget", "notes/plan.md", "--purge", "--yes"]).ok();
    assert_eq!(kept(&vault, "aardvarks"), [""; 0]);
    vault.start();
    vault.captured();
    assert_eq!(vault.notes_in("notes"), []);
}
