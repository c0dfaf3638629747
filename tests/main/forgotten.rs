//! What was forgotten for good stays forgotten: in thirteen steps, and what each way of writing asks before.

use crate::memory::{Agent, agent};
use crate::support::prelude::*;

/// Something that is forgotten: a word that nothing else has, words of the same text to look for it by, and the text.
pub struct Secret {
    pub needle: &'static str,
    pub query: &'static str,
    pub text: &'static str,
}

const fn secret(needle: &'static str, query: &'static str, text: &'static str) -> Secret {
    Secret { needle, query, text }
}

pub const IN_A_NOTE: Secret = secret("zibeline", "third flowerpot", "The zibeline key lies under the third flowerpot.");
const A_NOTE: Secret =
    secret("quetzalplan", "moving house secretly", "The quetzalplan is about moving house secretly in the spring.");
const IN_A_CONVERSATION: Secret =
    secret("xylograph", "password of the old laptop", "The password of the old laptop is xylograph 4711 now.");
const OF_AN_AGENT: Secret =
    secret("obsidianite", "spoon left drawer", "Maya keeps the obsidianite spoon in the left drawer.");
const WAITING: Secret =
    secret("gazpachoid", "blood test result", "The gazpachoid blood test result came back on 12 May.");
const A_FACT: Secret = secret(
    "marimbaphone",
    "combination opens garden shed",
    "The marimbaphone combination opens the garden shed on Fridays.",
);
/// What a fact was before.
const AN_EARLIER_VALUE: Secret =
    secret("ocarinette", "spare latch behind", "The ocarinette is the spare latch behind the second shelf.");
const ALL: [&Secret; 7] = [&IN_A_NOTE, &A_NOTE, &IN_A_CONVERSATION, &OF_AN_AGENT, &WAITING, &A_FACT, &AN_EARLIER_VALUE];

fn message(text: &str) -> Value {
    json!({ "type": "message", "session": "talk", "role": "user", "text": text, "time": "2026-01-05T12:00:00Z" })
}

fn ada(vault: &Daemon) -> Agent {
    agent(vault, "ada", "can_read_user_memory: true")
}

fn vault() -> Daemon {
    Daemon::without_model("[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n")
}

#[track_caller]
fn save(vault: &Daemon, title: &str, content: &str) -> Value {
    let reply =
        vault.post("/api/user-memory/save", &json!({ "title": title, "collection": "notes", "content": content }));
    reply.ok()
}

fn lines_of(vault: &Daemon, path: &str, needle: &str) -> String {
    let text = vault.read(path);
    // A title may have it, too.
    let (line, _) = text.lines().enumerate().filter(|(_, line)| line.contains(needle)).last().unwrap();
    format!("{path}:{}", line + 1)
}

#[track_caller]
fn purge(vault: &Daemon, what: &str) {
    let purged = vault.run(&["forget", what, "--purge", "--yes", "--json"]).ok().json();
    assert!(purged["purged"]["tombstone"].is_i64(), "{purged}");
}

fn keys(answer: &Value) -> Vec<&String> {
    answer.as_object().unwrap().keys().collect()
}

/// Where something is back.
fn places(back: &Value) -> Vec<String> {
    let rows = back.as_array().unwrap().iter();
    rows.map(|row| format!("{}:{}", row["path"].as_str().unwrap(), row["line"])).collect()
}

/// No bytes below a folder, and no name, has one of the words.
#[track_caller]
pub fn assert_in_no_file(folder: &Path, secrets: &[&Secret]) {
    for entry in walkdir::WalkDir::new(folder).min_depth(1).into_iter().flatten() {
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let bytes = if entry.file_type().is_file() { fs::read(entry.path()).unwrap_or_default() } else { Vec::new() };
        for Secret { needle, .. } in secrets {
            assert!(!name.contains(needle), "the name of {:?}", entry.path());
            assert!(!has_text(&bytes.to_ascii_lowercase(), needle), "`{needle}` in {:?}", entry.path());
        }
    }
}

