//! Signing in to a server of several vaults with an OpenID provider: who has the account of a person's page is let in, and nobody else,
//! whatever a provider or another page sends.

use crate::people::{PASSPHRASE, person, said, sign_in, signed_in};
use crate::several::{LOG, Server};
use crate::support::prelude::*;

/// A sign-in that has begun, in the browser that began it.
#[derive(Clone)]
struct Begun {
    address: String,
    cookie: String,
}

#[track_caller]
fn begun_of(reply: &Reply) -> Begun {
    let address = reply.ok()["address"].as_str().unwrap().to_owned();
    let set = reply.header("set-cookie").unwrap();
    assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Strict; Max-Age=600"), "{set}");
    Begun { address, cookie: set.split(';').next().unwrap().to_owned() }
}

fn start(server: &Server, params: &Value) -> Reply {
    server.send(&Request::send("POST", "/page/openid/start", params))
}

#[track_caller]
fn begin(server: &Server) -> Begun {
    begun_of(&start(server, &json!({})))
}

fn finish_with(server: &Server, cookie: &str, params: &Value) -> Reply {
    server.send(&Request::send("POST", "/page/openid/finish", params).header("Cookie", cookie))
}

fn finish(server: &Server, begun: &Begun, back: &Back) -> Reply {
    finish_with(server, &begun.cookie, &json!({ "state": back.state, "code": back.code }))
}

/// All of a sign-in.
#[track_caller]
fn sign_in_as(server: &Server, provider: &Provider, subject: &str) -> Reply {
    let begun = begin(server);
    finish(server, &begun, &provider.signs_in(&begun.address, subject))
}

/// The same for who accepts an invitation.
#[track_caller]
fn join_as(server: &Server, provider: &Provider, code: &str, subject: &str) -> Reply {
    let begun = begun_of(&start(server, &json!({ "invitation": code })));
    finish(server, &begun, &provider.signs_in(&begun.address, subject))
}

fn invited(server: &Server, args: &[&str]) -> String {
    person(server, args).ok().stdout.trim().split_once("#invite=").unwrap().1.to_owned()
}

/// A server that knows Sam by the account `sam-1`.
fn with_sam(provider: &Provider) -> Server {
    let server = Server::of(&["sam"], &provider.settings());
    person(&server, &["add", "Sam", "--give", "sam=owner", "--openid", "sam-1"]).ok();
    server
}

#[test]
fn who_has_the_account_of_a_page_has_the_vaults_of_its_person() {
    let provider = Provider::start();
    // Some variable that is set.
    let server = Server::of(&["sam"], &format!("{}openid_secret_env = \"PATH\"\n", provider.settings()));
    assert_eq!(provider.got().len(), 0, "nobody is asked before somebody signs in");
    person(&server, &["add", "Sam", "--give", "sam=owner", "--openid", "sam-1"]).ok();
    let listed = person(&server, &["list"]).ok().stdout;
    assert!(listed.contains(&format!("{} sam-1", provider.issuer())), "{listed}");
    assert_eq!(server.send(&Request::get("/page/sign-in")).ok(), json!({ "openid": "127.0.0.1" }));

    let begun = begin(&server);
    let back = provider.signs_in(&begun.address, "sam-1");
    assert_eq!(provider.redirect(&back), format!("http://{}/v/", server.address), "where the page is");
    let page = server.send(&Request::get(&format!("/v/?code={}&state={}", back.code, back.state)));
    assert_eq!((page.status, page.body), (200, server.send(&Request::get("/v/")).body), "it only serves the page");
    let sam = signed_in(&server, &finish(&server, &begun, &back));
    assert_eq!(sam.found("sam", "zebrasam"), ["notes/one.md"]);
    let me = sam.get("/page/me").ok();
    assert_eq!((&me["name"], me["sessions"].as_array().unwrap().len()), (&json!("sam"), 1));
    let trade = provider.got().into_iter().find(|got| got.line.starts_with("POST /token")).unwrap();
    let body = String::from_utf8(trade.body.clone()).unwrap();
    assert!(trade.header("authorization").is_some_and(|how| how.starts_with("Basic ")) && !body.contains("secret"));

    // Sessions are listed, and end one by one; what the provider says of itself is asked for once.
    let again = signed_in(&server, &sign_in_as(&server, &provider, "sam-1"));
    assert_eq!(again.get("/page/me").ok()["sessions"].as_array().unwrap().len(), 2);
    let id = sam.key.split('.').next().unwrap();
    again.send("POST", "/page/me/end", &json!({ "id": id })).ok();
    assert_eq!((sam.get("/page/me").status, again.get("/v/sam/status").status), (401, 200));
    assert_eq!((provider.asked("/.well-known/openid-configuration"), provider.asked("/jwks")), (1, 1));
    person(&server, &["remove", "sam"]).ok();
    assert_eq!((again.get("/page/me").status, sign_in_as(&server, &provider, "sam-1").status), (401, 401));
}

