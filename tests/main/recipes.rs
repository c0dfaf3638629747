//! The recipes of docs/recipes.md: clients that do what the documents of their programs say.

use crate::support::prelude::*;

const TOLD: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"Rye.\"}}]}\n\ndata: [DONE]\n\n";

/// A program with an agent's token, as its settings have it.
struct Client<'v> {
    vault: &'v Daemon,
    token: String,
}

impl Client<'_> {
    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let request = body.map_or(Request::new(method, path), |body| Request::send(method, path, body));
        self.vault.send(&request.bearer(&self.token))
    }

    fn flush(&self, content: &str) -> Value {
        self.send("POST", "/api/memory/flush", Some(&json!({ "content": content }))).ok()
    }
}

fn vault(upstream: &Upstream) -> Daemon {
    let mut vault =
        Daemon::with_config(&format!("[embed]\nmodel = \"none\"\n[upstream]\nendpoint = \"{}\"\n", upstream.address()));
    vault
        .write("profile/profile.md", "# Profile\n\n- Bakes rye bread on Sundays.\n")
        .write("agents/claw/agent.md", "---\ntitle: Claw\ncan_read_user_memory: true\ncollections: [\"*\"]\n---\n");
    vault.start().settle();
    vault
}

fn client(vault: &Daemon) -> Client<'_> {
    let token = vault.token_of("claw");
    Client { vault, token }
}

#[test]
fn openclaw_talks_through_it_and_keeps_what_it_would_lose() {
    let upstream = Upstream::start(|got, stream| match got.line.split(' ').nth(1) {
        Some("/v1/models") => respond(stream, "200 OK", "Content-Type: application/json\r\n", b"{\"data\":[]}"),
        _ => respond(stream, "200 OK", "Content-Type: text/event-stream\r\n", TOLD),
    });
    let vault = vault(&upstream);
    let claw = client(&vault);
    // A provider of the kind `openai-completions`: what models there are, and answers as streams, with tools.
    assert_eq!(claw.send("GET", "/v1/models", None).json(), json!({ "data": [] }));
    let tools = json!([{ "type": "function", "function": { "name": "exec", "parameters": { "type": "object" } } }]);
    let question =
        "Conversation info (untrusted metadata):\n```json\n{\"message_id\": \"7\"}\n```\n\nWhat do you know about me?";
    let messages = json!([{ "role": "system", "content": "You are Claw." }, { "role": "user", "content": question }]);
    let body = json!({ "model": "m", "stream": true, "tools": tools, "messages": messages });
    let reply = claw.send("POST", "/v1/chat/completions", Some(&body));
    assert_eq!((reply.status, reply.body.as_slice()), (200, TOLD));
    let got: Value = serde_json::from_slice(&upstream.last().body).unwrap();
    assert_eq!((&got["tools"], &got["messages"][0]), (&tools, &messages[0]));
    let said = got["messages"][1]["content"].as_str().unwrap();
    assert!(said.contains("Bakes rye bread") && said.ends_with(question), "{said}");
    // `session:compact:before`: the program's own question goes nowhere, and where there is nothing, nothing is written.
    let silent =
        ["NO_REPLY", "Pre-compaction memory flush. Store durable memories only in memory/2026-11-23.md.", "\n"];
    for nothing in silent {
        let reply = claw.send("POST", "/api/memory/flush", Some(&json!({ "content": nothing })));
        assert!([200, 400].contains(&reply.status), "{nothing} {}", reply.json());
        assert!(!vault.path("agents/claw/memory").exists(), "{nothing}");
    }
    let kept = claw.flush("- The oven is booked for Saturday.\nNO_REPLY\n");
    let path = kept["path"].as_str().unwrap().to_owned();
    let text = || vault.read(&path);
    assert!(
        path.starts_with("agents/claw/memory/20") && text() == "- The oven is booked for Saturday.\n",
        "{path} {}",
        text()
    );
    claw.flush("- The oven is booked for Saturday.\n- Priya has the key.\n");
    assert_eq!(text(), "- The oven is booked for Saturday.\n\n- Priya has the key.\n");
}

#[test]
fn moltis_finds_its_page_of_the_person() {
    let upstream = Upstream::start(|_, stream| respond(stream, "200 OK", "", b"{}"));
    let mut vault = vault(&upstream);
    // As Moltis writes it: fields of its own, and a note below that it did.
    let page = "---\nname: Maya\ntimezone: Europe/Vienna\nlatitude: 48.20817\nlongitude: 16.37382\nlocation_place: Wien\n\
        location_updated_at: 1767605400\n---\n\n<!-- managed by Moltis settings -->\n";
    vault.write("USER.md", page).settle();
    let ask = |vault: &Daemon| {
        let claw = client(vault);
        let messages = json!([{ "role": "user", "content": "What do you know about me?" }]);
        let reply = claw.send("POST", "/v1/chat/completions", Some(&json!({ "model": "m", "messages": messages })));
        let got: Value = serde_json::from_slice(&upstream.last().body).unwrap();
        (reply.header("x-vault-memory").unwrap().to_owned(), got["messages"][0]["content"].as_str().unwrap().to_owned())
    };
    let (told, said) = ask(&vault);
    assert!(
        told.starts_with("profile; ") && said.contains("The user's name is Maya.") && said.contains("Wien"),
        "{said}"
    );
    assert!(!said.contains("48.2") && !said.contains("managed by"), "{said}");
    vault.run(&["memory", "profile", "set", "--name", "Maya L."]).ok();
    let kept = vault.read("USER.md");
    assert_eq!(kept, page.replace("name: Maya", "name: Maya L."), "all else stays as it was");
}
