//! How far a purge goes, and no further: what was made of a note, its copies, what is kept elsewhere, and one that is refused.

use crate::support::prelude::*;

/// A page as the program makes them: nobody has edited it.
fn generated(sources: &[&str], body: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    body.trim_end().lines().for_each(|line| {
        hasher.update(line.as_bytes()).update(b"\n");
    });
    let digest = &hasher.finalize().to_hex()[..32];
    format!("---\ngenerated: true\nsources: {sources:?}\ndigest: \"{digest}\"\n---\n\n{body}\n")
}

#[track_caller]
fn forget(vault: &Daemon, params: Value) -> Value {
    vault.post("/api/user-memory/forget", &params).ok()
}

fn rows(told: &Value) -> Vec<String> {
    let rows = told["derived"].as_array().cloned().unwrap_or_default();
    rows.iter().map(|row| format!("{} {}", row["path"].as_str().unwrap(), row["gone"])).collect()
}

/// Whether the person is told so who saves a text.
fn is_forgotten(vault: &Daemon, content: &str) -> bool {
    vault.post("/api/user-memory/save", &json!({"content": content})).json()["forgotten_before"] == true
}

/// Whether something that is kept to undo changes, or lies in the trash, has a text.
fn is_kept(vault: &Daemon, text: &str) -> bool {
    [".vault/state/checkpoints", ".trash"].iter().any(|folder| !files_with(&vault.path(folder), text).is_empty())
}

const TALK: &str = "---\ntitle: Talk\ncreated: 2026-01-05T18:32:00+01:00\n---\n\n\
                    **18:32 · user:** The xylograph opens the blue garage door.\n\n\
                    **18:33 · user:** We have decided to bake the rye bread on Sunday.\n";
const OF: &str = "conversations/2026-01-05-talk.md";

#[test]
fn what_a_page_was_made_of_lines_that_stay_is_not_forgotten_with_it() {
    let mut vault = Daemon::vault();
    let page = generated(
        &[OF],
        &format!(
            "## In short\n\n- The xylograph opens the blue garage door. ({OF}#L6)\n- We have decided to bake the rye bread on Sunday. ({OF}#L8)"
        ),
    );
    vault.write(OF, TALK).write("summaries/mine.md", page).start();
    let gone = forget(&vault, json!({"path": OF, "line_start": 6, "purge": true}));
    assert!(rows(&gone).contains(&"summaries/mine.md true".to_owned()), "{gone}");
    assert!(!vault.path("summaries/mine.md").exists() && !is_kept(&vault, "xylograph"));
    assert!(
        !is_forgotten(&vault, "We have decided to bake the rye bread on Sunday."),
        "it was said in a turn that stays"
    );
    assert!(is_forgotten(&vault, "The xylograph opens the blue garage door."));
}

/// The lines of a note, one of which goes with the remark that quotes all of them.
const TRAMS: &str = "# Trams\n\nThe tram to the harbour leaves at nine every day.\nThe xylograph opens the blue garage door.\n\
                     Buses do not leave at all, as far as I know.\n";
const OF_ANOTHER: &str = "Ask Maya about the second timetable before the summer.\n";

