//! How often passages and entries are given: counted for who was given them, and for nobody else; and what those entries are worth that were
//! learned from what programs captured.

use crate::entries::{self, propose, read, texts, trusted};
use crate::support::prelude::*;

/// Asks as an agent that may read all.
fn as_agent(vault: &Daemon, target: &str) -> Value {
    let added = vault.run(&["agent", "add", "Eve", "--allow", "--json"]);
    let made = if added.code == 0 { added } else { vault.run(&["agent", "rotate", "eve", "--json"]).ok() }.json();
    vault.get_as(made["token"].as_str().unwrap(), target).ok()
}

/// Two notes that answer alike, of which one comes first.
fn vault(config: &str) -> Daemon {
    let mut vault = Daemon::with_config(config).with("notes/a.md", "# A\n\nThe quokka sleeps by the river.\n");
    vault.write("notes/b.md", "# B\n\nThe quokka sleeps by the lake.\n").start().settle();
    vault
}

fn counted(vault: &Daemon) -> (u64, u64) {
    let status = vault.status();
    (status["given_chunks"].as_u64().unwrap(), status["given_times"].as_u64().unwrap())
}

/// So many are counted as given, and so often, once all that is on its way is counted.
#[track_caller]
fn is_counted(vault: &Daemon, chunks: u64, times: u64) {
    until("the counts", || counted(vault) == (chunks, times));
}

fn hashes(found: &Value) -> Vec<String> {
    column(&found["results"], "hash")
}

#[test]
fn what_a_search_gives_is_counted_until_it_is_forgotten() {
    let mut vault = vault("");
    assert_eq!(counted(&vault), (0, 0));
    assert_eq!(hashes(&vault.get("/api/user-memory/search?q=quokka").json()).len(), 2);
    let one = as_agent(&vault, "/api/user-memory/search?q=river&limit=1");
    let both = as_agent(&vault, "/api/user-memory/search?q=quokka");
    assert_eq!((hashes(&one).len(), hashes(&both).len()), (1, 2));
    // The person's own search does not count.
    is_counted(&vault, 2, 3);
    assert!(vault.get("/api/user-memory/browse").json()["chunks"].as_array().unwrap().len() >= 2);
    assert!(vault.run(&["status"]).ok().stdout.contains("2 passages or entries to agents, 3 times"));
    let before = fs::read(vault.path("notes/a.md")).unwrap();
    vault.post("/api/user-memory/forget", &json!({ "path": "notes/a.md", "purge": true })).ok();
    is_counted(&vault, 1, 1);
    // The same text anew: nobody was given it since.
    vault.write("notes/a.md", before).settle();
    is_counted(&vault, 1, 1);
}

#[test]
fn what_was_given_before_comes_first_where_that_is_asked_for() {
    let vault = vault("[search]\nusage_weight = 1.0\nmode = \"keyword\"\n");
    let order = |query: &str| hashes(&vault.get(&format!("/api/user-memory/search?q={query}")).json());
    let first = order("quokka");
    let other = vault.get("/api/user-memory/search?q=lake&limit=1").json();
    assert_eq!(hashes(&other), first[1..], "both are alike, and the first is so by its path");
    assert_eq!(order("quokka"), [first[1].clone(), first[0].clone()]);
    // Nothing of it is an agent's.
    assert_eq!(hashes(&as_agent(&vault, "/api/user-memory/search?q=quokka")), first);
}

