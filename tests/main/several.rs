//! A server of several vaults: each is its own, opened when it is asked for, and nobody learns which others there are.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;

use crate::support::prelude::*;

/// What a server says on standard error, in its folder.
pub(crate) const LOG: &str = "server.log";

/// A server over a folder of vaults, without models.
pub(crate) struct Server {
    folder: TempDir,
    child: Option<Child>,
    pub(crate) address: String,
}

impl Folder for Server {
    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }
}

impl Server {
    /// Vaults of these names, each with a note that holds a word of its own.
    pub(crate) fn of(names: &[&str], settings: &str) -> Self {
        let mut server = Self { folder: tempfile::tempdir().unwrap(), child: None, address: String::new() };
        for name in names {
            server.write(&format!("{name}/memory.toml"), "[embed]\nmodel = \"none\"\n");
            server.write(&format!("{name}/notes/one.md"), format!("The word of this vault is zebra{name}."));
        }
        server.write("server.toml", settings);
        server.started()
    }

    pub(crate) fn started(mut self) -> Self {
        let log = fs::File::options().create(true).append(true).open(self.path(LOG)).unwrap();
        let mut command = vault_command();
        command.args(["serve", "--port", "0", "--vaults"]).arg(self.folder.path());
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        self.address = line.trim().rsplit("http://").next().unwrap().to_owned();
        std::thread::spawn(move || _ = said.read_to_end(&mut Vec::new()));
        self.child = Some(child);
        self
    }

    pub(crate) fn token(&self, name: &str) -> String {
        let file = self.path(&format!("{name}/.vault/owner-token"));
        eventually("the owner's token", || Some(fs::read_to_string(&file).ok()?.trim().to_owned()))
    }

    pub(crate) fn send(&self, request: &Request) -> Reply {
        Connection::open(&self.address).send(request).expect("the server answers")
    }

    pub(crate) fn get(&self, name: &str, target: &str) -> Reply {
        self.send(&Request::get(&format!("/v/{name}{target}")).bearer(&self.token(name)))
    }

    /// The notes in which a vault finds a word, once it has read all of them.
    #[track_caller]
    pub(crate) fn found(&self, name: &str, word: &str) -> Vec<String> {
        until("the vault to be read", || self.get(name, "/status").ok()["caught_up"] == true);
        column(&self.get(name, &format!("/api/user-memory/search?q=%22{word}%22&fresh=true")).ok()["results"], "path")
    }

    fn is_open(&self, name: &str) -> bool {
        self.path(&format!("{name}/.vault/daemon.json")).exists()
    }

