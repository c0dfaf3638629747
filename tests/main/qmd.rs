//! The addresses of `qmd serve`, as its clients use them, and as nobody should.

use base64::Engine;

use crate::support::prelude::*;

/// A daemon over four notes.
fn daemon() -> Daemon {
    Daemon::vault()
        .with("notes/bread.md", "---\ntags: [food, food/baking, slow]\n---\n# Bread\n\nThe dough rests overnight.\n")
        .with("notes/tea.md", "---\ntags: [food]\n---\n# Tea\n\nGreen tea rests for two minutes.\n")
        .with("projects/boat.md", "---\ntags: [slow]\n---\n# Boat\n\nThe hull rests on two beams.\n")
        .with("facts.md", "I like tea.\n")
        .started()
}

fn paths(hits: &Value) -> Vec<String> {
    let mut paths = column(hits, "path");
    paths.sort();
    paths
}

/// The answer, which must be a good one.
#[track_caller]
fn good(reply: Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    assert_eq!(reply.header("content-type"), Some("application/json"));
    reply.json()
}

#[test]
fn what_qmds_clients_ask_is_answered_in_qmds_shapes() {
    let daemon = daemon();
    // Every search takes its question in the address and in the body.
    for (address, mode) in [("/search", "keyword"), ("/vsearch", "semantic"), ("/query", "hybrid")] {
        let by_body = good(daemon.post(address, &json!({"query": "rests", "limit": 2})));
        let in_address = good(daemon.get(&format!("{address}?q=rests&limit=2")));
        for (one, other) in [("query", "q"), ("q", "query")] {
            assert_eq!(good(daemon.post(address, &json!({one: "rests", "limit": 2})))["items"], by_body["items"]);
            assert_eq!(good(daemon.get(&format!("{address}?{other}=rests&limit=2")))["items"], by_body["items"]);
        }
        assert_eq!(
            (&by_body["results"], &by_body["items"]),
            (&in_address["results"], &in_address["items"]),
            "{address}"
        );
        assert_eq!((&by_body["results"], by_body["total"].as_u64()), (&by_body["items"], Some(2)), "{address}");
        for key in
            ["hash", "collection", "path", "title", "content", "snippet", "citation", "score", "tags", "metadata"]
        {
            assert!(!by_body["items"][0][key].is_null(), "{key}: {by_body}");
        }
        // Without a model the words answer for the meaning, and the answer says so where that alone was asked.
        assert_eq!(by_body["degraded"].is_string(), mode == "semantic", "{by_body}");
        let chosen = good(daemon.post(address, &json!({"query": "rests", "mode": "keyword"})));
        assert_eq!((&chosen["mode"], &chosen["degraded"]), (&"keyword".into(), &Value::Null));
    }
    // All tags that are named must be there.
    for (tags, expected) in [
        (json!(["food"]), vec!["notes/bread.md", "notes/tea.md"]),
        (json!(["food", "slow"]), vec!["notes/bread.md"]),
        (json!(["#Food/Baking"]), vec!["notes/bread.md"]),
        (json!(["food", "none"]), vec![]),
        (json!([]), vec!["notes/bread.md", "notes/tea.md", "projects/boat.md"]),
        (json!([""]), vec!["notes/bread.md", "notes/tea.md", "projects/boat.md"]),
        (Value::Null, vec!["notes/bread.md", "notes/tea.md", "projects/boat.md"]),
    ] {
        let found = good(daemon.post("/search", &json!({"query": "rests", "tags": tags})));
        assert_eq!(paths(&found["items"]), expected, "{tags}");
    }
    for (tags, expected) in [("food,slow", 1), ("food", 2), ("slow", 2), ("", 3)] {
        let found = good(daemon.get(&format!("/search?q=rests&tags={tags}")));
        assert_eq!(found["total"], expected, "{tags}");
    }
    let person = good(daemon.get("/api/user-memory/search?q=rests&tag=food,slow"));
    assert_eq!(paths(&person["results"]), ["notes/bread.md"]);
    // What qmd clients send besides is passed over.
    let asked = json!({"query": "tea", "limit": 5, "collection": "notes", "tags": null, "rerank": true, "minScore": 0.2,
        "intent": "drinks", "dbPath": null, "collections": ["x"]});
    assert_eq!(paths(&good(daemon.post("/search", &asked))["items"]), ["notes/tea.md"]);
    assert_eq!(good(daemon.get("/search?q=tea&collection=&min_score=1&full=true&dbPath="))["total"], 2);
    assert_eq!(good(daemon.get("/browse?limit=1&offset=1&full=1"))["offset"], 1);
    // Browsing, counting and listing have qmd's shapes.
    let page = good(daemon.get("/browse?limit=1&offset=1&collection=notes"));
    assert_eq!((page["chunks"].as_array().unwrap().len(), &page["total"], &page["offset"]), (1, &2.into(), &1.into()));
    assert!(page["chunks"][0]["hash"].is_string() && page["chunks"][0]["content"].is_string());
    let collections = good(daemon.get("/collections"));
    let names: Vec<&Value> = collections.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["notes", "projects", "vault"]);
    assert_eq!((&collections[0]["files"], &collections[0]["chunks"]), (&2.into(), &2.into()));
    assert!(good(daemon.get("/status"))["files"].is_u64());
    assert_eq!(daemon.send(&Request::get("/health")).json(), json!({"status": "ok"}));
    // One hit is the same at every address.
    let person = good(daemon.get("/api/user-memory/search?q=dough&mode=keyword"));
    let agent = good(daemon.post("/search", &json!({"query": "dough"})));
    assert_eq!(agent["results"], person["results"]);
    assert_eq!((&agent["query"], &agent["mode"]), (&person["query"], &person["mode"]));
    // Without a model nothing is embedded, and the answer says why.
    let reply = daemon.post("/embed", &json!({"text": "tea"}));
    assert_eq!(reply.status, 503);
    assert!(reply.error().contains("the model is off"), "{}", reply.error());
    // The token may be in the header or the name before the host.
    let basic = |text: String| format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(text));
    let token = daemon.token();
    let ask = |value: &str| daemon.send(&Request::get("/search?q=tea").header("Authorization", value)).status;
    for good in
        [format!("Bearer {token}"), basic(format!("{token}:")), basic(token.into()), basic(format!("x:{token}"))]
    {
        assert_eq!(ask(&good), 200, "{good}");
    }
    for bad in [
        String::new(),
        "Bearer".into(),
        "Bearer ".into(),
        format!("Bearer {token}0"),
        format!("Bearer {}", &token[1..]),
        format!("Bearer {}", token.to_uppercase()),
        format!("Token {token}"),
        token.into(),
        "Basic".into(),
        "Basic !!!".into(),
        basic(String::new()),
        basic(":".into()),
        basic(format!("{token}:wrong")),
        "Basic /////w==".into(),
        format!("Bearer {}", "a".repeat(4000)),
        format!("Bearer {token}, Bearer {token}"),
    ] {
        assert_eq!(ask(&bad), 401, "{bad:.60}");
    }
}