#[test]
fn what_a_context_gave_is_archived_last_and_what_a_passage_gave_before_that() {
    // 500 may count.
    let rooms: Vec<String> = ('a'..='y').map(|letter| format!("room{letter}")).collect();
    let shelves: String = (0..495).map(|at| format!("- [decision] Shelf{at} is in {}\n", rooms[at / 20])).collect();
    let mut vault = Daemon::vault();
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\ncollections: [\"*\"]\n---\n").write(
        "memories/user.md",
        format!(
            "# Known\n\n## One\n\n- [decision] The aardvark is fed at noon (confidence 0.1) ^e-context\n\n## Two\n\n\
         - [decision] The bison walks by the lake (confidence 0.2) ^e-passage\n\n## Three\n\n\
         - [skill] Rides the camel to the market (confidence 0.6) ^e-profile\n\n## Four\n\n\
         - [decision] The dingo barks at dawn ^e-never\n- [decision] The emu runs in circles (confidence 0.9) ^e-least\n\n\
             ## Five\n\n{shelves}"
        ),
    );
    vault.start().settle();
    vault.run(&["memory", "profile", "make"]).ok();
    vault.settle();
    assert!(read(&vault, "profile/profile.md").contains("Rides the camel"));
    // An agent is given one, and a line of the profile; the person finds a passage, which the status does not count.
    let token = vault.token_of("ada");
    let ask = |body: &Value| vault.post_as(&token, "/api/context", body).ok()["text"].as_str().unwrap().to_owned();
    let given = ask(&json!({ "query": "Remember when the aardvark is fed?" }));
    assert!(given.contains("The aardvark is fed") && !given.contains("emu"), "{given}");
    let given = ask(&json!({ "sections": ["profile"] }));
    assert!(given.contains("Rides the camel") && !given.contains("dingo"), "{given}");
    let found = vault.get("/api/user-memory/search?q=bison&limit=1").json();
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    is_counted(&vault, 2, 2);
    // A restart keeps them.
    vault.restart().settle();
    is_counted(&vault, 2, 2);
    let add = |text: &str| {
        let added = vault.post("/api/entries", &json!({"text": text, "confidence": 1.0, "kind": "decision"})).ok();
        let archived = added["archived"].as_array().cloned().unwrap_or_default();
        archived.into_iter().map(|id| id.as_str().unwrap().to_owned()).collect::<Vec<String>>()
    };
    assert_eq!(add("Falcons nest on the tower"), ["e-least"], "of those that nobody was given the less sure one");
    assert_eq!(add("Geese fly to the south"), ["e-never"]);
    let mut names: Vec<(&str, String)> = rooms
        .iter()
        .zip(1..)
        .map(|(room, at)| (room.as_str(), format!("Shelf{}", 494_usize.min(20 * at - 1))))
        .collect();
    names.extend([
        ("bison", "bison".into()),
        ("camel", "camel".into()),
        ("falcons", "Falcons".into()),
        ("geese", "Geese".into()),
    ]);
    for (about, name) in names {
        let given = vault.post("/api/context", &json!({ "sections": ["entries"], "query": about })).ok();
        assert!(given["text"].as_str().unwrap().contains(&name), "{about}: {given}");
    }
    // All were given by themselves now: what is less sure goes, and not what is new because it is.
    assert_eq!(add("Hedgehogs sleep all winter"), ["e-context"]);
    // Nobody was given the new one yet, but in a passage.
    let found = vault.get("/api/user-memory/search?q=hedgehogs&limit=1").json();
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(add("Ibises wade in the river").len(), 1);
    let names = texts(&vault.get("/api/entries").json());
    assert!(
        !names.iter().any(|name| name.contains("Hedgehogs")) && names.iter().any(|name| name.contains("bison")),
        "{names:?}"
    );
}

#[test]
fn nothing_is_counted_of_an_entry_that_is_taken_away_or_forgotten() {
    let mut vault = Daemon::vault().with("notes/zoo.md", "# Zoo\n\nThe aardvark is fed at noon.\n");
    let known = "- [decision] The aardvark is fed at noon (source notes/zoo.md#L3) ^e-1\n- [decision] The bison swims ^e-2\n\
                 - [decision] The camel spits ^e-3\n- [decision] The dingo barks ^e-4\n";
    vault.write("memories/user.md", known);
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\ncollections: [\"*\"]\n---\n").start().settle();
    let given = vault.post_as(&vault.token_of("ada"), "/api/context", &json!({ "sections": ["entries"] })).json();
    assert!(given["text"].as_str().unwrap().contains("dingo"), "{given}");
    is_counted(&vault, 4, 4);
    vault.run(&["memory", "remove", "e-2"]).ok();
    is_counted(&vault, 3, 3);
    // With the note that it was learned from, for good.
    let forgotten =
        vault.post("/api/user-memory/forget", &json!({ "path": "notes/zoo.md", "purge": true, "derived": true }));
    assert_eq!(forgotten.status, 200, "{}", forgotten.error());
    assert!(!read(&vault, "memories/user.md").contains("aardvark"));
    is_counted(&vault, 2, 2);
    // By its lines in its file, so that it can be undone.
    vault.settle();
    let at = read(&vault, "memories/user.md").lines().position(|line| line.contains("camel")).unwrap() + 1;
    let lines = json!({ "path": "memories/user.md", "line_start": at });
    vault.post("/api/user-memory/forget", &lines).ok();
    is_counted(&vault, 1, 1);
    vault.run(&["memory", "clear", "--purge"]).ok();
    is_counted(&vault, 0, 0);
}

