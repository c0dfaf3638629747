//! A note or a folder is shown to somebody else: by a link that ends, and to a person of the server.

use crate::people::{joined, person, said};
use crate::several::Server;
use crate::support::prelude::*;

/// The path of an address.
fn path_of(address: &str) -> String {
    format!("/{}", address.trim().splitn(4, '/').nth(3).unwrap())
}

fn shared(daemon: &Daemon, path: &str) -> (String, String) {
    let made = daemon.post("/api/shares", &json!({ "path": path })).ok();
    (made["id"].as_str().unwrap().to_owned(), path_of(made["address"].as_str().unwrap()))
}

/// What anybody gets there.
fn shown(daemon: &Daemon, link: &str) -> (u16, String) {
    let reply = daemon.send(&Request::get(link));
    (reply.status, String::from_utf8(reply.body).unwrap())
}

const HOSTILE: &str = "---\ntitle: \"Bread <script>alert(1)</script>\"\ntags: [baking]\nsecret_key: zebraproperty\n---\nMix **flour**. \
    <img src=x onerror=alert(2)> [a](javascript:alert(3)) [b](https://example.org/?\"onclick=\"x) [[secret|the other]] ![[photo.png]]\n\n\
    - [ ] knead %%zebracomment%%\n- [x] rest <!-- zebrahtml -->\n\n```html\n<b>&\n```\n\n<iframe src=\"https://example.org\"></iframe>\n";

#[test]
fn a_link_shows_one_note_without_scripts_until_it_is_ended() {
    let mut daemon = Daemon::vault()
        .with("notes/bread.md", HOSTILE)
        .with("notes/secret.md", "---\nprivate: true\n---\nA zebrasecret.")
        .with("agents/ada/MEMORY.md", "Ada's.")
        .with("notes/odd[1],{x}!.md", "An odd zebraname.")
        .settled();
    let (id, link) = shared(&daemon, "notes/bread.md");
    let reply = daemon.send(&Request::get(&link));
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.starts_with("sandbox; default-src 'none'") && !policy.contains("script-src"), "{policy}");
    for (name, value) in
        [("cache-control", "no-store"), ("referrer-policy", "no-referrer"), ("x-frame-options", "DENY")]
    {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    let html = String::from_utf8(reply.body).unwrap();
    for hidden in [
        "<script", "<img", "<iframe", "javascript:", "\"onclick=\"", "zebracomment", "zebrahtml", "zebraproperty",
        "data-path",
    ] {
        assert!(!html.contains(hidden), "{hidden}: {html}");
    }
    for there in [
        "<h1>Bread &lt;script&gt;", "<strong>flour</strong>", "the other", "&lt;b&gt;&amp;", "knead",
        "rel=\"noreferrer nofollow\"",
    ] {
        assert!(html.contains(there), "{there}: {html}");
    }
    // It opens nothing else, and is no token.
    let secret = link.trim_start_matches("/share/");
    assert_eq!(daemon.get_as(secret, "/api/user-memory/note?path=notes/bread.md").status, 401);
    for wrong in ["/share/", "/share/x", &format!("{link}0"), &format!("{link}/x"), &link.to_uppercase()] {
        assert!(shown(&daemon, wrong).0 >= 400, "{wrong}");
    }
    assert_eq!(daemon.send(&Request::send("POST", &link, &json!({}))).status, 405);

    // What nobody else sees is not shared; odd names are.
    for hidden in ["notes/secret.md", "agents/ada/MEMORY.md"] {
        assert_eq!(daemon.post("/api/shares", &json!({ "path": hidden })).status, 400, "{hidden}");
    }
    assert_eq!(daemon.post("/api/shares", &json!({ "path": "notes/none.md" })).status, 404);
    for days in [0, 367] {
        assert_eq!(daemon.post("/api/shares", &json!({ "path": "notes/bread.md", "days": days })).status, 400);
    }
    let (_, odd) = shared(&daemon, "notes/odd[1],{x}!.md");
    assert!(shown(&daemon, &odd).1.contains("zebraname"));

    // It shows what the note says now, and nothing once the note is private.
    daemon.write("notes/bread.md", "Mix zebrarye.");
    daemon.finds("zebrarye", &["notes/bread.md"]);
    assert!(shown(&daemon, &link).1.contains("zebrarye"));
    daemon.write("notes/bread.md", "---\nprivate: true\n---\nMix zebrahushed.");
    daemon.finds("zebrahushed", &["notes/bread.md"]);
    let (status, hidden) = shown(&daemon, &link);
    assert_eq!((status, &hidden), (404, &shown(&daemon, "/share/x").1));
    daemon.write("notes/bread.md", "Mix zebrawheat.");
    daemon.finds("zebrawheat", &["notes/bread.md"]);

    // It outlives the daemon, is listed, and ends at once, by its id or its note.
    daemon.restart().settle();
    assert!(shown(&daemon, &link).1.contains("zebrawheat"));
    let (_, second) = shared(&daemon, "notes/bread.md");
    let listed = daemon.get("/api/shares").ok();
    assert_eq!(column(&listed["links"], "path"), ["notes/bread.md", "notes/odd[1],{x}!.md", "notes/bread.md"]);
    assert!(!listed.to_string().contains(&secret[..16]), "the secret is shown once");
    let kept = contents(&daemon.path(".vault/state/links"));
    let says = |part: &str, text: &[u8]| String::from_utf8_lossy(text).contains(part);
    assert_eq!(kept.len(), 3);
    assert!(
        kept.iter().all(|(file, text)| !says(&secret[..16], text) && !file.to_str().unwrap().contains(&secret[..16]))
    );
    assert_eq!(daemon.post("/api/shares/end", &json!({ "link": id })).ok()["ended"], 1);
    assert_eq!((shown(&daemon, &link).0, shown(&daemon, &second).0), (404, 200));
    assert_eq!(daemon.post("/api/shares/end", &json!({ "link": "notes/bread.md" })).ok()["ended"], 1);
    assert_eq!((shown(&daemon, &second).0, shown(&daemon, &odd).0), (404, 200));
    assert_eq!(daemon.post("/api/shares/end", &json!({ "link": "notes/bread.md" })).status, 404);
    // One whose days are over counts no more.
    let [(file, text)] = &contents(&daemon.path(".vault/state/links"))[..] else { panic!("one is left") };
    let mut link: Value = serde_json::from_slice(text).unwrap();
    link["until"] = json!("2026-01-01T00:00:00Z");
    fs::write(file, link.to_string()).unwrap();
    assert_eq!((shown(&daemon, &odd).0, daemon.get("/api/shares").ok()["links"].clone()), (404, json!([])));
}

