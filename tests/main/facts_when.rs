//! Facts whose time is another than now, over the command line, HTTP and MCP; and files of which a part cannot be read.

use crate::facts::{facts, noted, notes_eventually, read, value};
use crate::support::prelude::*;

/// The names and values that an answer has.
fn said(found: &[Value]) -> Vec<String> {
    found.iter().map(|fact| format!("{} {}", fact["key"].as_str().unwrap(), fact["value"])).collect()
}

#[test]
fn what_begins_later_or_is_over_hides_nothing_that_is_true_now() {
    let vault = Daemon::vault().started();
    // What begins later hides nothing that is true now.
    vault.run(&["fact", "set", "p/branch", "main"]).ok();
    vault.run(&["fact", "set", "p/branch", "release", "--from", "2199-12-01"]).ok();
    vault.run(&["fact", "set", "p/soon", "x", "--from", "2199-12-01"]).ok();
    assert_eq!(vault.run(&["fact", "get", "p/branch"]).ok().stdout, "main\n");
    let listed = vault.run(&["fact", "list", "p"]).ok().stdout;
    assert!(listed.contains("p/branch  main  ") && listed.contains("then release from 2199-"), "{listed}");
    assert!(!listed.contains("p/soon"), "{listed}");
    let branch = "namespace=p&key=branch";
    let now = &facts(&vault, branch)[0];
    assert_eq!((&now["state"], &now["next"]["value"]), (&json!("current"), &json!("release")), "{now}");
    let at = |when: &str| value(&vault, &format!("{branch}&as_of={when}"));
    let moment = jiff::Timestamp::now();
    assert_eq!((at(&moment.to_string()), at("1d"), at("2199-12-02")), (json!("main"), Value::Null, json!("release")));
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--owner"]));
    assert_eq!(mcp.tool("fact", json!({ "action": "get", "name": "p/branch" }))["facts"][0]["value"], "main");
    mcp.finish();
    until("it to be counted", || {
        let counted = vault.status()["facts"].clone();
        (&counted["current"], &counted["future"]) == (&json!(1), &json!(1))
    });
    // Whoever knows the value of now sets it; taken back, what was to come leaves what is.
    let put = |body: Value| vault.ask(Request::send("PUT", "/api/facts", &body)).status;
    let named =
        |value: &str, known: &str| json!({ "namespace": "p", "key": "branch", "value": value, "if_value": known });
    assert_eq!(put(named("trunk", "other")), 409);
    vault.run(&["fact", "retract", "p/branch"]).ok();
    assert_eq!(value(&vault, branch), "main");
    vault.run(&["fact", "set", "p/branch", "release", "--from", "2199-12-01"]).ok();
    assert_eq!((put(named("trunk", "main")), value(&vault, branch)), (200, json!("trunk")));
    // A span of the past is said better and taken back.
    let set = |name: &str, value: &str, from: &str| {
        vault.run(&["fact", "set", name, value, "--from", from]).ok();
    };
    for (value, from) in [("A", "2026-01-01"), ("B", "2026-03-01"), ("B", "2026-04-01")] {
        set("ref/x", value, from);
    }
    assert_eq!(vault.run(&["fact", "get", "ref/x", "--as-of", "2026-03-15"]).ok().stdout, "A\n");
    set("u/p", "right", "2024-01-01");
    let span = ["--from", "2025-01-01", "--until", "2025-06-01"];
    vault.run(&[&["fact", "set", "u/p", "wrong"], &span[..]].concat()).ok();
    let then = || vault.run(&["fact", "get", "u/p", "--as-of", "2025-03-01"]).ok().stdout;
    assert_eq!(then(), "wrong\n");
    let refused = vault.run(&["fact", "retract", "u/p", "--from", "2025-01-01", "--until", "2199-01-01"]);
    assert!(refused.stderr.contains("is not in the past"), "{}", refused.stderr);
    let retracted = vault.run(&[&["fact", "retract", "u/p"], &span[..]].concat()).ok().stdout;
    assert!(retracted.contains("retracted u/p in facts.md\n    it was wrong"), "{retracted}");
    assert_eq!((then().as_str(), value(&vault, "namespace=u&key=p")), ("right\n", json!("right")));
    let line = "`u/p`: `wrong` → retracted (from 2025-01-01, until 2025-06-01) · by owner";
    assert_eq!(noted(&vault, "facts.history.md").last().unwrap(), line);
    let history = vault.run(&["fact", "history", "u/p"]).ok().stdout;
    assert!(history.contains("was not wrong from 2025-01-01 until 2025-06-01"), "{history}");
    // Over HTTP likewise; where nothing is known there is nothing to take back.
    let body = json!({ "namespace": "u", "key": "p", "from": "2024-02-01", "until": "2024-03-01" });
    vault.post("/api/facts/retract", &body).ok();
    assert_eq!(value(&vault, "namespace=u&key=p&as_of=2024-02-15"), Value::Null);
    assert_eq!(vault.post("/api/facts/retract", &body).status, 404);
    assert_eq!(value(&vault, "namespace=u&key=p&as_of=2024-03-15"), "right");
}