#[test]
fn a_line_goes_with_its_remark_and_the_lines_that_stay_are_not_forgotten() {
    let vault = Daemon::vault().with("notes/a.md", TRAMS).with("notes/b.md", OF_ANOTHER).settled();
    let remark = format!("{OF_ANOTHER}\nThe garage is mine alone since last Sunday.");
    vault.post("/api/user-memory/annotate", &json!({"path": "notes/a.md", "line": 4, "note": remark})).ok();
    let gone = forget(&vault, json!({"path": "notes/a.md", "line_start": 4, "purge": true, "derived": true}));
    assert!(rows(&gone).iter().any(|row| row.starts_with("annotations/") && row.ends_with(" true")), "{gone}");
    let stays = TRAMS.replace("The xylograph opens the blue garage door.\n", "");
    assert_eq!(vault.read("notes/a.md"), stays);
    let known = vault.get("/api/forgotten").json();
    assert!(
        known["back"].as_array().unwrap().is_empty() && known["forgotten"].as_array().unwrap().len() == 2,
        "{known}"
    );
    let lines: Vec<&str> = stays.lines().filter(|line| line.contains("leave")).chain([OF_ANOTHER.trim_end()]).collect();
    for line in &lines {
        assert!(!is_forgotten(&vault, line), "{line}");
        let event = json!({"type": "message", "session": "talk", "role": "user", "text": line});
        assert_eq!(vault.capture(event), (1, 0), "{line}");
    }
    for line in ["The xylograph opens the blue garage door.", "The garage is mine alone since last Sunday."] {
        assert!(is_forgotten(&vault, line), "{line}");
    }
    vault.captured();
    let talk = contents(&vault.path("conversations")).into_iter().map(|(_, bytes)| String::from_utf8(bytes).unwrap());
    let talk = talk.collect::<String>();
    assert!(lines.iter().all(|line| talk.contains(line)), "{talk}");
    // An archive brings all of it back, to the byte.
    fs::remove_dir_all(vault.path("snippets")).unwrap();
    let (_elsewhere, copy) = vault.copy_by_archive();
    assert_eq!(fs::read_to_string(copy.join("notes/a.md")).unwrap(), stays);
    assert_eq!(fs::read_to_string(copy.join("notes/b.md")).unwrap(), OF_ANOTHER);
}

#[test]
fn an_import_names_each_file_and_leaves_out_the_pages_that_were_made_of_what_went() {
    let mut vault = Daemon::vault();
    let profile = generated(&["memories/user.md"], "- The xylograph opens the garage ^[memories/user.md#^e-1]");
    vault
        .write("notes/a.md", "The xylograph opens the blue garage door.\n")
        .write("notes/b.md", "Bread.\n\nThe xylograph opens the blue garage door.\n")
        .write("memories/user.md", "- The xylograph opens the garage ^e-1\n- Likes tea ^e-2\n")
        .write("profile/profile.md", profile)
        .start()
        .settle();
    let elsewhere = tempfile::tempdir().unwrap();
    let (archive, copy) = (elsewhere.path().join("all.tar.zst"), elsewhere.path().join("copy"));
    vault.run(&["export", archive.to_str().unwrap()]).ok();
    forget(&vault, json!({"path": "notes/a.md", "purge": true}));
    forget(&vault, json!({"path": "memories/user.md", "line_start": 1, "purge": true}));
    let mut import = vault_command();
    let told = Ran::of(import.arg("import").arg(&archive).arg(&copy).arg("--vault").arg(vault.path(""))).ok();
    for (path, how) in [
        ("notes/a.md", "all of it"),
        ("notes/b.md", "a part of it"),
        ("memories/user.md", "a part of it"),
        ("profile/profile.md", "all of it"),
    ] {
        assert!(told.stderr.contains(&format!("{path}: {how}")), "{path}: {}", told.stderr);
    }
    assert_eq!(files_with(&copy, "xylograph"), [""; 0]);
}

#[test]
fn what_was_purged_is_in_no_file_while_the_vault_is_served() {
    let mut vault = Daemon::without_model("[index]\nattachments = true\n");
    for at in 0..60 {
        let filler: String = (0..200 + at * 7 % 90).map(|word| format!("word{} ", word * at % 977)).collect();
        vault.write(&format!("notes/filler-{at}.md"), format!("# Filler {at}\n\n{filler}\n"));
    }
    let note =
        |line: &str| format!("# Door\n\n{}\n\n{line}\n\nBread is baked on Sunday.\n", "Some words. ".repeat(700));
    vault
        .write("notes/door.md", note("The xylograph opens the garage."))
        .write("files/page.html", "<p>The quetzalplan is about moving house in the spring.</p>")
        .start()
        .settle();
    // It moves about, in the index too.
    for line in ["The old xylograph opens it.", "Both. The xylograph opens the blue garage door."] {
        vault.write("notes/door.md", note(line));
        let word = if line.contains("old") { "old xylograph" } else { "blue" };
        until("the edit", || vault.find(word).contains(&"notes/door.md".to_owned()));
    }
    until("the page", || !vault.find("quetzalplan").is_empty());
    let line = note("").lines().count() - 2;
    assert!(!files_with(&vault.path(""), "xylograph").is_empty());
    vault.run(&["forget", &format!("notes/door.md:{line}"), "--purge", "--yes"]).ok();
    assert_eq!(files_with(&vault.path(""), "xylograph"), [""; 0]);
    let told = vault.run(&["forget", "files/page.html", "--purge", "--yes"]).ok();
    assert_eq!(files_with(&vault.path(""), "quetzalplan"), [""; 0]);
    assert!(!told.stdout.contains("index") && !told.stderr.contains("index"), "{} {}", told.stdout, told.stderr);
    assert!(vault.find("bread").contains(&"notes/door.md".to_owned()));
}

