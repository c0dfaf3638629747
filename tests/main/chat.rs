//! Searches with the help of a chat model, which fails in every way that one can.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use memory_vault::access::request::{Role, Viewer};
use memory_vault::access::rules::{Principal, Turn};
use memory_vault::models::{ChatModel, ChatOptions, ChatRequest, ChatUsage, EndpointChat, ModelErrorKind};
use memory_vault::serve::wire::SearchResponse;
use memory_vault::vault::disk::Home;

use crate::support::prelude::*;

/// `[chat]` and `[search]` for a model at an address.
fn config(address: &str, search: &str, chat: &str) -> String {
    format!(
        "[embed]\nmodel = \"none\"\n[search]\nmode = \"keyword\"\n{search}\n[chat]\nendpoint = \"{address}\"\nmodel = \"judge\"\n{chat}\n"
    )
}

/// Three notes with the word, of which the last by words is the one that is right.
fn write(vault: &mut Daemon) {
    vault
        .write("notes/a.md", "# A\n\nThe dough, the dough, the dough.\n")
        .write("notes/b.md", "# B\n\nThe dough and the other dough, and flour.\n")
        .write("notes/c.md", "# C\n\nOf all that is right, dough is one thing among others that are long.\n")
        .write("notes/other.md", "# Other\n\nSomething else.\n");
}

const BY_WORDS: [&str; 3] = ["notes/a.md", "notes/b.md", "notes/c.md"];
const JUDGED: [&str; 3] = ["notes/c.md", "notes/a.md", "notes/b.md"];

fn right(passage: &str) -> f64 {
    if passage.contains("right") { 1.0 } else { 0.1 }
}

/// A vault in this process, read once; the daemon is its folder.
fn open(vault: &Daemon, text: &str) -> App {
    let config = Config::parse(text, Path::new("memory.toml")).unwrap();
    let home = Home::open(&vault.path("")).unwrap();
    let lock = eventually("the lock", || home.lock().ok());
    let app = App::start(home, config, lock, false).unwrap();
    assert!(app.shared.wait(PATIENCE, |progress| progress.is_complete()).is_complete());
    app
}

fn search(app: &App, query: &str, set: Option<&str>) -> SearchResponse {
    let params =
        SearchQuery { q: query.into(), set: set.map(Into::into), mode: Some(Mode::Keyword), ..SearchQuery::default() };
    notes::search(&app.owner(), &params).unwrap()
}

fn paths(found: &SearchResponse) -> Vec<&str> {
    found.results.iter().map(|hit| hit.chunk.path.as_str()).collect()
}

fn paths_of(found: &Value) -> Vec<&str> {
    found["results"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect()
}

#[test]
fn a_chat_model_puts_the_best_in_order_anew() {
    let endpoint = Endpoint::start();
    endpoint.judges(right);
    let mut vault = Daemon::with_config(&config(&endpoint.address(), "rerank = \"chat\"", ""));
    write(&mut vault);
    // Alone, and by a daemon.
    for with_daemon in [false, true] {
        if with_daemon {
            vault.start();
        }
        let found = vault.run(&["search", "dough", "--json"]).ok().json();
        assert_eq!((paths_of(&found), &found["degraded"]), (JUDGED.to_vec(), &Value::Null));
        assert_eq!(found["results"][0]["scores"]["rerank"], 1.0, "{found}");
        let shown = vault.run(&["search", "dough", "--explain"]).ok().stdout;
        assert!(shown.contains("reranked 1.00") && shown.contains("reranked 0.10"), "{shown}");
        let asked = endpoint.asked().len();
        let found = vault.run(&["search", "dough", "--set", "rerank=false", "--json"]).ok().json();
        assert_eq!((paths_of(&found), endpoint.asked().len()), (BY_WORDS.to_vec(), asked));
    }
    let found = vault.get("/api/user-memory/search?q=dough").json();
    assert_eq!(paths_of(&found), JUDGED);
    let scores: Vec<f64> =
        found["results"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, two| one >= two), "{scores:?}");
    let found = vault.get("/api/user-memory/search?q=dough&set=rerank%3Doff").json();
    assert_eq!(paths_of(&found), BY_WORDS);
    // What is called as was typed stays first, and is not sent.
    let found = vault.get("/api/user-memory/search?q=a").json();
    assert_eq!(found["results"][0]["path"], "notes/a.md");
    // What only says which notes asks nobody.
    let asked = endpoint.asked().len();
    vault.get("/api/user-memory/search?q=in:notes");
    assert_eq!(endpoint.asked().len(), asked);
    let status = vault.run(&["status"]).ok().stdout;
    assert!(status.contains(&format!("judge at {}", endpoint.address())) && status.contains("tokens read"), "{status}");
    assert!(vault.status()["chat"]["prompt_tokens"].as_u64().unwrap() >= 100);
}

