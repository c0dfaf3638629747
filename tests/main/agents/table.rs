//! Every agent asks for everything, by every way there is, in the vault with all notes and in one that has only those it sees:
//! the answers are the same bytes.

use super::world::{AGENTS, BY_MEANING, BY_WORDS, NOTES, hashes, token_of, world, world_with};
use crate::people::person;
#[cfg(feature = "postgres")]
use crate::pushing::{QueryServer, complete};
use crate::several::Server;
use crate::support::prelude::*;

/// A request that an agent makes: method, target and body.
pub type Asked = (&'static str, String, Option<Value>);

/// Words that hidden notes have, some of them alone.
const WORDS: [&str; 6] = ["quokka", "xylophone", "toothache", "marsupial", "quokka -noon", "\"hides a xylophone\""];

/// The vault of the table.
pub fn hidden_world() -> Daemon {
    world(None, 0)
}

/// Every way to ask for every thing.
pub fn every_request(all: &Daemon) -> Vec<Asked> {
    let mut asked: Vec<Asked> = Vec::new();
    let mut get = |target: String| asked.push(("GET", target, None));
    for word in WORDS.map(encode) {
        for more in [
            "", "&highlight=true", "&fresh=true", "&limit=1000", "&context=2", "&collection=notes",
            "&collection=journal", "&collection=agents",
        ] {
            get(format!("/api/user-memory/search?q={word}{more}"));
        }
        for more in [
            "tag=health", "tag=private", "tag=work", "path=notes/diary", "path=agents/", "until=2026-01-04",
            "mode=keyword", "layer=graph", "layer=notes", "layer=summaries",
        ] {
            get(format!("/api/user-memory/search?q={word}&{more}"));
        }
    }
    for target in [
        "/api/user-memory/stats", "/api/user-memory/collections", "/api/user-memory/folders", "/api/user-memory/tags",
        "/api/tags", "/agents", "/api/agents/zoe/trace", "/api/agents/ADA/trace", "/openapi.json", "/health", "/",
    ] {
        get(target.to_owned());
    }
    for (path, queries) in [
        ("/api/user-memory/browse", ", ?limit=1000, ?limit=1&offset=1, ?day=2026-01-04"),
        ("/api/user-memory/browse", "?collection=journal, ?collection=nothing, ?collection=agents"),
        ("/api/user-memory/notes", ", ?folder=notes&limit=2&offset=1, ?folder=journal, ?folder=nothing, ?tag=health"),
        (
            "/api/user-memory/notes",
            "?tag=zoo&since=2020-01-01, ?sort=name&limit=3, ?sort=size&until=2026-01-04, ?sort=luck",
        ),
        (
            "/api/user-memory/find",
            ", ?q=secret, ?q=quokak, ?q=quokka&kind=heading, ?q=%23, ?q=h&kind=tag, ?q=open%23, ?q=secret%23",
        ),
        ("/api/user-memory/find", "?q=zoo&limit=1, ?q=%23marsup, ?q=xyl, ?q=notes/"),
        ("/api/entries", ", ?agent=zoe, ?agent=ada&status=superseded, ?status=pending"),
        ("/api/entries", "?status=archived&tag=marsupial"),
        ("/api/agents/ada/trace", "?limit=1000"),
        ("/api/agents/nobody/trace", "?kind=error"),
        ("/api/facts", ", ?scope=*&history=true, ?scope=user, ?scope=project:zoo&expired=true, ?scope=project:none"),
        ("/api/facts", "?scope=agent:zoe, ?resolve=project:zoo,user&key=quokka, ?scope=*&as_of=2026-12-31"),
        ("/api/facts", "?scope=*&changed_since=2020-01-01, ?scope=*&tag=marsupial"),
        ("/api/facts", "?scope=user&namespace=animals&key=quokka"),
        ("/api/summaries", ", ?all=true, ?of=notes/open.md, ?of=notes/secret.md, ?of=notes/none.md"),
        ("/api/digest", ", ?day=2026-01-04, ?day=2026-01-02, ?week=2026-W01, ?week=2026-W02, ?day=never"),
        ("/api/graph", ", ?type=person, ?relation=eats&expired=true"),
    ] {
        queries.split(", ").for_each(|query| get(format!("{path}{query}")));
    }
    for (path, ..) in NOTES {
        get(format!("/api/user-memory/note?path={}", encode(path)));
        get(format!("/api/user-memory/links?path={}", encode(path)));
        get(format!("/api/user-memory/related?path={}", encode(path)));
        get(format!("/api/user-memory/related?path={}&line=5&limit=2", encode(path)));
        get(format!("/api/graph?name={}&depth=5&expired=true", encode(path)));
    }
    for path in
        ["notes/none.md", "../memory.toml", "memory.toml", "/etc/passwd", "agents/ada/agent.md", ".vault/owner-token"]
    {
        get(format!("/api/user-memory/note?path={}", encode(path)));
        get(format!("/api/user-memory/links?path={}", encode(path)));
        get(format!("/api/user-memory/related?path={}", encode(path)));
    }
    let known = hashes(all);
    let unknown = || ["0123456789abcdef".to_owned(), "x".to_owned()];
    for hash in known.iter().map(|(_, hash)| hash.clone()).chain(unknown()) {
        get(format!("/api/user-memory/chunk/{hash}"));
    }
    // What they remember themselves is theirs to delete.
    let own = |path: &str| AGENTS.iter().any(|agent| path.starts_with(&format!("agents/{agent}/")));
    let others = known.iter().filter(|(path, _)| !own(path)).map(|(_, hash)| hash.clone());
    asked.extend(others.chain(unknown()).map(|hash| post("/delete-chunk", json!({ "hash": hash }))));
    let known: Vec<String> = known.into_iter().map(|(_, hash)| hash).collect();
    asked.extend(owners_alone());
    asked.extend(as_qmd());
    asked.extend(of_own_memory(&known));
    asked.extend(contexts());
    asked.extend(into_notes());
    asked.extend(over_mcp(&known));
    asked
}

/// Edits of notes, which change nothing where the text is not there.
fn into_notes() -> Vec<Asked> {
    let mut asked = Vec::new();
    for path in NOTES.iter().map(|(path, ..)| *path).chain(["notes/none.md", "../memory.toml", "agents/ada/agent.md"]) {
        for old in ["quokka quokka quokka", "e"] {
            asked.push(post("/api/notes/suggest", json!({ "path": path, "old": old, "new": "x", "why": "x" })));
            asked.push(post("/api/notes/write", json!({ "path": path, "old": old, "new": "x" })));
        }
        asked.push(post("/api/notes/write", json!({ "path": path, "heading": "No such heading", "new": "x" })));
        asked.push(post("/api/notes/write", json!({ "path": path, "new": "x", "create": true, "old": "x" })));
        asked.push(post("/api/notes/write", json!({ "path": format!("{path}/a.md"), "new": "x", "create": true })));
    }
    asked
}

/// What a model would be given.
fn contexts() -> Vec<Asked> {
    let mut asked =
        vec![post("/api/context", json!({})), post("/api/context", json!({ "mode": "full", "budget": 5000 }))];
    let questions = [
        "what do you know about me", "What did I say about the quokka?", "what did we decide yesterday",
        "remember the Secret Plan",
    ];
    for query in WORDS.into_iter().chain(questions) {
        asked.push(post("/api/context", json!({ "query": query })));
        asked.push(post("/api/context", json!({ "query": query, "mode": "full" })));
        let sections = ["excerpts", "summaries", "transcript", "memories", "entries"];
        asked.push(post("/api/context", json!({ "query": query, "sections": sections })));
    }
    asked.extend(["ada", "zoe", "nobody"].map(|agent| post("/api/context", json!({ "agent": agent }))));
    asked
}

fn post(target: &str, body: Value) -> Asked {
    ("POST", target.to_owned(), Some(body))
}

/// The addresses of `qmd serve`, and what an agent is told of others.
fn as_qmd() -> Vec<Asked> {
    let mut asked = Vec::new();
    for target in ["/browse?limit=1000", "/browse?collection=journal", "/collections", "/status"] {
        asked.push(("GET", target.to_owned(), None));
    }
    for word in WORDS {
        let encoded = encode(word);
        for target in ["/search", "/vsearch", "/query"] {
            asked.push(("GET", format!("{target}?q={encoded}"), None));
            asked.push(("GET", format!("{target}?query={encoded}&tags=health&limit=1000"), None));
            asked.push(post(target, json!({ "query": word, "limit": 100 })));
            let narrowed = json!({ "query": word, "limit": 100, "collection": "journal", "tags": ["health"] });
            asked.push(post(target, narrowed));
        }
        let search = format!("/api/user-memory/agent-search?q={encoded}");
        asked.push(("GET", search.clone(), None));
        for name in ["ada", "bob", "eve", "zoe", "nobody", "", "ADA", "..", "ada%2F..%2Fzoe"] {
            asked.push(("GET", format!("{search}&agent_name={name}"), None));
        }
    }
    asked
}

/// The tools of an agent's own memory, where they change nothing.
fn of_own_memory(known: &[String]) -> Vec<Asked> {
    let mut asked = Vec::new();
    for word in WORDS {
        asked.push(post("/api/memory/search", json!({ "query": word, "limit": 50 })));
        asked.push(post("/api/memory/forget", json!({ "query": word, "dry_run": true })));
    }
    for hash in known {
        asked.push(post("/api/memory/get", json!({ "hash": hash })));
    }
    let own = ["MEMORY.md", "agent.md", "agents/bob/MEMORY.md", "../zoe/MEMORY.md"];
    for path in NOTES.iter().map(|(path, ..)| *path).chain(own) {
        asked.push(post("/api/memory/get", json!({ "path": path })));
        if path != "MEMORY.md" {
            asked.push(post("/api/memory/delete", json!({ "file": path, "whole_file": true })));
        }
    }
    asked.push(post("/api/memory/restore", json!({ "checkpoint_id": "20260101T000000000-0000" })));
    asked
}

/// Every tool, resource and prompt of MCP.
fn over_mcp(known: &[String]) -> Vec<Asked> {
    let to = |target: &str, method: &str, params: Value| {
        post(target, json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
    };
    let message = |method: &str, params: Value| to("/mcp?answers=structured", method, params);
    let tool = |name: &str, arguments: Value| message("tools/call", json!({ "name": name, "arguments": arguments }));
    let mut asked = vec![
        message("tools/list", json!({})),
        message("resources/list", json!({})),
        message("resources/templates/list", json!({})),
        message("prompts/list", json!({})),
        tool("status", json!({})),
        tool("get", json!({ "glob": "**" })),
        tool("no_such_tool", json!({})),
        tool("memory", json!({ "action": "list" })),
        // As text, for clients that show nothing else.
        to("/mcp", "tools/call", json!({ "name": "status" })),
        to("/mcp", "tools/call", json!({ "name": "get", "arguments": { "glob": "**" } })),
    ];
    for word in WORDS {
        for mode in ["keyword", "semantic", "hybrid", "deep"] {
            asked.push(tool("search", json!({ "mode": mode, "query": word, "limit": 50 })));
            asked.push(tool("search", json!({ "mode": mode, "query": word, "collection": "journal" })));
            let search = json!({ "name": "search", "arguments": { "mode": mode, "query": word } });
            asked.push(to("/mcp", "tools/call", search));
        }
        asked.push(tool("memory", json!({ "action": "search", "query": word })));
        asked.push(tool("graph", json!({ "name": word })));
    }
    for (path, ..) in NOTES {
        asked.push(tool("get", json!({ "what": path })));
        asked.push(tool("get", json!({ "what": path, "line": 1, "lines": 9 })));
        asked.push(tool("get", json!({ "list": [path, "notes/open.md"] })));
        asked.push(tool("get", json!({ "glob": path })));
        asked.push(tool("search", json!({ "query": "the", "path": path })));
        asked.push(message("resources/list", json!({ "cursor": format!("after:vault://{path}") })));
        asked.push(tool("fetch", json!({ "id": path })));
        asked.push(tool("fetch", json!({ "id": format!("{path}#L1-L2") })));
        asked.push(tool("related", json!({ "what": path })));
        asked.push(tool("graph", json!({ "name": path, "depth": 3 })));
        asked.push(tool("memory", json!({ "action": "get", "path": path })));
        asked.push(message("resources/read", json!({ "uri": format!("vault://{path}") })));
    }
    for hash in known {
        asked.push(tool("get", json!({ "what": hash })));
        asked.push(tool("fetch", json!({ "id": hash })));
        asked.push(tool("related", json!({ "what": hash })));
        asked.push(tool("memory", json!({ "action": "get", "hash": hash })));
    }
    asked
}

/// What only the person may ask, whatever it is about.
fn owners_alone() -> Vec<Asked> {
    let hash = "0123456789abcdef";
    let mut asked = vec![
        post("/api/user-memory/save", json!({ "content": "x" })),
        post("/api/user-memory/note", json!({ "path": "notes/secret.md", "text": "x" })),
        post("/api/user-memory/task", json!({ "path": "notes/secret.md", "line": 1, "done": true })),
        (
            "PUT",
            "/api/user-memory/note".into(),
            Some(json!({ "path": "notes/secret.md", "if_hash": hash, "text": "x" })),
        ),
        post("/api/user-memory/capture", json!({ "text": "x", "to": "notes/secret.md" })),
        post("/api/user-memory/drop?name=secret.md", json!({})),
        post("/api/user-memory/forget", json!({ "path": "notes/secret.md" })),
        post("/api/user-memory/forget", json!({ "path": "notes/none.md" })),
        post("/api/user-memory/annotate", json!({ "hash": hash, "note": "x" })),
        post("/api/user-memory/checkpoints/x/restore", json!({})),
        post("/api/conflicts/keep", json!({ "path": "notes/secret.md", "keep": "ours" })),
        post("/api/entries/edit", json!({ "id": "e-1", "text": "x" })),
        post("/api/entries/remove", json!({ "id": "e-1" })),
        post("/api/entries/rewrite", json!({ "content": "" })),
        post("/api/review", json!({ "decisions": [{ "id": "e-1", "accept": true }] })),
        post("/api/review/suggestions", json!({ "decisions": [{ "id": "ada/x", "accept": true }] })),
        post("/api/review/checks", json!({ "id": "e-1", "answer": "yes" })),
        post("/api/forgotten/1/lift", json!({})),
        post("/api/summaries/make", json!({})),
        post("/api/summaries/make", json!({ "of": "notes/secret.md" })),
        post("/api/digest", json!({ "day": "2026-01-04" })),
        post("/api/user-memory/events", json!([])),
        post("/api/import", json!({ "kind": "chatgpt", "source": "x" })),
        post("/memory/ingest", json!({ "agent_id": "a", "conversation_id": "c", "turns": [] })),
        post("/api/profile/regenerate", json!({})),
        ("PUT", "/api/profile/user".into(), Some(json!({ "name": "Mallory" }))),
        post("/reindex", json!({})),
        post("/verify", json!({})),
        ("GET", "/api/processing".to_owned(), None),
        post("/api/processing/retry", json!({})),
        post("/api/processing/sync", json!({})),
        post("/api/processing/clear", json!({})),
        post("/model/gc", json!({})),
        post("/model/reload", json!({})),
        post("/api/agents", json!({ "name": "Mallory", "rules": { "can_read_user_memory": true } })),
        post("/api/agents/ada/rotate", json!({})),
        post("/api/sessions", json!({})),
        post("/api/shares", json!({ "path": "notes/secret.md" })),
        post("/api/shares/end", json!({ "link": "notes/secret.md" })),
        post("/api/ask", json!({ "question": "quokka" })),
        post("/api/sessions/end", json!({ "all_but": "x" })),
        ("PATCH", "/api/agents/ada/librarian".into(), Some(json!({ "enabled": true }))),
        ("PATCH", "/api/agents/ada".into(), Some(json!({ "can_read_user_memory": true }))),
        ("PUT", "/api/user-memory/settings".into(), Some(json!({ "capture_searches": true }))),
        ("DELETE", format!("/api/user-memory/chunk/{hash}"), None),
        ("DELETE", "/api/agents/zoe".into(), None),
    ];
    for target in [
        "/events",
        "/api/profile",
        "/api/user-memory/settings",
        "/api/user-memory/checkpoints",
        "/api/user-memory/text?path=notes/secret.md",
        "/api/user-memory/versions?path=notes/secret.md",
        "/api/user-memory/version?id=x",
        "/api/user-memory/mentions?path=notes/secret.md",
        "/api/user-memory/file?path=notes/secret.png",
        "/api/user-memory/days?from=2026-01-01&until=2026-01-31",
        "/api/attachments",
        "/api/conflicts",
        "/api/forgotten",
        "/api/review",
        "/api/review?agent=zoe",
        "/api/user-memory/links/unresolved",
        "/api/log",
        "/api/log?path=notes/secret.md",
        "/api/agents",
        "/api/agents/zoe",
        "/api/agents/nobody",
        "/api/agents/ada/log",
        "/api/agents/ada/librarian",
        "/api/sessions",
        "/api/shares",
        "/api/conflicts/difference?path=notes/secret.md",
        "/api/agents/ada/explain?what=notes/secret.md",
    ] {
        asked.push(("GET", target.to_owned(), None));
    }
    asked
}

fn ask(vault: &Daemon, token: &str, asked: &Asked) -> (u16, String) {
    answer(|request| vault.send(request), "", token, asked)
}

fn answer(send: impl Fn(&Request) -> Reply, at: &str, token: &str, (method, target, body): &Asked) -> (u16, String) {
    let mut request = Request::new(method, &format!("{at}{target}")).bearer(token);
    if let Some(body) = body {
        request = request.json(body.to_string()).header("Accept", "application/json, text/event-stream");
    }
    let reply = send(&request);
    (reply.status, without_fences(&String::from_utf8(reply.body).unwrap()))
}

/// An answer without the digits of the fences in it, which are others in each process.
fn without_fences(answer: &str) -> String {
    let mut parts = answer.split("=== ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| match part.split_once(" ===") {
        Some((digits, rest)) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => all + "=== x ===" + rest,
        _ => all + "=== " + part,
    })
}

/// The whole table: agents × ways to ask × things seen, hidden, private and not there.
#[test]
fn what_is_hidden_is_as_if_it_were_not_there() {
    compare_all(BY_WORDS);
}

/// The same where the bundled model is asked, so that scores of every kind are compared.
#[test]
fn what_is_hidden_is_as_if_it_were_not_there_by_its_meaning_either() {
    compare_all(BY_MEANING);
}

fn compare_all(model: &str) {
    let mut all = world_with(model, None, 0);
    // What the person has forgotten for good shows no more than what is hidden.
    all.write("notes/purged.md", "A quokka marsupial was here at noon, and is forgotten.\n");
    all.run(&["forget", "notes/purged.md", "--purge", "--yes"]).ok();
    all.settle();
    let requests = every_request(&all);
    for agent in AGENTS {
        let reference = world_with(model, Some(agent), 0);
        let tokens = (token_of(&all, agent), token_of(&reference, agent));
        for asked in &requests {
            let (got, expected) = (ask(&all, &tokens.0, asked), ask(&reference, &tokens.1, asked));
            assert_eq!(got, expected, "{agent} {asked:?}");
            assert!(got.0 < 500, "{agent} {asked:?} {got:?}");
        }
    }
    // The table would hold if nobody saw anything.
    let found = all.get_as(&token_of(&all, "ada"), "/api/user-memory/search?q=quokka&limit=100").json();
    let seen = found["results"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap());
    let expected = NOTES.iter().filter(|(.., seen)| seen.contains(&"ada")).map(|(path, ..)| *path);
    assert_eq!(seen.collect::<BTreeSet<_>>(), expected.collect::<BTreeSet<_>>());
}

/// What Ada may read, as the page of a person says it.
const SAM: &str = "---\nvaults:\n  family:\n    right: editor\n    collections: [notes, annotations, summaries, memories]\n    \
    exclude_tags: [health]\n    paths: [\"**\", \"!notes/diary/**\"]\n---\n";

/// The same for a person who has a part of a vault of a server: the same bytes, whatever is hidden.
#[test]
fn what_is_hidden_from_a_person_is_as_if_it_were_not_there() {
    let mut worlds = [world(None, 0), world(Some("ada"), 0)];
    let mut requests = every_request(&worlds[0]);
    // Whoever makes a note is told that its name is taken, as docs/people.md says.
    requests.retain(|(method, target, _)| (*method, target.as_str()) != ("POST", "/api/user-memory/note"));
    for path in NOTES.iter().map(|(path, ..)| *path).chain(["notes/none.md", "../memory.toml"]) {
        let edit = json!({ "path": path, "text": "x", "if_hash": "x" });
        requests.push(("PUT", "/api/user-memory/note".into(), Some(edit)));
        requests.push(("GET", format!("/api/user-memory/text?path={}", encode(path)), None));
        requests.push(("GET", format!("/share/{}", encode(path)), None));
    }
    let servers = worlds.each_mut().map(|world| {
        world.terminate();
        let mut server = Server::of(&[], &format!("[[vaults]]\nname = \"family\"\npath = {:?}\n", world.path("")));
        server.write("people/sam.md", SAM);
        let token = person(&server, &["token", "sam"]).ok().stdout.trim().to_owned();
        let owner = fs::read_to_string(world.path(".vault/owner-token")).unwrap();
        let status = Request::get("/v/family/status").bearer(owner.trim());
        until("the vault to be read", || server.send(&status).ok()["caught_up"] == true);
        (server, token)
    });
    let told = |asked: &Asked| {
        servers.each_ref().map(|(server, token)| answer(|request| server.send(request), "/v/family", token, asked))
    };
    let mut seen = 0;
    for asked in &requests {
        let [got, expected] = told(asked);
        assert_eq!(got, expected, "{asked:?}");
        assert!(got.0 < 500, "{asked:?} {got:?}");
        seen += usize::from(got.0 == 200 && got.1.contains("quokka"));
    }
    // It would hold if nobody saw anything.
    assert!(seen > 50, "{seen}");
}

/// The same in a copy of the index, which servers without the vault search: the same bytes.
#[cfg(feature = "postgres")]
#[test]
fn what_is_hidden_is_as_if_it_were_not_there_in_a_copy_either() {
    let copied = |mut vault: Daemon, agents: &[&str]| {
        let address = postgres::database()?;
        let tokens: Vec<String> = agents.iter().map(|agent| token_of(&vault, agent)).collect();
        vault.terminate();
        let config = fs::read_to_string(vault.path("memory.toml")).unwrap();
        vault.write("memory.toml", format!("{config}\n[remote]\nurl = \"{address}\"\nvault = \"v\"\n"));
        vault.start();
        complete(&vault);
        Some((QueryServer::of(&[&address], &[]), tokens, vault))
    };
    let Some((all, tokens_of_all, _all)) = copied(world(None, 0), &AGENTS) else { return };
    let mut requests: Vec<Asked> = vec![("GET", "/vaults".into(), None)];
    for word in WORDS.iter().copied().chain(["#health", "in:journal", "tag:work boat", "quokak"]).map(encode) {
        for more in ["", "&limit=100", "&collection=notes", "&collection=journal", "&tag=health", "&path=notes/diary"] {
            requests.push(("GET", format!("/search?mode=keyword&q={word}{more}"), None));
        }
        requests.push(("GET", format!("/vaults/v/search?q={word}"), None));
        requests.push(("GET", format!("/?q={word}"), None));
        let arguments = json!({ "query": word, "mode": "keyword", "limit": 100 });
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "search", "arguments": arguments },
        });
        requests.push(post("/mcp", call));
    }
    for path in NOTES.iter().map(|(path, ..)| *path).chain(["notes/none.md", "../memory.toml", "agents/ada/agent.md"]) {
        requests.push(("GET", format!("/vaults/v/note?path={}", encode(path)), None));
        requests.push(("GET", format!("/?vault=v&path={}", encode(path)), None));
    }
    let mut seen = 0;
    for (at, agent) in AGENTS.iter().enumerate() {
        let (reference, tokens, _reference) = copied(world(Some(agent), 0), &[agent]).expect("there is a server");
        for asked in &requests {
            let got = answer(|request| all.send(request), "", &tokens_of_all[at], asked);
            let expected = answer(|request| reference.send(request), "", &tokens[0], asked);
            assert_eq!(got, expected, "{agent} {asked:?}");
            assert!(got.0 < 500, "{agent} {asked:?} {got:?}");
            seen += usize::from(got.0 == 200 && got.1.contains("quokka"));
        }
    }
    // It would hold if nobody saw anything.
    assert!(seen > 20, "{seen}");
}

