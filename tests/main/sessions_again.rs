//! Files of sessions that were away, moved, put back or rewritten: each session goes on in its note, what was kept of it stays, and what was
//! taken away or forgotten for good stays away.

use crate::sessions::{add, configure, header, lose_state, note, notes, once, session, source, state, turn, vault};
use crate::support::prelude::*;

/// Has a file be changed so many seconds from now.
fn changed(path: &Path, now: SystemTime, seconds: u64) {
    set_time(path, now + Duration::from_secs(seconds));
}

/// Starts the daemon anew, and waits for its first look.
fn look_anew(vault: &mut Daemon) {
    vault.terminate();
    start(vault);
}

fn start(vault: &mut Daemon) {
    vault.start().settle();
    once(vault, "a look", |state| state["by"] == "events");
}

/// The names of the notes of conversations.
fn names(vault: &Daemon) -> Vec<String> {
    notes(vault, "conversations").into_iter().map(|(name, _)| name).collect()
}

/// Another session, whose note says that there was a look at all that was changed before.
fn marked(vault: &Daemon, word: &str) {
    session(vault, word, &[&format!("Words of {word}")]);
    note(vault, "conversations", &format!("Words of {word}"));
}

#[test]
fn a_file_that_was_away_goes_on_in_its_note_when_it_is_back() {
    let mut vault = vault("");
    let path = source(&vault, "s.jsonl");
    let all = header("s") + &turn("user", "Alpha words") + &turn("user", "Beta words");
    fs::write(&path, &all).unwrap();
    start(&mut vault);
    note(&vault, "conversations", "Beta words");
    let away = vault.path("s.away");
    fs::rename(&path, &away).unwrap();
    once(&vault, "it to go", |state| state["gone"] == 1);
    look_anew(&mut vault);
    // Copied back in two steps, with a time of its own.
    fs::write(&path, &all[..all.len() - 40]).unwrap();
    once(&vault, "half of it", |state| state["cut_short"] == 1);
    look_anew(&mut vault);
    fs::write(&path, all.clone() + &turn("user", "Gamma words")).unwrap();
    let (name, text) = note(&vault, "conversations", "Gamma words");
    assert_eq!((name.as_str(), text.matches("Beta words").count()), ("2026-01-05-s.md", 1), "{text}");
    // Its place has another meanwhile, and the daemon is started anew in between.
    vault.terminate();
    fs::rename(&path, &away).unwrap();
    fs::write(&path, header("s") + &turn("user", "Of another") + &turn("user", "Quite another")).unwrap();
    start(&mut vault);
    note(&vault, "conversations", "Quite another");
    vault.terminate();
    fs::rename(&away, &path).unwrap();
    add(&path, &turn("user", "Delta words"));
    start(&mut vault);
    let (back, text) = note(&vault, "conversations", "Delta words");
    assert_eq!((&back, names(&vault).len()), (&name, 2), "{text}");
    assert!(text.contains("Gamma words") && !text.contains("another"), "{text}");
    // And the next takes the place of neither.
    fs::write(&path, header("s") + &turn("user", "A third") + &turn("user", "Wholly a third")).unwrap();
    note(&vault, "conversations", "Wholly a third");
    let texts = notes(&vault, "conversations").into_iter().map(|(_, text)| text).collect::<String>();
    assert!(names(&vault).len() == 3 && texts.contains("Delta words") && texts.contains("Quite another"), "{texts}");
}

#[test]
fn a_file_that_has_moved_goes_on_in_its_note_wherever_a_kill_comes_between() {
    let mut vault = vault("keep_count = 2\n");
    let path = session(&vault, "s", &["Alpha words"]);
    session(&vault, "t", &["Alpha words"]);
    start(&mut vault);
    once(&vault, "both", |state| state["sessions"] == 2);
    vault.terminate();
    fs::rename(vault.path(".claw/main"), vault.path(".claw/other")).unwrap();
    vault.dies_at("session-moved:1");
    start(&mut vault);
    let now = once(&vault, "both", |state| state["sources"] == 2);
    assert_eq!((&now["sessions"], &now["gone"], &now["begun_anew"]), (&json!(2), &json!(0), &json!(0)), "{now}");
    assert_eq!(names(&vault), ["2026-01-05-s.md", "2026-01-05-t.md"]);
    add(&vault.path(".claw/other/sessions/s.jsonl"), &turn("user", "Beta words"));
    let (name, text) = note(&vault, "conversations", "Beta words");
    assert!(name == "2026-01-05-s.md" && text.matches("Alpha words").count() == 1, "{text}");
    assert!(!vault.path(".trash/conversations").exists());
    // A copy is a file of its own.
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy(vault.path(".claw/other/sessions/s.jsonl"), &path).unwrap();
    note(&vault, "conversations", "Beta words");
    once(&vault, "the copy", |state| state["sources"] == 3);
}