#[test]
fn one_search_can_ask_for_it_and_nobody_asks_unless_told() {
    let endpoint = Endpoint::start();
    endpoint.judges(right);
    let mut vault = Daemon::with_config("");
    write(&mut vault);
    let app = open(&vault, &config(&endpoint.address(), "", ""));
    assert_eq!((paths(&search(&app, "dough", None)), endpoint.asked().len()), (BY_WORDS.to_vec(), 0));
    assert_eq!(paths(&search(&app, "dough", Some("rerank=true"))), JUDGED);
    drop(app);
    // Where there is no model to ask, it says so.
    let app = open(&vault, "[embed]\nmodel = \"none\"\n");
    let found = search(&app, "dough", Some("rerank=true"));
    assert_eq!(paths(&found), BY_WORDS);
    let said = found.degraded.unwrap();
    assert!(said.contains("not reranked: `chat.endpoint`"), "{said}");
}

#[test]
fn whatever_fails_leaves_the_order_before_and_is_said() {
    let mut vault = Daemon::with_config("");
    write(&mut vault);
    let faults = [
        (Fault::Hang, "did not answer within"),
        (Fault::Status(429, "Retry-After: 7\r\n", ""), "is busy (429)"),
        (Fault::Status(500, "", r#"{"error":{"message":"no memory"}}"#), "has failed (500): no memory"),
        (Fault::Status(401, "", ""), "needs a key: name its environment variable in `chat.api_key_env`"),
        (Fault::Status(307, "Location: /elsewhere\r\n", ""), "`chat.endpoint`"),
        (Fault::Html, "did not return JSON"),
        (Fault::Half, "the chat endpoint"),
        (Fault::Close, "the chat endpoint"),
        (Fault::Nan, "did not return the requested scores"),
        (Fault::Fewer, "more or fewer scores"),
        (Fault::Says("Sure! The third passage is the best."), "did not return the requested scores"),
        (Fault::Says("```json\n{\"scores\":[0.1,0.1,1.0]}\n```"), "did not return the requested scores"),
        (Fault::Says("{\"scores\":[0.1,0.1,1.5]}"), "outside 0 to 1"),
        (Fault::Says("{\"scores\":[0.1,0.1,1.0,1.0]}"), "more or fewer scores"),
        (Fault::Status(200, "", r#"{"choices":[]}"#), "without text"),
    ];
    for (fault, said) in faults {
        let endpoint = Endpoint::start();
        endpoint.judges(right);
        let app = open(&vault, &config(&endpoint.address(), "rerank = \"chat\"", ""));
        let failing = fault.clone();
        endpoint.fails(move |_| Some(failing.clone()));
        let found = search(&app, "dough", None);
        assert_eq!(paths(&found), BY_WORDS, "{fault:?}");
        assert!(found.results.iter().all(|hit| hit.scores.rerank.is_none()), "{fault:?}");
        let degraded = found.degraded.unwrap_or_default();
        assert!(degraded.contains("not reranked") && degraded.contains(said), "{fault:?}: {degraded}");
        assert!(!degraded.contains("third passage"), "what it says is nobody's: {degraded}");
        assert_eq!(endpoint.asked().len(), 1, "{fault:?}: it is asked once");
    }
}

#[test]
fn a_model_that_hangs_leaves_an_agent_its_answer() {
    let endpoint = Endpoint::start();
    endpoint.fails(|_| Some(Fault::Hang));
    let text = config(&endpoint.address(), "rerank = \"chat\"", "") + "[agents]\ntimeout_ms = 4000\n";
    let mut vault = Daemon::with_config(&text);
    write(&mut vault);
    vault.start();
    let token = vault.run(&["agent", "add", "ada", "--allow"]).ok().stdout.trim().to_owned();
    let reply = vault.get_as(&token, "/api/user-memory/search?q=dough");
    let found = reply.json();
    assert_eq!((reply.status, paths_of(&found)), (200, BY_WORDS.to_vec()), "{found}");
    let said = found["degraded"].as_str().unwrap();
    assert_eq!(said, "not reranked");
}

#[test]
fn after_five_failures_or_a_refusal_a_chat_model_is_left_alone() {
    let endpoint = Endpoint::start();
    endpoint.judges(right);
    let mut vault = Daemon::with_config("");
    write(&mut vault);
    let app = open(&vault, &config(&endpoint.address(), "rerank = \"chat\"", ""));
    endpoint.fails(|_| Some(Fault::Status(503, "", "")));
    (0..5).for_each(|_| _ = search(&app, "dough", None));
    let trouble = app.status(&app.owner()).unwrap().chat.unwrap().trouble.unwrap();
    assert!(trouble.contains("has failed (503)"), "{trouble}");
    endpoint.fails(|_| None);
    let found = search(&app, "dough", None);
    assert_eq!((endpoint.asked().len(), paths(&found)), (5, BY_WORDS.to_vec()));
    assert!(found.degraded.unwrap().contains("the next attempt is in"));
    // A refusal is not asked for again.
    let endpoint = Endpoint::start();
    drop(app);
    let app = open(&vault, &config(&endpoint.address(), "rerank = \"chat\"", ""));
    endpoint.fails(|_| Some(Fault::Status(404, "", r#"{"error":"model \"judge\" not found"}"#)));
    for _ in 0..3 {
        assert!(search(&app, "dough", None).degraded.unwrap().contains("model \"judge\" not found"));
    }
    assert_eq!(endpoint.asked().len(), 1);
}

fn chat(endpoint: &Endpoint, api_key_env: &str) -> ChatOptions {
    ChatOptions {
        endpoint: endpoint.address(),
        model: "judge".into(),
        api_key_env: api_key_env.into(),
        timeout: PATIENCE,
        send_private: false,
    }
}

fn question() -> ChatRequest {
    ChatRequest { instructions: "hyde".into(), material: "Well?".into(), schema: json!({}), max_tokens: 9 }
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

#[test]
fn an_answer_says_what_it_cost_and_what_a_service_refuses_is_left_out() {
    let endpoint = Endpoint::start();
    let model = EndpointChat::open(chat(&endpoint, "")).unwrap();
    endpoint.fails(|asked| {
        let has = |key: &str| !asked.body[key].is_null();
        if has("temperature") {
            return Some(Fault::Status(400, "", r#"{"error":{"message":"'temperature' does not support 0"}}"#));
        }
        let form = r#"{"error":"unknown field: response_format"}"#;
        has("response_format").then_some(Fault::Status(422, "", form))
    });
    let reply = model.answer(&question(), soon()).unwrap();
    assert_eq!(reply.usage, ChatUsage { answers: 1, prompt_tokens: 100, answer_tokens: 10 });
    let asked = endpoint.asked().clone();
    assert_eq!(asked.len(), 3);
    assert_eq!((&asked[2].body["model"], &asked[2].body["max_tokens"]), (&json!("judge"), &json!(9)));
    assert_eq!(asked[0].path, "/v1/chat/completions");
    model.answer(&question(), soon()).unwrap();
    assert_eq!((endpoint.asked().len(), model.usage().prompt_tokens), (4, 200), "it is remembered");
    // Another refusal is one.
    endpoint.fails(|_| Some(Fault::Status(400, "", r#"{"error":"too long"}"#)));
    let error = model.answer(&question(), soon()).unwrap_err();
    assert_eq!((error.kind(), endpoint.asked().len()), (ModelErrorKind::Permanent, 5));
    let error = model.answer(&question(), Instant::now()).unwrap_err();
    assert!(error.to_string().contains("took too long"), "{error}");
}

#[test]
fn a_chat_models_key_is_that_of_the_variable_that_was_named() {
    let endpoint = Endpoint::start();
    // Every process has this one, and it is none that anybody would read a key from.
    let key = std::env::var("PATH").unwrap();
    let model = EndpointChat::open(chat(&endpoint, "PATH")).unwrap();
    model.answer(&question(), soon()).unwrap();
    assert_eq!(endpoint.asked()[0].authorization, Some(format!("Bearer {key}")));
    let said: &'static str = json!({"error": {"message": format!("the key {key} is odd")}}).to_string().leak();
    endpoint.fails(move |_| Some(Fault::Status(400, "", said)));
    let error = model.answer(&question(), soon()).unwrap_err();
    assert!(error.to_string().contains("is odd") && !format!("{error} {error:?}").contains(&key), "{error:?}");

    let elsewhere = Endpoint::start();
    let location: &'static str = format!("Location: http://{}/v1/chat/completions\r\n", elsewhere.address()).leak();
    endpoint.fails(move |_| Some(Fault::Status(307, location, "")));
    assert_eq!(model.answer(&question(), soon()).unwrap_err().kind(), ModelErrorKind::Refused);
    assert!(elsewhere.asked().is_empty(), "a redirect gets neither texts nor the key");
}

#[test]
fn no_key_and_no_proxy_that_lies_in_the_environment_is_used() {
    let endpoint = Endpoint::start();
    let text = |chat: &str| {
        let embed = format!("[embed]\nendpoint = \"{}\"\nmodel = \"hashed\"\n", endpoint.address());
        config(&endpoint.address(), "rerank = \"chat\"", chat).replace("[embed]\nmodel = \"none\"\n", &embed)
    };
    let mut vault = Daemon::with_config(&text(""));
    write(&mut vault);
    let proxy = Endpoint::start();
    let run = |vault: &Daemon| {
        let mut command = vault.command(&["search", "dough"]);
        for name in ["OPENAI_API_KEY", "OPENAI_KEY", "API_KEY", "EMBED_API_KEY", "CHAT_API_KEY", "VAULT_API_KEY"] {
            command.env(name, "quokka");
        }
        for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env(name, format!("http://{}", proxy.address()));
        }
        command.env_remove("NO_SUCH_KEY");
        Ran::of(&mut command).ok().stderr
    };
    run(&vault);
    let asked = endpoint.asked().clone();
    assert!(asked.iter().all(|asked| asked.authorization.is_none()), "{asked:?}");
    assert!([false, true].into_iter().all(|chat| asked.iter().any(|asked| asked.is_chat() == chat)), "{asked:?}");
    assert!(proxy.asked().is_empty(), "a proxy that nobody wrote down gets no notes");
    // One that is named and not there is no reason to find nothing, nor to ask without it.
    vault.write("memory.toml", text("api_key_env = \"NO_SUCH_KEY\""));
    let said = run(&vault);
    assert!(said.contains("`chat.api_key_env`: the environment variable NO_SUCH_KEY is not set"), "{said}");
    let chats = |asked: &[Asked]| asked.iter().filter(|asked| asked.is_chat()).count();
    assert_eq!(chats(&endpoint.asked()), chats(&asked));
    let status = vault.run(&["status"]).ok().stdout;
    assert!(status.contains("NO_SUCH_KEY"), "{status}");
}

#[test]
fn private_notes_go_to_no_chat_model_on_another_machine() {
    let endpoint = Endpoint::start();
    endpoint.judges(right);
    // This machine, by an address that could be any.
    let elsewhere = endpoint.address().replace("127.0.0.1", "http://0.0.0.0");
    let text = |address: &str, more: &str| {
        config(address, "rerank = \"chat\"", more) + "[access]\nprivate = [\"journal/**\"]\n"
    };
    let mut vault = Daemon::with_config("");
    write(&mut vault);
    vault
        .write("notes/secret.md", "---\nprivate: true\n---\n# Secret\n\nThe dough of a quokka.\n")
        .write("notes/week.md", "---\nsources: [notes/secret.md]\n---\n# Week\n\nThe dough of a quokka, again.\n")
        .write("journal/day.md", "# Day\n\nThe dough of a wombat.\n");
    let app = open(&vault, &text(&elsewhere, ""));
    let found = search(&app, "dough", None);
    assert_eq!(found.results.len(), 6);
    assert_eq!((endpoint.sent("quokka"), endpoint.sent("wombat"), endpoint.judged()[0].len()), (0, 0, 3));
    let said = found.degraded.clone().unwrap();
    assert!(said.starts_with("3 passages were private or just changed, so not sent to the chat model"), "{said}");
    assert_eq!(paths(&found)[0], "notes/c.md", "the others are put in order all the same");
    // What was not sent stands among them as it stood before, by its score.
    let before = search(&app, "dough", Some("rerank=off"));
    let private = |found: &SearchResponse| -> Vec<String> {
        paths(found).into_iter().filter(|path| !BY_WORDS.contains(path)).map(Into::into).collect()
    };
    assert_eq!(private(&found), private(&before));
    // What has become private since it was indexed is as private.
    vault.write("notes/c.md", "---\nprivate: true\n---\n# C\n\nOf all that is right, dough is one.\n");
    search(&app, "dough", None);
    assert!(endpoint.judged()[1].iter().all(|passage| !passage.contains("right")), "{:?}", endpoint.judged());
    drop(app);
    vault.write("notes/c.md", "# C\n\nOf all that is right, dough is one.\n");

    let sent = |text: &str| {
        let app = open(&vault, text);
        endpoint.asked().clear();
        let degraded = search(&app, "dough", None).degraded;
        assert_eq!((endpoint.judged()[0].len(), degraded), (6, None));
    };
    sent(&text(&elsewhere, "send_private = true"));
    sent(&text(&endpoint.address(), ""));
}

#[test]
fn an_agent_sends_nothing_that_it_does_not_see_and_turns_nothing_on() {
    let endpoint = Endpoint::start();
    endpoint.judges(right);
    let ask = |vault: &Daemon, more: &str| {
        let token = vault.token_of("ada");
        let target = format!("/api/user-memory/search?q=dough{more}");
        vault.get_as(&token, &target)
    };
    let mut vault = Daemon::with_config(&config(&endpoint.address(), "", ""));
    write(&mut vault);
    vault
        .write("notes/secret.md", "---\nprivate: true\n---\n# Secret\n\nThe dough of a quokka.\n")
        .write("diary/day.md", "# Day\n\nThe dough of a wombat.\n");
    vault.start();
    vault.run(&["agent", "add", "ada", "--allow", "--collections", "notes"]).ok();
    assert_eq!(paths_of(&ask(&vault, "").json()), BY_WORDS);
    for more in ["&set=rerank%3Dtrue", "&rerank=true"] {
        let refused = ask(&vault, more);
        assert!([400, 403].contains(&refused.status), "{more}: {}", refused.status);
    }
    assert!(endpoint.asked().is_empty(), "nobody told it to ask");
    vault.terminate();
    vault.write("memory.toml", config(&endpoint.address(), "rerank = \"chat\"", "")).start();
    let found = ask(&vault, "").json();
    assert_eq!((paths_of(&found), &found["degraded"]), (JUDGED.to_vec(), &Value::Null));
    assert_eq!((endpoint.judged()[0].len(), endpoint.sent("quokka"), endpoint.sent("wombat")), (3, 0, 0));
    // It is told neither where the model is nor what was not sent.
    endpoint.fails(|_| Some(Fault::Status(500, "", r#"{"error":"at /home/me"}"#)));
    let found = ask(&vault, "%20flour").json();
    assert_eq!(found["degraded"], "not reranked");
}

#[test]
fn a_chat_model_reads_twenty_passages_and_no_more_of_each_than_it_has() {
    let endpoint = Endpoint::start();
    endpoint.judges(|passage| if passage.contains("Note 19") { 1.0 } else { 0.0 });
    let mut vault = Daemon::with_config("");
    for at in 0..40 {
        let text = format!("# Note {at}\n\n{}{}\n", "dough ".repeat(45 - at), "bread ".repeat(at));
        vault.write(&format!("notes/{at:02}.md"), text);
    }
    let app = open(&vault, &config(&endpoint.address(), "rerank = \"chat\"\nlimit = 40", ""));
    let before = search(&app, "dough", Some("rerank=off"));
    let found = search(&app, "dough", None);
    assert_eq!(endpoint.judged()[0].len(), 20);
    assert_eq!(paths(&found)[20..], paths(&before)[20..], "what it did not read stays behind");
    assert!(found.results.is_sorted_by(|one, two| one.score >= two.score));
    assert_eq!(paths(&found)[0], "notes/19.md");
    assert!(found.results.iter().enumerate().all(|(at, hit)| hit.scores.rerank.is_some() == (at < 20)));
}

#[test]
fn help_takes_no_longer_than_it_may() {
    let endpoint = Endpoint::start();
    endpoint.fails(|_| Some(Fault::Hang));
    let mut vault = Daemon::with_config("");
    write(&mut vault);
    let app = open(&vault, &config(&endpoint.address(), "rerank = \"chat\"", ""));
    let started = Instant::now();
    let found = search(&app, "dough", None);
    assert!(started.elapsed() >= Duration::from_millis(3500), "it has all of its time");
    assert_eq!((paths(&found), endpoint.asked().len()), (BY_WORDS.to_vec(), 1));
    let said = found.degraded.unwrap();
    assert!(said.contains("not reranked"), "{said}");
}

#[test]
fn what_is_typed_is_sent_and_not_the_words_of_private_notes_that_it_goes_on_to() {
    let endpoint = Endpoint::start();
    endpoint.judges(right);
    let elsewhere = endpoint.address().replace("127.0.0.1", "http://0.0.0.0");
    let mut vault = Daemon::with_config("");
    write(&mut vault);
    vault.write("notes/secret.md", "---\nprivate: true\n---\n# Secret\n\nThe dough of a quokka.\n");
    let app = open(&vault, &config(&elsewhere, "rerank = \"chat\"", ""));
    for typed in ["dough quok", "dough quokak"] {
        let found = search(&app, typed, None);
        assert!(paths(&found).contains(&"notes/secret.md"), "{found:?}");
    }
    assert_eq!((endpoint.sent("dough quok"), endpoint.sent("quokka")), (2, 0), "{:?}", endpoint.asked());
}

#[test]
fn what_was_judged_is_remembered_for_whoever_asked() {
    let endpoint = Endpoint::start();
    endpoint.judges(right);
    let mut vault = Daemon::with_config(&config(&endpoint.address(), "rerank = \"chat\"", ""));
    write(&mut vault);
    vault.start();
    let add = |name: &str| vault.run(&["agent", "add", name, "--allow"]).ok().stdout.trim().to_owned();
    let (ada, bob) = (add("ada"), add("bob"));
    vault.settle();
    let target = "/api/user-memory/search?q=dough";
    let by = |token: &str| {
        let found = vault.get_as(token, target).json();
        assert_eq!(paths_of(&found), JUDGED, "{found}");
        endpoint.asked().len()
    };
    for _ in 0..2 {
        // A page more, or the same anew, asks nobody.
        assert_eq!(paths_of(&vault.get(target).json()), JUDGED);
        assert_eq!(paths_of(&vault.get(&format!("{target}&limit=2")).json()), JUDGED[..2]);
        assert_eq!(endpoint.asked().len(), 1);
    }
    // What the person tries as an agent is nothing that it learns of by how soon it is answered.
    let tried = vault.get("/api/user-memory/agent-search?q=dough&agent_name=ada");
    assert_eq!((tried.status, endpoint.asked().len()), (200, 2));
    assert_eq!([by(&ada), by(&ada), by(&bob), by(&bob), by(&ada)], [3, 3, 4, 4, 4]);
}

#[test]
fn a_search_that_is_begun_anew_has_the_passages_judged_once() {
    let endpoint = Endpoint::start();
    endpoint.judges(right);
    let text = config(&endpoint.address(), "rerank = \"chat\"", "");
    let mut vault = Daemon::with_config(&text);
    write(&mut vault);
    vault.run(&["agent", "add", "ada", "--allow"]).ok();
    let app = open(&vault, &text);
    let ask = || {
        let caller = app.agents.named("ada").unwrap();
        let viewer = Viewer::of(app.request(Principal::Agent(caller), Turn::default())).unwrap();
        notes::search(&viewer, &SearchQuery { q: "dough".into(), ..SearchQuery::default() }).unwrap()
    };
    // It has changed since it was indexed, and may be private by now.
    vault.write("notes/b.md", "---\nprivate: true\n---\n# B\n\nThe dough of a quokka.\n");
    assert_eq!(paths(&ask()), ["notes/c.md", "notes/a.md"]);
    let judged = endpoint.judged();
    assert_eq!((endpoint.asked().len(), judged.len(), judged[0].len()), (1, 1, 2), "{judged:?}");
    endpoint.fails(|_| Some(Fault::Status(500, "", "")));
    vault.write("notes/a.md", "# A\n\nThe dough, the dough.\n");
    let found = ask();
    assert_eq!((paths(&found), endpoint.asked().len()), (vec!["notes/c.md"], 1), "one passage is in order as it is");
}

#[test]
fn an_evaluation_says_in_how_many_answers_the_model_did_not_help() {
    let endpoint = Endpoint::start();
    let mut vault = Daemon::with_config(&config(&endpoint.address(), "", ""));
    write(&mut vault);
    vault.write("questions.md", "- dough → notes/c.md\n- dough flour → notes/b.md\n");
    let questions = vault.path("questions.md");
    let args = ["eval", questions.to_str().unwrap(), "--mode", "keyword", "--against", "rerank=chat"];
    endpoint.judges(right);
    let shown = vault.run(&args).ok().stdout;
    assert!(!shown.contains("did not help"), "{shown}");
    endpoint.fails(|_| Some(Fault::Html));
    let shown = vault.run(&args).ok().stdout;
    let said =
        "keyword, rerank=chat: in 2 of 2 answers the chat model did not help; the first time because: not reranked";
    assert!(shown.contains(said), "{shown}");
    let measured = vault.run(&[&args[..], &["--json"]].concat()).ok().json();
    let unhelped: Vec<&Value> = measured["runs"].as_array().unwrap().iter().map(|run| &run["unhelped"]).collect();
    assert_eq!(unhelped, [0, 2]);
}

/// A service that streams these parts of an answer and, where it `goes_on` once it is told so, the last until nobody listens. Then it says how
/// often.
fn streaming(parts: &'static [&'static str], goes_on: Option<Arc<AtomicBool>>) -> (Upstream, Arc<AtomicUsize>) {
    let more = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&more);
    let upstream = Upstream::start(move |_, stream| {
        let mut write = |text: &str| stream.write_all(text.as_bytes()).is_ok();
        let part = |text: &str| format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": text } }] }));
        write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
        for text in parts {
            write(&part(text));
        }
        if let Some(goes_on) = &goes_on {
            while !goes_on.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            let more = (1..).take_while(|_| write(&part(parts.last().unwrap()))).last();
            told.store(more.unwrap_or(1), Ordering::SeqCst);
        } else {
            write("data: [DONE]\n\n");
        }
    });
    (upstream, more)
}

/// Asks over TCP, as the page does.
fn ask(vault: &Daemon, params: &Value) -> TcpStream {
    let body = params.to_string();
    let head = format!(
        "POST /api/ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        vault.token(),
        body.len()
    );
    let mut stream = TcpStream::connect(vault.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// The events of a whole answer: each its name and its data.
fn events(vault: &Daemon, params: &Value) -> Vec<(String, Value)> {
    let mut text = String::new();
    ask(vault, params).read_to_string(&mut text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let event = |pair: &[&str]| {
        Some((
            pair[0].strip_prefix("event: ")?.to_owned(),
            serde_json::from_str(pair[1].strip_prefix("data: ")?).unwrap(),
        ))
    };
    lines.windows(2).filter_map(event).collect()
}

#[test]
fn a_question_is_answered_from_numbered_passages_as_the_answer_comes() {
    let (upstream, _) = streaming(&["Eighty ", "degrees. [1]"], None);
    let mut vault = Daemon::with_config(&config(&upstream.address(), "", ""));
    vault.write("notes/tea.md", "# Tea\n\nGreen tea takes 80 degrees.\n").start();
    let question =
        json!({ "question": "how hot is green tea", "history": [{ "question": "tea?", "answer": "Green. [1]" }] });
    let events = events(&vault, &question);
    assert_eq!(column_of(&events), ["passages", "text", "text", "end"]);
    let passage = &events[0].1["passages"][0];
    assert_eq!((&passage["path"], &passage["line_start"]), (&json!("notes/tea.md"), &json!(1)), "{passage}");
    assert_eq!((&events[1].1, &events[2].1), (&json!("Eighty "), &json!("degrees. [1]")));
    let sent: Value = serde_json::from_slice(&upstream.last().body).unwrap();
    assert_eq!(
        (&sent["stream"], &sent["max_tokens"], &sent["response_format"]),
        (&json!(true), &json!(800), &Value::Null)
    );
    let material = sent["messages"][1]["content"].as_str().unwrap();
    assert!(material.contains("80 degrees.") && material.ends_with("Question: how hot is green tea\n"), "{material}");
    assert!(material.contains("Asked before: tea?\nAnswered: Green. [1]\n"), "{material}");
    // Where nothing is found, nobody is asked.
    assert_eq!(column_of(&self::events(&vault, &json!({ "question": "zzzz" }))), ["passages", "end"]);
    assert_eq!(upstream.got().len(), 1);
    for bad in [json!({ "question": " " }), json!({ "question": "x".repeat(2001) }), json!({})] {
        assert!((400..500).contains(&vault.post("/api/ask", &bad).status), "{bad}");
    }
}

fn column_of(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_question_takes_no_private_note_to_another_machine() {
    let (upstream, _) = streaming(&["Yes. [1]"], None);
    let elsewhere = upstream.address().replace("127.0.0.1", "http://0.0.0.0");
    for (address, more, with_private) in
        [(&elsewhere, "", false), (&elsewhere, "send_private = true", true), (&upstream.address(), "", true)]
    {
        let mut vault = Daemon::with_config(&config(address, "", more));
        vault
            .write("notes/tea.md", "# Tea\n\nGreen tea takes 80 degrees.\n")
            .write("notes/secret.md", "---\nprivate: true\n---\n# Secret\n\nGreen tea of a quokka.\n")
            .start();
        let events = events(&vault, &json!({ "question": "green tea" }));
        assert_eq!(events[0].1["with_private"], with_private);
        let sent = String::from_utf8(upstream.last().body).unwrap();
        assert_eq!((sent.contains("quokka"), sent.contains("80 degrees")), (with_private, true), "{address} {more}");
        assert_eq!(events[0].1.to_string().contains("quokka"), with_private);
    }
}

#[test]
fn an_answer_is_stopped_when_nobody_listens_and_says_why_it_ends_early() {
    let goes_on = Arc::new(AtomicBool::new(false));
    let (upstream, more) = streaming(&["Word "], Some(Arc::clone(&goes_on)));
    let mut vault = Daemon::with_config(&config(&upstream.address(), "", ""));
    vault.write("notes/tea.md", "# Tea\n\nGreen tea takes 80 degrees.\n").start();
    let mut stream = BufReader::new(ask(&vault, &json!({ "question": "green tea" })));
    let mut line = String::new();
    while !line.contains("event: text") {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0);
    }
    drop(stream);
    goes_on.store(true, Ordering::SeqCst);
    // All that a stream may have are some 80,000 parts.
    let more = eventually("the model to be stopped", || Some(more.load(Ordering::SeqCst)).filter(|more| *more > 0));
    assert!(more < 40_000, "it went on {more} times");
    // A service that refuses, and one that ends in the middle.
    let broken = Upstream::start(|got, stream| match String::from_utf8_lossy(&got.body).contains("quokka") {
        true => respond(stream, "401 No", "", b""),
        false => respond(stream, "200 OK", "", b"data: {\"choices\":[{\"delta\":{\"content\":\"Half\"}}]}\n\n"),
    });
    vault.terminate();
    vault.write("memory.toml", config(&broken.address(), "", "")).start();
    for (question, names, why) in [
        ("green tea", vec!["passages", "text", "error"], "ended before its answer did"),
        ("green quokka tea", vec!["passages", "error"], "needs a key"),
    ] {
        let events = events(&vault, &json!({ "question": question }));
        assert_eq!(column_of(&events), names);
        assert!(events.last().unwrap().1.as_str().unwrap().contains(why), "{events:?}");
    }
    vault.terminate();
    vault.write("memory.toml", "[embed]\nmodel = \"none\"\n").start();
    let reply = vault.post("/api/ask", &json!({ "question": "green tea" }));
    assert_eq!((reply.status, reply.error().as_str()), (409, "`chat.endpoint` in memory.toml names no model"));
    assert!(reply.json()["error"]["hint"].as_str().unwrap().contains("memory.toml"), "{}", reply.json());
}
