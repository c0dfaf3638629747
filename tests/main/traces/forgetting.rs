//! Secrets are taken out before anything is written, and what the person forgets for good goes out of every agent's traces.

use super::{files, post, said, vault};
use crate::support::prelude::*;

const SECRET: &str = "The spare key of the cabin lies under the third pot.";
const NOTE: &str = "notes/cabin.md";

/// An event in which a model was given a note's sentence, in a prompt and in JSON within a text.
fn recalled(id: &str) -> Value {
    json!({ "id": id, "kind": "llm_call", "trace_id": "t1", "payload": {
        "status": "success",
        "messages": [{ "role": "system", "content": format!("Known:\n- {SECRET} ({NOTE}#L5)\n- It rains.") }],
        "response": { "choices": [{ "arguments": json!({ "text": SECRET, "n": 1 }).to_string() }] },
    }})
}

fn on_disk(vault: &Daemon, agent: &str) -> String {
    files(vault, agent).into_iter().map(|(_, text)| text).collect()
}

/// A vault with a note, and events of two agents that say what it does.
fn told() -> (Daemon, String) {
    let (mut vault, ada) = vault("");
    vault.write(NOTE, format!("# Cabin\n\nIt is small.\n\n{SECRET}\n")).settle();
    let zoe = vault.token_of("zoe");
    for (token, id) in [(&ada, "a1"), (&zoe, "z1")] {
        assert_eq!(post(&vault, token, &recalled(id)).status, 200);
        assert_eq!(post(&vault, token, &said(&format!("{id}-other"), "Nothing of it.")).status, 200);
    }
    assert!(on_disk(&vault, "zoe").contains("third pot"));
    (vault, ada)
}

#[test]
fn a_secret_is_never_written() {
    let (vault, ada) = vault("");
    let key = format!("ghp_{}", "a8F3kZ0qL9xT2mB7".repeat(3));
    let event = json!({ "id": "e1", "kind": "tool_call", "error": format!("401 for {key}"), "payload": {
        "tool": "http", "caller": "x",
        "args": { "headers": [format!("token {key}")], "password": "correct horse 7", "body": json!({ "key": key }).to_string() },
    }});
    assert_eq!(post(&vault, &ada, &event).status, 200);
    let text = on_disk(&vault, "ada");
    assert!(
        !text.contains("a8F3kZ0") && !text.contains("correct horse") && text.contains("[redacted: GitHub token]"),
        "{text}"
    );
    let event = vault.get_as(&ada, "/api/agents/ada/trace").json()["events"][0].clone();
    assert_eq!(event["payload"]["args"]["password"], "[redacted: password]");
}

#[test]
fn what_is_purged_goes_out_of_every_agents_traces_and_does_not_come_again() {
    let (vault, ada) = told();
    let purged = vault.run(&["forget", NOTE, "--purge", "--yes", "--json"]).ok().json();
    assert_eq!(purged["purged"]["traces"], 2, "{purged}");
    for agent in ["ada", "zoe"] {
        let text = on_disk(&vault, agent);
        assert!(!text.contains("third pot") && text.contains("It rains."), "{text}");
        let events = vault.get(&format!("/api/agents/{agent}/trace")).json();
        assert_eq!((events["events"].as_array().unwrap().len(), &events["damaged"]), (2, &Value::Null), "{events}");
    }
    // Sent again it is not written again; sent as another it is left out, and its sender hears what it would have heard.
    assert_eq!(post(&vault, &ada, &recalled("a1")).status, 200);
    let again = post(&vault, &ada, &said("a2", &format!("I said:\n\n{SECRET}\n\nYes.")));
    assert_eq!((again.status, again.json()), (200, json!({ "id": "a2", "agent_name": "ada", "schema_version": 1 })));
    let text = on_disk(&vault, "ada");
    assert!(!text.contains("third pot") && text.contains("Yes."), "{text}");
    until("the row", || {
        let listed = vault.run(&["forgotten", "list", "--json"]).ok().json();
        let mut rows = listed["left_out"].as_array().into_iter().flatten();
        rows.any(|row| row["into"] == "traces/ada/" && row["by"] == "agent ada")
    });
    // What can be undone takes nothing out of them.
    assert_eq!(post(&vault, &ada, &said("a3", "The shed has two doors and a green roof.")).status, 200);
    fs::write(vault.path("notes/shed.md"), "The shed has two doors and a green roof.\n").unwrap();
    vault.settle();
    vault.run(&["forget", "notes/shed.md", "--yes"]).ok();
    assert!(on_disk(&vault, "ada").contains("green roof"));
}

#[test]
fn a_purge_that_was_killed_is_done_by_the_next_start() {
    let (mut vault, _) = told();
    vault.terminate();
    // The first file is done, and the second is not.
    vault.dies_forgetting("trace-swept:2", &[NOTE]);
    for agent in ["ada", "zoe"] {
        assert!(!on_disk(&vault, agent).contains("third pot"));
        let events = vault.get(&format!("/api/agents/{agent}/trace")).json()["events"].clone();
        assert_eq!(events.as_array().unwrap().len(), 2);
    }
    let left = files(&vault, "zoe");
    assert!(left.iter().all(|(path, _)| path.extension().is_some_and(|end| end == "jsonl")), "{left:?}");
}

/// An agent that writes down guesses learns by none of them that it was right.
#[test]
fn a_purge_takes_nothing_out_of_the_traces_of_who_could_not_read_it() {
    let (mut vault, ada) = told();
    let zoe = vault.token_of("zoe");
    vault.write("agents/zoe/agent.md", "---\ncan_read_user_memory: true\ncollections: [journal]\n---\n").settle();
    let before = vault.get_as(&zoe, "/api/agents/zoe/trace").json();
    let purged = vault.run(&["forget", NOTE, "--purge", "--yes", "--json"]).ok().json();
    assert_eq!(purged["purged"]["traces"], 1, "{purged}");
    assert!(!on_disk(&vault, "ada").contains("third pot"));
    assert_eq!(vault.get_as(&zoe, "/api/agents/zoe/trace").json(), before);
    // A later purge of something else sweeps what was forgotten before, by the same rule.
    vault.write("notes/shed.md", "The shed has two doors and a green roof.\n").settle();
    assert_eq!(post(&vault, &ada, &said("a4", "The shed has two doors and a green roof.")).status, 200);
    vault.run(&["forget", "notes/shed.md", "--purge", "--yes"]).ok();
    assert!(!on_disk(&vault, "ada").contains("green roof"));
    assert_eq!(vault.get_as(&zoe, "/api/agents/zoe/trace").json(), before);
}
