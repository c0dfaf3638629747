//! Remote assistants from outside: OAuth 2.1 as claude.ai and ChatGPT walk it, and what an attacker would try on the way.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::prelude::*;

const PUBLIC: &str = "https://memory.example.com";
const HOST: &str = "memory.example.com";
const BACK: &str = "https://claude.ai/api/mcp/auth_callback";
/// The pair of RFC 7636.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A client on its way to a vault: what it sends, by name, to be changed by tests.
#[derive(Clone)]
struct Client<'a> {
    daemon: &'a Daemon,
    /// The path of the vault on its server.
    at: &'a str,
    id: String,
}

/// Where consent may be killed.
pub const POINTS: [&str; 3] = ["remote-agent-made", "code-kept", "tokens-kept"];

type Pairs = Vec<(&'static str, String)>;

fn query(pairs: &Pairs) -> String {
    pairs.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect::<Vec<_>>().join("&")
}

/// Without one of them, or with another value.
fn but(mut pairs: Pairs, name: &'static str, value: Option<&str>) -> Pairs {
    pairs.retain(|(known, _)| *known != name);
    pairs.extend(value.map(|value| (name, value.to_owned())));
    pairs
}

fn vault() -> Daemon {
    Daemon::without_model(&format!("[server]\npublic_url = \"{PUBLIC}\"\n"))
        .with("notes/tea.md", "Green tea, 80 degrees.")
        .with("notes/diary.md", "---\nprivate: true\n---\nGreen secrets.")
        .with("work/plan.md", "Green plan.")
}

fn post(target: &str, form: &str) -> Request {
    Request::new("POST", target).header("Host", HOST).form(form)
}

fn initialize() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
}

impl<'a> Client<'a> {
    fn registered(daemon: &'a Daemon) -> Self {
        let said = json!({ "client_name": "Claude", "redirect_uris": [BACK, "http://127.0.0.1:3118/cb"] });
        let made = daemon.send(&Request::send("POST", "/oauth/register", &said).header("Host", HOST));
        assert_eq!((made.status, &made.json()["token_endpoint_auth_method"]), (201, &json!("none")));
        Self { daemon, at: "", id: made.json()["client_id"].as_str().unwrap().to_owned() }
    }

    /// What it asks for.
    fn asks(&self) -> Pairs {
        vec![
            ("response_type", "code".to_owned()),
            ("client_id", self.id.clone()),
            ("redirect_uri", BACK.to_owned()),
            ("state", "its state".to_owned()),
            ("code_challenge", CHALLENGE.to_owned()),
            ("code_challenge_method", "S256".to_owned()),
            ("resource", format!("{PUBLIC}{}/mcp", self.at)),
            ("scope", "vault".to_owned()),
        ]
    }

    fn look(&self, asks: &Pairs) -> Reply {
        self.daemon.ask(Request::send("POST", "/api/remote/request", &json!({ "query": query(asks) })))
    }

    fn decide(&self, asks: &Pairs, more: Value) -> Reply {
        let mut body = json!({ "query": query(asks) });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.daemon.ask(Request::send("POST", "/api/remote/consent", &body))
    }

    /// The person lets it in as an agent of a name, who may read; gives the code.
    #[track_caller]
    fn let_in(&self, name: &str) -> String {
        let rules = json!({ "can_read_user_memory": true, "collections": ["notes"] });
        let goes = self.decide(&self.asks(), json!({ "agent": { "name": name, "rules": rules } })).ok();
        let address = goes["address"].as_str().unwrap().to_owned();
        assert!(address.starts_with(&format!("{BACK}?")), "{address}");
        assert_eq!(
            (said(&address, "state"), said(&address, "iss")),
            (Some("its+state".into()), Some(encode_plain(PUBLIC)))
        );
        said(&address, "code").unwrap()
    }

    fn trades(&self, code: &str) -> Pairs {
        vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.to_owned()),
            ("redirect_uri", BACK.to_owned()),
            ("client_id", self.id.clone()),
            ("code_verifier", VERIFIER.to_owned()),
            ("resource", format!("{PUBLIC}{}/mcp", self.at)),
        ]
    }

    fn renews(&self, refresh: &str) -> Pairs {
        vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh.to_owned()),
            ("client_id", self.id.clone()),
        ]
    }

    fn token(&self, pairs: &Pairs) -> Reply {
        self.daemon.send(&post("/oauth/token", &query(pairs)))
    }

    /// The access token and the refresh token.
    #[track_caller]
    fn tokens(&self, pairs: &Pairs) -> (String, String) {
        let reply = self.token(pairs);
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        let said = reply.ok();
        assert_eq!(
            (&said["token_type"], &said["expires_in"], &said["scope"]),
            (&json!("Bearer"), &json!(3600), &json!("vault"))
        );
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        (text("access_token"), text("refresh_token"))
    }

    fn mcp(&self, token: &str, message: &Value) -> Reply {
        self.daemon.send(&Request::send("POST", "/mcp", message).header("Host", HOST).bearer(token))
    }

    fn is_in(&self, token: &str) -> bool {
        let reply = self.mcp(token, &initialize());
        assert!([200, 401].contains(&reply.status), "{}", reply.status);
        reply.status == 200
    }
}

