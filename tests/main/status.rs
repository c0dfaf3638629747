//! What `vault status` tells, and what people and programs ask for by a name that is not there.

use std::os::unix::fs::symlink;
use std::sync::Condvar;

use memory_vault::models::{Document, Embedder, Fingerprint, HashEmbedder, ModelError};
use memory_vault::serve::jobs;

use crate::support::prelude::*;

/// Two collections, and nothing running.
fn vault() -> Daemon {
    Daemon::vault().with("notes/a.md", "# A\n\nA quokka.\n").with("journal/b.md", "# B\n\nAnother quokka.\n")
}

#[test]
fn all_was_embedded_and_what_was_published_said_otherwise() {
    let mut vault = TestVault::new();
    for round in 0..5 {
        let notes: Vec<String> = (0..20).map(|at| format!("## Heading {at}\n\nA quokka of round {round}.")).collect();
        vault.write("notes/a.md", notes.join("\n\n")).sync();
        let status = vault.status();
        assert_eq!(status.embedded, status.embeddable, "round {round}: it was said that nothing waits");
    }
}

#[test]
fn what_one_model_does_not_read_was_said_of_the_next() {
    let vault = vault();
    let load = |dimension, name: &'static str| -> Box<dyn FnMut() -> Result<Arc<dyn Embedder>, ModelError> + Send> {
        Box::new(move || Ok(Arc::new(HashEmbedder::new(dimension).named(name)) as Arc<dyn Embedder>))
    };
    let app = serve_model(&vault, false, load(16, "all-MiniLM-L6-v2"));
    let query = SearchQuery {
        q: "Wo liegt der Schlüssel für die Fahrräder, die im Keller stehen?".into(),
        mode: Some(Mode::Hybrid),
        ..SearchQuery::default()
    };
    let serves = |name: &str| {
        until("a model to serve", || {
            let status = app.status(&app.owner()).unwrap();
            status.model.detail.as_deref() == Some(name) && status.embedded == status.embeddable && status.embedded > 0
        });
    };
    serves("all-MiniLM-L6-v2");
    // One request sees one state of the index, whatever becomes of the models meanwhile.
    let before = app.owner();
    let said = || notes::search(&before, &query).unwrap().degraded.unwrap_or_default();
    assert!(said().contains("(all-MiniLM-L6-v2) knows only English"), "{}", said());
    app.replace_model(load(24, "another"));
    serves("another");
    assert!(said().contains("searched by keyword alone"), "{}", said());
}

/// A model that embeds no note until it is stopped.
#[derive(Default)]
struct Held {
    model: HashEmbedder,
    stopped: Mutex<bool>,
    stop: Condvar,
}

impl Embedder for Held {
    fn fingerprint(&self) -> &Fingerprint {
        self.model.fingerprint()
    }

    fn name(&self) -> &str {
        "held"
    }

    fn dimension(&self) -> usize {
        self.model.dimension()
    }

    fn embed_query(&self, text: &str, deadline: Option<Instant>) -> Result<Vec<f32>, ModelError> {
        self.model.embed_query(text, deadline)
    }

    fn embed_documents(&self, _: &[Document], _: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
        let stopped = self.stopped.lock().unwrap();
        drop(self.stop.wait_while(stopped, |stopped| !*stopped).unwrap());
        Err(ModelError::Stopped)
    }

    fn stop(&self) {
        *self.stopped.lock().unwrap() = true;
        self.stop.notify_all();
    }
}

#[test]
fn what_waits_to_be_embedded_is_counted_as_what_is_embedded() {
    let mut vault = Daemon::with_config("");
    // One text in forty passages: the model is handed it once.
    for at in 0..40 {
        vault.write(&format!("notes/{at}/same.md"), "# Same\n\nThe same words.\n");
    }
    let model: Arc<dyn Embedder> = Arc::new(Held::default());
    let app = serve_model(&vault, false, move || Ok(Arc::clone(&model)));
    let status = eventually("passages that wait", || {
        let status = app.status(&app.owner()).unwrap();
        (status.files == 40 && status.pending_embeddings > 0 && status.model.state == "ready").then_some(status)
    });
    assert_eq!((status.embedded, status.embeddable, status.pending_embeddings), (0, 40, 40));
    let told = jobs::view(&app.shared.progress(), app.shared.snapshot().as_deref());
    assert_eq!(told.pending_embeddings, 40);
}

