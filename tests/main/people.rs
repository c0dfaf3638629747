//! The people of a server: each signs in by name, has the vaults that were given, and sees of them what was.

use crate::several::Server;
use crate::support::prelude::*;

pub(crate) const PASSPHRASE: &str = "correct horse battery";

/// A browser that is signed in.
pub(crate) struct Browser<'a> {
    server: &'a Server,
    cookie: String,
    pub(crate) key: String,
}

impl Browser<'_> {
    fn with(&self, request: Request) -> Request {
        request.header("Cookie", &self.cookie).header("X-Vault-Key", &self.key)
    }

    pub(crate) fn get(&self, target: &str) -> Reply {
        self.server.send(&self.with(Request::get(target)))
    }

    pub(crate) fn send(&self, method: &str, target: &str, body: &Value) -> Reply {
        self.server.send(&self.with(Request::send(method, target, body)))
    }

    pub(crate) fn found(&self, vault: &str, word: &str) -> Vec<String> {
        until("the vault to be read", || self.get(&format!("/v/{vault}/status")).status == 200);
        let target = format!("/v/{vault}/api/user-memory/search?q=%22{word}%22&fresh=true");
        column(&self.get(&target).ok()["results"], "path")
    }
}

/// The command `vault person` for a server.
pub(crate) fn person(server: &Server, args: &[&str]) -> Ran {
    Ran::of(vault_command().arg("person").args(args).arg("--vaults").arg(server.path("")))
}

/// An answer without its date.
pub(crate) fn said(reply: &Reply) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let headers = reply.headers.iter().filter(|(name, _)| name != "date").cloned();
    (reply.status, headers.collect(), reply.body.clone())
}

pub(crate) fn signed_in<'a>(server: &'a Server, reply: &Reply) -> Browser<'a> {
    let cookie = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    Browser { server, cookie, key: reply.ok()["key"].as_str().unwrap().to_owned() }
}

/// Adds somebody with vaults, and accepts the invitation.
pub(crate) fn joined<'a>(server: &'a Server, name: &str, gives: &[&str]) -> Browser<'a> {
    let gives = gives.iter().flat_map(|give| ["--give", give]);
    let ran = person(server, &["add", name].into_iter().chain(gives).collect::<Vec<_>>()).ok();
    let code = ran.stdout.trim().split_once("#invite=").unwrap().1.to_owned();
    let join = json!({ "code": code, "passphrase": PASSPHRASE });
    let reply = server.send(&Request::send("POST", "/page/join", &join));
    assert_eq!(server.send(&Request::send("POST", "/page/join", &join)).status, 401, "it works once");
    signed_in(server, &reply)
}

pub(crate) fn sign_in(server: &Server, name: &str, passphrase: &str) -> Reply {
    server.send(&Request::send("POST", "/page/sign-in", &json!({ "name": name, "passphrase": passphrase })))
}