#[test]
fn a_copy_that_says_the_same_goes_with_its_note_and_another_is_named() {
    let mut vault = Daemon::vault();
    // A conversation is called by how it begins.
    let text = "---\ntitle: The xylograph opens the blue garage\nsource: capture\nsession: s1\n---\n# Door\n\n\
                The xylograph opens the blue garage door.\n\nBread is baked on Sunday.\n";
    let same = "notes/door.sync-conflict-20260105-183012-ABC2DEF.md";
    let other = "notes/door.sync-conflict-20260106-183012-ABC2DEF.md";
    vault.write("notes/door.md", text).write(same, text).write(other, format!("{text}\nMore.\n")).start();
    let gone = forget(&vault, json!({"path": "notes/door.md", "line_start": 8, "purge": true}));
    assert!(rows(&gone).contains(&format!("{same} true")), "{gone}");
    let left = |path: &str| vault.read(path);
    assert_eq!(left(same), left("notes/door.md"));
    assert!(!left(same).contains("xylograph") && left(same).contains("Bread") && left(other).contains("xylograph"));
    let remains = gone["purged"]["remains"].to_string();
    assert!(remains.contains(other) && !remains.contains(same), "{remains}");
    forget(&vault, json!({"path": "notes/door.md", "purge": true}));
    assert!(!vault.path(same).exists() && vault.path(other).exists());
}

#[test]
fn an_entry_whose_lines_are_others_by_now_stays_and_one_that_says_it_goes() {
    let mut vault = Daemon::vault();
    // The line was the third once.
    vault.write("notes/door.md", "# Door\n\nBread is baked on Sunday mornings.\n\nThe xylograph opens the garage.\n");
    let entries = "- Keeps an aardvark (source notes/door.md#L5) ^e-1\n- The xylograph opens the garage (source notes/door.md#L3) ^e-2\n\
                   - Needs the xylograph daily (source notes/door.md#L5) ^e-3\n- Bakes bread (source notes/door.md#L3) ^e-4\n";
    vault.write("memories/user.md", entries).start().settle();
    let gone = forget(&vault, json!({"path": "notes/door.md", "line_start": 5, "purge": true, "derived": true}));
    let of_entries: Vec<String> = rows(&gone).into_iter().filter(|row| row.contains("#^")).collect();
    assert_eq!(
        of_entries,
        ["memories/user.md#^e-1 false", "memories/user.md#^e-2 true", "memories/user.md#^e-3 true"],
        "{gone}"
    );
    assert!(gone.to_string().contains("may have changed"), "{gone}");
    let left = vault.read("memories/user.md");
    assert!(left.contains("aardvark") && left.contains("Bakes bread") && !left.contains("xylograph"), "{left}");
}

#[test]
fn an_entry_that_went_from_file_to_file_is_kept_in_none() {
    let mut vault = Daemon::vault();
    let entry = "- [fact] The xylograph opens the blue garage ^e-1\n";
    vault.write("memories/pending.md", format!("{entry}- [fact] Likes the sea very much ^e-2\n")).start().settle();
    let ok = |path: &str, body: Value| assert_eq!(vault.post(path, &body).status, 200, "{path} {body}");
    ok("/api/review", json!({"decisions": [{"id": "e-1", "accept": true}]}));
    ok("/api/entries/remove", json!({"id": "e-1", "archive": true}));
    let archive = vault.read("memories/archive.md");
    let line = archive.lines().position(|line| line.contains("xylograph")).unwrap() + 1;
    assert!(is_kept(&vault, "xylograph"), "it was in files that have another text now");
    until("the archive", || vault.find("xylograph").contains(&"memories/archive.md".to_owned()));
    forget(&vault, json!({"path": "memories/archive.md", "line_start": line, "purge": true}));
    assert!(!is_kept(&vault, "xylograph"));
}

