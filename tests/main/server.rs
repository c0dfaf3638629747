//! The real server over TCP: who is let in, what each route answers, and what bad requests get.

use base64::Engine;

use crate::support::prelude::*;

const SEARCH: &str = "/api/user-memory/search";

/// A daemon over three notes.
fn daemon() -> Daemon {
    Daemon::vault()
        .with("notes/bread.md", "---\ntags: [food]\ntitle: Bread\n---\n# Bread\n\nThe dough rests overnight.\n")
        .with("notes/tea.md", "Green tea, 80 degrees.")
        .with("facts.md", "I like tea.")
        .started()
}

#[test]
fn who_is_let_in_by_which_token_host_and_page() {
    let daemon = daemon();
    // Health needs no token and says nothing else.
    let reply = daemon.send(&Request::get("/health"));
    assert_eq!((reply.status, reply.json().to_string().as_str()), (200, r#"{"status":"ok"}"#));
    // Everything else needs the token.
    for target in ["/status", SEARCH, "/none"] {
        let reply = daemon.send(&Request::get(target));
        assert!(reply.status == 401 && reply.header("www-authenticate").is_some(), "{target}");
        assert_eq!(daemon.get_as("0123456789abcdef", target).status, 401, "{target}");
    }
    // The token is taken as Bearer and as Basic.
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("owner:{}", daemon.token()));
    for value in [format!("Bearer {}", daemon.token()), format!("Basic {basic}")] {
        assert_eq!(daemon.send(&Request::get("/status").header("Authorization", &value)).status, 200);
    }
    let wrong = base64::engine::general_purpose::STANDARD.encode("owner:nothing");
    assert_eq!(daemon.send(&Request::get("/status").header("Authorization", &format!("Basic {wrong}"))).status, 401);
    // Other hosts and pages are refused even with the token.
    for (name, value) in [
        ("Host", "evil.example"),
        ("Host", "localhost.evil.example:1"),
        ("Host", "localhost:evil.example"),
        ("Origin", "http://localhost:80@evil.example"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
    ] {
        let reply = daemon.ask(Request::get("/status").header(name, value));
        assert_eq!(reply.status, 403, "{name}: {value}");
        reply.error();
        assert_eq!(daemon.ask(Request::get("/health").header(name, value)).status, 403, "{name}: {value}");
    }
    assert_eq!(daemon.ask(Request::get("/status").header("Host", daemon.address())).status, 200);
    // A body is small where no token is needed.
    let code = |length: usize| format!(r#"{{"code":"{}"}}"#, "x".repeat(length));
    let small = daemon.send(&Request::new("POST", "/page/token").json(code(64)));
    assert_eq!((small.status, small.error().as_str()), (401, "this code was already used, or has expired"));
    let large = daemon.send(&Request::new("POST", "/page/token").json(code(2000)));
    assert_eq!((large.status, large.error().as_str()), (413, "the body has more than 1024 bytes"));
    // Said beforehand, none of it is waited for; not said, it is counted.
    let announced = "POST /page/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n";
    let head = "POST /page/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    for bytes in [announced, &format!("{head}7d0\r\n{}\r\n", " ".repeat(2000))] {
        assert_eq!(send_raw(daemon.address(), bytes).1, "413");
    }
}

#[test]
fn every_route_has_its_shape_and_is_described() {
    let daemon = daemon();
    // Every route has its shape.
    let reply = daemon.get(&format!("{SEARCH}?q=dough&limit=1"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let found = reply.json();
    assert_eq!((&found["query"], &found["mode"]), (&"dough".into(), &"keyword".into()));
    assert!(found["degraded"].is_null(), "{found}");
    let by_meaning = daemon.get(&format!("{SEARCH}?q=dough&mode=semantic")).json();
    assert!(by_meaning["degraded"].as_str().unwrap().contains("`embed.model`"), "{by_meaning}");
    let hit = &found["results"][0];
    for (key, expected) in [
        ("collection", "notes"),
        ("path", "notes/bread.md"),
        ("title", "Bread"),
        ("citation", "notes/bread.md#L5-L7"),
        ("content", "# Bread\n\nThe dough rests overnight."),
    ] {
        assert_eq!(hit[key], expected, "{key}");
    }
    assert_eq!((&hit["tags"][0], &hit["metadata"]["title"]), (&"food".into(), &"Bread".into()));
    assert!(hit["score"].is_f64() && hit["scores"]["keyword"].is_f64() && hit["scores"]["semantic"].is_null());
    assert!(hit["obsidian_url"].as_str().unwrap().starts_with("obsidian://open?path=%2F"), "{hit}");

    let hash = hit["hash"].as_str().unwrap();
    let chunk = daemon.get(&format!("/api/user-memory/chunk/{hash}")).json();
    assert_eq!((&chunk["hash"], &chunk["content"]), (&hit["hash"], &hit["content"]));

    let browse = daemon.get("/api/user-memory/browse?collection=notes&limit=1&offset=1").json();
    assert_eq!((&browse["total"], browse["chunks"].as_array().unwrap().len()), (&2.into(), 1));
    let stats = daemon.get("/api/user-memory/stats").json();
    assert_eq!((&stats["total"], &stats["collections"]["notes"], &stats["files"]), (&3.into(), &2.into(), &3.into()));
    let collections = daemon.get("/api/user-memory/collections").json();
    assert_eq!(collections.to_string(), r#"{"collections":["notes","vault"]}"#);
    let status = daemon.status();
    for key in ["pending_files", "pending_embeddings", "embedded", "index_bytes", "problems", "model", "watching"] {
        assert!(!status[key].is_null(), "{key}: {status}");
    }
    // The OpenAPI document is one.
    let document = daemon.get("/openapi.json").json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    let paths = document["paths"].as_object().unwrap().values();
    for operation in paths.flat_map(|methods| methods.as_object().unwrap().values()) {
        assert!(operation["operationId"].is_string(), "{operation}");
    }
    assert!(document["paths"][SEARCH]["get"]["responses"]["200"]["content"].is_object());
    let parameters = document["paths"][SEARCH]["get"]["parameters"].as_array().unwrap();
    let required: Vec<&Value> =
        parameters.iter().filter(|one| one["required"] == true).map(|one| &one["name"]).collect();
    assert_eq!(required, ["q"]);
    references(&document, &document);
    // A connection is kept for many requests.
    let mut connection = Connection::open(daemon.address());
    for at in 0..50 {
        let (target, status) = if at % 3 == 0 { ("/nothing", 404) } else { ("/api/user-memory/stats", 200) };
        let reply = connection.send(&Request::get(target).bearer(daemon.token())).expect("still open");
        assert_eq!(reply.status, status);
    }
    // Eight clients at a time get the same answer.
    let ask = || {
        let mut answer = daemon.get(&format!("{SEARCH}?q=tea+dough&mode=keyword")).json();
        answer["took_ms"].take();
        answer
    };
    let expected = ask();
    assert_eq!(expected["results"].as_array().unwrap().len(), 3);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..25).for_each(|_| assert_eq!(ask(), expected)));
        }
    });
}

