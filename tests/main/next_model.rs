//! Another model: the one before answers until the vectors of the next one are there, and nothing is lost by going back.

use memory_vault::serve::jobs;
use memory_vault::serve::wire::{Model, ModelToCome, Status};

use crate::support::prelude::*;

/// Where a model takes another's place.
pub const POINT: &str = "model-switched";

/// `[embed]` with a service on this machine.
fn embed(endpoint: &Endpoint) -> String {
    format!("[embed]\nendpoint = \"{}\"\nmodel = \"hashed\"\n", endpoint.address())
}

fn start(vault: &Daemon, endpoint: &Endpoint) -> App {
    start_with(vault, &embed(endpoint))
}

fn start_with(vault: &Daemon, config: &str) -> App {
    serve(vault, Config::parse(config, Path::new("memory.toml")).unwrap())
}

/// The status, once a model serves and all its vectors are there.
#[track_caller]
fn serves(app: &App, endpoint: &Endpoint) -> Status {
    let name = format!("hashed at {}", endpoint.address());
    let is_there = |status: &Status| {
        let Model { detail, next, .. } = &status.model;
        detail.as_ref() == Some(&name) && next.is_none() && status.embedded == status.embeddable && status.embedded > 0
    };
    eventually("a model to serve", || Some(status(app)).filter(is_there))
}

/// What is nearest to a query, which has to be found by its meaning.
#[track_caller]
fn nearest(app: &App, query: &str) -> String {
    let (mut paths, degraded) = by_meaning(app, query);
    assert_eq!(degraded, None);
    paths.swap_remove(0)
}

/// Fails where a note is sent, and not where it is asked whether it works.
fn busy(asked: &Asked) -> Option<Fault> {
    let is_note = asked.texts.iter().any(|text| text.contains("quokka"));
    is_note.then_some(Fault::Status(503, "", ""))
}

/// Two services with different models.
fn endpoints() -> (Endpoint, Endpoint) {
    let (one, other) = (Endpoint::start(), Endpoint::start());
    other.change_model(48);
    (one, other)
}

fn vault() -> Daemon {
    Daemon::with_config("")
        .with("notes/a.md", "# River\n\nA quokka on the river.\n")
        .with("notes/b.md", "# Garden\n\nA quokka in an apple tree.\n")
}

#[test]
fn the_model_before_answers_until_the_next_one_is_through() {
    let (before, next) = endpoints();
    let mut vault = vault();
    let app = start(&vault, &before);
    serves(&app, &before);
    drop(app);

    next.fails(busy);
    for note in ["notes/c.md", "notes/d.md"] {
        // The second time it is a start in the middle.
        let app = start(&vault, &next);
        let is_loaded = |next: &ModelToCome| next.state == "ready";
        let coming = eventually("the next model", || status(&app).model.next.filter(is_loaded));
        assert_eq!((coming.embedded, coming.of > 0), (0, true));
        assert_eq!(status(&app).pending_embeddings, coming.of, "all of the other set waits");
        assert_eq!(nearest(&app, "river"), "notes/a.md");
        let word = if note == "notes/c.md" { "lighthouse" } else { "volcano" };
        vault.write(note, format!("# {word}\n\nA quokka at the {word}.\n"));
        until("what was saved meanwhile, by its meaning", || {
            let (paths, degraded) = by_meaning(&app, word);
            paths.first().is_some_and(|path| path == note) && degraded.is_none()
        });
        eventually("why it waits", || status(&app).model.next?.trouble.filter(|trouble| trouble.contains("503")));
    }

    let app = start(&vault, &next);
    eventually("the next model", || status(&app).model.next);
    next.fails(|_| None);
    while status(&app).model.next.is_some() {
        assert_eq!(nearest(&app, "river"), "notes/a.md", "at every moment");
    }
    let status = serves(&app, &next);
    assert_eq!((status.embedded, status.model.dimension, status.model.kept_vectors), (4, Some(48), 4));
    assert_eq!(
        (nearest(&app, "apple tree"), before.sent("apple tree")),
        ("notes/b.md".into(), 1),
        "a note, and no query"
    );
    assert_eq!(jobs::drop_kept_vectors(&app.owner()).unwrap().dropped, 4);
    assert_eq!((serves(&app, &next).model.kept_vectors, nearest(&app, "river")), (0, "notes/a.md".into()));
}

#[test]
fn going_back_to_a_model_costs_nothing() {
    let (one, other) = endpoints();
    let mut vault = vault();
    for (at, endpoint) in [&one, &other, &one, &other].into_iter().enumerate() {
        let app = start(&vault, endpoint);
        serves(&app, endpoint);
        assert_eq!(nearest(&app, "river"), "notes/a.md");
        assert_eq!(endpoint.sent("A quokka on the river"), 1, "the {at}. start");
        // A check and a reindex leave what is kept of the other alone.
        jobs::reindex(&app.owner(), false).unwrap();
        jobs::verify(&app.owner()).unwrap();
    }
    // What has changed meanwhile is embedded by the one that is used alone.
    vault.write("notes/a.md", "# River\n\nA quokka under the river.\n");
    let app = start(&vault, &one);
    serves(&app, &one);
    until("the change", || one.sent("under the river") == 1);
    assert_eq!(one.sent("apple tree"), 1);
}

