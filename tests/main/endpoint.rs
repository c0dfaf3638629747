//! Embeddings from an OpenAI-compatible endpoint, which fails in every way that one can.

use memory_vault::access::request::{Role, Viewer};
use memory_vault::access::rules::{Principal, Turn};
use memory_vault::base::config::EmbedConfig;
use memory_vault::models::{Document, Embedder, EndpointEmbedder, ModelAsker, ModelError, ModelErrorKind};
use memory_vault::serve::wire::{SearchResponse, Status};

use crate::support::prelude::*;

fn options(endpoint: &str) -> EmbedConfig {
    let patience = PATIENCE.as_millis() as u64;
    EmbedConfig {
        endpoint: endpoint.into(),
        model: "hashed".into(),
        batch_size: 8,
        timeout_ms: patience,
        query_timeout_ms: patience,
        ..EmbedConfig::default()
    }
}

fn open(options: EmbedConfig) -> Result<EndpointEmbedder, ModelError> {
    EndpointEmbedder::open(options)
}

fn documents(texts: &[&str]) -> Vec<Document> {
    texts
        .iter()
        .map(|text| Document { context: String::new(), text: (*text).to_owned(), ..Document::default() })
        .collect()
}

fn config(endpoint: &Endpoint, more: &str) -> Config {
    let text = format!("[embed]\nendpoint = \"{}\"\nmodel = \"hashed\"\n{more}", endpoint.address());
    Config::parse(&text, Path::new("memory.toml")).unwrap()
}

#[test]
fn notes_are_found_by_what_an_endpoint_makes_of_them() {
    let endpoint = Endpoint::start();
    let mut vault = Daemon::with_config("");
    vault.write("notes/a.md", "# River\n\nA boat on the river.\n").write("notes/b.md", "# Garden\n\nAn apple tree.\n");
    let app = serve(&vault, config(&endpoint, "document_prefix = \"passage: \"\nquery_prefix = \"query: \"\n"));
    let model = embedded(&app, 2).model;
    let name = format!("hashed at {}", endpoint.address());
    assert_eq!(
        (model.state.as_str(), model.detail, model.dimension, model.trouble),
        ("ready", Some(name), Some(32), None)
    );
    let (paths, degraded) = by_meaning(&app, "river boat");
    assert_eq!((paths[0].as_str(), degraded), ("notes/a.md", None));
    assert_eq!((endpoint.sent("query: river boat"), endpoint.sent("passage: River")), (1, 1));
    assert!(endpoint.asked().iter().all(|asked| asked.path == "/v1/embeddings" && asked.authorization.is_none()));
    // What was asked before is not sent again.
    by_meaning(&app, "river boat");
    assert_eq!(endpoint.sent("query: river boat"), 1);
}

