//! "My memory" from outside: its files, how it comes to a session, notes as nodes, and the events. What it looks like and does in
//! a browser is in `tests/browser`.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use memory_vault::access::request::ErrorKind;
use memory_vault::serve::wire::{BrowseParams, NoteParams, NoteView};

use crate::support::prelude::*;

const XSS: &str = include_str!("../browser/xss.json");
const ELEMENTS: &str =
    "p h1 h2 h3 h4 h5 h6 blockquote pre code ul ol li table tr th td em strong del sup sub a br hr div span";
const ATTRIBUTES: &str = "href class title start data-path data-target data-heading data-block data-fold";

fn daemon() -> Daemon {
    Daemon::vault().with("notes/tea.md", "Green tea, 80 degrees.").started()
}

fn note(vault: &TestVault, path: &str) -> NoteView {
    notes::note(&vault.owner(), &NoteParams::of(path)).unwrap()
}

#[test]
fn the_page_is_opened_by_a_code_and_told_of_events() {
    let daemon = daemon();
    // The page comes without a token and with a strict policy.
    let page = daemon.send(&Request::get("/"));
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let html = String::from_utf8(page.body.clone()).unwrap();
    let files: Vec<&str> = html.split('"').filter(|text| text.starts_with("/page/")).collect();
    assert!(files.contains(&"/page/app.js") && html.contains("<style>"), "{files:?}");
    for file in ["/"].iter().chain(&files) {
        let reply = daemon.send(&Request::get(file));
        assert_eq!(reply.status, 200, "{file}");
        let policy = reply.header("content-security-policy").expect(file);
        for directive in [
            "default-src 'none'", "script-src 'self'", "base-uri 'none'", "form-action 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.split("; ").any(|one| one == directive), "{file}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{file}: {policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-cache"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{file}: {name}");
        }
        assert_eq!(daemon.send(&Request::get(file).header("Host", "evil.example")).status, 403, "{file}");
    }
    for (file, kind) in [("/page/app.js", "text/javascript; charset=utf-8"), ("/page/icon.svg", "image/svg+xml")] {
        assert_eq!(daemon.send(&Request::get(file)).header("content-type"), Some(kind));
    }
    for nothing in ["/page/none.js", "/page/..%2fmod.rs", "/page/", "/page/a/b", "/page/%ff"] {
        let reply = daemon.send(&Request::get(nothing));
        assert!(matches!(reply.status, 400 | 404), "{nothing}: {}", reply.status);
        reply.error();
    }
    // A code is traded for a token once.
    let url = daemon.run(&["open", "--print"]).ok().stdout;
    let (address, code) = url.trim().split_once("/#code=").expect(&url);
    assert_eq!(address, format!("http://{}", daemon.address()));
    let trade = |code: &str| daemon.send(&Request::send("POST", "/page/token", &json!({ "code": code })));
    assert_eq!(trade("0123456789abcdef").status, 401);
    assert_eq!(trade("").status, 401);
    let with = |token: &str, target: &str| daemon.get_as(token, target);
    assert_eq!(with(code, "/status").status, 401, "a code opens nothing by itself");
    let reply = trade(code);
    assert_eq!(reply.status, 200, "{}", reply.json());
    let session = PageSession::of(&reply);
    assert_eq!(session.get(&daemon, "/status").status, 200);
    assert_eq!(session.get(&daemon, "/api/user-memory/note?path=notes/tea.md").status, 200);
    let again = trade(code);
    assert_eq!((again.status, again.error().as_str()), (401, "this code was already used, or has expired"));
    for body in ["", "{}", "[]", "{\"code\": 1}", "{\"code\": \"x\", \"more\": 1}"] {
        let reply = daemon.send(&Request::new("POST", "/page/token").json(body));
        assert!((400..500).contains(&reply.status), "{body}: {}", reply.status);
        reply.error();
    }
    // Codes are made for the Unix socket alone.
    for request in [Request::new("POST", "/page/code").json("{}"), Request::get("/page/code")] {
        for reply in [daemon.send(&request), daemon.ask(request.clone())] {
            assert!(matches!(reply.status, 404 | 405), "{}", reply.status);
            reply.error();
        }
    }
    // A session of the page may do what the owner may.
    let found = session.get(&daemon, &format!("/api/user-memory/search?q={}&highlight=true", encode("green tea"))).ok();
    assert_eq!(found["results"][0]["highlights"], json!([[0, 5], [6, 9]]));
    // So many streams are served and no more.
    let mut open: Vec<Events> = (0..16).map(|_| Events::open(&daemon)).collect();
    for events in &mut open {
        assert!(events.progress().is_some());
    }
    let refused = daemon.get("/events");
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (503, Some("unavailable")));
    assert_eq!(daemon.find("tea"), ["notes/tea.md"], "all else is served");
    open.pop();
    eventually("room for another", || {
        let mut events = Events::open(&daemon);
        events.next("HTTP/1.1 ")?.starts_with("200").then_some(())
    });
}

