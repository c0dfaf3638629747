//! Questions about facts: the same answer whichever way they are asked, also where their time is another than now.

use crate::facts::{facts, noted, notes_eventually, value};
use crate::support::prelude::*;

/// Facts with a past, a future, tags and a second scope.
fn vault() -> Daemon {
    let mut vault = Daemon::vault();
    let facts = "## Work\n\n- branch: ~~release~~ rel-2 #deploy\n- style: [short, plain]\n- trial: x (until 2020-01-01) #deploy\n\
        - soon: z (from 2199-01-01)\n\n## Workshop\n\n- key: Priya #deploy/keys\n";
    let history = "- 2026-01-10T00:00:00Z `work/branch`: — → `main` (from 2026-01-01) · by owner ^a1\n\
        - 2026-03-20T00:00:00Z `work/branch`: `main` → `release` (from 2026-03-09) · by owner ^a2\n\
        - 2026-05-05T00:00:00Z `work/branch`: `release` corrected to `rel-2` · by owner ^a3\n\
        - 2026-01-11T00:00:00Z `work/old`: — → `gone` · by owner ^b1\n\
        - 2026-01-12T00:00:00Z `work/old`: `gone` → — · by owner ^b2\n";
    vault.write("facts.md", facts).write("facts.history.md", history);
    vault.write("projects/mech/facts.md", "## Work\n\n- branch: main #deploy\n");
    vault.write("agents/ada/agent.md", READS).start().settle();
    vault
}

/// All that is said of facts, but for what the command line and programs are told beside them.
fn said(found: &Value) -> Vec<Value> {
    found["facts"].as_array().unwrap_or_else(|| panic!("{found}")).clone()
}

#[test]
fn each_kind_of_question_has_one_answer_over_all_three_ways() {
    let vault = vault();
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--owner"]));
    // What is asked of the command line, HTTP and MCP, how many facts that gives, and the first value.
    for (args, query, mut arguments, count, value) in [
        ("get work/branch", "namespace=work&key=branch", json!({ "name": "work/branch" }), 1, "rel-2"),
        ("get work/none", "namespace=work&key=none", json!({ "name": "work/none" }), 0, ""),
        (
            "get work/branch --resolve project:mech,user",
            "namespace=work&key=branch&resolve=project:mech,user",
            json!({ "name": "work/branch", "scopes": "project:mech,user" }),
            1,
            "main",
        ),
        ("list work", "namespace=work", json!({ "namespace": "work" }), 2, "rel-2"),
        ("list --prefix work", "prefix=work", json!({ "prefix": "work" }), 3, "rel-2"),
        (
            "list work --expired",
            "namespace=work&expired=true",
            json!({ "namespace": "work", "expired": true }),
            4,
            "rel-2",
        ),
        ("list work -n 1", "namespace=work&limit=1", json!({ "namespace": "work", "limit": 1 }), 1, "rel-2"),
        (
            "list --changed-since 2026-05-01 --prefix work/branch",
            "changed_since=2026-05-01&prefix=work/branch",
            json!({ "changed_since": "2026-05-01", "prefix": "work/branch" }),
            1,
            "rel-2",
        ),
        (
            "get work/branch --as-of 2026-02-01",
            "namespace=work&key=branch&as_of=2026-02-01",
            json!({ "name": "work/branch", "as_of": "2026-02-01" }),
            1,
            "main",
        ),
        (
            "get work/branch --as-of 2026-04-01 --known-at 2026-04-01",
            "namespace=work&key=branch&as_of=2026-04-01&known_at=2026-04-01",
            json!({ "name": "work/branch", "as_of": "2026-04-01", "known_at": "2026-04-01" }),
            1,
            "release",
        ),
        (
            "list --as-of 2026-04-01 --known-at 2026-01-11",
            "as_of=2026-04-01&known_at=2026-01-11",
            json!({ "as_of": "2026-04-01", "known_at": "2026-01-11" }),
            2,
            "main",
        ),
        ("list --known-at 2026-01-11", "known_at=2026-01-11", json!({ "known_at": "2026-01-11" }), 2, "main"),
        ("history work/branch", "namespace=work&key=branch&history=true", json!({ "name": "work/branch" }), 1, "rel-2"),
        ("list --tag deploy", "tag=deploy", json!({ "tag": "deploy" }), 3, "main"),
        (
            "list --tag deploy/keys --scope user",
            "tag=deploy/keys&scope=user",
            json!({ "tag": "deploy/keys", "scopes": "user" }),
            1,
            "Priya",
        ),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        arguments["action"] = args[0].into();
        let value = if value.is_empty() { Value::Null } else { json!(value) };
        let by_command = said(&vault.run(&[&["fact"], &args[..], &["--json"]].concat()).json());
        let by_http = said(&vault.get(&format!("/api/facts?{query}")).json());
        let by_mcp = said(&mcp.tool("fact", arguments));
        assert_eq!(by_http, by_command, "{query}");
        assert_eq!(by_mcp, by_http, "{query}");
        let first = by_http.first().map_or(Value::Null, |fact| fact["value"].clone());
        assert_eq!((by_http.len(), first), (count, value), "{query}: {by_http:?}");
    }
    mcp.finish();
    let whole = said(&vault.get("/api/facts?namespace=work&key=branch&history=true").json()).remove(0);
    assert_eq!(column(&whole["history"], "change"), ["set", "set", "corrected"]);
    let windows = whole["windows"].as_array().unwrap();
    assert_eq!(windows.iter().filter(|window| window["retracted"] == true).count(), 1, "{windows:?}");
}