#[test]
fn the_command_makes_lists_and_ends_links() {
    let daemon = Daemon::vault().with("notes/bread.md", "Mix zebrawheat.").settled();
    let run = |args: &[&str]| daemon.run(&[&["share"], args].concat());
    let none = run(&[]);
    assert!(none.code == 1 && none.stderr.contains("Nothing is shared"), "{}", none.stderr);
    let made = run(&["notes/bread.md", "--link", "--days", "2"]).ok();
    assert!(made.stderr.contains("Only this machine"), "{}", made.stderr);
    assert!(shown(&daemon, &path_of(&made.stdout)).1.contains("zebrawheat"));
    let listed = run(&["--json"]).ok().json();
    assert_eq!(listed["links"][0]["path"], "notes/bread.md");
    assert!(run(&[]).ok().stdout.contains("notes/bread.md"));
    assert!(run(&["notes/bread.md"]).stderr.contains("say how"));
    assert!(run(&["notes/bread.md", "--with", "sam"]).stderr.contains("no server"));
    run(&["notes/bread.md", "--end"]).ok();
    assert_eq!(shown(&daemon, &path_of(&made.stdout)).0, 404);
    assert_ne!(run(&["notes/bread.md", "--end"]).code, 0);
}

#[test]
fn a_link_of_one_vault_of_a_server_tells_nothing_of_another() {
    let server = Server::of(&["maya", "sam"], "");
    let made = server.run("maya", &["share", "notes/one.md", "--link"]).ok();
    // Its server has not opened it: the address is what the settings say.
    let (place, secret) = made.stdout.trim().rsplit_once('/').unwrap();
    assert_eq!(place, "http://127.0.0.1:7833/v/maya/share");
    let get = |vault: &str, secret: &str| server.send(&Request::get(&format!("/v/{vault}/share/{secret}")));
    let opened = get("maya", secret);
    assert!(opened.status == 200 && String::from_utf8(opened.body).unwrap().contains("zebramaya"));
    // Which vaults there are nobody learns: neither of one that is open, nor of one that is closed, nor by who is signed in.
    let none = get("none", secret);
    assert_eq!(none.status, 404);
    for (vault, secret) in [("sam", secret), ("maya", "x"), ("sam", ""), ("none", "x"), ("Not", "x")] {
        if secret.is_empty() {
            continue;
        }
        assert_eq!(said(&get(vault, secret)), said(&none), "{vault} {secret}");
    }
    let kim = joined(&server, "Kim", &["sam=owner"]);
    assert_eq!(said(&kim.get("/v/sam/share/x")), said(&kim.get("/v/maya/share/x")));
    assert_eq!(kim.get(&format!("/v/maya/share/{secret}")).status, 200);
    let made = kim.send("POST", "/v/sam/api/shares", &json!({ "path": "notes/one.md" })).ok();
    assert_eq!(server.send(&Request::get(&path_of(made["address"].as_str().unwrap()))).status, 200);
}