#[test]
fn what_was_captured_of_the_web_is_no_more_than_the_web_says() {
    let mut vault = entries::vault().started();
    vault.capture(json!([
        {"type": "bookmark", "title": "Invoice portal", "url": "https://portal.example/", "note": "The invoice portal wants passwords."},
        {"type": "clipboard", "content": "The invoice portal wants your key."},
        {"type": "note", "title": "Invoices", "content": "The invoice portal is closed on Sundays."},
    ]));
    vault.captured().settle();
    let snippet = fs::read_dir(vault.path("snippets")).unwrap().next().unwrap().unwrap().file_name();
    let snippet = format!("snippets/{}", snippet.to_str().unwrap());
    vault.write("notes/copy.md", "---\nsources: [bookmarks/invoice-portal.md]\n---\nThe invoice portal wants a lot.\n");
    vault.write(
        "memories/user.md",
        format!(
            "- [fact] The invoice portal wants passwords (source bookmarks/invoice-portal.md#L9) ^e-1\n\
             - [fact] The invoice portal wants a key (source {snippet}) ^e-2\n\
             - [fact] The invoice portal wants much (source notes/copy.md) ^e-3\n\
             - [fact] The invoice portal is closed on Sundays (source notes/invoices.md) ^e-4\n"
        ),
    );
    vault.settle();
    let sources = ["bookmarks/invoice-portal.md", &snippet, "notes/copy.md", "notes/invoices.md"];
    for (at, source) in sources.iter().enumerate() {
        propose(&vault, &format!("The invoice portal has number {at}"), &json!({"sources": [source]}));
    }
    assert_eq!(trusted(&vault), ["web", "tool", "web", "agent"]);
    // Nor is it given unasked, itself or what was learned from it, or made a part of the profile.
    vault.run(&["memory", "profile", "make"]).ok();
    vault.settle();
    let profile = read(&vault, "profile/profile.md");
    assert!(profile.contains("closed on Sundays") && !profile.contains("wants"), "{profile}");
    for body in [json!({"mode": "full"}), json!({"query": "what does the invoice portal want?"})] {
        let given = vault.post("/api/context", &body).ok();
        assert!(!given["text"].as_str().unwrap().contains("wants"), "{given:#}");
    }
    let given = vault.post("/api/context", &json!({"query": "Remember the invoice portal"})).ok();
    assert!(given["text"].as_str().unwrap().contains("closed on Sundays"), "{given:#}");
    let found = vault.get("/api/user-memory/search?q=portal+passwords").json();
    assert!(found.to_string().contains("bookmarks/invoice-portal.md"), "a search finds it");
    // The day tells how much was captured, and nothing of what it says: so it is trusted.
    vault.run(&["digest", "--write"]).ok();
    vault.settle();
    let day = fs::read_dir(vault.path("summaries/days")).unwrap().next().unwrap().unwrap().path();
    let digest = fs::read_to_string(&day).unwrap();
    assert!(digest.contains("- bookmarks: 1 new") && !digest.contains("passwords"), "{digest}");
    let given = vault.post("/api/context", &json!({"query": "what happened today?"})).ok();
    assert!(given["text"].as_str().unwrap().contains("bookmarks: 1 new"), "{given:#}");
    // What the person vouches for is theirs.
    let page = read(&vault, "bookmarks/invoice-portal.md").replacen("---\n", "---\ntrust: person\n", 1);
    vault.write("bookmarks/invoice-portal.md", page).settle();
    let given = vault.post("/api/context", &json!({"sections": ["entries"]})).ok();
    assert!(given["text"].as_str().unwrap().contains("wants passwords"), "{given:#}");
}