#[test]
fn the_only_turn_that_is_rewritten_changes_the_note_that_nobody_has_edited() {
    let mut vault = vault("");
    let path = session(&vault, "s", &["Alpha words"]);
    start(&mut vault);
    let (name, _) = note(&vault, "conversations", "Alpha words");
    fs::write(&path, header("s") + &turn("user", "Other things")).unwrap();
    let (same, text) = note(&vault, "conversations", "Other things");
    assert!(same == name && !text.contains("Alpha words"), "{text}");
    fs::write(&path, header("s") + &turn("user", "Once more") + &turn("assistant", "An answer")).unwrap();
    let (same, text) = note(&vault, "conversations", "An answer");
    assert!(same == name && !text.contains("Other things") && text.contains("Once more"), "{text}");
    assert_eq!((names(&vault).len(), &state(&vault)["begun_anew"]), (1, &json!(0)));
    // What a person has written stays, and nothing that was said is lost.
    let path = session(&vault, "mine", &["First thoughts"]);
    let (name, text) = note(&vault, "conversations", "First thoughts");
    let mine = text.replace("First thoughts", "My own thoughts");
    vault.write(&format!("conversations/{name}"), &mine);
    fs::write(&path, header("mine") + &turn("user", "Second thoughts")).unwrap();
    let (other, text) = note(&vault, "conversations", "Second thoughts");
    assert!(other != name && !text.contains("My own"), "{text}");
    assert_eq!(vault.read(&format!("conversations/{name}")), mine);
    // One that was taken away does not come back with it.
    let path = session(&vault, "gone", &["Third thoughts"]);
    let (name, _) = note(&vault, "conversations", "Third thoughts");
    fs::remove_file(vault.path(&format!("conversations/{name}"))).unwrap();
    fs::write(&path, header("gone") + &turn("user", "Fourth thoughts")).unwrap();
    marked(&vault, "zz");
    assert!(!notes(&vault, "conversations").iter().any(|(_, text)| text.contains("Fourth thoughts")));
}

#[test]
fn a_long_session_that_loses_turns_in_its_midst_has_each_turn_once() {
    let mut vault = vault("");
    let path = source(&vault, "long.jsonl");
    let long = |at: usize| turn("user", &format!("Long turn {at}. {}", "Much was said. ".repeat(27_000)));
    let all: Vec<String> = (0..9).map(long).collect();
    fs::write(&path, header("long") + &all.concat()).unwrap();
    start(&mut vault);
    let last = note(&vault, "conversations", "Long turn 8.").0;
    assert_eq!((last.as_str(), names(&vault).len()), ("2026-01-05-long-part-4.md", 4));
    // Cut at its end it stays as it is.
    fs::write(&path, header("long") + &all[..7].concat()).unwrap();
    once(&vault, "the cut", |state| state["cut_short"] == 1);
    assert_eq!(names(&vault).len(), 4);
    fs::write(&path, header("long") + &all[..2].concat() + &all[6..].concat() + &turn("user", "The end")).unwrap();
    note(&vault, "conversations", "The end");
    until("the last parts to go", || names(&vault).len() == 2);
    let said = notes(&vault, "conversations").into_iter().map(|(_, text)| text).collect::<String>();
    for at in 0..9 {
        let count = usize::from(!(2..6).contains(&at));
        assert_eq!(said.matches(&format!("Long turn {at}.")).count(), count, "{at}");
    }
}

