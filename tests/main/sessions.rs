//! Sessions of other programs come as Markdown by themselves, grow, stay as a person has edited them, and are read by whom their channel is
//! open to.

use crate::support::prelude::*;

/// The points at which this file and `sessions_again` kill the daemon.
pub const POINTS: [&str; 6] =
    ["session-planned", "session-written", "session-marked", "session-moved", "session-trashing", "session-trashed"];

/// A vault that keeps the sessions of a folder that is not there yet, and is none of its notes.
pub fn vault(more: &str) -> Daemon {
    let vault = Daemon::with_config("");
    configure(&vault, &format!("[[sessions]]\npath = \".claw/*/sessions/*.jsonl\"\n{more}"));
    vault
}

pub fn configure(vault: &Daemon, sessions: &str) {
    let config = format!(
        "[embed]\nmodel = \"none\"\n[memory]\nenabled = false\n[agents]\nrequests_per_minute = 100000\n[server]\nport = 0\n{sessions}"
    );
    fs::write(vault.path("memory.toml"), config).unwrap();
}

pub fn source(vault: &Daemon, name: &str) -> PathBuf {
    let path = vault.path(&format!(".claw/main/sessions/{name}"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

pub fn header(id: &str) -> String {
    format!("{}\n", json!({ "type": "session", "id": id, "timestamp": "2026-01-05T10:00:00Z" }))
}

pub fn turn(role: &str, text: &str) -> String {
    let message = json!({ "role": role, "content": [{ "type": "text", "text": text }] });
    format!("{}\n", json!({ "type": "message", "timestamp": "2026-01-05T10:00:01Z", "message": message }))
}

/// Writes a session in which the user says this.
pub fn session(vault: &Daemon, id: &str, said: &[&str]) -> PathBuf {
    let path = source(vault, &format!("{id}.jsonl"));
    let turns: String = said.iter().map(|text| turn("user", text)).collect();
    fs::write(&path, header(id) + &turns).unwrap();
    path
}

/// As where what the program keeps of itself was lost.
pub fn lose_state(vault: &Daemon) {
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = fs::remove_file(vault.path(&format!(".vault/state/{file}")));
    }
}

pub fn add(path: &PathBuf, text: &str) {
    use std::io::Write;
    fs::File::options().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// The notes of a collection, by name.
pub fn notes(vault: &Daemon, folder: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(vault.path(folder)).into_iter().flatten().flatten();
    // A file on its way to its name is none yet, and gone when it is read.
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path()));
    let notes = named.filter(|(name, _)| name.ends_with(".md"));
    let mut notes: Vec<_> = notes.filter_map(|(name, path)| Some((name, fs::read_to_string(path).ok()?))).collect();
    notes.sort();
    notes
}

/// The one note of a collection, once it says something.
#[track_caller]
pub fn note(vault: &Daemon, folder: &str, word: &str) -> (String, String) {
    eventually(word, || notes(vault, folder).into_iter().find(|(_, text)| text.contains(word)))
}

pub fn state(vault: &Daemon) -> Value {
    vault.status()["sessions"].clone()
}

/// The state, once `is` holds of it.
#[track_caller]
pub fn once(vault: &Daemon, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    eventually(what, || Some(state(vault)).filter(&is))
}

#[test]
fn a_session_comes_by_itself_and_grows_in_the_same_note() {
    let mut vault = vault("agent = \"ada\"\n").settled();
    once(&vault, "a look", |state| state["by"] == "events");
    let path = source(&vault, "s1.jsonl");
    let said = "<think>hm</think>The elephant 🐘 is called 小象, and the key is AKIAIOSFODNN7EXAMPLE.";
    fs::write(
        &path,
        header("s1") + &turn("user", "Who is that?") + &turn("toolResult", "one\nnoise") + &turn("assistant", said),
    )
    .unwrap();
    let (name, text) = note(&vault, "conversations", "小象");
    assert_eq!(name, "2026-01-05-s1.md");
    assert!(text.contains("\n# Session s1\n") && text.contains("user:** Who is that?"), "{text}");
    for part in ["source: session\n", "session: openclaw/s1\n", "session_scope: direct\n", "session_agent: ada\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for not in ["think", "noise", "AKIAIOSFODNN7EXAMPLE"] {
        assert!(!text.contains(not), "{not}: {text}");
    }
    vault.finds("小象", &["conversations/2026-01-05-s1.md"]);

    // The last line is being written.
    let half = turn("user", "And the zebra?");
    add(&path, &half[..half.len() / 2]);
    add(&source(&vault, "s2.jsonl"), &(header("s2") + &turn("user", "Other")));
    note(&vault, "conversations", "Other");
    assert!(!note(&vault, "conversations", "小象").1.contains("zebra"));
    add(&path, &half[half.len() / 2..]);
    let (name, grown) = note(&vault, "conversations", "zebra");
    assert!(name == "2026-01-05-s1.md" && grown.starts_with(&text), "{grown}");

    // Nothing is rendered again where nothing has changed.
    let before = fs::metadata(vault.path("conversations/2026-01-05-s1.md")).unwrap().modified().unwrap();
    vault.restart().settle();
    once(&vault, "a look", |state| state["sessions"] == 2);
    let after = fs::metadata(vault.path("conversations/2026-01-05-s1.md")).unwrap().modified().unwrap();
    assert_eq!(before, after);
    let shown = vault.run(&["status"]).ok().stdout;
    assert!(shown.contains("sessions    2 of 2 files, noticed by events"), "{shown}");
}

#[test]
fn what_a_person_has_edited_or_taken_away_stays_so() {
    let mut vault = vault("");
    let (one, two) = (session(&vault, "one", &["First words"]), session(&vault, "two", &["Second words"]));
    vault.start().settle();
    note(&vault, "conversations", "First words");
    note(&vault, "conversations", "Second words");
    let path = "conversations/2026-01-05-one.md";
    let mine = vault.read(path).replace("First words", "My words");
    vault.write(path, &mine);
    fs::remove_file(vault.path("conversations/2026-01-05-two.md")).unwrap();
    add(&two, &turn("user", "Second again"));
    add(&one, &turn("user", "First again"));
    let (_, text) = note(&vault, "conversations", "First again");
    assert!(text.starts_with(&mine) && !text.contains("First words"), "{text}");
    add(&one, &turn("assistant", "First thrice"));
    let (_, text) = note(&vault, "conversations", "First thrice");
    assert!(text.starts_with(&mine) && text.matches("First again").count() == 1, "{text}");
    once(&vault, "the edit", |state| state["edited"] == 1);
    assert_eq!(notes(&vault, "conversations").len(), 1, "what was taken away stays away");
}

#[test]
fn a_file_that_is_cut_short_begun_anew_or_gone_costs_nothing_that_was_kept() {
    let mut vault = vault("");
    let path = session(&vault, "s", &["Alpha", "Beta"]);
    vault.start().settle();
    let (name, text) = note(&vault, "conversations", "Beta");
    session(&vault, "s", &["Alpha"]);
    once(&vault, "the cut", |state| state["cut_short"] == 1);
    session(&vault, "s", &["Gamma"]);
    let (other, anew) = note(&vault, "conversations", "Gamma");
    assert!(other != name && !anew.contains("Alpha"), "{other}");
    fs::remove_file(&path).unwrap();
    let state = once(&vault, "the end of the file", |state| state["gone"] == 1);
    assert_eq!((&state["begun_anew"], &state["cut_short"]), (&json!(1), &json!(0)), "{state}");
    assert_eq!(vault.read(&format!("conversations/{name}")), text);
    assert_eq!(notes(&vault, "conversations").len(), 2);
}

#[test]
fn a_line_that_was_written_twice_comes_once_and_an_early_edit_makes_no_second_note() {
    let mut vault = vault("");
    let path = source(&vault, "s.jsonl");
    let named = |id: &str, text: &str| {
        let message = json!({ "role": "user", "content": text });
        format!("{}\n", json!({ "type": "message", "id": id, "timestamp": "2026-01-05T10:00:01Z", "message": message }))
    };
    let begun = header("s") + &named("a", "Alpha words");
    fs::write(&path, begun.clone() + &named("b", "Beta words")).unwrap();
    vault.start().settle();
    note(&vault, "conversations", "Beta words");
    add(&path, &(named("b", "Beta words") + &named("c", "Gamma words")));
    let (name, text) = note(&vault, "conversations", "Gamma words");
    assert_eq!(text.matches("Beta words").count(), 1, "{text}");
    let edited = begun.replace("Alpha", "Aleph") + &named("b", "Beta words") + &named("c", "Gamma words");
    fs::write(&path, edited + &named("d", "Delta words")).unwrap();
    let (same, text) = note(&vault, "conversations", "Delta words");
    assert!(same == name && text.contains("Aleph words") && !text.contains("Alpha words"), "{text}");
    assert_eq!((notes(&vault, "conversations").len(), &state(&vault)["begun_anew"]), (1, &json!(0)));
}

#[test]
fn what_cannot_be_read_is_said_and_keeps_no_other_from_coming() {
    let mut vault = vault("");
    fs::write(source(&vault, "strange.jsonl"), "{\"x\": 1}\n").unwrap();
    fs::write(source(&vault, "empty.jsonl"), "").unwrap();
    for copy in ["bad.trajectory.jsonl", "bad.checkpoint.7.jsonl"] {
        fs::write(source(&vault, copy), header("bad") + &turn("user", "A copy of it")).unwrap();
    }
    let closed = source(&vault, "closed.jsonl");
    fs::write(&closed, header("c") + &turn("user", "Closed words")).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let bytes = [
        header("bad").as_bytes(),
        b"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"Caf\xe9 words\"}}\n\xff\n",
    ]
    .concat();
    fs::write(source(&vault, "bad.jsonl"), bytes).unwrap();
    vault.start().settle();
    note(&vault, "conversations", "Caf\u{fffd} words");
    let state = once(&vault, "the problems", |state| state["problems"].as_array().is_some_and(|all| !all.is_empty()));
    let said = state["problems"].to_string();
    assert!(said.contains("strange.jsonl") && said.contains("not a session of a known program"), "{said}");
    let is_root = rustix::process::geteuid().is_root();
    assert!(is_root || said.contains("closed.jsonl") && said.contains("cannot be read"), "{said}");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).unwrap();
    add(&closed, &turn("user", "Open words"));
    note(&vault, "conversations", "Open words");
    assert!(vault.run(&["status"]).ok().stdout.contains("strange.jsonl"));
    assert!(notes(&vault, "conversations").iter().all(|(_, text)| !text.contains("A copy")));
}