/// No answer has one of the words.
fn assert_in_no_answer(vault: &Daemon, hashes: &[String]) {
    let mut targets: Vec<String> = [
        "/api/user-memory/browse?limit=1000",
        "/api/user-memory/stats",
        "/api/user-memory/notes",
        "/api/user-memory/tags",
        "/status",
        "/api/user-memory/checkpoints",
        "/api/agents/ada/log?limit=10000",
        "/api/log?limit=10000",
        "/api/forgotten",
        "/api/facts?scope=*&history=true",
        "/api/facts?scope=*&as_of=2199-01-01",
        "/api/facts?scope=*&prefix=home&expired=true&changed_since=3650d",
    ]
    .map(String::from)
    .into();
    for secret in ALL {
        let query = encode(secret.query);
        for mode in ["keyword", "semantic", "hybrid"] {
            targets.push(format!("/api/user-memory/search?q={query}&mode={mode}&limit=100"));
        }
        targets.push(format!("/api/user-memory/agent-search?q={query}&agent_name=ada"));
    }
    for target in &targets {
        let said = String::from_utf8(vault.get(target).body).unwrap().to_lowercase();
        for Secret { needle, .. } in ALL {
            assert!(!said.contains(needle), "{target}: {said}");
        }
    }
    for hash in hashes {
        assert_eq!(vault.get(&format!("/api/user-memory/chunk/{hash}")).status, 404, "{hash}");
    }
    for secret in ALL {
        for (tool, arguments) in [
            ("search", json!({ "query": secret.query })),
            ("search", json!({ "mode": "deep", "query": secret.query })),
            ("get", json!({ "glob": "**" })),
            ("fact", json!({ "action": "list", "scopes": "*", "expired": true })),
            ("fact", json!({ "action": "history", "name": "home/shed" })),
        ] {
            let reply = vault.rpc("tools/call", json!({ "name": tool, "arguments": arguments }));
            let said = String::from_utf8(reply.body).unwrap().to_lowercase();
            assert!(reply.status == 200 && !said.contains(secret.needle), "{tool}: {said}");
        }
    }
    let status = vault.settle();
    let on_disk = ["notes", "conversations", "agents", "bookmarks", "summaries"]
        .iter()
        .map(|folder| contents(&vault.path(folder)).len())
        .sum::<usize>();
    let facts = usize::from(vault.path("facts.md").exists());
    assert_eq!(status["files"], on_disk + facts, "{status}");
}

#[test]
fn what_was_purged_is_found_nowhere() {
    let mut vault = vault().started();
    let agent = ada(&vault);
    // Each is somewhere, with what its place had before and what was asked of it.
    save(&vault, "Pots", "Water them.");
    save(&vault, "Pots", &format!("Water them.\n\n- {}\n- Feed them.", IN_A_NOTE.text));
    save(&vault, "Quetzalplan", A_NOTE.text);
    save(&vault, "Letter", &format!("Call the doctor.\n\n{}", WAITING.text));
    vault.written(json!([message(IN_A_CONVERSATION.text), message("Good morning, I am looking for something.")]));
    agent.save("MEMORY.md", "- Likes short answers in the morning");
    agent.save("MEMORY.md", &format!("- {}", OF_AN_AGENT.text));
    let set = |name: &str, value: &str| vault.run(&["fact", "set", name, value]).ok();
    set("home/gate", "opens to the left");
    set("home/shed", AN_EARLIER_VALUE.text);
    until("it to be found", || !vault.find(AN_EARLIER_VALUE.query).is_empty());
    set("home/shed", A_FACT.text);
    for secret in ALL.into_iter().filter(|secret| secret.needle != AN_EARLIER_VALUE.needle) {
        until("it to be found", || !vault.find(secret.query).is_empty());
        for query in [secret.query, secret.needle] {
            assert_eq!(
                vault.get(&format!("/api/user-memory/agent-search?q={}&agent_name=ada", encode(query))).status,
                200
            );
        }
        agent.find(secret.needle);
    }
    let found = vault.get("/api/user-memory/browse?limit=1000").json();
    let chunks = found["chunks"].as_array().unwrap();
    let has = |chunk: &&Value| ALL.iter().any(|secret| chunk["content"].as_str().unwrap().contains(secret.needle));
    let hashes: Vec<String> =
        chunks.iter().filter(has).map(|chunk| chunk["hash"].as_str().unwrap().to_owned()).collect();
    assert_eq!(hashes.len(), ALL.len() - 1, "{found}");
    vault.terminate();
    // One is on its way into a file, too.
    assert!(vault.launch(Some("capture-planned:1")));
    assert_eq!(
        vault.capture(json!({ "type": "message", "session": "other", "role": "user", "text": WAITING.text })),
        (1, 0)
    );
    until("the kill", || vault.was_killed());

    let conversation = "conversations/2026-01-05-talk.md";
    for (path, secret) in [
        ("notes/pots.md", &IN_A_NOTE),
        ("notes/letter.md", &WAITING),
        (conversation, &IN_A_CONVERSATION),
        ("agents/ada/MEMORY.md", &OF_AN_AGENT),
    ] {
        purge(&vault, &lines_of(&vault, path, secret.needle));
    }
    purge(&vault, "notes/quetzalplan.md");
    purge(&vault, "fact:home/shed");

    // After another kill the daemon goes on; what waited is dropped.
    vault.start();
    vault.captured();
    vault.kill();
    vault.start();
    assert!(!vault.path("conversations").join("2026-01-05-other.md").exists());
    assert_in_no_answer(&vault, &hashes);

    // All of it is brought again, by those who brought it, and each hears success.
    let again = |vault: &Daemon| {
        let agent = ada(vault);
        for secret in ALL {
            let text = secret.text;
            let quoted = format!("# Seen\n\n> {}", text.to_uppercase());
            let events = json!([
                message(text),
                message(&quoted),
                { "type": "note", "title": "Again", "content": text },
                { "type": "clipboard", "content": format!("  {text}\n") },
                { "type": "agent_activity", "agent": "helper", "summary": text },
                { "type": "bookmark", "url": "https://example.org/", "title": "A page", "note": text },
            ]);
            assert_eq!(vault.capture(events), (6, 0));
            for file in ["MEMORY.md", "memory/new.md"] {
                let saved = agent.call("save", json!({ "file": file, "content": text }));
                assert!(saved["ok"] == true && saved["chunks"].as_u64().unwrap() > 0, "{saved}");
                assert!(saved["searchable"] == true && saved["file_deleted"] == false, "{saved}");
                agent.call("restore", json!({ "checkpoint_id": saved["checkpoint_id"] }));
            }
            let set = agent.fact(json!({ "namespace": "home", "key": "shed", "value": text }));
            assert!(set["checkpoint_id"].is_string(), "{set}");
            assert!(!vault.path("agents/ada/facts.md").exists(), "{text}");
        }
        vault.captured();
        assert_in_no_answer(vault, &hashes);
    };
    again(&vault);
    let seen = vault.run(&["forgotten", "list", "--json"]).ok().json();
    // Each but the earlier value, which went with the fact.
    assert_eq!(seen["forgotten"].as_array().unwrap().len(), ALL.len() - 1, "{seen}");
    let left_out = seen["left_out"].as_array().unwrap();
    let of = |by: &str| left_out.iter().filter(|row| row["by"] == by).count();
    // That of the one that waited may have gone with the kill.
    assert!(of("agent ada") == 3 * ALL.len(), "{seen}");
    assert!([6 * ALL.len(), 6 * ALL.len() + 1].contains(&of("program")), "{seen}");
    assert!(seen["back"].as_array().unwrap().is_empty() && seen["complete"] == true, "{seen}");

    // In an archive, and in what is made of it.
    let (_elsewhere, copy) = vault.copy_by_archive();
    assert_in_no_file(&copy, &ALL);
    assert_in_no_file(&vault.path(""), &ALL);
    vault.terminate();
    assert_in_no_file(&vault.path(""), &ALL);
    let mut copied = self::vault();
    for name in ["agents", "bookmarks", "conversations", "notes", "facts.md", "facts.history.md", ".vault"] {
        fs::rename(copy.join(name), copied.path(name)).unwrap();
    }
    assert!(
        fs::read_to_string(copied.path("facts.history.md")).unwrap().contains("— → `opens to the left` · by owner")
    );
    copied.start();
    again(&copied);
    copied.terminate();
    assert_in_no_file(&copied.path(""), &ALL);
}

