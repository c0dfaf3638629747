//! The ways in which a text that was forgotten for good may come back, and in which forms it is known again: one table for each, as
//! `docs/forgetting.md` states them.

use crate::extraction::{config, conversation, sync};
use crate::forgotten::{IN_A_NOTE as KEY, assert_in_no_file};
use crate::memory::{Agent, agent};
use crate::sessions::{add, header, source, turn};
use crate::support::prelude::*;

/// What stands beside it and is nobody's secret.
const BESIDE: &str = "Water the ferns on Sunday";

/// A vault out of which a line was purged, an agent that could read it, and a place outside.
struct World {
    vault: Daemon,
    ada: Agent,
    outside: tempfile::TempDir,
    /// What brings the note back as it was.
    undo: String,
}

fn world() -> World {
    let mut vault = Daemon::without_model(
        "[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n\
         [[sessions]]\npath = \".claw/*/sessions/*.jsonl\"\n",
    );
    vault.write("notes/keys.md", format!("# Keys\n\n{}\n\nStays.\n", KEY.text));
    vault.write("notes/twice.md", format!("{}\n\nBread is baked.\n", KEY.text)).start().settle();
    for args in [&["init", "-q"][..], &["add", "notes"], &["commit", "-q", "-m", "all"]] {
        git(&vault.path(""), args);
    }
    let ada = agent(&vault, "ada", "can_read_user_memory: true");
    let undo = vault.run(&["forget", "notes/twice.md:1", "--yes", "--json"]).ok().json();
    vault.run(&["forget", "notes/keys.md:3", "--purge", "--yes"]).ok();
    let undo = undo["checkpoint_id"].as_str().unwrap().to_owned();
    World { vault, ada, outside: tempfile::tempdir().unwrap(), undo }
}

impl World {
    fn captured(&self, event: Value) {
        assert_eq!(self.vault.capture(event), (1, 0));
        self.vault.captured();
    }

    /// A file outside of the vault.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.outside.path().join(name);
        write_file(&path, text);
        path.to_str().unwrap().to_owned()
    }
}

/// How often something was brought, as a name that nothing else has.
fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The same in another form.
type Form = fn(&str) -> String;

/// Forms in which it is known again.
const KNOWN: [(&str, Form); 15] = [
    ("as it was", |text| text.to_owned()),
    ("in capitals", |text| text.to_uppercase()),
    ("without its marks", |text| text.trim_end_matches('.').replace("key", "*key*")),
    ("with other blanks and accents", |text| text.replace(' ', "  ").replace("third", "thírd")),
    ("with what is not seen", |text| format!("\u{feff}{}", text.replace("key", "k\u{200b}e\u{2060}y"))),
    ("with references", |text| text.replace("key", "k&#101;y").replace("under the", "under&nbsp;the")),
    ("with tags", |text| format!("<p>{}</p>", text.replace("key", "<b>key</b>"))),
    ("a sentence beside others", |text| format!("{BESIDE}. {text} Bye.")),
    ("a paragraph beside others", |text| format!("{BESIDE}\n\n{text}\n\nBye.")),
    ("an item in a quote", |text| format!("> - {BESIDE}\n> - {text}")),
    ("a cell of a row", |text| format!("| {text} | {BESIDE} |")),
    ("a cell of a row without bars at its ends", |text| format!("{BESIDE} | {text} | x")),
    ("a tag beside others", |text| format!("<p>{text}</p><p>{BESIDE}</p>")),
    ("a cell of a table of tags", |text| format!("<table><tr><td>{text}</td><td>{BESIDE}</td></tr></table>")),
    ("before a citation", |text| format!("- {BESIDE}\n- {} (notes/keys.md#L3)", text.trim_end_matches('.'))),
];

/// Forms in which it is another text.
const UNKNOWN: [(&str, Form); 3] = [
    ("within a longer sentence", |text| format!("Bob says that {} I do not know.", text.replace('.', ","))),
    ("a line within a paragraph without marks", |text| format!("so\n{}\nand then some", text.trim_end_matches('.'))),
    ("in other words", |text| text.replace("lies", "is")),
];

/// Somebody brings a text, and hears success.
type Brings = fn(&World, &str);

fn event(kind: &str, more: Value) -> Value {
    let mut event = json!({ "type": kind });
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event
}