#[test]
fn old_ones_and_those_that_are_too_many_go_to_the_trash() {
    let mut vault = vault("into = \"sessions\"\nagent = \"Ada B\"\nkeep_days = 30\nkeep_count = 2\n");
    let now = SystemTime::now();
    for (name, days) in [("a", 1), ("b", 2), ("c", 3), ("old", 90)] {
        let path = session(&vault, name, &[&format!("Words of {name}")]);
        set_time(path, now - Duration::from_secs(days * 24 * 3600));
    }
    vault.start().settle();
    once(&vault, "two", |state| state["sessions"] == 2);
    let names = |vault: &Daemon| notes(vault, "sessions-ada-b").into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let are = |vault: &Daemon, wanted: &[&str]| until("the notes", || names(vault) == wanted);
    are(&vault, &["2026-01-05-a.md", "2026-01-05-b.md"]);
    add(&source(&vault, "c.jsonl"), &turn("user", "It goes on"));
    note(&vault, "sessions-ada-b", "It goes on");
    are(&vault, &["2026-01-05-a.md", "2026-01-05-c.md"]);
    assert!(vault.path(".trash/sessions-ada-b/2026-01-05-b.md").exists());
    // One that was edited stays.
    let mine = vault.read("sessions-ada-b/2026-01-05-a.md") + "\nMine.\n";
    vault.write("sessions-ada-b/2026-01-05-a.md", mine);
    add(&source(&vault, "b.jsonl"), &turn("user", "So does this"));
    note(&vault, "sessions-ada-b", "So does this");
    once(&vault, "the edit", |state| state["sessions"] == 2);
    are(&vault, &["2026-01-05-a.md", "2026-01-05-b.md", "2026-01-05-c.md"]);
}

