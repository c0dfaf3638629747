//! What other programs keep comes in once, can be undone, and stays forgotten.

use std::io::{BufReader, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::disk::Disk;
use crate::sessions;
use crate::support::prelude::*;

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/imports").join(name);
    path.to_str().unwrap().to_owned()
}

fn import(vault: &Daemon, kind: &str, path: &str) -> Value {
    vault.run(&["import", "--from", kind, path, "--json"]).ok().json()
}

/// The text of all files of a folder of the vault.
fn texts(vault: &Daemon, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(vault.path(folder)).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// The export as it is downloaded, with a picture beside it.
fn zipped(vault: &Daemon, export: &str) -> String {
    let path = vault.path("").with_extension("zip");
    let mut zip = ZipWriter::new(fs::File::create(&path).unwrap());
    for (name, bytes) in [
        ("conversations.json", fs::read(data(export)).unwrap()),
        ("file-x.png", vec![1, 2, 3]),
        ("../../evil.md", b"x".to_vec()),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_zip_as_it_is_downloaded_comes_once_and_a_newer_one_brings_what_is_new() {
    let vault = Daemon::vault();
    let zip = zipped(&vault, "chatgpt/conversations.json");
    let looked = vault.run(&["import", "--from", "chatgpt", &zip, "--dry-run", "--json"]).ok().json();
    assert_eq!((&looked["added"], &looked["conversations"]), (&7.into(), &2.into()), "{looked}");
    assert!(texts(&vault, "conversations").is_empty(), "it was only looked at");
    let first = import(&vault, "chatgpt", &zip);
    assert_eq!(
        (&first["added"], &first["existing"], &first["import"]),
        (&7.into(), &0.into(), &"import-1".into()),
        "{first}"
    );
    let all = texts(&vault, "conversations");
    assert_eq!(all.len(), 2);
    assert!(all[0].contains("title: Sourdough at 18 degrees") && all[0].contains("ten to twelve hours"), "{}", all[0]);
    assert!(all[0].contains("created: 2024-05-01") && !all[0].contains("discarded"), "{}", all[0]);
    assert!(!all[1].contains("AKIAIOSFODNN7EXAMPLE"), "{}", all[1]);
    assert!(!vault.path("../evil.md").exists() && texts(&vault, "notes").is_empty());
    let again = import(&vault, "chatgpt", &zip);
    assert_eq!((&again["added"], &again["existing"]), (&0.into(), &7.into()), "{again}");
    assert_eq!(texts(&vault, "conversations"), all);
    let newer = import(&vault, "chatgpt", &data("chatgpt/newer.json"));
    assert_eq!((&newer["added"], &newer["existing"]), (&1.into(), &7.into()), "{newer}");
    let grown = texts(&vault, "conversations");
    assert!(grown[1].starts_with(all[1].trim_end()) && grown[1].contains("Testaccio"), "{}", grown[1]);
    assert_eq!(vault.run(&["search", "Testaccio"]).ok().stdout.matches("Testaccio").count(), 1);
    fs::remove_file(zip).unwrap();
}

#[test]
fn an_import_is_undone_as_one_and_comes_again() {
    let vault = Daemon::vault();
    import(&vault, "chatgpt", &data("chatgpt/conversations.json"));
    let before = texts(&vault, "conversations");
    let newer = import(&vault, "chatgpt", &data("chatgpt/newer.json"));
    let name = newer["import"].as_str().unwrap();
    assert!(vault.run(&["undo", "--list"]).ok().stdout.contains(name));
    assert!(vault.run(&["undo", name]).ok().stdout.contains("1 file "));
    assert_eq!(texts(&vault, "conversations"), before, "what was there before is as it was");
    let refused = vault.run(&["undo", name]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert_eq!(import(&vault, "chatgpt", &data("chatgpt/newer.json"))["added"], 1);
    // What was written since is not lost in silence.
    let path = fs::read_dir(vault.path("conversations")).unwrap().flatten().next().unwrap().path();
    fs::write(&path, format!("{}\nMine.\n", fs::read_to_string(&path).unwrap())).unwrap();
    let refused = vault.run(&["undo", "import-1"]);
    assert!(refused.code == 2 && refused.stderr.contains("has changed since the import"), "{}", refused.stderr);
    vault.run(&["undo", "import-1", "--force"]).ok();
    assert!(texts(&vault, "conversations").is_empty());
}

/// As a kill leaves it: a file is as it was, and the import is known still.
#[test]
fn an_undo_of_an_import_that_was_cut_short_goes_on() {
    let vault = Daemon::vault();
    import(&vault, "chatgpt", &data("chatgpt/conversations.json"));
    let before = texts(&vault, "conversations");
    let newer = import(&vault, "chatgpt", &data("chatgpt/newer.json"));
    let listed = vault.run(&["undo", "--list", "--json"]).ok().json();
    let of_file = |row: &&Value| row["bytes"].is_number() && row["action"] != "import";
    let of_file = listed["checkpoints"].as_array().unwrap().iter().find(of_file).unwrap();
    vault.run(&["undo", of_file["id"].as_str().unwrap(), "--force"]).ok();
    assert_eq!(texts(&vault, "conversations"), before);
    vault.run(&["undo", newer["import"].as_str().unwrap()]).ok();
    assert_eq!(texts(&vault, "conversations"), before);
    assert_eq!(import(&vault, "chatgpt", &data("chatgpt/newer.json"))["added"], 1);
}

/// The demo: forget → import again → still gone.
#[test]
fn what_was_forgotten_for_good_does_not_come_back_with_an_import() {
    let vault = Daemon::vault().started();
    import(&vault, "chatgpt", &data("chatgpt/conversations.json"));
    let (path, _) = sessions::note(&vault, "conversations", "Sourdough at 18 degrees");
    vault.run(&["forget", &format!("conversations/{path}"), "--purge", "--yes"]).ok();
    assert_eq!(import(&vault, "chatgpt", &data("chatgpt/conversations.json"))["added"], 0);
    // As if it had never come: the same words under other names.
    let export = fs::read_to_string(data("chatgpt/conversations.json")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    let other = outside.path().join("other.json");
    fs::write(&other, export.replace("c0ffee00", "decaf000").replace("\"u1\"", "\"n1\"")).unwrap();
    let again = import(&vault, "chatgpt", other.to_str().unwrap());
    assert!(again["forgotten"].as_u64().unwrap() >= 2, "{again}");
    let all = texts(&vault, "conversations").concat();
    assert!(!all.to_lowercase().contains("sourdough") && all.contains("Rome"), "{all}");
    assert!(vault.find("sourdough").is_empty());
}

#[test]
fn every_kind_comes_into_its_folder_and_nowhere_else() {
    let vault = Daemon::vault().started();
    for (kind, added) in [
        ("chatgpt", 7),
        ("claude", 2),
        ("claude-code", 10),
        ("codex", 10),
        ("openclaw", 6),
        ("moltis", 7),
        ("bookmarks", 6),
        ("obsidian", 3),
        ("notion", 3),
        ("logseq", 3),
        ("folder", 3),
        ("openclaw-memory", 4),
        ("moltis-memory", 3),
    ] {
        let path = match kind {
            "chatgpt" | "claude" => format!("{kind}/conversations.json"),
            kind => kind.to_owned(),
        };
        let came = import(&vault, kind, &data(&path));
        assert_eq!(came["added"], added, "{kind} {came}");
        assert_eq!(import(&vault, kind, &data(&path))["added"], 0, "{kind} once more");
    }
    let mut folders: Vec<String> =
        fs::read_dir(vault.path("")).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap()).collect();
    folders.sort();
    assert_eq!(folders, [".vault", "bookmarks", "conversations", "memory.toml", "notes"]);
    // What was private stays so, and links lead where they led.
    let notes = texts(&vault, "notes");
    assert!(notes.iter().any(|note| note.contains("private: true") && note.contains("quarrel")), "{notes:?}");
    vault.settle();
    let links = vault.run(&["links", "notes/bread.md", "--json"]).ok().stdout;
    assert!(links.contains("notes/rye-starter.md"), "{links}");
}

#[test]
fn a_copied_note_that_was_changed_here_is_left_alone() {
    let vault = Daemon::vault();
    let theirs = folder_of(&[("One.md", "The first.\n"), ("Two.md", "The second.\n")]);
    let from = theirs.path().to_str().unwrap();
    assert_eq!(import(&vault, "folder", from)["added"], 2);
    fs::write(theirs.path().join("One.md"), "The first, newer.\n").unwrap();
    fs::write(theirs.path().join("Two.md"), "The second, newer.\n").unwrap();
    fs::write(vault.path("notes/two.md"), "Mine.\n").unwrap();
    let again = import(&vault, "folder", from);
    assert_eq!((&again["updated"], &again["edited"], &again["added"]), (&1.into(), &1.into(), &0.into()), "{again}");
    assert!(texts(&vault, "notes")[0].contains("newer") && texts(&vault, "notes")[1] == "Mine.\n");
    vault.run(&["undo", again["import"].as_str().unwrap()]).ok();
    assert!(!texts(&vault, "notes")[0].contains("newer"));
}

#[test]
fn an_update_that_was_killed_before_it_was_noted_is_known_again() {
    for point in ["checkpoint-kept:1", "note-replaced:1"] {
        let vault = Daemon::vault();
        let theirs = folder_of(&[("Plan.md", "Sow the rye.\n")]);
        let from = theirs.path().to_str().unwrap();
        assert_eq!(import(&vault, "folder", from)["added"], 1);
        fs::write(theirs.path().join("Plan.md"), "Sow the rye, newer.\n").unwrap();
        let mut killed = vault.command(&["import", "--from", "folder", from]);
        assert_ne!(Ran::of(killed.env("VAULT_CRASH_AT", point)).code, 0, "{point}");
        let again = import(&vault, "folder", from);
        assert_eq!((&again["updated"], &again["edited"]), (&1.into(), &0.into()), "{point} {again}");
        assert_eq!(import(&vault, "folder", from)["existing"], 1, "{point}");
        let notes = texts(&vault, "notes");
        assert!(notes.len() == 1 && notes[0].contains("newer"), "{point} {notes:?}");
        vault.run(&["undo", again["import"].as_str().unwrap()]).ok();
        assert!(!texts(&vault, "notes")[0].contains("newer"), "{point}");
    }
}

#[test]
fn many_notes_of_one_title_have_a_file_each() {
    let vault = Daemon::vault();
    let theirs = tempfile::tempdir().unwrap();
    for at in 0..40 {
        // Some say the same.
        write_file(theirs.path().join(format!("{at}/Untitled.md")), format!("Number {}.\n", at / 2 * 2));
    }
    let from = theirs.path().to_str().unwrap();
    assert_eq!(import(&vault, "folder", from)["added"], 20);
    let again = import(&vault, "folder", from);
    assert_eq!((&again["added"], &again["existing"]), (&0.into(), &40.into()), "{again}");
    let notes = texts(&vault, "notes");
    assert!((0..20).all(|at| notes.iter().filter(|note| note.contains(&format!("Number {}.", at * 2))).count() == 1));
}

/// All that was killed may have come before it goes on: what undoes it is said all the same.
#[test]
fn an_import_that_was_killed_goes_on_and_nothing_comes_twice() {
    let export = data("chatgpt/conversations.json");
    for (point, has_come) in [
        ("events-synced:1", false),
        ("capture-planned:1", false),
        ("captured-file-written:1", false),
        ("capture-written:1", false),
        ("events-synced:1", true),
        ("captured-file-written:2", true),
        ("capture-written:1", true),
    ] {
        let vault = Daemon::vault();
        let mut killed = vault.command(&["import", "--from", "chatgpt", &export]);
        assert_ne!(Ran::of(killed.env("VAULT_CRASH_AT", point)).code, 0, "{point}");
        if has_come {
            vault.run(&["search", "sourdough"]);
        }
        let said = vault.run(&["import", "--from", "chatgpt", &export]).ok().stdout;
        let undo = "to undo: vault undo import-1, including what was imported before the interruption";
        assert!(!has_come || said.contains(undo), "{point}: {said}");
        let all = texts(&vault, "conversations").concat();
        for text in
            ["sourdough rise", "ten to twelve hours", "crumb fine", "even and open", "Rome is quiet", "second week"]
        {
            assert_eq!(all.matches(text).count(), 1, "{point} {text}\n{all}");
        }
        // It is one import all the same.
        vault.run(&["undo", "import-1"]).ok();
        assert!(texts(&vault, "conversations").is_empty(), "{point}");
    }
    // One that came to its end, and one that brings nothing, have nothing of the kind.
    let vault = Daemon::vault();
    let first = vault.run(&["import", "--from", "chatgpt", &export]).ok().stdout;
    assert!(first.contains("to undo: vault undo import-1\n"), "{first}");
    let again = vault.run(&["import", "--from", "chatgpt", &export]).ok().stdout;
    assert!(again.contains("7 already there") && !again.contains("to undo"), "{again}");
}

#[test]
fn copies_beside_sessions_are_left_out_and_counted() {
    let vault = Daemon::vault();
    let session = |id: &str| sessions::header(id) + &message("user", &format!("Word {id}"));
    let copies = [
        "s.checkpoint.1.jsonl", "s.trajectory.jsonl", "t.jsonl.reset.2026-01-05T10-00-00Z",
        "u.jsonl.deleted.2026-01-05",
    ];
    let (whole, copy) = (session("whole"), session("copy"));
    let mut files = vec![("s.jsonl", whole.as_str())];
    files.extend(copies.map(|name| (name, copy.as_str())));
    let folder = folder_of(&files);
    let report = import(&vault, "openclaw", folder.path().to_str().unwrap());
    assert_eq!((&report["added"], &report["conversations"]), (&1.into(), &1.into()), "{report}");
    let (reason, times) =
        report["left_out"].as_object().unwrap().iter().find(|(key, _)| key.contains(".checkpoint.")).unwrap();
    assert!(reason.contains("copied and archived sessions") && times == 4, "{report}");
    assert!(!texts(&vault, "conversations").concat().contains("Word copy"));
    // Where there is nothing else, that is said, and one that is named itself is taken.
    fs::remove_file(folder.path().join("s.jsonl")).unwrap();
    let none = vault.run(&["import", "--from", "openclaw", folder.path().to_str().unwrap()]);
    assert!(none.code == 2 && none.stderr.contains("it has copied and archived sessions"), "{}", none.stderr);
    let named = folder.path().join("s.checkpoint.1.jsonl");
    assert_eq!(import(&vault, "openclaw", named.to_str().unwrap())["added"], 1);
}

#[test]
fn a_folder_that_has_nothing_but_a_vault_is_said_to_and_links_are_counted() {
    let folder = folder_of(&[("other/theirs.md", "Of a wombat.\n")]);
    let other = folder.path().join("other");
    fs::create_dir(other.join(".vault")).unwrap();
    let vault = Daemon::vault();
    let path = folder.path().to_str().unwrap();
    let refused = vault.run(&["import", "--from", "folder", path]);
    let said = "it has only a vault, `other`, which is left out: to import it, name that folder";
    assert!(refused.code == 2 && refused.stderr.contains(said), "{}", refused.stderr);
    fs::write(folder.path().join("a.png"), "x").unwrap();
    let refused = vault.run(&["import", "--from", "folder", path]);
    assert!(refused.code == 2 && refused.stderr.contains("it has a vault, `other`"), "{}", refused.stderr);
    assert_eq!(import(&vault, "folder", other.to_str().unwrap())["added"], 1);
    // What is behind links does not come, and none is left out in silence.
    fs::write(folder.path().join("plan.md"), "Of a quokka.\n").unwrap();
    for (to, name) in [(other.join("theirs.md"), "link.md"), (other.clone(), "linked")] {
        std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
    }
    let report = import(&vault, "folder", path);
    assert_eq!(
        (&report["added"], &report["left_out"]["links, which are not followed"]),
        (&1.into(), &2.into()),
        "{report}"
    );
}

#[test]
fn what_is_not_of_the_kind_is_said_and_nothing_is_made() {
    let vault = Daemon::vault();
    let folder = folder_of(&[("report.html", "%PDF-1.7\n<a href=x>")]);
    let pdf = folder.path().join("report.html").to_str().unwrap().to_owned();
    for (kind, path, code, said) in [
        ("codex", data("obsidian"), 2, "rollout-"),
        ("chatgpt", data("bookmarks/chrome.html"), 1, "--from bookmarks"),
        ("claude", data("chatgpt/conversations.json"), 1, "--from chatgpt"),
        ("chatgpt", "nowhere".to_owned(), 2, ""),
        ("bookmarks", pdf.clone(), 1, "report.html is not for `bookmarks`"),
        ("folder", pdf, 2, "report.html is not for `folder`"),
        ("chatgpt", data("claude/conversations.json"), 1, "try --from claude"),
        ("folder", data("chatgpt"), 2, "--from chatgpt"),
    ] {
        let refused = vault.run(&["import", "--from", kind, &path]);
        assert!(refused.code == code && refused.stderr.contains(said), "{kind} {path}: {}", refused.stderr);
    }
    assert!(!vault.path("conversations").exists() && !vault.path("notes").exists());
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let vault = Daemon::vault();
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = vault.command(&["import", "--from", "codex", pipe.to_str().unwrap()]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let status = eventually("a refusal", || child.try_wait().unwrap());
    let mut said = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert!(status.code() == Some(2) && said.contains("neither a file nor a folder"), "{said}");
}

/// A line of a session, whose name is what it says.
fn message(role: &str, text: &str) -> String {
    format!("{}\n", json!({ "type": "message", "id": text, "message": { "role": role, "content": text } }))
}

/// A folder of notes.
fn folder_of(notes: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in notes {
        write_file(folder.path().join(name), text);
    }
    folder
}

#[test]
fn folders_of_one_name_are_two_sources_and_none_overwrites_the_other() {
    let vault = Daemon::vault();
    let theirs = folder_of(&[
        ("A/notes/Plan.md", "Sow the rye.\n"),
        ("A/notes/Same.md", "The same.\n"),
        ("B/notes/Plan.md", "Sell the mill.\n"),
        ("B/notes/Same.md", "The same.\n"),
    ]);
    let [a, b] = ["A/notes", "B/notes"].map(|name| theirs.path().join(name));
    let from = |path: &Path| import(&vault, "folder", path.to_str().unwrap());
    assert_eq!(from(&a)["added"], 2);
    let other = from(&b);
    assert_eq!((&other["added"], &other["existing"], &other["updated"]), (&1.into(), &1.into(), &0.into()), "{other}");
    let all = |word: &str| texts(&vault, "notes").iter().filter(|text| text.contains(word)).count();
    assert_eq!((all("Sow the rye"), all("Sell the mill"), all("The same")), (1, 1, 1));
    // Again, each by itself, and by another way to the same folder.
    for path in [&a, &b, &theirs.path().join("B/../A/notes"), &theirs.path().join("A"), &a.join("Plan.md")] {
        let again = from(path);
        assert_eq!((&again["added"], &again["updated"]), (&0.into(), &0.into()), "{again}");
    }
    fs::write(b.join("Plan.md"), "Sell the mill, newer.\n").unwrap();
    assert_eq!(from(&b)["updated"], 1);
    assert_eq!((all("Sow the rye"), all("mill, newer"), all("Sell the mill.")), (1, 1, 0));
    // What both have is both's: where one changes, the other keeps what it has.
    fs::write(b.join("Same.md"), "No more the same.\n").unwrap();
    assert_eq!(from(&b)["added"], 1);
    assert_eq!((all("The same."), all("No more the same")), (1, 1));
    assert_eq!((&from(&a)["added"], texts(&vault, "notes").len()), (&0.into(), 4));
}

#[test]
fn a_folder_that_has_moved_and_notes_that_have_moved_in_it_make_no_doubles() {
    let vault = Daemon::vault();
    let theirs = folder_of(&[("old/Plan.md", "Sow the rye.\n"), ("old/Oven.md", "Hot.\n"), ("old/Till.md", "Full.\n")]);
    let [old, new] = ["old", "new"].map(|name| theirs.path().join(name));
    let from = |path: &Path| import(&vault, "obsidian", path.to_str().unwrap());
    assert_eq!(from(&old)["added"], 3);
    vault.run(&["undo", "import-1"]).ok();
    assert_eq!(from(&old)["added"], 3, "what was undone comes again");
    // Changed, and deleted here: that stays so.
    fs::write(vault.path("notes/oven.md"), "Mine.\n").unwrap();
    fs::remove_file(vault.path("notes/till.md")).unwrap();
    fs::rename(&old, &new).unwrap();
    let moved = from(&new);
    assert_eq!((&moved["added"], &moved["existing"]), (&0.into(), &3.into()), "{moved}");
    fs::create_dir(new.join("deep")).unwrap();
    fs::rename(new.join("Plan.md"), new.join("deep/Plan.md")).unwrap();
    assert_eq!(from(&new)["existing"], 3);
    fs::write(new.join("deep/Plan.md"), "Sow the rye, newer.\n").unwrap();
    let newer = from(&new);
    assert_eq!((&newer["added"], &newer["updated"]), (&0.into(), &1.into()), "{newer}");
    let notes = texts(&vault, "notes");
    assert!(notes.len() == 2 && notes[0] == "Mine.\n" && notes[1].contains("newer"), "{notes:?}");
}

#[test]
fn a_newer_export_of_notion_brings_the_same_pages_up_to_date() {
    let vault = Daemon::vault();
    let digits = "0123456789abcdef0123456789abcdef";
    let (plan, home) = (format!("Plan {digits}.md"), format!("Home/The plan {digits}.md"));
    let older = folder_of(&[(&plan, "Sow the rye.\n")]);
    let newer = folder_of(&[(&home, "Sow the rye, newer.\n")]);
    assert_eq!(import(&vault, "notion", older.path().to_str().unwrap())["added"], 1);
    let again = import(&vault, "notion", newer.path().to_str().unwrap());
    assert_eq!((&again["added"], &again["updated"]), (&0.into(), &1.into()), "{again}");
    assert_eq!(texts(&vault, "notes").len(), 1);
}

/// A conversation as ChatGPT exports it, of turns that follow each other.
fn conversation(at: i64, turns: &[(&str, &str)]) -> Value {
    const ROOT: &str = "client-created-root";
    let name = |turn: usize| format!("turn-{turn}");
    let mut mapping = json!({ ROOT: { "id": ROOT, "message": null, "parent": null, "children": [name(0)] } });
    for (turn, (role, text)) in turns.iter().enumerate() {
        let parent = if turn == 0 { ROOT.to_owned() } else { name(turn - 1) };
        let children = if turn + 1 < turns.len() { json!([name(turn + 1)]) } else { json!([]) };
        let message = json!({"id": format!("{at}-{turn}"), "author": {"role": role}, "create_time": at, "content": {"parts": [text]}});
        mapping[name(turn)] = json!({"id": name(turn), "message": message, "parent": parent, "children": children});
    }
    json!({"title": "New chat", "create_time": at, "current_node": name(turns.len() - 1), "mapping": mapping})
}

#[test]
fn conversations_that_say_no_name_are_told_by_how_they_began() {
    let vault = Daemon::vault();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conversations.json");
    let bring = |export: Value| {
        fs::write(&file, export.to_string()).unwrap();
        import(&vault, "chatgpt", file.to_str().unwrap())
    };
    let (one, two) = (1_700_000_000, 1_700_086_400);
    let (rye, spelt) = (("user", "Rye?"), ("user", "Spelt?"));
    let first = bring(json!([conversation(one, &[rye]), conversation(two, &[spelt])]));
    assert_eq!((&first["conversations"], texts(&vault, "conversations").len()), (&2.into(), 2), "{first}");
    let newer = bring(json!([conversation(two, &[spelt, ("assistant", "At six.")]), conversation(one, &[rye])]));
    assert_eq!((&newer["added"], &newer["existing"]), (&1.into(), &2.into()), "{newer}");
    let all = texts(&vault, "conversations");
    assert!(all.len() == 2 && all[1].contains("Spelt?") && all[1].contains("At six."), "{all:?}");
    // Sessions in files of one name.
    let line = |role: &str, text: &str| format!("{}\n", json!({"role": role, "content": text}));
    let sessions = folder_of(&[
        ("mill/main.jsonl", &line("user", "Of the mill")),
        ("shop/main.jsonl", &line("user", "Of the shop")),
    ]);
    let from = sessions.path().to_str().unwrap();
    assert_eq!((&import(&vault, "moltis", from)["added"], texts(&vault, "conversations").len()), (&2.into(), 4));
    let longer = line("user", "Of the mill") + &line("assistant", "It is closed");
    fs::write(sessions.path().join("mill/main.jsonl"), longer).unwrap();
    assert_eq!((&import(&vault, "moltis", from)["added"], texts(&vault, "conversations").len()), (&1.into(), 4));
}

/// A zip as a server streams it, which knows no length beforehand.
fn streamed(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut zip = ZipWriter::new_stream(&mut bytes);
    for (name, text) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text).unwrap();
    }
    zip.finish().unwrap();
    bytes.into_inner()
}

#[test]
fn a_zip_that_was_cut_short_is_refused_and_brings_nothing() {
    let vault = Daemon::vault();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("export.zip");
    let export = fs::read(data("chatgpt/conversations.json")).unwrap();
    let bytes = streamed(&[("user.json", b"{}"), ("conversations.json", &export)]);
    let file = file.to_str().unwrap();
    for length in [60, bytes.len() / 2, bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap()] {
        fs::write(file, &bytes[..length]).unwrap();
        let refused = vault.run(&["import", "--from", "chatgpt", file]);
        assert!(refused.code == 2 && refused.stderr.contains("is incomplete: download it again"), "{}", refused.stderr);
    }
    assert!(texts(&vault, "conversations").is_empty());
    fs::write(file, &bytes).unwrap();
    assert_eq!(import(&vault, "chatgpt", file)["added"], 7);
}

#[test]
fn what_programs_hide_in_an_archive_is_no_note() {
    let vault = Daemon::vault();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.zip");
    let files: [(&str, &[u8]); 7] = [
        ("Vault/Plan.md", b"Sow the rye.\n"),
        ("__MACOSX/Vault/._Plan.md", b"\0\x05\x16\x07"),
        ("__MACOSX/Vault/Other.md", b"Other.\n"),
        ("Vault/.trash/Old.md", b"Old.\n"),
        ("Vault/.obsidian/plugins/README.md", b"Read me.\n"),
        ("Vault/.hidden.md", b"Hidden.\n"),
        ("Vault/crumb.png", b"x"),
    ];
    fs::write(&file, streamed(&files)).unwrap();
    assert_eq!(import(&vault, "obsidian", file.to_str().unwrap())["added"], 1);
    assert!(texts(&vault, "notes").concat().contains("Sow the rye"));
    let unpacked =
        folder_of(&[("Plan.md", "Sow the spelt.\n"), ("__MACOSX/Plan.md", "Other.\n"), (".trash/x.md", "Old.\n")]);
    assert_eq!(import(&vault, "obsidian", unpacked.path().to_str().unwrap())["added"], 1);
}

/// A file that grows is read whole each time.
#[test]
fn a_watch_counts_what_is_new_once() {
    let vault = Daemon::vault().settled();
    let source = tempfile::tempdir().unwrap();
    let path = source.path().join("s.jsonl");
    let mut all = message("system", "You are a wombat") + &message("user", "Word 0");
    fs::write(&path, &all).unwrap();
    fs::write(source.path().join("crumb.png"), "x").unwrap();
    let watching = Watching::start(&vault, "openclaw", source.path(), &["--json"]);
    for count in 1..4 {
        all += &message("user", &format!("Word {count}"));
        // Its last line is being written.
        fs::write(&path, format!("{all}{{\"type\":")).unwrap();
        fs::write(source.path().join("crumb.png"), "x".repeat(count)).unwrap();
        until("the word", || texts(&vault, "conversations").concat().contains(&format!("Word {count}")));
    }
    all += &message("user", "The last word");
    fs::write(&path, &all).unwrap();
    until("the last word", || texts(&vault, "conversations").concat().contains("The last word"));
    let report: Value = serde_json::from_str(&watching.end()).unwrap();
    for (field, count) in [("conversations", 1), ("turns", 5), ("added", 5), ("existing", 0)] {
        assert_eq!(report[field], count, "{field}: {report}");
    }
    // A link that is named itself is its file, and follows that.
    let link = source.path().with_extension("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let following = Watching::start(&vault, "openclaw", &link, &["--json"]);
    until("the same under another name", || {
        texts(&vault, "conversations").concat().matches("The last word").count() == 2
    });
    all += &message("user", "By way of a link");
    fs::write(&path, &all).unwrap();
    until("what comes by a link", || texts(&vault, "conversations").concat().contains("By way of a link"));
    following.end();
    fs::remove_file(link).unwrap();
    let left_out = json!({ "images, sounds and other files": 1, "what programs said (system prompts, notices)": 1 });
    assert_eq!((&report["left_out"], &report["remarks"]), (&left_out, &json!([])), "{report}");
}

/// `vault import … --watch` at work, ended with the test.
struct Watching(std::process::Child);

impl Watching {
    fn start(vault: &Daemon, kind: &str, path: &Path, more: &[&str]) -> Self {
        let args = [&["import", "--from", kind, path.to_str().unwrap(), "--watch"], more].concat();
        let mut command = vault.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// The first line that it remarks.
    fn first_remark(&mut self) -> String {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut BufReader::new(self.0.stderr.as_mut().unwrap()), &mut line).unwrap();
        line
    }

    /// Ends it as Ctrl-C does, and gives what it said.
    fn end(mut self) -> String {
        let pid = rustix::process::Pid::from_raw(self.0.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let mut said = String::new();
        std::io::Read::read_to_string(self.0.stdout.as_mut().unwrap(), &mut said).unwrap();
        let status = self.0.wait().unwrap();
        assert!(status.success(), "{status}: {said}");
        said
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_comes_later_is_taken_until_it_is_ended_and_undone_as_one() {
    let vault = Daemon::vault().settled();
    let source = tempfile::tempdir().unwrap();
    let write = |name: &str, texts: &[&str]| {
        write_file(source.path().join(name), texts.iter().map(|text| message("user", text)).collect::<String>());
    };
    write("one.jsonl", &["First of all"]);
    let watching = Watching::start(&vault, "openclaw", source.path(), &[]);
    let comes = |word: &str| {
        until(word, || texts(&vault, "conversations").iter().any(|text| text.contains(word)));
    };
    comes("First of all");
    write("later/two.jsonl", &["In a folder that is new"]);
    comes("In a folder that is new");
    write("one.jsonl", &["First of all", "And more of it"]);
    comes("And more of it");
    let all: String = texts(&vault, "conversations").concat();
    assert_eq!((all.matches(":** First of all").count(), all.matches(":** In a folder").count()), (1, 1));
    let said = watching.end();
    assert!(said.contains("3 new") && said.contains("to undo: vault undo import-1"), "{said}");
    assert!(said.contains("1 new turn or note imported") && !said.contains("turn or notes"), "{said}");
    // It is one import, and nothing of it comes again.
    let again = import(&vault, "openclaw", source.path().to_str().unwrap());
    assert_eq!((&again["added"], &again["existing"]), (&0.into(), &3.into()), "{again}");
    vault.run(&["undo", "import-1"]).ok();
    assert!(texts(&vault, "conversations").is_empty());
}

#[test]
fn an_empty_folder_is_waited_for_and_nothing_of_it_is_no_failure() {
    let vault = Daemon::vault().settled();
    let source = tempfile::tempdir().unwrap();
    let mut watching = Watching::start(&vault, "folder", source.path(), &["--json"]);
    assert!(watching.first_remark().contains("there is nothing of `folder`"));
    fs::write(source.path().join("crumb.png"), "x").unwrap();
    fs::write(source.path().join("plan.md"), "# Plan\n\nOf a quokka.\n").unwrap();
    until("the note", || vault.path("notes/plan.md").exists());
    fs::write(source.path().join("plan.md"), "# Plan\n\nOf a wombat.\n").unwrap();
    until("the change", || fs::read_to_string(vault.path("notes/plan.md")).unwrap_or_default().contains("wombat"));
    let report: Value = serde_json::from_str(&watching.end()).unwrap();
    assert_eq!((&report["added"], &report["updated"]), (&1.into(), &1.into()), "{report}");
    assert!(report["notes"].as_u64().unwrap() >= 1, "{report}");
    assert_eq!(report["left_out"]["images, sounds and other files"], 1, "{report}");
    let missing = vault.run(&["import", "--from", "folder", "/nowhere/at/all", "--watch"]);
    assert_ne!(missing.code, 0);
}

#[test]
fn what_was_imported_is_known_in_a_vault_that_was_made_of_an_archive() {
    let vault = Daemon::vault();
    import(&vault, "chatgpt", &data("chatgpt/conversations.json"));
    import(&vault, "obsidian", &data("obsidian"));
    let (_elsewhere, copy) = vault.copy_by_archive();
    let run = |args: &[&str]| Ran::of(vault_command().args(args).arg("--vault").arg(&copy)).ok();
    for (kind, path, existing) in [("chatgpt", "chatgpt/conversations.json", 7), ("obsidian", "obsidian", 3)] {
        let again = run(&["import", "--from", kind, &data(path), "--json"]).json();
        assert_eq!((&again["added"], &again["existing"]), (&0.into(), &existing.into()), "{kind} {again}");
    }
    let newer = run(&["import", "--from", "chatgpt", &data("chatgpt/newer.json"), "--json"]).json();
    assert_eq!((&newer["added"], &newer["existing"]), (&1.into(), &7.into()), "{newer}");
    // And the import can be undone there.
    assert!(run(&["undo", "import-2"]).stdout.contains("3 files"));
    assert!(!copy.join("notes/bread.md").exists() && !copy.join(".vault/state/export.db").exists());
}

#[test]
fn a_killed_import_of_notes_goes_on_and_is_one() {
    for point in ["note-made:1", "note-made:2", "note-made:3"] {
        let vault = Daemon::vault();
        let mut killed = vault.command(&["import", "--from", "obsidian", &data("obsidian")]);
        assert_ne!(Ran::of(killed.env("VAULT_CRASH_AT", point)).code, 0, "{point}");
        let again = import(&vault, "obsidian", &data("obsidian"));
        assert_eq!(again["import"], "import-1", "{point} {again}");
        let notes = texts(&vault, "notes");
        assert_eq!(notes.len(), 3, "{point} {notes:?}");
        assert_eq!(import(&vault, "obsidian", &data("obsidian"))["added"], 0);
        vault.run(&["undo", "import-1"]).ok();
        assert!(texts(&vault, "notes").is_empty(), "{point}");
    }
}

/// An export of so many conversations of two turns, each with a word of its own.
fn export(count: usize) -> Value {
    let one = |at: usize| {
        let text = |role: &str| format!("{role}word{at}q {}", "of a river and a boat ".repeat(40));
        let turns = ["user", "assistant"].map(|role| (role, text(role)));
        let mut one =
            conversation(1_700_000_000 + at as i64, &turns.each_ref().map(|(role, text)| (*role, text.as_str())));
        one["conversation_id"] = format!("c-{at}").into();
        one
    };
    (0..count).map(one).collect()
}

#[test]
fn an_import_that_a_full_disk_stopped_goes_on_when_there_is_room() {
    const COUNT: usize = 300;
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("conversations.json");
    fs::write(&file, export(COUNT).to_string()).unwrap();
    let file = file.to_str().unwrap();
    for pages in [0, 40, 400] {
        let Some(disk) = Disk::new(24) else { return };
        let vault = Daemon::below(disk.path(), "[embed]\nmodel = \"none\"\n");
        // What is there before.
        import(&vault, "chatgpt", &data("chatgpt/conversations.json"));
        disk.fill(pages);
        let stopped = vault.run(&["import", "--from", "chatgpt", file]);
        assert!(stopped.code == 2 && !stopped.stderr.is_empty(), "{pages} {stopped:?}");
        disk.empty();
        let went_on = import(&vault, "chatgpt", file);
        let all = texts(&vault, "conversations").concat();
        assert_eq!(texts(&vault, "conversations").len(), COUNT + 2, "{pages} {went_on}");
        for at in 0..COUNT {
            for role in ["user", "assistant"] {
                assert_eq!(all.matches(&format!("{role}word{at}q")).count(), 1, "{pages} {role} {at}");
            }
        }
        let again = import(&vault, "chatgpt", file);
        assert_eq!((&again["added"], &again["existing"]), (&0.into(), &(2 * COUNT).into()), "{pages} {again}");
        vault.run(&["undo", "import-2"]).ok();
        assert_eq!(texts(&vault, "conversations").len(), 2, "{pages}: it is one import all the same");
    }
}

#[test]
fn a_folder_that_holds_the_vault_comes_without_it_and_a_watch_of_it_ends() {
    let folder = folder_of(&[("plan.md", "Of a quokka.\n"), ("other/theirs.md", "Of a wombat.\n")]);
    let (path, other) = (folder.path().to_str().unwrap(), folder.path().join("other"));
    fs::create_dir(other.join(".vault")).unwrap();
    let vault = Daemon::below(folder.path(), "[embed]\nmodel = \"none\"\n").settled();
    for added in [1, 0] {
        let report = import(&vault, "folder", path);
        assert_eq!(report["added"], added, "{report}");
        assert_eq!(report["left_out"]["this vault or another one"], 2, "{report}");
    }
    for inside in [vault.path(""), vault.path("notes"), vault.path("notes/plan.md")] {
        let refused = vault.run(&["import", "--from", "folder", inside.to_str().unwrap()]);
        assert!(refused.code == 2 && refused.stderr.contains("this vault"), "{}", refused.stderr);
    }
    // Another vault is a folder as others are, where it is named.
    assert_eq!(import(&vault, "folder", other.to_str().unwrap())["added"], 1);
    let watching = Watching::start(&vault, "folder", folder.path(), &["--json"]);
    for name in ["later", "last"] {
        fs::write(folder.path().join(format!("{name}.md")), format!("The {name} one.\n")).unwrap();
        let note = vault.path(&format!("notes/{name}.md"));
        until(name, || note.exists());
    }
    let report: Value = serde_json::from_str(&watching.end()).unwrap();
    assert_eq!((&report["added"], texts(&vault, "notes").len()), (&2.into(), 4), "{report}");
}