#[test]
fn what_is_ingested_is_a_note_that_is_found_at_once_and_can_be_deleted() {
    let daemon = daemon();
    let asked = json!({"content": "Quinces ripen late.", "title": "Quinces", "collection": "garden",
        "metadata": {"source_id": "q1", "title": "not this one", "tags": ["fruit"]}});
    for address in ["/ingest", "/embed"] {
        let saved = good(daemon.post(address, &asked));
        assert_eq!((&saved["ok"], &saved["path"]), (&true.into(), &"garden/quinces.md".into()));
        assert!(saved["hash"].as_str().is_some_and(|hash| hash.len() == 16), "{saved}");
    }
    let hit = good(daemon.post("/search", &json!({"query": "quinces"})))["items"][0].clone();
    assert_eq!(
        (&hit["title"], &hit["tags"], &hit["metadata"]["source_id"]),
        (&"Quinces".into(), &json!(["fruit"]), &"q1".into())
    );
    let deleted = good(daemon.post("/delete-chunk", &json!({"hash": hit["hash"]})));
    assert!(deleted["ok"] == true && deleted["checkpoint_id"].is_string(), "{deleted}");
    assert_eq!(good(daemon.get("/search?q=quinces"))["total"], 0);
    let again = daemon.post("/delete-chunk", &json!({"hash": hit["hash"]}));
    assert_eq!(again.status, 404, "{}", again.json());
    let knowledge =
        json!({"collection": "knowledge", "path": "knowledge/7/chunk_0", "title": " ", "body": "Medlars too."});
    assert_eq!(good(daemon.post("/ingest", &knowledge))["path"], "knowledge/medlars-too.md");
    let other =
        json!({"text": "Pears.", "agent": "user-memory", "metadata": {"collection": "garden", "title": "Pears"}});
    assert_eq!(good(daemon.post("/ingest", &other))["path"], "garden/pears.md");
}

