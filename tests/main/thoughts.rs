//! Thoughts that are captured, and files that are dropped on the page.

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::prelude::*;

const CAPTURE: &str = "/api/user-memory/capture";
/// Noon of 5 January 2026, UTC.
const NOON_MS: i64 = 1_767_614_400_000;
const DAY: &str = "notes/daily/2026-01-05.md";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nwith all that follows";

impl Daemon {
    #[track_caller]
    fn thinks(&self, text: &str, to: &str, id: &str) -> Value {
        self.post(CAPTURE, &thought(text, to, id)).ok()
    }

    fn drops(&self, name: &str, bytes: &[u8]) -> Reply {
        let request = Request::new("POST", &format!("/api/user-memory/drop?name={}", encode(name)));
        self.ask(request.json(bytes))
    }

    #[track_caller]
    fn undoes(&self, checkpoint: &Value) {
        let target = format!("/api/user-memory/checkpoints/{}/restore", checkpoint.as_str().unwrap());
        self.post(&target, &json!({})).ok();
    }
}

fn thought(text: &str, to: &str, id: &str) -> Value {
    json!({ "text": text, "to": to, "at_ms": NOON_MS, "id": id })
}

fn times(text: &str, word: &str) -> usize {
    text.matches(word).count()
}

#[test]
fn a_thought_goes_to_the_day_or_the_inbox_is_found_and_can_be_undone() {
    let vault = Daemon::vault().started();
    let said = vault.thinks("An aardvark digs.", "today", "a");
    assert_eq!((&said["path"], &said["existing"], &said["searchable"]), (&json!(DAY), &json!(false), &json!(true)));
    let text = vault.read(DAY);
    assert!(text.starts_with("---\ntitle: 5 January 2026\ncreated: "), "{text}");
    let item = text.lines().next_back().unwrap();
    assert!(item.starts_with("- ") && item.ends_with(":00 An aardvark digs.") && item.len() == 25, "{item}");
    vault.finds("aardvark", &[DAY]);
    let second = vault.thinks("One.\n\nTwo quokkas.", "today", "b");
    assert!(vault.read(DAY).ends_with(":00**\n\nOne.\n\nTwo quokkas.\n"), "{}", vault.read(DAY));
    vault.undoes(&second["checkpoint_id"]);
    assert_eq!(vault.read(DAY), text);
    assert_eq!(vault.thinks("Buy rye.", "inbox", "c")["path"], "notes/inbox.md");
    assert!(vault.read("notes/inbox.md").contains("\n- 2026-01-05 "), "{}", vault.read("notes/inbox.md"));
    let elsewhere = vault.thinks("Sow beans.", "notes/Garden plan.md", "d");
    assert_eq!(elsewhere["path"], "notes/Garden plan.md");
    assert!(vault.read("notes/Garden plan.md").starts_with("---\ntitle: Garden plan\n"));
    let secret = vault.thinks(&format!("key ghp_{}", &"a8F3kZ0qL9xT2mB7".repeat(3)[..36]), "inbox", "e");
    assert!(secret["redacted"] == true && vault.read("notes/inbox.md").contains("[redacted"));
    for wrong in [
        thought(" ", "today", "x"),
        thought("x", "../x.md", "x"),
        thought("x", "memory.toml", "x"),
        thought("x", "today", ""),
        thought("x", "today", &"x".repeat(101)),
        json!({ "text": "x" }),
    ] {
        let reply = vault.post(CAPTURE, &wrong);
        assert!((400..=422).contains(&reply.status), "{wrong}: {} {}", reply.status, reply.error());
    }
}