/// The session of a program that has one name for all that was ever said in a chat.
#[test]
fn a_chat_that_was_cleared_gets_a_note_of_its_own_and_one_that_was_rewritten_does_not() {
    let mut vault = vault("kind = \"moltis\"\n");
    let path = source(&vault, "main.jsonl");
    let said = |seconds: u64, text: &str| {
        format!("{}\n", json!({ "role": "user", "content": text, "created_at": (1_767_607_200 + seconds) * 1000 }))
    };
    fs::write(&path, said(0, "Alpha words")).unwrap();
    start(&mut vault);
    let (name, _) = note(&vault, "conversations", "Alpha words");
    fs::write(&path, said(0, "Rewritten words")).unwrap();
    assert_eq!(note(&vault, "conversations", "Rewritten words").0, name);
    fs::write(&path, said(60, "After it was cleared")).unwrap();
    let (other, text) = note(&vault, "conversations", "After it was cleared");
    assert!(other != name && !text.contains("Rewritten"), "{text}");
    assert_eq!(names(&vault).len(), 2);
}

#[test]
fn a_session_keeps_what_it_was_told_of_its_channel() {
    let mut vault = vault("");
    let (path, store) = (source(&vault, "s.jsonl"), source(&vault, "sessions.json"));
    let told = |key: &str, id: &str| fs::write(&store, json!({ key: { "sessionId": id } }).to_string()).unwrap();
    told("agent:main:telegram:group:-100", "s");
    // It has a line that cannot be read, so that it is not kept whole.
    fs::write(&path, header("s") + "{broken\n" + &turn("user", "Alpha words")).unwrap();
    start(&mut vault);
    let is_of = |vault: &Daemon, word: &str, scope: &str| {
        eventually(word, || {
            let all = notes(vault, "conversations");
            let (_, text) = all.iter().find(|(_, text)| text.contains(word))?;
            let channel = if scope == "group" { "channel: telegram\n" } else { "" };
            (text.contains(&format!("session_scope: {scope}\n")) && text.contains(channel)).then_some(())
        });
        assert_eq!(names(vault).iter().filter(|name| name.contains("-s.")).count(), 1);
    };
    is_of(&vault, "Alpha words", "group");
    // The store goes: at work, and while the daemon is down.
    fs::remove_file(&store).unwrap();
    add(&path, &turn("user", "Beta words"));
    is_of(&vault, "Beta words", "group");
    look_anew(&mut vault);
    add(&path, &turn("user", "Gamma words"));
    is_of(&vault, "Gamma words", "group");
    // The channel has a newer session.
    told("agent:main:telegram:group:-100", "t");
    add(&path, &turn("user", "Delta words"));
    is_of(&vault, "Delta words", "group");
    look_anew(&mut vault);
    marked(&vault, "zz");
    is_of(&vault, "Delta words", "group");
    // What it says of this one counts, also where it came to say so while the daemon was down and the session has not grown.
    vault.terminate();
    told("agent:main:main", "s");
    start(&mut vault);
    is_of(&vault, "Delta words", "direct");
    told("agent:main:telegram:group:-100", "s");
    is_of(&vault, "Delta words", "group");
    told("agent:main:main", "s");
    is_of(&vault, "Delta words", "direct");
    // Another glob is another entry, and the same file.
    vault.terminate();
    fs::remove_file(&store).unwrap();
    configure(&vault, "[[sessions]]\npath = \".claw/main/**/*.jsonl\"\nscope = \"channel\"\n");
    start(&mut vault);
    add(&path, &turn("user", "Epsilon words"));
    is_of(&vault, "Epsilon words", "direct");
}

