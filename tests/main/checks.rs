//! Still true? What is asked about entries and facts, and what becomes of each answer.

use crate::support::prelude::*;

const ENTRIES: &str = "# Known\n\n- [preference] Prefers tabs (check 2020-06) #editor ^e-1\n\
    - [decision] Ships on Fridays (confirmed 2021-01-05) ^e-2\n- Has a bike (source notes/old.md#L3) ^e-3\n- Likes tea ^e-4\n\
    - Never asked (from 2020-01-01, check 0) ^e-5\n- Later (from 2020-01-01, check 2999-01) ^e-6\n";

const FACTS: &str = "# Facts\n\n## Shop\n\n- opens: [9, 10] (from 2019-01-01, check 2020-01) #shop ^b-1\n- owner: Sam (check 2999-01-01)\n";

fn vault() -> Daemon {
    Daemon::vault()
        .with("notes/old.md", "---\ncreated: 2020-02-02\n---\nI have a bike.\n")
        .with("memories/user.md", ENTRIES)
        .with("facts.md", FACTS)
        .with_ada()
        .settled()
}

fn asked(vault: &Daemon) -> Vec<String> {
    column(&vault.get("/api/review").json()["checks"], "id")
}

fn answer(vault: &Daemon, id: &str, answer: &str, text: Option<&str>) -> Vec<String> {
    let mut body = json!({ "id": id, "answer": answer });
    if let Some(text) = text {
        body["text"] = text.into();
    }
    let done = vault.post("/api/review/checks", &body).ok();
    done["checkpoint_ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_has_aged_or_has_its_day_is_asked_and_each_answer_keeps_what_was() {
    let vault = vault();
    assert_eq!(asked(&vault), ["shop/opens", "e-1", "e-3", "e-2"]);
    let context = vault.post("/api/context", &json!({ "query": "who am I?" })).ok()["text"].to_string();
    assert!(context.contains("Ships on Fridays (last confirmed ") && context.contains(" months ago)"), "{context}");
    assert!(
        context.contains("Has a bike (known for ") && context.contains("- Never asked (from 2020-01-01) ["),
        "{context}"
    );
    // That it is read or searched for refreshes nothing.
    vault.get("/api/user-memory/search?q=Fridays").ok();
    assert_eq!(asked(&vault).len(), 4);

    let undo = [
        answer(&vault, "e-2", "yes", None),
        answer(&vault, "e-1", "changed", Some("Prefers spaces")),
        answer(&vault, "e-3", "gone", None),
    ];
    let today = jiff::Zoned::now().date();
    let now = vault.read("memories/user.md");
    assert!(now.contains(&format!("- [decision] Ships on Fridays (confirmed {today}) ^e-2\n")), "{now}");
    assert!(now.contains("Prefers tabs (check 2020-06, superseded by e-"), "{now}");
    assert!(now.contains(&format!("[preference] Prefers spaces (confirmed {today}) #editor ^e-")), "{now}");
    assert!(now.contains(&format!("Has a bike (until {today}, source notes/old.md#L3) ^e-3\n")), "{now}");
    assert_eq!(asked(&vault), ["shop/opens"]);
    for checkpoint in undo.iter().rev().flatten() {
        vault.run(&["undo", checkpoint]).ok();
    }
    assert_eq!(vault.read("memories/user.md"), ENTRIES);
    assert_eq!(asked(&vault).len(), 4);
    // What it has become is seen by who sees where it was learned; and the same text is a yes.
    answer(&vault, "e-3", "changed", Some("Has a car"));
    answer(&vault, "e-2", "changed", Some("Ships on Fridays"));
    let now = vault.read("memories/user.md");
    assert!(now.contains(&format!("Has a car (confirmed {today}, source notes/old.md#L3) ^e-")), "{now}");
    assert!(now.contains(&format!("Ships on Fridays (confirmed {today}) ^e-2\n")), "{now}");
}

#[test]
fn a_fact_that_is_confirmed_stays_as_it_is_written_and_one_that_has_changed_has_a_history() {
    let vault = vault();
    let line = || vault.read("facts.md").lines().find(|line| line.contains("opens:")).unwrap_or_default().to_owned();
    let undo = answer(&vault, "shop/opens", "yes", None);
    let today = jiff::Zoned::now().date();
    assert_eq!(line(), format!("- opens: [9, 10] (from 2019-01-01, confirmed {today}) #shop ^b-1"));
    assert_eq!(asked(&vault), ["e-1", "e-3", "e-2"]);
    vault.run(&["undo", &undo[0]]).ok();
    assert_eq!(vault.read("facts.md"), FACTS);

    // The same value again takes nothing of it away.
    vault.run(&["fact", "set", "shop/owner", "Sam"]).ok();
    assert!(vault.read("facts.md").contains("- owner: Sam (check 2999-01-01)\n"));

    answer(&vault, "shop/opens", "changed", Some("[8, 10]"));
    assert_eq!(line(), "- opens: [8, 10] #shop ^b-1");
    let was = vault.run(&["fact", "get", "shop/opens", "--as-of", "2020-05-05"]).ok().stdout;
    assert_eq!(was.trim(), "[\"9\",\"10\"]");
    answer(&vault, "shop/opens", "gone", None);
    assert_eq!(line(), "");
    let was = vault.run(&["fact", "history", "shop/opens"]).ok().stdout;
    assert!(was.contains("[\"8\",\"10\"] → —"), "{was}");
}

#[test]
fn an_answer_that_makes_no_sense_changes_nothing() {
    let vault = vault();
    for (body, status) in [
        (json!({ "id": "e-9", "answer": "yes" }), 404),
        (json!({ "id": "e-1", "answer": "changed" }), 400),
        (json!({ "id": "e-1", "answer": "yes", "text": "x" }), 400),
        (json!({ "id": "e-1", "answer": "perhaps" }), 422),
        (json!({ "id": "e-1", "answer": "yes", "scope": "nowhere" }), 400),
        (json!({ "id": "e-1", "answer": "yes", "scope": "agent:ada" }), 404),
        (json!({ "id": "e-1", "answer": "changed", "text": "x #private" }), 400),
    ] {
        assert_eq!(vault.post("/api/review/checks", &body).status, status, "{body}");
    }
    assert_eq!((vault.read("memories/user.md"), vault.read("facts.md")), (ENTRIES.to_owned(), FACTS.to_owned()));
}

#[test]
fn the_command_line_lists_and_answers() {
    let vault = vault();
    let listed = vault.run(&["memory", "check", "--list"]).ok().stdout;
    assert!(listed.contains("e-2  [decision] Ships on Fridays  last confirmed 2021-01-05"), "{listed}");
    assert!(listed.contains("shop/opens  [fact] [9, 10]"), "{listed}");
    let told = vault.run(&["memory", "check", "yes", "e-2", "shop/opens"]).ok().stdout;
    assert!(told.contains("confirmed e-2") && told.contains("undo: vault undo "), "{told}");
    vault.run(&["memory", "check", "changed", "e-1", "Prefers spaces"]).ok();
    vault.run(&["memory", "check", "gone", "e-3"]).ok();
    let left = vault.run(&["memory", "check"]);
    assert_eq!((left.code, left.stderr.trim()), (1, "vault: there is nothing to check"));
    let json: Value = serde_json::from_str(&vault.run(&["memory", "check", "--list", "--json"]).stdout).unwrap();
    assert_eq!(json, json!({ "checks": [] }));
}
