//! What is captured tags nothing, and what the person has made private stays so.

use super::message;
use crate::support::prelude::*;

/// An agent that may read everything but what rules keep from it.
struct Agent {
    token: String,
}

impl Agent {
    fn new(vault: &Daemon, rules: &[&str]) -> Self {
        Self { token: vault.run(&[&["agent", "add", "Ada", "--allow"], rules].concat()).ok().stdout.trim().to_owned() }
    }

    fn find(&self, vault: &Daemon, word: &str) -> Vec<String> {
        // Whatever the watcher has not told of yet.
        assert!(vault.post("/reindex", &json!({})).status < 300);
        vault.settle();
        let reply = vault.get_as(&self.token, &format!("/api/user-memory/search?limit=100&q={word}")).json();
        let hits = reply["results"].as_array().unwrap().iter();
        let paths: BTreeSet<String> = hits.map(|hit| hit["path"].as_str().unwrap().to_owned()).collect();
        paths.into_iter().collect()
    }
}

fn note(title: &str, content: &str) -> Value {
    json!({"type": "note", "title": title, "content": content})
}

fn page(url: &str, title: &str, note: &str) -> Value {
    json!({"type": "bookmark", "url": url, "title": title, "note": note})
}

#[test]
fn a_tag_in_what_is_captured_hides_nothing_and_the_persons_do() {
    let mut vault = Daemon::without_model("[capture]\nsearches = true\n").started();
    let agent = Agent::new(&vault, &["--exclude-tags", "health"]);
    let time = "2026-01-05T12:00:00Z";
    let said = "zebra #private, #health and <!-- #private --> or $#private$";
    vault.written(json!([
        message("s", "user", said),
        message("lines", "user", &format!("# {said}\n\n> {said}\n- {said}\n\n```\n#private\n```")),
        {"type": "file", "path": "#private", "name": "zebra #private", "action": "opened", "app": "#private", "time": time},
        {"type": "search", "query": said, "time": time},
        {"type": "agent_activity", "agent": "#private", "summary": said, "time": time},
        note("About #private things", said),
        page("https://example.org/?a=#private", "The #private page", said),
        {"type": "clipboard", "content": said, "app": "#private", "time": time},
    ]));
    let all = [
        "agent-activity/2026-01-05.md",
        "bookmarks/the-private-page.md",
        "conversations/2026-01-05-lines.md",
        "conversations/2026-01-05-s.md",
        "files/2026-01-05.md",
        "notes/about-private-things.md",
        "searches/2026-01-05.md",
        "snippets/zebra-private-health-and-private-or-private.md",
    ];
    assert_eq!(agent.find(&vault, "zebra"), all);
    // Once more is no other: each is known by what it was sent as.
    vault.written(json!([
        note("About #private things", said),
        page("https://example.org/?a=#private", "The #private page", said),
        {"type": "clipboard", "content": said, "app": "#private", "time": time},
    ]));
    assert_eq!(agent.find(&vault, "zebra"), all);
    // What the person adds counts, wherever.
    let hides = |vault: &mut Daemon, path: &str, change: &dyn Fn(&str) -> String| {
        let text = vault.read(path);
        vault.write(path, change(&text));
        let found = agent.find(vault, "zebra");
        assert!(!found.iter().any(|found| found == path) && found.len() == all.len() - 1, "{path}: {found:?}");
        vault.write(path, text);
        assert_eq!(agent.find(vault, "zebra"), all);
    };
    for path in all {
        for line in ["private: true", "tag: health", "# #private"] {
            hides(&mut vault, path, &|text| text.replacen("source:", &format!("{line}\nsource:"), 1));
        }
        hides(&mut vault, path, &|text| format!("{text}\nMine: #private\n"));
        hides(&mut vault, path, &|text| format!("{text}\n%% #health %%\n"));
    }
}