/// Ways in which it is left out.
const LEFT_OUT: [(&str, Brings); 10] = [
    ("a message that a program sends", |world, text| {
        world.captured(event("message", json!({ "session": "talk", "role": "user", "text": text })));
    }),
    ("a note that a program sends", |world, text| {
        world.captured(event("note", json!({ "title": format!("Note {}", number()), "content": text })));
    }),
    ("a snippet that a program sends", |world, text| {
        world.captured(event("clipboard", json!({ "content": text })));
    }),
    ("what a program says that it does", |world, text| {
        world.captured(event("agent_activity", json!({ "agent": "helper", "summary": text })));
    }),
    ("what an agent saves", |world, text| {
        assert_eq!(world.ada.call("save", json!({ "file": "MEMORY.md", "content": text }))["ok"], true);
    }),
    ("what an agent gives as to qmd", |world, text| {
        let (status, told) = world.ada.send("/ingest", json!({ "content": text }));
        assert_eq!(status, 200, "{told}");
    }),
    ("a fact of an agent", |world, text| {
        let name = format!("k{}", number());
        assert_eq!(world.ada.fact(json!({ "namespace": "x", "key": name, "value": text }))["ok"], true);
    }),
    ("an entry that an agent proposes", |world, text| {
        let (status, told) = world.ada.send("/api/entries", json!({ "text": text }));
        assert_eq!((status, &told["ok"]), (200, &json!(true)), "{told}");
    }),
    ("what an agent tells of its work", |world, text| {
        let id = format!("e{}", number());
        let told = json!({ "id": id, "kind": "message_in", "payload": { "from": "user", "text": text } });
        let (status, told) = world.ada.send("/api/trace", told);
        assert_eq!(status, 200, "{told}");
    }),
    ("a session that is watched", |world, text| {
        let id = format!("s{}", number());
        let beside = format!("{BESIDE} {id}");
        add(
            &source(&world.vault, &format!("{id}.jsonl")),
            &(header(&id) + &turn("user", text) + &turn("user", &beside)),
        );
        until("the session", || !files_with(&world.vault.path("conversations"), &beside).is_empty());
    }),
];

/// The same of many texts at once.
type BringsAll = fn(&World, &[String]);

/// Ways that a command of its own takes.
const LEFT_OUT_AT_ONCE: [(&str, BringsAll); 3] = [
    ("notes of a folder that is imported", |world, texts| {
        for (at, text) in texts.iter().enumerate() {
            world.file(&format!("folder/{at}.md"), &format!("# {BESIDE}\n\n{text}\n"));
        }
        let folder = world.outside.path().join("folder");
        world.vault.run(&["import", "--from", "folder", folder.to_str().unwrap()]).ok();
    }),
    ("a session that is imported", |world, texts| {
        let turns: String = texts.iter().map(|text| turn("user", BESIDE) + &turn("user", text)).collect();
        let file = world.file("imported.jsonl", &(header("imported") + &turns));
        world.vault.run(&["import", "--from", "openclaw", &file]).ok();
    }),
    ("an archive", |world, texts| {
        let mut other = Daemon::vault();
        for (at, text) in texts.iter().enumerate() {
            other.write(&format!("notes/{at}.md"), format!("{text}\n\n- {BESIDE}\n"));
        }
        let [archive, copy] = ["all", "copy"].map(|name| world.outside.path().join(name));
        other.run(&["export", archive.to_str().unwrap()]).ok();
        let mut import = vault_command();
        Ran::of(import.arg("import").arg(&archive).arg(&copy).arg("--vault").arg(world.vault.path(""))).ok();
        assert_in_no_file(&copy, &[&KEY]);
    }),
];

/// What the program keeps for itself has it until the queue is written, and the source of a session as long as that is there.
#[track_caller]
fn assert_in_no_note(world: &World) {
    for entry in fs::read_dir(world.vault.path("")).unwrap().flatten() {
        if entry.path().is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            assert_in_no_file(&entry.path(), &[&KEY]);
        }
    }
}