#[test]
fn a_folder_is_shared_with_a_person() {
    let mut server = Server::of(&["maya", "sam"], "");
    server.write("maya/notes/recipes/bread.md", "A zebrabread.");
    server.write("maya/notes/recipes/secret.md", "---\nprivate: true\n---\nA zebrabread.");
    server.write("maya/notes/plan.md", "A zebraplan.");
    let sam = joined(&server, "Sam", &["sam=owner"]);
    let share = |args: &[&str]| server.run("maya", &[&["share"], args].concat());
    assert!(share(&["notes/none", "--with", "sam"]).code != 0 && share(&["notes/recipes", "--with", "kim"]).code != 0);
    for none in ["agents", ".vault", "memory.toml", "../sam"] {
        assert_ne!(share(&[none, "--with", "sam"]).code, 0, "{none}");
    }
    assert!(share(&["notes/recipes", "--link"]).stderr.contains("one note"));
    share(&["notes/recipes", "--with", "sam", "--read"]).ok();
    assert_eq!(sam.found("maya", "zebrabread"), ["notes/recipes/bread.md"]);
    assert_eq!(sam.found("maya", "zebraplan"), [""; 0]);
    let note = "/v/maya/api/user-memory/note";
    let edit = json!({ "path": "notes/recipes/rye.md", "text": "A zebrarye." });
    assert_eq!(sam.send("POST", note, &edit).status, 403);
    share(&["notes/plan.md", "--with", "sam"]).ok();
    assert_eq!(sam.found("maya", "zebraplan"), ["notes/plan.md"]);
    let listed = share(&["--json"]).ok().json();
    assert_eq!(column(&listed["people"], "path"), ["notes/recipes", "notes/plan.md"]);
    assert!(share(&["notes", "--with", "sam", "--edit"]).code != 0, "it would change what they have");
    share(&["notes/recipes", "--with", "sam", "--end"]).ok();
    assert_eq!(sam.found("maya", "zebrabread"), [""; 0]);
    share(&["notes/plan.md", "--with", "sam", "--end"]).ok();
    assert_eq!(sam.get("/v/maya/status").status, 401);
    // Who edits a folder adds notes to it, and to no other.
    share(&["notes/recipes/", "--with", "sam", "--edit", "--days", "3"]).ok();
    sam.send("POST", note, &edit).ok();
    let elsewhere = sam.send("POST", note, &json!({ "path": "notes/rye.md", "text": "x" }));
    assert!(elsewhere.status >= 400, "{}", elsewhere.status);
    let page = fs::read_to_string(server.path("people/sam.md")).unwrap();
    assert!(page.contains("expires") && person(&server, &["list"]).ok().stdout.contains("maya (editor)"), "{page}");
}
