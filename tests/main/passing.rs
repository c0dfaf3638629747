//! Requests to a chat model that are passed on, with memory where there is some: a server on this machine is the upstream.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::prelude::*;

/// A vault whose agent ada has a memory, with an upstream.
fn vault(upstream: &str, more: &str) -> (Daemon, String) {
    let mut vault =
        Daemon::with_config(&format!("[embed]\nmodel = \"none\"\n[upstream]\nendpoint = \"{upstream}\"\n{more}"));
    vault
        .write("profile/profile.md", "# Profile\n\n- Bakes rye bread on Sundays.\n")
        .write("notes/secret.md", "---\nprivate: true\n---\nA xylophone.\n")
        .write("agents/ada/agent.md", "---\ntitle: Ada L.\ncan_read_user_memory: true\n---\n");
    vault.start().settle();
    let token = vault.token_of("ada");
    (vault, token)
}

fn asked(token: &str, body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", "/v1/chat/completions").bearer(token).json(body)
}

const ABOUT_ME: &str = "What do you know about me?";

fn chat(question: &str) -> String {
    json!({ "model": "m", "messages": [{ "role": "system", "content": "S" }, { "role": "user", "content": question }] })
        .to_string()
}

fn told(reply: &Reply) -> &str {
    reply.header("x-vault-memory").unwrap()
}

#[test]
fn memory_goes_into_the_last_message_and_who_asks_is_not_told_to_the_upstream() {
    let upstream = Upstream::start(|_, stream| {
        respond(stream, "200 OK", "Content-Type: application/json\r\nSet-Cookie: a=b\r\n", b"{\"ok\":1}")
    });
    let (vault, ada) = vault(&upstream.address(), "");
    let body = json!({
        "model": "m", "temperature": 0.1, "tools": [{ "type": "function", "function": { "name": "f" } }],
        "messages": [
            { "role": "system", "content": [{ "type": "text", "text": "S", "cache_control": { "type": "ephemeral" } }] },
            { "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "data:x" } }, { "type": "text", "text": ABOUT_ME }] },
        ],
    });
    let request = asked(&ada, body.to_string())
        .header("X-Osaurus-Agent-Id", "ada")
        .header("Cookie", "secret")
        .header("OpenAI-Beta", "b");
    let reply = vault.send(&request);
    assert_eq!((reply.status, reply.body.as_slice()), (200, &b"{\"ok\":1}"[..]));
    assert!(told(&reply).starts_with("profile; tokens=") && reply.header("set-cookie").is_none(), "{}", told(&reply));
    let got = upstream.last();
    assert_eq!(got.line.trim(), "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(
        (got.header("authorization"), got.header("cookie"), got.header("x-osaurus-agent-id")),
        (None, None, None)
    );
    assert_eq!(got.header("openai-beta"), Some("b"));
    let mut sent: Value = serde_json::from_slice(&got.body).unwrap();
    let memory = sent["messages"][1]["content"].as_array_mut().unwrap().remove(0);
    assert!(memory["text"].as_str().unwrap().contains("Bakes rye bread on Sundays."), "{memory}");
    assert_eq!(sent, body);
    // The same again: a cache of prompts finds the same bytes.
    vault.send(&asked(&ada, body.to_string()));
    assert_eq!(upstream.last().body, got.body);
    assert_eq!(vault.get_as(&ada, "/v1/models").status, 200);
    assert_eq!(upstream.last().line.trim(), "GET /v1/models HTTP/1.1");
}

#[test]
fn where_memory_has_nothing_or_fails_the_very_bytes_go_on() {
    let upstream = Upstream::start(|_, stream| respond(stream, "200 OK", "", b"{}"));
    let (vault, ada) = vault(&upstream.address(), "");
    let twice = format!("{{\"model\": 1, {}", &chat(ABOUT_ME)[1..]);
    let cases: Vec<(Vec<u8>, Option<&str>, &str)> = vec![
        (chat("thanks").into(), None, "nothing; tokens=0"),
        (chat(ABOUT_ME).into(), Some("zoe"), "skipped; another agent is named"),
        (chat(ABOUT_ME).into(), Some("Ada L."), "profile; tokens="),
        (b"{ no json".to_vec(), None, "skipped; the body is not JSON"),
        (vec![0xff, 0x00], None, "skipped; the body is not text"),
        (b"{\"messages\": [ ]}".to_vec(), None, "skipped; no message is from the user"),
        (twice.into(), None, "profile; tokens="),
    ];
    for (body, named, expected) in cases {
        let mut request = asked(&ada, body.clone());
        if let Some(named) = named {
            request = request.header("X-Osaurus-Agent-Id", named);
        }
        let reply = vault.send(&request);
        assert!(reply.status == 200 && told(&reply).starts_with(expected), "{} {expected}", told(&reply));
        assert_eq!(upstream.last().body == body, !expected.starts_with("profile"), "{expected}");
    }
    vault.run(&["agent", "deny", "ada"]).ok();
    let reply = vault.send(&asked(&ada, chat(ABOUT_ME)));
    assert!(told(&reply).starts_with("nothing; "), "{}", told(&reply));
    assert_eq!(upstream.last().body, chat(ABOUT_ME).into_bytes());
}

#[test]
fn a_stream_comes_byte_for_byte_as_it_comes() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let first = "data: {\"a\":1}\r\n\r\n: \u{2026}\n\n";
    let upstream = Upstream::start(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        stream.write_all(format!("{head}{first}").as_bytes()).unwrap();
        // The rest comes when the first was heard.
        let _ = wait.lock().unwrap().recv();
        stream.write_all(b"data: [DONE]\n\n").unwrap();
    });
    let (vault, ada) = vault(&upstream.address(), "");
    let mut stream = TcpStream::connect(vault.address()).unwrap();
    let body = chat(ABOUT_ME);
    let head = format!(
        "POST /v1/chat/completions HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {ada}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).unwrap();
    let (mut heard, mut part) = (Vec::new(), [0; 4096]);
    while !heard.ends_with(first.as_bytes()) {
        let read = stream.read(&mut part).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&heard));
        heard.extend(&part[..read]);
    }
    go.send(()).unwrap();
    stream.read_to_end(&mut heard).unwrap();
    let heard = String::from_utf8(heard).unwrap();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, format!("{first}data: [DONE]\n\n"));
    assert!(head.contains("content-type: text/event-stream"), "{head}");
}