#[test]
fn folders_that_are_links_are_listed_as_files_that_are() {
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("far.md"), "A far quokka.").unwrap();
    let mut vault = vault();
    symlink(elsewhere.path(), vault.path("linked")).unwrap();
    symlink(elsewhere.path(), vault.path(".hidden")).unwrap();
    symlink(elsewhere.path().join("far.md"), vault.path("notes/picture")).unwrap();
    let problems = |vault: &Daemon| {
        let status = vault.run(&["status", "--json"]).ok().json();
        let problems = status["problems"].as_array().unwrap().iter();
        problems.map(|problem| problem["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(problems(&vault), ["linked"]);
    let told = vault.run(&["status"]).ok().stdout;
    assert!(told.contains("1 thing was not read as meant:\n  linked  a symbolic link to a folder"), "{told}");
    // The watcher tells of those that come and go.
    vault.start();
    symlink(elsewhere.path(), vault.path("notes/second")).unwrap();
    until("the second link", || problems(&vault) == ["linked", "notes/second"]);
    fs::remove_file(vault.path("linked")).unwrap();
    until("the first link to be gone", || problems(&vault) == ["notes/second"]);
    fs::remove_file(vault.path("notes/second")).unwrap();
    vault.write("notes/second/c.md", "A real quokka.");
    until("a folder in the place of the link", || problems(&vault).is_empty());
}

#[test]
fn what_is_not_there_is_told_with_what_is_and_an_agent_of_what_it_sees() {
    let mut vault = vault();
    let told = "no note is in a collection `nope`; notes are in `journal`, `notes`";
    for served in [false, true] {
        if served {
            vault.start();
        }
        // An empty query is an error that teaches.
        for query in ["", "  "] {
            let refused = vault.run(&["search", query]);
            assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
            let said = "vault: the query is empty. type words or a question:";
            assert!(refused.stderr.starts_with(said), "{}", refused.stderr);
        }
        // A collection that is not there is told with those that are.
        let found = vault.run(&["search", "quokka", "--collection", "nope"]);
        assert_eq!((found.code, found.stdout.as_str()), (1, ""));
        assert_eq!(found.stderr, format!("vault: {told}\nvault: nothing found\n"));
        // One that has notes, and none that fit, is no slip.
        let found = vault.run(&["search", "xylophone", "--collection", "notes"]);
        assert!(!found.stderr.contains("no note is in"), "{}", found.stderr);
    }
    let found = vault.get("/api/user-memory/search?q=quokka&collection=nope").json();
    assert_eq!((&found["degraded"], &found["results"]), (&told.into(), &json!([])));
    // An agent is told of those that it sees, whatever is hidden.
    let added = vault.run(&["agent", "add", "Ada", "--allow", "--collections", "notes"]).ok();
    let token = added.stdout.trim().to_owned();
    let asked = |collection: &str| {
        let target = format!("/api/user-memory/search?q=quokka&collection={collection}");
        let reply = vault.get_as(&token, &target);
        (reply.status, String::from_utf8(reply.body).unwrap().replace(collection, "NAME"))
    };
    let (hidden, absent) = (asked("journal"), asked("nothing"));
    assert_eq!(hidden, absent);
    assert!(hidden.1.contains("no note is in a collection `NAME`; notes are in `notes`\""), "{hidden:?}");
}

#[test]
fn an_agent_that_is_given_what_is_not_there_is_given_it_with_a_warning() {
    let mut vault = vault();
    for served in [false, true] {
        if served {
            vault.start();
        }
        let name = if served { "bob" } else { "ada" };
        let warning = "vault: no note is in `nope`, `agents` yet; notes are in `journal`, `notes`\n";
        let added = vault.run(&["agent", "add", name, "--allow", "--collections", "notes,nope,agents"]).ok();
        assert!(added.stderr.starts_with(warning) && added.stderr.contains("reads 1 note"), "{}", added.stderr);
        let allowed = vault.run(&["agent", "allow", name, "--collections", "nope"]).ok();
        assert_eq!(allowed.stderr, warning.replace(", `agents`", ""));
        let right = vault.run(&["agent", "allow", name, "--collections", "journal"]).ok();
        assert_eq!(right.stderr, "");
        assert_eq!(vault.run(&["agent", "allow", name, "--collections", "*"]).ok().stderr, "");
    }
}

#[test]
fn an_empty_log_says_so_and_the_status_names_the_address() {
    let mut vault = vault();
    // An empty log says so.
    vault.run(&["agent", "add", "Ada"]).ok();
    let log = vault.run(&["agent", "log", "ada"]);
    assert_eq!((log.code, log.stdout.as_str()), (1, ""));
    assert_eq!(log.stderr, "vault: `ada` has not asked for anything yet\n");
    let tokens = vault.run(&["token", "list"]);
    assert_eq!((tokens.code, tokens.stdout.as_str()), (1, ""));
    assert!(tokens.stderr.contains("no program has a token"), "{}", tokens.stderr);
    // The status names the address.
    assert!(vault.run(&["status", "--json"]).ok().json().get("address").is_none());
    vault.start();
    let address = vault.address().to_owned();
    assert_eq!(vault.run(&["status", "--json"]).ok().json()["address"], address);
    let told = vault.run(&["status"]).ok().stdout;
    assert!(told.contains(&format!("running at http://{address}\n")), "{told}");
}

#[test]
fn one_is_told_of_in_the_singular() {
    let mut vault = Daemon::vault();
    assert!(vault.run(&["collections"]).ok().stderr.contains("there are no notes yet"));
    vault.write("notes/a.md", "# A\n\nA quokka.\n");
    assert_eq!(vault.run(&["reindex"]).ok().stdout, "1 note, 1 passage, 0 embedded\n");
    let beyond = |vault: &Daemon, lines: &str| vault.run(&["get", &format!("notes/a.md:{lines}")]).stderr;
    assert_eq!(beyond(&vault, "9"), "vault: notes/a.md has 4 lines; line 9 was asked for\n");
    assert_eq!(beyond(&vault, "5-9"), "vault: notes/a.md has 4 lines; lines 5 to 9 were asked for\n");
    vault.write("notes/one.txt.md", "A line.");
    assert!(vault.run(&["get", "notes/one.txt.md:2"]).stderr.contains("has 1 line; line 2"));
    fs::remove_file(vault.path("notes/one.txt.md")).unwrap();
    vault.start();
    let log = eventually("the words", || Some(vault.said()).filter(|said| said.contains("can be found")));
    assert!(log.contains("1 note can be found by its words"), "{log}");
}

#[test]
fn a_service_starts_the_program_by_the_path_that_it_was_called_by() {
    let vault = vault();
    let bin = tempfile::tempdir().unwrap();
    let bin = fs::canonicalize(bin.path()).unwrap();
    fs::create_dir_all(bin.join("bin")).unwrap();
    let link = bin.join("bin/vault");
    symlink(vault_command().get_program(), &link).unwrap();
    let printed = |program: &str| {
        let mut command = Command::new(program);
        let ours = vault.command(&["service", "install", "--print"]);
        command.args(ours.get_args()).current_dir(&bin).env("HOME", &bin).env_remove("VAULT_DIR");
        command.env("PATH", bin.join("bin"));
        Ran::of(&mut command).ok().stdout
    };
    for called in [link.to_str().unwrap(), "./bin/vault", "vault"] {
        let text = printed(called);
        assert!(text.contains(link.to_str().unwrap()), "{called}: {text}");
    }
    // systemd takes no path with `..`.
    let text = printed("bin/../bin/vault");
    assert!(!text.contains(".."), "{text}");
}

#[test]
fn a_model_is_replaced_while_the_vault_is_served() {
    let mut vault = Daemon::with_config("");
    vault.write("notes/a.md", "# River\n\nA boat on the river.\n").write("notes/b.md", "# Garden\n\nAn apple tree.\n");
    // It is at a text when another takes its place, and what comes of that is nobody's.
    let held: Arc<dyn Embedder> = Arc::new(Held::default());
    let app = serve_model(&vault, true, move || Ok(Arc::clone(&held)));
    until("texts that wait", || app.status(&app.owner()).unwrap().pending_embeddings > 0);
    let found = |dimension: usize| {
        until("the vectors of the next model", || {
            let status = app.status(&app.owner()).unwrap();
            status.model.dimension == Some(dimension) && status.embedded == 2
        });
        let (paths, degraded) = by_meaning(&app, "river boat");
        assert_eq!((paths[0].as_str(), degraded), ("notes/a.md", None));
    };
    for dimension in [32, 64, 32] {
        app.replace_model(Box::new(move || Ok(Arc::new(HashEmbedder::new(dimension)))));
        found(dimension);
    }
    app.replace_model(Box::new(|| Err(ModelError::NoBundledModel)));
    let coming = || app.status(&app.owner()).unwrap().model.next.filter(|next| next.state == "failed");
    eventually("why it was not replaced", coming);
    found(32);
}

#[test]
fn a_slip_in_memory_toml_takes_no_hits_away_and_is_said_in_one_line() {
    let vault = vault().started();
    let path = vault.path("memory.toml");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{before}[server]\nport = 99999999\n")).unwrap();
    let found = vault.run(&["search", "quokka"]).ok();
    assert!(found.stdout.contains("notes/"), "{found:?}");
    assert!(found.stderr.starts_with("vault: memory.toml cannot be read: line "), "{}", found.stderr);
    assert_eq!(found.stderr.matches("99999999").count(), 1, "{}", found.stderr);
    vault.run(&["get", "notes/a.md"]).ok();
    let shown = vault.run(&["status"]).ok().stdout;
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains("99999999")).collect();
    assert!(matches!(lines[..], [line] if line.starts_with("memory.toml cannot be read: line ")), "{shown}");
    assert!(!shown.contains("\ncapture"), "{shown}");

    fs::write(&path, format!("{before}[capture]\nsearches = true\n")).unwrap();
    assert!(!vault.run(&["status"]).ok().stdout.contains("memory.toml"));
    fs::write(&path, format!("{before}[search]\nlimit = 3\n")).unwrap();
    let shown = vault.run(&["status"]).ok().stdout;
    assert!(shown.contains("memory.toml has changed since the daemon started; restart it"), "{shown}");
    assert_eq!(vault.status()["config_waits"], true);
}
