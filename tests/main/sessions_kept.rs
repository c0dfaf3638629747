//! What was kept of a session stays, whatever its file says next, and what was forgotten for good stays away wherever its file goes.

use crate::sessions::{add, configure, header, lose_state, note, notes, once, source, turn, vault};
use crate::sessions_again::{look_anew, marked, names, start};
use crate::support::prelude::*;

/// Has a file say something at once, not in two steps.
fn put(vault: &Daemon, path: &Path, id: &str, turns: &[&str]) {
    let aside = vault.path("aside");
    fs::write(&aside, header(id) + &turns.iter().map(|text| turn("user", text)).collect::<String>()).unwrap();
    fs::rename(aside, path).unwrap();
}

fn purge(vault: &Daemon, what: &Value) {
    vault.post("/api/user-memory/forget", what).ok();
}

/// Moves the files of sessions to another folder, while nobody looks.
fn move_all(vault: &mut Daemon) {
    vault.terminate();
    fs::rename(vault.path(".claw/main"), vault.path(".claw/other")).unwrap();
    start(vault);
}

#[test]
fn a_session_that_was_put_back_for_a_while_keeps_its_note_from_the_next_in_its_file() {
    let mut vault = vault("");
    start(&mut vault);
    for (id, left) in [("s", 2), ("t", 1)] {
        let path = source(&vault, &format!("{id}.jsonl"));
        let said = |word: &str| ["one", "two", "three", "four"].map(|number| format!("{word} {number} of {id}"));
        let put = |vault: &Daemon, word: &str, turns: usize| {
            let said = said(word);
            put(vault, &path, id, &said.iter().map(String::as_str).collect::<Vec<_>>()[..turns]);
        };
        put(&vault, "Alpha", 3);
        let (alpha, text) = note(&vault, "conversations", &format!("Alpha three of {id}"));
        put(&vault, "Bravo", 2);
        let (bravo, _) = note(&vault, "conversations", &format!("Bravo two of {id}"));
        put(&vault, "Alpha", left);
        once(&vault, "less of the first", |state| state["cut_short"] == 1);
        look_anew(&mut vault);
        let now = || vault.read(&format!("conversations/{alpha}"));
        assert_eq!(now(), text);
        put(&vault, "Charlie", 4);
        let (charlie, _) = note(&vault, "conversations", &format!("Charlie four of {id}"));
        assert!(alpha != bravo && charlie != alpha && charlie != bravo);
        assert_eq!(now(), text);
    }
}

#[test]
fn a_session_that_was_put_back_in_part_has_all_of_its_note_under_other_settings() {
    let mut vault = vault("");
    let path = source(&vault, "s.jsonl");
    put(&vault, &path, "s", &["Alpha one", "Alpha two", "Alpha three"]);
    start(&mut vault);
    let (name, _) = note(&vault, "conversations", "Alpha three");
    put(&vault, &path, "s", &["Bravo one", "Bravo two"]);
    note(&vault, "conversations", "Bravo two");
    put(&vault, &path, "s", &["Alpha one", "Alpha two"]);
    once(&vault, "less of the first", |state| state["cut_short"] == 1);
    vault.terminate();
    configure(&vault, "[[sessions]]\npath = \".claw/*/sessions/*.jsonl\"\nscope = \"group\"\n");
    start(&mut vault);
    assert!(vault.read(&format!("conversations/{name}")).contains("Alpha three"));
    put(&vault, &path, "s", &["Alpha one", "Alpha two", "Alpha three", "Alpha four"]);
    let (same, text) = note(&vault, "conversations", "Alpha four");
    assert!(same == name && names(&vault).len() == 2, "{text}");
}

#[test]
fn notes_that_were_forgotten_for_good_stay_away_when_their_files_move() {
    let mut vault = vault("");
    let said = [("p", "4711"), ("q", "Yes."), ("r", "ok")];
    for (id, text) in said {
        put(&vault, &source(&vault, &format!("{id}.jsonl")), id, &[text]);
    }
    start(&mut vault);
    once(&vault, "all", |state| state["sessions"] == 3);
    for (id, _) in said {
        purge(&vault, &json!({ "path": format!("conversations/2026-01-05-{id}.md"), "purge": true }));
    }
    move_all(&mut vault);
    assert!(names(&vault).is_empty(), "{:?}", notes(&vault, "conversations"));
    // It goes on there, and moves once more.
    add(&vault.path(".claw/other/sessions/p.jsonl"), &turn("user", "Words behind it"));
    marked(&vault, "z");
    vault.terminate();
    fs::rename(vault.path(".claw/other"), vault.path(".claw/third")).unwrap();
    start(&mut vault);
    assert_eq!(names(&vault), ["2026-01-05-z.md"]);
    // Another that only begins as it did is another.
    fs::remove_file(vault.path(".claw/third/sessions/p.jsonl")).unwrap();
    once(&vault, "its end", |state| state["gone"].as_u64() > Some(0));
    let line = |text: &str| turn("user", text).replace("2026-01-05", "2099-01-05");
    let path = source(&vault, "new.jsonl");
    fs::write(vault.path("aside"), header("new") + &line("4711") + &line("Words behind it")).unwrap();
    fs::rename(vault.path("aside"), path).unwrap();
    let (name, _) = note(&vault, "conversations", "Words behind it");
    assert_eq!(name, "2099-01-05-new.md");
}

#[test]
fn a_line_that_was_forgotten_for_good_stays_away_when_the_file_moves() {
    let mut vault = vault("");
    put(&vault, &source(&vault, "s.jsonl"), "s", &["4711", "The weather is fine today."]);
    start(&mut vault);
    let (name, _) = note(&vault, "conversations", "4711");
    vault.finds("4711", &[&format!("conversations/{name}")]);
    let found = vault.get("/api/user-memory/search?q=4711&limit=1").json();
    let hash = found["hits"][0]["hash"].as_str().or_else(|| found["results"][0]["hash"].as_str()).unwrap();
    purge(&vault, &json!({ "hash": hash, "purge": true }));
    move_all(&mut vault);
    assert_eq!(names(&vault).len(), 1);
    add(&vault.path(".claw/other/sessions/s.jsonl"), &turn("user", "And on it goes."));
    let (same, text) = note(&vault, "conversations", "And on it goes.");
    assert!(same == name && !text.contains("4711") && names(&vault).len() == 1, "{text}");
}

#[test]
fn a_turn_that_is_said_again_hides_none_before_it_from_an_edited_note() {
    let mut vault = vault("");
    let path = source(&vault, "s.jsonl");
    put(&vault, &path, "s", &["ok", "beavers"]);
    start(&mut vault);
    let (name, text) = note(&vault, "conversations", "beavers");
    vault.terminate();
    let mine = text.replace("beavers", "beavers (mine)");
    vault.write(&format!("conversations/{name}"), &mine);
    lose_state(&vault);
    put(&vault, &path, "s", &["ok", "beavers", "A new thought on dams", "Another on lodges", "ok"]);
    start(&mut vault);
    let (same, text) = note(&vault, "conversations", "Another on lodges");
    assert!(same == name && text.starts_with(&mine) && text.contains("A new thought on dams"), "{text}");
    assert_eq!((text.matches("user:** ok").count(), names(&vault).len()), (2, 1), "{text}");
}