#[test]
fn what_was_taken_away_stays_away_when_its_session_is_one_too_many_and_then_is_not() {
    let mut vault = vault("keep_count = 1\n");
    let now = SystemTime::now();
    let one = session(&vault, "one", &["First words"]);
    changed(&one, now, 1);
    start(&mut vault);
    let (name, _) = note(&vault, "conversations", "First words");
    fs::remove_file(vault.path(&format!("conversations/{name}"))).unwrap();
    let two = session(&vault, "two", &["Second words"]);
    changed(&two, now, 2);
    note(&vault, "conversations", "Second words");
    add(&one, &turn("user", "First again"));
    changed(&one, now, 3);
    until("the second to go", || names(&vault).is_empty());
    look_anew(&mut vault);
    assert!(names(&vault).is_empty());
    // The other comes out of the trash, wherever a kill comes between.
    for (seconds, point) in [(4, "session-trashing"), (6, "session-trashed")] {
        add(&two, &turn("user", &format!("Second at {point}")));
        changed(&two, now, seconds);
        let (name, _) = note(&vault, "conversations", &format!("Second at {point}"));
        assert_eq!(name, "2026-01-05-two.md");
        vault.terminate();
        add(&one, &turn("user", "And again"));
        changed(&one, now, seconds + 1);
        vault.dies_at(&format!("{point}:1"));
        // It changes before the next look.
        add(&two, &turn("user", "Before the look"));
        changed(&two, now, seconds + 1);
        changed(&one, now, seconds);
        start(&mut vault);
        note(&vault, "conversations", "Before the look");
    }
    assert_eq!(names(&vault), ["2026-01-05-two.md"]);
}

#[test]
fn a_file_that_moved_while_its_note_was_in_the_trash_and_came_back_has_one_note() {
    let mut vault = vault("keep_count = 1\n");
    let now = SystemTime::now();
    let one = session(&vault, "one", &["First words"]);
    changed(&one, now, 1);
    start(&mut vault);
    note(&vault, "conversations", "First words");
    let two = session(&vault, "two", &["Second words"]);
    changed(&two, now, 2);
    note(&vault, "conversations", "Second words");
    until("the first to go", || names(&vault) == ["2026-01-05-two.md"]);
    let elsewhere = vault.path(".claw/b/sessions/one.jsonl");
    fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    // There it comes again, and goes on where it was.
    fs::rename(&one, &elsewhere).unwrap();
    add(&elsewhere, &turn("user", "First again"));
    changed(&elsewhere, now, 3);
    note(&vault, "conversations", "First again");
    fs::rename(&elsewhere, &one).unwrap();
    add(&one, &turn("user", "First at last"));
    changed(&one, now, 4);
    note(&vault, "conversations", "First at last");
    until("one note", || names(&vault) == ["2026-01-05-one.md"]);
}

#[test]
fn a_session_is_known_by_its_note_where_the_state_was_lost_and_the_note_edited() {
    let mut vault = vault("");
    let path = session(&vault, "s", &["Alpha words", "Beta words"]);
    start(&mut vault);
    let (name, text) = note(&vault, "conversations", "Beta words");
    session(&vault, "s", &["Gamma words", "Delta words"]);
    let (second, _) = note(&vault, "conversations", "Delta words");
    vault.terminate();
    let mine = text.replace("Alpha words", "My words");
    vault.write(&format!("conversations/{name}"), &mine);
    lose_state(&vault);
    add(&path, &turn("user", "Epsilon words"));
    start(&mut vault);
    let (same, _) = note(&vault, "conversations", "Epsilon words");
    assert_eq!((&same, names(&vault).len()), (&second, 2), "the one that has what the file has now");
    // The same of one that was edited.
    vault.terminate();
    let edited = vault.read(&format!("conversations/{second}"));
    vault.write(&format!("conversations/{second}"), edited.replace("Gamma words", "Mine as well"));
    lose_state(&vault);
    add(&path, &turn("user", "Zeta words"));
    start(&mut vault);
    let (same, text) = note(&vault, "conversations", "Zeta words");
    assert_eq!((&same, text.matches("Epsilon words").count(), names(&vault).len()), (&second, 1, 2), "{text}");
    assert_eq!(vault.read(&format!("conversations/{name}")), mine);
}