#[test]
fn people_have_the_vaults_that_they_were_given() {
    let mut server = Server::of(&["maya", "sam", "family"], "");
    server.write("family/notes/plan.md", "The plan has zebraplan.");
    server.write("family/notes/secret.md", "---\nprivate: true\n---\nA zebrasecret.");
    let maya = joined(&server, "Maya", &["maya=owner", "family=owner"]);
    let sam = joined(&server, "Sam", &["sam=owner", "family=editor"]);
    let kim = joined(&server, "Kim", &["family=reader"]);
    let me = sam.get("/page/me").ok();
    assert_eq!(me["vaults"], json!([{ "name": "family", "right": "editor" }, { "name": "sam", "right": "owner" }]));
    assert_eq!(me["sessions"].as_array().unwrap().len(), 1);

    // Each has their own, and what is shared; who has it not learns nothing of it.
    assert_eq!(maya.found("maya", "zebramaya"), ["notes/one.md"]);
    assert_eq!(sam.found("sam", "zebrasam"), ["notes/one.md"]);
    for target in ["/status", "/api/user-memory/search?q=zebramaya", "/api/user-memory/note?path=notes/one.md", "/mcp"]
    {
        let [hidden, none] = ["maya", "none"].map(|vault| sam.get(&format!("/v/{vault}{target}")));
        assert_eq!(said(&hidden), said(&none), "{target}");
        assert_eq!(hidden.status, 401);
    }
    for (person, private) in [(&maya, 1), (&sam, 0), (&kim, 0)] {
        assert_eq!(person.found("family", "zebraplan"), ["notes/plan.md"]);
        assert_eq!(person.found("family", "zebrasecret").len(), private);
    }

    // Who may write does, and the log says who it was.
    let note = "/v/family/api/user-memory/note";
    let text = "/v/family/api/user-memory/text?path=notes/plan.md";
    let hash = sam.get(text).ok()["hash"].clone();
    let edit = |text: &str, hash: &Value| json!({ "path": "notes/plan.md", "text": text, "if_hash": hash });
    assert_eq!(kim.get(text).status, 403);
    assert_eq!(kim.send("PUT", note, &edit("Kim's", &hash)).status, 403);
    sam.send("PUT", note, &edit("Sam's zebraplan.", &hash)).ok();
    // Two people edit one note: the later is shown what it says now, and nothing is lost.
    let late = maya.send("PUT", note, &edit("Maya's zebraplan.", &hash));
    assert_eq!((late.status, &late.json()["now"]["text"]), (409, &json!("Sam's zebraplan.")));
    maya.send("PUT", note, &edit("Maya's and Sam's zebraplan.", &late.json()["now"]["hash"])).ok();
    let late = sam.send("PUT", note, &edit("Sam's again.", &hash));
    assert_eq!((late.status, &late.json()["now"]["text"]), (409, &json!("Maya's and Sam's zebraplan.")));
    let changes = maya.get("/v/family/api/log").ok();
    assert_eq!(column(&changes["changes"], "by"), ["person maya", "person sam"]);
    let kept = maya.get("/v/family/api/user-memory/checkpoints").ok();
    assert_eq!(column(&kept["checkpoints"], "by"), ["maya", "sam"], "what two people type is two changes");

    // An editor writes nothing that they would not see, and sees nothing that is hidden.
    let secret = sam.send("PUT", note, &json!({ "path": "notes/secret.md", "text": "x", "if_hash": "x" }));
    let none = sam.send("PUT", note, &json!({ "path": "notes/secreu.md", "text": "x", "if_hash": "x" }));
    assert_eq!((secret.status, secret.error().replace("secret", "secreu")), (404, none.error()));
    let hide = json!({ "path": "notes/new.md", "text": "---\nprivate: true\n---\nx" });
    assert_eq!(sam.send("POST", note, &hide).status, 400);
    for (path, text) in [
        ("notes/x.md", "---\ntrust: person\n---\nx"),
        ("notes/x.md", "[[tax-2025.pdf]]"),
        ("facts.md", "## a\n- key: value"),
        ("memories/user.md", "- Prefers it."),
        ("USER.md", "x"),
        ("agents/ada/agent.md", READS),
    ] {
        let status = sam.send("POST", note, &json!({ "path": path, "text": text })).status;
        assert!([400, 403].contains(&status), "{path}: {status}");
    }
    // An owner's session ends with what they were given.
    assert_eq!(maya.send("POST", "/v/family/api/sessions", &json!({})).status, 403);
    sam.send("POST", note, &json!({ "path": "notes/new.md", "text": "A zebranew." })).ok();
    assert_eq!(kim.found("family", "zebranew"), ["notes/new.md"]);

    // What is taken is gone at once, and who is removed is signed out.
    person(&server, &["take", "sam", "family"]).ok();
    assert_eq!(sam.get("/v/family/status").status, 401);
    person(&server, &["give", "sam", "family=reader", "--collections", "recipes"]).ok();
    assert_eq!(sam.found("family", "zebraplan"), [""; 0]);
    person(&server, &["remove", "sam"]).ok();
    assert_eq!((sam.get("/v/sam/status").status, sam.get("/page/me").status), (401, 401));
}

/// Addresses that a member may ask; all others are the owner's.
const OF_MEMBERS: [&str; 16] = [
    "/health", "/status", "/api/user-memory/search", "/api/user-memory/browse", "/api/user-memory/stats",
    "/api/user-memory/collections", "/api/user-memory/chunk/{hash}", "/api/user-memory/note", "/api/user-memory/links",
    "/api/user-memory/related", "/api/user-memory/tags", "/api/tags", "/api/user-memory/find",
    "/api/user-memory/notes", "/api/user-memory/folders", "/page/token",
];