#[test]
fn a_purge_that_is_refused_leaves_all_as_it_was() {
    let mut vault = Daemon::vault().with(OF, TALK);
    let before = SystemTime::now() - Duration::from_secs(3600);
    set_time(vault.path(OF), before);
    vault.start();
    let summary = vault.path("summaries/2026-01-05-talk.md");
    until("the summary", || summary.exists());
    vault.settle();
    // Nothing can go to the trash.
    vault.write(".trash", "no folder");
    let refused = vault.post("/api/user-memory/forget", &json!({"path": OF, "purge": true}));
    assert_ne!(refused.status, 200, "{}", refused.json());
    assert!(summary.exists() && vault.path(OF).exists());
    let known = vault.get("/api/forgotten").json();
    assert_eq!(known["forgotten"], json!([]), "{known}");
}

#[test]
fn a_page_that_was_made_a_moment_before_goes_along_and_pages_that_name_each_other_go_once() {
    let mut vault = Daemon::vault().with("notes/a.md", "The xylograph opens the blue garage door.\n").settled();
    // No index has it yet.
    vault.write("summaries/new.md", generated(&["notes/a.md"], "- The xylograph opens it (notes/a.md#L1)"));
    let gone = forget(&vault, json!({"path": "notes/a.md", "purge": true}));
    assert_eq!(rows(&gone), ["summaries/new.md true"], "{gone}");
    assert!(!vault.path("summaries/new.md").exists() && !is_kept(&vault, "xylograph"));
    // Pages that name each other go once.
    let mut vault = Daemon::vault().with("notes/a.md", "The xylograph opens the blue garage door.\n");
    for (page, other) in [("one", "two"), ("two", "one")] {
        let sources = ["notes/a.md".to_owned(), format!("summaries/{other}.md")];
        let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
        vault.write(&format!("summaries/{page}.md"), generated(&sources, "- Doors (notes/a.md#L1)"));
    }
    // Each was made of the one before.
    for at in 0..200 {
        let source = if at == 0 { "notes/a.md".into() } else { format!("summaries/chain-{}.md", at - 1) };
        vault.write(&format!("summaries/chain-{at}.md"), generated(&[&source], "- Doors"));
    }
    vault.start();
    let gone = forget(&vault, json!({"path": "notes/a.md", "purge": true}));
    assert!(rows(&gone).contains(&"summaries/one.md true".to_owned()), "{gone}");
    assert!(!vault.path("summaries/one.md").exists() && !vault.path("summaries/two.md").exists());
    assert!(!vault.path("summaries/chain-0.md").exists());
    assert_eq!(vault.get("/status").status, 200);
}

#[cfg(target_os = "linux")]
#[test]
fn what_another_program_has_open_for_writing_is_named_and_goes_once_it_is_closed() {
    let vault =
        Daemon::vault().with("notes/a.md", "The xylograph opens the blue garage door.\n\nBread is baked.\n").started();
    let editor = fs::File::options().append(true).open(vault.path("notes/a.md")).unwrap();
    let is_left = || !files_with(&vault.path(".vault/state/unfinished"), "xylograph").is_empty();
    let gone = forget(&vault, json!({"path": "notes/a.md", "line_start": 1, "purge": true}));
    let remains = gone["purged"]["remains"].to_string();
    assert!(remains.contains("has `notes/a.md` open for writing") && is_left(), "{remains}");
    drop(editor);
    // The next change of any note looks at it.
    vault.post("/api/user-memory/save", &json!({"content": "Bread is eaten."})).ok();
    assert!(!is_left() && !is_kept(&vault, "xylograph"));
}