#[test]
fn a_note_that_is_saved_again_stays_private() {
    let mut vault = Daemon::vault();
    let tagged = |head: &str| format!("{head}\n# Tagged\n\nA zebra of mine. #private\n");
    vault.write("notes/tagged.md", tagged("")).start();
    let agent = Agent::new(&vault, &[]);
    let save = json!({"title": "Tagged", "content": "Another zebra.", "collection": "notes"});
    let save = || vault.post("/api/user-memory/save", &save);
    assert_eq!((save().status, agent.find(&vault, "zebra")), (200, vec![]));
    assert!(vault.read("notes/tagged.md").contains("private: true\n"));
    // Where that cannot be said, nothing is written.
    let toml = tagged("+++\ntitle = \"Tagged\"\n+++\n");
    fs::write(vault.path("notes/tagged.md"), &toml).unwrap();
    assert_eq!(agent.find(&vault, "zebra"), [""; 0]);
    assert_eq!((save().status, vault.read("notes/tagged.md")), (400, toml));
    for head in ["---\ntags: #private\n---\n", "---\nbroken: [\n---\n"] {
        let text = format!("{head}\n# Tagged\n\nA zebra of mine.\n");
        fs::write(vault.path("notes/tagged.md"), &text).unwrap();
        vault.finds("mine", &["notes/tagged.md"]);
        vault.settle();
        assert_eq!((save().status, vault.read("notes/tagged.md")), (400, text));
        assert_eq!(agent.find(&vault, "zebra"), [""; 0], "it got no public twin");
    }
}

#[test]
fn a_tag_of_the_persons_stays_when_the_text_is_replaced() {
    let mut vault = Daemon::vault().started();
    let agent = Agent::new(&vault, &["--exclude-tags", "health"]);
    let send = |vault: &Daemon, word: &str| {
        vault.capture(json!([note("Sent", word)]));
        let saved = json!({"title": "Saved", "content": word, "collection": "notes"});
        vault.post("/api/user-memory/save", &saved).ok();
        vault.captured();
        vault.settle();
    };
    send(&vault, "zebra");
    assert_eq!(agent.find(&vault, "zebra").len(), 2);
    for path in ["notes/sent.md", "notes/saved.md"] {
        vault.write(path, vault.read(path).replace("zebra", "zebra, and my #health"));
    }
    vault.settle();
    assert_eq!(agent.find(&vault, "zebra"), [""; 0]);
    send(&vault, "giraffe");
    assert_eq!((vault.find("giraffe").len(), agent.find(&vault, "giraffe")), (2, vec![]));
    assert!(vault.read("notes/sent.md").contains("health") && vault.read("notes/saved.md").contains("health"));
    // A tag that is nowhere to be put is no reason to lose it.
    let toml = "+++\ntitle = \"Saved\"\n+++\n\nA zebra. #health\n";
    fs::write(vault.path("notes/saved.md"), toml).unwrap();
    vault.settle();
    let saved = json!({"title": "Saved", "content": "lion", "collection": "notes"});
    assert_eq!(vault.post("/api/user-memory/save", &saved).status, 400);
    assert_eq!(vault.read("notes/saved.md"), toml);
}

#[test]
fn what_is_saved_under_the_title_of_a_private_note_is_private() {
    let mut vault = Daemon::vault();
    vault.write("journal/mine.md", "---\ntitle: Moved\nprivate: true\n---\n\nA zebra.\n").start();
    fs::create_dir_all(vault.path("notes")).unwrap();
    fs::write(vault.path("notes/latin.md"), b"---\ntitle: Latin\nprivate: true\n---\n\nA z\xe9bra.\n").unwrap();
    vault.settle();
    let agent = Agent::new(&vault, &[]);
    for (title, seen) in [("Moved", false), ("Latin", false), ("Other", true)] {
        let save = json!({"title": title, "content": format!("okapi of {title}"), "collection": "notes"});
        vault.post("/api/user-memory/save", &save).ok();
        assert!(!vault.find(&format!("okapi of {title}")).is_empty());
        assert_eq!(agent.find(&vault, title).iter().any(|path| path.starts_with("notes/")), seen, "{title}");
    }
    assert!(vault.read("notes/moved.md").contains("private: inherited\n"));
    assert!(vault.read("notes/latin-2.md").contains("private: inherited\n"));
}