#[test]
fn what_was_forgotten_is_left_out_by_every_way_in_and_in_every_form() {
    let world = world();
    fs::remove_dir_all(world.vault.path(".git")).unwrap();
    world.vault.run(&["forget", "notes/twice.md", "--purge", "--yes"]).ok();
    for (way, brings) in LEFT_OUT {
        for (form, of) in KNOWN {
            // An entry is one line: where a paragraph of it ended is not seen any more.
            let parted = ["a paragraph beside others", "an item in a quote", "before a citation"];
            if way.starts_with("an entry") && parted.contains(&form) {
                continue;
            }
            println!("{way}, {form}");
            brings(&world, &of(KEY.text));
            assert_in_no_note(&world);
        }
    }
    for (way, brings) in LEFT_OUT_AT_ONCE {
        println!("{way}");
        brings(&world, &KNOWN.map(|(_, of)| of(KEY.text)));
        assert_in_no_note(&world);
    }
    // What stands beside it is there.
    for folder in ["conversations", "agents", "traces"] {
        assert!(!files_with(&world.vault.path(folder), BESIDE).is_empty(), "{folder}");
    }
    let turns = contents(&world.vault.path("conversations")).into_iter().filter_map(|(path, bytes)| {
        path.to_string_lossy().ends_with("-talk.md").then(|| String::from_utf8(bytes).unwrap())
    });
    let turns: String = turns.map(|text| text.split_once("\n---\n").unwrap().1.to_owned()).collect();
    assert_eq!(
        turns.matches(BESIDE).count(),
        KNOWN.iter().filter(|(_, of)| of("").contains(BESIDE)).count(),
        "{turns}"
    );
    for (form, of) in UNKNOWN {
        let folder = world.vault.path("conversations");
        let before = files_with(&folder, KEY.needle).len();
        let talk = format!("other-{}", number());
        world.captured(event("message", json!({ "session": talk, "role": "user", "text": of(KEY.text) })));
        assert_eq!(files_with(&folder, KEY.needle).len(), before + 1, "{form}");
    }
}

/// The person brings a text, and is told that it was forgotten.
type Tells = fn(&World) -> bool;

/// Whether the list of what is back names a note.
fn is_back(world: &World, path: &str) -> bool {
    let back = || world.vault.get("/api/forgotten").json()["back"].as_array().unwrap().clone();
    eventually("the list", || back().iter().any(|row| row["path"] == path).then_some(true))
}

/// Ways in which it comes back, as the person wants it.
const TOLD: [(&str, Tells); 5] = [
    ("a note that is saved", |world| {
        world.vault.post("/api/user-memory/save", &json!({ "content": KEY.text })).json()["forgotten_before"] == true
    }),
    ("a fact that is set", |world| {
        world.vault.run(&["fact", "set", "x/key", KEY.text, "--json"]).ok().json()["forgotten_before"] == true
    }),
    ("a change that is undone", |world| {
        let restored = world.vault.run(&["undo", &world.undo, "--json"]).ok().json();
        let text = fs::read_to_string(world.vault.path("notes/twice.md")).unwrap();
        restored["forgotten_before"] == true && text.starts_with(KEY.text)
    }),
    ("a note that is edited", |world| {
        fs::write(world.vault.path("notes/edited.md"), KEY.text).unwrap();
        is_back(world, "notes/edited.md")
    }),
    ("a note that git has", |world| {
        git(&world.vault.path(""), &["checkout", "-q", "--", "notes/keys.md"]);
        is_back(world, "notes/keys.md")
    }),
];

#[test]
fn the_person_may_bring_it_back_and_is_told() {
    let world = world();
    for (way, tells) in TOLD {
        println!("{way}");
        assert!(tells(&world), "{way}");
    }
}

/// The person has typed it into a conversation again, and a chat model reads that.
#[test]
fn a_model_does_not_bring_back_what_was_forgotten() {
    let endpoint = Endpoint::start();
    endpoint.fails(|_| {
        let entry = |kind: &str, text: &str, line: u64, quote: &str| {
            json!({ "kind": kind, "text": text, "confidence": 0.95, "tags": [], "valid_from": "", "lines": [line, line], "quote": quote })
        };
        let said = [
            entry("fact", KEY.text, 6, KEY.text.trim_end_matches('.')),
            entry("preference", "Likes green tea", 8, "I like green tea"),
        ];
        let text = said.iter().map(|entry| json!({ "text": entry["text"], "lines": entry["lines"] }));
        let text: Vec<Value> = text.collect();
        let summary = json!({ "text": text, "topics": [], "decisions": [], "dates": [], "actions": [] });
        Some(Fault::SaysThis(json!({ "summary": summary, "entries": said }).to_string()))
    });
    let mut vault = Daemon::with_config(&config(&endpoint.address(), ""));
    vault.write("notes/keys.md", format!("{}\n", KEY.text));
    vault.run(&["forget", "notes/keys.md", "--purge", "--yes"]).ok();
    vault.write("conversations/tea.md", conversation(&[("user", KEY.text), ("user", "I like green tea.")]));
    sync(&vault);
    for path in ["memories/pending.md", "summaries/tea.md"] {
        let text = vault.read(path);
        assert!(text.contains("Likes green tea") && !text.contains(KEY.needle), "{path}: {text}");
    }
}