fn encode_plain(text: &str) -> String {
    text.replace(':', "%3A").replace('/', "%2F")
}

/// What an address says by a name, as it is written.
fn said(address: &str, name: &str) -> Option<String> {
    let (_, query) = address.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
}

#[track_caller]
fn refused(reply: &Reply, error: &str) {
    assert_eq!((reply.status, &reply.json()["error"]), (400, &json!(error)), "{}", reply.json());
}

#[test]
fn without_a_public_address_nothing_of_it_is_there() {
    let daemon = Daemon::vault().started();
    for path in ["/oauth/token", "/oauth/register", "/oauth/authorize", "/.well-known/oauth-authorization-server"] {
        let basic = Some("Bearer, Basic realm=\"vault\"");
        for request in
            [Request::get(path), Request::new("POST", path).form("x=y"), Request::send("POST", "/mcp", &initialize())]
        {
            let reply = daemon.send(&request);
            assert_eq!((reply.status, reply.header("www-authenticate")), (401, basic), "{path}");
        }
        assert_eq!(daemon.get(path).status, 404);
        assert_eq!(daemon.send(&Request::get(path).header("Host", HOST)).status, 403);
    }
    assert_eq!(daemon.ask(Request::send("POST", "/api/remote/request", &json!({ "query": "" }))).status, 404);
    for bad in ["http://memory.example.com", "https://a/b", "memory.example.com", "https://a@b", "https://a/?x"] {
        let vault = Daemon::without_model(&format!("[server]\npublic_url = \"{bad}\"\n"));
        let said = vault.run(&["status"]);
        assert!(said.code == 2 && said.stderr.contains("`server.public_url` is"), "{bad}: {}", said.stderr);
    }
}

#[test]
fn an_assistant_finds_its_way_in_and_reads_what_its_page_gives() {
    let daemon = vault().settled();
    let get = |path: &str| daemon.send(&Request::get(path).header("Host", HOST)).ok();
    // It knows the address alone.
    let refusal = daemon.send(&Request::send("POST", "/mcp", &initialize()).header("Host", HOST));
    let metadata = format!("{PUBLIC}/.well-known/oauth-protected-resource/mcp");
    let challenge = format!("Bearer resource_metadata=\"{metadata}\", scope=\"vault\"");
    assert_eq!((refusal.status, refusal.header("www-authenticate")), (401, Some(&*challenge)));
    let resource = get("/.well-known/oauth-protected-resource/mcp");
    assert_eq!(resource, get("/.well-known/oauth-protected-resource"));
    assert_eq!(
        (&resource["resource"], &resource["authorization_servers"]),
        (&json!(format!("{PUBLIC}/mcp")), &json!([PUBLIC]))
    );
    let server = get("/.well-known/oauth-authorization-server");
    assert_eq!(server["issuer"], PUBLIC);
    assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(server["token_endpoint_auth_methods_supported"], json!(["none"]));
    assert_eq!(server["client_id_metadata_document_supported"], true);
    assert_eq!(server["authorization_response_iss_parameter_supported"], true);
    assert_eq!(server["registration_endpoint"], format!("{PUBLIC}/oauth/register"));
    // The browser is shown the page, which nobody may frame.
    let page = daemon.send(&Request::get("/oauth/authorize?client_id=x").header("Host", HOST));
    assert_eq!((page.status, page.header("x-frame-options")), (200, Some("DENY")));
    assert_eq!(page.body, daemon.send(&Request::get("/")).body);

    let client = Client::registered(&daemon);
    let seen = client.look(&client.asks()).ok();
    assert_eq!(
        seen,
        json!({ "name": "Claude", "redirect": BACK, "redirect_host": "claude.ai" }),
        "no document says whose it is"
    );
    let preview = |rules: Value| daemon.ask(Request::send("POST", "/api/agent-preview", &rules)).ok();
    let all = preview(json!({ "can_read_user_memory": true }));
    assert_eq!(
        (&all["files"], &all["private"], &all["private_paths"]),
        (&json!(2), &json!(1), &json!(["notes/diary.md"]))
    );
    assert_eq!(preview(json!({ "can_read_user_memory": true, "collections": ["work"] }))["files"], 1);
    assert_eq!(preview(json!({}))["files"], 0);

    let code = client.let_in("Claude");
    assert!(fs::read_to_string(daemon.path("agents/claude/agent.md")).unwrap().contains("notes"));
    assert_eq!(client.look(&client.asks()).ok()["agent"], "claude", "it is there by now");
    let (access, refresh) = client.tokens(&client.trades(&code));
    let found = client.mcp(&access, &call("search", json!({ "query": "green" }))).ok();
    let text = found.to_string();
    assert!(text.contains("notes/tea.md") && !text.contains("diary") && !text.contains("work/plan"), "{text}");
    // ChatGPT reads JSON out of the text of `search`, and asks `fetch` for what it found.
    let chatgpt = |tool: &str, arguments: Value| {
        let mut message = call(tool, arguments);
        message["params"]["_meta"] =
            json!({ "io.modelcontextprotocol/clientInfo": { "name": "openai-mcp", "version": "1" } });
        let result = client.mcp(&access, &message).ok()["result"].clone();
        serde_json::from_str::<Value>(result["content"][0]["text"].as_str().unwrap()).unwrap()
    };
    let first = chatgpt("search", json!({ "query": "green tea" }))["results"][0].clone();
    assert!(first["title"].is_string() && first["url"].is_string(), "{first}");
    let whole = chatgpt("fetch", json!({ "id": first["id"] }));
    assert!(whole["text"].as_str().unwrap().contains("80 degrees") && whole["id"] == first["id"], "{whole}");
    // It counts at no other address, and no other token comes of it.
    for path in ["/status", "/api/user-memory/search?q=green", "/api/agents", "/", "/openapi.json"] {
        let reply = daemon.send(&Request::get(path).bearer(&access));
        assert_eq!(reply.status, if path == "/" { 200 } else { 401 }, "{path}");
    }
    // A refresh says no scope.
    let (second, next) = client.tokens(&client.renews(&refresh));
    assert!(client.is_in(&second) && !client.is_in(&access), "the old one is over");
    let log = daemon.get("/api/agents/claude/log").ok();
    assert!(log.to_string().contains("green"), "{log}");

    // It outlives the daemon, and ends with its page.
    let page = fs::read_to_string(daemon.path("agents/claude/agent.md")).unwrap();
    fs::remove_file(daemon.path("agents/claude/agent.md")).unwrap();
    assert!(!client.is_in(&second));
    let invalid = client.mcp(&second, &initialize());
    assert!(invalid.header("www-authenticate").unwrap().contains("error=\"invalid_token\""));
    refused(&client.token(&client.renews(&next)), "invalid_grant");
    fs::write(daemon.path("agents/claude/agent.md"), page).unwrap();
    assert!(!client.is_in(&second), "that it asked for more while its page was gone ended it");
}