#[test]
fn what_the_person_made_private_gets_no_public_twin() {
    let mut vault = Daemon::vault().started();
    let agent = Agent::new(&vault, &[]);
    let clip = |content: &str| json!({"type": "clipboard", "content": content});
    let send = |vault: &Daemon, word: &str| {
        vault.written(json!([
            note("Plan", word),
            note("Diary", word),
            note("Moved", word),
            page("https://a.example/", &format!("A {word}"), word),
            page("https://b.example/", &format!("B {word}"), word),
            message("s", "user", word),
            message("t", "user", word),
            message("u", "user", word),
            clip("the same zebra"),
        ]));
        vault.settle();
    };
    send(&vault, "zebra");
    assert_eq!(agent.find(&vault, "zebra").len(), 9);
    let change = |vault: &mut Daemon, path: &str, change: &dyn Fn(String) -> String| {
        vault.write(path, change(vault.read(path)));
    };
    let private = |text: String| text.replacen("---\n", "---\nprivate: true\n", 1);
    let broken = |text: String| text.replacen("---\n", "---\nbroken: [\n", 1);
    // Frontmatter that is gone, with a tag of the person's in the text.
    let bare = |text: String| format!("#private\n\n{}", text.split_once("\n---\n").unwrap().1);
    change(&mut vault, "notes/plan.md", &private);
    change(&mut vault, "notes/diary.md", &broken);
    change(&mut vault, "bookmarks/a-zebra.md", &broken);
    change(&mut vault, "bookmarks/b-zebra.md", &bare);
    change(&mut vault, "conversations/2026-01-05-s.md", &broken);
    change(&mut vault, "conversations/2026-01-05-t.md", &bare);
    change(&mut vault, "snippets/the-same-zebra.md", &broken);
    // Elsewhere, and by another name. Nor need its frontmatter be right.
    change(&mut vault, "notes/moved.md", &private);
    change(&mut vault, "conversations/2026-01-05-u.md", &broken);
    fs::create_dir_all(vault.path("journal")).unwrap();
    fs::rename(vault.path("notes/moved.md"), vault.path("journal/mine.md")).unwrap();
    fs::rename(vault.path("conversations/2026-01-05-u.md"), vault.path("conversations/mine.md")).unwrap();
    let before = agent.find(&vault, "zebra");
    assert_eq!(before, [""; 0], "all of them are private now");
    let kept = ["notes/plan.md", "notes/diary.md", "bookmarks/a-zebra.md", "journal/mine.md"];
    let kept = kept.map(|path| (path, vault.read(path)));
    for word in ["giraffe", "lion"] {
        send(&vault, word);
        assert_eq!(agent.find(&vault, word), [""; 0]);
        assert!(!vault.find(word).is_empty(), "it is there for the person");
        // And so it is where the program has forgotten all that it knew.
        vault.restart();
    }
    send(&vault, "okapi");
    assert_eq!(agent.find(&vault, "okapi"), [""; 0]);
    for (path, text) in kept {
        assert_eq!(vault.read(path), text, "{path} is left alone");
    }
    // The twin is the one that goes on, and there is but one.
    let twin = vault.read("notes/plan-2.md");
    assert!(twin.contains("private: inherited\n") && twin.ends_with("okapi\n"), "{twin}");
    assert!(!vault.path("notes/plan-3.md").exists() && !vault.path("notes/moved-2.md").exists());
    // The person decides: without that line it is a note like any, and is written on.
    change(&mut vault, "notes/plan-2.md", &|text| text.replace("private: inherited\n", ""));
    assert_eq!(agent.find(&vault, "okapi"), ["notes/plan-2.md"]);
    // Others are none of that.
    vault.written(json!([
        note("Planet", "okapi"),
        page("https://a.example/b", "A zebra", "okapi"),
        message("v", "user", "okapi")
    ]));
    assert_eq!(agent.find(&vault, "okapi").len(), 4);
}

/// Whoever sends events and reads as an agent, too, cannot feel its way through a private note.
#[test]
fn a_private_text_is_not_told_by_what_a_guess_becomes() {
    let mut vault = Daemon::vault();
    let private = |rest: &str| format!("---\nprivate: true\n{rest}");
    vault.write("snippets/key.md", private("source: capture\n---\n\nzebra 4711\n"));
    vault.write("bookmarks/bank.md", "#private\n\n<https://bank.example/zebra?pin=4711>\n");
    vault.write("journal/2026-01-04-therapy.md", private("title: Zebra plan\n---\n\nMine.\n")).start();
    let agent = Agent::new(&vault, &[]);
    vault.written(json!([
        {"type": "clipboard", "content": "zebra 4"},
        {"type": "clipboard", "content": "zebra"},
        page("https://bank.example/zebra?pin=4", "Bank", "zebra"),
        note("Zebra plan", "zebra"),
        message("therapy", "user", "zebra"),
    ]));
    assert_eq!(agent.find(&vault, "zebra").len(), 5, "none of them is as private as what it guesses at");
    // What is the same stays as private as it is.
    vault.written(json!([
        {"type": "clipboard", "content": "zebra 4711"},
        page("https://bank.example/zebra?pin=4711", "Bank zebra", "zebra"),
    ]));
    assert_eq!(agent.find(&vault, "zebra").len(), 5);
}
