//! What was forgotten for good is not brought back by a fact, and one number lifts it.

use crate::forgotten::IN_A_NOTE as KEY;
use crate::memory::agent;
use crate::support::prelude::*;

/// A vault out of which a sentence, a PIN and a fact were purged, all of which agents could read.
fn vault() -> Daemon {
    let mut vault = Daemon::without_model("[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n");
    vault
        .write("notes/keys.md", format!("# Keys\n\n{}\n\nPIN 4711\n\nStays.\n", KEY.text))
        .write("facts.md", "## Home\n\n- pin: 17\n- tea: black\n")
        .start()
        .settle();
    for what in ["notes/keys.md:5", "notes/keys.md:3", "fact:home/pin"] {
        vault.run(&["forget", what, "--purge", "--yes"]).ok();
    }
    vault
}

#[test]
fn a_fact_of_an_agent_brings_nothing_back_and_the_person_is_told_or_lifts_it() {
    let vault = vault();
    let ada = agent(&vault, "ada", "can_read_user_memory: true");
    let kept = ada.fact(json!({ "namespace": "x", "key": "color", "value": "blue" }));
    let lower = KEY.text.trim_end_matches('.').to_lowercase();
    for (namespace, key, value) in [
        ("x", "PIN", json!("4711")),
        ("x", "pin", json!("17")),
        (&lower, "a", json!("yes")),
        ("x", "ok", json!([KEY.text, "b"])),
        ("x", "map", json!({ "a": { "b": KEY.text } })),
        ("x", "table", json!(format!("| {} | x |", KEY.text))),
        ("x", "html", json!(format!("<p>{}</p>", KEY.text))),
    ] {
        let told = ada.fact(json!({ "namespace": namespace, "key": key, "value": value }));
        let keys = |answer: &Value| answer.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert!(told["ok"] == true && keys(&told) == keys(&kept), "{key}: {told}");
    }
    let text = ada.text(&vault, "facts.md").unwrap();
    assert!(text.contains("color: blue") && !text.contains("zibeline"), "{text}");
    assert!(!text.contains("4711") && !text.contains("17") && !text.contains("third flowerpot"), "{text}");
    let left_out = vault.get("/api/forgotten").json()["left_out"].as_array().unwrap().len();
    assert_eq!(left_out, 7);
    // The person is told wherever it is set.
    for args in [
        ["fact", "set", "home/pin", "17", "--scope", "system"],
        ["fact", "set", "other/pin", "17", "--scope", "user"],
        ["fact", "set", "other/key", KEY.text, "--scope", "user"],
    ] {
        let args = [&args[..], &["--json"]].concat();
        let told = vault.run(&args).ok().json();
        assert_eq!(told["forgotten_before"], true, "{args:?}: {told}");
    }
    let told = vault.run(&["fact", "set", "other/tea", "green", "--json"]).ok().json();
    assert!(told["forgotten_before"] != true, "{told}");
    // One number lifts a fact with what its line said.
    let purged = vault.run(&["forget", "fact:home/tea", "--purge", "--yes", "--json"]).ok().json();
    let id = purged["purged"]["tombstone"].to_string();
    let count = || vault.get("/api/forgotten").json()["forgotten"].as_array().unwrap().len();
    assert_eq!(count(), 4);
    vault.run(&["forgotten", "lift", &id]).ok();
    assert_eq!(count(), 3);
    let told = vault.run(&["fact", "set", "home/tea", "black", "--json"]).ok().json();
    assert!(told["forgotten_before"] != true, "{told}");
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
