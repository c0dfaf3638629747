//! Many texts at once, which a service is handed as batches.

use std::collections::HashSet;

use memory_vault::serve::jobs;
use memory_vault::serve::wire::{ForgetParams, Status};

use crate::support::prelude::*;

/// Notes of a first run. The newest of them are embedded at once.
const NOTES: usize = 120;
const NEWEST: usize = 10;

fn vault() -> Daemon {
    let mut vault = Daemon::with_config("").with("notes/old.md", "# Old\n\nAn aardvark among boats.\n");
    for at in 1..NOTES {
        vault.write(&format!("notes/{at}.md"), format!("# Note {at}\n\nA text about {at} boats.\n"));
    }
    vault
}

/// What has many texts handed over.
const BATCHES: &str = "batch_api = true\n";
/// How many those are here.
const MANY: usize = 100;

fn toml(endpoint: &str, more: &str) -> String {
    format!("[embed]\nendpoint = \"{endpoint}\"\nmodel = \"hashed\"\n{more}")
}

fn embed(endpoint: &str, more: &str) -> Config {
    let mut config = Config::parse(&toml(endpoint, more), Path::new("memory.toml")).unwrap();
    config.embed.batch_api_from = MANY;
    config
}

fn config(endpoint: &Endpoint) -> Config {
    embed(&endpoint.address(), BATCHES)
}

/// The notes, served with such a service.
fn served(endpoint: &Endpoint) -> (Daemon, App) {
    let vault = vault();
    let app = serve(&vault, config(endpoint));
    (vault, app)
}

/// The status, once a batch is under way and so many passages are embedded in the usual way.
#[track_caller]
fn under_way(app: &App, passages: usize) -> Status {
    eventually("a batch to be under way", || {
        let status = status(app);
        let is_under_way = status.model.batch.as_ref().is_some_and(|batch| batch.state == "in_progress");
        (is_under_way && status.embedded == passages && status.phase == "idle").then_some(status)
    })
}

/// Where it is written of batches, beside the index.
fn record_folder(app: &App) -> PathBuf {
    Path::new(&status(app).index_dir).join("endpoint-batches")
}

fn records(app: &App) -> Vec<Value> {
    let files = fs::read_dir(record_folder(app)).into_iter().flatten();
    files.map(|file| serde_json::from_slice(&fs::read(file.unwrap().path()).unwrap()).unwrap()).collect()
}

/// Nothing is left of batches, neither here nor at the service.
#[track_caller]
fn nothing_is_left(app: &App, endpoint: &Endpoint) {
    until("the files of the batch to go", || endpoint.batches().count().2 == 0 && records(app).is_empty());
}

