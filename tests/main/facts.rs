//! Facts, from outside: by the command line, HTTP, MCP, an editor, git.

use crate::clones::{clone_of, commit};
pub use crate::entries::read;
use crate::forgotten::{Secret, assert_in_no_file};
use crate::support::prelude::*;

pub const FACTS: &str = "---\ntags: [example]\n---\n# Facts\n\nProse: this is none.\n\n## Project\n\n- test_command: make test\n- version: 3.10\n\
    - deploy_branch: main #deploy\n\n## Project/Conventions\n\n- style: [short, plain]\n";

/// Points between a fact and its history.
pub const POINTS: [&str; 4] = ["fact-written", "fact-noticed", "fact-noted", PURGED];

/// Between a purged fact and its history.
const PURGED: &str = "fact-purged";

pub fn vault() -> Daemon {
    Daemon::vault().with("facts.md", FACTS)
}

fn put(vault: &Daemon, body: &Value) -> Reply {
    vault.ask(Request::send("PUT", "/api/facts", body))
}

#[track_caller]
fn set(vault: &Daemon, body: &Value) -> Value {
    put(vault, body).ok()
}

#[track_caller]
pub fn facts(vault: &Daemon, query: &str) -> Vec<Value> {
    vault.get(&format!("/api/facts?{query}")).ok()["facts"].as_array().unwrap().clone()
}

/// The value of one fact; null where there is none.
#[track_caller]
pub fn value(vault: &Daemon, query: &str) -> Value {
    let found = facts(vault, query);
    assert!(found.len() <= 1, "{query}: {found:?}");
    found.first().map_or(Value::Null, |fact| fact["value"].clone())
}

/// The changes that the history has, without when they were noticed.
pub fn noted(vault: &Daemon, path: &str) -> Vec<String> {
    let text = read(vault, path);
    let lines = text.lines().filter_map(|line| line.strip_prefix("- "));
    lines.map(|line| line.split_once(' ').unwrap().1.split(" ^").next().unwrap().to_owned()).collect()
}

#[track_caller]
pub fn notes_eventually(vault: &Daemon, path: &str, line: &str) {
    until(&format!("`{line}` in {path}"), || noted(vault, path).iter().any(|found| found == line));
}

#[test]
fn facts_are_looked_up_by_their_exact_name_and_who_sets_them_later_is_told() {
    let vault = vault().started();
    assert_eq!(value(&vault, "namespace=project&key=test_command"), "make test");
    assert_eq!(value(&vault, "namespace=project&key=version"), "3.10", "as it is written");
    assert_eq!(value(&vault, "namespace=project/conventions&key=style"), json!(["short", "plain"]));
    assert_eq!(value(&vault, "namespace=project&key=Test_command"), Value::Null);
    assert_eq!(facts(&vault, "namespace=project").len(), 3);
    assert_eq!(facts(&vault, "prefix=project/").len(), 4);
    // Headings are read in lower case, keys as they stand.
    assert_eq!(value(&vault, "namespace=Project&key=test_command"), "make test");
    assert_eq!(
        ["namespace=PROJECT", "prefix=Project/", "prefix=Project/Conv", "prefix=Proj"]
            .map(|query| facts(&vault, query).len()),
        [3, 4, 1, 4]
    );
    let tagged = facts(&vault, "tag=deploy");
    assert_eq!((tagged.len(), tagged[0]["citation"].as_str().unwrap()), (1, "facts.md#L12"));
    let changed = facts(&vault, "changed_since=1h");
    assert_eq!(changed.len(), 4, "all were noticed just now");
    assert_eq!(vault.get("/api/facts?scope=nobody").status, 400);
    assert_eq!(vault.get("/api/facts?as_of=soon").status, 400);
    // Who is slower is told, whatever the value looks like.
    let set = |key: &str, value: Value, had: &str| {
        put(&vault, &json!({"namespace": "project/conventions", "key": key, "value": value, "if_value": had})).status
    };
    assert_eq!(set("style", json!(["long"]), "[short]"), 409);
    assert_eq!(set("style", json!(["long"]), "[\"short\",\"plain\"]"), 200, "as JSON has it");
    assert_eq!(set("style", json!("a # b"), "[long]"), 200, "as it is written");
    assert_eq!(set("style", json!("c"), "\"a # b\""), 200);
    assert_eq!(set("new", json!("c"), "c"), 409);
    assert_eq!(set("new", json!("c"), ""), 200);
    assert_eq!(set("new", json!("d"), ""), 409);
}