/// A session of the page as a browser holds it: the cookie, and the key that the page sends.
#[derive(Clone)]
struct PageSession {
    cookie: String,
    key: String,
}

impl PageSession {
    fn of(reply: &Reply) -> Self {
        let cookie = reply.header("set-cookie").unwrap_or_else(|| panic!("{}", reply.json()));
        Self {
            cookie: cookie.split(';').next().unwrap().to_owned(),
            key: reply.json()["key"].as_str().unwrap().to_owned(),
        }
    }

    /// As `vault open` opens one.
    fn opened(daemon: &Daemon) -> Self {
        let url = daemon.run(&["open", "--print"]).ok().stdout;
        let code = url.trim().split_once("#code=").unwrap().1;
        Self::of(&daemon.send(&Request::send("POST", "/page/token", &json!({ "code": code }))))
    }

    fn on(&self, request: Request) -> Request {
        request.header("Cookie", &self.cookie).header("X-Vault-Key", &self.key)
    }

    fn get(&self, daemon: &Daemon, target: &str) -> Reply {
        daemon.send(&self.on(Request::get(target)))
    }

    fn id(&self) -> &str {
        self.key.split('.').next().unwrap()
    }
}

#[test]
fn a_session_takes_its_cookie_and_its_key_and_outlives_the_daemon() {
    let mut daemon = daemon();
    let [one, two] = [(); 2].map(|()| PageSession::opened(&daemon));
    let get = |daemon: &Daemon, headers: &[(&str, &str)]| {
        let request = Request::get("/status");
        daemon.send(&headers.iter().fold(request, |request, (name, value)| request.header(name, value)))
    };
    let (cookie, key) = (("Cookie", one.cookie.as_str()), ("X-Vault-Key", one.key.as_str()));
    assert_eq!(get(&daemon, &[cookie, key]).status, 200);
    assert_eq!(get(&daemon, &[cookie, key, ("Origin", "http://localhost:1")]).status, 200);
    assert_eq!(get(&daemon, &[cookie, key, ("Origin", "https://evil.example")]).status, 403);
    for headers in [
        vec![cookie],
        vec![key],
        vec![cookie, ("X-Vault-Key", "")],
        vec![cookie, ("X-Vault-Key", two.key.as_str())],
        vec![("Cookie", two.cookie.as_str()), key],
        vec![cookie, key, ("X-Vault-Key", one.key.as_str())],
        vec![cookie, key, ("Authorization", "Bearer wrong")],
        vec![("Authorization", &*format!("Bearer {}", one.key))],
        vec![("Authorization", &*format!("Bearer {}", one.cookie.split('=').nth(1).unwrap()))],
    ] {
        let reply = get(&daemon, &headers);
        assert_eq!((reply.status, reply.error().as_str()), (401, "a token is required"), "{headers:?}");
        let asks_for_a_password = reply.header("www-authenticate").unwrap().contains("Basic");
        assert_eq!(asks_for_a_password, !headers.iter().any(|(name, _)| *name == "X-Vault-Key"), "{headers:?}");
    }
    // They are listed and ended.
    let listed = two.get(&daemon, "/api/sessions").ok();
    assert_eq!(column(&listed["sessions"], "id").len(), 2);
    assert!(!listed.to_string().contains(&one.key) && listed["sessions"][0]["browser"] == "a program", "{listed}");
    let end = |daemon: &Daemon, which: Value| daemon.send(&two.on(Request::send("POST", "/api/sessions/end", &which)));
    assert_eq!(end(&daemon, json!({ "id": "none" })).status, 404);
    assert_eq!(end(&daemon, json!({})).status, 400);
    assert_eq!(end(&daemon, json!({ "id": one.id() })).ok()["ended"], 1);
    assert_eq!(one.get(&daemon, "/status").status, 401);
    daemon.restart();
    assert_eq!((one.get(&daemon, "/status").status, two.get(&daemon, "/status").status), (401, 200));
    // The owner's token opens one, an agent's does not; the cookie is locked to TLS where the browser came by it.
    let open = |token: &str, origin: &str| {
        daemon.send(&Request::send("POST", "/api/sessions", &json!({})).bearer(token).header("Origin", origin))
    };
    let reply = open(daemon.token(), "http://localhost");
    let attributes = "; Path=/; HttpOnly; SameSite=Strict; Max-Age=34560000";
    assert!(reply.header("set-cookie").unwrap().ends_with(attributes));
    assert_eq!(PageSession::of(&reply).get(&daemon, "/status").status, 200);
    let reply = open(daemon.token(), "https://localhost");
    let set = reply.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-vault-session=") && set.ends_with(&format!("{attributes}; Secure")), "{set}");
    assert_eq!(PageSession::of(&reply).get(&daemon, "/status").status, 200);
    daemon.run(&["agent", "add", "Ada"]).ok();
    assert_eq!(open(&daemon.token_of("ada"), "http://localhost").status, 403);
    assert_eq!(end(&daemon, json!({ "all_but": two.id() })).ok()["ended"], 2);
    // Signing out ends it, and takes the cookie away.
    let reply = daemon.send(&two.on(Request::new("DELETE", "/page/token")));
    assert!(
        reply.header("set-cookie").unwrap().contains("vault-session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    );
    assert_eq!(two.get(&daemon, "/status").status, 401);
    // A browser that signs in again has one session still.
    let three = PageSession::opened(&daemon);
    let url = daemon.run(&["open", "notes/tea.md", "--print"]).ok().stdout;
    let (code, note) = url.trim().split_once("#code=").unwrap().1.split_once("&note=").unwrap();
    assert_eq!(note, "notes%2Ftea.md");
    let four = PageSession::of(&daemon.send(&three.on(Request::send("POST", "/page/token", &json!({ "code": code })))));
    assert_eq!((three.get(&daemon, "/status").status, four.get(&daemon, "/status").status), (401, 200));
}

#[test]
fn open_starts_a_browser_or_says_what_to_do() {
    let mut daemon = daemon();
    let tools = tempfile::tempdir().unwrap();
    let (opener, told) = (tools.path().join("xdg-open"), tools.path().join("told"));
    let fake = |script: &str| {
        fs::write(&opener, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let open = |daemon: &Daemon, display: &str| {
        let mut command = daemon.command(&["open"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", tools.path().display()));
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"] {
            command.env_remove(name);
        }
        if !display.is_empty() {
            command.env("DISPLAY", display);
        }
        Ran::of(&mut command)
    };
    if cfg!(target_os = "linux") {
        fake(&format!("printf %s \"$1\" > {}", told.display()));
        let ran = open(&daemon, ":7").ok();
        let url = fs::read_to_string(&told).unwrap();
        assert!(url.starts_with(&format!("http://{}/#code=", daemon.address())), "{url}");
        assert!(!ran.stdout.contains("code="), "what was used is not shown: {}", ran.stdout);
        fake("exit 3");
        assert!(open(&daemon, ":7").ok().stdout.contains("/#code="), "no browser: the address is printed");
        fs::remove_file(&told).unwrap();
        fake(&format!("touch {}", told.display()));
        assert!(open(&daemon, "").ok().stdout.contains("/#code="));
        assert!(!told.exists(), "without a display nothing is started");
    }
    daemon.terminate();
    let ran = daemon.run(&["open"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("no daemon serves") && ran.stderr.contains("vault serve"), "{}", ran.stderr);
}

/// The elements of nodes, at any depth.
fn elements<'a>(nodes: &'a Value, into: &mut Vec<&'a Value>) {
    for node in nodes.as_array().expect("nodes").iter().filter(|node| !node.is_string()) {
        into.push(node);
        elements(&node["children"], into);
    }
}

#[test]
fn nothing_in_a_note_becomes_script() {
    let payloads: Vec<String> = serde_json::from_str(XSS).unwrap();
    let mut vault = TestVault::new();
    for (at, payload) in payloads.iter().enumerate() {
        vault.write(&format!("x/{at}.md"), format!("Before.\n\n{payload}\n\nAfter.\n"));
    }
    vault.write("x/all.md", payloads.join("\n\n")).sync();
    let paths = (0..payloads.len()).map(|at| format!("x/{at}.md")).chain(["x/all.md".to_owned()]);
    let mut links = 0;
    for path in paths {
        let body = serde_json::to_value(note(&vault, &path).body).unwrap();
        let mut found = Vec::new();
        elements(&body, &mut found);
        for element in found {
            let tag = element["tag"].as_str().unwrap();
            assert!(ELEMENTS.split(' ').any(|known| known == tag), "{path}: {tag}");
            for (name, value) in element["attrs"].as_object().into_iter().flatten() {
                assert!(ATTRIBUTES.split(' ').any(|known| known == name), "{path}: {name}");
                if name == "href" {
                    let value = value.as_str().unwrap();
                    let scheme = value.split(':').next().unwrap();
                    assert!(["http", "https", "mailto", "obsidian"].contains(&scheme), "{path}: {value}");
                    links += 1;
                }
            }
        }
        let text = body.to_string();
        assert!(path == "x/all.md" || text.contains("After."), "{path}: {text}");
    }
    assert!(links > 0, "some links are links");
}

#[test]
fn raw_html_is_shown_as_text_and_comments_are_not_shown() {
    let mut vault = TestVault::new();
    vault.write("a.md", "<div onclick=\"x\">\n<b>bold</b>\n</div>\n\nIn <i>line</i> <!-- gone --> %%gone too%% here.\n\n<!-- gone -->\n");
    vault.sync();
    let body = serde_json::to_value(note(&vault, "a.md").body).unwrap();
    assert_eq!(body[0]["attrs"]["class"], "html");
    assert_eq!(body[0]["children"][0], "<div onclick=\"x\">\n<b>bold</b>\n</div>\n");
    assert_eq!(body[1]["children"][1], json!({"tag": "code", "attrs": {"class": "html"}, "children": ["<i>"]}));
    assert_eq!(body.as_array().unwrap().len(), 2, "{body}");
    assert!(!body.to_string().contains("gone"), "{body}");
}

#[test]
fn blocks_know_their_lines_and_links_their_notes() {
    let mut vault = TestVault::new();
    let text = "---\ntags: [food]\ncreated: 2026-01-05\n---\n# Bread\n\nSee [[Tea#Green|the tea]], [far](../far/Tea.md), [[nowhere]]\nand <https://x.org>.\n\n\
                - [x] done\n- open\n  - inner\n\n> [!tip]+ Rest\n> overnight\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn f() {}\n```\n";
    vault.write("notes/bread.md", text).write("notes/Tea.md", "tea").write("far/Tea.md", "far tea").sync();
    let view = note(&vault, "notes/bread.md");
    assert_eq!((view.title.as_str(), view.collection.as_str(), view.text.as_str()), ("Bread", "notes", text));
    assert_eq!((view.tags.as_slice(), view.cut), (["food".to_owned()].as_slice(), false));
    assert_eq!(view.created_at, "2026-01-05T00:00:00Z");
    assert!(view.annotations.is_empty() && view.obsidian_url.unwrap().ends_with("bread.md"));
    let hit = &vault.words("overnight").0.results[0];
    let passage = view.chunks.iter().find(|chunk| chunk.hash == hit.chunk.hash).expect("the passage is listed");
    assert_eq!((passage.line_start, passage.line_end), (hit.chunk.line_start, hit.chunk.line_end));

    let body = serde_json::to_value(&view.body).unwrap();
    let mut found = Vec::new();
    elements(&body, &mut found);
    let lines: Vec<(&str, u64, u64)> = found
        .iter()
        .filter_map(|one| Some((one["tag"].as_str()?, one["line_start"].as_u64()?, one["line_end"].as_u64()?)))
        .collect();
    for expected in [
        ("h1", 5, 5),
        ("p", 7, 8),
        ("ul", 10, 12),
        ("li", 11, 12),
        ("li", 12, 12),
        ("blockquote", 14, 15),
        ("table", 17, 19),
        ("tr", 19, 19),
        ("pre", 21, 23),
    ] {
        assert!(lines.contains(&expected), "{expected:?} in {lines:?}");
    }
    let links: Vec<&Value> = found.iter().filter(|one| one["tag"] == "a").map(|one| &one["attrs"]).collect();
    assert_eq!(links[0], &json!({"data-path": "notes/Tea.md", "data-target": "Tea", "data-heading": "Green"}));
    assert_eq!(links[1], &json!({"data-path": "far/Tea.md", "data-target": "../far/Tea.md"}));
    assert_eq!(links[2], &json!({"data-target": "nowhere"}));
    assert_eq!(links[3], &json!({"href": "https://x.org"}));
    let callout = found.iter().find(|one| one["tag"] == "blockquote").unwrap();
    assert_eq!(callout["children"][0]["children"][0], "tip");
    assert_eq!(callout["children"][1]["children"][0], " Rest\novernight");

    vault.write("b.md", "> [!note]\n> body").sync();
    let body = serde_json::to_value(note(&vault, "b.md").body).unwrap();
    assert_eq!(body[0]["children"][1]["children"], json!(["\nbody"]), "it has no title");
}

#[test]
fn what_obsidian_shows_besides_markdown_is_told() {
    let mut vault = TestVault::new();
    let text = "---\nup: \"[[Tea#Green|the tea]]\"\nseen: [\"[[nowhere]]\", \"[[far/Tea]]\"]\n---\n> [!tip]- Rest\n> below\n\n> [!note]\n> below\n\n\
                | a | b | c |\n|---|:-:|--:|\n| 1 | 2 | 3 |\n\nSee [[Tea#^cup]] and [[#^here]].\n";
    vault.write("notes/a.md", text).write("notes/Tea.md", "tea").write("far/Tea.md", "far tea").sync();
    let view = note(&vault, "notes/a.md");
    let links =
        [("Tea", "notes/Tea.md"), ("far/Tea", "far/Tea.md")].map(|(name, path)| (name.to_owned(), path.to_owned()));
    assert_eq!(view.property_links, std::collections::BTreeMap::from(links));
    let body = serde_json::to_value(&view.body).unwrap();
    assert_eq!((&body[0]["attrs"]["data-fold"], &body[1]["attrs"]["data-fold"]), (&json!("closed"), &Value::Null));
    for row in [0_usize, 1] {
        let cells = body[2]["children"][row]["children"].as_array().unwrap();
        let classes: Vec<Option<&str>> = cells.iter().map(|cell| cell["attrs"]["class"].as_str()).collect();
        assert_eq!(classes, [None, Some("center"), Some("right")]);
    }
    let inside = body[3]["children"].as_array().unwrap();
    assert_eq!(inside[1]["attrs"], json!({"data-path": "notes/Tea.md", "data-target": "Tea", "data-block": "cup"}));
    assert_eq!(inside[3]["attrs"], json!({"data-path": "notes/a.md", "data-target": "", "data-block": "here"}));
}

#[test]
fn a_note_that_nests_without_end_is_still_shown() {
    let mut vault = TestVault::new();
    let deep = format!("{}core{}", "*a ".repeat(3000), " b*".repeat(3000));
    let images = format!("{}x{}", "![".repeat(2000), "](y)".repeat(2000));
    vault.write("deep.md", deep).write("images.md", images).write("lists.md", "- ".repeat(500) + "item").sync();
    for path in ["deep.md", "images.md", "lists.md"] {
        // A reader of JSON stops at 128 levels.
        serde_json::from_str::<Value>(&serde_json::to_string(&note(&vault, path)).unwrap()).unwrap();
    }
}

#[test]
fn a_huge_note_is_shown_around_the_line_that_is_asked_for() {
    let mut vault = TestVault::new();
    let long: String = (1..=120_000).map(|line| format!("Line {line} of a long note.\n\n")).collect();
    let list: String =
        (1..=90_000).map(|item| format!("{item}. An item of a long list.\n        - below {item}\n")).collect();
    let fence = format!("```\n{}```\n\nAfter the fence.\n", "code that is no *Markdown*\n".repeat(60_000));
    vault.write("long.md", &long).write("list.md", &list).write("fence.md", &fence).sync();
    let at = |path: &str, line: usize| {
        let params = NoteParams { path: path.into(), line: Some(line) };
        let view = notes::note(&vault.owner(), &params).unwrap();
        let whole = serde_json::to_value(&view).unwrap();
        assert!(view.cut && whole["body"].to_string().len() < 12 << 20, "{path}:{line}");
        whole["body"].clone()
    };
    assert_eq!(note(&vault, "long.md").text, long);
    for line in [1, 2001, 160_001, 9_999_999] {
        let body = at("long.md", line);
        let lines: Vec<u64> =
            body.as_array().unwrap().iter().map(|node| node["line_start"].as_u64().unwrap()).collect();
        let (first, last) = (lines[0], lines[lines.len() - 1]);
        let wanted = (line as u64).min(239_999);
        assert!(first <= wanted && wanted <= last, "{line}: {first} to {last}");
        assert!(lines.is_sorted() && lines.len() > 30_000, "{line}: {} paragraphs", lines.len());
        assert_eq!(body[0]["children"][0], format!("Line {} of a long note.", first.div_ceil(2)));
    }
    // Within one list the items keep their numbers, and code stays code.
    let body = at("list.md", 150_001);
    let first = body[0]["children"][0]["line_start"].as_u64().unwrap();
    let start: u64 = body[0]["attrs"]["start"].as_str().unwrap().parse().unwrap();
    assert_eq!(start, first.div_ceil(2), "{}", body[0]["children"][0]);
    assert_eq!(body[0]["line_start"], first, "the lines are those that are shown");
    assert!(first > 100_000 && first < 150_001 && body[0]["tag"] == "ol");
    let body = at("fence.md", 60_003);
    assert_eq!((&body[0]["tag"], body[0]["children"][0].as_str().unwrap().contains("<em>")), (&json!("pre"), false));
    assert_eq!(body[1]["children"], json!(["After the fence."]));
    let params = NoteParams { path: "long.md".into(), line: Some(0) };
    assert_eq!(notes::note(&vault.owner(), &params).unwrap_err().kind, ErrorKind::Invalid);
}

#[test]
fn only_notes_of_the_vault_are_shown() {
    let mut vault = TestVault::new();
    vault.write("a.md", "here").write(".vault/state.md", "not here").write("x.txt", "nor here").sync();
    let ask = |path: &str| notes::note(&vault.owner(), &NoteParams::of(path)).unwrap_err().kind;
    for path in ["", "/etc/passwd", "../a.md", "notes/../a.md", "a\0.md"] {
        assert_eq!(ask(path), ErrorKind::Invalid, "{path:?}");
    }
    for path in ["b.md", ".vault/state.md", "x.txt", "memory.toml", "A.md"] {
        assert_eq!(ask(path), ErrorKind::NotFound, "{path}");
    }
    fs::remove_file(vault.path("a.md")).unwrap();
    assert_eq!(ask("a.md"), ErrorKind::NotFound, "it is gone, and the index does not know yet");
}

#[test]
fn browsing_by_day_finds_what_changed_on_it() {
    let vault = TestVault::new()
        .with("a.md", "---\nupdated: 2026-01-05T12:00:00Z\n---\nfifth")
        .with("b.md", "---\nupdated: 2026-01-08T12:00:00Z\n---\neighth")
        .synced();
    let browse =
        |day: &str| notes::browse(&vault.owner(), &BrowseParams { day: Some(day.into()), ..BrowseParams::default() });
    // Whatever the time zone, noon of one place is within a day of noon of another.
    let around = ["2026-01-04", "2026-01-05", "2026-01-06"].map(|day| browse(day).unwrap());
    let found: Vec<&str> = around.iter().flat_map(|page| &page.chunks).map(|chunk| chunk.path.as_str()).collect();
    assert_eq!((found, around.iter().map(|page| page.total).sum::<usize>()), (vec!["a.md"], 1));
    for bad in ["", "7d", "2026-13-01", "yesterday"] {
        assert!(browse(bad).unwrap_err().message.starts_with("`day`"), "{bad}");
    }
}

#[test]
fn statistics_tell_growth_and_what_is_embedded() {
    let mut vault = TestVault::new()
        .with("notes/a.md", "---\ncreated: 2025-11-15\n---\none")
        .with("notes/b.md", "---\ncreated: 2026-01-15\n---\ntwo");
    vault.write("facts.md", "---\ncreated: 2026-01-16\n---\nthree").sync();
    let stats = notes::stats(&vault.owner()).unwrap();
    let growth: Vec<_> = stats.growth.iter().map(|one| (one.month.as_str(), one.notes, one.chunks)).collect();
    assert_eq!(growth, [("2025-11", 1, 1), ("2026-01", 2, 2)]);
    assert_eq!(stats.details["notes"].embedded_share, 1.0);
    assert_eq!((stats.files, stats.total, stats.collections["notes"]), (3, 3, 2));
}

/// A stream of events, read as it comes.
struct Events(BufReader<TcpStream>);

impl Events {
    fn open(daemon: &Daemon) -> Self {
        let mut stream = TcpStream::connect(daemon.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let token = daemon.token();
        write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n").unwrap();
        Self(BufReader::new(stream))
    }

    /// The next line that starts so, without it; `None` when the stream is over.
    fn next(&mut self, start: &str) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(rest) = line.strip_prefix(start) {
                return Some(rest.trim_end().to_owned());
            }
        }
    }

    fn progress(&mut self) -> Option<Value> {
        Some(serde_json::from_str(&self.next("data: ")?).unwrap())
    }
}

#[test]
fn events_tell_the_progress_and_end_with_the_daemon() {
    let mut daemon = daemon();
    assert_eq!(daemon.send(&Request::get("/events")).status, 401);
    let mut events = Events::open(&daemon);
    assert!(events.next("HTTP/1.1 ").unwrap().starts_with("200"));
    assert!(events.next("content-type: ").unwrap().starts_with("text/event-stream"));
    assert_eq!(events.next("event: ").unwrap(), "progress");
    let first = events.progress().unwrap();
    assert_eq!((&first["files"], &first["model"]["state"]), (&1.into(), &"off".into()));
    daemon.write("notes/coffee.md", "Black.");
    while events.progress().expect("the stream goes on")["files"] != 2 {}
    let stopped = daemon.terminate();
    assert!(stopped.status.success(), "{:?}", stopped.status);
    while events.progress().is_some() {}
    assert!(stopped.after < Duration::from_millis(1400), "nobody waited for the stream: {:?}", stopped.after);
}