#[test]
fn a_text_is_embedded_as_what_it_is() {
    let mut daemon = Daemon::with_config("[embed]\nquery_prefix = \"query: \"\n");
    daemon.write("notes/tea.md", "Green tea.\n").start().settle();
    let embed = |body: Value| good(daemon.post("/embed", &body));
    let document = embed(json!({"text": "green tea"}));
    let vector = |answer: &Value| -> Vec<f64> {
        answer["embedding"].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let dot = |one: &Value, other: &Value| -> f64 { vector(one).iter().zip(vector(other)).map(|(a, b)| a * b).sum() };
    assert_eq!(
        (vector(&document).len(), &document["dimension"], &document["kind"]),
        (384, &384.into(), &"document".into())
    );
    assert!((dot(&document, &document) - 1.0).abs() < 1e-3 && document["model"].is_string(), "{document}");
    let query = embed(json!({"text": "green tea", "options": {"isQuery": true, "model": "other"}}));
    assert_eq!(query["kind"], "query");
    assert!(dot(&query, &document) < 0.999, "the prefix of queries counts");
    let (near, far) = (embed(json!({"text": "a cup of sencha"})), embed(json!({"text": "the tax return"})));
    assert!(dot(&document, &near) > dot(&document, &far));
    for bad in
        [json!({"text": ""}), json!({"text": " \n"}), json!({"text": "a\u{0}b"}), json!({"text": "x".repeat(51_201)})]
    {
        let reply = daemon.post("/embed", &bad);
        assert_eq!(reply.status, 400);
        assert!(reply.error().contains("`text`"), "{}", reply.error());
    }
    assert_eq!(embed(json!({"text": "x ".repeat(25_000)}))["dimension"], 384, "of a long text, what the model reads");
}

#[test]
fn what_is_no_request_is_refused_and_changes_nothing() {
    let daemon = daemon();
    // Other methods are refused.
    for (address, methods) in [
        ("/search", &["PUT", "DELETE", "PATCH"][..]),
        ("/vsearch", &["PUT", "DELETE"]),
        ("/query", &["PUT", "DELETE"]),
        ("/browse", &["POST", "DELETE"]),
        ("/collections", &["POST", "PUT"]),
        ("/embed", &["GET", "PUT"]),
        ("/ingest", &["GET", "PUT"]),
        ("/delete-chunk", &["GET", "DELETE"]),
        ("/health", &["POST", "DELETE"]),
    ] {
        for method in methods {
            let reply = daemon.ask(Request::new(method, address).json("{}"));
            assert_eq!(reply.status, 405, "{method} {address}");
            reply.error();
        }
    }
    // A field of another type is named.
    for (address, body, name) in [
        ("/search", json!({}), "query"),
        ("/search", json!({"query": 7}), "query"),
        ("/search", json!({"query": null}), "query"),
        ("/search", json!({"query": ["tea"]}), "query"),
        ("/search", json!({"query": "tea", "q": "bread"}), "query"),
        ("/search", json!({"query": "tea", "limit": "5"}), "limit"),
        ("/search", json!({"query": "tea", "limit": 0}), "limit"),
        ("/search", json!({"query": "tea", "limit": 1001}), "limit"),
        ("/search", json!({"query": "tea", "limit": -1}), "limit"),
        ("/search", json!({"query": "tea", "limit": 1.5}), "limit"),
        ("/search", json!({"query": "tea", "limit": 1e300}), "limit"),
        ("/search", json!({"query": "tea", "collection": ["notes"]}), "collection"),
        ("/search", json!({"query": "tea", "tags": "food"}), "tags"),
        ("/search", json!({"query": "tea", "tags": [1]}), "tags"),
        ("/search", json!({"query": "tea", "mode": "psychic"}), "mode"),
        ("/search", json!({"query": "x".repeat(16_385)}), "q"),
        ("/vsearch", json!({"query": {"text": "tea"}}), "query"),
        ("/query", json!({"limit": 3}), "query"),
        ("/embed", json!({}), "text"),
        ("/embed", json!({"text": 1}), "text"),
        ("/embed", json!({"text": "a", "content": "b"}), "text"),
        ("/embed", json!({"text": "a", "options": {"isQuery": "yes"}}), "isQuery"),
        ("/embed", json!({"text": "a", "options": [true]}), "options"),
        ("/ingest", json!({"title": "x"}), "content"),
        ("/ingest", json!({"content": ""}), "content"),
        ("/ingest", json!({"content": "a", "metadata": "b"}), "metadata"),
        ("/ingest", json!({"content": "a", "metadata": {"created": "b"}}), "metadata"),
        ("/ingest", json!({"content": "a", "title": ["b"]}), "title"),
        ("/ingest", json!({"content": "a", "metadata": {"": 1}}), "metadata"),
        ("/delete-chunk", json!({}), "hash"),
        ("/delete-chunk", json!({"hash": 3}), "hash"),
    ] {
        let reply = daemon.post(address, &body);
        assert!(matches!(reply.status, 400 | 422), "{address} {body:.80}: {}", reply.status);
        assert!(reply.error().contains(name), "{address} {body:.80}: {}", reply.error());
    }
    for (query, name) in [
        ("", "q"),
        ("q=tea&limit=0", "limit"),
        ("q=tea&limit=many", "limit"),
        ("q=tea&query=bread", "q"),
        ("q=tea&mode=x", "mode"),
        ("q=tea&tags=a&tags=b", "tags"),
    ] {
        let reply = daemon.get(&format!("/search?{query}"));
        assert_eq!(reply.status, 400, "{query}");
        assert!(reply.error().contains(name), "{query}: {}", reply.error());
    }
    // Another index is not opened in the place of this one.
    let path = daemon.path("facts.md").display().to_string();
    let hash = good(daemon.get("/search?q=tea"))["results"][0]["hash"].clone();
    for (address, mut body) in [
        ("/search", json!({"query": "tea"})),
        ("/vsearch", json!({"query": "tea"})),
        ("/ingest", json!({"content": "tea"})),
        ("/embed", json!({"content": "tea"})),
        ("/delete-chunk", json!({"hash": hash})),
    ] {
        body["dbPath"] = path.clone().into();
        let reply = daemon.post(address, &body);
        assert_eq!(reply.status, 400, "{address}");
        assert!(reply.error().contains("`dbPath`") && !reply.error().contains(&path), "{}", reply.error());
    }
    for address in ["/search?q=tea", "/browse?limit=1"] {
        assert_eq!(daemon.get(&format!("{address}&dbPath={}", encode(&path))).status, 400);
    }
    assert_eq!(good(daemon.get("/search?q=tea"))["total"], 2, "nothing was changed");
    // Bodies that are none are refused.
    let deep = "[".repeat(200_000);
    for address in ["/search", "/vsearch", "/query", "/embed", "/ingest", "/delete-chunk"] {
        for body in ["", "{", "[]", "[\"tea\"]", "null", "\"tea\"", "7", "{\"query\": \"\\ud800\"}", &deep] {
            let reply = daemon.ask(Request::new("POST", address).json(body));
            assert!((400..500).contains(&reply.status), "{address} {body:.30}: {}", reply.status);
            reply.error();
        }
        assert_eq!(daemon.ask(Request::new("POST", address)).status, 415, "{address}");
        let form = Request::new("POST", address).json("query=tea").header("Content-Type", "text/plain");
        assert!((400..500).contains(&daemon.ask(form).status), "{address}");
        assert_eq!(daemon.ask(Request::new("POST", address).json(vec![b' '; 2 << 20])).status, 413, "{address}");
    }
    let passed_over = format!("{{\"query\":\"tea\",\"x\":{}{}}}", "[".repeat(400_000), "]".repeat(400_000));
    let reply = daemon.ask(Request::new("POST", "/search").json(passed_over));
    assert!(reply.status == 200 || (400..500).contains(&reply.status), "{}", reply.status);
    assert_eq!(good(daemon.get("/search?q=tea"))["total"], 2, "the server goes on");
}

/// Ways out of the vault, and what looks like them.
const OUTWARD: [&str; 16] = [
    "..", "../..", "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e", "/etc/passwd", "//etc",
    "\\..\\..\\etc", "..\\..", "notes/../..", "notes/../../etc", "notes\0/../..", "C:\\Windows", "file:///etc/passwd",
    "\u{ff0e}\u{ff0e}\u{2215}etc", "\u{202e}cte/..",
];

#[test]
fn no_parameter_leads_out_of_the_vault() {
    let daemon = daemon();
    let files = contents(&daemon.path("notes"));
    for bad in OUTWARD {
        for field in ["query", "collection"] {
            let mut body = json!({"query": "root", "limit": 3});
            body[field] = bad.into();
            assert_eq!(good(daemon.post("/search", &body))["total"], 0, "{field}: {bad:?}");
        }
        assert_eq!(good(daemon.post("/search", &json!({"query": "tea", "tags": [bad]})))["total"], 0, "{bad:?}");
        let target = format!("/browse?collection={}", encode(bad));
        assert_eq!(good(daemon.get(&target))["total"], 0, "{bad:?}");
    }
    for bad in OUTWARD {
        for address in ["/ingest", "/embed"] {
            let reply = daemon.post(address, &json!({"content": "Out.", "collection": bad}));
            assert_eq!(reply.status, 400, "{address} {bad:?}: {}", reply.json());
            assert!(reply.error().contains("`collection`"), "{}", reply.error());
        }
        let reply = daemon.post("/delete-chunk", &json!({"hash": bad}));
        assert!(matches!(reply.status, 400 | 404), "{bad:?}: {}", reply.status);
        assert!(!reply.error().contains("root:"));
        // A title is a text: whatever it says, its note is in the collection's folder.
        if !bad.contains('\0') {
            let saved =
                good(daemon.post("/ingest", &json!({"content": format!("In {bad}"), "title": bad, "path": bad})));
            let path = saved["path"].as_str().unwrap();
            assert!(path.starts_with("snippets/") && !path.contains("..") && path.matches('/').count() == 1, "{path}");
        }
    }
    assert_eq!(contents(&daemon.path("notes")), files);
}