#[test]
fn what_was_granted_outlives_the_daemon_and_ends_with_its_agent() {
    let mut daemon = vault().started();
    let id = Client::registered(&daemon).id;
    let (access, refresh) = {
        let client = Client { daemon: &daemon, at: "", id: id.clone() };
        client.tokens(&client.trades(&client.let_in("Claude")))
    };
    daemon.restart();
    let now = Client { daemon: &daemon, at: "", id };
    assert!(now.is_in(&access));
    // A time that is over.
    daemon.ask(Request::send("PATCH", "/api/agents/claude", &json!({ "expires": "2020-01-01" }))).ok();
    assert!(!now.is_in(&access));
    daemon.ask(Request::send("PATCH", "/api/agents/claude", &json!({ "expires": "" }))).ok();
    assert!(now.is_in(&access));
    // The agent goes, and one of its name comes: that is another.
    daemon.ask(Request::new("DELETE", "/api/agents/claude")).ok();
    assert!(!now.is_in(&access));
    daemon.ask(Request::send("POST", "/api/agents", &json!({ "name": "Claude" }))).ok();
    assert!(!now.is_in(&access));
    refused(&now.token(&now.renews(&refresh)), "invalid_grant");
    // Signing in again as an agent that is there leaves its page as it is.
    let page = fs::read_to_string(daemon.path("agents/claude/agent.md")).unwrap();
    let taken = now.decide(&now.asks(), json!({ "agent": { "name": "Claude" } }));
    assert_eq!((taken.status, taken.error().as_str()), (409, "the agent `claude` already exists"));
    let goes = now.decide(&now.asks(), json!({ "existing": "claude" })).ok();
    let (access, _) = now.tokens(&now.trades(&said(goes["address"].as_str().unwrap(), "code").unwrap()));
    assert!(now.is_in(&access));
    assert_eq!(fs::read_to_string(daemon.path("agents/claude/agent.md")).unwrap(), page);
    assert_eq!(now.decide(&now.asks(), json!({ "existing": "nobody" })).status, 404);
    // It gives its token back.
    assert_eq!(daemon.send(&post("/oauth/revoke", &format!("token={access}"))).status, 200);
    assert_eq!(daemon.send(&post("/oauth/revoke", "token=unknown")).status, 200);
    assert!(!now.is_in(&access));
}