#[test]
fn an_invitation_is_accepted_with_an_account_in_the_place_of_a_passphrase() {
    let provider = Provider::start();
    let server = with_sam(&provider);
    let code = invited(&server, &["add", "Kim", "--give", "sam=reader"]);
    let join = |code: &str| {
        server.send(&Request::send("POST", "/page/join", &json!({ "code": code, "passphrase": PASSPHRASE })))
    };
    let kim = signed_in(&server, &join(&code));
    let code = invited(&server, &["invite", "kim"]);
    let taken = join_as(&server, &provider, &code, "sam-1");
    assert_eq!((taken.status, taken.error().as_str()), (409, "this account is another person's here"));
    assert_eq!(kim.get("/page/me").status, 200, "nothing has become of it");
    let again = signed_in(&server, &join_as(&server, &provider, &code, "kim: #1"));
    assert_eq!(again.get("/page/me").ok()["name"], "kim");
    assert_eq!(kim.get("/page/me").status, 401, "sessions of before have ended");
    assert_eq!(sign_in(&server, "kim", PASSPHRASE).status, 401, "and so has what opened them");
    for used in [join_as(&server, &provider, &code, "kim: #1"), join(&code), join_as(&server, &provider, "x", "y")] {
        assert_eq!(used.status, 401, "an invitation works once");
    }
    assert_eq!(sign_in_as(&server, &provider, "kim: #1").status, 200);
    // And back to a passphrase.
    signed_in(&server, &join(&invited(&server, &["invite", "kim"])));
    assert_eq!(sign_in_as(&server, &provider, "kim: #1").status, 401);
    let twice = person(&server, &["add", "Ann", "--openid", "sam-1"]);
    assert!(twice.code != 0 && twice.stderr.contains("another person's"), "{}", twice.stderr);
}

#[test]
fn tokens_are_signed_as_providers_do_with_keys_that_change() {
    let provider = Provider::start();
    let server = with_sam(&provider);
    for key in [Key::ed25519("one"), Key::p256("two"), Key::rsa("three"), Key::p256("four"), Key::ed25519("four")] {
        provider.change_key(key.clone());
        assert_eq!(sign_in_as(&server, &provider, "sam-1").status, 200, "{}", key.algorithm);
    }
    // It is asked again where a key is not known, and only then.
    let asked = provider.asked("/jwks");
    assert_eq!(sign_in_as(&server, &provider, "sam-1").status, 200);
    assert_eq!(provider.asked("/jwks"), asked);
}

#[test]
fn a_token_that_is_not_the_providers_for_here_and_now_signs_nobody_in() {
    let provider = Provider::start();
    let server = with_sam(&provider);
    let unknown = sign_in_as(&server, &provider, "kim");
    assert_eq!(unknown.status, 401);
    let log = fs::read_to_string(server.path(LOG)).unwrap();
    assert!(log.contains(&format!("{} kim", provider.issuer())), "whoever runs the server is told: {log}");
    assert!(!String::from_utf8_lossy(&unknown.body).contains("kim"));

    let claims = |claims: Value| Twist { claims, ..Twist::default() };
    let signed = |key: Key| Twist { key: Some(key), ..Twist::default() };
    let past = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() - 1;
    let mut other = Key::ed25519("one");
    other.public["kid"] = json!("another");
    // Each for its own reason, which only the log says.
    for (why, twist) in [
        ("nonce mismatch", claims(json!({ "nonce": "x" }))),
        ("missing nonce", claims(json!({ "nonce": null }))),
        ("must contain `vault`", claims(json!({ "aud": "other" }))),
        ("`other` is not a trusted audience", claims(json!({ "aud": ["vault", "other"] }))),
        ("Invalid issuer", claims(json!({ "iss": "https://accounts.example.com" }))),
        ("Invalid issuer", claims(json!({ "iss": format!("{}/", provider.issuer()) }))),
        ("Expired", claims(json!({ "exp": past }))),
        ("missing field `exp`", claims(json!({ "exp": null }))),
        ("subject is none", claims(json!({ "sub": "" }))),
        ("subject is none", claims(json!({ "sub": "sam-1\n" }))),
        ("incorrect EdDSA signature", signed(Key::ed25519("one"))),
        ("No matching key", signed(other)),
        ("No signature", signed(Key::other("none", &provider.key(), |_| Vec::new()))),
        ("invalid signature", signed(Key::other("EdDSA", &provider.key(), |_| Vec::new()))),
        ("algorithm `HS256`", signed(Key::other("HS256", &provider.key(), |text| text.to_vec()))),
    ] {
        provider.twist(twist);
        assert_eq!(said(&sign_in_as(&server, &provider, "sam-1")), said(&unknown), "{why}");
        let log = fs::read_to_string(server.path(LOG)).unwrap();
        assert!(log.lines().last().is_some_and(|last| last.contains(why)), "{why}: {log}");
    }
    provider.twist(Twist::default());
    assert_eq!(sign_in_as(&server, &provider, "sam-1").status, 200);
}