#[test]
fn each_fault_is_named_and_told_from_others() {
    use ModelErrorKind::{Permanent, Refused, Transient};
    let endpoint = Endpoint::start();
    let cases = [
        (Fault::Status(429, "Retry-After: 7\r\n", ""), Transient, "is busy (429)"),
        (Fault::Status(429, "", r#"{"error":{"code":"insufficient_quota"}}"#), Refused, "quota is used up"),
        (
            Fault::Status(500, "", r#"{"error":{"message":"out of\nmemory"}}"#),
            Transient,
            "has failed (500): out of memory",
        ),
        (Fault::Status(503, "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n", "<html>"), Transient, "has failed (503)"),
        (
            Fault::Status(400, "", r#"{"error":"input is too long"}"#),
            Permanent,
            "rejects a text (400): input is too long",
        ),
        (Fault::Status(401, "", r#"{"error":{"message":"sk-quokka"}}"#), Refused, "needs a key"),
        (Fault::Status(404, "", r#"{"error":"model \"hashed\" not found"}"#), Refused, "model \"hashed\" not found"),
        (Fault::Status(307, "Location: /elsewhere\r\n", ""), Refused, "redirect"),
        (Fault::Html, Transient, "did not return JSON"),
        (Fault::Half, Transient, ""),
        (Fault::Dimension(7), Permanent, "7 numbers"),
        (Fault::Nan, Permanent, "returned no embeddings"),
        (Fault::Status(200, "", r#"{"data":"sk-quokka"}"#), Permanent, "line 1, column"),
        (Fault::Fewer, Permanent, "1 vectors for 2 texts"),
    ];
    for (fault, kind, said) in cases {
        endpoint.fails(|_| None);
        let embedder = open(options(&endpoint.address())).unwrap();
        endpoint.asked().clear();
        let failing = fault.clone();
        endpoint.fails(move |_| Some(failing.clone()));
        let error = embedder.embed_documents(&documents(&["one", "two"]), None).unwrap_err();
        assert_eq!(error.kind(), kind, "{fault:?}: {error}");
        let told = error.to_string();
        assert!(
            told.contains(said) && told.contains(&endpoint.address()) && !told.contains("quokka"),
            "{fault:?}: {told}"
        );
        assert_eq!(endpoint.asked().len(), 1, "{fault:?}: an embedder tries once, and follows nothing");
        // At a start it is the same.
        let error = open(options(&endpoint.address())).err().unwrap();
        if !matches!(fault, Fault::Dimension(_) | Fault::Fewer) {
            assert_eq!(error.kind(), kind, "{fault:?}: {error}");
        }
    }
}

#[test]
fn what_fails_is_told_and_left_alone_and_haste_closes_no_way() {
    // A model that is changed in the middle is noticed.
    let endpoint = Endpoint::start();
    let embedder = open(options(&endpoint.address())).unwrap();
    endpoint.change_model(64);
    let error = embedder.embed_documents(&documents(&["one", "two"]), None).unwrap_err();
    assert!(error.kind() == ModelErrorKind::Refused && error.to_string().contains("64 numbers"), "{error}");
    // Those in a hurry do not close the way for others.
    let endpoint = Endpoint::start();
    let options = EmbedConfig { query_timeout_ms: 800, ..options(&endpoint.address()) };
    let embedder = open(options).unwrap();
    endpoint.fails(|_| Some(Fault::Hang));
    for at in 0..5 {
        let soon = Some(Instant::now() + Duration::from_millis(500));
        let error = embedder.embed_query(&format!("query {at}"), soon).unwrap_err();
        assert!(matches!(error, ModelError::TimedOut), "{error}");
    }
    assert_eq!(embedder.trouble(), None);
    endpoint.fails(|_| None);
    embedder.embed_documents(&documents(&["a note"]), None).unwrap();
}

#[test]
fn a_hang_ends_in_time_and_a_stop_ends_it_at_once() {
    let endpoint = Endpoint::start();
    let quick = EmbedConfig { timeout_ms: 200, ..options(&endpoint.address()) };
    let embedder = open(quick).unwrap();
    endpoint.fails(|_| Some(Fault::Hang));
    let error = embedder.embed_documents(&documents(&["one"]), None).unwrap_err();
    assert!(error.kind() == ModelErrorKind::Transient && error.to_string().contains("within 200ms"), "{error}");
    let soon = Some(Instant::now() + Duration::from_millis(50));
    assert!(matches!(embedder.embed_query("who waits", soon), Err(ModelError::TimedOut)));
    let passed = Some(Instant::now());
    assert!(matches!(embedder.embed_query("who waits", passed), Err(ModelError::TimedOut)));

    endpoint.fails(|_| None);
    let patient = open(options(&endpoint.address())).unwrap();
    endpoint.fails(|_| Some(Fault::Hang));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| patient.embed_documents(&documents(&["held"]), None));
        until("the request", || endpoint.sent("held") == 1);
        patient.stop();
        assert!(matches!(waiting.join().unwrap(), Err(ModelError::Stopped)));
    });
    assert!(matches!(patient.embed_query("too late", None), Err(ModelError::Stopped)));
}

#[test]
fn a_redirect_gets_neither_texts_nor_the_key() {
    let (endpoint, elsewhere) = (Endpoint::start(), Endpoint::start());
    let location: &'static str = format!("Location: http://{}/v1/embeddings\r\n", elsewhere.address()).leak();
    for status in [301, 302, 303, 307, 308] {
        endpoint.fails(move |_| Some(Fault::Status(status, location, "")));
        let with_key = EmbedConfig { api_key_env: "PATH".into(), ..options(&endpoint.address()) };
        assert_eq!(open(with_key).err().unwrap().kind(), ModelErrorKind::Refused);
    }
    assert_eq!(elsewhere.asked().len(), 0);
}

#[test]
fn a_key_is_taken_from_the_variable_that_was_named_and_shown_nowhere() {
    let endpoint = Endpoint::start();
    // Every process has this one, and it is none that anybody would read a key from.
    let key = std::env::var("PATH").unwrap();
    let with_key = || EmbedConfig { api_key_env: "PATH".into(), ..options(&endpoint.address()) };
    let embedder = open(with_key()).unwrap();
    assert_eq!(endpoint.asked()[0].authorization, Some(format!("Bearer {key}")));
    let said: &'static str = json!({"error": {"message": format!("the key {key} is odd")}}).to_string().leak();
    endpoint.fails(move |_| Some(Fault::Status(400, "", said)));
    let error = embedder.embed_documents(&documents(&["one"]), None).unwrap_err();
    assert!(error.to_string().contains("is odd") && !format!("{error} {error:?}").contains(&key), "{error:?}");
    let missing = EmbedConfig { api_key_env: "NO_SUCH_VARIABLE".into(), ..with_key() };
    let error = open(missing).err().unwrap();
    assert!(matches!(&error, ModelError::BadOption { option: "api_key_env", section: "embed", .. }), "{error}");
}

#[test]
fn a_bad_text_costs_no_other() {
    // Refused, not a number, too few vectors: it is asked about by itself. And a server that fails on it as on anything.
    for fault in [Fault::Status(400, "", "{}"), Fault::Nan, Fault::Fewer, Fault::Status(500, "", "")] {
        let endpoint = Endpoint::start();
        let mut vault = Daemon::with_config("");
        let server_fails = matches!(fault, Fault::Status(500, ..));
        let others = if server_fails { 3 } else { 20 };
        for at in 0..others {
            vault.write(&format!("notes/{at}.md"), format!("# Note {at}\n\nA text about {at} boats.\n"));
        }
        vault.write("notes/bad.md", "# Bad\n\nA poisonous text.\n");
        let failing = fault.clone();
        endpoint.fails(move |asked| asked.texts.iter().any(|text| text.contains("poisonous")).then(|| failing.clone()));
        let app = serve(&vault, config(&endpoint, ""));
        assert_eq!(embedded(&app, others).model.state, "ready");
        if server_fails {
            continue;
        }
        eventually("the text that failed to be named", || status(&app).failure);
        assert_eq!(endpoint.sent("poisonous"), 2, "{fault:?}: with others, and alone");
    }
}

#[test]
fn an_endpoint_that_fails_for_a_while_is_tried_again() {
    let endpoint = Endpoint::start();
    let mut vault = Daemon::with_config("");
    vault.write("notes/a.md", "# River\n\nA boat on the river.\n").write("notes/b.md", "# Garden\n\nAn apple tree.\n");
    let failures = AtomicUsize::new(0);
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    endpoint.fails(move |asked| {
        let about_notes = asked.texts.iter().any(|text| text.contains("River") || text.contains("Garden"));
        let fails = about_notes && is_broken.load(Ordering::SeqCst);
        fails.then(|| failures.fetch_add(1, Ordering::SeqCst)).map(|_| Fault::Status(503, "", ""))
    });
    let app = serve(&vault, config(&endpoint, ""));
    let told = eventually("the trouble", || status(&app).model.trouble);
    assert!(told.contains("has failed (503)"), "{told}");
    // Nobody is kept waiting for it, and nothing else suffers.
    assert!(app.shared.wait(PATIENCE, |progress| progress.is_complete()).is_complete());
    assert_eq!(status(&app).failure, None);
    broken.store(false, Ordering::SeqCst);
    assert_eq!(embedded(&app, 2).model.trouble, None);
}

#[test]
fn an_endpoint_that_is_started_later_is_found() {
    let address = Endpoint::start().address();
    let vault = Daemon::with_config("").with("notes/a.md", "# River\n\nA boat on the river.\n");
    let text = format!("[embed]\nendpoint = \"{address}\"\nmodel = \"hashed\"\n");
    let app = serve(&vault, Config::parse(&text, Path::new("memory.toml")).unwrap());
    let failed = eventually("the failure", || Some(status(&app).model).filter(|model| model.state == "failed"));
    assert!(failed.detail.unwrap().contains("cannot be reached"));
    until("the words to answer", || by_meaning(&app, "boat").0 == ["notes/a.md"]);
    let _endpoint = eventually("the port", || {
        std::net::TcpListener::bind(&address).ok()?;
        Some(Endpoint::at(&address))
    });
    embedded(&app, 1);
}

#[test]
fn what_is_refused_is_not_asked_for_again() {
    let endpoint = Endpoint::start();
    let mut vault = Daemon::with_config("");
    for at in 0..40 {
        vault.write(&format!("notes/{at}.md"), format!("# Note {at}\n\nA text about {at} boats.\n"));
    }
    endpoint.fails(|asked| {
        let about_notes = asked.texts.iter().any(|text| text.contains("boats"));
        about_notes.then_some(Fault::Status(403, "", ""))
    });
    let app = serve(&vault, config(&endpoint, "").tap(|config| config.embed.batch_size = 4));
    let failed = eventually("the failure", || Some(status(&app).model).filter(|model| model.state == "failed"));
    assert!(failed.detail.unwrap().contains("needs a key"));
    assert!(app.shared.wait(PATIENCE, |progress| progress.is_complete()).is_complete());
    assert!(endpoint.sent("boats") <= 12, "the requests that were under way: {}", endpoint.sent("boats"));
}

#[test]
fn searches_after_a_refusal_ask_nothing() {
    let refusals =
        [Some(Fault::Status(401, "", "")), Some(Fault::Status(404, "", r#"{"error":"no such model"}"#)), None];
    for refusal in refusals {
        let endpoint = Endpoint::start();
        let embedder = open(options(&endpoint.address())).unwrap();
        let (person, ada) = (ModelAsker::Person, ModelAsker::Agent("ada".into()));
        embedder.embed_query_of(Some(&person), "known", None).unwrap();
        match refusal.clone() {
            Some(refusal) => endpoint.fails(move |_| Some(refusal.clone())),
            None => endpoint.change_model(64),
        }
        let first = embedder.embed_query("first", None).unwrap_err();
        assert_eq!(first.kind(), ModelErrorKind::Refused, "{first}");
        endpoint.fails(|_| None);
        endpoint.change_model(32);
        let asked = endpoint.asked().len();
        for at in 0..3 {
            let later = embedder.embed_query(&format!("later {at}"), None).unwrap_err();
            assert_eq!((later.kind(), later.to_string()), (ModelErrorKind::Refused, first.to_string()));
        }
        let passage = embedder.embed_documents(&documents(&["one"]), None).unwrap_err();
        assert_eq!((passage.kind(), endpoint.asked().len()), (ModelErrorKind::Refused, asked), "{refusal:?}");
        let known = |asker: Option<&ModelAsker>| embedder.embed_query_of(asker, "known", None).is_ok();
        assert!(known(Some(&person)), "what it has made is good still");
        assert!(!known(Some(&ada)) && !known(None), "for whoever asked");
    }
}

#[test]
fn the_status_says_so_when_only_searches_fail() {
    let endpoint = Endpoint::start();
    let vault = Daemon::with_config("").with("notes/a.md", "# River\n\nA boat on the river.\n");
    let app = serve(&vault, config(&endpoint, ""));
    assert_eq!(embedded(&app, 1).model.trouble, None);
    endpoint.fails(|_| Some(Fault::Status(503, "", "")));
    assert!(by_meaning(&app, "a ship").1.unwrap().contains("has failed (503)"));
    let model = status(&app).model;
    assert!(model.state == "ready" && model.trouble.unwrap().contains("has failed (503)"));
    endpoint.fails(|_| None);
    by_meaning(&app, "a canoe");
    assert_eq!(status(&app).model.trouble, None);
    endpoint.fails(|_| Some(Fault::Status(401, "", "")));
    by_meaning(&app, "a raft");
    let model = status(&app).model;
    assert_eq!(model.state, "failed");
    assert!(model.detail.unwrap().ends_with(
        "needs a key: name its environment variable in `embed.api_key_env` (401); correct this, and restart"
    ));
    let asked = endpoint.asked().len();
    assert!(by_meaning(&app, "a ferry").1.unwrap().contains("needs a key"));
    assert_eq!(endpoint.asked().len(), asked, "neither the words nor the key are sent again");
}

#[test]
fn a_search_that_says_how_long_it_waits_for_the_model_is_answered_by_the_words() {
    let endpoint = Endpoint::start();
    let text =
        format!("[embed]\nendpoint = \"{}\"\nmodel = \"hashed\"\n[agents]\ntimeout_ms = 60000\n", endpoint.address());
    let vault = Daemon::with_config(&text).with("notes/a.md", "# River\n\nA boat on the river.\n");
    vault.run(&["agent", "add", "ada", "--allow"]).ok();
    // The agent has a page, too.
    let is_ready = |app: &App| {
        let is_done = |status: &Status| status.embedded > 0 && status.embedded == status.embeddable;
        eventually("all to be embedded", || Some(status(app)).filter(is_done));
    };
    let config = Config::parse(&text, Path::new("memory.toml")).unwrap();
    let config = config.tap(|config| config.embed.query_timeout_ms = 60_000);
    let app = serve(&vault, config.clone());
    is_ready(&app);
    endpoint.fails(|asked| asked.texts.iter().any(|text| text == "boat").then_some(Fault::Hang));
    let asked = |timeout_ms| SearchQuery { q: "boat".into(), timeout_ms, ..SearchQuery::default() };
    let is_left_out = |found: SearchResponse| {
        assert_eq!((found.mode, found.results.len()), (Mode::Keyword, 1));
        assert!(found.degraded.unwrap().contains("the model took too long"));
    };
    is_left_out(notes::search(&app.owner(), &asked(Some(50))).unwrap());
    for wrong in [0, 60_001] {
        let refused = notes::search(&app.owner(), &asked(Some(wrong))).unwrap_err().to_string();
        assert!(refused.contains(&format!("`timeout_ms` is {wrong}; it takes 1 to 60000")), "{refused}");
    }
    drop(app);
    // An agent lowers what the person has said, and does not raise it. So long nobody waits for a test.
    let app = serve(&vault, config.tap(|config| config.search.timeout_ms = 50));
    is_ready(&app);
    let caller = app.agents.named("ada").unwrap();
    let viewer = Viewer::of(app.request(Principal::Agent(caller), Turn::default())).unwrap();
    let began = Instant::now();
    let found = notes::search(&viewer, &asked(Some(60_000))).unwrap();
    assert_eq!((found.mode, found.results.len()), (Mode::Keyword, 1));
    assert!(began.elapsed() < Duration::from_secs(50));
}

#[test]
fn a_passage_that_was_refused_is_not_sent_again_until_it_is_another() {
    let endpoint = Endpoint::start();
    let mut vault = Daemon::with_config("").with("notes/bad.md", "# Bad\n\nA poisonous text.\n");
    endpoint.fails(|asked| {
        let bad = asked.texts.iter().any(|text| text.contains("poisonous"));
        bad.then_some(Fault::Status(400, "", ""))
    });
    let app = serve(&vault, config(&endpoint, "").tap(|config| config.index.reconcile_seconds = 1));
    eventually("the text to be refused", || status(&app).failure);
    // After each comparison of the whole vault, something else has had its turn.
    for at in 1..4 {
        let before = status(&app).watching.compared_at;
        until("the vault to be compared", || status(&app).watching.compared_at != before);
        vault.write(&format!("notes/{at}.md"), format!("# Note {at}\n\nA text about {at} boats.\n"));
        embedded(&app, at);
    }
    assert_eq!(endpoint.sent("poisonous"), 1);
    vault.write("notes/bad.md", "# Bad\n\nA wholesome text.\n");
    embedded(&app, 4);
}

#[test]
fn another_model_behind_the_same_name_is_not_taken_for_it() {
    let endpoint = Endpoint::start();
    let mut vault = Daemon::with_config("");
    vault.write("notes/a.md", "# River\n\nA boat on the river.\n").write("notes/b.md", "# Garden\n\nAn apple tree.\n");
    let run = |expected: usize| {
        let app = serve(&vault, config(&endpoint, ""));
        embedded(&app, 2);
        assert_eq!(by_meaning(&app, "river boat").0[0], "notes/a.md");
        drop(app);
        assert_eq!(endpoint.sent("boat on the river"), expected);
    };
    run(1);
    run(1);
    endpoint.change_model(64);
    run(2);
    // Its vectors are there still.
    endpoint.change_model(32);
    run(2);
}

#[test]
fn private_notes_go_to_no_other_machine() {
    let endpoint = Endpoint::start();
    // This machine, by an address that could be any.
    let elsewhere = endpoint.address().replace("127.0.0.1", "http://0.0.0.0");
    let text = |more: &str| {
        let text = format!(
            "[embed]\nendpoint = \"{elsewhere}\"\nmodel = \"hashed\"\n{more}[access]\nprivate = [\"journal/**\"]\n"
        );
        Config::parse(&text, Path::new("memory.toml")).unwrap()
    };
    let mut vault = Daemon::with_config("")
        .with("notes/open.md", "# Open\n\nAn open boat.\n")
        .with("notes/secret.md", "---\nprivate: true\n---\n# Secret\n\nA quokka of mine.\n")
        .with("notes/twin.md", "---\nprivate: true\n---\n# Open\n\nAn open boat.\n")
        .with("journal/day.md", "# Day\n\nA wombat of mine.\n");
    let app = serve(&vault, text(""));
    embedded(&app, 1);
    let told = eventually("all to be done", || {
        Some(status(&app)).filter(|status| status.caught_up && status.pending_embeddings == 0)
    });
    assert_eq!((told.embedded, told.embeddable, told.withheld), (1, 1, 3));
    assert_eq!((endpoint.sent("quokka"), endpoint.sent("wombat")), (0, 0));
    // Nor do its words go there as what was typed goes on to, or was perhaps meant to be.
    for typed in ["wom", "wombta"] {
        let params = SearchQuery { q: typed.into(), ..SearchQuery::default() };
        let found = notes::search(&app.owner(), &params).unwrap();
        assert_eq!(found.results[0].chunk.path, "journal/day.md");
    }
    assert_eq!((endpoint.sent("wombta"), endpoint.sent("wombat")), (1, 0));
    let params = SearchQuery { q: "quokka".into(), ..SearchQuery::default() };
    let found = notes::search(&app.owner(), &params).unwrap();
    assert_eq!((found.results[0].chunk.path.as_str(), found.degraded), ("notes/secret.md", None));
    // A note that is opened is embedded, and one that is closed loses what was made of it.
    vault.write("notes/secret.md", "# Secret\n\nA quokka of mine.\n");
    embedded(&app, 2);
    assert_eq!(endpoint.sent("A quokka"), 1);
    vault.write("notes/open.md", "---\nprivate: true\n---\n# Open\n\nAn open boat.\n");
    until("the note to be private", || status(&app).withheld == 3);
    assert_eq!((status(&app).embedded, status(&app).embeddable), (1, 1));
    drop(app);
    let app = serve(&vault, text(""));
    let told = eventually("the same after a start", || {
        Some(status(&app)).filter(|status| status.caught_up && status.model.state == "ready")
    });
    assert_eq!((told.embedded, told.embeddable, told.withheld), (1, 1, 3));
    drop(app);
    let app = serve(&vault, text("").tap(|config| config.embed.send_private = true));
    assert_eq!((embedded(&app, 4).withheld, endpoint.sent("wombat")), (0, 1));
    drop(app);
    // An endpoint on this machine may have them.
    let app = serve(&vault, config(&endpoint, ""));
    assert_eq!(embedded(&app, 4).withheld, 0);
}

trait Tap {
    fn tap(self, change: impl FnOnce(&mut Self)) -> Self;
}

impl Tap for Config {
    fn tap(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