#[test]
fn what_an_agent_could_not_read_it_may_say() {
    let mut vault = vault();
    vault.write("notes/diary.md", "---\nprivate: true\n---\nThe door code of the cellar is 4711 today.\n");
    vault.write("notes/shared.md", "The tram to the harbour leaves at nine every day.\n").start();
    let agent = ada(&vault);
    purge(&vault, "notes/diary.md");
    purge(&vault, "notes/shared.md");
    let save = |content: &str| agent.call("save", json!({ "file": "MEMORY.md", "content": content }));
    // A guess of it is written as any text is: its absence would tell that it was right.
    let hidden = save("The door code of the cellar is 4711 today.");
    let seen = save("The tram to the harbour leaves at nine every day.");
    // As a success it can be undone, which changes nothing.
    let undone = agent.call("restore", json!({ "checkpoint_id": seen["checkpoint_id"] }));
    assert_eq!(agent.text(&vault, "MEMORY.md").unwrap(), "The door code of the cellar is 4711 today.\n", "{undone}");
    let part = save("It rains. The tram to the harbour leaves at nine every day. It is cold.");
    assert!(keys(&hidden) == keys(&seen) && keys(&seen) == keys(&part), "{hidden} {seen} {part}");
    assert_eq!(
        agent.text(&vault, "MEMORY.md").unwrap(),
        "The door code of the cellar is 4711 today.\n\nIt rains. It is cold.\n"
    );
    let left_out = vault.get("/api/forgotten").json()["left_out"].clone();
    let whole: Vec<bool> = left_out.as_array().unwrap().iter().map(|row| row["whole"].as_bool().unwrap()).collect();
    assert_eq!(whole, [false, true], "{left_out}");
}

#[test]
fn the_person_may_write_it_again_and_is_told() {
    let mut vault = vault();
    let text = "The tram to the harbour leaves at nine every day.";
    vault.write("notes/a.md", format!("# Trams\n\n{text}\n\nBuses do not.\n")).start();
    purge(&vault, "notes/a.md:3");
    let saved = save(&vault, "Again", text);
    assert_eq!(saved["forgotten_before"], true, "{saved}");
    assert!(save(&vault, "Other", "Something else that is new.").get("forgotten_before").is_none());
    vault.write("notes/a.md", format!("# Trams\n\nBuses do not.\n\n- x\n- {text}\n"));
    vault.finds("harbour", &["notes/a.md", "notes/again.md"]);
    let back = vault.get("/api/forgotten").json()["back"].clone();
    let places = places(&back);
    assert_eq!(places[0], "notes/a.md:6");
    assert!(places.len() == 2 && places[1].starts_with("notes/again.md:"), "{places:?}");
    let status = vault.run(&["status"]).ok().stdout;
    assert!(
        status.contains("2 texts that you had permanently forgotten") && status.contains("notes/a.md:6"),
        "{status}"
    );
    let id = back[0]["tombstone"].to_string();
    vault.run(&["forgotten", "lift", &id]).ok();
    assert_eq!(vault.run(&["forgotten", "lift", &id]).code, 1);
    assert_eq!(vault.run(&["forgotten", "list"]).code, 1);
    assert!(!vault.run(&["status"]).ok().stdout.contains("permanently forgotten"));
    assert_eq!(vault.capture(message(text)), (1, 0));
    vault.captured();
    vault.finds("harbour", &["conversations/2026-01-05-talk.md", "notes/a.md", "notes/again.md"]);
}