#[test]
fn a_model_that_refuses_every_note_takes_no_other_s_place() {
    let (before, next) = endpoints();
    let vault = vault();
    let app = start(&vault, &before);
    serves(&app, &before);
    drop(app);
    for fault in [Fault::Status(400, "", "{\"error\":\"too long\"}"), Fault::Status(401, "", ""), Fault::Nan] {
        let failing = fault.clone();
        next.fails(move |asked| busy(asked).map(|_| failing.clone()));
        let app = start(&vault, &next);
        until("the next model to be asked", || next.sent("apple tree") > 0);
        next.asked().clear();
        until("it to be through", || {
            let progress = app.shared.progress();
            progress.failure.is_some() || progress.is_complete()
        });
        assert_eq!(nearest(&app, "river"), "notes/a.md", "{fault:?}");
        assert!(status(&app).model.detail.unwrap().contains(&before.address()), "{fault:?}");
    }
}

#[test]
fn a_kill_at_the_moment_of_the_change_costs_nothing() {
    let (before, next) = endpoints();
    let mut vault = vault();
    let choose = |vault: &Daemon, endpoint: &Endpoint| fs::write(vault.path("memory.toml"), embed(endpoint)).unwrap();
    let served_by = |vault: &Daemon, endpoint: &Endpoint| {
        until("a model to serve", || {
            let status = vault.status();
            let is_it = status["model"]["detail"].as_str().is_some_and(|name| name.contains(&endpoint.address()));
            is_it && status["embedded"] == 2
        });
    };
    choose(&vault, &before);
    vault.start();
    served_by(&vault, &before);
    vault.terminate();
    choose(&vault, &next);
    vault.dies_at(&format!("{POINT}:1"));
    vault.start();
    served_by(&vault, &next);
    assert_eq!((before.sent("apple tree"), next.sent("apple tree")), (1, 1));
    // While it runs, another one is taken up at once, and what is kept is dropped when it is asked.
    choose(&vault, &before);
    assert_eq!(vault.post("/model/reload", &Value::Null).json()["model"], "hashed");
    served_by(&vault, &before);
    let run = |args: &[&str]| vault.run(args).ok().stdout;
    assert!(run(&["status"]).contains("2 vectors of other models are kept; `vault model gc` deletes them"));
    assert_eq!(run(&["model", "gc"]), "deleted 2 vectors of other models\n");
    assert_eq!(run(&["model", "gc"]), "there are no vectors of other models\n");
    assert_eq!(vault.run(&["model", "gc", "--json"]).ok().json()["dropped"], 0);
}

#[test]
fn an_import_is_not_left_to_a_model_that_does_not_get_on() {
    let (before, next) = endpoints();
    let mut vault = vault();
    serves(&start(&vault, &before), &before);
    next.fails(|asked| asked.texts.iter().any(|text| text.contains("quokka")).then_some(Fault::Status(401, "", "")));
    let app = start(&vault, &next);
    eventually("it to refuse", || status(&app).model.next.filter(|next| next.state == "failed"));
    for at in 0..600 {
        vault.write(&format!("import/{at}.md"), format!("# Import {at}\n\nA quokka by the number of {at}.\n"));
    }
    vault.write("notes/late.md", "# Lighthouse\n\nA quokka at the lighthouse.\n");
    until("all of it, by the model before", || status(&app).embedded == 603);
    assert_eq!(nearest(&app, "lighthouse"), "notes/late.md");
}

#[test]
fn a_model_that_is_not_there_is_told_and_costs_nothing() {
    let before = Endpoint::start();
    let vault = vault();
    serves(&start(&vault, &before), &before);
    let app = start_with(&vault, "[embed]\nmodel = \"absent.gguf\"\n");
    let next = eventually("why it is not there", || status(&app).model.next.filter(|next| next.state == "failed"));
    assert!(next.detail.contains("absent.gguf"), "{next:?}");
    assert_eq!(nearest(&app, "river"), "notes/a.md");
    // What is kept may be this model's.
    let refused = jobs::drop_kept_vectors(&app.owner()).unwrap_err().to_string();
    assert!(refused.contains("`vault status` says why"), "{refused}");
    assert_eq!(status(&app).failure, None);
}

#[test]
fn everything_is_built_anew_by_the_model_before_while_the_next_one_is_down() {
    let (before, next) = endpoints();
    let vault = vault();
    serves(&start(&vault, &before), &before);
    next.fails(busy);
    let app = start(&vault, &next);
    eventually("the next model", || status(&app).model.next);
    jobs::reindex(&app.owner(), true).unwrap();
    until("all of it, by the model before", || {
        let status = status(&app);
        before.sent("apple tree") == 2 && status.embedded == 2 && status.caught_up
    });
    assert_eq!(nearest(&app, "river"), "notes/a.md");
    next.fails(|_| None);
    serves(&app, &next);
}