#[test]
fn strange_files_come_as_far_as_they_can_be_read_and_what_is_lost_is_said() {
    let mut vault = vault("");
    let crlf = (header("crlf") + &turn("user", "Words\r\nof Windows")).replace('\n', "\r\n");
    fs::write(source(&vault, "crlf.jsonl"), format!("\u{feff}{crlf}")).unwrap();
    // A line that was cut by a crash, and went on.
    let cut = turn("user", "Lost words");
    let half = &cut[..cut.len() / 2];
    fs::write(source(&vault, "cut.jsonl"), format!("{}{half}\n{}", header("cut"), turn("user", "Later words")))
        .unwrap();
    let picture = json!({ "type": "user", "sessionId": "pic", "uuid": "u", "timestamp": "2026-01-05T10:00:00Z",
        "message": { "role": "user", "content": [
            { "type": "image", "source": { "data": "x".repeat(400 << 10) } }, { "type": "text", "text": "Pictured words" } ] } });
    fs::write(source(&vault, "pic.jsonl"), format!("{picture}\n")).unwrap();
    // More than a line may have.
    let mut long = header("long") + &turn("user", "Before it");
    long += &format!(
        "{{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}}}\n",
        "x".repeat(65 << 20)
    );
    fs::write(source(&vault, "long.jsonl"), long + &turn("user", "Behind it")).unwrap();
    std::os::unix::fs::symlink(vault.path("memory.toml"), source(&vault, "link.jsonl")).unwrap();
    start(&mut vault);
    for word in ["of Windows", "Later words", "Pictured words", "Behind it"] {
        note(&vault, "conversations", word);
    }
    assert_eq!(names(&vault), ["crlf", "cut", "long", "pic"].map(|id| format!("2026-01-05-{id}.md")));
    let problems =
        once(&vault, "what was lost", |state| state["problems"].as_array().is_some_and(|all| all.len() == 2));
    let said = |name: &str| {
        let all = problems["problems"].as_array().unwrap();
        all.iter()
            .find(|problem| problem["path"].as_str().unwrap().ends_with(name))
            .map_or(Value::Null, |it| it["reason"].clone())
    };
    assert!(said("cut.jsonl").as_str().is_some_and(|said| said.contains("1 × lines that are not JSON")), "{problems}");
    assert!(
        said("long.jsonl").as_str().is_some_and(|said| said.contains("1 × lines of more than 64 MB")),
        "{problems}"
    );
}

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
    let now = SystemTime::now();
    for (id, text) in said {
        let path = source(&vault, &format!("{id}.jsonl"));
        put(&vault, &path, id, &[text]);
        // Two of one size and of one time are told apart.
        set_time(path, now);
    }
    start(&mut vault);
    once(&vault, "all", |state| state["sessions"] == 3);
    for (id, _) in said {
        purge(&vault, &json!({ "path": format!("conversations/2026-01-05-{id}.md"), "purge": true }));
    }
    move_all(&mut vault);
    assert!(names(&vault).is_empty(), "{:?}", notes(&vault, "conversations"));
    // It goes on, and moves once more, whether it is read in between or not.
    vault.terminate();
    add(&vault.path(".claw/other/sessions/p.jsonl"), &turn("user", "Words behind it"));
    fs::rename(vault.path(".claw/other"), vault.path(".claw/third")).unwrap();
    start(&mut vault);
    assert!(names(&vault).is_empty(), "{:?}", notes(&vault, "conversations"));
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
    let hash = vault.get("/api/user-memory/search?q=4711&limit=1").json()["results"][0]["hash"].clone();
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

#[test]
fn an_edited_note_has_each_turn_that_comes_when_a_thought_is_closed_late() {
    let mut vault = vault("");
    let path = source(&vault, "s.jsonl");
    let begun = turn("user", "Where is the boat?")
        + &turn("assistant", "<think>let me see")
        + &turn("assistant", "it may be in the harbour");
    fs::write(&path, header("s") + &begun).unwrap();
    start(&mut vault);
    let (name, text) = note(&vault, "conversations", "in the harbour");
    let mine = format!("{text}\nA line of mine.\n");
    vault.write(&format!("conversations/{name}"), &mine);
    add(&path, &(turn("assistant", "done</think>The boat is at pier nine.") + &turn("user", "Thank you")));
    let (_, text) = note(&vault, "conversations", "Thank you");
    assert!(text.starts_with(&mine) && text.matches("The boat is at pier nine.").count() == 1, "{text}");
    assert!(!text.contains("done"), "{text}");
    // What a thought turned out to be is in none that nobody has edited.
    let path = source(&vault, "t.jsonl");
    fs::write(&path, header("t") + &begun + &turn("assistant", "x</think>At pier ten.")).unwrap();
    let (_, text) = note(&vault, "conversations", "At pier ten.");
    assert!(!text.contains("harbour") && text.matches("assistant:").count() == 1, "{text}");
}