    /// A stream of events, which has begun.
    fn events(&self, name: &str) -> std::net::TcpStream {
        let (token, host) = (self.token(name), &self.address);
        let head = format!("GET /v/{name}/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
        let (stream, status) = send_raw(&self.address, &head);
        assert_eq!(status, "200");
        stream
    }

    pub(crate) fn end(&mut self, signal: rustix::process::Signal) -> std::process::ExitStatus {
        let mut child = self.child.take().unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap()
    }

    /// A command on one of the vaults.
    pub(crate) fn run(&self, name: &str, args: &[&str]) -> Ran {
        Ran::of(vault_command().args(args).arg("--vault").arg(self.path(name)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn each_vault_of_a_server_is_its_own() {
    let elsewhere = Daemon::vault().with("notes/two.md", "The word of this vault is zebrafar.");
    let settings = format!("[[vaults]]\nname = \"far\"\npath = {:?}\n", elsewhere.path("").to_str().unwrap());
    let mut server = Server::of(&["maya", "sam", "Not.A-Name"], &settings);
    let names = ["maya", "sam"];
    assert!(names.iter().all(|name| !server.is_open(name)), "none is opened before it is asked for");
    for name in names {
        assert_eq!(server.found(name, &format!("zebra{name}")), ["notes/one.md"]);
        for other in ["maya", "sam", "far"].iter().filter(|other| **other != name) {
            assert_eq!(server.found(name, &format!("zebra{other}")), [""; 0]);
            assert_eq!(
                server.send(&Request::get(&format!("/v/{other}/status")).bearer(&server.token(name))).status,
                401
            );
        }
    }
    let far = fs::read_to_string(elsewhere.path(".vault/owner-token")).unwrap();
    let status = server.send(&Request::get("/v/far/status").bearer(far.trim()));
    assert_eq!(status.ok()["vault"], fs::canonicalize(elsewhere.path("")).unwrap().to_str().unwrap());

    // Agents, programs that capture, and MCP: each by its own vault.
    server.write("maya/agents/ada/agent.md", READS);
    let rotated = Request::send("POST", "/v/maya/api/agents/ada/rotate", &json!({})).bearer(&server.token("maya"));
    let ada = server.send(&rotated).ok()["token"].as_str().unwrap().to_owned();
    let tool = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let call = Request::send("POST", "/v/maya/mcp", &tool).header("Accept", "application/json, text/event-stream");
    assert_eq!(server.send(&call.clone().bearer(&ada)).status, 200);
    let elsewhere = Request::send("POST", "/v/sam/mcp", &tool).header("Accept", "application/json, text/event-stream");
    assert_eq!(server.send(&elsewhere.bearer(&ada)).status, 401);

    // The command line talks to the vault that is open.
    assert!(server.run("maya", &["search", "zebramaya"]).ok().stdout.contains("notes/one.md"));
    let opened = server.run("maya", &["open", "--print"]).ok().stdout;
    let (address, code) = opened.trim().split_once("#code=").unwrap();
    assert_eq!(address, format!("http://{}/v/maya/", server.address));

    // The page is one for all; a browser's session is of one vault.
    assert_eq!(server.send(&Request::get("/v/maya")).header("location"), Some("/v/maya/"));
    let page = server.send(&Request::get("/v/maya/"));
    assert_eq!((page.status, page.body), (200, server.send(&Request::get("/v/sam/")).body));
    let trade =
        |name: &str| server.send(&Request::send("POST", &format!("/v/{name}/page/token"), &json!({ "code": code })));
    assert_eq!(trade("sam").status, 401);
    let session = trade("maya");
    let key = session.ok()["key"].as_str().unwrap().to_owned();
    let cookie = session.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert!(cookie.starts_with("vault-session-maya="), "{cookie}");
    let as_browser = |name: &str| {
        let request = Request::get(&format!("/v/{name}/status")).header("Cookie", &cookie).header("X-Vault-Key", &key);
        server.send(&request).status
    };
    assert_eq!((as_browser("maya"), as_browser("sam")), (200, 401));
    let renamed = cookie.replace("-maya=", "-sam=");
    let forged = Request::get("/v/sam/status").header("Cookie", &renamed).header("X-Vault-Key", &key);
    assert_eq!(server.send(&forged.header("X-Vault-Name", "maya")).status, 401);

    // What is no name leads nowhere.
    for name in ["Not.A-Name", "..", "%2e%2e", "maya%2f..%2fsam", ".vault", "MAYA", ""] {
        let reply = server.send(&Request::get(&format!("/v/{name}/status")).bearer(&server.token("maya")));
        assert!([401, 404].contains(&reply.status), "{name}: {}", reply.status);
    }
    assert_eq!(server.send(&Request::get("/status").bearer(&server.token("maya"))).status, 404);
    assert_eq!(server.send(&Request::get("/health")).ok(), json!({ "status": "ok" }));
}

/// A request for a vault, by its name and another's token.
type Made = fn(&str, &str) -> Request;

#[test]
fn nobody_learns_which_vaults_there_are() {
    let server = Server::of(&["open", "shut"], "");
    server.found("open", "zebraopen");
    assert!(server.is_open("open") && !server.is_open("shut"));
    let host = |request: Request| request.header("Host", "evil.example");
    let origin = |request: Request| request.header("Origin", "http://evil.example");
    let all: Vec<(&str, Made)> = vec![
        ("page", |name, _| Request::get(&format!("/v/{name}/"))),
        ("file", |name, _| Request::get(&format!("/v/{name}/page/app.js"))),
        ("no file", |name, _| Request::get(&format!("/v/{name}/page/none"))),
        ("method", |name, _| Request::new("PUT", &format!("/v/{name}/page/app.js"))),
        ("health", |name, _| Request::get(&format!("/v/{name}/health"))),
        ("health, sent", |name, _| Request::new("POST", &format!("/v/{name}/health"))),
        ("status", |name, _| Request::get(&format!("/v/{name}/status"))),
        ("head", |name, _| Request::new("HEAD", &format!("/v/{name}/status"))),
        ("no address", |name, _| Request::get(&format!("/v/{name}/none"))),
        ("mcp", |name, _| Request::send("POST", &format!("/v/{name}/mcp"), &json!({}))),
        ("event", |name, _| Request::send("POST", &format!("/v/{name}/api/user-memory/events"), &json!([]))),
        ("options", |name, _| Request::new("OPTIONS", &format!("/v/{name}/status"))),
        ("garbage", |name, _| Request::get(&format!("/v/{name}/status")).bearer("0123456789abcdef")),
        ("another's", |name, other| Request::get(&format!("/v/{name}/status")).bearer(other)),
        ("key", |name, _| {
            Request::get(&format!("/v/{name}/status")).header("X-Vault-Key", "a.b").header("Cookie", "vault-session=x")
        }),
        ("code", |name, _| Request::send("POST", &format!("/v/{name}/page/token"), &json!({ "code": "x" }))),
        ("bad code", |name, _| Request::new("POST", &format!("/v/{name}/page/token")).json("{")),
        ("long code", |name, _| {
            Request::send("POST", &format!("/v/{name}/page/token"), &json!({ "code": "x".repeat(5000) }))
        }),
        ("leave", |name, _| Request::new("DELETE", &format!("/v/{name}/page/token"))),
        ("local", |name, _| Request::send("POST", &format!("/v/{name}/page/code"), &json!({}))),
    ];
    let other = server.token("shut");
    let shown = |reply: Reply| {
        let headers: Vec<_> = reply.headers.into_iter().filter(|(name, _)| name != "date").collect();
        (reply.status, headers, String::from_utf8(reply.body).unwrap())
    };
    for (what, request) in all {
        let changes: [fn(Request) -> Request; 3] = [|request| request, host, origin];
        for change in changes {
            let answers: Vec<_> = ["open", "shut", "none"]
                .iter()
                // Another's token is that of a vault which is not asked.
                .map(|name| request(name, if *name == "shut" { "0123" } else { &other }))
                .map(|request| shown(server.send(&change(request))))
                .collect();
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{what}: {answers:#?}");
        }
    }
    assert!(!server.is_open("shut"), "who is not let in opens nothing");
}

#[test]
fn a_vault_that_nobody_asks_is_closed_and_opened_again() {
    let mut server = Server::of(&["maya", "sam"], "idle_seconds = 1\n");
    server.found("maya", "zebramaya");
    let events = server.events("sam");
    until("the one that nobody asks to be closed", || !server.is_open("maya"));
    assert!(server.is_open("sam"), "whoever follows its events asks it");
    // What changes meanwhile is found; the command line works on it by itself.
    server.write("maya/notes/two.md", "A word that is new: quagga.");
    assert!(server.run("maya", &["search", "quagga"]).ok().stdout.contains("notes/two.md"));
    assert_eq!(server.found("maya", "quagga"), ["notes/two.md"]);
    drop(events);
    until("the other to be closed", || !server.is_open("sam"));
    // It may be killed, and stops in order.
    server.found("maya", "zebramaya");
    server.end(rustix::process::Signal::KILL);
    let mut server = server.started();
    assert_eq!(server.found("maya", "quagga"), ["notes/two.md"]);
    let events = server.events("maya");
    // What cannot be closed in two seconds, as on a slow disk, is told by the exit code, and loses nothing.
    let ended = server.end(rustix::process::Signal::TERM);
    assert!(ended.code().is_some() && (!ended.success() || !server.is_open("maya")), "{ended}");
    drop(events);
}

#[test]
fn one_vault_is_no_other_vaults_trouble() {
    let mut server = Server::of(&["maya", "sam", "torn", "held"], "open_vaults = 2\nidle_seconds = 600\n");
    // One that is not in use gives its place to the next.
    for name in ["maya", "sam", "maya", "held", "sam"] {
        assert_eq!(server.found(name, &format!("zebra{name}")), ["notes/one.md"]);
    }
    // With all in use there is none to give.
    let (one, _two) = (server.events("maya"), server.events("sam"));
    let full = server.get("held", "/status");
    assert_eq!((full.status, full.error().as_str()), (503, "too many vaults are in use"));
    drop(one);
    until("a place to be free", || server.get("held", "/status").status == 200);
    // One that cannot be opened says so, to its own.
    server.write("torn/memory.toml", "[what\n");
    let torn = server.get("torn", "/status");
    assert_eq!((torn.status, torn.error().as_str()), (503, "this vault cannot be opened"));
    server.write("torn/memory.toml", "[embed]\nmodel = \"none\"\n");
    assert_eq!(server.found("torn", "zebratorn"), ["notes/one.md"]);
    assert_eq!(server.found("sam", "zebrasam"), ["notes/one.md"]);
    // One of which another program has the lock: so it says, too.
    let folder = server.path("maya");
    let mut other: Child =
        vault_command().args(["serve", "--port", "0", "--vault"]).arg(&folder).stdout(Stdio::null()).spawn().unwrap();
    until("the other daemon to serve", || server.is_open("maya"));
    let held = server.get("maya", "/status");
    assert_eq!((held.status, held.error().as_str()), (503, "another program is using this vault"));
    other.kill().unwrap();
    other.wait().unwrap();
    until("the vault to be free", || server.get("maya", "/status").status == 200);
    // Settings that are wrong are named.
    for (settings, named) in [
        ("open = 2\n", "open"),
        ("open_vaults = 0\n", "open_vaults"),
        ("[[vaults]]\nname = \"../x\"\npath = \"x\"\n", "../x"),
    ] {
        server.write("server.toml", settings);
        let refused = Ran::of(vault_command().args(["serve", "--port", "0", "--vaults"]).arg(server.path("")));
        assert!(refused.code != 0 && refused.stderr.contains(named), "{}", refused.stderr);
    }
}

#[test]
fn a_remote_assistant_is_let_into_one_vault_of_a_server_and_learns_of_no_other() {
    const PUBLIC: &str = "https://memory.example.com";
    const BACK: &str = "https://claude.ai/cb";
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let server = Server::of(&["maya", "sam"], &format!("[server]\npublic_url = \"{PUBLIC}\"\n"));
    let names = ["maya", "sam", "none"];
    let sent = |request: Request| server.send(&request.header("Host", "memory.example.com"));
    let form = |name: &str, form: &str| sent(Request::new("POST", &format!("/v/{name}/oauth/token")).form(form));
    let tool = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let mcp = |name: &str, token: &str| sent(Request::send("POST", &format!("/v/{name}/mcp"), &tool).bearer(token));
    let register = |name: &str| {
        let said = json!({ "client_name": "Claude", "redirect_uris": [BACK] });
        sent(Request::send("POST", &format!("/v/{name}/oauth/register"), &said))
    };
    let id = |reply: Reply| reply.json()["client_id"].as_str().unwrap().to_owned();
    let query = |name: &str, id: &str| {
        format!(
            "response_type=code&client_id={id}&redirect_uri={}&code_challenge_method=S256&state=s&resource={}\
             &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
            encode(BACK),
            encode(&format!("{PUBLIC}/v/{name}/mcp"))
        )
    };
    let consent = |name: &str, query: &str| {
        let body = json!({ "query": query, "agent": { "name": "Claude", "rules": { "can_read_user_memory": true } } });
        sent(Request::send("POST", &format!("/v/{name}/api/remote/consent"), &body).bearer(&server.token(name)))
    };

    // The way in is the same for a vault that is closed, and for one that is not there.
    let same = |what: &str, answer: &dyn Fn(&str) -> Reply| {
        let told = |name: &str| {
            let reply = answer(name);
            let plain = |text: String| text.replace(&format!("/v/{name}"), "/v/NAME");
            let headers: Vec<_> = reply.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("date")).collect();
            let length = |text: &str| text.replace(&format!("{:?}", reply.body.len().to_string()), "N");
            (
                reply.status,
                length(&plain(format!("{headers:?}"))),
                plain(String::from_utf8_lossy(&reply.body).into_owned()),
            )
        };
        let all = names.map(told);
        assert!(all[0] == all[1] && all[1] == all[2], "{what}: {all:?}");
        all[0].0
    };
    let compared = |when: &str| {
        for (path, status) in [
            ("/.well-known/oauth-authorization-server/v/NAME", 200),
            ("/.well-known/oauth-protected-resource/v/NAME/mcp", 200),
            ("/v/NAME/oauth/authorize?client_id=x", 200),
            ("/v/NAME/oauth/token", 404),
            ("/v/NAME/.well-known/oauth-authorization-server", 404),
            ("/v/NAME/mcp", 401),
        ] {
            let told = same(&format!("{when}: {path}"), &|name| sent(Request::get(&path.replace("NAME", name))));
            assert_eq!(told, status, "{when}: {path}");
        }
        for (said, status) in [
            ("grant_type=x", 400),
            ("", 400),
            ("grant_type=refresh_token&client_id=x&refresh_token=a.b", 400),
            ("grant_type=authorization_code&client_id=x&code=a.b&redirect_uri=x&code_verifier=y", 400),
        ] {
            assert_eq!(same(&format!("{when}: {said}"), &|name| form(name, said)), status);
        }
        assert_eq!(same(when, &|name| mcp(name, "unknown")), 401);
        assert_eq!(
            same(when, &|name| sent(Request::new("POST", &format!("/v/{name}/oauth/revoke")).form("token=x"))),
            200
        );
        assert_eq!(
            same(when, &|name| sent(Request::new("POST", &format!("/v/{name}/oauth/authorize")).form("x=y"))),
            404
        );
        let lengths = names.map(|name| id(register(name)).len());
        assert!(lengths.iter().all(|length| *length == lengths[0]) && register("none").status == 201, "{lengths:?}");
    };
    compared("closed");
    let metadata = sent(Request::get("/.well-known/oauth-authorization-server/v/maya")).ok();
    assert_eq!(
        (&metadata["issuer"], &metadata["token_endpoint"]),
        (&json!(format!("{PUBLIC}/v/maya")), &json!(format!("{PUBLIC}/v/maya/oauth/token")))
    );
    let asked = sent(Request::send("POST", "/v/maya/mcp", &tool));
    let challenge = format!(
        "Bearer resource_metadata=\"{PUBLIC}/.well-known/oauth-protected-resource/v/maya/mcp\", scope=\"vault\""
    );
    assert_eq!(asked.header("www-authenticate"), Some(&*challenge));
    for path in
        ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/v/..", "/oauth/token"]
    {
        assert_eq!(sent(Request::get(path)).status, 404, "{path}");
    }

    for name in ["a%22b", "Maya", "..", "%c3%a9"] {
        let plain = sent(Request::send("POST", &format!("/v/{name}/mcp"), &tool));
        assert_eq!(
            (plain.status, plain.header("www-authenticate")),
            (401, Some("Bearer, Basic realm=\"vault\"")),
            "{name}"
        );
    }
    let mayas = id(register("maya"));
    let goes = consent("maya", &query("maya", &mayas)).ok();
    let address = goes["address"].as_str().unwrap();
    assert!(address.ends_with(&format!("iss={}", "https%3A%2F%2Fmemory.example.com%2Fv%2Fmaya")), "{address}");
    let code = address.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let trade = format!(
        "grant_type=authorization_code&client_id={mayas}&code={code}&redirect_uri={}&code_verifier={VERIFIER}",
        encode(BACK)
    );
    assert_eq!(form("sam", &trade).status, 400, "the code is of another vault");
    assert_eq!(form("none", &trade).status, 400);
    let tokens = form("maya", &trade).ok();
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!((mcp("maya", access).status, mcp("sam", access).status, mcp("none", access).status), (200, 401, 401));
    // A client of one vault is none of another, and neither is its address.
    assert_eq!(consent("sam", &query("sam", &mayas)).status, 400);
    let goes = consent("maya", &query("sam", &mayas)).ok();
    assert!(goes["address"].as_str().unwrap().contains("error=invalid_target"), "{goes}");
    compared("open");
    let renew = format!(
        "grant_type=refresh_token&client_id={mayas}&refresh_token={}",
        tokens["refresh_token"].as_str().unwrap()
    );
    assert_eq!(form("sam", &renew).status, 400);
    let renewed = form("maya", &renew).ok();
    assert_eq!((mcp("maya", access).status, mcp("maya", renewed["access_token"].as_str().unwrap()).status), (401, 200));
}