#[test]
fn setting_changes_one_line_and_notes_it() {
    let vault = vault().started();
    let written = set(
        &vault,
        &json!({"namespace": "project", "key": "deploy_branch", "value": "release", "source": "notes/x.md#L3"}),
    );
    assert_eq!((written["before"].as_str(), written["path"].as_str()), (Some("main"), Some("facts.md")));
    assert_eq!(read(&vault, "facts.md"), FACTS.replace("deploy_branch: main", "deploy_branch: release"));
    set(&vault, &json!({"namespace": "stats", "key": "runs", "value": 12}));
    assert!(read(&vault, "facts.md").ends_with("\n## stats\n\n- runs: 12\n"));
    let notes = noted(&vault, "facts.history.md");
    assert_eq!(
        notes[3..],
        [
            "`project/conventions/style`: — → `[short, plain]` · by edit",
            "`project/deploy_branch`: `main` → `release` · by owner · source `notes/x.md#L3`",
            "`stats/runs`: — → `12` · by owner",
        ],
        "{notes:?}"
    );
    // Two who write at once: the second is told.
    let reply = put(&vault, &json!({"namespace": "project", "key": "deploy_branch", "value": "x", "if_value": "main"}));
    assert_eq!((reply.status, value(&vault, "namespace=project&key=deploy_branch")), (409, json!("release")));
    for bad in [
        json!({"key": "a b", "value": "1"}),
        json!({"key": "a", "value": null}),
        json!({"key": "a", "value": "1", "from": "soon"}),
        json!({"key": "a", "value": "1", "from": "2026-02-01", "until": "2026-01-01"}),
        json!({"key": "a", "value": "1", "namespace": "Big"}),
        json!({"key": "a", "value": "1", "tags": ["private"]}),
        json!({"key": "a", "value": "x".repeat(100_000)}),
        json!({"key": "a", "value": "1", "source": "../x"}),
    ] {
        assert_eq!(put(&vault, &bad).status, 400, "{bad}");
    }
    // Undone, it is a change as any.
    let id = written["checkpoint_id"].as_str().unwrap();
    assert_eq!(vault.run(&["undo", id]).code, 2, "the file was changed since");
}

#[test]
fn a_fact_that_is_not_found_is_named_with_those_called_alike() {
    let mut vault = vault().with("projects/mech/facts.md", "## Build\n\n- test_command: just test\n");
    vault.write("projects/secret/facts.md", "---\nprivate: true\n---\n- test_command: none\n");
    vault.write("agents/ada/agent.md", READS).start().settle();
    let run = |args: &[&str]| vault.run(&[&["fact"], args].concat());
    let told = run(&["get", "test_command", "--scope", "system"]);
    assert_eq!(
        (told.code, told.stderr.trim()),
        (
            1,
            "vault: there is no fact `test_command`; did you mean build/test_command --scope project:mech, or \
             test_command --scope project:secret, or project/test_command?"
        )
    );
    let told = run(&["get", "Project/version", "--as-of", "1999-01-01"]).stderr;
    assert!(told.contains("at that time; facts.md#L11 has a line about it"), "{told}");
    let told = run(&["history", "none"]).stderr;
    assert!(told.contains("there never was a fact `none`; `vault fact list` shows"), "{told}");
    // An agent hears of what it sees alone.
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--agent", "ada"]));
    let found = mcp.tool("fact", json!({"action": "get", "name": "test_command"}));
    let near = column(&found["near"], "scope");
    assert_eq!(near, ["project:mech", "user"], "{found}");
    let found = mcp.tool("fact", json!({"action": "list", "scopes": "*"}));
    assert_eq!(found["scopes"], json!(["project:mech", "user"]));
    mcp.finish();
}

#[test]
fn an_edit_by_hand_is_as_good_and_its_history_is_in_no_search() {
    let mut vault = vault().started();
    notes_eventually(&vault, "facts.history.md", "`project/version`: — → `3.10` · by edit");
    vault.write(
        "facts.md",
        FACTS.replace("3.10", "3.11").replace("short", "long").replace("make test", "~~make test~~ just test"),
    );
    notes_eventually(&vault, "facts.history.md", "`project/version`: `3.10` → `3.11` · by edit");
    notes_eventually(
        &vault,
        "facts.history.md",
        "`project/test_command`: `make test` corrected to `just test` · by edit",
    );
    vault.settle();
    assert_eq!(vault.find("short"), [""; 0], "the history is in no search");
    assert_eq!(vault.status()["files"], 1);
    assert_eq!(vault.get("/api/user-memory/note?path=facts.history.md").status, 404);
    // A file that goes takes its facts with it, where somebody saw it go.
    fs::remove_file(vault.path("facts.md")).unwrap();
    notes_eventually(&vault, "facts.history.md", "`project/version`: `3.11` → — · by edit");
    assert_eq!(facts(&vault, "scope=user"), [Value::Null; 0]);
}

