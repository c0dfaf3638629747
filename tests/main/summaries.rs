//! Summaries and digests, with the real daemon and command line.

use crate::support::prelude::*;

const CONFIG: &str = "[embed]\nmodel = \"none\"\n[search]\nstemmer = \"german\"\n";
const TALK: &str = "---\ntitle: Bread\ncreated: 2026-01-05T18:32:00Z\nsource: capture\nsession: s\nparticipants:\n- user\n- assistant\n---\n\n\
                    **18:32 · user:** Which flour is best for a sourdough loaf?\n\n\
                    **18:33 · assistant:**\n> Rye gives a sourdough its taste. See you on 21 November 2026.\n> - [ ] weigh the rye\n\n\
                    **18:34 · user:** Wir haben uns für Roggen entschieden.\n";
/// The points at which this file kills the daemon.
pub const POINTS: [&str; 2] = ["summary-made", "summary-written"];
const OF: &str = "conversations/2026-01-05-bread.md";
const SUMMARY: &str = "summaries/2026-01-05-bread.md";

/// Writes a file that has been quiet for an hour.
fn quiet(vault: &mut Daemon, path: &str, text: &str) {
    vault.write(path, text);
    let before = SystemTime::now() - Duration::from_secs(3600);
    set_time(vault.path(path), before);
}

fn of(vault: &Daemon, of: &str) -> Option<Value> {
    vault.get(&format!("/api/summaries?of={of}")).json()["summaries"].as_array().unwrap().first().cloned()
}

fn made(vault: &Daemon) -> Value {
    eventually("the summary", || of(vault, OF).filter(|summary| summary["old"].is_null()))
}

/// A daemon that has summarised the conversation.
fn summarised() -> (Daemon, Value) {
    let mut vault = Daemon::with_config(CONFIG);
    quiet(&mut vault, OF, TALK);
    vault.start();
    let summary = made(&vault);
    (vault, summary)
}

fn texts(summary: &Value, heading: &str) -> Vec<String> {
    let sections = summary["sections"].as_array().unwrap();
    let section = sections.iter().find(|section| section["heading"] == heading);
    let lines = section.map(|section| section["lines"].as_array().unwrap().clone()).unwrap_or_default();
    lines
        .iter()
        .map(|line| format!("{} @{}", line["text"].as_str().unwrap(), line["citations"][0].as_str().unwrap()))
        .collect()
}

#[test]
fn a_conversation_left_without_a_summary_gets_one_at_the_start() {
    let (vault, summary) = summarised();
    assert_eq!(summary["path"], SUMMARY);
    assert_eq!((&summary["turns"], &summary["made_by"]), (&json!(3), &json!("rules")));
    assert_eq!(texts(&summary, "Decisions"), [format!("user: Wir haben uns für Roggen entschieden. @{OF}#L17")]);
    assert_eq!(texts(&summary, "Action items"), [format!("assistant: weigh the rye @{OF}#L13-L15")]);
    assert_eq!(
        texts(&summary, "Dates"),
        [format!("2026-11-21: assistant: See you on 21 November 2026. @{OF}#L13-L15")]
    );
    // Each citation leads to its turn, and none to nowhere.
    let source = vault.read(OF);
    assert!(source.lines().nth(16).unwrap().contains("Roggen"));
    let shown = vault.run(&["memory", "summaries", "--of", OF]).ok().stdout;
    assert!(shown.contains("weigh the rye") && shown.contains("#L13-L15"), "{shown}");
    assert!(vault.run(&["status"]).ok().stdout.contains("summaries"));

    // The index grew by it as a new one has it.
    vault.settle();
    let before = (vault.get("/api/summaries?all=true").json(), vault.find("sourdough"));
    assert!(before.1.iter().any(|path| path == SUMMARY), "{before:?}");
    // What a line cites is not said in it.
    assert!(vault.find("roggen in:summaries").iter().any(|path| path == SUMMARY));
    assert!(vault.find("md in:summaries").is_empty());
    vault.run(&["reindex", "--full"]).ok();
    vault.settle();
    assert_eq!((vault.get("/api/summaries?all=true").json(), vault.find("sourdough")), before);
    let again = vault.run(&["memory", "summaries", "make", "--json"]).ok().json();
    assert_eq!((&again["made"], &again["same"]), (&json!([]), &json!(1)));
}

#[test]
fn a_summary_is_as_private_as_its_conversation() {
    let mut vault = Daemon::with_config(CONFIG);
    quiet(&mut vault, OF, TALK);
    quiet(&mut vault, "conversations/2026-01-05-secret.md", &TALK.replace("source:", "private: true\nsource:"));
    vault.write("agents/ada/agent.md", READS);
    vault.write("agents/eve/agent.md", "---\ncan_read_user_memory: true\ncollections: [summaries]\n---\n").start();
    made(&vault);
    eventually("the other", || of(&vault, "conversations/2026-01-05-secret.md"));
    vault.settle();
    let seen = |agent: &str| {
        let token = vault.token_of(agent);
        let ask = |target: &str| vault.get_as(&token, target).json();
        (ask("/api/summaries?all=true"), ask("/api/digest?day=2026-01-05"))
    };
    let (summaries, digest) = seen("ada");
    assert_eq!(summaries["summaries"].as_array().unwrap().len(), 1, "{summaries}");
    assert_eq!(summaries["summaries"][0]["of"], OF);
    assert!(digest.to_string().contains("1 new, 3 turns") && !digest.to_string().contains("secret"), "{digest}");
    let (summaries, digest) = seen("eve");
    assert_eq!((&summaries["summaries"], &digest["sections"]), (&json!([]), &json!([])), "its sources are not seen");
    let owners = vault.get("/api/digest?day=2026-01-05").json();
    assert!(owners.to_string().contains("2 new, 6 turns"), "{owners}");
}

