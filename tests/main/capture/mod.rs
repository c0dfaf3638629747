//! What programs send in: as Markdown, each once, without secrets, and only what is switched on.

mod gone;
mod hostile;
pub mod kills;
mod privacy;
mod refused;
mod trouble;

use crate::support::prelude::*;

const EVENTS: &str = "/api/user-memory/events";
const SETTINGS: &str = "/api/user-memory/settings";

impl Daemon {
    /// Sends events that are right; gives how many were accepted and how many ignored.
    #[track_caller]
    pub fn capture(&self, events: Value) -> (u64, u64) {
        let reply = self.post(EVENTS, &events);
        assert_eq!(reply.status, 202, "{}", reply.json());
        let said = reply.json();
        assert_eq!(said["ok"], true);
        (said["accepted"].as_u64().unwrap(), said["ignored"].as_u64().unwrap())
    }

    /// Sends events that are right, and waits until every one is in its file.
    #[track_caller]
    pub fn written(&self, events: Value) -> &Self {
        self.capture(events);
        self.captured()
    }

    /// Waits until every event is in its file.
    #[track_caller]
    pub fn captured(&self) -> &Self {
        until("the events to be written", || self.status()["capture"]["pending"] == 0);
        self
    }

    /// The notes of a collection with their names.
    fn notes_in(&self, folder: &str) -> Vec<(String, String)> {
        let folder = self.path(folder);
        let files = contents(&folder);
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        files.into_iter().map(|(path, bytes)| (name(path), String::from_utf8(bytes).unwrap())).collect()
    }
}

fn message(session: &str, role: &str, text: &str) -> Value {
    json!({"type": "message", "session": session, "role": role, "text": text, "time": "2026-01-05T12:00:00Z"})
}

#[test]
fn events_become_markdown_that_is_found() {
    let vault = Daemon::without_model("[capture]\nsearches = true\n").started();
    let time = "2026-01-05T12:00:00Z";
    let (accepted, ignored) = vault.capture(json!([
        message("s 1", "user", "Where is the aardvark?"),
        {"type": "message", "session": "s 1", "role": "assistant", "agent": "Maya", "text": "# In the\n\ncellar", "time": time},
        {"type": "file", "name": "loans.ods", "path": "Documents/loans.ods", "action": "edited", "app": "Calc", "time": time},
        {"type": "search", "query": "dough\nrise", "where": "web", "results": 3, "time": time},
        {"type": "agent_activity", "agent": "assistant", "summary": "Compared  three\nlayouts", "time": time},
        {"type": "note", "title": "A plan", "content": "sow beans", "tags": ["garden"], "time": time},
        {"type": "bookmark", "url": "https://example.org/a", "title": "A page", "note": "for the table", "time": time},
        {"type": "clipboard", "content": "cargo tree --duplicates", "app": "terminal", "time": time},
    ]));
    assert_eq!((accepted, ignored), (8, 0));
    vault.captured();
    let found = eventually("it to be found", || Some(vault.find("aardvark")).filter(|found| !found.is_empty()));
    assert!(found.iter().all(|path| path == "conversations/2026-01-05-s-1.md"), "{found:?}");

    let conversation = vault.read("conversations/2026-01-05-s-1.md");
    let participants = "participants:\n- user\n- Maya\n";
    for part in ["title: Where is the aardvark?\n", "session: s 1\n", participants, "tags:\n- conversation\n"] {
        assert!(conversation.contains(part), "{part} in {conversation}");
    }
    let body = conversation.split_once("\n---\n\n").unwrap().1;
    let hour = &body[2..7];
    let turns = [
        format!("**{hour} · user:** Where is the aardvark?\n"),
        format!("**{hour} · Maya:**\n> # In the\n>\n> cellar\n"),
    ];
    assert_eq!(body, turns.join("\n"));
    for (path, line) in [
        ("files/2026-01-05.md", format!("- {hour} · edited · `Documents/loans.ods` · Calc\n")),
        ("searches/2026-01-05.md", format!("- {hour} · web · \"dough rise\" · 3 found\n")),
        ("agent-activity/2026-01-05.md", format!("- {hour} · assistant · Compared three layouts\n")),
        ("notes/a-plan.md", "sow beans\n".into()),
        ("bookmarks/a-page.md", "<https://example.org/a>\n\nfor the table\n".into()),
        ("snippets/cargo-tree-duplicates.md", "cargo tree --duplicates\n".into()),
    ] {
        let text = vault.read(path);
        assert!(text.ends_with(&line) && text.contains("source: capture\n"), "{text}");
    }
    assert!(vault.read("files/2026-01-05.md").contains("title: Files of 5 January 2026\n"));
    // A turn is a passage.
    vault.settle();
    let browsed = vault.get("/api/user-memory/browse?collection=conversations").json();
    assert_eq!(browsed["total"], 2, "{browsed}");
}

