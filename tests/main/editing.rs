//! The person edits notes over HTTP: nothing that they did not change is changed, nothing that somebody else wrote is lost, and all can be
//! undone.

use crate::support::prelude::*;

const PLAN: &str = "# Plan\r\n\r\nSow the aardvark.\r\n- [ ] water\n- [x] weed\nno end";

fn daemon() -> Daemon {
    Daemon::vault().with("notes/plan.md", PLAN).started()
}

fn read(daemon: &Daemon, path: &str) -> Value {
    daemon.get(&format!("/api/user-memory/text?path={}", encode(path))).ok()
}

fn put(daemon: &Daemon, body: &Value) -> Reply {
    daemon.ask(Request::send("PUT", "/api/user-memory/note", body))
}

fn on_disk(daemon: &Daemon, path: &str) -> String {
    fs::read_to_string(daemon.path(path)).unwrap()
}

#[test]
fn a_line_is_written_and_found_and_the_others_keep_their_bytes() {
    let daemon = daemon();
    let had = read(&daemon, "notes/plan.md");
    assert_eq!((&had["text"], &had["hash"]), (&json!(PLAN), &json!(blake3::hash(PLAN.as_bytes()).to_string())));
    let line = json!({ "path": "notes/plan.md", "if_hash": had["hash"], "text": "Sow the zebra.\n", "line_start": 3, "line_end": 3 });
    let written = put(&daemon, &line).ok();
    assert_eq!((&written["ok"], &written["searchable"]), (&json!(true), &json!(true)));
    assert_eq!(on_disk(&daemon, "notes/plan.md"), PLAN.replace("aardvark", "zebra"));
    daemon.finds("zebra", &["notes/plan.md"]).finds("aardvark", &[]);
    assert_eq!(written["hash"], read(&daemon, "notes/plan.md")["hash"]);

    // Whoever has read it before gets both.
    let late = put(&daemon, &line);
    assert_eq!((late.status, &late.json()["error"]["code"]), (409, &json!("conflict")));
    assert_eq!(late.json()["now"], json!({ "text": PLAN.replace("aardvark", "zebra"), "hash": written["hash"] }));
    for wrong in [
        json!({ "line_start": 3 }),
        json!({ "line_start": 9, "line_end": 9 }),
        json!({ "line_start": 0, "line_end": 0 }),
    ] {
        let mut body = json!({ "path": "notes/plan.md", "if_hash": written["hash"], "text": "x" });
        body.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        assert_eq!(put(&daemon, &body).status, 400, "{wrong}");
    }
    // The same again changes nothing, and the hash that a reader has counts as well.
    let seen = daemon.get("/api/user-memory/note?path=notes/plan.md").ok();
    let whole = json!({ "path": "notes/plan.md", "if_hash": seen["hash"], "text": PLAN.replace("aardvark", "zebra").replace('\r', "") });
    let same = put(&daemon, &whole).ok();
    assert_eq!((&same["hash"], &same["checkpoint_id"]), (&written["hash"], &Value::Null));
}

#[test]
fn what_is_typed_in_a_row_is_one_version_that_is_brought_back() {
    let daemon = daemon();
    let mut hash = read(&daemon, "notes/plan.md")["hash"].clone();
    for text in ["one\n", "one two\n", "one two zebra\n"] {
        let written = put(&daemon, &json!({ "path": "notes/plan.md", "if_hash": hash, "text": text })).ok();
        hash = written["hash"].clone();
    }
    let versions = daemon.get("/api/user-memory/versions?path=notes/plan.md").ok();
    let [version] = versions["versions"].as_array().unwrap().as_slice() else { panic!("{versions}") };
    let id = version["id"].as_str().unwrap();
    assert_eq!(version["action"], "edit");
    let text = daemon.get(&format!("/api/user-memory/version?id={id}")).ok();
    assert_eq!(text, json!({ "path": "notes/plan.md", "text": PLAN }));
    let log = daemon.get("/api/log?path=notes/plan.md").ok();
    let [line] = log["changes"].as_array().unwrap().as_slice() else { panic!("{log}") };
    assert_eq!((&line["what"], &line["checkpoint_id"]), (&json!("edit"), &json!(id)));
    daemon.run(&["undo", id]).ok();
    assert_eq!(on_disk(&daemon, "notes/plan.md"), PLAN);
    // What the undo undoes is the next version.
    let versions = daemon.get("/api/user-memory/versions?path=notes/plan.md").ok();
    assert_eq!(column(&versions["versions"], "action"), ["restore", "edit"]);
    assert_eq!(daemon.get("/api/user-memory/version?id=nothing").status, 400);
    assert_eq!(daemon.get("/api/user-memory/version?id=20260105T183000123-a1b2").status, 404);
}