#[test]
fn no_endpoint_tells_a_member_of_what_is_hidden() {
    let plain = Server::of(&["family"], "");
    let mut hiding = Server::of(&["family"], "");
    for (path, text) in [
        ("notes/hidden.md", "---\nprivate: true\ntags: [hush]\n---\nSee [[one]]: a zebrahidden, zebrafamily #hush"),
        ("notes/diary/day.md", "---\ntags: [health]\n---\nA zebrahealth in [[one]]."),
        ("memories/user.md", "---\nprivate: true\n---\n- Prefers zebrahidden. ^e-12345678"),
        ("facts.md", "---\nprivate: true\n---\n## a\n- key: zebrahidden"),
        ("agents/ada/agent.md", READS),
        ("agents/ada/MEMORY.md", "A zebrahidden."),
    ] {
        hiding.write(&format!("family/{path}"), text);
    }
    let rules = ["give", "sam", "family=editor", "--exclude-tags", "health"];
    let [plain, hiding] = [&plain, &hiding].map(|server| {
        let sam = joined(server, "Sam", &[]);
        person(server, &rules).ok();
        assert_eq!(sam.found("family", "zebrafamily"), ["notes/one.md"]);
        sam
    });
    until("all to be read", || hiding.server.get("family", "/status").ok()["caught_up"] == true);
    let document = hiding.server.get("family", "/openapi.json").ok();
    let mut asked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
            let query = "q=zebrahidden&path=notes/hidden.md&from=2026-01-01&until=2026-12-31&id=1&name=x&key=a/key&agent=ada&text=x";
            let target = format!(
                "/v/family{}?{query}",
                path.replace("{hash}", &"0".repeat(32)).replace("{slug}", "ada").replace("{id}", "1")
            );
            let body = json!({ "path": "notes/hidden.md", "text": "x", "if_hash": "x", "line": 1, "done": true });
            let [one, other] = [&plain, &hiding].map(|sam| match method.as_str() {
                "GET" => sam.get(&target),
                _ => sam.send(&method, &target, &body),
            });
            assert_eq!(one.status, other.status, "{method} {path}");
            // Times are those of the files, and what is not the member's is refused before it is looked at.
            if !OF_MEMBERS.contains(&path.as_str()) && !path.starts_with("/page/") {
                let is_of_editors = ["/api/user-memory/text", "/api/user-memory/task"].contains(&path.as_str());
                assert!(other.status == 403 || is_of_editors, "{method} {path}: {}", other.status);
            }
            for word in ["zebrahidden", "zebrahealth", "hush", "diary"] {
                // It may say back what was asked.
                let said = String::from_utf8_lossy(&other.body)
                    .replace("notes/hidden.md", "")
                    .replace("\"query\":\"zebrahidden\"", "");
                assert!(!said.contains(word), "{method} {path}: {said}");
            }
            asked += 1;
        }
    }
    assert!(asked > 80, "{asked}");
    let count = |sam: &Browser<'_>| sam.get("/v/family/api/user-memory/stats").ok()["files"].clone();
    assert_eq!(count(&plain), count(&hiding));
}