#[test]
fn an_agent_is_given_no_history_that_it_may_not_read() {
    let config = |private: &str| format!("[embed]\nmodel = \"none\"\n[access]\nprivate = [{private}]\n");
    let history = "- 2026-01-10T00:00:00Z `p/animal`: — → `wombat` (from 2026-01-01) · by owner ^a1\n\
        - 2026-03-20T00:00:00Z `p/animal`: `wombat` → `quokka` (from 2026-03-09) · by owner ^a2\n";
    let private = format!("---\nprivate: true\n---\n{history}");
    for (by_place, text, rules, is_given) in [
        ("", history, "", true),
        ("", private.as_str(), "", false),
        ("\"facts.history.md\"", history, "", false),
        ("", history, "paths: [\"!facts.history.md\"]", false),
        ("", history, "paths: [facts.md]", false),
    ] {
        let mut vault = Daemon::with_config(&config(by_place));
        vault.write("facts.md", "## P\n\n- animal: quokka\n").write("facts.history.md", text);
        vault.write("agents/ada/agent.md", format!("---\ncan_read_user_memory: true\n{rules}\n---\n")).start().settle();
        let made = vault.post("/api/agents/ada/rotate", &json!({})).json();
        let mut ada = Connection::open(vault.address()).with_token(made["token"].as_str().unwrap());
        for query in ["history=true", "as_of=2026-02-01", "changed_since=2020-01-01"] {
            let found = ada.get(&format!("/api/facts?scope=user&key=animal&{query}")).to_string();
            assert_eq!(
                found.contains("wombat"),
                is_given && !query.starts_with("changed"),
                "{by_place} {rules}: {found}"
            );
        }
        let now = ada.get("/api/facts?scope=user&key=animal");
        assert_eq!(now["facts"][0]["value"], "quokka", "{by_place} {rules}: {now}");
    }
}

#[test]
fn the_time_of_a_fact_runs_out_and_is_noticed() {
    let vault = Daemon::vault().started();
    let end = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(2);
    set(&vault, &json!({"key": "a", "value": "x", "until": end.to_string()}));
    assert_eq!(value(&vault, "key=a&namespace="), "x");
    until("the end of its time", || vault.status()["facts"]["expired"] == 1);
    assert_eq!(value(&vault, "key=a&namespace="), Value::Null);
}