#[test]
fn a_note_is_made_once() {
    let daemon = daemon();
    let note = json!({ "path": "notes/new/Zebra.md", "text": "# Zebra\n\nIt has stripes.\n" });
    let made = daemon.post("/api/user-memory/note", &note).ok();
    daemon.finds("stripes", &["notes/new/Zebra.md"]);
    let again = daemon.post("/api/user-memory/note", &note);
    assert_eq!((again.status, &again.json()["error"]["code"]), (409, &json!("exists")));
    assert_eq!(again.json()["now"]["hash"], made["hash"]);
    let id = made["checkpoint_id"].as_str().unwrap();
    assert_eq!(daemon.get(&format!("/api/user-memory/version?id={id}")).ok()["text"], Value::Null);
    daemon.run(&["undo", id]).ok();
    assert!(!daemon.path("notes/new/Zebra.md").exists());
}

#[test]
fn a_box_is_ticked_and_nothing_else() {
    let daemon = daemon();
    let task = |line: usize, done: bool| json!({ "path": "notes/plan.md", "line": line, "done": done });
    let ticked = daemon.post("/api/user-memory/task", &task(4, true)).ok();
    assert_eq!(on_disk(&daemon, "notes/plan.md"), PLAN.replace("[ ] water", "[x] water"));
    daemon.post("/api/user-memory/task", &task(5, false)).ok();
    let same = daemon.post("/api/user-memory/task", &task(5, false)).ok();
    assert_eq!(same["checkpoint_id"], Value::Null);
    assert_eq!(
        on_disk(&daemon, "notes/plan.md"),
        PLAN.replace("[ ] water", "[x] water").replace("[x] weed", "[ ] weed")
    );
    for wrong in [0, 3, 6, 99] {
        let reply = daemon.post("/api/user-memory/task", &task(wrong, true));
        assert_eq!((reply.status, reply.json()["now"]["text"].is_string()), (409, true), "{wrong}");
    }
    let stale = json!({ "path": "notes/plan.md", "line": 4, "done": false, "if_hash": ticked["hash"] });
    assert_eq!(daemon.post("/api/user-memory/task", &stale).status, 409);
    assert_eq!(
        daemon.get("/api/user-memory/versions?path=notes/plan.md").ok()["versions"].as_array().unwrap().len(),
        2
    );
}

/// Neither writes over what is at a path nor makes it, and says why.
fn assert_refused(daemon: &Daemon, path: &str, says: &str) {
    let body = json!({ "path": path, "if_hash": "x", "text": "x" });
    for reply in [put(daemon, &body), daemon.post("/api/user-memory/note", &json!({ "path": path, "text": "x" }))] {
        assert!(matches!(reply.status, 400 | 404 | 409), "{path}: {}", reply.status);
    }
    let reply = put(daemon, &body);
    assert!(reply.error().contains(says), "{path}: {}", reply.error());
}

#[test]
fn what_is_not_the_persons_text_is_refused_with_a_reason() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a.md"), "# Elsewhere\n").unwrap();
    let config = format!("[[collections]]\nname = \"elsewhere\"\npath = \"{}\"\n", outside.path().display());
    let mut daemon = Daemon::without_model(&config)
        .with("notes/bytes.md", "x")
        .with("notes/paper.pdf", "%PDF")
        .with("facts.history.md", "# History\n")
        .with("memories/user.md", "- [preference] Likes strong tea ^e-1\n")
        .with("agents/ada/agent.md", "---\nname: Ada\n---\n")
        .started();
    fs::write(daemon.path("notes/bytes.md"), b"a \xff b").unwrap();
    std::os::unix::fs::symlink(outside.path(), daemon.path("linked")).unwrap();
    for (path, says) in [
        ("notes/bytes.md", "not UTF-8 text (byte 2)"),
        ("notes/paper.pdf", "attachments are read-only"),
        ("elsewhere/a.md", "read-only"),
        (".obsidian/a.md", "hidden"),
        ("linked/a.md", "symbolic link"),
        ("notes/a.txt", "must end in .md"),
        ("../a.md", "`path`"),
        ("facts.history.md", "the vault itself writes it"),
    ] {
        assert_refused(&daemon, path, says);
    }
    assert_eq!(put(&daemon, &json!({ "path": "notes/none.md", "if_hash": "x", "text": "x" })).status, 404);
    assert_eq!(read(&daemon, "elsewhere/a.md")["text"], "# Elsewhere\n");
    for unread in ["notes/bytes.md", ".vault/owner-token", "memory.toml", "linked/a.md", "../a.md"] {
        assert!(daemon.get(&format!("/api/user-memory/text?path={unread}")).status >= 400, "{unread}");
    }
    // A generated page that somebody has edited is theirs; so is an agent's page.
    let generated = "---\ngenerated: true\nsources: [notes/a.md]\ndigest: 6be34d0a3f9e0e1a4ae5a3e7c5d4d3c9\n---\nx\n";
    daemon.write("summaries/edited.md", generated);
    let edited = read(&daemon, "summaries/edited.md");
    put(&daemon, &json!({ "path": "summaries/edited.md", "if_hash": edited["hash"], "text": "mine\n" })).ok();
    let page = read(&daemon, "agents/ada/agent.md");
    put(&daemon, &json!({ "path": "agents/ada/agent.md", "if_hash": page["hash"], "text": "---\nname: Ada B\n---\n" }))
        .ok();
    until("the profile", || daemon.path("profile/profile.md").exists());
    assert_refused(&daemon, "profile/profile.md", "the vault itself writes it");
}