#[test]
fn a_question_about_a_day_is_answered_by_that_day() {
    let mut vault = Daemon::vault();
    let facts_text =
        "## Work\n\n- old: x (from 2026-01-01, until 2026-02-01) #a\n- soon: z (from 2199-01-01)\n- both: 1 #a\n";
    let history = "- 2026-01-01T00:00:00Z `work/old`: — → `x` (from 2026-01-01, until 2026-02-01) · by owner ^a\n\
        - 2026-01-01T00:00:00Z `work/soon`: — → `z` (from 2199-01-01) · by owner ^b\n\
        - 2026-01-05T00:00:00Z `work/both`: — → `0` · by owner ^c\n\
        - 2026-04-05T00:00:00Z `work/both`: `0` → `1` · by owner ^d\n";
    vault.write("facts.md", facts_text).write("facts.history.md", history);
    vault.write("projects/mech/facts.md", "## Work\n\n- both: 2\n").start();
    notes_eventually(&vault, "projects/mech/facts.history.md", "`work/both`: — → `2` · by edit");
    let asked = |query: &str| said(&facts(&vault, query));
    // Known then is what had changed by then.
    assert_eq!(asked("changed_since=2026-01-04&known_at=2026-03-01"), ["both \"0\""]);
    assert_eq!(asked("changed_since=2026-02-01&known_at=2026-03-01"), [""; 0]);
    assert_eq!(asked("changed_since=2026-04-01&key=both"), ["both \"1\""]);
    assert_eq!(asked("changed_since=2025-12-01"), ["both \"1\"", "old \"x\"", "soon \"z\""], "over and to come, too");
    assert_eq!(asked("as_of=2026-03-01&key=old"), [""; 0]);
    let over = facts(&vault, "as_of=2026-03-01&key=old&expired=true");
    assert_eq!((said(&over), &over[0]["state"]), (vec!["old \"x\"".to_owned()], &json!("expired")));
    assert_eq!(facts(&vault, "as_of=2026-03-01&key=soon&expired=true")[0]["state"], "future");
    // The first scope that has a fact answers, whatever else is asked of it.
    assert_eq!(asked("resolve=project:mech,user&tag=a"), [""; 0], "the project's has no tag");
    assert_eq!(asked("resolve=user,project:mech&tag=a"), ["both \"1\""]);
    assert_eq!(asked("resolve=user,project:mech&changed_since=1h"), [""; 0], "what changed is not what counts");
    assert_eq!(asked("resolve=project:mech,user&changed_since=1h"), ["both \"2\""]);
    // One without a value answers nothing, and hides none of the next scope.
    vault.run(&["fact", "unset", "work/both", "--scope", "project:mech"]).ok();
    vault.run(&["fact", "set", "work/both", "3"]).ok();
    assert!(asked("resolve=project:mech,user&changed_since=1h&key=both").contains(&"both \"3\"".to_owned()));
}