#[test]
fn the_most_specific_scope_answers_first() {
    let vault = Daemon::vault()
        .with("projects/mech/facts.md", "- lang: rust\n")
        .with("agent-types/coding/facts.md", "- lang: any\n- style: short\n")
        .with("system/facts.md", "- lang: none\n- region: eu\n")
        .started();
    let found = facts(&vault, "resolve=project:mech,agent-type:coding,system");
    let told: Vec<String> = found
        .iter()
        .map(|fact| {
            format!(
                "{} {} {}",
                fact["scope"].as_str().unwrap(),
                fact["key"].as_str().unwrap(),
                fact["value"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(told, ["project:mech lang rust", "agent-type:coding style short", "system region eu"]);
    assert_eq!(facts(&vault, "scope=*&key=lang").len(), 3);
    assert_eq!(value(&vault, "scope=aq_project_mech&key=lang"), "rust", "as others call it");
    set(&vault, &json!({"scope": "project:new", "key": "a", "value": "b"}));
    assert_eq!(read(&vault, "projects/new/facts.md"), "- a: b\n");
    assert!(!vault.path("orchestrator").exists(), "folders are made when something is written there");
}

#[test]
fn an_agent_reads_what_it_was_given_and_writes_its_own() {
    let vault = vault()
        .with("agents/ada/agent.md", "---\ncan_read_user_memory: true\ncollections: [vault]\nwrite_mode: hybrid\n---\n")
        .with("agents/bob/agent.md", "---\ncan_read_user_memory: false\nwrite_mode: prompt-only\n---\n")
        .with("projects/x/facts.md", "- secret: yes\n")
        .settled();
    let (ada, bob) = (vault.token_of("ada"), vault.token_of("bob"));
    let ask = |token: &str, request: Request| vault.send(&request.bearer(token));
    let get =
        |token: &str, query: &str| ask(token, Request::get(&format!("/api/facts?{query}"))).json()["facts"].clone();
    let put = |token: &str, body: Value| ask(token, Request::send("PUT", "/api/facts", &body));
    assert_eq!(get(&ada, "namespace=project&key=version")[0]["value"], "3.10");
    assert_eq!(get(&bob, "namespace=project&key=version"), json!([]));
    assert_eq!(get(&ada, "scope=project:x"), json!([]), "as if it were not there");
    assert_eq!(get(&ada, "scope=project:none"), json!([]));
    assert_eq!(put(&ada, json!({"scope": "user", "key": "a", "value": "b"})).status, 403);
    assert_eq!(put(&bob, json!({"key": "a", "value": "b"})).status, 403, "its write_mode");
    let written = put(&ada, json!({"namespace": "work", "key": "a", "value": "b #private"}));
    assert_eq!(
        (written.status, written.json()["path"].as_str().unwrap().to_owned()),
        (200, "agents/ada/facts.md".into())
    );
    assert_eq!(get(&ada, "namespace=work&key=a")[0]["value"], "b #private", "it reads what it wrote");
    assert_eq!(get(&ada, "key=a")[0]["scope"], "agent:ada");
    assert_eq!(noted(&vault, "agents/ada/facts.history.md"), ["`work/a`: — → `\"b \\u0023private\"` · by agent ada"]);
    // A source that it does not see is not named.
    set(&vault, &json!({"namespace": "project", "key": "version", "value": "4", "source": "projects/x/facts.md#L1"}));
    until("the index", || get(&ada, "namespace=project&key=version")[0]["value"] == "4");
    assert_eq!(get(&ada, "namespace=project&key=version")[0]["source"], Value::Null);
    assert_eq!(facts(&vault, "namespace=project&key=version")[0]["source"], "projects/x/facts.md#L1");
    // Private, it is as if it were not there, history and all.
    fs::write(vault.path("facts.md"), format!("---\nprivate: true\n---\n{}", FACTS.split_once("---\n# ").unwrap().1))
        .unwrap();
    until("the privacy", || get(&ada, "scope=user&history=true") == json!([]));
    assert_eq!(get(&ada, "scope=user&as_of=2199-01-01"), json!([]));
}

#[test]
fn an_agent_uses_facts_over_mcp() {
    let vault = vault().with_ada().settled();
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--agent", "ada"]));
    let found = mcp.tool("fact", json!({"action": "get", "name": "project/version"}));
    assert_eq!(found["facts"][0]["value"], "3.10", "{found}");
    let set = mcp.tool("fact", json!({"action": "set", "name": "work/now", "value": "facts"}));
    assert_eq!(set["path"], "agents/ada/facts.md", "{set}");
    mcp.tool("fact", json!({"action": "set", "name": "work/now", "value": "scopes"}));
    let told = mcp.tool("fact", json!({"action": "history", "name": "work/now"}));
    assert_eq!(told["facts"][0]["history"].as_array().unwrap().len(), 2, "{told}");
    let list = mcp.tool("fact", json!({"action": "list", "tag": "deploy"}));
    assert_eq!(list["facts"][0]["key"], "deploy_branch", "{list}");
    let value = json!({"who": ["Priya", "Jonas"], "until": "3.10"});
    mcp.tool("fact", json!({"action": "set", "name": "work/team", "value": value, "tags": ["people"]}));
    let list = mcp.tool("fact", json!({"action": "list", "tag": "people"}));
    assert_eq!((list["facts"].as_array().unwrap().len(), &list["facts"][0]["value"]), (1, &value), "{list}");
    mcp.tool("fact", json!({"action": "set", "name": "work/team", "value": ["Priya"], "if_value": value.to_string()}));
    let refused = mcp.result(
        "tools/call",
        json!({"name": "fact", "arguments": {"action": "set", "name": "work/team", "value": "x", "if_value": "wrong"}}),
    );
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(read(&vault, "agents/ada/facts.md").contains("- team: [Priya] #people\n"));
    mcp.finish();
}

#[test]
fn the_command_line_does_without_a_daemon() {
    let vault = vault();
    let run = |args: &[&str]| vault.run(&[&["fact"], args].concat());
    assert_eq!(run(&["get", "project/version"]).ok().stdout, "3.10\n");
    assert_eq!(run(&["get", "project/none"]).code, 1);
    run(&["set", "project/version", "3.20", "--from", "2026-03-01"]).ok();
    assert_eq!(run(&["get", "project/version", "--as-of", "2026-03-15"]).ok().stdout, "3.20\n");
    assert_eq!(run(&["get", "project/version", "--as-of", "2026-02-15"]).code, 1);
    run(&["set", "project/version", "3.21", "--correct"]).ok();
    assert!(read(&vault, "facts.md").contains("- version: ~~3.20~~ 3.21\n"));
    assert_eq!(run(&["get", "project/version", "--as-of", "2026-03-15"]).ok().stdout, "3.21\n");
    run(&["retract", "project/version"]).ok();
    assert_eq!(run(&["get", "project/version"]).code, 1);
    run(&["unset", "project/test_command"]).ok();
    assert_eq!(run(&["unset", "project/test_command"]).code, 1, "there is none any more");
    let listed = run(&["list", "project", "--json"]).ok().json();
    assert_eq!(listed["facts"].as_array().unwrap().len(), 1);
    let told = run(&["history", "project/version"]).ok().stdout;
    assert!(told.contains("3.10 → 3.20 from 2026-03-01") && told.contains("3.20 corrected to 3.21"), "{told}");
    assert!(told.contains("3.21 was never true") && told.contains("(never true)"), "{told}");
}

/// Days are those of where the vault is, and not all of them have 24 hours.
#[test]
fn days_on_which_the_clocks_change_begin_and_end_at_midnight() {
    let vault = Daemon::vault();
    let run = |zone: &str, args: &[&str]| Ran::of(vault.command(&["fact"]).args(args).env("TZ", zone));
    let berlin = |args: &[&str]| run("Europe/Berlin", args);
    berlin(&["set", "spring", "x", "--from", "2026-03-29", "--until", "2026-03-30"]).ok();
    berlin(&["set", "autumn", "y", "--from", "2026-10-25", "--until", "2026-10-26"]).ok();
    // Of 23 hours, and of 25.
    let bounds = |key: &str| {
        let told = berlin(&["history", key, "--json"]).ok().json();
        let window = told["facts"][0]["windows"][0].clone();
        ["valid_from", "valid_to"].map(|end| window[end].as_str().unwrap().to_owned())
    };
    assert_eq!(bounds("spring"), ["2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"]);
    assert_eq!(bounds("autumn"), ["2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"]);
    for (key, value, day) in [("spring", "x\n", 29), ("autumn", "y\n", 25)] {
        let month = if key == "spring" { 3 } else { 10 };
        let on = |day: u8| berlin(&["get", key, "--as-of", &format!("2026-{month:02}-{day}")]).stdout;
        assert_eq!((on(day - 1), on(day), on(day + 1)), (String::new(), value.to_owned(), String::new()), "{key}");
    }
    // What was true until a moment of the hour that comes twice: the first of the two is meant; and a time that never was is as much later.
    berlin(&["set", "twice", "old", "--from", "2026-10-01", "--until", "2026-10-25T02:30"]).ok();
    berlin(&["set", "never", "old", "--from", "2026-03-01", "--until", "2026-03-29T02:30"]).ok();
    let at = |key: &str, when: &str| !berlin(&["get", key, "--as-of", when]).stdout.is_empty();
    assert!(at("twice", "2026-10-25T02:29") && !at("twice", "2026-10-25T02:30"));
    assert!(
        at("twice", "2026-10-25T00:29:59Z")
            && !at("twice", "2026-10-25T00:30:00Z")
            && !at("twice", "2026-10-25T01:15:00Z")
    );
    assert!(at("never", "2026-03-29T01:59") && at("never", "2026-03-29T03:29") && !at("never", "2026-03-29T03:30"));
    assert!(at("never", "2026-03-29T01:29:59Z") && !at("never", "2026-03-29T02:30"));
    // Elsewhere the day is another one, and what was written is not.
    let text = read(&vault, "facts.history.md");
    assert_eq!(run("America/New_York", &["get", "spring", "--as-of", "2026-03-29T05:00:00Z"]).ok().stdout, "x\n");
    assert!(text.contains("`spring` was `x` (from 2026-03-29, until 2026-03-30) · "), "{text}");
    assert_eq!(read(&vault, "facts.history.md"), text);
}

#[test]
fn what_is_wrong_in_a_file_is_reported_and_left() {
    let mut vault = Daemon::vault();
    let text = "- a: 1\n- a: 2\n- b: [1\n- c: x (until 2026-02-31)\n```\n- d: 1\n```\n1. e: 1\n- 🎉: x\n- f/g: x\n";
    vault.write("facts.md", text);
    vault.write("projects/p/facts.md", "<<<<<<< HEAD\n- a: 1\n=======\n- a: 2\n>>>>>>> other\n").start();
    let problems = eventually("the problems", || {
        let problems = vault.status()["facts"]["problems"].as_array()?.clone();
        (problems.len() >= 5).then_some(problems)
    });
    let told: Vec<String> =
        problems.iter().map(|problem| format!("{}:{}", problem["path"].as_str().unwrap(), problem["line"])).collect();
    assert_eq!(
        told,
        ["projects/p/facts.md:null", "projects/p/facts.md:4", "facts.md:2", "facts.md:3", "facts.md:4"],
        "{problems:?}"
    );
    assert_eq!(value(&vault, "key=a&namespace="), "2");
    assert_eq!(facts(&vault, "").len(), 3);
    assert_eq!(value(&vault, "scope=project:p&key=a"), "2", "both sides are readable");
    let reply = put(&vault, &json!({"scope": "project:p", "key": "a", "value": "3"}));
    assert_eq!(reply.status, 409, "nothing is written over a conflict");
    assert!(!vault.path("projects/p/facts.history.md").exists());
    assert_eq!(read(&vault, "facts.md"), text);
}

/// Runs git as on another day.
pub fn git(root: &Path, args: &[&str]) {
    run_ok(git_command(root, args).env("GIT_COMMITTER_DATE", "2026-02-03T10:00:00Z"));
}

#[test]
fn what_came_with_a_commit_is_as_old_as_that_and_a_clone_dates_nothing_anew() {
    let vault = vault();
    git(&vault.path(""), &["init", "--quiet", "--initial-branch", "main"]);
    commit(&vault);
    let told = vault.run(&["fact", "history", "project/version", "--json"]).ok().json();
    let change = &told["facts"][0]["history"][0];
    assert_eq!((change["learned"].as_str(), change["by"].as_str()), (Some("2026-02-03T10:00:00Z"), Some("git")));
    commit(&vault);
    let other = clone_of(&vault);
    let again = other.run(&["fact", "history", "project/version", "--json"]).ok().json();
    assert_eq!(again["facts"][0]["history"], told["facts"][0]["history"]);
    assert_eq!(read(&other, "facts.history.md"), read(&vault, "facts.history.md"));
}

#[test]
fn kills_between_a_fact_and_its_history_lose_neither() {
    for point in POINTS.into_iter().filter(|point| *point != PURGED) {
        let mut vault = vault().started();
        notes_eventually(&vault, "facts.history.md", "`project/conventions/style`: — → `[short, plain]` · by edit");
        vault.kill();
        vault.launch(Some(&format!("{point}:1")));
        let body = json!({"namespace": "project", "key": "version", "value": "4"});
        vault.dies_of(Request::send("PUT", "/api/facts", &body));
        vault.start();
        assert_eq!(value(&vault, "namespace=project&key=version"), "4", "{point}");
        let noted: Vec<String> =
            noted(&vault, "facts.history.md").into_iter().filter(|line| line.contains("→ `4`")).collect();
        assert_eq!(noted.len(), 1, "{point}: {noted:?}");
    }
}

/// A fact that is purged, at each of its places: its line, its history, checkpoints, logs; and what brings it back.
#[test]
fn a_fact_that_is_purged_is_found_nowhere_and_stays_so() {
    let secret = Secret { needle: "zibeline", query: "zibeline", text: "zibeline-branch" };
    let mut vault = Daemon::vault().with_ada().started();
    let branch = |value: &str| set(&vault, &json!({"namespace": "p", "key": "branch", "value": value}));
    drop(["main", secret.text, "release"].map(branch));
    set(&vault, &json!({"namespace": "p", "key": "other", "value": "stays"}));
    // Of one fact it is the value of now, of another one of before.
    set(&vault, &json!({"namespace": "p", "key": "code", "value": secret.text}));
    let token = vault.token_of("ada");
    let as_agent = |vault: &Daemon, request: Request| vault.send(&request.bearer(&token));
    as_agent(&vault, Request::get("/api/facts?scope=user&key=zibeline"));
    vault.settle();
    for name in ["fact:p/branch", "fact:p/code"] {
        let purged = vault.run(&["forget", name, "--purge", "--yes", "--json"]).ok().json();
        assert!(purged["purged"]["tombstone"].is_number(), "{purged}");
    }
    assert!(!read(&vault, "facts.md").contains("branch") && read(&vault, "facts.md").contains("- other: stays"));
    assert_eq!(noted(&vault, "facts.history.md"), ["`p/other`: — → `stays` · by owner"]);
    for query in ["history=true&scope=*", "as_of=2199-01-01", "prefix=p&expired=true"] {
        assert!(!vault.get(&format!("/api/facts?{query}")).json().to_string().contains(secret.needle), "{query}");
    }
    // An agent that could read it brings it again, and hears success; nothing is written, whatever it asks for later.
    let put = |vault: &Daemon, value: &str| {
        let body = json!({"namespace": "p", "key": "branch", "value": value}).to_string();
        as_agent(vault, Request::new("PUT", "/api/facts").json(body))
    };
    let refused = put(&vault, secret.text);
    assert!(refused.status == 200 && refused.json()["checkpoint_id"].is_string(), "{}", refused.json());
    assert!(!vault.path("agents/ada/facts.md").exists());
    let seen = vault.run(&["forgotten", "list", "--json"]).ok().json();
    assert!(seen["forgotten"].as_array().unwrap().len() >= 2, "{seen}");
    vault.kill();
    vault.start();
    vault.run(&["reindex", "--full"]).ok();
    vault.settle();
    vault.terminate();
    assert_in_no_file(&vault.path(""), &[&secret]);
    let (_elsewhere, copy) = vault.copy_by_archive();
    assert_in_no_file(&copy, &[&secret]);
    // The person may say it again.
    vault.run(&["fact", "set", "p/branch", secret.text]).ok();
    assert_eq!(vault.run(&["fact", "get", "p/branch"]).ok().stdout, format!("{}\n", secret.text));
}

#[test]
fn a_value_that_was_unset_before_it_was_purged_cannot_be_restored() {
    let secret = Secret { needle: "zibeline", query: "zibeline", text: "zibeline-branch" };
    for with_daemon in [true, false] {
        let mut vault = Daemon::vault().started();
        set(&vault, &json!({"namespace": "p", "key": "other", "value": "stays"}));
        set(&vault, &json!({"namespace": "p", "key": "gone", "value": secret.text}));
        let unset = vault.run(&["fact", "unset", "p/gone", "--json"]).ok().json();
        if !with_daemon {
            vault.terminate();
        }
        let purged = vault.run(&["forget", "fact:p/gone", "--purge", "--yes", "--json"]).ok().json();
        assert!(purged["purged"]["checkpoints"].as_u64().is_some_and(|count| count > 0), "{purged}");
        let back = vault.run(&["undo", unset["checkpoint_id"].as_str().unwrap(), "--force"]);
        assert!(back.code != 0, "{}", back.stdout);
        if with_daemon {
            vault.terminate();
        }
        assert!(read(&vault, "facts.md").contains("- other: stays"));
        assert_in_no_file(&vault.path(""), &[&secret]);
    }
}

#[test]
fn a_kill_in_a_purge_leaves_what_another_takes() {
    let secret = Secret { needle: "zibeline", query: "zibeline", text: "zibeline-branch" };
    let mut vault = Daemon::vault().started();
    set(&vault, &json!({"namespace": "p", "key": "branch", "value": secret.text}));
    set(&vault, &json!({"namespace": "p", "key": "other", "value": "stays"}));
    vault.terminate();
    assert!(vault.launch(Some(&format!("{PURGED}:1"))));
    until("the kill", || {
        // It is refused while the index is being opened.
        vault.run(&["forget", "fact:p/branch", "--purge", "--yes"]);
        vault.was_killed()
    });
    vault.start();
    assert_eq!(value(&vault, "namespace=p&key=branch"), Value::Null);
    // The command may have gone on by itself, with the daemon gone: then nothing is left to take.
    vault.run(&["forget", "fact:p/branch", "--purge", "--yes"]);
    // And so does all of the file, with all that was ever in it.
    set(&vault, &json!({"namespace": "p", "key": "third", "value": secret.text}));
    set(&vault, &json!({"namespace": "p", "key": "third", "value": "else"}));
    vault.run(&["forget", "facts.md", "--purge", "--yes"]).ok();
    assert_eq!(noted(&vault, "facts.history.md"), [""; 0]);
    // Moved to the trash first, and purged then.
    set(&vault, &json!({"namespace": "p", "key": "fourth", "value": secret.text}));
    set(&vault, &json!({"namespace": "p", "key": "fourth", "value": "else"}));
    vault.run(&["forget", "facts.md", "--yes"]).ok();
    vault.run(&["forget", "facts.md", "--purge", "--yes"]).ok();
    // The files of the index may hold traces until they are written over.
    vault.run(&["reindex", "--full"]).ok();
    vault.terminate();
    assert_in_no_file(&vault.path(""), &[&secret]);
    assert_eq!(noted(&vault, "facts.history.md"), [""; 0]);
}

#[test]
fn a_span_that_is_over_overwrites_nothing() {
    let vault = Daemon::without_model("[facts]\nhistory = false\n");
    vault.run(&["fact", "set", "k", "now"]).ok();
    let refused = vault.run(&["fact", "set", "k", "old", "--from", "2024-01-01", "--until", "2025-01-01"]);
    assert!(refused.code == 2 && refused.stderr.contains("only the history stores past spans"), "{refused:?}");
    assert_eq!(read(&vault, "facts.md"), "- k: now\n");
    let kept = Daemon::vault();
    let refused = kept.run(&["fact", "set", "k", "old", "--until", "2025-01-01"]);
    assert!(refused.code == 2 && refused.stderr.contains("`from`"), "{refused:?}");
}

#[test]
fn an_agent_undoes_its_own_fact_and_is_told_the_same_of_what_was_forgotten() {
    let vault = Daemon::vault().with_ada().started();
    set(&vault, &json!({"namespace": "p", "key": "branch", "value": "zibeline-branch"}));
    vault.settle();
    vault.run(&["forget", "fact:p/branch", "--purge", "--yes"]).ok();
    let token = vault.token_of("ada");
    let ask =
        |method: &str, target: &str, body: Value| vault.send(&Request::send(method, target, &body).bearer(&token));
    let put = |value: &str, if_value: &str| {
        ask("PUT", "/api/facts", json!({"namespace": "p", "key": "branch", "value": value, "if_value": if_value}))
    };
    put("main", "").ok();
    // Whether it was forgotten or not, a wrong guess is refused, and what was there is told.
    for value in ["zibeline-branch", "another"] {
        assert_eq!(put(value, "wrong").status, 409, "{value}");
        assert_eq!(put(value, "main").json()["before"], "main", "{value}");
    }
    assert!(read(&vault, "agents/ada/facts.md").contains("- branch: another\n"));
    let last = put("more", "another").json();
    ask("POST", "/api/memory/restore", json!({"checkpoint_id": last["checkpoint_id"]})).ok();
    assert!(read(&vault, "agents/ada/facts.md").contains("- branch: another\n"));
    let over = ask("PUT", "/api/facts", json!({"key": "a", "value": "b", "from": "2020-01-01", "until": "2021-01-01"}));
    assert_eq!(over.status, 400);
}

#[test]
fn what_has_gone_only_just_is_true_neither_now_nor_later() {
    let vault = vault();
    vault.run(&["fact", "list"]).ok();
    fs::write(vault.path("facts.md"), FACTS.replace("- version: 3.10\n", "")).unwrap();
    for args in [&["fact", "get", "project/version"][..], &["fact", "get", "project/version", "--as-of", "2199-01-01"]]
    {
        assert_eq!(vault.run(args).code, 1, "{args:?}");
    }
}

#[test]
fn who_writes_in_place_and_who_sets_facts_lose_no_line() {
    use std::io::Write;
    let vault = vault().started();
    notes_eventually(&vault, "facts.history.md", "`project/conventions/style`: — → `[short, plain]` · by edit");
    let path = vault.path("facts.md");
    let editor = std::thread::spawn(move || {
        for at in 0..150 {
            // As `>>` in a shell does: what is there stays, and the line is written where the file is open.
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            std::thread::yield_now();
            file.write_all(format!("- edited_{at}: x\n").as_bytes()).unwrap();
        }
    });
    let mut set = 0;
    // Once more when the editor is done: each write looks at what was left by those before.
    let mut is_done = false;
    while !is_done || set < 20 {
        is_done = editor.is_finished();
        let body = json!({ "namespace": "set", "key": format!("key_{set}"), "value": "y" }).to_string();
        // Who comes while the other is writing may be told to try again.
        until("the fact to be set", || {
            let reply = vault.ask(Request::new("PUT", "/api/facts").json(&*body));
            assert!([200, 409, 503].contains(&reply.status), "{}", reply.json());
            reply.status == 200
        });
        set += 1;
    }
    editor.join().unwrap();
    let text = read(&vault, "facts.md");
    for at in 0..set {
        assert!(text.contains(&format!("- key_{at}: y\n")), "key_{at} of {set}\n{text}");
    }
    // Of two that were written at the very moment of one of ours, the last stays, and the other is in the trash.
    let trash = fs::read_dir(vault.path(".trash")).into_iter().flatten().flatten();
    let kept: String = trash.map(|entry| fs::read_to_string(entry.path()).unwrap()).collect();
    for at in 0..150 {
        let line = format!("- edited_{at}: x\n");
        assert!(text.contains(&line) || kept.contains(&line), "edited_{at}\n{text}");
    }
}