#[test]
fn who_may_not_read_is_told_nothing_and_only_the_person_does_what_is_the_persons() {
    let mut vault = world(None, 0);
    // Only the person may do what is the person's.
    let tokens = AGENTS.map(|agent| token_of(&vault, agent));
    for asked in owners_alone() {
        for token in &tokens {
            let (status, body) = ask(&vault, token, &asked);
            assert_eq!(status, 403, "{asked:?} {body}");
        }
        assert_eq!(ask(&vault, "wrong", &asked).0, 401, "{asked:?}");
    }
    // Who may not read is told nothing.
    // Those who may read nothing are told nothing: a token that is over or wrong, or that only sends events.
    let capture = vault.run(&["token", "add", "--capture", "browser"]).ok().stdout.trim().to_owned();
    let (over, gone) = (token_of(&vault, "ada"), token_of(&vault, "bob"));
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\nexpires: 2020-01-01\n---\n");
    vault.run(&["agent", "remove", "bob"]).ok();
    let is_open = |target: &str| target == "/" || target == "/health";
    for asked in every_request(&vault).iter().filter(|(_, target, _)| !is_open(target)) {
        for token in [over.as_str(), &gone, "", "wrong", "x\u{e9}"] {
            let (status, body) = ask(&vault, token, asked);
            assert_eq!(status, 401, "{asked:?} {body}");
            assert!(body.contains("a token is required") && !body.contains("quokka"), "{asked:?} {body}");
        }
        if !["/api/user-memory/events", "/memory/ingest"].contains(&asked.1.as_str()) {
            assert_eq!(ask(&vault, &capture, asked).0, 403, "{asked:?}");
        }
    }
}

/// A crowd of private notes changes no byte of what an agent is told, scores included.
#[test]
fn a_thousand_hidden_notes_change_no_answer() {
    let (few, many) = (world(None, 0), world(None, 1000));
    let tokens = (token_of(&few, "ada"), token_of(&many, "ada"));
    let mut targets = ["stats", "browse?limit=1000", "collections"].map(str::to_owned).to_vec();
    for word in ["quokka", "quokka marsupial house", "noon", "crowd", "marsupial -noon"].map(encode) {
        targets.extend(["", "&limit=100", "&collection=notes"].map(|more| format!("search?q={word}{more}")));
    }
    for target in targets.iter().map(|target| format!("/api/user-memory/{target}")) {
        assert_eq!(few.told(&tokens.0, &target), many.told(&tokens.1, &target), "{target}");
    }
}