#[test]
fn whatever_an_upstream_does_its_answer_is_passed_back_or_said_to_have_failed() {
    let upstream = Upstream::start(|got, stream| {
        let body = String::from_utf8_lossy(&got.body).into_owned();
        match ["401", "429", "500", "redirect", "close", "garbage", "half", "slow"]
            .into_iter()
            .find(|word| body.contains(word))
        {
            Some("401") => respond(stream, "401 Unauthorized", "", b"{\"error\":\"bad key sk-quokka\"}"),
            Some("429") => respond(stream, "429 Too Many Requests", "Retry-After: 7\r\n", b"{\"error\":\"busy\"}"),
            Some("500") => respond(stream, "500 Internal Server Error", "", b"boom"),
            Some("redirect") => respond(stream, "307 Temporary Redirect", "Location: http://127.0.0.1:1/evil\r\n", b""),
            Some("garbage") => respond(stream, "200 OK", "Content-Type: application/json\r\n", b"{ no json"),
            Some("half") => drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")),
            // It says nothing until who asked is gone.
            Some("slow") => drop(stream.read(&mut [0; 1])),
            _ => {}
        }
    });
    let (vault, ada) = vault(&upstream.address(), "timeout_ms = 1000\n");
    let ask = |word: &str| vault.send(&asked(&ada, chat(word)));
    let reply = ask("401");
    assert!(
        reply.status == 502 && !reply.error().contains("quokka") && reply.error().contains("needs a key"),
        "{}",
        reply.error()
    );
    let reply = ask("429");
    assert_eq!(
        (reply.status, reply.header("retry-after"), reply.body.as_slice()),
        (429, Some("7"), &b"{\"error\":\"busy\"}"[..])
    );
    let reply = ask("500");
    assert_eq!((reply.status, reply.body.as_slice()), (500, &b"boom"[..]));
    let reply = ask("redirect");
    assert!(
        reply.status == 502 && reply.error().contains("redirect") && reply.header("location").is_none(),
        "{}",
        reply.error()
    );
    let reply = ask("close");
    assert!(reply.status == 502 && reply.header("x-vault-memory").is_some(), "{}", reply.error());
    let reply = ask("garbage");
    assert_eq!((reply.status, reply.body.as_slice()), (200, &b"{ no json"[..]));
    assert_eq!(ask("slow").status, 504);
    // What breaks off is not taken for whole.
    let mut connection = Connection::open(vault.address());
    assert!(connection.send(&asked(&ada, chat("half"))).is_none());
    assert_eq!(ask("500").status, 500, "it goes on");
}