#[test]
fn what_was_forgotten_for_good_does_not_come_back_with_a_session_that_grows() {
    let mut vault = vault("");
    let secret = "The spare key lies under the third pot of the garden.";
    let path = session(&vault, "s", &[secret, "The weather is fine today."]);
    vault.start().settle();
    let (name, _) = note(&vault, "conversations", "third pot");
    vault.finds("pot", &[&format!("conversations/{name}")]);
    let hash = vault.get("/api/user-memory/search?q=pot&limit=1").json()["results"][0]["hash"].clone();
    vault.post("/api/user-memory/forget", &json!({ "hash": hash, "purge": true })).ok();
    add(&path, &turn("user", "And on it goes."));
    let (same, text) = note(&vault, "conversations", "And on it goes.");
    assert!(same == name && !text.contains("third pot"), "{text}");
    // Nor with another, which says the same.
    session(&vault, "t", &[secret, "Something else was said."]);
    let (_, text) = note(&vault, "conversations", "Something else was said.");
    assert!(!text.contains("third pot"), "{text}");
}

#[test]
fn a_session_that_was_forgotten_for_good_does_not_come_again_however_its_file_goes_on() {
    let mut vault = vault("keep_count = 1\n");
    // So short that nothing else tells it again.
    let path = session(&vault, "s", &["Pin 4711"]);
    vault.start().settle();
    let (name, _) = note(&vault, "conversations", "4711");
    vault.settle();
    let note_path = format!("conversations/{name}");
    vault.post("/api/user-memory/forget", &json!({ "path": note_path, "purge": true })).ok();
    // It grows, and was looked at; another takes its place; it grows once more, and is the last that changed. Each has a time of its own:
    // of two that changed within one tick of the clock, it is not known which was the last.
    let now = SystemTime::now();
    let changed = |path: &PathBuf, seconds: u64| set_time(path, now + Duration::from_secs(seconds));
    let look_anew = |vault: &mut Daemon| {
        vault.restart().settle();
        once(vault, "a look", |state| state["by"] == "events");
    };
    add(&path, &turn("user", "Words behind it"));
    changed(&path, 1);
    look_anew(&mut vault);
    assert!(notes(&vault, "conversations").is_empty());
    let other = session(&vault, "t", &["Other words"]);
    changed(&other, 2);
    note(&vault, "conversations", "Other words");
    add(&path, &turn("user", "Words at the end"));
    changed(&path, 3);
    until("the other to go", || notes(&vault, "conversations").is_empty());
    look_anew(&mut vault);
    assert!(notes(&vault, "conversations").is_empty());
    let kept = contents(&vault.path(".vault/state"));
    assert!(!kept.iter().any(|(_, bytes)| String::from_utf8_lossy(bytes).contains("4711")));
}