#[test]
fn a_first_run_goes_as_a_batch_and_what_is_saved_meanwhile_does_not_wait_for_it() {
    let endpoint = Endpoint::start();
    let (mut vault, app) = served(&endpoint);
    let batch = under_way(&app, NEWEST).model.batch.unwrap();
    assert_eq!((batch.texts, batch.problem), (NOTES - NEWEST, None));
    assert!(batch.since.is_some());
    let uploads = endpoint.batches().uploads();
    assert_eq!((uploads.len(), uploads[0].len()), (1, NOTES - NEWEST));
    assert!(app.shared.progress().is_complete(), "nobody is kept waiting for it");
    vault.write("notes/new.md", "# New\n\nA quokka in the garden.\n");
    under_way(&app, NEWEST + 1);
    assert_eq!(by_meaning(&app, "quokka in the garden").0[0], "notes/new.md");
    let record = fs::read_dir(record_folder(&app)).unwrap().next().unwrap().unwrap();
    assert_eq!(record.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    endpoint.batches().end(BatchFate::Done);
    embedded(&app, NOTES + 1);
    until("the status to be without it", || status(&app).model.batch.is_none());
    assert_eq!(by_meaning(&app, "aardvark among boats").0[0], "notes/old.md");
    assert_eq!(
        (endpoint.sent("boats"), endpoint.batches().sent("boats")),
        (NEWEST + 1, NOTES - NEWEST),
        "and the query"
    );
    nothing_is_left(&app, &endpoint);
}

#[test]
fn a_batch_that_is_under_way_over_a_restart_is_not_begun_twice_though_its_beginning_was_never_answered() {
    for is_answered in [true, false] {
        let endpoint = Endpoint::start();
        let is_begin = |asked: &Asked| asked.method == "POST" && asked.path.ends_with("/batches");
        endpoint.fails(move |asked| (!is_answered && is_begin(asked)).then_some(Fault::Close));
        let (vault, app) = served(&endpoint);
        until("the batch to be begun, and the newest to be there", || {
            endpoint.batches().count().0 == 1 && status(&app).embedded == NEWEST
        });
        if is_answered {
            under_way(&app, NEWEST);
            drop(app);
            let app = serve(&vault, config(&endpoint));
            assert_eq!(under_way(&app, NEWEST).model.batch.unwrap().texts, NOTES - NEWEST);
        } else {
            drop(app);
        }
        endpoint.fails(|_| None);
        endpoint.batches().end(BatchFate::Done);
        let app = serve(&vault, config(&endpoint));
        embedded(&app, NOTES);
        nothing_is_left(&app, &endpoint);
        let begun = endpoint.batches().count().0;
        assert_eq!((endpoint.batches().uploads().len(), begun, endpoint.sent("boats")), (1, 1, NEWEST));
    }
}

#[test]
fn what_a_batch_does_not_bring_goes_the_usual_way() {
    for fate in [BatchFate::Failed, BatchFate::Expired, BatchFate::Half, BatchFate::Refused] {
        let endpoint = Endpoint::start();
        endpoint.batches().end(fate);
        let (_vault, app) = served(&endpoint);
        embedded(&app, NOTES);
        let said = eventually("the problem", || status(&app).model.batch?.problem);
        let (words, brought) = match fate {
            BatchFate::Failed => ("failed, with 110 of 110 texts left: too many tokens wait", 0),
            BatchFate::Expired => ("expired, with 55 of 110", 55),
            _ => ("55 of 110 texts have no usable answer", 55),
        };
        assert!(said.contains(words), "{fate:?}: {said}");
        assert_eq!(endpoint.sent("boats"), NOTES - brought, "{fate:?}");
        nothing_is_left(&app, &endpoint);
        let (begun, _, _) = endpoint.batches().count();
        assert_eq!((begun, status(&app).model.state.as_str()), (1, "ready"), "{fate:?}");
    }
}

#[test]
fn a_service_without_batches_or_that_has_the_answers_no_more_embeds_as_it_did() {
    for (part, why) in [("/files", "could not be handed over"), ("/content", "could not be fetched")] {
        let endpoint = Endpoint::start();
        endpoint.batches().end(BatchFate::Done);
        endpoint.fails(move |asked| asked.path.ends_with(part).then_some(Fault::Status(404, "", "")));
        let (_vault, app) = served(&endpoint);
        let state = embedded(&app, NOTES).model.state;
        assert_eq!((endpoint.sent("boats"), state.as_str()), (NOTES, "ready"), "{part}");
        let said = eventually("the problem", || status(&app).model.batch?.problem);
        assert!(said.contains(why), "{said}");
        nothing_is_left(&app, &endpoint);
    }
}

#[test]
fn a_service_that_is_busy_is_asked_again() {
    let endpoint = Endpoint::start();
    endpoint.batches().end(BatchFate::Done);
    // Each thing that is asked about a batch is answered the second time only.
    let seen = Mutex::new(HashSet::new());
    endpoint.fails(move |asked| {
        let is_batch = ["/files", "/batches"].iter().any(|part| asked.path.contains(part));
        let is_first = is_batch && asked.method != "DELETE" && seen.lock().unwrap().insert(asked.path.clone());
        let status = if asked.method == "GET" { 429 } else { 503 };
        is_first.then_some(Fault::Status(status, "Retry-After: 0\r\n", ""))
    });
    let (_vault, app) = served(&endpoint);
    embedded(&app, NOTES);
    assert_eq!((endpoint.sent("boats"), endpoint.batches().count().0), (NEWEST, 1));
    nothing_is_left(&app, &endpoint);
}

#[test]
fn a_text_that_was_purged_or_changed_while_it_was_in_a_batch_leaves_nothing() {
    let endpoint = Endpoint::start();
    let (mut vault, app) = served(&endpoint);
    under_way(&app, NEWEST);
    assert_eq!(records(&app)[0]["contents"].as_array().unwrap().len(), NOTES - NEWEST);
    let params = ForgetParams { path: Some("notes/old.md".into()), purge: true, ..ForgetParams::default() };
    notes::forget(&app.owner(), &params).unwrap();
    assert_eq!(records(&app)[0]["contents"].as_array().unwrap().len(), NOTES - NEWEST - 1, "nor its name");
    // One that has changed meanwhile has the vector of what it is.
    vault.write("notes/50.md", "# Note 50\n\nA wombat in the garden.\n");
    under_way(&app, NEWEST + 1);
    drop(app);
    endpoint.batches().end(BatchFate::Done);
    let app = serve(&vault, config(&endpoint));
    embedded(&app, NOTES - 1);
    assert_eq!(by_meaning(&app, "wombat in the garden").0[0], "notes/50.md");
    nothing_is_left(&app, &endpoint);
    // Nothing of it was kept: it has to be asked about anew.
    vault.write("notes/old.md", "# Old\n\nAn aardvark among boats.\n");
    embedded(&app, NOTES);
    assert_eq!(endpoint.sent("aardvark"), 1);
}

#[test]
fn a_batch_of_a_model_that_is_not_named_any_more_is_ended() {
    let endpoint = Endpoint::start();
    let (vault, app) = served(&endpoint);
    under_way(&app, NEWEST);
    drop(app);
    let app = serve(&vault, embed(&endpoint.address(), ""));
    nothing_is_left(&app, &endpoint);
    assert_eq!(endpoint.batches().count(), (1, 1, 0));
    embedded(&app, NOTES);
}

#[test]
fn a_record_that_names_another_service_sends_no_key_there() {
    let (named, other) = (Endpoint::start(), Endpoint::start());
    let mut vault = vault();
    let app = serve(&vault, config(&named));
    under_way(&app, NEWEST);
    let record = records(&app).remove(0);
    let folder = record_folder(&app);
    drop(app);
    // As they may lie in a vault that came from elsewhere.
    let endpoint = format!("http://{}/v1/embeddings", other.address());
    for (at, (endpoint, key)) in
        [(endpoint, "PATH"), (record["place"]["endpoint"].to_string(), "PATH")].iter().enumerate()
    {
        let mut strange = record.clone();
        strange["file"] = format!("strange-{at}").into();
        strange["place"]["endpoint"] = endpoint.trim_matches('"').into();
        strange["place"]["api_key_env"] = (*key).into();
        fs::write(folder.join(format!("strange-{at}.json")), strange.to_string()).unwrap();
    }
    let mut bad = record.clone();
    bad["file"] = "../../v1/embeddings".into();
    fs::write(folder.join("bad.json"), bad.to_string()).unwrap();
    let before = named.asked().len();
    let app = serve(&vault, config(&named));
    under_way(&app, NEWEST);
    named.batches().end(BatchFate::Done);
    embedded(&app, NOTES);
    until("the files of the batch to go", || named.batches().count().2 == 0);
    vault.write("notes/new.md", "# New\n\nA quokka in the garden.\n");
    embedded(&app, NOTES + 1);
    assert_eq!(other.asked().len(), 0);
    let asked = named.asked()[before..].to_vec();
    let is_strange =
        |asked: &Asked| asked.authorization.is_some() || asked.path.contains("strange") || asked.path.contains("..");
    assert!(!asked.iter().any(is_strange), "{asked:?}");
}

#[test]
fn answers_that_cannot_be_fetched_for_long_are_not_given_up() {
    let endpoint = Endpoint::start();
    endpoint.batches().end(BatchFate::Done);
    let (tries, is_over) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let over = Arc::clone(&is_over);
    endpoint.fails(move |asked| {
        let is_fetch = asked.path.ends_with("/content") && !over.load(Ordering::SeqCst);
        let status = [503, 401, 429][tries.fetch_add(usize::from(is_fetch), Ordering::SeqCst) % 3];
        // A refusal says nothing of when to come again.
        is_fetch.then_some(Fault::Status(if status == 401 { 500 } else { status }, "Retry-After: 0\r\n", ""))
    });
    let (_vault, app) = served(&endpoint);
    let fetches = || endpoint.asked().iter().filter(|asked| asked.path.ends_with("/content")).count();
    until("many tries", || fetches() > 8);
    let said = status(&app).model.batch.unwrap();
    assert!(said.problem.is_none() && said.trouble.is_some(), "{said:?}");
    assert_eq!(endpoint.batches().count().0, 1);
    is_over.store(true, Ordering::SeqCst);
    embedded(&app, NOTES);
    assert_eq!((endpoint.sent("boats"), endpoint.batches().sent("boats")), (NEWEST, NOTES - NEWEST));
    nothing_is_left(&app, &endpoint);
}

/// Keeps the first request that is like this from being answered, until it is let go.
fn held(endpoint: &Endpoint, is_like: impl Fn(&Asked) -> bool + Send + Sync + 'static) -> Arc<AtomicBool> {
    let (is_let_go, is_first) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(true));
    let let_go = Arc::clone(&is_let_go);
    endpoint.fails(move |asked| {
        while is_like(asked) && !let_go.load(Ordering::SeqCst) && is_first.swap(false, Ordering::SeqCst) {
            while !let_go.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
        None
    });
    is_let_go
}

#[test]
fn a_file_whose_upload_nobody_waits_for_any_more_does_not_stay_at_the_service() {
    let endpoint = Endpoint::start();
    let is_upload = |asked: &Asked| asked.method == "POST" && asked.path.ends_with("/files");
    let is_let_go = held(&endpoint, is_upload);
    let (_vault, app) = served(&endpoint);
    until("the upload", || endpoint.asked().iter().any(is_upload));
    drop(app);
    is_let_go.store(true, Ordering::SeqCst);
    let is_removed = |asked: &Asked| asked.method == "DELETE";
    until("the file to go", || endpoint.asked().iter().any(is_removed));
    until("the file to be gone", || endpoint.batches().count().2 == 0);
    assert_eq!((endpoint.batches().uploads().len(), endpoint.batches().count().0), (1, 0));
}

#[test]
fn a_batch_that_is_just_being_begun_is_not_begun_twice_by_a_model_that_begins_anew() {
    let endpoint = Endpoint::start();
    let is_begin = |asked: &Asked| asked.method == "POST" && asked.path.ends_with("/batches");
    let is_let_go = held(&endpoint, is_begin);
    let (mut vault, app) = served(&endpoint);
    until("the batch to be begun", || endpoint.asked().iter().any(is_begin));
    let before = endpoint.asked().len();
    fs::write(vault.path("memory.toml"), toml(&endpoint.address(), BATCHES)).unwrap();
    jobs::reload_model(&app.owner()).unwrap();
    until("the model to be opened anew", || endpoint.asked().len() > before);
    vault.write("notes/new.md", "# New\n\nA quokka in the garden.\n");
    // It is at work, and has found the record.
    embedded(&app, NEWEST + 1);
    is_let_go.store(true, Ordering::SeqCst);
    under_way(&app, NEWEST + 1);
    endpoint.batches().end(BatchFate::Done);
    embedded(&app, NOTES + 1);
    nothing_is_left(&app, &endpoint);
    assert_eq!((endpoint.batches().uploads().len(), endpoint.batches().count().0), (1, 1));
}

#[test]
fn private_notes_are_in_no_batch_that_goes_to_another_machine() {
    let endpoint = Endpoint::start();
    let mut vault = vault().with("notes/secret.md", "---\nprivate: true\n---\n# Secret\n\nA quokka of mine.\n");
    // So that it is none of the newest.
    for at in 0..NEWEST {
        vault.write(&format!("notes/late {at}.md"), format!("# Late\n\nLate {at}.\n"));
    }
    // This machine, by an address that could be any.
    let elsewhere = endpoint.address().replace("127.0.0.1", "http://0.0.0.0");
    let app = serve(&vault, embed(&elsewhere, BATCHES));
    under_way(&app, NEWEST);
    assert_eq!((endpoint.batches().sent("quokka"), endpoint.batches().sent("boats")), (0, NOTES));
    endpoint.batches().end(BatchFate::Done);
    embedded(&app, NOTES + NEWEST);
    assert_eq!(endpoint.sent("quokka"), 0);
}

#[test]
fn few_texts_or_none_that_were_meant_for_it_make_no_batch() {
    let endpoint = Endpoint::start();
    let vault = vault();
    let mut few = config(&endpoint);
    few.embed.batch_api_from = NOTES + 1;
    let app = serve(&vault, few);
    embedded(&app, NOTES);
    drop(app);
    let app = serve(&vault, embed(&endpoint.address(), ""));
    embedded(&app, NOTES);
    assert!(endpoint.asked().iter().all(|asked| asked.path == "/v1/embeddings"));
}