#[test]
fn one_agent_takes_a_part_of_the_room_alone() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let upstream = Upstream::start(move |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata");
        let _ = wait.lock().unwrap().recv();
    });
    let (vault, ada) = vault(&upstream.address(), "");
    let mut waiting = Vec::new();
    for _ in 0..8 {
        let head = format!("GET /v1/models HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {ada}\r\n\r\n");
        let (stream, status) = send_raw(vault.address(), &head);
        assert_eq!(status, "200");
        waiting.push(stream);
    }
    let models = Request::get("/v1/models").bearer(&ada);
    let full = vault.send(&models);
    assert_eq!(full.status, 503, "{}", full.json());
    // It is refused before anything of a body is read.
    let head = format!(
        "POST /v1/chat/completions HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {ada}\r\nContent-Length: 1000\r\n\r\n"
    );
    assert_eq!(send_raw(vault.address(), &head).1, "503");
    drop(go);
    for mut stream in waiting {
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
}

#[test]
fn only_agents_are_passed_on_and_only_to_an_upstream_that_is_named() {
    let upstream = Upstream::start(|_, stream| respond(stream, "200 OK", "", b"{}"));
    let (vault, ada) = vault(&upstream.address(), "");
    assert_eq!(vault.post("/v1/chat/completions", &json!({})).status, 403);
    assert_eq!(vault.get("/v1/models").status, 403);
    let capture = vault.run(&["token", "add", "--capture", "browser"]).ok().stdout.trim().to_owned();
    assert_eq!(vault.send(&asked(&capture, "{}")).status, 403);
    assert_eq!(vault.send(&asked("wrong", "{}")).status, 401);
    let large = chat(&format!("{ABOUT_ME} {}", "x".repeat(10 << 20)));
    let reply = vault.send(&asked(&ada, large.clone()));
    assert!(
        reply.status == 200 && told(&reply).starts_with("skipped; ") && upstream.last().body.len() == large.len(),
        "{}",
        told(&reply)
    );
    let reply = vault.send(&asked(&ada, chat(&"x".repeat(32 << 20))));
    assert_eq!(reply.status, 413);
    let (unset, ada) = self::vault("", "");
    let reply = unset.send(&asked(&ada, chat(ABOUT_ME)));
    assert!(reply.status == 404 && reply.json()["error"]["hint"].as_str().unwrap().contains("[upstream] endpoint"));
}

#[test]
fn the_page_of_an_agent_keeps_memory_out_of_its_prompts() {
    let upstream = Upstream::start(|_, stream| respond(stream, "200 OK", "", b"{}"));
    let (mut vault, ada) = vault(&upstream.address(), "");
    for (style, expected) in [("search-only", "nothing; "), ("off", "nothing; "), ("prompt-only", "profile; ")] {
        vault.write("agents/ada/agent.md", format!("---\ncan_read_user_memory: true\nstyle: {style}\n---\n")).settle();
        let reply = vault.send(&asked(&ada, chat(ABOUT_ME)));
        assert!(told(&reply).starts_with(expected), "{style} {}", told(&reply));
    }
}