#[test]
fn a_kill_at_any_point_makes_no_second_note_and_loses_no_turn() {
    let mut vault = vault("");
    let path = source(&vault, "s.jsonl");
    let mut all = header("s");
    for (count, point) in POINTS[..3].iter().cycle().take(6).enumerate() {
        all += &turn("user", &format!("Words number {count}"));
        fs::write(&path, &all).unwrap();
        vault.dies_at(&format!("{point}:1"));
    }
    vault.start().settle();
    let (_, text) = note(&vault, "conversations", "number 5");
    assert_eq!(notes(&vault, "conversations").len(), 1);
    for count in 0..6 {
        assert_eq!(text.matches(&format!("Words number {count}")).count(), 1, "{text}");
    }
    assert_eq!(state(&vault)["edited"], 0);
    // The state may go: the note is known by what it says.
    vault.terminate();
    lose_state(&vault);
    add(&path, &turn("user", "Words number 6"));
    vault.start().settle();
    note(&vault, "conversations", "number 6");
    assert_eq!(notes(&vault, "conversations").len(), 1);
}

#[test]
fn a_channel_decides_who_reads_a_session() {
    let mut vault = vault("agent = \"ada\"\n");
    let store = json!({
        "agent:main:main": { "sessionId": "mine", "chatType": "direct" },
        "agent:main:telegram:group:-100": { "sessionId": "ours" },
        "agent:main:discord:channel:7": { "sessionId": "theirs", "channel": "discord" },
    });
    fs::write(source(&vault, "sessions.json"), store.to_string()).unwrap();
    for id in ["mine", "ours", "theirs", "unknown"] {
        session(&vault, id, &[&format!("The wombat of {id}")]);
    }
    for (agent, more) in [
        ("ada", ""),
        ("bob", ""),
        ("cy", "sessions: [direct]\n"),
        ("dee", "sessions: []\n"),
        ("eve", "sessions: [group]\ncollections: [notes]\n"),
    ] {
        vault.write(&format!("agents/{agent}/agent.md"), format!("---\ncan_read_user_memory: true\n{more}---\n"));
    }
    vault.start().settle();
    for id in ["mine", "ours", "theirs", "unknown"] {
        note(&vault, "conversations", &format!("wombat of {id}"));
    }
    let all = ["mine", "ours", "theirs", "unknown"].map(|id| format!("conversations/2026-01-05-{id}.md"));
    vault.finds("wombat", &all.each_ref().map(String::as_str));
    vault.settle();
    assert_eq!(vault.get("/api/user-memory/browse?limit=100").json()["total"], 4);
    let text = note(&vault, "conversations", "wombat of theirs").1;
    assert!(text.contains("channel: discord\n") && text.contains("trust: untrusted\n"), "{text}");
    for (agent, sees) in [
        ("ada", &["mine", "ours", "theirs", "unknown"][..]),
        ("bob", &["ours", "theirs"]),
        ("cy", &["mine", "unknown"]),
        ("dee", &[]),
        ("eve", &[]),
    ] {
        let token = vault.token_of(agent);
        let ask = |target: &str| vault.get_as(&token, target);
        let browsed = ask("/api/user-memory/browse?limit=100").json();
        let found = ask("/api/user-memory/search?q=wombat&limit=100").json().to_string();
        assert_eq!(browsed["total"], sees.len(), "{agent}: {browsed}");
        for id in ["mine", "ours", "theirs", "unknown"] {
            let path = format!("conversations/2026-01-05-{id}.md");
            let is_seen = sees.contains(&id);
            let read = ask(&format!("/api/user-memory/note?path={path}"));
            assert_eq!(read.status == 200, is_seen, "{agent} {id}: {}", read.json());
            assert_eq!(
                (found.contains(&path), browsed.to_string().contains(&path)),
                (is_seen, is_seen),
                "{agent} {id}"
            );
        }
        let stats = ask("/api/user-memory/stats").json();
        let expected = if sees.is_empty() { Value::Null } else { json!(sees.len()) };
        assert!(sees.is_empty() != stats.to_string().contains("conversations"), "{agent}: {stats} {expected}");
        // The mark itself is nobody's to see.
        for target in ["/api/user-memory/tags", "/api/tags"] {
            assert!(!ask(target).json().to_string().contains("@session"), "{agent}");
        }
    }
    let why = vault.run(&["agent", "explain", "bob", "conversations/2026-01-05-mine.md"]).stdout;
    assert!(why.contains("direct session"), "{why}");
    // Whoever becomes its agent reads it, as soon as that is said.
    vault.terminate();
    configure(&vault, "[[sessions]]\npath = \".claw/*/sessions/*.jsonl\"\nagent = \"bob\"\n");
    vault.start().settle();
    until("the new agent", || note(&vault, "conversations", "wombat of mine").1.contains("session_agent: bob"));
}