#[test]
fn a_note_of_five_megabytes_is_written() {
    let daemon = daemon();
    let text = "A line of a long note, with \"quotes\" and ümlauts.\n".repeat(100_000);
    let made = daemon.post("/api/user-memory/note", &json!({ "path": "notes/long.md", "text": text })).ok();
    let edit = json!({ "path": "notes/long.md", "if_hash": made["hash"], "text": "zebra\n", "line_start": 50_000, "line_end": 50_000 });
    put(&daemon, &edit).ok();
    let now = on_disk(&daemon, "notes/long.md");
    assert_eq!(
        (now.len(), now.lines().nth(49_999)),
        (text.len() - text.find('\n').unwrap() + "zebra".len(), Some("zebra"))
    );
    let huge = json!({ "path": "notes/huge.md", "text": "x".repeat(1 << 24) });
    assert_eq!(daemon.post("/api/user-memory/note", &huge).status, 413);
}

#[test]
fn of_two_who_write_at_once_one_is_told() {
    let daemon = daemon();
    let hash = read(&daemon, "notes/plan.md")["hash"].clone();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let write = |text: String| {
            let (daemon, hash) = (&daemon, &hash);
            scope.spawn(move || put(daemon, &json!({ "path": "notes/plan.md", "if_hash": hash, "text": text })).status)
        };
        let writers: Vec<_> = (0..4).map(|at| write(format!("text {at}\n"))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 409)), "{statuses:?}");
}

#[test]
fn what_was_purged_and_is_typed_again_is_pointed_out() {
    let mut daemon = daemon();
    daemon.write("notes/secret.md", "The spare key of the aardvark hangs behind the third pot on the left.\n");
    daemon.settle();
    daemon.run(&["forget", "notes/secret.md", "--purge", "--yes"]).ok();
    let text = "Tea.\n\nThe spare key of the aardvark hangs behind the third pot on the left.\n";
    let made = daemon.post("/api/user-memory/note", &json!({ "path": "notes/again.md", "text": text })).ok();
    assert_eq!(made["forgotten_before"], true);
    let line = json!({ "path": "notes/again.md", "if_hash": made["hash"], "text": "Coffee.\n", "line_start": 1, "line_end": 1 });
    assert_eq!(put(&daemon, &line).ok()["forgotten_before"], Value::Null, "that part is not new");
}

#[test]
fn whoever_is_killed_as_they_write_has_the_old_text_or_the_new_and_can_undo_both() {
    for (point, is_new) in [("checkpoint-kept", false), ("note-replaced", true)] {
        let mut daemon = daemon();
        let first = put(
            &daemon,
            &json!({ "path": "notes/plan.md", "if_hash": read(&daemon, "notes/plan.md")["hash"], "text": "one\n" }),
        )
        .ok();
        daemon.terminate();
        daemon.launch(Some(&format!("{point}:1")));
        daemon.dies_of(Request::send(
            "PUT",
            "/api/user-memory/note",
            &json!({ "path": "notes/plan.md", "if_hash": first["hash"], "text": "two\n" }),
        ));
        daemon.start();
        assert_eq!(on_disk(&daemon, "notes/plan.md"), if is_new { "two\r\n" } else { "one\r\n" }, "{point}");
        daemon.run(&["undo", first["checkpoint_id"].as_str().unwrap()]).ok();
        assert_eq!(on_disk(&daemon, "notes/plan.md"), PLAN, "{point}");
    }
}