#[test]
fn what_makes_no_sense_is_refused_and_named() {
    let daemon = daemon();
    // What is not there and wrong methods are JSON errors.
    assert_eq!(daemon.get("/nothing/here").status, 404);
    daemon.get("/nothing/here").error();
    for (method, target) in [("POST", "/status"), ("DELETE", SEARCH), ("GET", "/reindex")] {
        let reply = daemon.ask(Request::new(method, target));
        assert_eq!(reply.status, 405, "{method} {target}");
        reply.error();
    }
    assert_eq!(daemon.ask(Request::new("HEAD", "/status")).status, 200);
    // A bad parameter is named.
    for (query, name) in [
        ("", "q"),
        ("q=x&limit=0", "limit"),
        ("q=x&limit=1001", "limit"),
        ("q=x&limit=-1", "limit"),
        ("q=x&limit=abc", "limit"),
        ("q=x&limit=99999999999999999999999", "limit"),
        ("q=x&limit=", "limit"),
        ("q=x&mode=psychic", "mode"),
        ("q=x&layer=cellar", "layer"),
        ("q=x&since=last+year", "since"),
        ("q=x&until=2026-02-31", "until"),
        ("q=x&colection=notes", "colection"),
        ("q=x&q=y", "q"),
    ] {
        let reply = daemon.get(&format!("{SEARCH}?{query}"));
        assert_eq!(reply.status, 400, "{query}: {}", reply.json());
        assert!(reply.error().contains(name), "{query}: {}", reply.error());
    }
    for (query, name) in [("limit=0", "limit"), ("offset=-1", "offset"), ("offset=x", "offset"), ("what=x", "what")] {
        let reply = daemon.get(&format!("/api/user-memory/browse?{query}"));
        assert_eq!(reply.status, 400, "{query}: {}", reply.json());
        assert!(reply.error().contains(name), "{query}: {}", reply.error());
    }
    assert_eq!(
        daemon.get("/api/user-memory/browse?offset=18446744073709551615").json()["chunks"],
        Value::Array(vec![])
    );
    // Hashes that are none are refused.
    for hash in [
        "x", "0123", "..%2f..%2fmemory.toml", "%2e%2e", "..%5c..", "zzzzzzzzzzzzzzzz", "%00", "%ff",
        "0123456789abcdef0",
    ] {
        let reply = daemon.get(&format!("/api/user-memory/chunk/{hash}"));
        assert!(matches!(reply.status, 400 | 404), "{hash}: {}", reply.status);
        reply.error();
    }
    let reply = daemon.get("/api/user-memory/chunk/0123456789abcdef");
    assert_eq!(reply.status, 404);
    reply.error();
    for bad in ["%ff", "%", "%zz", "%c3%28"] {
        assert!(matches!(daemon.get(&format!("{SEARCH}?q={bad}")).status, 200 | 400), "{bad}");
    }
    // A huge query is refused.
    let reply = daemon.get(&format!("{SEARCH}?q={}", "x".repeat(20_000)));
    assert_eq!(reply.status, 400);
    assert!(reply.error().contains("`q` has 20000 bytes"), "{}", reply.error());
    let megabyte = Request::get(&format!("{SEARCH}?q={}", "x".repeat(1 << 20)));
    // The HTTP library refuses so long an address by itself, and hangs up while it is still being sent.
    if let Some(reply) = Connection::open(daemon.address()).send(&megabyte) {
        assert!((400..500).contains(&reply.status), "{}", reply.status);
    }
    assert_eq!(daemon.find("dough"), ["notes/bread.md"], "the server goes on");
    // A body that is no request is refused.
    for body in ["{\"full\": 1}", "{\"ful\": true}"] {
        let reply = daemon.ask(Request::new("POST", "/reindex").json(body));
        assert!((400..500).contains(&reply.status), "{body:.20}: {}", reply.status);
        reply.error();
    }
    assert_eq!(daemon.ask(Request::new("POST", "/reindex").json("{}")).json()["ok"], true);
}

/// Every `$ref` leads somewhere.
fn references(value: &Value, document: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
                let pointer = target.strip_prefix('#').expect("a local reference");
                assert!(document.pointer(pointer).is_some(), "{target} leads nowhere");
            }
            fields.values().for_each(|value| references(value, document));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, document)),
        _ => {}
    }
}

#[test]
fn addresses_that_others_can_reach_are_not_listened_on_unless_it_is_said() {
    let mut vault = Daemon::vault();
    for host in ["0.0.0.0", "[::]", "::"] {
        let refused = vault.run(&["serve", "--port", "0", "--host", host]);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("--allow-remote") && !vault.path(".vault/daemon.json").exists());
    }
    vault.write("memory.toml", "[server]\nhost = \"0.0.0.0\"\n[embed]\nmodel = \"none\"\n");
    assert!(vault.run(&["serve", "--port", "0"]).stderr.contains("--allow-remote"));
    let mut child = vault
        .command(&["serve", "--port", "0", "--allow-remote"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the daemon", || vault.path(".vault/daemon.json").exists());
    child.kill().unwrap();
    child.wait().unwrap();
}
