//! What an agent saves is embedded anew: nothing tells whether a note that it does not see says the same.

use std::thread;

use super::{Agent, agent};
use crate::support::prelude::*;

const RIGHT: &str = "The spare key is under the third flower pot.";
const WRONG: &str = "The spare key is under the garden gnome.";

/// The paths of what a search found that has a cosine already.
fn embedded(answer: &Value) -> Vec<String> {
    let hits = answer["results"].as_array().unwrap().iter();
    let mut found: Vec<String> = hits
        .filter(|hit| !hit["scores"]["semantic"].is_null())
        .map(|hit| hit["path"].as_str().unwrap().to_owned())
        .collect();
    found.sort();
    found
}

fn in_own_memory(agent: &Agent) -> Vec<String> {
    let found = agent.call("search", json!({"query": "spare key"}));
    assert_eq!(found["results"].as_array().unwrap().len(), 2, "{found}");
    embedded(&found)
}

fn in_notes(vault: &Daemon, agent: &Agent) -> Vec<String> {
    let target = format!("/api/user-memory/search?q={}", encode("spare key"));
    let found = vault.get_as(&agent.token, &target).json();
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    embedded(&found)
}

#[test]
fn the_score_of_a_guess_told_that_a_hidden_note_says_just_that() {
    let endpoint = Endpoint::start();
    let mut vault = Daemon::with_config(&format!(
        "[embed]\nendpoint = \"{}\"\nmodel = \"hashed\"\n[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n",
        endpoint.address()
    ));
    vault.write("notes/private/keys.md", format!("---\nprivate: true\n---\n{RIGHT}\n"));
    vault.write("journal/keys.md", format!("---\ntitle: Keys\n---\n{RIGHT}\n"));
    vault.write("agents/zoe/memory/keys.md", format!("{RIGHT}\n")).write("agents/ada/keys.md", format!("{RIGHT}\n"));
    vault.start().settle();
    let ada = agent(&vault, "ada", "can_read_user_memory: true\ncollections: [notes]");
    let sent = endpoint.sent("flower");
    assert!(sent > 0);
    // From now on what is new gets no vector.
    let held = Arc::new(AtomicBool::new(true));
    let is_held = Arc::clone(&held);
    endpoint.fails(move |asked| {
        while asked.texts.iter().any(|text| text.contains("is under")) && is_held.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        None
    });
    ada.save("memory/keys.md", RIGHT);
    ada.save("memory/gnome.md", WRONG);
    assert_eq!(in_own_memory(&ada), Vec::<String>::new());
    // Nor does what a program sends, which the agent may read.
    vault.capture(json!({"type": "note", "title": "Keys", "content": RIGHT}));
    let others = ["agents/ada/keys.md", "agents/ada/memory/keys.md", "agents/zoe/memory/keys.md", "journal/keys.md"];
    vault.captured().finds("flower", &[&others[..], &["notes/keys.md", "notes/private/keys.md"]].concat());
    assert_eq!(in_notes(&vault, &ada), Vec::<String>::new());
    held.store(false, Ordering::SeqCst);
    vault.settle();
    assert_eq!(in_own_memory(&ada), ["agents/ada/memory/gnome.md", "agents/ada/memory/keys.md"]);
    assert_eq!(in_notes(&vault, &ada), ["notes/keys.md"]);
    // What was its own before is known again: undoing a change asks no model.
    let sent = endpoint.sent("flower");
    ada.call("save", json!({"file": "memory/keys.md", "content": WRONG, "append": false}));
    vault.settle();
    ada.call("save", json!({"file": "memory/keys.md", "content": RIGHT, "append": false}));
    vault.settle();
    assert_eq!(in_own_memory(&ada).len(), 2);
    assert_eq!(endpoint.sent("flower"), sent);
}