#[test]
fn what_another_browser_or_page_sends_signs_nobody_in() {
    let provider = Provider::start();
    let server = with_sam(&provider);
    let unknown = said(&sign_in_as(&server, &provider, "kim"));
    let begun = begin(&server);
    let other = begin(&server);
    let back = provider.signs_in(&begun.address, "sam-1");
    let trades = || provider.asked("/token");
    let before = trades();
    let sent = json!({ "state": back.state, "code": back.code });
    for (what, cookie, params) in [
        ("no browser", "", &sent),
        ("another browser", &*other.cookie, &sent),
        ("no state", &*begun.cookie, &json!({ "state": "", "code": back.code })),
        ("another state", &*begun.cookie, &json!({ "state": "x", "code": back.code })),
    ] {
        assert_eq!(said(&finish_with(&server, cookie, params)), unknown, "{what}");
    }
    assert_eq!(trades(), before, "its code goes nowhere");
    // In its own browser it goes on, once.
    assert_eq!(finish(&server, &begun, &back).status, 200);
    assert_eq!(said(&finish(&server, &begun, &back)), unknown, "a replay");
    assert_eq!(trades(), before + 1);
    let third = begin(&server);
    let replayed = Back { state: provider.signs_in(&third.address, "sam-1").state, code: back.code };
    assert_eq!(said(&finish(&server, &third, &replayed)), unknown, "a code is traded once");
    // Somebody else's code, which the verifier of this browser does not fit.
    let (mine, theirs) = (begin(&server), begin(&server));
    let stolen = provider.signs_in(&theirs.address, "sam-1").code;
    let injected = Back { state: provider.signs_in(&mine.address, "kim").state, code: stolen };
    assert_eq!(said(&finish(&server, &mine, &injected)), unknown, "an injected code");

    // What the provider says of the way back.
    for (what, more) in [
        ("another provider", json!({ "iss": "https://accounts.example.com" })),
        ("an error", json!({ "error": "access_denied", "code": null })),
        ("no code", json!({ "code": null })),
    ] {
        let (begun, before) = (begin(&server), trades());
        let back = provider.signs_in(&begun.address, "sam-1");
        let mut params = json!({ "state": back.state, "code": back.code, "iss": provider.issuer() });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(said(&finish_with(&server, &begun.cookie, &params)), unknown, "{what}");
        assert_eq!(trades(), before, "{what}");
        assert_eq!(said(&finish(&server, &begun, &back)), unknown, "{what}: it is over");
    }
    let begun = begin(&server);
    let back = provider.signs_in(&begun.address, "sam-1");
    let named = json!({ "state": back.state, "code": back.code, "iss": provider.issuer() });
    assert_eq!(finish_with(&server, &begun.cookie, &named).status, 200);

    // No other page begins one, and none begins where the browser does not come back to.
    let from =
        |origin: &str| server.send(&Request::send("POST", "/page/openid/start", &json!({})).header("Origin", origin));
    let port = server.address.rsplit(':').next().unwrap();
    assert_eq!(from("https://evil.example").status, 403);
    let elsewhere = from(&format!("http://localhost:{port}"));
    assert_eq!(elsewhere.status, 400);
    assert!(elsewhere.error().contains(&format!("http://{}", server.address)), "{}", elsewhere.error());
    assert_eq!(from(&format!("http://{}", server.address)).status, 200);
}