#[test]
fn a_conversation_is_one_file_and_its_order_stays() {
    let mut vault = Daemon::vault().started();
    let texts: Vec<String> = (0..300).map(|at| format!("said{at}")).collect();
    for (at, texts) in texts.chunks(30).enumerate() {
        let events: Vec<Value> = texts.iter().map(|text| message("long", "user", text)).collect();
        vault.capture(events.into());
        if at == 4 {
            // What is pending at a stop is written by then, or at the next start.
            vault.restart();
        }
    }
    // On the next day, and another whose name is alike.
    let later =
        json!({"type": "message", "session": "long", "role": "user", "text": "last", "time": "2026-01-07T12:00:00Z"});
    vault.written(json!([later, message("LONG", "user", "another")]));
    let files = vault.notes_in("conversations");
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["2026-01-05-long-2.md", "2026-01-05-long.md"]);
    let text = &files[1].1;
    let places: Vec<usize> = texts.iter().map(|said| text.find(&format!(":** {said}\n")).unwrap()).collect();
    assert!(places.is_sorted(), "the order is kept");
    assert!(text.contains("**2026-01-07 ") && text.ends_with(" · user:** last\n"), "{text}");
    assert_eq!(text.matches(":** ").count(), 301);
}

#[test]
fn what_the_person_edits_in_between_stays_and_what_was_sent_before_is_recognised() {
    let mut vault = Daemon::vault();
    let mine = "---\ntitle: Mine\nsource: https://example.org/mine\n---\n\nWhy.\n";
    vault.write("bookmarks/mine.md", mine).write("bookmarks/own.md", mine.replace("mine", "own")).start();
    let path = "conversations/2026-01-05-s.md";
    vault.written(message("s", "user", "one"));
    let edited = vault.read(path).replace("one", "one, as I said") + "\nA remark of my own, without a line end.";
    vault.write(path, edited);
    vault.written(json!([message("s", "user", "two"), message("s", "Jonas", "three")]));
    let text = vault.read(path);
    assert!(text.contains("one, as I said"), "{text}");
    assert!(text.contains("A remark of my own, without a line end.\n\n**"), "{text}");
    assert!(text.contains(":** two\n") && text.ends_with("Jonas:** three\n") && text.contains("- Jonas\n"), "{text}");

    vault.write("files/2026-01-05.md", "# My day\n\nText.\n");
    vault.written(json!({"type": "file", "path": "a", "action": "opened", "time": "2026-01-05T12:00:00Z"}));
    let text = vault.read("files/2026-01-05.md");
    assert!(text.starts_with("# My day\n\nText.\n\n- ") && text.ends_with(" · opened · `a`\n"), "{text}");
    // Notes, bookmarks and snippets are recognised.
    let note = |content: &str| json!({"type": "note", "title": "Plan", "content": content});
    let page =
        |url: &str, title: &str, note: &str| json!({"type": "bookmark", "url": url, "title": title, "note": note});
    let clip = |content: &str| json!({"type": "clipboard", "content": content});
    vault.written(json!([note("beans"), page("https://a.example/", "A", "first"), clip("ls -l"), clip("ls -l")]));
    vault.written(json!([
        note("peas"),
        page("https://a.example/", "A, renamed", "second"),
        page("https://b.example/", "A", "other"),
        page("https://example.org/mine", "Mine", "more"),
        page("https://example.org/mine", "Another title", "and more"),
        clip("ls -l"),
        clip("ls -l\nls -a"),
    ]));
    assert!(vault.read("notes/plan.md").ends_with("\n\npeas\n"));
    let kept = fs::read_dir(vault.path(".vault/state/checkpoints")).unwrap().count();
    assert!(kept > 0, "what a note had can be restored");
    let page = vault.read("bookmarks/a.md");
    assert!(page.contains("title: A, renamed\n") && page.ends_with("first\n\nsecond\n"), "{page}");
    assert!(vault.read("bookmarks/a-2.md").contains("https://b.example/"));
    assert_eq!(vault.read("bookmarks/mine.md"), mine, "the person's own is left alone");
    assert_eq!(vault.notes_in("snippets").len(), 2);
    assert_eq!(vault.notes_in("bookmarks").len(), 4);
}