#[test]
fn what_is_forgotten_and_can_be_undone_leaves_no_tombstone() {
    let vault = vault()
        .with("notes/a.md", "The tram to the harbour leaves at nine every day.\n")
        .with("notes/b.md", "one\n")
        .started();
    let id = vault.run(&["forget", "notes/a.md", "--yes", "--json"]).ok().json()["checkpoint_id"].clone();
    // A purge that is refused leaves none either.
    let refused = vault
        .post("/api/user-memory/forget", &json!({ "path": "notes/b.md", "purge": true, "seen": "0123456789abcdef" }));
    assert_eq!(refused.status, 409);
    assert!(vault.get("/api/forgotten").json()["forgotten"].as_array().unwrap().is_empty());
    vault.run(&["undo", id.as_str().unwrap()]).ok();
    vault.run(&["forget", "notes/a.md", "--yes"]).ok();
    // What is in the trash and is purged there is known by what the note said last.
    purge(&vault, "notes/a.md");
    vault.written(message("the tram to the harbour leaves at nine every day"));
    assert!(vault.find("harbour").is_empty() && !vault.path("conversations").exists());
}

#[test]
fn what_was_made_of_it_is_listed_and_goes_if_that_is_said() {
    let mut vault = vault();
    let note = "# Trams\n\nThe tram to the harbour leaves at nine every day.\n\nBuses do not leave at all, as far as I know.\n";
    vault
        .write("notes/a.md", note)
        .write("notes/trams.md", "---\nsources: [\"notes/a.md#L3\"]\n---\nTrams go at nine.\n")
        .write("notes/buses.md", "---\nsources: [\"notes/a.md#L5\"]\n---\nBuses stand.\n")
        .write("notes/other.md", "---\nsources: [notes/b.md]\n---\nOther.\n")
        .start();
    let listed = |params: Value| {
        let reply = vault.post("/api/user-memory/forget", &params).json();
        let derived = reply["derived"].as_array().cloned().unwrap_or_default();
        derived.iter().map(|row| format!("{} {}", row["path"].as_str().unwrap(), row["gone"])).collect::<Vec<_>>()
    };
    let part = |more: Value| {
        let mut params = json!({ "path": "notes/a.md", "line_start": 3 });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    assert_eq!(
        listed(json!({ "path": "notes/a.md", "dry_run": true })),
        ["notes/buses.md false", "notes/trams.md false"]
    );
    assert_eq!(listed(part(json!({ "dry_run": true, "derived": true }))), ["notes/trams.md false"]);
    assert!(vault.path("notes/trams.md").exists());
    assert_eq!(listed(part(json!({ "derived": true }))), ["notes/trams.md true"]);
    assert!(!vault.path("notes/trams.md").exists() && vault.path("notes/buses.md").exists());
    assert!(vault.path(".trash/notes/trams.md").exists());
    let said = vault.run(&["forget", "notes/a.md", "--purge", "--yes"]).ok();
    assert!(said.stderr.contains("notes/buses.md was made from it, and stays"), "{}", said.stderr);
    vault.write("notes/a.md", note).finds("harbour", &["notes/a.md"]);
    let said = vault.run(&["forget", "notes/a.md", "--purge", "--yes", "--derived"]).ok();
    assert!(said.stdout.contains("notes/buses.md, made from it, is removed permanently"), "{}", said.stdout);
    assert!(!vault.path("notes/buses.md").exists() && !vault.path(".trash/notes/buses.md").exists());
    assert!(vault.path("notes/other.md").exists());
}

#[test]
fn the_log_says_who_changed_what_and_where() {
    let mut vault = vault().started();
    let agent = ada(&vault);
    save(&vault, "Pots", "Water them.");
    save(&vault, "Pots", "Water them.\n\nFeed them.");
    vault.written(message("Good morning"));
    agent.save("MEMORY.md", "- Likes tea");
    let id = vault.run(&["forget", "notes/pots.md", "--yes", "--json"]).ok().json()["checkpoint_id"].clone();
    vault.run(&["undo", id.as_str().unwrap()]).ok();
    let log = |args: &[&str]| vault.run(&[&["log", "--json"], args].concat()).ok().json()["changes"].clone();
    let said: Vec<String> = log(&[])
        .as_array()
        .unwrap()
        .iter()
        .map(|row| [&row["by"], &row["what"], &row["path"]].map(|part| part.as_str().unwrap()).join(" "))
        .collect();
    assert_eq!(
        said,
        [
            "owner restore notes/pots.md",
            "owner trash notes/pots.md",
            "agent ada create agents/ada/MEMORY.md",
            "program create conversations/2026-01-05-talk.md",
            "owner edit notes/pots.md",
            "owner create notes/pots.md",
        ]
    );
    let pots = log(&["--path", "notes/pots.md"]);
    assert_eq!(pots.as_array().unwrap().len(), 4);
    assert!(pots[0]["after"] == pots[1]["before"] && pots[1].get("after").is_none(), "{pots}");
    assert_eq!(pots[0]["checkpoint_id"].as_str().map(str::len), id.as_str().map(str::len), "{pots}");
    assert_eq!(log(&["--limit", "1"]).as_array().unwrap().len(), 1);
    assert_eq!(vault.run(&["log", "--since", "2999-01-01"]).code, 1);
    assert_eq!(vault.run(&["log", "--since", "spring"]).code, 2);
    // Without a daemon, too, and the change of a command that ends at once.
    vault.terminate();
    vault.run(&["forget", "notes/pots.md", "--purge", "--yes"]).ok();
    let said = vault.run(&["log"]).ok().stdout;
    assert!(!said.contains("pots") && said.contains("purge    notes/  by owner"), "{said}");
}

#[test]
fn a_sentence_of_a_title_is_cut_out_of_it() {
    let mut vault = vault().started();
    save(&vault, "Flowers", IN_A_NOTE.text);
    purge(&vault, "notes/flowers.md");
    let title = format!("Meeting on Monday. {}", IN_A_NOTE.text);
    let events = json!([
        { "type": "note", "title": title, "content": "Something quite else." },
        { "type": "bookmark", "url": "https://example.org/", "title": title, "note": "Read this." },
    ]);
    assert_eq!(vault.capture(events), (2, 0));
    vault.captured();
    vault.finds("quite else", &["notes/meeting-on-monday.md"]).settle();
    vault.terminate();
    assert_in_no_file(&vault.path(""), &[&IN_A_NOTE]);
}

#[test]
fn facts_that_were_learned_there_and_the_summary_are_listed_and_go_or_name_no_place() {
    let mut vault = vault();
    let note = "---\nsummary: Trams at nine, buses never.\ntags: [x]\n---\n# Trams\n\nThe tram to the harbour leaves at nine every day.\n\nBuses do not.\n";
    vault.write("notes/a.md", note).start();
    let set = |name: &str, value: &str, source: &str| {
        vault.run(&["fact", "set", name, value, "--source", source]).ok();
    };
    set("t/tram", "at nine", "notes/a.md#L7");
    set("t/bus", "never", "notes/a.md#L9");
    set("t/old", "at eight", "notes/a.md#L7");
    set("t/old", "at ten", "notes/b.md");
    set("t/other", "no", "notes/b.md#L7");
    let history = || vault.read("facts.history.md");
    let forget = |more: Value| {
        let mut params = json!({ "path": "notes/a.md" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        vault.post("/api/user-memory/forget", &params).ok()
    };
    let listed = |forgotten: &Value| {
        let derived = forgotten["derived"].as_array().cloned().unwrap_or_default();
        let name = |row: &Value| row["fact"].as_str().or(row["path"].as_str()).unwrap().to_owned();
        derived.iter().map(|row| format!("{} {}", name(row), row["gone"])).collect::<Vec<_>>()
    };
    let line = |more: Value| {
        let mut params = json!({ "line_start": 7 });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        forget(params)
    };
    assert_eq!(listed(&line(json!({ "dry_run": true }))), ["t/tram false", "notes/a.md false"]);
    assert_eq!(
        listed(&line(json!({ "dry_run": true, "purge": true }))),
        ["t/old false", "t/tram false", "notes/a.md false"]
    );
    let said = vault.run(&["forget", "notes/a.md:7", "--purge", "--dry-run"]).ok().stdout;
    assert!(said.contains("the fact t/tram in facts.md") && said.contains("the summary of notes/a.md"), "{said}");
    // Kept, they name no place any more.
    let kept = line(json!({ "purge": true }));
    assert_eq!(listed(&kept), ["t/old false", "t/tram false", "notes/a.md false"]);
    assert!(kept["purged"]["remains"].to_string().contains("`summary` of `notes/a.md`"), "{kept}");
    assert!(!history().contains("notes/a.md#L7") && history().contains("notes/a.md#L9"), "{}", history());
    assert_eq!(vault.run(&["fact", "get", "t/tram"]).ok().stdout, "at nine\n");
    // Gone, with all that was from there.
    fs::write(vault.path("notes/a.md"), note).unwrap();
    vault.finds("harbour", &["notes/a.md"]);
    set("t/tram", "at nine o'clock", "notes/a.md#L7");
    set("t/old", "at eleven", "notes/a.md#L7");
    set("t/old", "at twelve", "notes/b.md");
    let gone = line(json!({ "purge": true, "derived": true }));
    assert_eq!(listed(&gone), ["t/old true", "t/tram true", "notes/a.md true"], "{gone}");
    let left = vault.read("notes/a.md");
    assert_eq!(
        left,
        note.replace("summary: Trams at nine, buses never.\n", "")
            .replace("The tram to the harbour leaves at nine every day.\n\n", "")
    );
    assert!(!history().contains("nine") && !history().contains("eleven"), "{}", history());
    assert_eq!(vault.run(&["fact", "get", "t/tram"]).code, 1);
    assert_eq!(vault.run(&["fact", "get", "t/old"]).ok().stdout, "at twelve\n");
    // What took the place of another is known since when it was, and from where.
    let kept: Vec<String> = history().lines().filter(|line| line.contains("`at twelve`")).map(str::to_owned).collect();
    assert!(
        kept.len() == 1 && kept[0].contains("`t/old`: — → `at twelve` · by owner · source `notes/b.md`"),
        "{kept:?}"
    );
    // What it said in short stays forgotten, too.
    assert_eq!(vault.capture(message("Trams at nine, buses never.")), (1, 0));
    vault.captured();
    assert!(!vault.path("conversations").exists());
    // Without a purge a fact is taken out of its file, and that can be undone.
    let moved = forget(json!({ "derived": true }));
    assert_eq!(listed(&moved), ["t/bus true"], "{moved}");
    assert_eq!(vault.run(&["fact", "get", "t/bus"]).code, 1);
    vault.run(&["undo", moved["derived"][0]["checkpoint_id"].as_str().unwrap()]).ok();
    assert_eq!(vault.run(&["fact", "get", "t/bus"]).ok().stdout, "never\n");
    // And all of a note.
    vault.run(&["forget", "notes/a.md", "--purge", "--yes"]).ok();
    assert!(!history().contains("notes/a.md") && history().contains("notes/b.md"), "{}", history());
}

#[test]
fn a_fact_that_was_edited_by_hand_keeps_what_it_was_when_its_note_is_moved_away() {
    let vault = vault().with("notes/a.md", "# Trips\n\nI go by bike to the harbour every day.\n").started();
    vault.run(&["fact", "set", "t/by", "bike", "--source", "notes/a.md#L3"]).ok();
    let facts = vault.read("facts.md");
    fs::write(vault.path("facts.md"), facts.replace("bike", "foot")).unwrap();
    let moved = vault.post("/api/user-memory/forget", &json!({ "path": "notes/a.md", "derived": true })).ok();
    assert_eq!(moved["derived"].as_array().map_or(0, Vec::len), 0, "{}", moved);
    assert_eq!(vault.run(&["fact", "get", "t/by"]).ok().stdout, "foot\n");
    let history = vault.read("facts.history.md");
    assert!(history.contains("— → `bike`") && history.contains("`bike` → `foot` · by edit"), "{history}");
}

#[test]
fn a_purge_that_was_killed_is_done_again_though_the_note_is_gone() {
    let vault = vault().started();
    vault.run(&["fact", "set", "t/by", "bike", "--source", "notes/a.md#L3"]).ok();
    vault.run(&["fact", "set", "t/to", "harbour", "--source", "notes/b.md"]).ok();
    // As it is when nothing but the histories names the note.
    let purge = |path: &str, derived: bool| {
        vault.post("/api/user-memory/forget", &json!({ "path": path, "purge": true, "derived": derived }))
    };
    let hidden = purge("notes/a.md", false);
    assert_eq!((hidden.status, &hidden.json()["derived"][0]["fact"]), (200, &json!("t/by")), "{}", hidden.json());
    let history = || vault.read("facts.history.md");
    assert!(!history().contains("notes/a.md") && history().contains("notes/b.md"), "{}", history());
    assert_eq!(purge("notes/a.md", false).status, 404, "nothing names it");
    assert_eq!(purge("notes/b.md", true).json()["derived"][0]["gone"], true);
    assert!(!history().contains("harbour") && history().contains("bike"), "{}", history());
}

#[test]
fn a_fact_of_a_word_that_was_forgotten_is_pointed_out() {
    let vault = vault().with("facts.md", "## P\n\n- code: zibeline\n- other: stays\n").started();
    purge(&vault, "fact:p/code");
    let write = |text: &str| fs::write(vault.path("facts.md"), text).unwrap();
    write("## P\n\n- other: stays\n- code: Zibeline\n- name: zibeline\n");
    let is_back = || places(&vault.get("/api/forgotten").json()["back"]) == ["facts.md:4"];
    until("it to be pointed out", is_back);
    assert!(vault.run(&["status"]).ok().stdout.contains("facts.md:4"));
    write("## P\n\n- other: stays\n- code: ~~zibeline~~ x\n");
    until("what is struck out, too", is_back);
    // One number lifts it.
    let id = vault.get("/api/forgotten").json()["forgotten"][0]["id"].to_string();
    vault.run(&["forgotten", "lift", &id]).ok();
    let told = vault.run(&["fact", "set", "p/code", "zibeline", "--json"]).ok().json();
    assert!(told["forgotten_before"] != true, "{told}");
}

#[test]
fn an_agent_s_undo_brings_nothing_back_that_was_forgotten() {
    let mut vault = vault();
    let text = "The tram to the harbour leaves at nine every day.";
    vault.write("notes/a.md", format!("# Trams\n\n{text}\n\nBuses do not.\n")).start();
    let agent = ada(&vault);
    agent.save("MEMORY.md", "- Likes tea");
    agent.save("MEMORY.md", &format!("- {text}"));
    agent.save("memory/all.md", text);
    let delete = |file: &str, text: &str| {
        agent.call("delete", json!({ "file": file, "text": text, "delete_if_empty": true }))["checkpoint_id"].clone()
    };
    let restore = |id: &Value| agent.call("restore", json!({ "checkpoint_id": id }));
    // As it was before it was forgotten.
    let id = delete("MEMORY.md", text);
    let before = restore(&id);
    assert!(agent.text(&vault, "MEMORY.md").unwrap().contains(text), "{before}");
    let (part, whole) = (delete("MEMORY.md", text), delete("memory/all.md", text));
    assert!(agent.text(&vault, "memory/all.md").is_none());
    purge(&vault, "notes/a.md:3");
    let said = |answer: &Value| ["chunks", "searchable", "file_deleted", "ok"].map(|key| answer[key].clone());
    let after = restore(&part);
    assert!(keys(&after) == keys(&before) && said(&after) == said(&before), "{after} {before}");
    assert_eq!(agent.text(&vault, "MEMORY.md").unwrap().trim_end(), "- Likes tea");
    let after = restore(&whole);
    assert!(after["ok"] == true && after["file_deleted"] == false && after["chunks"] == 1, "{after}");
    assert!(agent.text(&vault, "memory/all.md").is_none());
    let left_out = vault.get("/api/forgotten").json()["left_out"].clone();
    let rows: Vec<_> = left_out.as_array().unwrap().iter().map(|row| row["whole"].as_bool().unwrap()).collect();
    assert_eq!(rows, [true, false], "{left_out}");
    // What the person has there stays in an undo of something else.
    vault.write("agents/ada/MEMORY.md", format!("- Likes tea\n- {text}\n")).settle();
    let other = agent.call("save", json!({ "file": "MEMORY.md", "content": "- Likes milk" }))["checkpoint_id"].clone();
    restore(&other);
    assert_eq!(agent.text(&vault, "MEMORY.md").unwrap(), format!("- Likes tea\n- {text}\n"));
}

#[test]
fn an_archive_brings_nothing_back_that_was_forgotten() {
    let mut vault = vault();
    let text = IN_A_NOTE.text;
    vault
        .write("notes/whole.md", format!("# Pots\n\n{text}\n"))
        .write("notes/part.md", format!("---\ntags: [a]\n---\n# Pots\n\nWater them.\n\n- {text}\n- Feed them.\n"))
        .write("notes/hidden.md", format!("Other.\n\n{text}\n\n- {text}\n"))
        .write(".trash/notes/old.md", format!("Was here.\n\n> {text}\n"))
        .write("facts.md", "## P\n\n- code: zibeline\n- other: stays\n- third: ~~zibeline~~ good\n")
        .start();
    vault.run(&["fact", "set", "p/third", "zibeline", "--correct"]).ok();
    vault.run(&["fact", "set", "p/third", "good", "--correct"]).ok();
    save(&vault, "Pots again", "Water them.");
    save(&vault, "Pots again", &format!("Water them.\n\n{text}"));
    save(&vault, "Pots again", "Water them.");
    let elsewhere = tempfile::tempdir().unwrap();
    let place = |name: &str| elsewhere.path().join(name);
    vault.run(&["export", place("plain.zst").to_str().unwrap()]).ok();
    vault.run(&["export", "--with-state", place("state.zst").to_str().unwrap()]).ok();
    purge(&vault, "notes/whole.md");
    purge(&vault, "fact:p/code");
    purge(&vault, "fact:p/third");
    // What the person has typed again since is in this one, with what knows it.
    vault.run(&["export", "--with-state", place("knows.zst").to_str().unwrap()]).ok();
    let import = |archive: &str, copy: &str, known: bool| {
        let mut command = vault_command();
        command.arg("import").arg(place(archive)).arg(place(copy)).arg("--json");
        if known {
            command.arg("--vault").arg(vault.path(""));
        }
        Ran::of(&mut command).ok()
    };
    // Nobody says what was forgotten.
    assert_eq!(import("plain.zst", "unknown", false).json()["forgotten"], 0);
    assert_eq!(files_with(&place("unknown"), IN_A_NOTE.needle).len(), 6);
    for (archive, copy, known) in [("plain.zst", "a", true), ("state.zst", "b", true), ("knows.zst", "c", false)] {
        let ran = import(archive, copy, known);
        let count = ran.json()["forgotten"].as_u64().unwrap();
        assert!(count >= 3 && ran.stderr.contains("vault forgotten list"), "{copy}: {}", ran.stderr);
        let copy = place(copy);
        assert_eq!(files_with(&copy, IN_A_NOTE.needle), [""; 0], "{copy:?}");
        let read = |path: &str| fs::read_to_string(copy.join(path)).unwrap();
        assert!(!copy.join("notes/whole.md").exists());
        assert_eq!(read("notes/part.md"), "---\ntags: [a]\n---\n# Pots\n\nWater them.\n\n- Feed them.\n");
        assert_eq!(read("notes/hidden.md").trim(), "Other.");
        assert!(read("facts.md").contains("- other: stays") && !read("facts.md").contains("third"));
        assert_eq!(read(".trash/notes/old.md").trim(), "Was here.");
        let list = Ran::of(vault_command().args(["forgotten", "list", "--json", "--vault"]).arg(&copy)).ok().json();
        let left_out = list["left_out"].as_array().unwrap();
        assert_eq!(left_out.len() as u64, count, "{list}");
        let known: Vec<&Value> = list["forgotten"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
        assert!(left_out.iter().all(|row| row["by"] == "import" && known.contains(&&row["tombstone"])), "{list}");
        assert!(!list.to_string().contains("whole.md"), "{list}");
    }
}

/// Two vaults, each with a key of its own and something that it has forgotten; the archive of the one is unpacked by the word of the other.
#[test]
fn an_archive_brings_nothing_back_that_either_of_two_vaults_has_forgotten() {
    let elsewhere = tempfile::tempdir().unwrap();
    let secrets = [&IN_A_NOTE, &IN_A_CONVERSATION];
    let vaults = secrets.map(|own| {
        let vault = vault();
        let write = |path: &str, text: &str| write_file(vault.path(path), text);
        let note = format!("# Both\n\n{}\n\n{}\n\nStays.\n", IN_A_NOTE.text, IN_A_CONVERSATION.text);
        let facts = format!("## P\n\n- {0}: {0}\n- {1}: {1}\n- other: stays\n", secrets[0].needle, secrets[1].needle);
        write("notes/own.md", own.text);
        write("facts.md", &facts);
        purge(&vault, "notes/own.md");
        purge(&vault, &format!("fact:p/{}", own.needle));
        // The person has written it again.
        write("notes/both.md", &note);
        write("facts.md", &facts);
        vault
    });
    let archives = [0, 1].map(|at| elsewhere.path().join(format!("{at}.zst")));
    for (vault, archive) in vaults.iter().zip(&archives) {
        vault.run(&["export", "--with-state", archive.to_str().unwrap()]).ok();
    }
    for (of, by) in [(0, 1), (1, 0)] {
        let copy = elsewhere.path().join(format!("copy-{of}"));
        let mut import = vault_command();
        import.arg("import").arg(&archives[of]).arg(&copy).arg("--json").arg("--vault").arg(vaults[by].path(""));
        assert!(Ran::of(&mut import).ok().json()["forgotten"].as_u64().unwrap() >= 2, "{of}");
        for secret in secrets {
            assert_eq!(files_with(&copy, secret.needle), [""; 0], "{of}");
        }
        assert_eq!(fs::read_to_string(copy.join("facts.md")).unwrap(), "## P\n\n- other: stays\n");
        // The new vault knows what both have forgotten.
        let run = |args: &[&str]| Ran::of(vault_command().args(args).arg("--vault").arg(&copy)).ok();
        let list = run(&["forgotten", "list", "--json"]).json();
        let left_out = list["left_out"].as_array().unwrap();
        let known = list["forgotten"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap());
        let known: Vec<i64> = known.collect();
        assert_eq!(known.len(), 4, "{list}");
        assert!(left_out.iter().all(|row| known.contains(&row["tombstone"].as_i64().unwrap())), "{list}");
        let mut own = self::vault();
        for name in ["notes", "facts.md", ".vault"] {
            if own.path(name).is_dir() {
                fs::remove_dir_all(own.path(name)).unwrap();
            }
            fs::rename(copy.join(name), own.path(name)).unwrap();
        }
        own.start();
        for secret in secrets {
            assert_eq!(own.capture(message(secret.text)), (1, 0));
        }
        own.captured();
        assert!(!own.path("conversations").exists(), "{of}");
        // What is forgotten here from now on is known besides.
        own.write("notes/third.md", "The third key is under the zucchetto.\n").settle();
        purge(&own, "notes/third.md");
        assert_eq!(own.capture(message("The third key is under the zucchetto.")), (1, 0));
        own.captured();
        assert!(!own.path("conversations").exists(), "{of}");
    }
}

#[test]
fn a_line_of_a_history_is_not_purged_alone() {
    let vault = Daemon::vault().started();
    for value in ["first value", "second value"] {
        vault.run(&["fact", "set", "home/pin", value]).ok();
    }
    let history = || vault.read("facts.history.md");
    let before = history();
    let line = before.lines().position(|line| line.contains("first value")).unwrap() + 1;
    let refused = vault.run(&["forget", &format!("facts.history.md:{line}"), "--purge", "--yes"]);
    assert!(refused.code != 0 && refused.stderr.contains("vault forget fact:home/pin --purge"), "{}", refused.stderr);
    assert_eq!(history(), before);
    vault.run(&["forget", "fact:home/pin", "--purge", "--yes"]).ok();
    assert!(!history().contains("first value"));
}