#[test]
fn pictures_are_shown_and_nothing_else() {
    let daemon = Daemon::vault()
        .with("notes/a.md", "![[dot.png|300]] ![x](../img/Two%20dots.PNG) ![[none.png]] ![[dot.svg]] ![[paper.pdf]]\n")
        .with("img/dot.png", "PNG")
        .with("img/Two dots.PNG", "PNG 2")
        .with("img/dot.svg", "<svg/>")
        .with("notes/paper.pdf", "%PDF")
        .with("notes/page.html", "<script>")
        .started();
    std::os::unix::fs::symlink(daemon.path("memory.toml"), daemon.path("img/link.png")).unwrap();
    std::os::unix::fs::symlink(daemon.path("img"), daemon.path("linked")).unwrap();
    fs::create_dir_all(daemon.path(".hidden")).unwrap();
    fs::write(daemon.path(".hidden/a.png"), "hidden").unwrap();
    let file = |path: &str| daemon.get(&format!("/api/user-memory/file?path={}", encode(path)));
    for (path, body, kind, shown) in [
        ("img/dot.png", "PNG", "image/png", "inline"),
        ("img/Two dots.PNG", "PNG 2", "image/png", "inline"),
        ("img/dot.svg", "<svg/>", "image/svg+xml", "attachment"),
        ("notes/paper.pdf", "%PDF", "application/pdf", "inline"),
    ] {
        let reply = file(path);
        assert_eq!((reply.status, &*reply.body), (200, body.as_bytes()), "{path}");
        let header = |name: &str| reply.header(name).unwrap_or_default().to_owned();
        assert_eq!((header("content-type").as_str(), header("content-disposition").as_str()), (kind, shown));
        assert_eq!(header("content-security-policy"), "sandbox; default-src 'none'");
        assert_eq!(
            (header("x-content-type-options").as_str(), header("cache-control").as_str()),
            ("nosniff", "no-store")
        );
    }
    for refused in [
        "notes/a.md", "notes/page.html", "img/link.png", "linked/dot.png", ".hidden/a.png", "img/none.png",
        "../dot.png", "/etc/a.png", ".vault/owner-token", "img",
    ] {
        assert!(matches!(file(refused).status, 400 | 404), "{refused}");
    }
    // The nodes of the note say which file is meant.
    let note = daemon.get("/api/user-memory/note?path=notes/a.md").ok();
    let nodes = note["body"][0]["children"].as_array().unwrap();
    let paths: Vec<&Value> =
        nodes.iter().filter(|node| node.is_object()).map(|node| &node["attrs"]["data-path"]).collect();
    assert_eq!(
        paths,
        [
            &json!("img/dot.png"),
            &json!("img/Two dots.PNG"),
            &Value::Null,
            &json!("img/dot.svg"),
            &json!("notes/paper.pdf")
        ]
    );
}

#[test]
fn an_agent_does_not_learn_which_pictures_there_are() {
    let note = ("notes/a.md", "![[dot.png]]\n");
    let (mut daemon, token) = seen_by_ada("", &[note]);
    let ask = |daemon: &Daemon| daemon.get_as(&token, "/api/user-memory/note?path=notes/a.md").ok()["body"].clone();
    let before = ask(&daemon);
    fs::create_dir_all(daemon.path("img")).unwrap();
    fs::write(daemon.path("img/dot.png"), "PNG").unwrap();
    daemon.restart();
    assert_eq!(ask(&daemon), before);
}

#[test]
fn a_name_without_a_link_is_a_mention() {
    let daemon = Daemon::vault()
        .with("notes/nacl.md", "---\naliases: [Sodium chloride]\n---\n# Sea salt\n\nSea salt is sea salt.\n")
        .with("notes/bread.md", "# Bread\n\nFlour.\nA pinch of sea SALT, and\n\n- [[Sea salt]] again\n")
        .with("notes/lab.md", "# Lab\n\nWe weigh sodium chloride.\n\n`sea salt` and oversea salts.\n")
        .with("notes/other.md", "# Other\n\nThe salt of the sea.\n")
        .started();
    let mentions = daemon.get("/api/user-memory/mentions?path=notes/nacl.md").ok();
    let mention = |path: &str, title: &str, line: usize, text: &str| json!({ "path": path, "title": title, "line": line, "text": text });
    let expected = [
        mention("notes/bread.md", "Bread", 4, "A pinch of sea SALT, and"),
        mention("notes/lab.md", "Lab", 3, "We weigh sodium chloride."),
    ];
    assert_eq!(mentions, json!({ "mentions": expected }));
    assert_eq!(daemon.get("/api/user-memory/mentions?path=notes/none.md").status, 404);
}
