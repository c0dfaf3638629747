//! Questions about facts: the same answer whichever way they are asked.

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
fn a_number_is_given_as_it_is_written_or_refused() {
    let mut vault = Daemon::without_model("[facts]\nproperties = true\n");
    vault.write("notes/pr.md", "---\nver: 3.10\nhex: 0x1F\nbig: 1e3\nall: [3.10, no]\n---\n# PR\n").start().settle();
    let get = |key: &str| vault.run(&["fact", "get", &format!("notes/pr/{key}"), "--json"]).ok().json();
    for (key, value) in
        [("ver", json!("3.10")), ("hex", json!("0x1F")), ("big", json!("1e3")), ("all", json!(["3.10", "no"]))]
    {
        let got = get(key);
        assert!(got.to_string().contains(&format!("\"value\":{value}")), "{key}: {got}");
    }
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

#[test]
fn what_notes_say_of_themselves_is_found_by_its_key_with_its_line_and_only_where_it_may_be_seen() {
    let mut vault = Daemon::without_model("[facts]\nproperties = true\n")
        .with("notes/Alien.md", "---\ntitle: Alien\nrating: 8\n---\n# Alien\n\nSeen with [with:: Ann].\n")
        .with("notes/brazil.md", "# Brazil\n\n- rating:: 9.0\n\n`rating:: 1` and std::vec\n\n```\nrating:: 2\n```\n")
        .with("notes/cube.md", "+++\nrating = 7\n+++\n# Cube\n\nRating:: [6, 7]\n")
        .with("notes/dune.md", "---\nprivate: true\n---\n# Dune\n\nrating:: 5\nsecret_rating:: 4\n")
        .with("projects/mech/notes/eraser.md", "# Eraser\n\nrating:: 3\n")
        .with("facts.md", "- rating: high\n")
        .with_ada()
        .settled();
    let token = vault.token_of("ada");
    let as_ada = |query: &str| vault.get_as(&token, &format!("/api/facts?{query}")).json();
    let as_owner = |query: &str| vault.get(&format!("/api/facts?{query}")).json();
    let shown = |found: &Value| -> Vec<String> {
        said(found).iter().map(|fact| format!("{} {}", fact["citation"].as_str().unwrap(), fact["value"])).collect()
    };
    let seen = [
        "facts.md#L1 \"high\"", "notes/Alien.md#L3 \"8\"", "notes/brazil.md#L3 \"9.0\"", "notes/cube.md#L2 \"7\"",
        "notes/cube.md#L6 [\"6\",\"7\"]",
    ];
    assert_eq!(shown(&as_owner("key=rating"))[..5], seen);
    assert_eq!(shown(&as_owner("key=rating"))[5..], ["notes/dune.md#L6 \"5\""]);
    assert_eq!(shown(&as_ada("key=rating")), seen);
    assert_eq!(shown(&as_ada("key=secret_rating")), [""; 0]);
    assert_eq!(as_ada("key=secret_rating"), as_ada("key=no_rating"), "nothing tells that it is there");
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--agent", "ada"]));
    assert_eq!(shown(&mcp.tool("fact", json!({ "action": "list", "key": "rating" }))), seen);
    mcp.finish();
    let listed = vault.run(&["fact", "list", "--key", "rating", "--json"]).ok().json();
    assert_eq!(shown(&listed), shown(&as_owner("key=rating")));
    assert_eq!(vault.run(&["fact", "get", "notes/alien/rating"]).ok().stdout, "8\n");
    assert_eq!(shown(&as_owner("key=with")), ["notes/Alien.md#L7 \"Ann\""]);
    assert_eq!(shown(&as_owner("key=rating&scope=project:mech")), ["projects/mech/notes/eraser.md#L3 \"3\""]);
    assert_eq!(shown(&as_owner("key=rating&prefix=notes/c")), seen[3..]);
    assert_eq!(shown(&as_owner("namespace=notes/alien&key=rating")), seen[1..2]);
    assert_eq!(shown(&as_owner("key=rating&tag=none")), [""; 0], "they have no tags of their own");
    assert_eq!(shown(&as_owner("namespace=&key=rating")), seen[..1], "a fact by its exact name is that alone");
    let some = as_owner("key=rating&limit=3");
    assert_eq!((shown(&some).len(), &some["cut"]), (3, &json!(true)));
    // As it is edited.
    vault.write("notes/brazil.md", "# Brazil\n\n- stars:: 9.0\n").finds("stars", &["notes/brazil.md"]).settle();
    assert_eq!(shown(&vault.get("/api/facts?key=stars").json()), ["notes/brazil.md#L3 \"9.0\""]);
    assert!(!vault.get("/api/facts?key=rating").json().to_string().contains("brazil"));
}