#[test]
fn the_inbox_and_the_day_are_those_that_the_vault_has() {
    let vault = Daemon::vault()
        .with("areas/Inbox.md", "# Inbox\n\n- older\n")
        .with("agents/ada/inbox.md", "hers")
        .with(".obsidian/daily-notes.json", r#"{"folder": "Journal", "format": "YYYY/YYYY-MM-DD"}"#)
        .started();
    vault.settle();
    assert_eq!(vault.thinks("one", "inbox", "a")["path"], "areas/Inbox.md");
    assert_eq!(vault.thinks("two", "today", "b")["path"], "Journal/2026/2026-01-05.md");
    assert!(vault.read("areas/Inbox.md").starts_with("# Inbox\n\n- older\n- 2026-01-05 "));
}

#[test]
fn a_thought_breaks_nothing_that_is_open_and_all_that_was_there_stays() {
    let open = "# Day\r\n\r\ntext\r\n\r\n```\r\nopen code";
    let vault = Daemon::vault().with(DAY, open).with("notes/odd.md", b"\xff\xfe".as_slice()).started();
    vault.thinks("An aardvark digs.", "today", "a");
    let text = vault.read(DAY);
    let at = text.find("- ").unwrap();
    let line = text[at..].split_inclusive('\n').next().unwrap();
    assert_eq!(text.replacen(&format!("{line}\r\n"), "", 1), open, "{text:?}");
    assert!(text.ends_with("An aardvark digs.\r\n\r\n```\r\nopen code"), "{text:?}");
    let reply = vault.post(CAPTURE, &thought("x", "notes/odd.md", "b"));
    assert_eq!(
        (reply.status, reply.error()),
        (400, "`notes/odd.md` is not UTF-8, so nothing can be added to it".into())
    );
    assert_eq!(fs::read(vault.path("notes/odd.md")).unwrap(), b"\xff\xfe");
}

#[test]
fn a_private_day_stays_private() {
    let day = "---\nprivate: true\n---\n\nMine.\n";
    let (vault, ada) = seen_by_ada("[embed]\nmodel = \"none\"\n", &[(DAY, day)]);
    vault.thinks("An aardvark digs.", "today", "a");
    vault.finds("aardvark", &[DAY]);
    assert!(vault.read(DAY).starts_with(day));
    let told = vault.told(&ada, "/api/user-memory/search?q=aardvark");
    assert!(told.0 == 200 && !told.1.contains("daily"), "{told:?}");
    for target in [CAPTURE, "/api/user-memory/drop?name=a.md"] {
        assert_eq!(vault.post_as(&ada, target, &thought("x", "today", "b")).status, 403, "{target}");
    }
}

#[test]
fn all_that_come_at_once_are_captured_and_each_id_once() {
    let mut vault = Daemon::vault().started();
    std::thread::scope(|scope| {
        for at in 0..8 {
            let vault = &vault;
            // Each of four comes twice.
            scope.spawn(move || vault.thinks(&format!("aardvark{}", at % 4), "today", &format!("id-{}", at % 4)));
        }
    });
    let text = vault.read(DAY);
    assert!((0..4).all(|at| times(&text, &format!("aardvark{at}")) == 1), "{text}");
    // Whoever heard no answer sends it again, even if somebody has edited it since, and to another daemon.
    fs::write(vault.path(DAY), text.replace("aardvark2", "quokka")).unwrap();
    vault.restart();
    let again = vault.thinks("aardvark2", "today", "id-2");
    assert_eq!((&again["existing"], &again["path"]), (&json!(true), &json!(DAY)));
    assert!(!vault.read(DAY).contains("aardvark2"));
    vault.thinks("aardvark2", "today", "another");
    assert!(vault.read(DAY).contains("aardvark2"), "the same text may come twice");
}

#[test]
fn a_thought_that_a_kill_cut_short_is_captured_once_when_it_comes_again() {
    for point in ["checkpoint-kept", "note-made"] {
        let mut vault = Daemon::vault();
        assert!(vault.launch(Some(&format!("{point}:1"))), "{point}");
        vault.dies_of(Request::send("POST", CAPTURE, &thought("An aardvark digs.", "today", "a")));
        vault.start();
        vault.thinks("An aardvark digs.", "today", "a");
        assert_eq!(times(&vault.read(DAY), "aardvark"), 1, "{point}");
    }
}

#[test]
fn a_dropped_file_is_a_note_a_file_or_an_import_and_each_can_be_undone() {
    let vault = Daemon::vault().started();
    let note = vault.drops("My idea.md", b"---\ntags: [zoo]\n---\nAn aardvark digs.\n").ok();
    assert_eq!((&note["kind"], &note["path"], &note["added"]), (&json!("note"), &json!("notes/my-idea.md"), &json!(1)));
    assert!(vault.read("notes/my-idea.md").contains("title: My idea"));
    vault.finds("aardvark", &["notes/my-idea.md"]);
    let again = vault.drops("My idea.md", b"---\ntags: [zoo]\n---\nAn aardvark digs.\n").ok();
    assert_eq!((&again["path"], &again["existing"]), (&json!("notes/my-idea.md"), &json!(1)));
    assert_eq!(vault.drops("My idea.md", b"Another one.").ok()["path"], "notes/my-idea-2.md");
    vault.undoes(&note["undo"]);
    assert!(!vault.path("notes/my-idea.md").exists() && vault.path("notes/my-idea-2.md").exists());

    let picture = vault.drops("IMG 1.PNG", PNG).ok();
    assert_eq!((&picture["kind"], &picture["path"]), (&json!("file"), &json!("attachments/img-1.png")));
    assert_eq!(fs::read(vault.path("attachments/img-1.png")).unwrap(), PNG);
    assert_eq!(vault.drops("IMG 1.PNG", PNG).ok()["existing"], 1);
    let other = [PNG, b"!"].concat();
    assert_eq!(vault.drops("img-1.png", &other).ok()["path"], "attachments/img-1-2.png");
    vault.undoes(&picture["undo"]);
    assert!(!vault.path("attachments/img-1.png").exists());

    let page = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><A HREF=\"https://zoo.example/\">A zoo</A>\n</DL>";
    let pages = vault.drops("bookmarks.html", page.as_bytes()).ok();
    assert_eq!(
        (&pages["kind"], &pages["from"], &pages["bookmarks"]),
        (&json!("import"), &json!("bookmarks"), &json!(1))
    );
    vault.captured();
    assert!(vault.read("bookmarks/a-zoo.md").contains("https://zoo.example/"));
    vault.undoes(&pages["undo"]);
    assert!(!vault.path("bookmarks/a-zoo.md").exists());

    let mut bytes = Cursor::new(Vec::new());
    let mut zip = ZipWriter::new(&mut bytes);
    for (name, text) in [(".obsidian/app.json", "{}"), ("Zoo/Quokka.md", "It smiles."), ("../../out.md", "No.")] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    let notes = vault.drops("vault.zip", bytes.get_ref()).ok();
    assert_eq!(notes["from"], "obsidian", "{notes}");
    assert!(vault.read("notes/quokka.md").contains("It smiles."));
    let left = fs::read_dir(vault.path(".vault/state/unfinished")).unwrap().count();
    assert_eq!(left, 0, "nothing is left of what was dropped");
}

#[test]
fn what_is_dropped_leads_nowhere_and_is_refused_with_a_sentence() {
    let vault = Daemon::vault().started();
    let escaped = vault.drops("../../../etc/pass wd.md", b"text").ok();
    assert_eq!(escaped["path"], "notes/pass-wd.md");
    assert_eq!(vault.drops("..\\..\\x\u{0}y.png", PNG).ok()["path"], "attachments/x-y.png");
    assert_eq!(vault.drops(&format!("{}.md", "long ".repeat(40)), b"text 2").status, 200);
    for (name, bytes) in [
        ("", &b"x"[..]),
        ("x", b"x"),
        (".md", b"x"),
        ("a.md", b""),
        ("a.exe", b"MZ"),
        ("a.zip", b"PK\x03\x04 and no zip"),
        ("a.json", b"{}"),
        ("a.html", b"<p>page</p>"),
        ("a.png", b"<script>"),
        ("a.pdf", b"no pdf"),
        ("a.md", b"\xff\xfe"),
        ("a.md/", b"x"),
        (&"x".repeat(500), b"x"),
    ] {
        let reply = vault.drops(name, bytes);
        assert_eq!(reply.status, 400, "{name:?}: {}", reply.json());
        assert!(reply.error().len() > 10, "{name:?}: {}", reply.error());
    }
    let head = format!(
        "POST /api/user-memory/drop?name=big.zip HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Length: {}\r\n\r\n",
        vault.token(),
        100_u64 << 20
    );
    let (mut stream, status) = send_raw(vault.address(), &head);
    assert_eq!(status, "413");
    let mut said = [0; 1000];
    let length = std::io::Read::read(&mut stream, &mut said).unwrap();
    let said = String::from_utf8_lossy(&said[..length]).into_owned();
    assert!(said.contains("big.zip") && said.contains("vault import"), "{said}");
}