#[test]
fn a_folder_without_history_says_what_is_true_today() {
    let vault = Daemon::without_model("[facts]\nhistory = false\n").with("facts.md", "- color: blue\n").started();
    let today = jiff::Zoned::now().date().to_string();
    for more in ["", &format!("&as_of={today}"), "&as_of=2199-01-01"] {
        assert_eq!(value(&vault, &format!("namespace=&key=color{more}")), "blue", "{more}");
    }
    assert_eq!(value(&vault, "namespace=&key=color&as_of=2020-01-01"), Value::Null);
    assert!(!vault.path("facts.history.md").exists());
}

#[test]
fn a_file_that_is_no_text_keeps_nobody_from_the_others() {
    let vault =
        Daemon::vault().with("facts.md", "- a: 1 #t\n").with("projects/bad/facts.md", b"- a: caf\xe9 #t\n").started();
    notes_eventually(&vault, "facts.history.md", "`a`: — → `1` · by edit");
    for query in ["scope=*", "tag=t", "resolve=project:bad,user", "resolve=user,project:bad"] {
        let found = vault.get(&format!("/api/facts?{query}")).json();
        assert_eq!(said(found["facts"].as_array().unwrap_or_else(|| panic!("{found}"))), ["a \"1\""], "{query}");
        let problem = &found["problems"][0];
        assert_eq!(
            (&problem["path"], &problem["is_unread"]),
            (&json!("projects/bad/facts.md"), &json!(true)),
            "{found}"
        );
    }
    let told = vault.run(&["fact", "get", "a", "--resolve", "project:bad,user"]).ok();
    assert!(told.stdout == "1\n" && told.stderr.contains("projects/bad/facts.md"), "{}", told.stderr);
    assert_eq!(vault.get("/api/facts?scope=project:bad").status / 100, 5, "asked for alone, it is told");
    // A byte in the history, and a line that is ahead of the clock.
    let mut history = fs::read(vault.path("facts.history.md")).unwrap();
    history.extend_from_slice(b"- caf\xe9\n- 2199-01-01T00:00:00Z `a`: `1` \xe2\x86\x92 `0` ^x\n");
    fs::write(vault.path("facts.history.md"), &history).unwrap();
    vault.run(&["fact", "set", "a", "2"]).ok();
    assert!(fs::read(vault.path("facts.history.md")).unwrap().starts_with(&history), "nothing is written over");
    let today = jiff::Zoned::now().date().to_string();
    assert_eq!((value(&vault, "key=a"), value(&vault, &format!("key=a&as_of={today}"))), (json!("2"), json!("2")));
    let now = jiff::Timestamp::now();
    assert_eq!(value(&vault, &format!("key=a&as_of={now}")), "2");
    let problems = vault.get("/api/facts?key=a").json()["problems"].as_array().unwrap().clone();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems.iter().all(|problem| problem["path"] == "facts.history.md" && problem["line"].is_u64()));
}

#[test]
fn a_history_that_was_edited_is_noted_once_by_whoever_looks() {
    let mut vault = Daemon::vault();
    vault.run(&["fact", "set", "a", "main"]).ok();
    vault.run(&["fact", "set", "a", "release"]).ok();
    let edited: String = read(&vault, "facts.history.md")
        .lines()
        .map(|line| match line.contains("→ `release`") {
            true => format!("- 2025{}\n", &line[6..]),
            false => format!("{line}\n"),
        })
        .collect();
    vault.write("facts.history.md", edited);
    for _ in 0..3 {
        assert_eq!(vault.run(&["fact", "get", "a"]).ok().stdout, "release\n");
    }
    assert_eq!(noted(&vault, "facts.history.md").len(), 3);
    vault.start();
    assert_eq!(value(&vault, "key=a"), "release");
    assert_eq!(noted(&vault, "facts.history.md").len(), 3);
}