#[test]
fn a_provider_that_always_names_itself_has_to() {
    let provider = Provider::start();
    let server = with_sam(&provider);
    let metadata = json!({ "authorization_response_iss_parameter_supported": true });
    provider.twist(Twist { metadata, ..Twist::default() });
    let begun = begin(&server);
    let back = provider.signs_in(&begun.address, "sam-1");
    assert_eq!(finish(&server, &begun, &back).status, 401);
    let begun = begin(&server);
    let back = provider.signs_in(&begun.address, "sam-1");
    let named = json!({ "state": back.state, "code": back.code, "iss": provider.issuer() });
    assert_eq!(finish_with(&server, &begun.cookie, &named).status, 200);
}

#[test]
fn a_provider_that_hangs_or_makes_no_sense_holds_up_nobody() {
    let provider = Provider::start();
    let server = with_sam(&provider);
    let code = invited(&server, &["add", "Kim", "--give", "sam=reader"]);
    provider.twist(Twist { is_silent: true, ..Twist::default() });
    std::thread::scope(|scope| {
        let hung: Vec<_> = (0..16).map(|_| scope.spawn(|| start(&server, &json!({})))).collect();
        until("the provider to be asked", || provider.got().len() >= 8);
        // All places at the provider are taken.
        let join = json!({ "code": code, "passphrase": PASSPHRASE });
        let kim = signed_in(&server, &server.send(&Request::send("POST", "/page/join", &join)));
        assert_eq!(kim.found("sam", "zebrasam"), ["notes/one.md"]);
        assert!(hung.iter().any(|one| !one.is_finished()), "all of that was meanwhile");
        let other =
            Twist { answer: Some(("500 Internal Server Error", String::new(), Vec::new())), ..Twist::default() };
        provider.twist(other);
        for one in hung {
            let answer = one.join().unwrap();
            assert_eq!((answer.status, answer.error().as_str()), (503, "the provider does not answer"));
        }
    });
    let json = "Content-Type: application/json\r\n".to_owned();
    let elsewhere = Upstream::start(|_, _| {});
    let redirect = format!("Location: http://{}/\r\n", elsewhere.address());
    let answer = |answer| Twist { answer: Some(answer), ..Twist::default() };
    let metadata = |metadata| Twist { metadata, ..Twist::default() };
    for (what, twist) in [
        ("no JSON", answer(("200 OK", json.clone(), b"<html>".to_vec()))),
        ("too long", answer(("200 OK", json, vec![b' '; (256 << 10) + 1]))),
        ("elsewhere", answer(("302 Found", redirect, Vec::new()))),
        ("another issuer", metadata(json!({ "issuer": "https://accounts.example.com" }))),
        ("keys without TLS", metadata(json!({ "jwks_uri": "http://accounts.example.com/jwks" }))),
        ("a script", metadata(json!({ "authorization_endpoint": "javascript:alert(1)" }))),
        ("a page without TLS", metadata(json!({ "authorization_endpoint": "http://accounts.example.com/" }))),
    ] {
        provider.twist(twist);
        assert_eq!(start(&server, &json!({})).status, 503, "{what}");
    }
    assert_eq!(elsewhere.got().len(), 0, "no redirect is followed");
}

#[test]
fn another_provider_lets_nobody_in_as_the_last_one_did() {
    let (provider, other) = (Provider::start(), Provider::start());
    let mut server = with_sam(&provider);
    assert_eq!(sign_in_as(&server, &provider, "sam-1").status, 200);
    server.end(rustix::process::Signal::TERM);
    server.write("server.toml", other.settings());
    let mut server = server.started();
    assert_eq!(sign_in_as(&server, &other, "sam-1").status, 401);
    // Nor is anybody let in where there is none any more.
    server.end(rustix::process::Signal::TERM);
    server.write("server.toml", "");
    let server = server.started();
    assert_eq!(server.send(&Request::get("/page/sign-in")).ok(), json!({ "openid": null }));
    let back = json!({ "state": "x", "code": "x" });
    assert_eq!((start(&server, &json!({})).status, finish_with(&server, "", &back).status), (404, 404));
}