#[test]
fn a_note_is_private_to_one_person_of_several() {
    let mut server = Server::of(&["family"], "");
    server.write("family/memory.toml", "[embed]\nmodel = \"none\"\n[access]\nprivate = [\"notes/locked/**\"]\n");
    let maya = joined(&server, "Maya", &["family=owner"]);
    let sam = joined(&server, "Sam", &["family=editor"]);
    let kim = joined(&server, "Kim", &["family=editor"]);
    let write = |path: &str, text: &str| {
        let file = server.path(&format!("family/{path}"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    let sees = |word: &str| [&maya, &sam, &kim].map(|person| person.found("family", word).len());
    for (path, front, seen) in [
        ("notes/sams.md", "private: sam", [1, 1, 0]),
        ("notes/kims.md", "private: kim", [1, 0, 1]),
        ("notes/tagged.md", "private: sam\ntags: [private]", [1, 0, 0]),
        ("notes/locked/sams.md", "private: sam", [1, 0, 0]),
        ("notes/nobodys.md", "private: true", [1, 0, 0]),
        ("agents/sam/MEMORY.md", "private: sam", [1, 0, 0]),
    ] {
        let word = format!("zebra{}", path.replace(|letter: char| !letter.is_alphanumeric(), ""));
        write(path, &format!("---\n{front}\n---\nA {word}."));
        assert_eq!(sees(&word), seen, "{path}");
    }
    // Agents see none of them, and no link shows one.
    write("agents/sam/agent.md", READS);
    let owner = server.token("family");
    let rotated = Request::send("POST", "/v/family/api/agents/sam/rotate", &json!({})).bearer(&owner);
    let agent = server.send(&rotated).ok()["token"].as_str().unwrap().to_owned();
    let asks = Request::get("/v/family/api/user-memory/search?q=zebranotessamsmd&fresh=true").bearer(&agent);
    assert_eq!(server.send(&asks).ok()["results"], json!([]));
    let shares = Request::send("POST", "/v/family/api/shares", &json!({ "path": "notes/sams.md" })).bearer(&owner);
    assert_eq!(server.send(&shares).status, 400);
    // Sam writes in it and makes such notes, for themselves alone; and opens none to others.
    let note = "/v/family/api/user-memory/note";
    let now = sam.get("/v/family/api/user-memory/text?path=notes/sams.md").ok();
    let edit = |text: &str| json!({ "path": "notes/sams.md", "text": text, "if_hash": now["hash"] });
    for opened in
        ["A zebraopened.", "---\nprivate: kim\n---\nA zebraopened.", "---\nprivate: true\n---\nA zebraopened."]
    {
        assert_eq!(sam.send("PUT", note, &edit(opened)).status, 400, "{opened}");
    }
    sam.send("PUT", note, &edit("---\nprivate: sam\n---\nA zebramore.")).ok();
    let new = |to: &str| json!({ "path": "notes/new.md", "text": format!("---\nprivate: {to}\n---\nA zebranew.") });
    assert_eq!(sam.send("POST", note, &new("kim")).status, 400);
    sam.send("POST", note, &new("sam")).ok();
    // A mark that they write themselves opens nothing that becomes private.
    for (at, tags) in
        ["[\"plans @private/sam\"]", "{\"@private/sam\": true}", "[\"x @Private/sam\"]"].iter().enumerate()
    {
        let path = format!("notes/planted-{at}.md");
        let planted = format!("---\ntags: {tags}\n---\nA zebraplanted{at}.");
        sam.send("POST", note, &json!({ "path": path, "text": planted })).ok();
        let word = format!("zebraplanted{at}");
        assert_eq!(sees(&word), [1, 1, 1], "{tags}");
        write(&path, &planted.replace("tags:", "private: true\ntags:"));
        assert_eq!(sees(&word), [1, 0, 0], "{tags}");
        write(&format!("notes/locked/planted-{at}.md"), &planted.replace("planted", "locked"));
        assert_eq!(sees(&word.replace("planted", "locked")), [1, 0, 0], "{tags}");
    }
    assert_ne!(person(&server, &["add", "Yes"]).code, 0, "nothing is private to a yes");
    assert_eq!((sees("zebramore"), sees("zebranew")), ([1, 1, 0], [1, 1, 0]));
}

#[test]
fn attempts_to_sign_in_are_alike_and_limited() {
    let server = Server::of(&["sam"], "");
    let sam = joined(&server, "Sam", &["sam=owner"]);
    let again = signed_in(&server, &sign_in(&server, "sam", PASSPHRASE));
    assert_eq!(again.get("/page/me").ok()["sessions"].as_array().unwrap().len(), 2);
    let [wrong, nobody] = ["sam", "kim"].map(|name| sign_in(&server, name, "something else"));
    assert_eq!((wrong.status, said(&wrong)), (401, said(&nobody)));
    for odd in ["", "../sam", "Sam", "sam\0", "people/sam"] {
        assert_eq!(sign_in(&server, odd, PASSPHRASE).status, 401, "{odd:?}");
    }
    // Sessions end one by one.
    let id = sam.key.split('.').next().unwrap();
    again.send("POST", "/page/me/end", &json!({ "id": id })).ok();
    assert_eq!((sam.get("/page/me").status, again.get("/v/sam/status").status), (401, 200));
    assert_eq!(again.send("DELETE", "/page/token", &json!({})).status, 200);
    assert_eq!(again.get("/page/me").status, 401);
    let refused = (0..12).map(|_| sign_in(&server, "sam", "something else").status).find(|status| *status == 429);
    assert_eq!((refused, sign_in(&server, "sam", PASSPHRASE).status), (Some(429), 429));
    // A token is its person to every vault they have.
    let token = person(&server, &["token", "sam"]).ok().stdout.trim().to_owned();
    assert_eq!(server.send(&Request::get("/v/sam/status").bearer(&token)).status, 200);
    let wrong = Ran::of(vault_command().args(["person", "list", "--vaults"]).arg(server.path("sam")));
    assert!(wrong.code != 0 && wrong.stderr.contains("is a vault"), "no page of a person goes into a vault");
    let listed = person(&server, &["list", "--json"]).ok().json();
    assert_eq!(listed["people"][0]["vaults"]["sam"]["right"], "owner");
}

#[test]
fn a_proxy_signs_in_from_where_it_is_known_alone() {
    let settings = |from: &str| format!("[sign_in]\nproxy_header = \"Remote-User\"\nproxies = [\"{from}\"]\n");
    let server = Server::of(&["sam"], &settings("127.0.0.1"));
    person(&server, &["add", "Sam", "--give", "sam=owner"]).ok();
    let ask = |server: &Server, name: &str| server.send(&Request::get("/v/sam/status").header("Remote-User", name));
    assert_eq!((ask(&server, "sam").status, ask(&server, "kim").status, ask(&server, "").status), (200, 401, 401));
    let twice = Request::get("/v/sam/status").header("Remote-User", "sam").header("Remote-User", "sam");
    assert_eq!(server.send(&twice).status, 401);
    // A token is what it is, whoever it comes through; and no other page asks in the person's name.
    let with = |name: &str, value: &str| {
        server.send(&Request::get("/v/sam/status").header("Remote-User", "sam").header(name, value)).status
    };
    assert_eq!((with("Authorization", "Bearer x"), with("Sec-Fetch-Site", "same-site")), (401, 401));
    assert_eq!(with("Sec-Fetch-Site", "same-origin"), 200);
    let elsewhere = Server::of(&["sam"], &settings("192.0.2.1"));
    person(&elsewhere, &["add", "Sam", "--give", "sam=owner"]).ok();
    assert_eq!(ask(&elsewhere, "sam").status, 401);
}

#[test]
fn a_kill_in_a_sign_in_leaves_a_session_that_works_or_none() {
    let mut server = Server::of(&["sam"], "");
    drop(joined(&server, "Sam", &["sam=owner"]));
    for point in 0..4 {
        let mut connection = Connection::open(&server.address);
        let sent = std::thread::spawn(move || {
            let signs_in = json!({ "name": "sam", "passphrase": PASSPHRASE });
            connection.send(&Request::send("POST", "/page/sign-in", &signs_in))
        });
        std::thread::sleep(Duration::from_millis(25 * point));
        server.end(rustix::process::Signal::KILL);
        let answered = sent.join().unwrap();
        server = server.started();
        for reply in answered.into_iter().chain([sign_in(&server, "sam", PASSPHRASE)]) {
            let browser = signed_in(&server, &reply);
            assert_eq!((browser.get("/page/me").status, browser.get("/v/sam/status").status), (200, 200));
        }
    }
    // Each that is listed can be ended.
    let last = sign_in(&server, "sam", PASSPHRASE);
    let last = signed_in(&server, &last);
    let listed = last.get("/page/me").ok()["sessions"].as_array().unwrap().len();
    let id = last.key.split('.').next().unwrap();
    assert_eq!(last.send("POST", "/page/me/end", &json!({ "all_but": id })).ok()["ended"], listed - 1);
}

#[test]
fn a_kill_in_an_invitation_leaves_it_open_or_accepted() {
    let mut server = Server::of(&["sam"], "");
    for point in 0..4 {
        let name = format!("sam{point}");
        let ran = person(&server, &["add", &name, "--give", "sam=owner"]).ok();
        let code = ran.stdout.trim().split_once("#invite=").unwrap().1.to_owned();
        let join = Request::send("POST", "/page/join", &json!({ "code": code, "passphrase": PASSPHRASE }));
        // The connection is there before the kill, however late the thread begins.
        let mut connection = Connection::open(&server.address);
        let sent = std::thread::spawn({
            let join = join.clone();
            move || connection.send(&join).map(|reply| reply.status)
        });
        std::thread::sleep(Duration::from_millis(15 * point));
        server.end(rustix::process::Signal::KILL);
        let answered = sent.join().unwrap();
        server = server.started();
        let (again, signed) = (server.send(&join).status, sign_in(&server, &name, PASSPHRASE).status);
        assert_eq!(signed, 200, "either way it is the passphrase now: {answered:?} {again}");
        assert!(again == 200 || again == 401);
        assert!(answered.is_none_or(|status| status != 200) || again == 401);
    }
}