#[test]
fn a_summary_goes_with_what_is_forgotten_for_good() {
    let (vault, _) = summarised();
    vault.run(&["digest", "2026-01-05", "--write"]).ok();
    assert!(vault.path("summaries/days/2026-01-05.md").exists());
    let gone = vault.post("/api/user-memory/forget", &json!({ "path": OF, "purge": true })).json();
    let derived: Vec<_> =
        gone["derived"].as_array().unwrap().iter().map(|note| (&note["path"], &note["gone"])).collect();
    assert_eq!(
        derived,
        [(&json!(SUMMARY), &json!(true)), (&json!("summaries/days/2026-01-05.md"), &json!(true))],
        "{gone}"
    );
    assert!(!vault.path(SUMMARY).exists() && !vault.path("summaries/days/2026-01-05.md").exists());
    vault.finds("sourdough", &[]);
    let kept = fs::read_dir(vault.path(".vault/state/checkpoints")).unwrap().flatten();
    for file in kept.filter(|file| file.path().is_file()) {
        let text = String::from_utf8_lossy(&fs::read(file.path()).unwrap()).into_owned();
        assert!(!text.contains("Roggen"), "{:?}", file.path());
    }
}

#[test]
fn a_summary_that_went_before_its_conversation_was_purged_is_not_left_in_the_trash() {
    let (vault, _) = summarised();
    vault.settle();
    vault.post("/api/user-memory/forget", &json!({ "path": OF })).json();
    assert!(!vault.path(SUMMARY).exists() && vault.path(&format!(".trash/{SUMMARY}")).exists());
    vault.post("/api/user-memory/forget", &json!({ "path": OF, "purge": true })).json();
    assert!(!vault.path(&format!(".trash/{SUMMARY}")).exists());
}

#[test]
fn a_digest_is_shown_and_written_and_stays_as_a_person_has_edited_it() {
    let mut vault = Daemon::with_config(CONFIG);
    quiet(&mut vault, OF, TALK);
    vault.write(
        "notes/trip.md",
        "---\ncreated: 2026-01-05T10:00:00Z\n---\n# Trip\n\nWe decided to visit Lisbon.\n\n- [ ] buy a raincoat\n",
    );
    vault.start();
    made(&vault);
    let shown = vault.run(&["digest", "2026-01-05"]).ok().stdout;
    assert!(shown.contains("We decided to visit Lisbon.  notes/trip.md#L6"), "{shown}");
    assert!(shown.contains("buy a raincoat  notes/trip.md#L8"), "{shown}");
    let week = vault.run(&["digest", "2026-01-05", "--week", "--json"]).ok().json();
    assert_eq!((&week["name"], &week["first_day"]), (&json!("2026-W02"), &json!("2026-01-05")));
    let wrote = vault.run(&["digest", "2026-01-05", "--write"]).ok().stdout;
    assert_eq!(wrote, "wrote summaries/days/2026-01-05.md\n");
    let mine = vault.read("summaries/days/2026-01-05.md") + "- mine\n";
    vault.write("summaries/days/2026-01-05.md", &mine);
    let kept = vault.run(&["digest", "2026-01-05", "--write", "--json"]).ok().json();
    assert_eq!((&kept["written"], &kept["reason"]), (&json!(false), &json!("you edited the file")));
    assert_eq!(vault.run(&["digest", "2020-01-05"]).code, 1);
    assert_eq!(vault.get("/api/digest?day=never").status, 400);
}

#[test]
fn a_kill_between_making_and_writing_loses_nothing_and_doubles_nothing() {
    for point in POINTS.map(|point| format!("{point}:1")) {
        let mut vault = Daemon::with_config(CONFIG);
        quiet(&mut vault, OF, TALK);
        vault.dies_at(&point);
        vault.start();
        made(&vault);
        assert_eq!(fs::read_dir(vault.path("summaries")).unwrap().count(), 1, "{point}");
        assert_eq!(vault.read(OF), TALK, "{point}");
    }
}

#[test]
fn no_line_of_a_summary_or_a_digest_says_what_was_forgotten_for_good() {
    let mut vault =
        Daemon::with_config(CONFIG).with("notes/oven.md", "The oven is booked for 10 January 2026.\n").settled();
    vault.post("/api/user-memory/forget", &json!({ "path": "notes/oven.md", "purge": true })).json();
    quiet(&mut vault, OF, TALK);
    made(&vault);
    vault.run(&["digest", "2026-01-05", "--write"]).ok();
    for path in [SUMMARY, "summaries/days/2026-01-05.md"] {
        let text = vault.read(path);
        assert!(text.contains("Roggen") && !text.contains("oven is booked"), "{path}: {text}");
    }
}