#[test]
fn a_kill_leaves_nobody_half_signed_in() {
    let provider = Provider::start();
    let mut server = with_sam(&provider);
    let begun = begin(&server);
    let back = provider.signs_in(&begun.address, "sam-1");
    server.end(rustix::process::Signal::KILL);
    server = server.started();
    assert_eq!(finish(&server, &begun, &back).status, 401);
    assert_eq!(sign_in_as(&server, &provider, "sam-1").status, 200, "they sign in again");
    for point in 0..4 {
        let (name, subject) = (format!("kim{point}"), format!("kim-{point}"));
        let code = invited(&server, &["add", &name, "--give", "sam=reader"]);
        let begun = begun_of(&start(&server, &json!({ "invitation": code })));
        let back = provider.signs_in(&begun.address, &subject);
        let params = json!({ "state": back.state, "code": back.code });
        let request = Request::send("POST", "/page/openid/finish", &params).header("Cookie", &begun.cookie);
        // The connection is there before the kill, however late the thread begins.
        let mut connection = Connection::open(&server.address);
        let sent = std::thread::spawn(move || connection.send(&request).map(|reply| reply.status));
        std::thread::sleep(Duration::from_millis(4 * point));
        server.end(rustix::process::Signal::KILL);
        let answered = sent.join().unwrap();
        server = server.started();
        let accepted = sign_in_as(&server, &provider, &subject).status;
        let again = join_as(&server, &provider, &code, &subject).status;
        assert!([(200, 401), (401, 200)].contains(&(accepted, again)), "{accepted} {again}: accepted, or open");
        assert!(answered != Some(200) || accepted == 200, "what was said is so");
        assert_eq!(sign_in_as(&server, &provider, &subject).status, 200);
    }
}

#[test]
fn attempts_are_limited_by_address() {
    let provider = Provider::start();
    let server = with_sam(&provider);
    let refused = |attempt: &dyn Fn() -> Reply| (0..640).map(|_| attempt()).find(|reply| reply.status == 429);
    let wrong = refused(&|| finish_with(&server, "", &json!({ "state": "x", "code": "x" }))).unwrap();
    assert!(wrong.header("retry-after").is_some());
    assert!(refused(&|| start(&server, &json!({}))).is_some());
    let long = json!({ "state": "x", "code": "x".repeat(9 << 10) });
    assert_eq!(finish_with(&server, "", &long).status, 413);
}

#[test]
fn over_tls_the_browser_is_known_by_a_cookie_that_nobody_else_can_set() {
    let provider = Provider::start();
    let settings = format!("[server]\npublic_url = \"https://vault.example\"\n{}", provider.settings());
    let server = Server::of(&["sam"], &settings);
    let request = Request::send("POST", "/page/openid/start", &json!({}));
    let request = request.header("Host", "vault.example").header("Origin", "https://vault.example");
    let reply = server.send(&request);
    let cookie = reply.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-vault-openid=") && cookie.ends_with("; Secure"), "{cookie}");
    let back = provider.signs_in(reply.ok()["address"].as_str().unwrap(), "sam-1");
    assert_eq!(provider.redirect(&back), "https://vault.example/v/");
    assert!(invited(&server, &["add", "Sam"]).len() > 20);
}

#[test]
fn a_server_does_not_start_with_half_a_provider() {
    let start = |settings: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("server.toml"), settings).unwrap();
        let ran = Ran::of(vault_command().args(["serve", "--port", "0", "--vaults"]).arg(folder.path()));
        assert_ne!(ran.code, 0, "{settings}");
        ran.stderr
    };
    let issuer = "openid_issuer = \"https://a.example\"\n";
    let id = "openid_client_id = \"vault\"\n";
    for (settings, key) in [
        (format!("[sign_in]\n{issuer}"), "openid_client_id"),
        (format!("[sign_in]\n{id}"), "openid_issuer"),
        ("[sign_in]\nopenid_secret_env = \"PATH\"\n".into(), "openid_issuer"),
        (format!("[sign_in]\n{id}openid_issuer = \"http://a.example\"\n"), "openid_issuer"),
        (format!("[sign_in]\n{id}openid_issuer = \"a.example\"\n"), "openid_issuer"),
        (format!("[sign_in]\n{issuer}{id}openid_secret_env = \"NO_SUCH_VARIABLE\"\n"), "openid_secret_env"),
        (format!("[sign_in]\n{issuer}{id}openid_secret = \"x\"\n"), "openid_secret"),
        (format!("[server]\nhost = \"0.0.0.0\"\n[sign_in]\n{issuer}{id}"), "server.public_url"),
    ] {
        let said = start(&settings);
        assert!(said.contains(key) && said.contains("server.toml"), "{settings}: {said}");
    }
}