#[test]
fn a_code_counts_once_for_who_asked_and_what_it_gave_ends_when_it_is_shown_again() {
    let daemon = vault().started();
    let client = Client::registered(&daemon);
    let other = Client::registered(&daemon);
    let code = client.let_in("One");
    let (access, refresh) = client.tokens(&client.trades(&code));
    assert!(client.is_in(&access));
    refused(&client.token(&client.trades(&code)), "invalid_grant");
    assert!(!client.is_in(&access), "somebody else has the code");
    refused(&client.token(&client.renews(&refresh)), "invalid_grant");

    let wrong = [
        ("code_verifier", "wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong".to_owned(), "invalid_grant"),
        ("code_verifier", CHALLENGE.to_owned(), "invalid_grant"),
        ("code_verifier", "short".to_owned(), "invalid_grant"),
        ("client_id", other.id.clone(), "invalid_grant"),
        ("redirect_uri", "http://127.0.0.1:3118/cb".to_owned(), "invalid_grant"),
        ("redirect_uri", format!("{BACK}/"), "invalid_grant"),
    ];
    for (at, (name, value, error)) in wrong.into_iter().enumerate() {
        let code = client.let_in(&format!("Wrong {at}"));
        refused(&client.token(&but(client.trades(&code), name, Some(&value))), error);
        refused(&client.token(&client.trades(&code)), "invalid_grant");
    }
    // What is missing, or of no use, takes nothing.
    let code = client.let_in("Two");
    for name in ["grant_type", "code", "client_id", "redirect_uri", "code_verifier"] {
        refused(&client.token(&but(client.trades(&code), name, None)), "invalid_request");
        refused(&client.token(&but(client.trades(&code), name, Some(""))), "invalid_request");
    }
    refused(&client.token(&but(client.trades(&code), "grant_type", Some("password"))), "unsupported_grant_type");
    refused(&client.token(&but(client.trades(&code), "resource", Some("https://evil.example/mcp"))), "invalid_target");
    let twice = format!("{}&code=other", query(&client.trades(&code)));
    refused(&daemon.send(&post("/oauth/token", &twice)), "invalid_request");
    // A code is no refresh token.
    let as_refresh = client.let_in("Three");
    refused(&client.token(&client.renews(&as_refresh)), "invalid_grant");
    client.tokens(&but(client.trades(&code), "resource", None));
}