#[test]
fn the_same_id_counts_once_also_after_a_start() {
    let mut vault = Daemon::vault().started();
    let event = |id: &str, text: &str| {
        let mut event = message("s", "user", text);
        event["id"] = id.into();
        event
    };
    assert_eq!(vault.capture(json!([event("1", "one"), event("2", "two"), event("1", "one again")])), (2, 1));
    assert_eq!(vault.capture(event("2", "two")), (0, 1));
    vault.captured();
    vault.kill();
    vault.start();
    assert_eq!(vault.capture(json!([event("1", "one"), event("3", "three")])), (1, 1));
    vault.captured();
    vault.restart();
    assert_eq!(vault.capture(json!([event("3", "three"), event("2", "two")])), (0, 2));
    assert_eq!(vault.read("conversations/2026-01-05-s.md").matches(":** ").count(), 3);
}

#[test]
fn capture_tokens_send_events_and_nothing_else() {
    let vault = Daemon::vault().started();
    let token = vault.run(&["token", "add", "--capture", "browser"]).ok().stdout.trim().to_owned();
    let with = |request: Request| vault.send(&request.bearer(&token));
    let event = message("s", "user", "hello").to_string();
    assert_eq!(with(Request::new("POST", EVENTS).json(event.clone())).status, 202);
    assert_eq!(with(Request::get(EVENTS)).status, 403);
    let listed = vault.run(&["token", "list"]).ok().stdout;
    assert!(listed.starts_with("browser ") && !listed.contains(&token), "{listed}");
    assert_eq!(vault.run(&["token", "add", "--capture", "browser"]).code, 2);
    vault.run(&["token", "remove", "browser"]).ok();
    assert_eq!(with(Request::new("POST", EVENTS).json(event)).status, 401);
    assert_eq!(vault.run(&["token", "list"]).code, 1);
    assert_eq!(files_with(&vault.path(".vault"), &token), [""; 0]);
}

#[test]
fn what_the_person_wrote_is_not_written_over() {
    let mut vault = Daemon::without_model("[access]\nprivate = [\"notes/plan.md\", \"notes/deep\"]\n");
    let diary = "---\ntitle: My diary\nprivate: true\n---\n\nDear diary\n";
    let hidden = "---\ntitle: Hidden\nsource: capture\nprivate: true\n---\n\nmine\n";
    let doubtful = "---\ntitle: P\nurl: https://p.example/\ncreated: notadate\nsource: capture\n---\n\nOld.\n";
    vault.write("notes/my-diary.md", diary).write("notes/hidden.md", hidden).write("bookmarks/p.md", doubtful).start();
    let note =
        |title: &str, text: &str, tag: &str| json!({"type": "note", "title": title, "content": text, "tags": [tag]});
    vault.written(json!([
        note("My diary", "one", "a"),
        note("Hidden", "one", "a"),
        {"type": "bookmark", "url": "https://p.example/", "title": "P", "note": "a remark"},
    ]));
    vault.written(note("My diary", "two", "b"));
    assert_eq!((vault.read("notes/my-diary.md"), vault.read("notes/hidden.md")), (diary.into(), hidden.into()));
    let ours = vault.read("notes/my-diary-2.md");
    assert!(ours.contains("tags:\n- a\n- b\n") && ours.ends_with("\n\ntwo\n"), "{ours}");
    let twin = vault.read("notes/hidden-2.md");
    assert!(twin.contains("private: inherited\n") && twin.ends_with("\n\none\n"), "{twin}");
    assert_eq!(vault.notes_in("notes").len(), 4);
    assert_eq!(vault.read("bookmarks/p.md"), doubtful);
    assert!(vault.read("bookmarks/p-2.md").ends_with("\n\na remark\n"));
    // Nor is what is private by its place.
    let text = |title: &str| format!("---\ntitle: {title}\nsource: capture\n---\n\nmine\n");
    vault.write("notes/plan.md", text("Plan")).write("notes/deep/other.md", text("Other"));
    vault.written(json!([note("Plan", "one", "a"), note("Other", "one", "a")]));
    vault.settle();
    vault.written(json!([note("Plan", "two", "a"), note("Other", "two", "a")]));
    assert_eq!((vault.read("notes/plan.md"), vault.read("notes/deep/other.md")), (text("Plan"), text("Other")));
    assert!(vault.read("notes/plan-2.md").ends_with("\n\ntwo\n"));
    assert!(vault.read("notes/other.md").ends_with("\n\ntwo\n"));
    assert_eq!(vault.notes_in("notes").len(), 8);
}