#[test]
fn a_tag_is_looked_for_in_all_scopes_that_who_asks_may_see_and_gives_ten() {
    let mut vault = Daemon::vault();
    let facts = |from: usize| (from..from + 6).map(|at| format!("- k{at:02}: v #deploy\n")).collect::<String>();
    vault.write("facts.md", facts(0)).write("projects/mech/facts.md", facts(10)).write("system/facts.md", facts(20));
    vault.write("projects/secret/facts.md", format!("---\nprivate: true\n---\n{}", facts(30)));
    vault.write("agents/ada/agent.md", READS);
    for at in 0..12 {
        vault.write(&format!("notes/{at:02}.md"), format!("# Note {at}\n\nText. #deploy\n"));
    }
    vault.start().settle();
    let token = vault.token_of("ada");
    let as_ada = |query: &str| vault.get_as(&token, &format!("/api/facts?{query}")).json();
    let as_owner = |query: &str| vault.get(&format!("/api/facts?{query}")).json();
    let count = |found: &Value| (said(found).len(), found["cut"] == true);
    let scopes = |found: &Value| {
        let mut scopes: Vec<String> =
            said(found).iter().map(|fact| fact["scope"].as_str().unwrap().to_owned()).collect();
        scopes.dedup();
        scopes
    };
    for query in ["tag=deploy", "tag=deploy&scope=*"] {
        assert_eq!((count(&as_owner(query)), count(&as_ada(query))), ((10, true), (10, true)), "{query}");
    }
    let (owner, ada) = (as_owner("tag=deploy&limit=100"), as_ada("tag=deploy&limit=100"));
    assert_eq!((count(&owner), count(&ada)), ((24, false), (18, false)));
    assert_eq!(scopes(&owner), ["project:mech", "project:secret", "system", "user"]);
    assert_eq!(scopes(&ada), ["project:mech", "system", "user"], "what it may not see is no place");
    assert_eq!(count(&as_owner("tag=deploy&scope=user,system,project:mech")), (18, false), "scopes that are named");
    let listed = vault.run(&["fact", "list", "--tag", "deploy", "--json"]).ok().json();
    assert_eq!(count(&listed), (10, true));
    // Chunks of notes by a tag, whatever scope they are of.
    let found = vault.get("/api/user-memory/search?q=tag:deploy").json();
    assert_eq!(found["results"].as_array().unwrap_or_else(|| panic!("{found}")).len(), 10);
}

#[test]
fn a_number_is_given_as_a_text_or_refused() {
    let vault = Daemon::without_model("").started();
    let put = |value: &str| {
        let body = format!("{{\"namespace\": \"p\", \"key\": \"k\", \"value\": {value}}}");
        vault.ask(Request::new("PUT", "/api/facts").json(body))
    };
    for bad in ["3.10", "12345678901234567890123", "[1, 1e3]", "{\"a\": -0.0}"] {
        let reply = put(bad);
        assert!(
            reply.status == 400 && reply.json().to_string().contains("send it as a text"),
            "{bad}: {}",
            reply.json()
        );
    }
    for good in ["3", "-7", "18446744073709551615", "\"3.10\""] {
        assert_eq!(put(good).status, 200, "{good}");
    }
    let found = vault.get("/api/facts?namespace=p&key=k").json();
    assert_eq!(found["facts"][0]["value"], "3.10");
}

/// The names and values that an answer has.
fn shown(found: &[Value]) -> Vec<String> {
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
    // A span of the past is said and taken back.
    vault.run(&["fact", "set", "u/p", "right", "--from", "2024-01-01"]).ok();
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
    let asked = |query: &str| shown(&facts(&vault, query));
    // Known then is what had changed by then.
    assert_eq!(asked("changed_since=2026-01-04&known_at=2026-03-01"), ["both \"0\""]);
    assert_eq!(asked("changed_since=2026-02-01&known_at=2026-03-01"), [""; 0]);
    assert_eq!(asked("changed_since=2026-04-01&key=both"), ["both \"1\""]);
    assert_eq!(asked("changed_since=2025-12-01"), ["both \"1\"", "old \"x\"", "soon \"z\""], "over and to come, too");
    assert_eq!(asked("as_of=2026-03-01&key=old"), [""; 0]);
    let over = facts(&vault, "as_of=2026-03-01&key=old&expired=true");
    assert_eq!((shown(&over), &over[0]["state"]), (vec!["old \"x\"".to_owned()], &json!("expired")));
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
        assert_eq!(shown(&said(&found)), ["a \"1\""], "{query}");
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
}