#[test]
fn a_refresh_token_counts_once_and_a_second_use_ends_the_family() {
    let daemon = vault().started();
    let client = Client::registered(&daemon);
    let (first, one) = client.tokens(&client.trades(&client.let_in("Claude")));
    let (_, apart) = client.tokens(&client.trades(&client.let_in("Phone")));
    let (second, two) = client.tokens(&client.renews(&one));
    assert!(!client.is_in(&first) && client.is_in(&second));
    refused(&client.token(&client.renews(&one)), "invalid_grant");
    assert!(!client.is_in(&second), "who has stolen it, or was stolen from, is not known");
    refused(&client.token(&client.renews(&two)), "invalid_grant");
    // What another consent gave goes on; but with another client nothing does.
    let (_, apart) = client.tokens(&client.renews(&apart));
    let other = Client::registered(&daemon);
    refused(&other.token(&other.renews(&apart)), "invalid_grant");
    refused(&client.token(&client.renews(&apart)), "invalid_grant");
    // Of many that come with one token at once one is answered, and then all is over.
    let (_, refresh) = client.tokens(&client.trades(&client.let_in("Storm")));
    let answers: Vec<Reply> = std::thread::scope(|scope| {
        let renew = || client.token(&client.renews(&refresh));
        let all: Vec<_> = (0..8).map(|_| scope.spawn(renew)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let good: Vec<&Reply> = answers.iter().filter(|reply| reply.status == 200).collect();
    assert_eq!(good.len(), 1);
    assert!(!client.is_in(good[0].json()["access_token"].as_str().unwrap()));
}

#[test]
fn pkce_is_not_talked_down_and_nobody_is_sent_where_no_client_is() {
    let daemon = vault().started();
    let client = Client::registered(&daemon);
    // Client and address first: while they are not right, nothing goes anywhere.
    for (name, value) in [
        ("client_id", None),
        ("client_id", Some("unknown")),
        ("client_id", Some("https://127.0.0.1/client.json")),
        ("client_id", Some("https://localhost/client.json")),
        ("redirect_uri", None),
        ("redirect_uri", Some("https://evil.example/")),
        ("redirect_uri", Some("https://claude.ai/api/mcp/auth_callback?x=1")),
        ("redirect_uri", Some("https://claude.ai/api/mcp/auth_callback/..")),
        ("redirect_uri", Some("https://claude.ai@evil.example/api/mcp/auth_callback")),
        ("redirect_uri", Some("http://127.0.0.1:9@evil.example/cb")),
        ("redirect_uri", Some("http://localhost:3118/cb")),
        ("redirect_uri", Some("javascript:alert(1)")),
    ] {
        let asks = but(client.asks(), name, value);
        for reply in [client.look(&asks), client.decide(&asks, json!({ "agent": { "name": "Evil" } }))] {
            assert_eq!(reply.status, 400, "{name} {value:?}");
            assert!(!reply.json().to_string().contains("address\":"), "{}", reply.json());
        }
    }
    let twice =
        json!({ "query": format!("{}&redirect_uri={}", query(&client.asks()), encode("https://evil.example/")) });
    assert_eq!(daemon.ask(Request::send("POST", "/api/remote/request", &twice)).status, 400);
    // On this machine the port may be another.
    let local = but(client.asks(), "redirect_uri", Some("http://127.0.0.1:50123/cb"));
    assert_eq!(client.look(&local).ok()["redirect_host"], "127.0.0.1");
    // All else that is wrong the client is told, and no agent is made.
    for (name, value, error) in [
        ("code_challenge", None, "invalid_request"),
        ("code_challenge", Some("short"), "invalid_request"),
        ("code_challenge", Some(VERIFIER.repeat(2).as_str()), "invalid_request"),
        ("code_challenge_method", None, "invalid_request"),
        ("code_challenge_method", Some("plain"), "invalid_request"),
        ("response_type", Some("token"), "unsupported_response_type"),
        ("response_type", None, "invalid_request"),
        ("resource", Some("https://other.example/mcp"), "invalid_target"),
        ("resource", Some("https://memory.example.com/v/other/mcp"), "invalid_target"),
    ] {
        let asks = but(client.asks(), name, value);
        let back = client.look(&asks).ok()["back"].as_str().unwrap().to_owned();
        let goes = client.decide(&asks, json!({ "agent": { "name": "Evil" } })).ok();
        assert_eq!(goes["address"], back, "{name} {value:?}");
        assert_eq!(said(&back, "error").as_deref(), Some(error), "{name} {value:?}");
        assert_eq!((said(&back, "iss"), said(&back, "code")), (Some(encode_plain(PUBLIC)), None), "whose answer it is");
    }
    let denied = client.decide(&client.asks(), json!({})).ok();
    assert_eq!(said(denied["address"].as_str().unwrap(), "error").as_deref(), Some("access_denied"));
    assert!(!daemon.path("agents").exists());
}

#[test]
fn only_the_person_consents_and_on_the_page_alone() {
    let daemon = vault().with_ada().started();
    let client = Client::registered(&daemon);
    let body = json!({ "query": query(&client.asks()), "agent": { "name": "Evil" } });
    let ada = daemon.ask(Request::new("POST", "/api/agents/ada/rotate").json("{}")).ok()["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let (access, _) = client.tokens(&client.trades(&client.let_in("Claude")));
    let opened = daemon.run(&["open", "--print"]).ok().stdout;
    let code = json!({ "code": opened.trim().split_once("#code=").unwrap().1 });
    let session =
        daemon.send(&Request::send("POST", "/page/token", &code).header("Host", HOST).header("Origin", PUBLIC));
    let cookie = session.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let key = session.ok()["key"].as_str().unwrap().to_owned();
    for path in ["/api/remote/request", "/api/remote/consent"] {
        let request = || Request::send("POST", path, &body).header("Host", HOST);
        assert_eq!(daemon.send(&request()).status, 401);
        assert_eq!(daemon.send(&request().bearer(&ada)).status, 403);
        assert_eq!(daemon.send(&request().bearer(&access)).status, 401);
        // What another page can have a browser send: its cookie, where that is not kept from it, and no key.
        let cookie = || request().header("Cookie", &cookie);
        assert_eq!(daemon.send(&cookie()).status, 401);
        assert_eq!(daemon.send(&cookie().header("Origin", PUBLIC)).status, 401);
        let stranger = cookie().header("X-Vault-Key", &key).header("Origin", "https://evil.example");
        assert_eq!(daemon.send(&stranger).status, 403);
        let form = Request::new("POST", path).header("Host", HOST).form("query=x");
        assert_eq!(daemon.send(&form.header("Cookie", "x=y").header("X-Vault-Key", &key)).status, 401);
        assert_eq!(daemon.send(&Request::get(path).bearer(daemon.token())).status, 405);
    }
    assert!(!daemon.path("agents/evil").exists());
    let page = Request::send("POST", "/api/remote/request", &json!({ "query": query(&client.asks()) }));
    let page = page.header("Host", HOST).header("Cookie", &cookie).header("X-Vault-Key", &key).header("Origin", PUBLIC);
    daemon.send(&page).ok();
}

#[test]
fn registration_can_be_shut_and_whoever_is_in_stays_in() {
    let mut daemon = vault().started();
    let id = Client::registered(&daemon).id;
    let access = {
        let client = Client { daemon: &daemon, at: "", id: id.clone() };
        client.tokens(&client.trades(&client.let_in("Claude"))).0
    };
    let config = fs::read_to_string(daemon.path("memory.toml")).unwrap();
    daemon.write("memory.toml", format!("{config}client_registration = false\n"));
    daemon.restart();
    let said = json!({ "redirect_uris": [BACK] });
    let shut = daemon.send(&Request::send("POST", "/oauth/register", &said).header("Host", HOST));
    assert_eq!((shut.status, &shut.json()["error"]), (403, &json!("access_denied")));
    let server = daemon.send(&Request::get("/.well-known/oauth-authorization-server").header("Host", HOST)).ok();
    assert!(server["registration_endpoint"].is_null());
    let client = Client { daemon: &daemon, at: "", id };
    assert!(client.is_in(&access));
    client.look(&client.asks()).ok();
}

#[test]
fn every_parameter_may_be_anything() {
    let mut daemon = vault().started();
    let client = Client::registered(&daemon);
    let odd = [
        "",
        " ",
        "\0",
        "\r\nSet-Cookie: a=b",
        "%00",
        "%",
        "%zz",
        "../../etc/passwd",
        "{}",
        "[]",
        "null",
        "true",
        "-1",
        "99999999999999999999",
        "'; DROP TABLE remote_grants; --",
        "<script>alert(1)</script>",
        "é",
        "\u{202e}",
        "💥",
        "https://",
        "http://127.0.0.1",
        "//",
        "a.b",
        "a.b.c",
        ".",
        &"x".repeat(5000),
        &"a".repeat(64),
    ];
    let is_fine = |reply: &Reply, what: &str| {
        assert!([200, 400, 413].contains(&reply.status), "{what}: {}", reply.status);
        assert!(reply.header("set-cookie").is_none() && !reply.body.is_empty(), "{what}");
    };
    let trades = client.trades(&client.let_in("Claude"));
    let (asks, renews) = (client.asks(), client.renews("a.b"));
    for (name, _) in &asks {
        for value in odd {
            let pairs = but(asks.clone(), name, Some(value));
            is_fine(&client.look(&pairs), &format!("{name} {value:?}"));
            is_fine(&client.decide(&pairs, json!({})), &format!("{name} {value:?}"));
        }
    }
    // So many at once are told to wait, until the daemon starts anew.
    let mut ask = |request: Request| loop {
        let reply = daemon.send(&request);
        if reply.status != 429 {
            return reply;
        }
        assert!(!daemon.log().contains("panicked"), "{}", daemon.log());
        daemon.restart();
    };
    for pairs in [&trades, &renews] {
        for (name, _) in pairs {
            for value in odd {
                let form = query(&but(pairs.clone(), name, Some(value)));
                is_fine(&ask(post("/oauth/token", &form)), &form);
            }
        }
    }
    for value in odd {
        is_fine(&ask(post("/oauth/revoke", &format!("token={}", encode(value)))), value);
        for key in ["client_name", "redirect_uris", "grant_types", "response_types", "token_endpoint_auth_method", "x"]
        {
            for said in
                [json!({ "redirect_uris": [BACK], key: value }), json!({ "redirect_uris": [BACK], key: [value] })]
            {
                let reply = ask(Request::send("POST", "/oauth/register", &said).header("Host", HOST));
                assert!([201, 400].contains(&reply.status), "{said}: {}", reply.status);
            }
        }
    }
    for raw in [&b"\xff\xfe"[..], b"&&&==&", b"grant_type", b"a=b&a=b", &[b'x'; 20_000]] {
        for path in ["/oauth/token", "/oauth/revoke", "/oauth/register"] {
            let reply = ask(Request::new("POST", path).header("Host", HOST).form(raw));
            assert!([400, 413].contains(&reply.status), "{path}: {}", reply.status);
        }
    }
    for path in ["/oauth/token", "/oauth/register", "/.well-known/oauth-authorization-server"] {
        let wrong = if path.starts_with("/oauth") { Request::get(path) } else { Request::new("POST", path) };
        assert_eq!(daemon.send(&wrong.header("Host", HOST)).status, 405);
    }
    assert!(!daemon.log().contains("panicked"), "{}", daemon.log());
    assert_eq!(daemon.get("/status").status, 200);
}

#[test]
fn too_many_are_told_to_wait_and_the_person_is_not() {
    let daemon = vault().started();
    let statuses: Vec<u16> = (0..130).map(|_| daemon.send(&post("/oauth/token", "grant_type=x")).status).collect();
    assert!(statuses[..100].iter().all(|status| *status == 400) && statuses.last() == Some(&429), "{statuses:?}");
    let waits = daemon.send(&post("/oauth/token", "grant_type=x"));
    assert!(waits.header("retry-after").is_some());
    assert_eq!(daemon.get("/status").status, 200);
    Client::registered(&daemon);
}

#[test]
fn whoever_dies_at_a_step_of_consent_leaves_no_half_of_it() {
    for point in POINTS.map(|point| format!("{point}:1")) {
        let mut daemon = vault();
        assert!(daemon.launch(Some(&point)), "{point}");
        until("the daemon to catch up", || daemon.status()["caught_up"] == true);
        let id = Client::registered(&daemon).id;
        let consent = {
            let client = Client { daemon: &daemon, at: "", id: id.clone() };
            let body = json!({ "query": query(&client.asks()), "agent": { "name": "Claude" } });
            let request = Request::send("POST", "/api/remote/consent", &body).bearer(daemon.token());
            Connection::open(daemon.address()).send(&request)
        };
        let code = consent.map(|reply| said(reply.ok()["address"].as_str().unwrap(), "code").unwrap());
        assert_eq!(code.is_some(), point.starts_with("tokens"), "{point}");
        if let Some(code) = &code {
            let client = Client { daemon: &daemon, at: "", id: id.clone() };
            let request = post("/oauth/token", &query(&client.trades(code)));
            assert!(Connection::open(daemon.address()).send(&request).is_none(), "{point}");
        }
        until("the daemon to die", || daemon.was_killed());
        daemon.start();
        // The page is there, and nobody is in; whoever signs in again comes in.
        let client = Client { daemon: &daemon, at: "", id };
        assert!(daemon.path("agents/claude/agent.md").exists(), "{point}");
        if let Some(code) = &code {
            refused(&client.token(&client.trades(code)), "invalid_grant");
        }
        let goes = client.decide(&client.asks(), json!({ "existing": "claude" })).ok();
        let (access, _) = client.tokens(&client.trades(&said(goes["address"].as_str().unwrap(), "code").unwrap()));
        assert!(client.is_in(&access), "{point}");
    }
}

/// A tunnel to a daemon, which may answer in its place.
struct Tunnel {
    upstream: Upstream,
    to: Arc<Mutex<String>>,
}

type Rule = fn(&str, bool, &str) -> Option<String>;

impl Tunnel {
    /// `rule` gets the line of a request, whether it has a token, and its body.
    fn with(rule: Rule) -> Self {
        let to = Arc::<Mutex<String>>::default();
        let target = Arc::clone(&to);
        let upstream = Upstream::start(move |got, stream| {
            let body = String::from_utf8_lossy(&got.body).into_owned();
            let has_token = got.header("authorization").is_some();
            if let Some(answer) = rule(&got.line, has_token, &body) {
                let _ = stream.write_all(answer.as_bytes());
                return;
            }
            let mut on = TcpStream::connect(&*target.lock().unwrap()).unwrap();
            let mut head = got.line.trim_end().to_owned();
            for (name, value) in got.headers.iter().filter(|(name, _)| name != "connection") {
                head.push_str(&format!("\r\n{name}: {value}"));
            }
            on.write_all(format!("{head}\r\nconnection: close\r\n\r\n").as_bytes()).unwrap();
            on.write_all(&got.body).unwrap();
            let mut answer = Vec::new();
            let _ = on.read_to_end(&mut answer);
            let _ = stream.write_all(&answer);
        });
        Self { upstream, to }
    }

    fn address(&self) -> String {
        format!("http://{}", self.upstream.address())
    }

    fn daemon(&self, public: &str) -> Daemon {
        let daemon = Daemon::without_model(&format!("[server]\npublic_url = \"{public}\"\n")).started();
        *self.to.lock().unwrap() = daemon.address().to_owned();
        daemon
    }
}

fn page(status: &str) -> String {
    let body = "<html>Are you a robot?</html>";
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn document(said: &Value) -> String {
    let body = said.to_string();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn the_check_walks_in_and_out_again() {
    let tunnel = Tunnel::with(|_, _, _| None);
    let daemon = tunnel.daemon(&tunnel.address());
    let ran = daemon.run(&["remote", "check", &tunnel.address(), "--json"]);
    let said = ran.ok().json();
    assert_eq!((&said["good"], said["steps"].as_array().unwrap().len()), (&json!(true), 8), "{said}");
    let words = daemon.run(&["remote", "check", &format!("{}/mcp", tunnel.address())]).ok().stdout;
    assert!(words.contains("✓  refresh without scope") && words.contains("can be given this address"), "{words}");
    assert_eq!(daemon.get("/api/agents").ok()["agents"], json!([]), "its agents are gone");
    let agents = tunnel
        .upstream
        .got()
        .iter()
        .filter_map(|got| got.header("user-agent").map(str::to_owned))
        .collect::<BTreeSet<_>>();
    assert_eq!(agents, ["Claude-User".to_owned(), "openai-mcp/1.0".to_owned()].into());
}

#[track_caller]
fn names(rule: Rule, step: &str, cause: &str) {
    let tunnel = Tunnel::with(rule);
    let daemon = tunnel.daemon(&tunnel.address());
    names_at(&daemon, &tunnel.address(), step, cause);
    assert_eq!(daemon.get("/api/agents").ok()["agents"], json!([]));
}

#[track_caller]
fn names_at(daemon: &Daemon, address: &str, step: &str, cause: &str) {
    let ran = daemon.run(&["remote", "check", address, "--json"]);
    let said = ran.json();
    let last = said["steps"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((ran.code, &last["step"]), (1, &json!(step)), "{said}");
    assert!(last["cause"].as_str().unwrap().contains(cause), "{said}");
}

#[test]
fn the_check_names_metadata_without_pkce() {
    let rule: Rule = |line, _, _| {
        let issuer = "http://127.0.0.1:1";
        line.contains("oauth-authorization-server").then(|| document(&json!({ "issuer": issuer })))
    };
    names(rule, "authorization-server metadata", "another host");
    // The true metadata without what claude.ai looks for.
    let tunnel = Tunnel::with(|line, _, _| {
        let (_, port) = PORT.lock().unwrap().clone()?.rsplit_once(':').map(|(_, port)| ((), port.to_owned()))?;
        let issuer = format!("http://127.0.0.1:{port}");
        line.contains("oauth-authorization-server").then(|| document(&json!({ "issuer": issuer })))
    });
    *PORT.lock().unwrap() = Some(tunnel.address());
    let daemon = tunnel.daemon(&tunnel.address());
    names_at(&daemon, &tunnel.address(), "authorization-server metadata", "without PKCE");
}

/// Where the one tunnel is whose rule says so.
static PORT: Mutex<Option<String>> = Mutex::new(None);

#[test]
fn the_check_names_a_bot_rule() {
    let rule: Rule = |line, _, _| line.starts_with("POST /mcp").then(|| page("403 Forbidden"));
    names(rule, "reach /mcp, which asks for a sign-in", "bot rule");
    let rule: Rule = |line, _, _| line.contains("/.well-known/").then(|| page("200 OK"));
    names(rule, "protected-resource metadata", "bot rule");
    let rule: Rule = |line, _, _| line.contains("/oauth/token").then(|| page("503 Unavailable"));
    names(rule, "tokens for the code", "bot rule");
}

#[test]
fn the_check_names_a_firewall_that_drops_after_the_token() {
    let rule: Rule = |line, has_token, _| (line.starts_with("POST /mcp") && has_token).then(String::new);
    names(rule, "/mcp with the token", "after they carry a token");
    let rule: Rule = |line, has_token, _| (line.starts_with("POST /mcp") && has_token).then(|| page("403 Forbidden"));
    names(rule, "/mcp with the token", "after they carry a token");
}

#[test]
fn the_check_names_another_host() {
    let tunnel = Tunnel::with(|_, _, _| None);
    let daemon = tunnel.daemon("https://memory.example.com");
    names_at(&daemon, &tunnel.address(), "protected-resource metadata", "another host");
    let tunnel = Tunnel::with(|_, _, _| None);
    let daemon = tunnel.daemon("");
    names_at(&daemon, &tunnel.address(), "reach /mcp, which asks for a sign-in", "`[server] public_url` is not set");
    // A name that the vault does not know.
    let by_name = format!("http://vault.localhost:{}", daemon.address().rsplit_once(':').unwrap().1);
    let said = daemon.run(&["remote", "check", &by_name, "--json"]).json();
    let cause = said["steps"][0]["cause"].as_str().unwrap();
    assert!(cause.contains("another host") || cause.contains("tunnel or proxy"), "{said}");
}

#[test]
fn the_check_names_a_refresh_without_scope_that_fails() {
    let rule: Rule = |_, _, body| {
        (body.contains("grant_type=refresh_token") && !body.contains("scope=")).then(|| page("400 Bad Request"))
    };
    names(rule, "refresh without scope", "refresh without scope");
}

#[test]
fn the_check_names_tls_and_a_tunnel_that_is_away() {
    let tunnel = Tunnel::with(|_, _, _| None);
    let daemon = tunnel.daemon(&tunnel.address());
    let secure = tunnel.address().replace("http:", "https:");
    names_at(&daemon, &secure, "reach /mcp, which asks for a sign-in", "TLS");
    names_at(&daemon, "http://127.0.0.1:1", "reach /mcp, which asks for a sign-in", "tunnel or proxy");
    let wrong = daemon.run(&["remote", "check", "memory"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("has to be one such as"), "{}", wrong.stderr);
}
